"""Ragged tensors: how they are made and converted, and the functions that take them."""

import numpy as np

from tests.golden.cases.legacy import old
from tests.golden.draws import real
from tests.golden.runner import FLOAT32, answer, error, runs, shape, value

ROWS = [[3, 1, 4], [], [1, 5]]
DEEP = [[[1], [2, 3]], [], [[4], [5, 6, 7]]]


def numbers(tf):
    return tf.ragged.constant(ROWS)


def deep(tf):
    return tf.ragged.constant(DEEP)


def parts(made):
    """The tensors of a ragged tensor."""
    return [made.flat_values, *made.nested_row_splits] if hasattr(made, "row_splits") else [made]


def of(*calls, make=numbers):
    """A case's function: the parts of what each call makes of `tf` and a ragged tensor."""

    def build(tf):
        return [part for call in calls for part in parts(call(tf, make(tf)))]

    return build


def made(name, *args, **options):
    return lambda tf: parts(getattr(tf.RaggedTensor, "from_" + name)(*args, **options))


def lists(name, *args, **options):
    """The rows of what a function of `tf.ragged` makes."""

    def build(tf):
        with tf.Session() as sess:
            found = sess.run(getattr(tf.ragged, name)(*args, **options))
        return found.to_list() if hasattr(found, "to_list") else np.asarray(found).tolist()

    return build


def reductions(name, axes, make=numbers, dtype="int32"):
    return of(*[lambda tf, x, a=a: getattr(tf, name)(tf.cast(x, dtype), axis=a) for a in axes], make=make)


def rows(tf, x):
    return tf.RaggedTensor.from_row_lengths(x, [3, 0, 2])


def weighted(tf, x, w):
    """Sums, products and greatest elements of rows."""
    y = rows(tf, x) * w
    return [tf.reduce_sum(y, axis=1), tf.reduce_max(tf.exp(y), axis=0), y.to_tensor(0.5)]


def fed(tf):
    x = tf.ragged.placeholder(tf.int32, 1, [])
    value = tf.ragged.constant_value(ROWS, np.int32)
    with tf.Session() as sess:
        found = sess.run({"x": x + 1, "sum": tf.reduce_sum(x)}, {x: value})
    return [found["x"].to_list(), int(found["sum"]), repr(value), str(value), list(value.shape),
            value.ragged_rank, value.nested_row_splits[0].tolist()]  # fmt: skip


def facts(tf):
    x = deep(tf)
    return [x.ragged_rank, x.shape.as_list(), x.flat_values.dtype.name, x.row_splits.dtype.name,
            x.with_row_splits_dtype(tf.int32).row_splits.dtype.name, x == deep(tf), x == x]  # fmt: skip


def words(tf):
    x = tf.ragged.constant([["a"], ["bb", "c"]])
    with tf.Session() as sess:
        return [sess.run(tf.strings.length(x)).to_list(),
                [[w.decode() for w in row] for row in sess.run(x.to_tensor("-")).tolist()]]  # fmt: skip


def bad(call, make=numbers):
    return lambda tf: call(tf, make(tf))


