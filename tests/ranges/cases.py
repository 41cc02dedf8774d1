"""Uses of ops with numbers that may be out of range: indices, labels, lengths, divisors, exponents.

A case is a graph and what is fed to it. TensorFlow 1.15 on a processor decides if that is an error:
`tools/record/ranges.py` runs the cases there, under Python 3.7, and writes `recorded.json`.
"""

import numpy as np

FLOATS = np.arange(12, dtype=np.float32).reshape(4, 3)
CASES = {}


def case(name, build, *fed):
    """Add cases: `build(tf, *placeholders)` gives a tensor; each of `fed` has values of the placeholders."""
    for number, values in enumerate(fed):
        CASES["%s %d" % (name, number)] = build, [np.asarray(v) for v in values]


def ints(*values):
    return np.array(values, np.int32)


def longs(*values):
    return np.array(values, np.int64)


def open_sizes(tf, x):
    """Return `x` as a tensor whose sizes are known in a run alone."""
    return tf.placeholder_with_default(x, [None] * x.shape.ndims)


# Reading

case("gather", lambda tf, x, i: tf.gather(x, i), [FLOATS, ints(0, 3)], [FLOATS, ints(0, 4)],
     [FLOATS, ints(-1, 1)], [FLOATS, longs(1, 2, 2**40)], [np.zeros((0, 3), np.float32), ints(0)],
     [np.zeros((0, 3), np.float32), np.zeros(0, np.int32)])
case("gather axis 1", lambda tf, x, i: tf.gather(x, i, axis=1), [FLOATS, ints(2)], [FLOATS, ints(3)])
case("gather number", lambda tf, x, i: tf.gather(x, i), [FLOATS, np.int32(2)], [FLOATS, np.int32(7)])
case("gather batch", lambda tf, x, i: tf.gather(x, i, batch_dims=1),
     [FLOATS, ints([0], [1], [2], [0])], [FLOATS, ints([0], [1], [3], [0])])
case("gather bool", lambda tf, i: tf.gather([True, False], i), [ints(0, 1)], [ints(2)])
case("gather complex", lambda tf, i: tf.gather(tf.constant([1 + 2j, 3j]), i), [ints(0, 1)], [ints(2)])
case("gather strings", lambda tf, i: tf.gather(["a", "b"], i), [ints(0, 1)], [ints(2)])
case("gather_nd", lambda tf, x, i: tf.gather_nd(x, i), [FLOATS, ints([0, 2])], [FLOATS, ints([0, 2], [1, 3])],
     [FLOATS, ints([-1, 0])], [FLOATS, ints([3])], [FLOATS, ints([4])])
case("embedding_lookup", lambda tf, x, i: tf.nn.embedding_lookup(x, i), [FLOATS, ints(1)], [FLOATS, ints(4)],
     [FLOATS, ints(-1)])
case("element", lambda tf, x, i: x[i], [FLOATS, np.int32(-4)], [FLOATS, np.int32(3)], [FLOATS, np.int32(4)],
     [FLOATS, np.int32(-5)])
case("element of a row", lambda tf, x, i: x[:, i], [FLOATS, np.int32(2)], [FLOATS, np.int32(3)])
case("batch_gather", lambda tf, x, i: tf.batch_gather(x, i), [FLOATS, ints([0], [1], [2], [0])],
     [FLOATS, ints([0], [1], [2], [3])])
case("reverse_sequence", lambda tf, x, n: tf.reverse_sequence(x, n, seq_axis=1, batch_axis=0),
     [FLOATS, ints(0, 1, 2, 3)], [FLOATS, ints(0, 1, 2, 4)], [FLOATS, ints(0, -1, 2, 3)])
case("crop_and_resize",
     lambda tf, x, i: tf.image.crop_and_resize(
         tf.reshape(x, [2, 2, 3, 1]), [[0.0, 0.0, 1.0, 1.0]] * 2, i, [1, 2]),
     [FLOATS, ints(0, 1)], [FLOATS, ints(0, 2)], [FLOATS, ints(-1, 0)])
case("dynamic_partition", lambda tf, x, p: tf.dynamic_partition(x, p, 2)[1], [FLOATS, ints(0, 1, 1, 0)],
     [FLOATS, ints(0, 1, 2, 0)], [FLOATS, ints(0, 1, -1, 0)])
