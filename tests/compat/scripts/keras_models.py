"""Keras: a Sequential model and one of functions, fitted, evaluated, saved and loaded."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(0)
x = rng.rand(64, 4).astype(np.float32)
y = (x.sum(axis=1) > 2).astype(np.int32)
glorot = tf.keras.initializers.glorot_uniform

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(8, activation="relu", input_shape=(4,), kernel_initializer=glorot(seed=1)),
        tf.keras.layers.Dense(2, activation=tf.nn.softmax, kernel_initializer=glorot(seed=2)),
    ]
)
model.compile(optimizer=tf.train.AdamOptimizer(0.05), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, epochs=8, batch_size=16, shuffle=False, verbose=0)
print(sorted(history.history), "%.4f" % history.history["loss"][-1])
loss, accuracy = model.evaluate(x, y, verbose=0)
print("%.4f %.3f" % (loss, accuracy), model.predict(x[:2]).shape, model.count_params())

inputs = tf.keras.Input(shape=(4,))
left = tf.keras.layers.Dense(3, activation="tanh", kernel_initializer=glorot(seed=3))(inputs)
right = tf.keras.layers.Lambda(lambda t: t * 2.0)(inputs)
merged = tf.keras.layers.concatenate([left, right])
output = tf.keras.layers.Dense(1, activation="sigmoid", kernel_initializer=glorot(seed=4))(merged)
functional = tf.keras.Model(inputs=inputs, outputs=output)
functional.compile(optimizer=tf.keras.optimizers.SGD(lr=0.5), loss="binary_crossentropy")
functional.fit(x, y, epochs=3, batch_size=16, shuffle=False, verbose=0)
before = functional.predict(x[:1])
functional.save_weights("functional.ckpt")
functional.fit(x, y, epochs=1, verbose=0)
functional.load_weights("functional.ckpt")
print("restored", np.allclose(before, functional.predict(x[:1])), "%.4f" % before[0, 0])
