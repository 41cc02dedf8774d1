"""Batch normalization with renormalization, virtual batches, an adjustment, and in half precision."""

import numpy as np
import tensorflow as tf


def form_of(x):
    return "%.4f" if x.dtype == tf.float32 else "%.2f"


def normalized(x, training, form):
    return tf.layers.batch_normalization(x, training=training, momentum=0.8, name="bn", **form)


def steps(title, shape, training_is_fed=False, **form):
    tf.reset_default_graph()
    rng = np.random.RandomState(0)
    x = tf.placeholder(form.pop("dtype", tf.float32), [None] + shape[1:])
    training = tf.placeholder(tf.bool, []) if training_is_fed else True
    weights = tf.constant(rng.randn(*shape[1:]), x.dtype)
    shift = tf.get_variable("shift", shape[1:], x.dtype, tf.zeros_initializer())
    y = normalized(x + shift, training, form)
    loss = tf.reduce_mean(tf.square(tf.tanh(y) - weights))
    optimizer = tf.train.GradientDescentOptimizer(0.2)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = optimizer.minimize(loss)
    print(title)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for index in range(4):
            feeds = {x: 1.5 * rng.randn(*shape) + 0.7}
            if training_is_fed:
                feeds[training] = index != 2
            print(form_of(x) % sess.run([loss, step], feeds)[0])
        for variable in tf.global_variables():
            value = 1 + np.asarray(sess.run(variable), np.float64)
            kind = "%s %s %s" % (variable.name, variable.shape, variable.dtype.base_dtype.name)
            print(kind, form_of(x) % value.mean(), form_of(x) % np.square(value).mean())


def wobble(shape):
    ones = tf.ones(tf.concat([shape[:1], tf.ones_like(shape[1:])], axis=0))
    return 1.1 * ones, 0.1 * ones


bounds = {"rmin": 0.9, "rmax": 1.2, "dmax": 0.1}
steps("renormalized, fed", [6, 3, 4], axis=1, renorm=True, renorm_clipping=bounds, training_is_fed=True)
steps("virtual", [4, 3, 2, 2], axis=[1, 3], virtual_batch_size=2, renorm=True, renorm_momentum=0.6)
steps("adjusted, in half precision", [6, 3], adjustment=wobble, dtype=tf.float16)

layer = tf.keras.layers.BatchNormalization(renorm=True, renorm_clipping=bounds, renorm_momentum=0.5)
layer(tf.keras.Input([3]), training=True)
print([w.name.split("/")[-1] for w in layer.weights])
print(sorted(k for k in layer.get_config() if "renorm" in k or "virtual" in k))