CASES = [
    answer("facts", facts),
    answer("a fed value", fed),
    answer("specs", lambda tf: [repr(old(tf).RaggedTensorSpec([2, None], tf.int32)),
                                repr(old(tf).RaggedTensorSpec.from_value(deep(tf)))]),
    answer("strings", words),
    answer("constant", lists("constant", DEEP)),
    answer("constant with inner_shape", lists("constant", [[[1, 2]], [[3, 4], [5, 6]]], inner_shape=(2,))),
    answer("constant of a number", lists("constant", 3)),
    answer("constant of nothing", lists("constant", [[], []])),
    answer("constant without ragged rows", lists("constant", [[1, 2], [3, 4]], ragged_rank=0)),
    answer("range", lists("range", [0, 5, 8], [3, 3, 12])),
    answer("range of limits", lists("range", [2, 0, 3])),
    answer("range with steps", lists("range", [0, 5], [3, 2], [2, -1])),
    answer("row_splits_to_segment_ids", lists("row_splits_to_segment_ids", [0, 3, 3, 5])),
    answer("segment_ids_to_row_splits", lists("segment_ids_to_row_splits", [0, 0, 2], num_segments=5)),
    answer("stack_dynamic_partitions", lists("stack_dynamic_partitions", [1, 2, 3, 4], [2, 0, 2, 0], 4)),
    runs("from_row_splits", made("row_splits", [1, 2, 3], [0, 2, 2, 3]), times=1),
    runs("from_row_starts", made("row_starts", [1, 2, 3], [0, 2, 2]), times=1),
    runs("from_row_limits", made("row_limits", [1, 2, 3], [2, 2, 3]), times=1),
    runs("from_row_lengths", made("row_lengths", [1, 2, 3], [2, 0, 1]), times=1),
    runs("from_value_rowids", made("value_rowids", [1, 2, 3], [0, 2, 2], nrows=5), times=1),
    runs("from_nested_row_splits", made("nested_row_splits", [1, 2, 3], [[0, 1, 2], [0, 1, 3]]), times=1),
    runs("from_nested_row_lengths", made("nested_row_lengths", [1, 2, 3], [[1, 1], [1, 2]]), times=1),
    runs("from_tensor", made("tensor", [[1, 2, 0], [3, 0, 0]]), times=1),
    runs("from_tensor with padding", made("tensor", [[1, 2, 0], [3, 0, 0]], padding=0), times=1),
    runs("from_tensor with lengths", made("tensor", [[1, 2, 0], [3, 0, 0]], lengths=[1, 2]), times=1),
    runs("from_tensor of three axes", made("tensor", np.arange(12).reshape(2, 3, 2), ragged_rank=2), times=1),
    runs("from_sparse", lambda tf: parts(tf.RaggedTensor.from_sparse(
        tf.SparseTensor([[0, 0], [2, 0], [2, 1]], [1, 2, 3], [4, 5]))), times=1),
    runs("to_sparse", lambda tf: [getattr(numbers(tf).to_sparse(), name)
                                  for name in ("indices", "values", "dense_shape")], times=1),
    runs("to_tensor", of(lambda tf, x: x.to_tensor(), lambda tf, x: x.to_tensor(-1)), times=1),
    runs("to_tensor of rows of rows", of(lambda tf, x: x.to_tensor(), make=deep), times=1),
    runs("partitions", of(
        lambda tf, x: x.nrows(), lambda tf, x: x.row_lengths(), lambda tf, x: x.value_rowids(),
        lambda tf, x: x.row_starts(), lambda tf, x: x.row_limits(), lambda tf, x: x.bounding_shape(),
        lambda tf, x: x.bounding_shape(axis=1), lambda tf, x: x.nrows(tf.int32)), times=1),
    runs("partitions of rows of rows", of(
        lambda tf, x: x.row_lengths(axis=2), lambda tf, x: x.bounding_shape(),
        lambda tf, x: x.nested_row_lengths()[1], lambda tf, x: x.nested_value_rowids()[1], make=deep),
        times=1),
    runs("arithmetic", of(
        lambda tf, x: x + x, lambda tf, x: 10 - x, lambda tf, x: x * [[1], [2], [3]],
        lambda tf, x: tf.constant([[1], [2], [3]]) + x, lambda tf, x: tf.cast(x, tf.float32) / 2.0,
        lambda tf, x: tf.equal(x, 1), lambda tf, x: -x, lambda tf, x: tf.add_n([x, x, x]),
        lambda tf, x: tf.clip_by_value(x, 2, 4), lambda tf, x: tf.zeros_like(x)), times=1),
    runs("where and one_hot", of(
        lambda tf, x: tf.where(tf.equal(x, 1), x, x * 10), lambda tf, x: tf.one_hot(x, 3)), times=1),
    runs("map_flat_values", of(
        lambda tf, x: tf.ragged.map_flat_values(lambda a, b: a * b + 1, x, x)), times=1),
    runs("concat", of(
        lambda tf, x: tf.concat([x, x + 10], 0), lambda tf, x: tf.concat([x, [[7], [8], [9]]], 1),
        lambda tf, x: tf.concat([x, x + 10], -1)), times=1),
    runs("concat of rows of rows", of(lambda tf, x: tf.concat([x, x], 2), make=deep), times=1),
    runs("stack", of(lambda tf, x: tf.ragged.stack([x, x]), lambda tf, x: tf.stack([x, x + 9], 1)), times=1),
    runs("expand_dims", of(*[lambda tf, x, a=a: tf.expand_dims(x, a) for a in (0, 1, 2, -1)]), times=1),
    runs("gather", of(
        lambda tf, x: tf.gather(x, [2, 0, 2]), lambda tf, x: tf.gather(x, tf.ragged.constant([[0], [2, 2]])),
        lambda tf, x: tf.gather([9, 8, 7, 6, 5, 4], x), lambda tf, x: tf.gather(x, 2)), times=1),
    runs("batch_gather", of(
        lambda tf, x: tf.batch_gather(x, tf.ragged.constant([[0], [], [1, 1]]))), times=1),
    runs("boolean_mask", of(
        lambda tf, x: tf.ragged.boolean_mask(x, [True, False, True]),
        lambda tf, x: tf.ragged.boolean_mask(x, tf.equal(x, 1)),
        lambda tf, x: tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])), times=1),
    runs("items", of(
        lambda tf, x: x[0], lambda tf, x: x[-1], lambda tf, x: x[1:], lambda tf, x: x[:, :2],
        lambda tf, x: x[:, 1:], lambda tf, x: x[0, 1], lambda tf, x: x[::-1], lambda tf, x: x[::2],
        lambda tf, x: x[:, ::2], lambda tf, x: x[:, -1:], lambda tf, x: x[...]), times=1),
    runs("items of rows of rows", of(
        lambda tf, x: x[0], lambda tf, x: x[2, 1], lambda tf, x: x[:, :, :1], lambda tf, x: x[2][1:],
        make=deep), times=1),
    *[runs("%s" % name, reductions(name, [None, 0, 1, -1, [0, 1]]), times=1)
      for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_mean")],
    *[runs("%s of rows of rows" % name, reductions(name, [0, 1, 2], deep), times=1)
      for name in ("reduce_sum", "reduce_max")],
    runs("reduce_mean of floats", reductions("reduce_mean", [1], dtype="float32"), times=1),
    runs("reduce_any and reduce_all", of(
        lambda tf, x: tf.reduce_any(tf.equal(x, 1), axis=1),
        lambda tf, x: tf.reduce_all(tf.equal(x, 1), axis=1)), times=1),
    runs("size and rank", of(lambda tf, x: tf.size(x), lambda tf, x: tf.rank(x)), times=1),
    value("gradients", weighted, real(5), real(3, 1), dtypes=FLOAT32),
    shape("static shapes", lambda tf: [numbers(tf), deep(tf), tf.ragged.placeholder(tf.int32, 2, [3])]),
    error("constant of different depths", lambda tf: tf.ragged.constant([[1], 2])),
    error("a tensor of ragged rows", lambda tf: tf.convert_to_tensor(numbers(tf))),
    error("an operation that takes none", bad(lambda tf, x: tf.matmul(x, x))),
    error("its class", lambda tf: tf.RaggedTensor([1], [0, 1])),
    error("splits of two axes", made("row_splits", [1, 2, 3], [[0, 3]])),
    error("no splits", made("row_splits", [1, 2, 3], [])),
    error("splits of floats", made("row_splits", [1, 2, 3], [0.0, 3.0])),
    error("splits that end too early", made("row_splits", [1, 2, 3], [0, 2])),
    error("splits that begin too late", made("row_splits", [1, 2, 3], [1, 3])),
    error("splits that descend", made("row_splits", [1, 2, 3], [0, 4, 3])),
    error("lengths that do not add up", made("row_lengths", [1, 2, 3], [1, 1])),
    error("numbers of rows out of order", made("value_rowids", [1, 2, 3], [0, 2, 1])),
    error("gaps in a SparseTensor", lambda tf: parts(tf.RaggedTensor.from_sparse(
        tf.SparseTensor([[0, 0], [2, 1]], [1, 2], [4, 5])))),
    error("rows of other lengths", bad(lambda tf, x: parts(x + tf.ragged.constant([[1], [2], [3]])))),
    error("an axis that is not there", bad(lambda tf, x: tf.reduce_sum(x, axis=2))),
    error("an axis that is kept", bad(lambda tf, x: tf.reduce_sum(x, axis=1, keepdims=True))),
    error("a number of ragged rows", bad(lambda tf, x: x[:, 0])),
    error("a row that is not there", bad(lambda tf, x: parts(tf.gather(x, [3])))),
    error("map_flat_values to a number", bad(lambda tf, x: tf.ragged.map_flat_values(tf.reduce_sum, x))),
    error("a length in Python", bad(lambda tf, x: len(x))),
    error("a truth value in Python", bad(lambda tf, x: bool(x))),
]  # fmt: skip
