"""Gradient functions that scripts give."""

import itertools

import numpy as np

from tests.golden.draws import real
from tests.golden.runner import answer, error, runs, value

_names = itertools.count()


def registered(tf, gradient):
    """The new name of a gradient function."""
    name = "GoldenGradient%d" % next(_names)
    tf.RegisterGradient(name)(gradient)
    return name


def given(forward, backward, second):
    """Return what builds the gradient of a function that has `backward(tf, x, dy)`, and the second one."""

    def build(tf, x):
        @tf.custom_gradient
        def function(x):
            return forward(tf, x), lambda dy: backward(tf, x, dy)

        first = tf.gradients(function(x * 1.5) * x, x)[0]
        return [first] + (tf.gradients(first, x) if second else [])

    return build


def backward_only(name, backward, second=False):
    """A case of a gradient function that is made of `backward`; what Python does has no second derivative."""
    return case(name, given(lambda tf, x: tf.sin(x), backward, second))


def case(name, build):
    return value(name, build, real(3), grad=False, dtypes=["float32"])


def doubled(tf, x):
    found = tf.py_func(lambda v: v * np.float32(2), [x], tf.float32)
    found.set_shape(x.shape)
    return found


def checked(tf, x, dy):
    with tf.control_dependencies([tf.Assert(tf.reduce_all(dy < 100.0), [dy])]):
        return tf.identity(dy) * 3.0


def masked(tf, x, dy):
    return tf.scatter_nd(tf.where(dy > 0), tf.boolean_mask(dy, dy > 0), [3])


def looped(tf, x, dy):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0 + dy), [0, dy])[1]


def grown(tf, x, dy):
    return tf.while_loop(lambda a: tf.reduce_sum(tf.abs(a)) < 50.0, lambda a: a * 2.0, [tf.abs(dy) + 0.1])


BACKWARD = [
    backward_only("gradient of ops", lambda tf, x, dy: dy * tf.cos(x) * 2.0, second=True),
    backward_only("gradient of py_func", lambda tf, x, dy: doubled(tf, dy)),
    backward_only("gradient of py_func of x and dy", lambda tf, x, dy: doubled(tf, dy * x)),
    backward_only("gradient with an assertion", checked),
    backward_only("gradient of where and boolean_mask", masked),
    backward_only("gradient of unique", lambda tf, x, dy: x * 0.0 + tf.reduce_sum(tf.unique(dy)[0])),
    backward_only(
        "gradient of dynamic_partition",
        lambda tf, x, dy: x * 0.0 + tf.reduce_sum(tf.dynamic_partition(dy, tf.cast(dy > 0, tf.int32), 2)[1]),
    ),
    backward_only("gradient of a while_loop", looped, second=True),
    backward_only("gradient of a while_loop that dy ends", grown, second=True),
    backward_only("gradient of a map_fn", lambda tf, x, dy: tf.map_fn(lambda e: e * e, dy)),
    backward_only(
        "gradient of a map_fn that captures dy", lambda tf, x, dy: tf.map_fn(lambda e: e * dy[0], x)
    ),
    backward_only("gradient of a scan", lambda tf, x, dy: tf.scan(lambda a, e: a + e, dy), second=True),
    backward_only(
        "gradient of a cond",
        lambda tf, x, dy: tf.cond(tf.reduce_sum(dy) > 0.0, lambda: dy * 2.0, lambda: dy * 3.0),
        second=True,
    ),
    backward_only(
        "gradient of numbers as text",
        lambda tf, x, dy: tf.strings.to_number(tf.strings.as_string(dy, 8)),
    ),
    backward_only("gradient that is clipped", lambda tf, x, dy: tf.clip_by_norm(dy, 0.5), second=True),
    backward_only("reversed gradient", lambda tf, x, dy: -0.3 * dy, second=True),
    backward_only("straight-through estimator", lambda tf, x, dy: dy, second=True),
    backward_only("gradient of an svd", lambda tf, x, dy: tf.svd(tf.diag(dy), compute_uv=False)),
]


def chain(tf, x):
    @tf.custom_gradient
    def sine(x):
        return tf.sin(x), lambda dy: dy * tf.cos(x)

    h = x
    for _ in range(4):
        h = sine(h * 1.1) + h
    return h


def diamond(tf, x):
    @tf.custom_gradient
    def sine(x):
        return tf.sin(x), lambda dy: dy * tf.cos(x)

    a = sine(x)
    return a * sine(a) + sine(a * x)


def penalty(tf, x, w):
    @tf.custom_gradient
    def bent(x):
        return tf.tanh(x) ** 2, lambda dy: dy * 2.0 * tf.tanh(x) * (1.0 - tf.tanh(x) ** 2)

    y = tf.reduce_sum(bent(x * w))
    slope = tf.gradients(y, x)[0]
    return tf.gradients(y + tf.reduce_sum(slope**2), [x, w])


def two_results(tf, x):
    @tf.custom_gradient
    def both(x):
        return [x * 2.0, x * 3.0], lambda da, db: da * 5.0 + db * 7.0

    a, b = both(x)
    return [tf.gradients(y, x)[0] for y in (a, b, a * b)]


