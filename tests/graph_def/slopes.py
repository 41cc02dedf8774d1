"""Small graphs with derivatives through loops, branches and tensor arrays, built as those in `models`."""

from __future__ import annotations

import numpy as np

from tests.graph_def.models import fed, model, numbers, weights


def with_slopes(tf, feeds, ys, xs):
    """A model whose fetches are the values and their derivatives."""
    slopes = tf.gradients(ys, xs)
    fetches = [tf.identity(t) for t in [*ys, *slopes]]
    return model(feeds, fetches, init=tf.global_variables_initializer())


def loop_slopes(tf):
    """A loop with several values, weights and a counter, differentiated twice; one of no rounds."""
    values = numbers(3, 4, seed=200)
    x, n = fed(tf, values, "x", [None, 4]), tf.placeholder(tf.int32, [], name="n")
    w, b = weights(tf, 4, 4, seed=201, name="w"), weights(tf, 4, seed=202, name="b")

    def body(i, y, total):
        y = tf.tanh(tf.matmul(y, w) + b) * (1.0 + 0.1 * tf.cast(i, tf.float32))
        return i + 1, y, total + tf.reduce_mean(y * x)

    _, y, total = tf.while_loop(lambda i, *_: i < 4, body, (0, x, 0.0))
    _, none = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.sin(y) * b), (0, x))
    wide = tf.cast(x, tf.float64)
    _, wide = tf.while_loop(
        lambda i, y: y[0, 0] < 50.0, lambda i, y: (i + 2, y * y + tf.cast(i, tf.float64)), (np.int64(0), wide)
    )
    slopes = tf.gradients([y, total], [x, w, b]) + tf.gradients(total, w) + tf.gradients(none, [x, b])
    slopes += tf.gradients(wide, x) + tf.gradients(y, w, grad_ys=x, stop_gradients=b)
    fetches = [tf.identity(t) for t in [y, total, none, wide, *slopes]]
    feeds = {x: values, n: np.array(0, np.int32)}
    return model(feeds, fetches, init=tf.global_variables_initializer())


def endless_slopes(tf):
    """Loops that end where data say so: one in another, with a branch inside."""
    values = numbers(4, seed=203)
    x, w = fed(tf, values, "x", [None]), weights(tf, 4, seed=204, name="w")

    def grown(t):
        return tf.cond(t[0] > 0.7, lambda: tf.exp(t * 0.3) + 0.1 * w, lambda: t * 1.1 + tf.square(x))

    def body(s):
        return [tf.while_loop(lambda t: tf.reduce_sum(t) < 4.0, grown, [s]) * 0.4 + s * 0.7]

    s = tf.while_loop(lambda s: tf.reduce_max(s) < 3.0, body, [tf.square(x)])
    limited = tf.while_loop(
        lambda s: tf.reduce_sum(s) < 1e6, lambda s: tf.sin(s) * w + s, [x], maximum_iterations=3
    )
    return with_slopes(tf, {x: values}, [s, limited], [x, w])


def nested_slopes(tf):
    """Loops in loops, of numbers of rounds that differ, in branches, and branches in these."""
    values = numbers(3, 4, seed=205)
    x, w = fed(tf, values, "x", [None, 4]), weights(tf, 4, seed=206, name="w")

    def inner(i, s):
        def either(t):
            return tf.cond(tf.reduce_sum(t) > 0.5, lambda: tf.sin(t * w), lambda: t * t + w)

        return tf.while_loop(lambda j, t: j <= i, lambda j, t: (j + 1, either(t) + x[j]), (0, s))[1]

    def body(i, s):
        t = tf.cond(i > 0, lambda: inner(i, s), lambda: tf.tanh(s))
        return i + 1, s * 0.5 + t * tf.reduce_mean(t)

    _, s = tf.while_loop(lambda i, s: i < 3, body, (0, tf.ones([4])))
    return with_slopes(tf, {x: values}, [s], [x, w])


def branch_slopes(tf):
    """Branches: of several values, on one condition, among more than two, around a loop."""
    values = numbers(4, seed=207)
    x, train = fed(tf, values, "x", [None]), tf.placeholder(tf.bool, [], name="train")
    w = weights(tf, 4, seed=208, name="w")
    a, b = tf.cond(train, lambda: (x * w, tf.sin(x)), lambda: (w + 0.0, x * x))
    c = tf.cond(train, lambda: a * b, lambda: a + b)
    d = tf.case([(c[0] > 1.0, lambda: c * 2.0), (c[0] > -5.0, lambda: c * c * x)], default=lambda: x)
    e = tf.cond(train, lambda: tf.constant(1.0), lambda: tf.reduce_sum(x))
    f = tf.cond(
        train,
        lambda: tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.sin(s * w) + s), (0, x))[1],
        lambda: tf.exp(x) * w,
    )
    return with_slopes(tf, {x: values, train: np.array(True)}, [a, b, c, d, e, f], [x, w])


