"""Input that numerical operations cannot compute with: what is an error, and what comes out of the rest.

Each operation meets every input of its kind: matrices that are singular, indefinite, not finite, empty or not
square; too few elements; indices out of range. A case records the class of the error, or the shapes of the
results and which of their elements are numbers: directions of vectors and the like are not determined here.
"""

import numpy as np

from tests.golden.runner import settles

NAN, INF = float("nan"), float("inf")
EYE = [[1.0, 0.0], [0.0, 1.0]]

# Those that have no elements are given as their shapes.
MATRICES = {
    "a singular matrix": [[1.0, 2.0], [2.0, 4.0]],
    "zeros": [[0.0, 0.0], [0.0, 0.0]],
    "an indefinite matrix": [[1.0, 3.0], [3.0, 1.0]],
    "NaN": [[NAN, 1.0], [1.0, 3.0]],
    "infinity": [[INF, 1.0], [1.0, 3.0]],
    "a batch with one singular matrix": [EYE, [[1.0, 1.0], [1.0, 1.0]]],
    "one number": [[3.0]],
    "zero": [[0.0]],
    "no rows": (0, 0),
    "no matrices": (0, 2, 2),
    "a matrix that is not square": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
    "a vector": [1.0, 2.0],
}
OF_MATRICES = {
    "cholesky": lambda tf, x: tf.cholesky(x),
    "cholesky_solve": lambda tf, x: tf.cholesky_solve(x, tf.ones_like(x)),
    "matrix_inverse": lambda tf, x: tf.matrix_inverse(x),
    "matrix_determinant": lambda tf, x: tf.matrix_determinant(x),
    "slogdet": lambda tf, x: tf.linalg.slogdet(x),
    "logdet": lambda tf, x: tf.linalg.logdet(x),
    "matrix_solve": lambda tf, x: tf.matrix_solve(x, tf.ones_like(x)),
    "matrix_triangular_solve": lambda tf, x: tf.matrix_triangular_solve(x, tf.ones_like(x)),
    "matrix_solve_ls": lambda tf, x: tf.matrix_solve_ls(x, tf.ones_like(x)),
    "matrix_solve_ls with a regularizer": lambda tf, x: tf.matrix_solve_ls(x, tf.ones_like(x), 0.1),
    "lu": lambda tf, x: tf.linalg.lu(x),
    "qr": lambda tf, x: tf.qr(x),
    "svd": lambda tf, x: tf.svd(x),
    "singular values": lambda tf, x: tf.svd(x, compute_uv=False),
    "self_adjoint_eig": lambda tf, x: tf.self_adjoint_eig(x),
    "self_adjoint_eigvals": lambda tf, x: tf.self_adjoint_eigvals(x),
    "expm": lambda tf, x: tf.linalg.expm(x),
    "sqrtm": lambda tf, x: tf.linalg.sqrtm(x),
    "pinv": lambda tf, x: tf.linalg.pinv(x),
    "trace": lambda tf, x: tf.trace(x),
    "fft2d": lambda tf, x: tf.abs(tf.spectral.fft2d(tf.cast(x, tf.complex64))),
}

ROWS = {
    "NaN": [[NAN, 2.0, 1.0], [2.0, NAN, 3.0]],
    "infinity": [[INF, 2.0, -INF], [2.0, INF, 3.0]],
    "one number": [[3.0]],
    "no rows": (0, 3),
    "no columns": (2, 0),
    "a vector": [2.0, 1.0],
    "one": 3.0,
}
OF_ROWS = {
    "sort": lambda tf, x: tf.sort(x),
    "argsort": lambda tf, x: tf.argsort(x),
    "top_k": lambda tf, x: tf.nn.top_k(x, 1),
    "top_k of none": lambda tf, x: tf.nn.top_k(x, 0),
    "top_k of too many": lambda tf, x: tf.nn.top_k(x, 4),
    "unique": lambda tf, x: tf.unique(x),
    "where": lambda tf, x: tf.where(x),
    "in_top_k": lambda tf, x: tf.nn.in_top_k(x, tf.zeros(tf.shape(x)[:1], tf.int32), 1),
    "in_top_k out of range": lambda tf, x: tf.nn.in_top_k(x, 9 + tf.zeros(tf.shape(x)[:1], tf.int32), 1),
    "searchsorted": lambda tf, x: tf.searchsorted(x, x),
    "argmax": lambda tf, x: tf.argmax(x, -1),
    "segment_sum": lambda tf, x: tf.segment_sum(x, tf.zeros(tf.shape(x)[:1], tf.int32)),
    "segment_max": lambda tf, x: tf.segment_max(x, tf.zeros(tf.shape(x)[:1], tf.int32)),
    "unsorted_segment_max": lambda tf, x: tf.unsorted_segment_max(x, tf.zeros(tf.shape(x)[:1], tf.int32), 2),
    "fft": lambda tf, x: tf.abs(tf.spectral.fft(tf.cast(x, tf.complex64))),
    "rfft": lambda tf, x: tf.abs(tf.spectral.rfft(x)),
    "lgamma": lambda tf, x: tf.lgamma(-x),
    "digamma": lambda tf, x: tf.digamma(-x),
    "igamma": lambda tf, x: tf.igamma(-x, x),
    "igammac": lambda tf, x: tf.igammac(x, -x),
    "betainc": lambda tf, x: tf.betainc(x, x, x),
    "zeta": lambda tf, x: tf.zeta(x, -x),
    "polygamma": lambda tf, x: tf.polygamma(-x, x),
    "bessel_i0e": lambda tf, x: tf.math.bessel_i0e(x),
    "random_gamma": lambda tf, x: tf.random_gamma([2], x, seed=1),
}

