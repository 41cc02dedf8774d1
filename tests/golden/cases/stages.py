"""Functions that only Python can compute: the user's own, sizes that the data decide, strings."""

import numpy as np

from tests.golden.draws import bools, given, ints, real
from tests.golden.runner import answer, error, runs, shape, value


def texts(name, build):
    """The fetched values as lists; strings as text."""

    def run(tf):
        fetches, feed = build(tf)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            return plain(sess.run(fetches, feed))

    return answer(name, run)


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value.item() if isinstance(value, np.generic) else value


def fed(build, first=("b", "a", "b"), second=("x", "a", "b")):
    """A build of two fed vectors of strings."""

    def made(tf):
        a, b = (tf.placeholder(tf.string, [len(v)]) for v in (first, second))
        return build(tf, a, b), {a: list(first), b: np.array(second)}

    return made


def known(build):
    return lambda tf: (build(tf), None)


def variable(tf):
    v = tf.Variable("text")
    longer = v.assign(tf.identity(v) + "!")
    with tf.control_dependencies([longer]):
        return [longer, v.shape.as_list(), v.read_value()][::2]


def raises(kind):
    def build(tf):
        def fail(x):
            raise kind("boom")

        return tf.py_func(fail, [1.0], tf.float32)

    return build


def returns(made, dtype="float32"):
    def build(tf):
        dtypes = [getattr(tf, d) for d in dtype] if isinstance(dtype, list) else getattr(tf, dtype)
        return tf.py_func(lambda: made, [], dtypes)

    return build


def computed_shape(tf, x):
    n = tf.cast(tf.reduce_sum(tf.ones_like(x)), tf.int32) // 2
    return tf.reshape(x, tf.stack([n, 2])) * 2


def partition(tf, x, p):
    return tf.dynamic_partition(x, tf.mod(p, 2), 2)


def stitch(tf, x, y, p):
    order = tf.mod(p, 4)
    return tf.dynamic_stitch([order[:2], order[2:]], [x, y])


def square(tf, x):
    y = tf.py_func(lambda a: a * a, [x], x.dtype)
    y.set_shape(x.shape)
    return x * y


def counted(tf):
    seen = []

    def count():
        seen.append(1)
        return np.int64(len(seen))

    n = tf.py_func(count, [], tf.int64)
    return [n, n + 1, tf.ones([tf.cast(n, tf.int32)])]


