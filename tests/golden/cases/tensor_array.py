"""TensorArrays."""

from tests.golden.draws import bools, given, ints, real
from tests.golden.runner import answer, error, runs, shape, value


def array(tf, x, size=4, **kwargs):
    return tf.TensorArray(x.dtype, size, **kwargs)


def squares(tf, n):
    made = tf.TensorArray(tf.int32, n)
    return tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, i * i)), [0, made])[1].stack()


def recurrent(tf, x):
    rows = array(tf, x).unstack(x)

    def body(i, h, out):
        h = tf.tanh(h + rows.read(i))
        return i + 1, h, out.write(i, h * h)

    _, h, out = tf.while_loop(
        lambda i, *_: i < 4, body, [0, tf.zeros([3], x.dtype), array(tf, x, clear_after_read=False)]
    )
    return [h, out.stack(), out.read(2)]


def in_branches(tf, p, x):
    made = array(tf, x, 2).write(0, x)
    return tf.cond(p, lambda: made.write(1, x * x), lambda: made.write(1, x * 3.0)).stack()


def fibonacci(tf):
    made = tf.TensorArray(tf.int64, 12, clear_after_read=False)
    made = made.write(0, tf.constant(0, tf.int64)).write(1, tf.constant(1, tf.int64))
    return tf.while_loop(
        lambda i, a: i < 12, lambda i, a: (i + 1, a.write(i, a.read(i - 1) + a.read(i - 2))), [2, made]
    )[1].stack()


def growing(tf, n):
    made = tf.TensorArray(tf.int32, 0, dynamic_size=True)
    made = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, i * 3)), [0, made])[1]
    return [made.stack(), made.size()]


def keeping(tf, x):
    """Rows that are read twice."""
    made = array(tf, x, clear_after_read=False).unstack(x)
    return made.read(1) * made.read(1) + made.read(3)


VALUES = [
    value("write and read", lambda tf, x: array(tf, x, 2).write(0, x * 2.0).write(1, x * x).read(1), real(3)),
    value(
        "write and stack", lambda tf, x, y: array(tf, x, 2).write(1, x).write(0, y).stack(), real(3), real(3)
    ),
    value("scalars", lambda tf, x: array(tf, x, 2).write(0, x).write(1, x * x).stack(), real()),
    value("matrices", lambda tf, x: array(tf, x, 2).write(0, x).write(1, x * x).stack(), real(2, 3)),
    value("unstack and stack", lambda tf, x: array(tf, x).unstack(x).stack(), real(4, 3)),
    value("unstack and read", lambda tf, x: array(tf, x).unstack(x).read(2), real(4, 3)),
    value("unstack a vector", lambda tf, x: array(tf, x).unstack(x).read(2), real(4)),
    value("rows read twice", keeping, real(4, 3)),
    value("gather", lambda tf, x: array(tf, x).unstack(x).gather([3, 1]), real(4, 3)),
    value("scatter", lambda tf, x: array(tf, x, 3).scatter([2, 0, 1], x).stack(), real(3, 2)),
    value("concat", lambda tf, x: array(tf, x).unstack(x).concat(), real(4, 2, 3)),
    value("split", lambda tf, x: array(tf, x, 2).split(x, [2, 2]).read(1), real(4, 3)),
    value("split and concat", lambda tf, x: array(tf, x, 2).split(x, [2, 2]).concat(), real(4, 3)),
    value("identity", lambda tf, x: array(tf, x).unstack(x).identity().read(0), real(4, 3)),
    value("size", lambda tf, n: tf.TensorArray(tf.int32, n).size(), ints(low=3, high=8)),
    value("rows with zeros", lambda tf, x: array(tf, x, 3, element_shape=[2]).write(1, x).stack(), real(2)),
    value("a loop writes", squares, ints(low=3, high=8)),
    value("a loop of no rounds", squares, given(0, dtype="int32")),
    value("a loop reads and writes", recurrent, real(4, 3)),
    value("a branch writes", in_branches, bools(), real(3)),
    value("a loop reads what it wrote", fibonacci),
    value("an array that grows", growing, ints(low=3, high=8)),
    value(
        "dynamic_size without need",
        lambda tf, x: array(tf, x, 2, dynamic_size=True).write(0, x).write(1, x).stack(),
        real(3),
    ),
    value("second order", lambda tf, x: tf.gradients(recurrent(tf, x)[1], x)[0], real(4, 3), grad=False),
]

