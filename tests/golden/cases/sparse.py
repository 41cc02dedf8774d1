"""Sparse tensors: fed, fetched, reordered, cut, joined, multiplied, reduced; rows of tables by them."""

import numpy as np

from tests.golden.draws import given, ints, real
from tests.golden.runner import answer, error, shape, value

PLACES = [[0, 1], [0, 3], [2, 0], [3, 2], [3, 3]]
VALUES = real(5, low=0.3, high=2.0)
SHUFFLED = [[3, 3], [0, 3], [2, 0], [0, 1], [3, 2]]
CUBE = [[0, 1, 0], [0, 1, 1], [1, 0, 2], [1, 2, 2], [1, 2, 3]]
FLAT = {"dtypes": ("float32",)}


def matrix(tf, values, places=PLACES, sizes=(4, 5)):
    return tf.SparseTensor(tf.constant(places, tf.int64), values, tf.constant(sizes, tf.int64))


def cube(tf, values):
    return matrix(tf, values, CUBE, (2, 3, 4))


def unranked(tf, values):
    """A matrix whose number of axes is only known in a run."""
    places = tf.placeholder_with_default(tf.constant(PLACES, tf.int64), [None, None])
    return tf.SparseTensor(places, values, tf.placeholder_with_default(tf.constant([4, 5], tf.int64), [None]))


def parts(x):
    return [x.indices, x.values, x.dense_shape]


def to_sparse(call, make=matrix):
    """A case's function: the three parts of what `call` makes of a sparse tensor of the drawn values."""
    return lambda tf, values, *more: parts(call(tf, make(tf, values), *more))


def to_dense(call, make=matrix):
    return lambda tf, values, *more: call(tf, make(tf, values), *more)


def pair(call):
    """`call` of two sparse matrices that have some places in common."""
    return lambda tf, a, b: parts(
        call(tf, matrix(tf, a), matrix(tf, b, [[0, 0], [0, 3], [2, 0], [2, 1], [3, 3]]))
    )


def splits(tf, values, number, axis):
    made = tf.sparse_split(sp_input=matrix(tf, values), num_split=number, axis=axis)
    return [part for x in made for part in parts(x)]


def filled(tf, values):
    made, empty = tf.sparse_fill_empty_rows(matrix(tf, values), 7.0)
    return [*parts(made), empty]


def masked(tf, values):
    made = tf.sparse_mask(tf.IndexedSlices(values, tf.constant([3, 1, 4, 0, 2])), [1, 2])
    return [made.values, made.indices]


def lookup(combiner, weighted, tables=1, **options):
    def build(tf, table, numbers, weights):
        ids = matrix(tf, numbers, [[0, 0], [0, 1], [1, 0], [2, 1], [2, 3]], (3, 4))
        given_weights = (
            matrix(tf, weights, [[0, 0], [0, 1], [1, 0], [2, 1], [2, 3]], (3, 4)) if weighted else None
        )
        params = table if tables == 1 else tf.split(table, tables)
        return tf.nn.embedding_lookup_sparse(params, ids, given_weights, combiner=combiner, **options)

    return build


def safe_lookup(combiner, default, weighted, places=PLACES, sizes=(5, 4)):
    def build(tf, table, weights):
        ids = matrix(tf, tf.constant([3, -1, 0, 5, 2], tf.int64), places, sizes)
        given_weights = matrix(tf, weights, places, sizes) if weighted else None
        return tf.nn.safe_embedding_lookup_sparse(
            [table], ids, given_weights, combiner=combiner, default_id=default
        )

    return build


def shapes(tf):
    x = tf.sparse_placeholder(tf.float32, [None, 5])
    return [
        tf.sparse_tensor_dense_matmul(x, tf.zeros([5, 2])),
        tf.sparse_tensor_to_dense(matrix(tf, tf.zeros([5]))),
        x.values, x.indices, tf.sparse_placeholder(tf.int32).indices, tf.sparse_placeholder(tf.int32).values,
    ]


