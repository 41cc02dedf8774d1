"""A user's program for type checkers (tools/check_types.py). Lines marked `wrong` must be errors."""

from typing import Any

import numpy as np

import staticgraph as sg


def network(images: sg.Tensor, training: bool) -> sg.Tensor:
    x = sg.layers.conv2d(images, 16, 3, padding="same", activation=sg.nn.relu)
    x = sg.layers.max_pooling2d(x, 2, 2)
    x = sg.layers.batch_normalization(x, training=training)
    x = sg.nn.dropout(sg.layers.flatten(x), rate=0.5)
    return sg.layers.dense(x, 10)


def attention(q: sg.Tensor, k: sg.Tensor, v: sg.Tensor) -> sg.Tensor:
    scores = q @ sg.transpose(k, [0, 2, 1]) / np.sqrt(64.0)
    return sg.nn.softmax(scores) @ v


def named(tensor: sg.Tensor) -> str:
    return tensor.name


images = sg.placeholder(sg.float32, [None, 28, 28, 1], name="images")
labels = sg.placeholder(sg.int64, [None])
logits = network(images, training=True)
loss = sg.reduce_mean(sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
hits = sg.equal(sg.argmax(logits, axis=1), labels)
accuracy = sg.reduce_mean(sg.cast(hits, sg.float32))

w = sg.get_variable("w", [3, 2], initializer=sg.zeros_initializer())
x = w + 1
y = (2.0 * w - w / 3 + w[0]).sum(axis=0)
names: list[str] = [named(t) for t in (y, w[0], -w, sg.nn.relu(w), attention(logits, logits, logits))]
step: sg.Operation = sg.train.AdamOptimizer(1e-3).minimize(loss)
values, places = sg.nn.top_k(logits, k=5)
names += [named(values), named(places), named(w), named(x.reshape(2, 3).T)]

with sg.Session() as session:
    session.run(sg.global_variables_initializer())
    feed: dict[Any, Any] = {images: np.ones((2, 28, 28, 1)), labels: [1, 2]}
    found, _ = session.run([loss, step], feed_dict=feed)
    sg.save("model.sg", {"logits": logits}, session=session)

model = sg.keras.Sequential([sg.keras.layers.Dense(10, activation="relu"), sg.keras.layers.Dense(2)])
model.compile("adam", "mse")
history = model.fit(np.ones((8, 3)), np.ones((8, 2)), epochs=2, verbose=0).history

sg.nn.reluu(images)  # wrong
sg.train.AdamOptimiser(0.1)  # wrong
sg.layers.dense(images, unit=3)  # wrong
sg.reduce_mean(images, axsi=1)  # wrong
sg.placeholder(sg.float32, [None], nme="x")  # wrong
images.shpae  # wrong