def nested(tf, x):
    @tf.custom_gradient
    def inner(x):
        return x * 3.0, lambda dy: dy * 100.0

    @tf.custom_gradient
    def outer(x):
        return tf.sin(x), lambda dy: inner(dy) * tf.cos(x)

    first = tf.gradients(outer(x) * x, x)[0]
    return [first, tf.gradients(first, x)[0]]


def recomputed(tf, x):
    def body(x):
        return tf.tanh(x * 1.5)

    @tf.custom_gradient
    def function(x):
        def gradient(dy):
            with tf.control_dependencies([dy]):
                again = tf.identity(x)
            return tf.gradients(body(again), again, grad_ys=dy)[0]

        return body(x), gradient

    return tf.gradients(function(function(x)), x)


def with_variable(tf, x):
    @tf.custom_gradient
    def scaled(x):
        w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
        return x * w, lambda dy, variables: (dy * 7.0, [dy * 11.0 for _ in variables])

    with tf.variable_scope("scope", use_resource=True):
        y = scaled(x)
    return tf.gradients(y * x, [x] + tf.trainable_variables())[1]


def rows(also):
    def build(tf, x):
        @tf.custom_gradient
        def looked_up(w):
            return (
                tf.gather(w, [0, 2, 0]),
                lambda dy: tf.IndexedSlices(dy * 10.0, tf.constant([0, 2, 0]), tf.constant([3])),
            )

        y = tf.reduce_sum(looked_up(x)) + (tf.reduce_sum(x * x) if also else 0.0)
        return tf.convert_to_tensor(tf.gradients(y, x)[0])

    return build


def weights_and_stops(tf, x):
    @tf.custom_gradient
    def twice(x):
        return x * 2.0, lambda dy: dy * 5.0

    y = twice(x)
    weighted = tf.gradients(y, [x, y], grad_ys=[tf.constant([1.0, 2.0, 3.0])])
    return weighted + tf.gradients(y * y + x, [x, y], stop_gradients=[y])


def py_func_with_gradient(tf, x):
    """The recipe of many scripts."""
    name = registered(tf, lambda op, dy: tf.py_func(_slope, [op.inputs[0], dy], tf.float32))
    with tf.get_default_graph().gradient_override_map({"PyFunc": name}):
        y = tf.py_func(lambda v: np.maximum(v, 0), [x * 3.0], tf.float32)
    y.set_shape(x.shape)
    return tf.gradients(tf.reduce_sum(y * y), x)


def _slope(x, dy):
    return np.where(x < 0, 0, dy).astype(np.float32)


def overridden(type, gradient, forward):
    def build(tf, x):
        name = registered(tf, lambda op, dy: gradient(tf, op, dy))
        with tf.get_default_graph().gradient_override_map({type: name}):
            y = forward(tf, x)
        return tf.gradients(y * x, x)

    return build


def late(tf, x):
    name = "GoldenGradient%d" % next(_names)
    with tf.get_default_graph().gradient_override_map({"Round": name}):
        y = tf.round(x)
    tf.RegisterGradient(name)(lambda op, dy: dy * 0.25)
    return tf.gradients(y * x, x)


PATHS = [
    value("a chain of custom gradients", chain, real(3), dtypes=["float32"]),
    value("paths that meet", diamond, real(3), dtypes=["float32"]),
    value("gradient penalty", penalty, real(3), real(3), grad=False, dtypes=["float32"]),
    value("two results", two_results, real(3), grad=False, dtypes=["float32"]),
    value("a custom gradient in a gradient", nested, real(3), grad=False, dtypes=["float32"]),
    value("recomputed", recomputed, real(3), grad=False, dtypes=["float32"]),
    value("by a variable", with_variable, real(3), grad=False, dtypes=["float32"]),
    value("rows", rows(False), real(3), grad=False, dtypes=["float32"]),
    value("rows and a dense gradient", rows(True), real(3), grad=False, dtypes=["float32"]),
    value("grad_ys and stop_gradients", weights_and_stops, real(3), grad=False, dtypes=["float32"]),
    value("py_func with a gradient", py_func_with_gradient, real(3), grad=False, dtypes=["float32"]),
    value(
        "reversal layer",
        overridden("Identity", lambda tf, op, dy: [-dy * 0.3], lambda tf, x: tf.identity(x * x)),
        real(3),
        grad=False,
        dtypes=["float32"],
    ),
    value(
        "op.inputs and op.outputs",
        overridden("Sin", lambda tf, op, dy: dy * op.inputs[0] + op.outputs[0], lambda tf, x: tf.sin(x)),
        real(3),
        grad=False,
        dtypes=["float32"],
    ),
    value("registered after the operation", late, real(3), grad=False, dtypes=["float32"]),
]


