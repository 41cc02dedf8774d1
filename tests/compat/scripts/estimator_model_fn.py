"""An estimator with a model function: trained, evaluated, asked, and continued from its checkpoint."""
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)


def model_fn(features, labels, mode, params):
    hidden = tf.layers.dense(features["x"], 8, tf.nn.relu, kernel_initializer=tf.glorot_uniform_initializer(seed=1))
    logits = tf.layers.dense(hidden, params["classes"], kernel_initializer=tf.glorot_uniform_initializer(seed=2))
    classes = tf.argmax(logits, axis=1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"class": classes, "p": tf.nn.softmax(logits)})
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    if mode == tf.estimator.ModeKeys.TRAIN:
        train_op = tf.train.AdamOptimizer(0.05).minimize(loss, global_step=tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
    metrics = {"accuracy": tf.metrics.accuracy(labels=labels, predictions=classes)}
    return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)


rng = np.random.RandomState(0)
x = rng.randn(60, 2).astype(np.float32)
y = (x[:, 0] > x[:, 1]).astype(np.int32)
model = tf.estimator.Estimator(model_fn, model_dir="model", params={"classes": 2})
input_fn = tf.estimator.inputs.numpy_input_fn(x={"x": x}, y=y, batch_size=20, num_epochs=None, shuffle=False)
model.train(input_fn, steps=20)
model.train(input_fn, steps=10)
e = model.evaluate(tf.estimator.inputs.numpy_input_fn(x={"x": x}, y=y, batch_size=20, shuffle=False))
print("step", e["global_step"], "accuracy %.3f loss %.4f" % (e["accuracy"], e["loss"]))
found = list(model.predict(tf.estimator.inputs.numpy_input_fn(x={"x": x[:3]}, shuffle=False)))
print([int(p["class"]) for p in found], found[0]["p"].shape)
print(model.get_variable_names()[:3])