CASES = [
    value("where of what is computed", lambda tf, x: tf.where(x > 0.0), real(3, 4)),
    value("where of numbers", lambda tf, x: tf.where(x), ints(2, 3, low=0, high=2)),
    value("where of a grid", lambda tf, x: tf.where(x), bools(2, 3, 2)),
    value("boolean_mask of what is computed", lambda tf, x: tf.boolean_mask(x * 2, x[:, 0] > 0.0),
          real(5, 3)),
    value("boolean_mask of elements by themselves", lambda tf, x: tf.boolean_mask(x, x > 0.0), real(3, 4)),
    value("gather where", lambda tf, x: tf.gather_nd(tf.exp(x), tf.where(x > 0.0)), real(3, 4)),
    value("unique of what is computed", lambda tf, x: list(tf.unique(x // 2)), ints(9, low=0)),
    value("unique_with_counts", lambda tf, x: list(tf.unique_with_counts(x, tf.int64)),
          ints(9, low=0, high=5)),
    value("setdiff1d", lambda tf, x, y: list(tf.setdiff1d(x, y)), ints(9, low=0), ints(4, low=0)),
    value("unique of NaN and zeros", lambda tf, x: list(tf.unique_with_counts(x)),
          given([np.nan, 1.0, np.nan, -0.0, 0.0, 1.0, np.inf, -np.inf, np.inf]), grad=False),
    value("unique of nothing", lambda tf, x: list(tf.unique_with_counts(x)), given([], "int32")),
    value("unique of one", lambda tf, x: list(tf.unique_with_counts(x)), given([-7], "int64")),
    value("unique of equal numbers", lambda tf, x: list(tf.unique_with_counts(x)), given([4] * 300, "int32")),
    value("unique of extreme numbers", lambda tf, x: list(tf.unique_with_counts(x)),
          given([2**63 - 1, -(2**63), 2**62, 0, -(2**63), 2**63 - 1, -1], "int64")),
    value("unique of many", lambda tf, x: list(tf.unique_with_counts(x)),
          given([i * i % 7919 * 65537 for i in range(5000)], "int64")),
    value("setdiff1d of NaN and zeros", lambda tf, x, y: list(tf.setdiff1d(x, y)),
          given([np.nan, 1.0, -0.0, 3.0, 3.0, np.inf]), given([np.nan, 0.0, 5.0, np.inf]), grad=False),
    value("setdiff1d from nothing", lambda tf, x, y: list(tf.setdiff1d(x, y)), given([], "int32"),
          given([1], "int32")),
    value("setdiff1d of nothing", lambda tf, x, y: list(tf.setdiff1d(x, y)), given([1, 1], "int32"),
          given([], "int32")),
    value("setdiff1d of extreme numbers", lambda tf, x, y: list(tf.setdiff1d(x, y)),
          given([2**63 - 1, -(2**63), 0, 5], "int64"), given([5, -(2**63)], "int64")),
    value("where of NaN and zeros", lambda tf, x: tf.where(x), given([np.nan, 0.0, -0.0, np.inf])),
    value("where of nothing", lambda tf, x: tf.where(x), bools(0, 3)),
    value("dynamic_partition by what is computed", partition, real(5, 2), ints(5, low=0, high=9)),
    value("dynamic_partition of a grid", partition, real(2, 3, 2), ints(2, 3, low=0, high=9)),
    value("dynamic_partition into one", lambda tf, x: tf.dynamic_partition(x, [0, 0], 1), real(2)),
    value("dynamic_stitch by what is computed", stitch, real(2, 3), real(2, 3), given([3, 0, 5, 2], "int32")),
    value("reshape to a computed shape", computed_shape, real(3, 4)),
    value("py_func", lambda tf, x: tf.py_func(lambda a: np.tanh(a), [x], x.dtype), real(2, 3)),
    value("py_func has no gradient", square, real(3)),
    runs("py_func is called once per run", counted, times=3),
    shape("shape of where", lambda tf: tf.where(tf.placeholder(tf.bool, [3, None]))),
    shape("shape of unique", lambda tf: list(tf.unique_with_counts(tf.placeholder(tf.int32, [4])))),
    shape("shape of setdiff1d", lambda tf: list(tf.setdiff1d(tf.placeholder(tf.int32, [4]), [1]))),
    shape("shape of boolean_mask", lambda tf: tf.boolean_mask(tf.zeros([4, 3]), [True] * 4)),
    shape("shape of dynamic_partition", lambda tf: tf.dynamic_partition(tf.zeros([4, 3]), [0, 1] * 2, 2)),
    shape("shape of py_func", lambda tf: tf.py_func(abs, [1.0], [tf.float32, tf.string])),
    answer("names of py_func", lambda tf: [
        tf.py_func(abs, [1.0], tf.float32).name, tf.py_func(abs, [], tf.float32, stateful=False).name,
        tf.py_func(abs, [], [tf.float32], name="call")[0].name, tf.py_func(abs, [], []).type,
        tf.numpy_function(abs, [], tf.float32).op.type,
    ]),
    texts("py_func of strings", known(lambda tf: tf.py_func(
        lambda a, b: (a + b"!", np.array(["x", "yz"]), len(b)), ["a", ["b", "c"]],
        [tf.string, tf.string, tf.int64]))),
    texts("arguments of py_func", known(lambda tf: tf.py_func(
        lambda *args: np.array([type(a).__name__ for a in args]), [1.0, 2, "a", ["b"], [1.0]],
        tf.string))),
    [error("py_func raises %s" % kind.__name__, raises(kind))
     for kind in (ValueError, TypeError, KeyError, IndexError, RuntimeError, StopIteration, MemoryError,
                  NotImplementedError, ZeroDivisionError, AttributeError, AssertionError)],
    error("py_func returns float64", returns(np.float64(1))),
    error("py_func returns a number of Python's", returns(1.0)),
    error("py_func returns int64", returns(1, "int32")),
    error("py_func returns a string", returns("a")),
    error("py_func returns no string", returns(1.0, "string")),
    error("py_func returns nothing", returns(None)),
    error("py_func returns too few", returns([np.float32(1)], ["float32", "float32"])),
    error("py_func returns too many", returns([np.float32(1)] * 3, ["float32", "float32"])),
    error("py_func of no function", lambda tf: tf.py_func(3, [1.0], tf.float32)),
    error("py_func of no list", lambda tf: tf.py_func(abs, 1.0, tf.float32)),
    error("py_func of no dtype", lambda tf: tf.py_func(abs, [1.0], 3.5)),
    error("boolean_mask of no axis", lambda tf: tf.boolean_mask([1.0], True)),
    error("dynamic_partition out of range", lambda tf: tf.dynamic_partition([1.0, 2.0], [0, 5], 2)),
    error("strings are not less", lambda tf: tf.less("a", "b")),
    error("strings are not fed as numbers", lambda tf: tf.constant(["a"], tf.float32)),
    texts("constants", known(lambda tf: [
        tf.constant("a\0"), tf.constant([b"b", b"\xff"]), tf.constant("\u00e9")])),
    texts("fetches", fed(lambda tf, a, b: [a, b])),
    texts("identity", fed(lambda tf, a, b: [tf.identity(a), tf.stop_gradient(b), tf.identity_n([a, b])])),
    texts("equal", fed(lambda tf, a, b: [tf.equal(a, b), tf.not_equal(a, "b")])),
    texts("where of strings", fed(lambda tf, a, b: tf.where(tf.equal(a, b), a, b))),
    texts("stack and concat", fed(lambda tf, a, b: [tf.stack([a, b], 1), tf.concat([a, b], 0)])),
    texts("unstack and split", fed(lambda tf, a, b: [tf.unstack(a), tf.split(b, 3), tf.split(b, [1, 2])])),
    texts("parts", fed(lambda tf, a, b: [a[0], a[1:], a[::-1], tf.slice(b, [1], [2])])),
    texts("gather", fed(lambda tf, a, b: [
        tf.gather(a, [2, 0]), tf.gather_nd(b, [[1]]), tf.nn.embedding_lookup(a, [1])])),
    texts("gather of what is computed", fed(lambda tf, a, b: tf.gather(a, tf.argmax([0.0, 2.0, 1.0])))),
    texts("shapes", fed(lambda tf, a, b: [tf.shape(a), tf.size(a), tf.rank(a), tf.shape(a)[0] * 2])),
    texts("reshape", fed(lambda tf, a, b: [
        tf.reshape(a, [3, 1]), tf.expand_dims(a, 0), tf.squeeze(tf.expand_dims(a, 0)),
        tf.transpose([a, b])])),
    texts("tile", fed(lambda tf, a, b: [tf.tile(a, [2]), tf.broadcast_to(a, [2, 3]), tf.reverse(a, [0])])),
    texts("fill", known(lambda tf: [tf.fill([2], "a"), tf.zeros([2], tf.string), tf.zeros_like(["a", "b"])])),
    texts("add", fed(lambda tf, a, b: [a + b, tf.add(a, "!")])),
    texts("unique of strings", fed(lambda tf, a, b: [list(tf.unique(a)), list(tf.setdiff1d(a, b))])),
    texts("boolean_mask of strings", fed(lambda tf, a, b: tf.boolean_mask(a, tf.equal(a, "b")))),
    texts("dynamic_partition of strings", fed(lambda tf, a, b: tf.dynamic_partition(a, [0, 1, 0], 2))),
    texts("dynamic_stitch of strings", fed(lambda tf, a, b: tf.dynamic_stitch(
        [[0, 2, 4], [1, 3, 5]], [a, b]))),
    texts("placeholder_with_default", known(lambda tf: tf.placeholder_with_default("text", []))),
    texts("a variable of strings", known(variable)),
]
