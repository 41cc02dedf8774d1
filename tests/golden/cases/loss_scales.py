"""`tf.train.experimental`: scales of losses, and optimizers that leave out steps that overflow."""

from tests.golden.cases.legacy import old
from tests.golden.runner import answer, error


def scales(tf):
    return old(tf).train.experimental


def steps(tf, loss_scale, factors, rows=False):
    """The variable, and all others, after each step of a loss that is multiplied by a factor."""
    factor = tf.placeholder(tf.float32, [])
    w = tf.Variable([1.0, 2.0])
    value = tf.gather(w, [0]) if rows else w
    opt = scales(tf).enable_mixed_precision_graph_rewrite(tf.train.GradientDescentOptimizer(0.25), loss_scale)
    step = tf.Variable(0, trainable=False)
    train = opt.minimize(tf.reduce_sum(value * value) * factor, step)
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for each in factors:
            sess.run(train, {factor: each})
            found.append([v.tolist() for v in sess.run(tf.global_variables())])
    return found


def dynamic(tf):
    return scales(tf).DynamicLossScale(4.0, increment_period=2)


def alone(tf):
    """A scale, what its updates say, and what they make of it."""
    scale = scales(tf).DynamicLossScale(8.0, increment_period=1, multiplier=4.0)
    grad = tf.placeholder(tf.float32, [])
    update, applies = scale.update([grad, None])
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for value in (1.0, float("inf"), float("nan"), 0.0, float("-inf"), float("inf"), float("inf")):
            found.append([bool(sess.run([update, applies], {grad: value})[1]), float(sess.run(scale()))])
    return found


CASES = [
    answer("a fixed scale", lambda tf: steps(tf, 64, [1.0, 1.0])),
    answer("a fixed scale, and a step that is not finite",
           lambda tf: [str(v) for v in steps(tf, 64.0, [1.0, 3e38])[-1][0]]),
    answer("a dynamic scale", lambda tf: steps(tf, dynamic(tf), [1.0, 1.0, 3e38, 1.0, 3e38, 1.0])),
    answer("a dynamic scale of rows", lambda tf: steps(tf, dynamic(tf), [1.0, 3e38], rows=True)),
    answer("a dynamic scale by its name", lambda tf: steps(tf, "dynamic", [1.0])),
    answer("updates of a scale", alone),
    answer("configs of scales", lambda tf: [
        scales(tf).FixedLossScale(3).get_config(), dynamic(tf).get_config(),
        repr(scales(tf).FixedLossScale(3))]),
    error("a scale below 1", lambda tf: scales(tf).FixedLossScale(0.5)),
    error("a scale that is text", lambda tf: scales(tf).FixedLossScale("4")),
    error("scaled twice", lambda tf: scales(tf).enable_mixed_precision_graph_rewrite(
        scales(tf).enable_mixed_precision_graph_rewrite(tf.train.AdamOptimizer()))),
    error("no optimizer", lambda tf: scales(tf).enable_mixed_precision_graph_rewrite(3)),
]  # fmt: skip