def loop_state(dynamic):
    """The rows of a TensorArray that `raw_rnn` carries: some are given before the first step."""

    def build(tf):
        inputs = tf.TensorArray(tf.float32, 3).unstack(tf.ones([3, 1, 2]))
        cell = tf.nn.rnn_cell.BasicRNNCell(2)

        def step(time, output, state, rows):
            if output is None:
                state = cell.zero_state(1, tf.float32)
                rows = tf.TensorArray(
                    tf.float32, 5, dynamic_size=dynamic, clear_after_read=False, element_shape=[]
                )
                rows = rows.write(0, 7.0).write(1, 8.0)
            else:
                rows = rows.write(time + 1, tf.cast(time, tf.float32) + tf.reduce_sum(output) * 0.0)
            ended = time >= 3
            given = tf.cond(ended, lambda: tf.zeros([1, 2]), lambda: inputs.read(time))
            return tf.reshape(ended, [1]), given, state, output, rows

        rows = tf.nn.raw_rnn(cell, step)[2]
        return [rows.read(n) for n in range(5)]

    return build


def calls(tf):
    """Count the calls of a gradient function after each of three steps."""
    seen = []

    @tf.custom_gradient
    def sine(x):
        return tf.sin(x), lambda dy: (seen.append(1), dy * tf.cos(x))[1]

    x = tf.placeholder(tf.float32, [3])
    y = sine(x)
    counts = [len(seen)]
    first = tf.gradients(y, x)[0]
    counts.append(len(seen))
    tf.gradients([y, y * 2.0], x)
    counts.append(len(seen))
    tf.gradients(first, x)
    return counts + [len(seen)]


def cotangents_of_integers(tf):
    seen = []

    @tf.custom_gradient
    def both(x):
        return [x * 2.0, tf.cast(x, tf.int32)], lambda da, db: (seen.append(db is None), da)[1]

    x = tf.placeholder(tf.float32, [3])
    tf.gradients(both(x)[0], x)
    return seen


def none_of_some(tf):
    @tf.custom_gradient
    def product(x, z):
        return x * z, lambda dy: (None, dy)

    x, z = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [3])
    y = product(x, z)
    return [g is None for g in tf.gradients(y, [x, z]) + tf.gradients(y + x, [x, z])]


def not_called(tf):
    """Nor is a name looked up that no derivative needs."""
    x, z = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [3])
    with tf.get_default_graph().gradient_override_map({"Round": "NotRegistered"}):
        y = tf.round(x)
    return [g is None for g in tf.gradients(y + z, z)]


def without_back_prop(tf):
    x = tf.placeholder(tf.float32, [3])
    loop = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x], back_prop=False)[1]
    others = [
        tf.map_fn(lambda e: e * e, x, back_prop=False),
        tf.scan(lambda a, e: a + e * e, x, back_prop=False),
        tf.foldl(lambda a, e: a + e * e, x, back_prop=False),
        tf.foldr(lambda a, e: a + e * e, x, back_prop=False),
    ]
    return [tf.gradients(y, x)[0] is None for y in [loop] + others]


def kinds_of_gradients(tf):
    @tf.custom_gradient
    def looked_up(w):
        return tf.gather(w, [0]), lambda dy: tf.IndexedSlices(dy, tf.constant([0]), tf.constant([3]))

    w = tf.Variable([1.0, 2.0, 3.0])
    return [type(tf.gradients(looked_up(w), w)[0]).__name__]


def shape_of_py_func(tf):
    @tf.custom_gradient
    def function(x):
        return x * 2.0, lambda dy: tf.py_func(lambda v: v, [dy], tf.float32)

    x = tf.placeholder(tf.float32, [None, 3])
    return tf.gradients(function(x), x)[0].shape.as_list()


def wrong(result):
    def build(tf):
        @tf.custom_gradient
        def function(x):
            return x * 2.0, lambda dy: result(tf, dy)

        x = tf.placeholder_with_default([1.0, 2.0, 3.0], [3])
        return tf.gradients(function(x), x)[0]

    return build


def unknown(tf):
    x = tf.placeholder(tf.float32, [3])
    with tf.get_default_graph().gradient_override_map({"Round": "NotRegistered"}):
        y = tf.round(x)
    tf.gradients(y, x)


def lu(tf):
    x = tf.placeholder(tf.float64, [3, 3])
    tf.gradients(tf.reduce_sum(tf.linalg.lu(x)[0]) + tf.reduce_sum(x), x)


ROWS = [
    runs("rows of a loop state", loop_state(False)),
    runs("rows of a loop state that grows", loop_state(True)),
]

FACTS = [
    answer("calls of a gradient function", calls),
    answer("cotangents of integers", cotangents_of_integers),
    answer("None of some", none_of_some),
    answer("not called", not_called),
    answer("back_prop=False", without_back_prop),
    answer("kinds of gradients", kinds_of_gradients),
    answer("static shape of a py_func", shape_of_py_func),
    error("a gradient of another shape", wrong(lambda tf, dy: tf.reduce_sum(dy))),
    error("too many gradients", wrong(lambda tf, dy: (dy, dy))),
    error("a name that is not registered", unknown),
    error("an assertion that fails", wrong(lambda tf, dy: _asserted(tf, dy))),
    error("through an op without gradient", lu),
]


def _asserted(tf, dy):
    with tf.control_dependencies([tf.Assert(tf.reduce_all(dy > 1.0), [dy])]):
        return tf.identity(dy)


CASES = [BACKWARD, PATHS, ROWS, FACTS]