def other_branch_slopes(tf):
    """The same, where the condition does not hold."""
    told = branch_slopes(tf)
    return told._replace(feeds={**told.feeds, "train:0": np.array(False)})


def array_slopes(tf):
    """Tensor arrays: carried by loops that read and write them, and read in all ways."""
    values = numbers(3, 4, seed=209)
    x = fed(tf, values, "x", [3, 4])
    array = tf.TensorArray(tf.float32, size=3, element_shape=[4], clear_after_read=False).unstack(x)
    _, _, products = tf.while_loop(
        lambda i, *_: i < 3,
        lambda i, array, made: (i + 1, array, made.write(i, array.read(i) * array.read(2 - i))),
        (0, array, tf.TensorArray(tf.float32, size=3, clear_after_read=False)),
    )
    grown = tf.TensorArray(tf.float32, size=4, element_shape=[4], clear_after_read=False).write(0, x[0])
    _, grown = tf.while_loop(
        lambda i, a: i < 4,
        lambda i, a: (i + 1, a.write(i, a.read(i - 1) * x[i - 1] + tf.sin(a.read(0)))),
        (1, grown),
    )
    scattered = tf.TensorArray(tf.float32, size=3, clear_after_read=False).scatter([2, 0, 1], x)
    ys = [
        products.stack(), products.gather([2, 0]) * 2.0, products.read(1) ** 2.0, grown.stack(),
        scattered.read(1) * scattered.stack(), scattered.concat() ** 2.0,
    ]
    return with_slopes(tf, {x: values}, ys, [x])


def chosen_slopes(tf):
    """A loop that reads and writes arrays on one side of a branch, as decoders do with their inputs."""
    values = numbers(3, 4, seed=213)
    x, w = fed(tf, values, "x", [3, 4]), weights(tf, 4, seed=214, name="w")
    array = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(x)

    def body(i, given, made):
        made = made.write(i, given * w)
        following = tf.cond(i < 2, lambda: tf.sin(array.read(i + 1)) + given, lambda: tf.zeros([4]))
        return i + 1, following, made

    made = tf.TensorArray(tf.float32, size=3)
    _, _, made = tf.while_loop(lambda i, *_: i < 3, body, (0, array.read(0), made))
    return with_slopes(tf, {x: values}, [made.stack()], [x, w])


def mapped_slopes(tf):
    """`map_fn`, `scan`, `foldl` and `foldr`, and one inside another."""
    values = numbers(3, 4, seed=210)
    x, w = fed(tf, values, "x", [None, 4]), weights(tf, 4, seed=211, name="w")
    ys = [
        tf.map_fn(lambda row: tf.sin(row * w), x),
        tf.scan(lambda total, row: total * w + row, x),
        tf.foldl(lambda total, row: total * row + w, x),
        tf.foldr(lambda total, row: total * w + row, x),
        tf.map_fn(lambda row: tf.scan(lambda total, v: total * w[1] + v * v, row), x),
    ]
    return with_slopes(tf, {x: values}, ys, [x, w])


def drawn_slopes(tf):
    """A loop that draws numbers and counts its rounds: the derivative goes by the very numbers of the loop,
    and no round takes place twice.
    """
    values = numbers(4, seed=212)
    x, count = fed(tf, values, "x", [4]), tf.Variable(0, name="count")

    def body(i, y, drawn):
        factor = tf.random_uniform([4], 0.5, 1.5)
        with tf.control_dependencies([tf.assign_add(count, 1)]):
            return i + 1, y * factor, drawn.write(i, factor)

    array = tf.TensorArray(tf.float32, size=3)
    _, y, drawn = tf.while_loop(lambda i, *_: i < 3, body, (0, x, array))
    (slope,) = tf.gradients(y, x)
    gap = slope - tf.reduce_prod(drawn.stack(), 0)
    with tf.control_dependencies([slope]):
        rounds = count.read_value() + 0
    close = tf.reduce_max(tf.abs(gap)) < 1e-6
    return model({x: values}, [close, rounds], init=tf.global_variables_initializer())