FACTS = [
    shape("shape of stack", lambda tf: tf.TensorArray(tf.float32, 3).write(0, tf.zeros([2])).stack()),
    shape("shape of read", lambda tf: tf.TensorArray(tf.float32, 3).write(0, tf.zeros([2])).read(0)),
    shape(
        "shape of gather of a declared shape",
        lambda tf: tf.TensorArray(tf.float32, 3, element_shape=[2]).gather([0, 1]),
    ),
    shape(
        "shape of element_shape", lambda tf: tf.TensorArray(tf.float32, 3, element_shape=[None, 2]).read(0)
    ),
    shape(
        "shape of read after unstack",
        lambda tf: tf.TensorArray(tf.float32, 3).unstack(tf.zeros([3, 2])).read(0),
    ),
    answer(
        "dtype",
        lambda tf: [
            tf.TensorArray(tf.float64, 3).dtype.name,
            tf.TensorArray("int32", 3).dtype.name,
            tf.TensorArray(tf.int32, 3).flow.dtype.name == "float32",
        ][:2],
    ),
    runs(
        "rows of random numbers",
        lambda tf: [
            tf.TensorArray(tf.float32, 2)
            .write(0, tf.ones([2]))
            .write(1, tf.random_uniform([2], seed=1))
            .stack()
        ],
    ),
]

ERRORS = [
    error("no size", lambda tf: tf.TensorArray(tf.float32)),
    error(
        "a row of another shape",
        lambda tf: tf.TensorArray(tf.float32, 3).write(0, tf.zeros([2])).write(1, tf.zeros([3])),
    ),
    error("a row of another dtype", lambda tf: tf.TensorArray(tf.float32, 3).write(0, tf.constant(1)).flow),
    error(
        "unstack another shape",
        lambda tf: tf.TensorArray(tf.float32, 3, element_shape=[2]).unstack(tf.zeros([3, 5])),
    ),
    error("unstack a number", lambda tf: tf.TensorArray(tf.float32, 3).unstack(tf.constant(1.0))),
    error(
        "write to an array of another shape",
        lambda tf: tf.TensorArray(tf.float32, 3, element_shape=[2]).write(0, tf.zeros([3])),
    ),
    error(
        "the array of a loop body is not given on",
        lambda tf: tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, i), [0, tf.TensorArray(tf.int32, 3)]
        ),
    ),
]

UNWRITTEN = [
    [
        error(
            "%s of %s" % (name, title),
            lambda tf, read=read, options=options: read(tf.TensorArray(tf.float32, 3, **options)),
        )
        for title, options in (
            ("an array without rows", {}),
            ("an array without rows, of any shapes", {"infer_shape": False}),
            ("an array without rows, of an open shape", {"element_shape": [None, 2]}),
        )
        for name, read in (
            ("stack", lambda array: array.stack()),
            ("concat", lambda array: array.concat()),
            ("gather", lambda array: array.gather([0])),
            ("read", lambda array: array.read(0)),
        )
        if name != "concat" or options
    ],
    error(
        "stack of an array that a loop has not written to",
        lambda tf: tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, a), [0, tf.TensorArray(tf.float32, 3)]
        )[1].stack(),
    ),
    value(
        "arrays that are not written to, of rows of a known shape",
        lambda tf: [
            read
            for array in [tf.TensorArray(tf.float32, 3, element_shape=[2], clear_after_read=False)]
            for read in (array.stack(), array.read(0), array.gather([1]))
        ],
    ),
]

CASES = [VALUES, FACTS, ERRORS, UNWRITTEN]