case("dynamic_partition of other rows",
     lambda tf, x, p: tf.dynamic_partition(open_sizes(tf, x), open_sizes(tf, p), 2)[0],
     [FLOATS, ints(0, 1, 1)], [FLOATS, ints(0, 1, 1, 0, 1)], [FLOATS, ints([0, 1, 1], [0, 1, 1])])
case("dynamic_stitch of other rows",
     lambda tf, x, i: tf.dynamic_stitch([open_sizes(tf, i)], [open_sizes(tf, x)]),
     [FLOATS, ints(0, 1, 1)], [FLOATS, ints(0, 1, 1, 2, 3)], [FLOATS, ints([0, 1, 1], [0, 1, 1])])
case("dynamic_stitch", lambda tf, x, i: tf.dynamic_stitch([i], [x]), [FLOATS, ints(0, 3, 1, 2)],
     [FLOATS, ints(0, -1, 1, 2)])
case("embedding_lookup_sparse",
     lambda tf, x, i: tf.nn.embedding_lookup_sparse(
         x, tf.SparseTensor([[0, 0], [1, 0]], i, [2, 1]), None, combiner="sum"),
     [FLOATS, longs(0, 3)], [FLOATS, longs(0, 4)], [FLOATS, longs(0, -1)])
case("sparse_segment_sum", lambda tf, x, i: tf.sparse_segment_sum(x, i, [0, 0]), [FLOATS, ints(0, 3)],
     [FLOATS, ints(0, 4)], [FLOATS, ints(0, -1)])
case("sparse_tensor_dense_matmul",
     lambda tf, x, i: tf.sparse_tensor_dense_matmul(tf.SparseTensor(i, [1.0], [2, 4]), x),
     [FLOATS, longs([1, 3])], [FLOATS, longs([1, 4])], [FLOATS, longs([2, 3])], [FLOATS, longs([0, -1])])

# Labels

case("sparse_softmax_cross_entropy",
     lambda tf, x, y: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x),
     [FLOATS, ints(0, 1, 2, 0)], [FLOATS, ints(0, 1, 3, 0)], [FLOATS, ints(0, 1, -1, 0)])
case("losses.sparse_softmax", lambda tf, x, y: tf.losses.sparse_softmax_cross_entropy(y, x),
     [FLOATS, ints(0, 1, 2, 0)], [FLOATS, ints(0, 1, 3, 0)])
case("in_top_k", lambda tf, x, y: tf.nn.in_top_k(x, y, 1), [FLOATS, ints(0, 1, 2, 2)],
     [FLOATS, ints(0, 1, 3, -1)])
case("one_hot", lambda tf, i: tf.one_hot(i, 3), [ints(0, 2)], [ints(-1, 3)])

# Writing

case("scatter_nd", lambda tf, i, v: tf.scatter_nd(i, v, [4]), [ints([1], [3]), FLOATS[0, :2]],
     [ints([1], [4]), FLOATS[0, :2]], [ints([-1], [3]), FLOATS[0, :2]])
for _name in ("update", "add", "sub"):
    case("tensor_scatter_" + _name,
         lambda tf, x, i, name=_name: getattr(tf, "tensor_scatter_" + name)(x, i, [7.0]),
         [FLOATS, ints([3, 2])], [FLOATS, ints([3, 3])], [FLOATS, ints([-1, 0])])
case("invert_permutation", lambda tf, x: tf.invert_permutation(x), [ints(2, 0, 1)], [ints(2, 0, 3)],
     [ints(2, 0, 0)], [ints(-1, 0, 1)])
case("sparse_to_dense", lambda tf, i: tf.sparse_to_dense(i, [3, 2], [1.0, 2.0]), [ints([0, 1], [2, 0])],
     [ints([0, 1], [3, 0])], [ints([0, -1], [2, 0])], [ints([2, 0], [0, 1])], [ints([2, 0], [2, 0])])
case("sparse_to_dense unchecked",
     lambda tf, i: tf.sparse_to_dense(i, [3, 2], [1.0, 2.0], validate_indices=False),
     [ints([2, 0], [0, 1])])