def names(tf):
    named, other = tf.sparse_placeholder(tf.float32, [None, 5], name="x"), tf.sparse_placeholder(tf.float32)
    return [x.op.name for x in (named.values, named.indices, named.dense_shape)] + [
        other.values.dtype.name, other.dense_shape.dtype.name, str(named.get_shape().ndims),
    ]


AXES = (None, 0, 1, [0, 1], -1)

def placeholders(tf):
    """Placeholders whose shapes are known, in part or in whole."""
    sizes = [[10, 47], [None, 47], [-1, 47], None, tf.constant([3, 4], tf.int64),
             tf.placeholder(tf.int64, [2]), tf.stack([tf.placeholder(tf.int64, []), 4]),
             tf.placeholder(tf.int64)]
    return [tf.sparse_placeholder(tf.float32, size) for size in sizes]


def other_shape(tf):
    told = tf.sparse_placeholder(tf.float32, [10, 47])
    with tf.Session() as sess:
        return tf.constant(sess.run(tf.sparse_tensor_to_dense(told), {told: ([[0, 1]], [2.0], [2, 3])}))


CASES = [
    value("the parts", to_sparse(lambda tf, x: x), VALUES),
    value("to dense", to_dense(lambda tf, x: tf.sparse_tensor_to_dense(x)), VALUES),
    value("to dense with a default", to_dense(lambda tf, x: tf.sparse_tensor_to_dense(x, -1.0)), VALUES,
          **FLAT),
    value("to dense of three axes", to_dense(lambda tf, x: tf.sparse_tensor_to_dense(x), cube), VALUES),
    value("sparse_to_dense of a vector", lambda tf, x: tf.sparse_to_dense([1, 3], [6], x, 0.5), real(2),
          grad=False, **FLAT),
    value("sparse_to_dense of one value", lambda tf, x: tf.sparse_to_dense([[0, 1], [2, 2]], [3, 3], x),
          ints()),
    value("sparse_to_dense of a scalar place", lambda tf, x: tf.sparse_to_dense(2, [3], x), ints()),
    value("reorder", lambda tf, x: parts(tf.sparse_reorder(matrix(tf, x, SHUFFLED))), VALUES),
    value("transpose", to_sparse(lambda tf, x: tf.sparse_transpose(x)), VALUES),
    value("transpose of three axes", to_sparse(lambda tf, x: tf.sparse_transpose(x, [2, 0, 1]), cube),
          VALUES),
    [value("reshape to %s" % sizes, to_sparse(lambda tf, x, n=sizes: tf.sparse_reshape(x, n), cube), VALUES)
     for sizes in ([6, 4], [24], [-1, 2], [2, -1, 3, 2])],
    [value("expand_dims at %s" % axis, to_sparse(lambda tf, x, a=axis: tf.sparse.expand_dims(x, a)), VALUES)
     for axis in (None, 0, 1, -2)],
    [value("concat along %d" % axis,
           lambda tf, a, b, d=axis: parts(tf.sparse_concat(d, [matrix(tf, a), matrix(tf, b)])), VALUES,
           VALUES,
           grad=False)
     for axis in (0, 1, -1)],
    value("concat of unlike sizes", lambda tf, a, b: parts(tf.sparse_concat(
        1, [matrix(tf, a), matrix(tf, b, sizes=(7, 5))], expand_nonconcat_dim=True)), VALUES, VALUES,
          grad=False),
    [value("slice from %s, %s" % (start, size),
           to_sparse(lambda tf, x, s=start, n=size: tf.sparse_slice(x, s, n)), VALUES)
     for start, size in (([0, 0], [2, 2]), ([2, 1], [2, 9]), ([1, 0], [1, 5]))],
    [value("split into %d along %d" % (n, axis), lambda tf, x, n=n, a=axis: splits(tf, x, n, a), VALUES,
           grad=False)
     for n, axis in ((2, 0), (2, 1), (3, 1), (3, 0))],
    value("retain", to_sparse(lambda tf, x, kept: tf.sparse_retain(x, kept)), VALUES,
          given([True, False, False, True, True], "bool")),
    value("retain by a vector of unknown rank", to_sparse(
        lambda tf, x, kept: tf.sparse_retain(x, tf.placeholder_with_default(kept, None))), VALUES,
        given([True, False, False, True, True], "bool"), grad=False),
    value("reset_shape", to_sparse(lambda tf, x: tf.sparse_reset_shape(x)), VALUES),
    value("reset_shape without elements", lambda tf, x: parts(tf.sparse_reset_shape(tf.SparseTensor(
        np.zeros([0, 3], np.int64), x[:0], [2, 5, 6]))), VALUES, grad=False),
    value("reset_shape to a larger one", to_sparse(lambda tf, x: tf.sparse_reset_shape(x, [5, 9])), VALUES),
    value("fill_empty_rows", filled, VALUES, **FLAT),
    value("mask", masked, real(5, 2), grad=False),
    value("to_indicator", lambda tf, x: tf.sparse_to_indicator(matrix(tf, x), 9), ints(5, low=0, high=8)),
    value("merge", lambda tf, ids, x: parts(tf.sparse_merge(matrix(tf, ids), matrix(tf, x), 9)),
          given([5, 2, 8, 1, 0], "int64"), VALUES),
    value("eye", lambda tf, x: parts(tf.sparse.eye(3, 4)) + parts(tf.sparse.eye(2)) + [x], real(1)),
    value("from_dense", lambda tf, x: parts(tf.sparse.from_dense(x)),
          given([[0, 3, 0], [-1, 0, 0], [0, 0, 2]], "int32")),
    [value("matmul, adjoints %s and %s" % (a, b),
           lambda tf, x, y, a=a, b=b: tf.sparse_tensor_dense_matmul(
               matrix(tf, x, sizes=(4, 4)), y, adjoint_a=a, adjoint_b=b), VALUES, real(4, 4))
     for a in (False, True) for b in (False, True)],
    value("matmul of unlike sizes", to_dense(lambda tf, x, y: tf.sparse_tensor_dense_matmul(x, y)), VALUES,
          real(5, 2)),
    [[value("%s over %s, keepdims %s" % (name, axis, kept),
            to_dense(lambda tf, x, n=name, a=axis, k=kept: getattr(tf, n)(x, a, keepdims=k)), VALUES,
            grad=name == "sparse_reduce_sum")
      for name in ("sparse_reduce_sum", "sparse_reduce_max")] for axis in AXES for kept in (False, True)],
    [value("%s over %s" % (name, axis),
           to_sparse(lambda tf, x, n=name, a=axis: getattr(tf, n)(x, a), cube), VALUES, grad=False)
     for name in ("sparse_reduce_sum_sparse", "sparse_reduce_max_sparse") for axis in (0, 1, 2, [0, 2], [1,
                                                                                                         2])],
    value("softmax", to_sparse(lambda tf, x: tf.sparse_softmax(x)), VALUES),
    value("softmax of three axes", to_sparse(lambda tf, x: tf.sparse_softmax(x), cube), VALUES),
    value("add", pair(lambda tf, a, b: tf.sparse_add(a, b)), VALUES, VALUES),
    value("add with a threshold", pair(lambda tf, a, b: tf.sparse_add(a, b, 0.9)), VALUES, VALUES,
          grad=False, **FLAT),
    value("add to a dense one", to_dense(lambda tf, x, y: tf.sparse_add(x, y)), VALUES, real(4, 5)),
    value("add a dense one to it", to_dense(lambda tf, x, y: tf.sparse_add(y, x)), VALUES, real(4, 5)),
    value("maximum", pair(lambda tf, a, b: tf.sparse_maximum(a, b)), real(5), real(5), grad=False),
    value("minimum", pair(lambda tf, a, b: tf.sparse_minimum(a, b)), real(5), real(5), grad=False),
    value("times a dense one", to_sparse(lambda tf, x, y: x * y), VALUES, real(4, 5), grad=False),
    value("times a row", to_sparse(lambda tf, x, y: x * y), VALUES, real(5), grad=False),
    value("divided by a dense one", to_sparse(lambda tf, x, y: x / y), VALUES, real(4, 5, low=1.0),
          grad=False),
    [value("embedding_lookup_sparse, %s%s" % (combiner, ", weighted" if weighted else ""),
           lookup(combiner, weighted), real(6, 3), ints(5, low=0, high=5), real(5, low=0.5, high=2.0), **FLAT)
     for combiner in ("sum", "mean", "sqrtn") for weighted in (False, True)],
    value("embedding_lookup_sparse in parts", lookup("mean", True, tables=2), real(6, 3), ints(5, low=0,
                                                                                               high=5),
          real(5, low=0.5, high=2.0), **FLAT),
    value("embedding_lookup_sparse, norm", lookup("sum", False, max_norm=0.5), real(6, 3), ints(5, low=0,
                                                                                                high=5),
          real(5), **FLAT),
    [value("safe_embedding_lookup_sparse, %s, default %s, weighted %s" % (combiner, default, weighted),
           safe_lookup(combiner, default, weighted), real(6, 3), real(5), tolerance=10.0, **FLAT)
     for combiner in ("sum", "mean") for default in (None, 4) for weighted in (False, True)],
    value("safe_embedding_lookup_sparse of three axes", safe_lookup("mean", None, False, CUBE, (2, 3, 4)),
          real(6, 3), real(5), **FLAT),
    [value("%s, of unknown rank" % name, to_dense(call, unranked), VALUES, grad=False, **FLAT)
     for name, call in (
         ("sum", lambda tf, x: tf.sparse_reduce_sum(x)),
         ("sum over the last axis", lambda tf, x: tf.sparse_reduce_sum(x, -1)),
         ("sum over rows, kept", lambda tf, x: tf.sparse_reduce_sum(x, 0, keepdims=True)),
         ("maximum over columns", lambda tf, x: tf.sparse_reduce_max(x, 1)),
         ("sparse sum", lambda tf, x: parts(tf.sparse_reduce_sum_sparse(x, 1))),
         ("reorder", lambda tf, x: parts(tf.sparse_reorder(x))),
         ("transpose", lambda tf, x: parts(tf.sparse_transpose(x))),
         ("reshape", lambda tf, x: parts(tf.sparse_reshape(x, [-1, 2]))),
         ("concat", lambda tf, x: parts(tf.sparse_concat(-1, [x, x]))),
         ("split", lambda tf, x: parts(tf.sparse_split(sp_input=x, num_split=2, axis=1)[1])),
         ("softmax", lambda tf, x: parts(tf.sparse_softmax(x))),
         ("add", lambda tf, x: parts(tf.sparse_add(x, x))),
         ("maximum", lambda tf, x: parts(tf.sparse_maximum(x, x))),
         ("merge", lambda tf, x: parts(tf.sparse_merge(tf.SparseTensor(
             x.indices, tf.constant([5, 2, 8, 1, 0], tf.int64), x.dense_shape), x, 9))),
     )],
    shape("shapes", shapes),
    shape("shapes of placeholders", placeholders),
    value("placeholders that are fed other shapes than they were told", other_shape, exact=True),
    answer("names", names),
    [error(name, lambda tf, call=call: call(tf)) for name, call in (
        ("no sparse tensor", lambda tf: tf.sparse_tensor_to_dense(tf.zeros([2]))),
        ("add without a sparse one", lambda tf: tf.sparse_add(tf.zeros([2]), tf.zeros([2]))),
        ("combiner", lambda tf: tf.nn.embedding_lookup_sparse(
            tf.zeros([3, 2]), matrix(tf, tf.constant([1, 2, 0, 1, 1])), None, combiner="max")),
        ("indices that are a vector", lambda tf: tf.SparseTensor([1, 2], [1.0, 2.0], [5])),
        ("more values than indices", lambda tf: tf.SparseTensor([[1], [2]], [1.0, 2.0, 3.0], [5])),
    )],
]