def layer_slopes(tf):
    """Layers in a loop, over batches of any size."""
    values, labels = numbers(2, 3, 3, 2, seed=213), np.array([1, 0], np.int32)
    x, y = fed(tf, values, "x", [None, 3, 3, 2]), fed(tf, labels, "y", [None])
    kernel, w = weights(tf, 3, 3, 2, 2, seed=214, name="kernel"), weights(tf, 18, 3, seed=217, name="w")
    scale, bias = weights(tf, 2, seed=215, name="scale"), weights(tf, 2, seed=216, name="bias")

    def body(i, h, loss):
        h = tf.nn.conv2d(h, kernel, [1, 1, 1, 1], "SAME")
        h = tf.nn.relu(tf.nn.fused_batch_norm(h, scale, bias)[0] + 0.1)
        h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
        logits = tf.matmul(tf.reshape(h, [-1, 18]), w)
        part = logits[:, None]
        chosen = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y[:, None], logits=part)
        shares = tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.ones_like(part), logits=part)
        return i + 1, h, loss + tf.reduce_mean(chosen + shares) + tf.reduce_max(tf.nn.softmax(logits))

    _, h, loss = tf.while_loop(lambda i, *_: i < 2, body, (0, x, 0.0))
    return with_slopes(tf, {x: values, y: labels}, [h, loss], [x, kernel, scale, bias, w])


def unranked_slopes(tf):
    """Placeholders of no shape that broadcast, such as the share that dropout keeps."""
    values, masks = numbers(2, 3, seed=219), numbers(4, 1, 3, seed=220)
    x, w = fed(tf, values, "x", [None, 3]), weights(tf, 3, seed=221, name="w")
    keep, y, z = (tf.placeholder(tf.float32, name=name) for name in ("keep", "y", "z"))
    feeds = {x: values, keep: np.float32(0.5), y: numbers(3, seed=222), z: masks}
    kept = tf.nn.relu(x) / keep * tf.floor(keep + 0.25)
    mixed = (kept * w + y) * tf.maximum(z, w) - tf.square(z) * w / (y + 3.0)
    return with_slopes(tf, feeds, [kept, mixed], [x, w, keep, y, z])


def recurrent_model(tf, build, optimizer, clipped=False):
    """Five steps of training of a recurrent net."""
    values, sizes = numbers(2, 5, 3, seed=218), np.array([5, 3], np.int32)
    x, lengths = fed(tf, values, "x", [None, 5, 3]), fed(tf, sizes, "lengths", [None])

    def initial(shape, dtype=None, partition_info=None):
        return tf.constant(numbers(*shape, seed=sum(shape), low=-0.5, high=0.5))

    with tf.variable_scope("net", initializer=initial):
        y = build(x, lengths)
    loss = tf.reduce_mean(tf.square(y - 0.3)) + tf.reduce_mean(tf.nn.softmax(y)[:, :, 0])
    pairs = optimizer.compute_gradients(loss)
    if clipped:
        slopes, variables = zip(*pairs)  # noqa: B905
        pairs = list(zip(tf.clip_by_global_norm(slopes, 0.1)[0], variables))  # noqa: B905
    step = optimizer.apply_gradients(pairs)
    found = [loss, y] + tf.trainable_variables()
    feeds = {x: values, lengths: sizes}
    return model(feeds, [tf.identity(t) for t in found], step, tf.global_variables_initializer(), 5)


def lstm_descent(tf):
    """An LSTM over sequences of several lengths."""
    cell = tf.nn.rnn_cell.LSTMCell(4)
    return recurrent_model(
        tf,
        lambda x, n: tf.nn.dynamic_rnn(cell, x, n, dtype=tf.float32)[0],
        tf.train.GradientDescentOptimizer(0.5),
    )


def stacked_adam(tf):
    """Cells one above the other."""
    cells = [tf.nn.rnn_cell.BasicLSTMCell(3), tf.nn.rnn_cell.GRUCell(4)]

    def build(x, _):
        return tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=tf.float32)[0]

    return recurrent_model(tf, build, tf.train.AdamOptimizer(0.05))


def both_ways_momentum(tf):
    """A recurrent net in both directions, with clipped gradients."""
    cells = [tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.BasicRNNCell(3)]

    def build(x, lengths):
        return tf.concat(tf.nn.bidirectional_dynamic_rnn(*cells, x, lengths, dtype=tf.float32)[0], 2)

    return recurrent_model(tf, build, tf.train.MomentumOptimizer(0.5, 0.9), clipped=True)


SLOPES = [
    loop_slopes, endless_slopes, nested_slopes, branch_slopes, other_branch_slopes, array_slopes,
    chosen_slopes, mapped_slopes, drawn_slopes, layer_slopes, unranked_slopes, lstm_descent, stacked_adam,
    both_ways_momentum,
]