case("sparse_tensor_to_dense",
     lambda tf, i: tf.sparse_tensor_to_dense(tf.SparseTensor(i, [1.0, 2.0], [3, 2])),
     [longs([0, 1], [2, 0])], [longs([0, 1], [3, 0])], [longs([2, 0], [0, 1])], [longs([2, 0], [2, 0])])
for _name in ("sum", "prod", "max", "min", "mean"):
    case("unsorted_segment_" + _name,
         lambda tf, x, i, name=_name: getattr(tf, "unsorted_segment_" + name)(x, i, 3),
         [FLOATS, ints(0, 1, 2, 2)], [FLOATS, ints(0, 1, 2, -1)], [FLOATS, ints(0, 1, 3, 2)])
    case("segment_" + _name, lambda tf, x, i, name=_name: getattr(tf, "segment_" + name)(x, i),
         [FLOATS, ints(0, 0, 2, 2)], [FLOATS, ints(0, 1, 0, 2)], [FLOATS, ints(-1, 0, 1, 2)])
case("bincount", lambda tf, i: tf.bincount(i, maxlength=3), [ints(0, 1, 1)], [ints(0, 7)], [ints(0, -1)])
case("confusion_matrix", lambda tf, i: tf.confusion_matrix(i, [0, 1], num_classes=2), [ints(0, 1)],
     [ints(0, 2)], [ints(0, -1)])


def written(name):
    def build(tf, i):
        v = tf.Variable(FLOATS, use_resource=True)
        with tf.control_dependencies([v.initializer]):
            return tf.identity(getattr(tf, name)(v, i, tf.constant(FLOATS[:2] + 1)))

    return build


for _name in ("update", "add", "sub", "mul", "div", "min", "max"):
    case("scatter_" + _name, written("scatter_" + _name), [ints(0, 3)], [ints(0, 4)], [ints(-1, 0)])


def written_nd(name):
    def build(tf, i):
        v = tf.Variable(FLOATS, use_resource=True)
        with tf.control_dependencies([v.initializer]):
            return tf.identity(getattr(tf, name)(v, i, [5.0, 6.0]))

    return build


for _name in ("update", "add", "sub"):
    case("scatter_nd_" + _name, written_nd("scatter_nd_" + _name), [ints([0, 0], [3, 2])],
         [ints([0, 0], [3, 3])], [ints([0, 0], [-1, 2])])


def array_read(tf, i):
    return tf.TensorArray(tf.float32, 4).unstack(FLOATS).read(i)


def array_written(tf, i):
    return tf.TensorArray(tf.float32, 2, element_shape=[]).write(i, 3.0).read(i)


case("TensorArray.read", array_read, [np.int32(3)], [np.int32(4)], [np.int32(-1)])
case("TensorArray.write", array_written, [np.int32(1)], [np.int32(2)], [np.int32(-1)])
case("TensorArray.gather", lambda tf, i: tf.TensorArray(tf.float32, 4).unstack(FLOATS).gather(i),
     [ints(0, 3)], [ints(0, 4)])

# Arithmetic of integers

for _name in ("floordiv", "floormod", "truncatediv", "truncatemod", "div"):
    case(_name, lambda tf, x, y, name=_name: getattr(tf, name)(x, y), [ints(7, -7), ints(2, 2)],
         [ints(7, -7), ints(2, 0)], [longs(7), longs(0)])
case("floordiv of bytes", lambda tf, x, y: tf.floordiv(x, y),
     [np.array([7], np.uint8), np.array([0], np.uint8)])
case("floordiv of floats", lambda tf, x, y: tf.floordiv(x, y), [np.float32(1), np.float32(0)])
case("pow", lambda tf, x, y: tf.pow(x, y), [ints(2, 3), ints(3, 0)], [ints(2, 3), ints(3, -1)],
     [longs(1), longs(-1)])
case("unravel_index", lambda tf, i: tf.unravel_index(i, [2, 3]), [ints(0, 5)], [ints(0, 6)])

# What shapes depend on

case("slice", lambda tf, x, i: tf.slice(x, i, [1, 1]), [FLOATS, ints(3, 2)], [FLOATS, ints(3, 3)],
     [FLOATS, ints(-1, 0)])