INDICES = {
    "negative": [0, -1, 1],
    "too large": [0, 1, 9],
    "unsorted": [1, 0, 1],
    "with a gap": [0, 0, 2],
    "none": (0,),
    "of another length": [0, 1],
}
X = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
OF_INDICES = {
    "segment_sum": lambda tf, ids: tf.segment_sum(X, ids),
    "segment_mean": lambda tf, ids: tf.segment_mean(X, ids),
    "segment_max": lambda tf, ids: tf.segment_max(X, ids),
    "segment_prod": lambda tf, ids: tf.segment_prod(X, ids),
    "unsorted_segment_sum": lambda tf, ids: tf.unsorted_segment_sum(X, ids, 3),
    "unsorted_segment_max": lambda tf, ids: tf.unsorted_segment_max(X, ids, 3),
    "unsorted_segment_prod": lambda tf, ids: tf.unsorted_segment_prod(X, ids, 3),
    "unsorted_segment_sum of no segments": lambda tf, ids: tf.unsorted_segment_sum(X, ids, 0),
    "sparse_segment_sum": lambda tf, ids: tf.sparse_segment_sum(X, ids, [0, 1, 1]),
    "bincount": lambda tf, ids: tf.bincount(ids),
    "bincount up to a length": lambda tf, ids: tf.bincount(ids, maxlength=3),
    "gather": lambda tf, ids: tf.gather(X, ids),
    "gather_nd": lambda tf, ids: tf.gather_nd(X, ids[:, None]),
    "scatter_nd": lambda tf, ids: tf.scatter_nd(ids[:, None], X, [3, 2]),
    "tensor_scatter_add": lambda tf, ids: tf.tensor_scatter_add(X, ids[:, None], X),
    "invert_permutation": lambda tf, ids: tf.invert_permutation(ids),
    "one_hot": lambda tf, ids: tf.one_hot(ids, 3),
    "embedding_lookup": lambda tf, ids: tf.nn.embedding_lookup(tf.constant(X), ids),
}


def fed(tf, value, dtype, closed):
    """The value, of which the graph knows the dtype and the rank, or the shape."""
    known = np.zeros(value, dtype) if isinstance(value, tuple) else np.array(value, dtype)
    made = tf.placeholder_with_default(known, None)
    made.set_shape(known.shape if closed else [None] * known.ndim)
    return made


def bad(name, function, what, value, dtype="float32"):
    def build(tf):
        return function(tf, fed(tf, value, dtype, closed=name.startswith("matrix_solve_ls")))

    return settles("%s of %s" % (name, what), build)


# TensorFlow 1.15 itself ends at a segmentation fault.
FATAL = {(name, "no rows") for name in ("svd", "singular values", "pinv")}

CASES = [
    [bad(name, function, what, value)
     for name, function in OF_MATRICES.items() for what, value in MATRICES.items()
     if (name, what) not in FATAL],
    [bad(name, function, what, value) for name, function in OF_ROWS.items() for what, value in ROWS.items()],
    [bad(name, function, "indices " + what, value, "int32")
     for name, function in OF_INDICES.items() for what, value in INDICES.items()],
]