case("pad", lambda tf, x, p: tf.pad(x, p), [FLOATS, ints([0, 1], [0, 0])], [FLOATS, ints([0, -1], [0, 0])])
case("tile", lambda tf, x, n: tf.tile(x, n), [FLOATS, ints(1, 2)], [FLOATS, ints(1, -1)])
case("fill", lambda tf, n: tf.fill(n, 1.0), [ints(1, 2)], [ints(1, -2)])
case("range", lambda tf, d: tf.range(0, 5, d), [np.int32(2)], [np.int32(0)])
case("split", lambda tf, x, n: tf.split(x, n, num=2)[0], [FLOATS, ints(1, 3)], [FLOATS, ints(1, 4)])
case("reverse", lambda tf, x, a: tf.reverse(x, a), [FLOATS, ints(1)], [FLOATS, ints(2)])
case("batch_to_space", lambda tf, x, c: tf.batch_to_space_nd(x, [2], c), [FLOATS, ints([0, 1])],
     [FLOATS, ints([0, 7])], [FLOATS, ints([0, -1])])
case("top_k", lambda tf, x, k: tf.nn.top_k(x, k)[0], [FLOATS, np.int32(3)], [FLOATS, np.int32(4)])
case("embedding_lookup of two",
     lambda tf, x, i: tf.nn.embedding_lookup([x, x], i), [FLOATS, ints(7)], [FLOATS, ints(8)],
     [FLOATS, ints(9)])
case("embedding_lookup of two parts",
     lambda tf, x, i: tf.nn.embedding_lookup([x, x], i, partition_strategy="div"), [FLOATS, ints(7)])
for _name in ("mean", "sqrt_n"):
    case("sparse_segment_" + _name,
         lambda tf, x, i, name=_name: getattr(tf, "sparse_segment_" + name)(x, i, [0, 0]),
         [FLOATS, ints(0, 3)], [FLOATS, ints(0, 4)])
case("random integers", lambda tf, n: tf.random_uniform([2], n, 6, dtype=tf.int32) * 0, [np.int32(5)],
     [np.int32(6)])
case("ctc_loss",
     lambda tf, x, i: tf.nn.ctc_loss(tf.SparseTensor([[0, 0]], i, [1, 1]), tf.reshape(x, [4, 1, 3]), [4]),
     [FLOATS, ints(1)], [FLOATS, ints(-1)])
case("ctc_loss of two labels",
     lambda tf, x, i: tf.nn.ctc_loss(
         tf.SparseTensor([[0, 0], [0, 1]], i, [1, 2]), tf.reshape(x, [4, 1, 3]), [4]),
     [FLOATS, ints(1, 0)], [FLOATS, ints(1, 2)], [FLOATS, ints(2, 1)])
case("ctc_loss lengths",
     lambda tf, x, n: tf.nn.ctc_loss(tf.SparseTensor([[0, 0]], [1], [1, 1]), tf.reshape(x, [4, 1, 3]), n),
     [FLOATS, ints(4)], [FLOATS, ints(5)])
case("derivative of a lookup",
     lambda tf, x, i: tf.convert_to_tensor(tf.gradients(tf.gather(x, i), x)[0]), [FLOATS, ints(1, 1)],
     [FLOATS, ints(1, 4)])

# Where it happens

case("in a loop", lambda tf, n: tf.while_loop(
    lambda i, s: i < n, lambda i, s: (i + 1, s + tf.gather([1.0, 2.0, 3.0], i)),
    [tf.constant(0), tf.constant(0.0)])[1],
     [np.int32(3)], [np.int32(4)])
case("in a branch", lambda tf, i: tf.cond(i < 3, lambda: tf.gather([1.0, 2.0], i), lambda: tf.constant(5.0)),
     [np.int32(1)], [np.int32(2)], [np.int32(7)])
case("that nothing needs", lambda tf, i: tf.gather([1.0, 2.0], i) * 0.0, [np.int32(7)])
case("behind a mask", lambda tf, i: tf.where(i < 2, tf.gather([1.0, 2.0], i), tf.zeros(2)), [ints(0, 5)])
