"""Matrix products, tensordot, einsum, and small linear algebra."""

from tests.golden.draws import given, ints, real
from tests.golden.runner import FLOAT32, value


def matmul(**options):
    return lambda tf, a, b: tf.matmul(a, b, **options)


def einsum(equation):
    return lambda tf, *args: tf.einsum(equation, *args)


def tensordot(axes):
    return lambda tf, a, b: tf.tensordot(a, b, axes)


def well_conditioned(tf, x):
    return tf.matmul(x, x, transpose_b=True) + 2.0 * tf.eye(3, dtype=x.dtype)


CASES = [
    value("matmul", matmul(), real(3, 4), real(4, 2)),
    value("matmul of the transposed left", matmul(transpose_a=True), real(4, 3), real(4, 2)),
    value("matmul of the transposed right", matmul(transpose_b=True), real(3, 4), real(2, 4)),
    value("matmul of both transposed", matmul(transpose_a=True, transpose_b=True), real(4, 3), real(2, 4)),
    value("matmul row by column", matmul(), real(1, 5), real(5, 1)),
    value("matmul column by row", matmul(), real(4, 1), real(1, 3)),
    value("matmul of a batch", matmul(), real(2, 3, 4), real(2, 4, 2)),
    value("matmul of a batch, transposed right", matmul(transpose_b=True), real(2, 3, 4), real(2, 5, 4)),
    value("matmul of a batch, transposed left", matmul(transpose_a=True), real(2, 4, 3), real(2, 4, 2)),
    value("matmul of a batch, adjoint", matmul(adjoint_a=True), real(2, 4, 3), real(2, 4, 2)),
    value("matmul of two batch axes", matmul(), real(2, 2, 3, 2), real(2, 2, 2, 3)),
    value("matmul of broadcast batches", matmul(), real(2, 1, 3, 2), real(1, 3, 2, 2)),
    value("matmul of a batch with one matrix", matmul(), real(3, 2, 4), real(1, 4, 2)),
    value("matmul of integers", matmul(), ints(3, 4), ints(4, 2)),
    value("matmul over nothing", matmul(), real(2, 0), real(0, 3)),
    value("matmul of no rows", matmul(), real(0, 3), real(3, 2)),
    value("matmul of a longer sum", matmul(), real(4, 130), real(130, 5), grad=False, tolerance=3),
    value("matmul of itself", lambda tf, x: tf.matmul(x, x), real(3, 3)),
    value("matmul with its transpose", lambda tf, x: tf.matmul(x, x, transpose_b=True), real(3, 4)),
    value("matmul operator", lambda tf, a, b: a @ b, real(2, 3), real(3, 2)),
    value("matmul then bias then relu", lambda tf, a, b, c: tf.nn.relu(tf.matmul(a, b) + c), real(5, 4),
          real(4, 3), real(3)),
    value("three matmuls", lambda tf, a, b, c: tf.matmul(tf.matmul(a, b), c), real(2, 3), real(3, 4),
          real(4, 2)),
    value("second derivative of matmul", lambda tf, a, b: tf.gradients(tf.square(tf.matmul(a, b)), [a, b]),
          real(2, 3), real(3, 2)),
    value("matmul with infinities", matmul(), given([[float("inf"), 1.0], [0.0, 2.0]]),
          given([[1.0, 0.0], [2.0, 1.0]]), grad=False),
    [value("tensordot over %s" % (label,), tensordot(axes), real(*a), real(*b))
     for label, axes, a, b in (("one axis", 1, (2, 3, 4), (4, 5)), ("two axes", 2, (2, 3, 4), (3, 4, 2)),
                               ("no axis", 0, (2, 3), (2,)),
                               ("named axes", [[0, 2], [1, 0]], (2, 3, 4), (4, 2)),
                               ("a negative axis", [[-1], [0]], (2, 3), (3, 2)))],
    [value("einsum %s" % equation, einsum(equation), *[real(*shape) for shape in shapes])
     for equation, shapes in (("iJ,Jk->ik", [(2, 3), (3, 4)]), ("...XY,...YZ", [(2, 3, 2), (2, 2, 4)]),
                              ("aB,Bc", [(2, 3), (3, 2)]), ("ba,Bb", [(2, 3), (3, 2)]),
                              ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,kj->ik", [(2, 3), (4, 3)]),
                              ("bij,bjk->bik", [(2, 3, 2), (2, 2, 4)]), ("ij->ji", [(2, 3)]),
                              ("ij->i", [(2, 3)]), ("ij->", [(2, 3)]), ("i,j->ij", [(3,), (2,)]),
                              ("i,i->", [(3,), (3,)]), ("ijk,k->ij", [(2, 3, 4), (4,)]),
                              ("bij,bkj->bik", [(2, 3, 4), (2, 2, 4)]), ("ij,jk", [(2, 3), (3, 4)]),
                              ("abcd,acde->abce", [(2, 2, 3, 2), (2, 3, 2, 3)]),
                              ("ij,jk,kl->il", [(2, 3), (3, 2), (2, 3)]),
                              ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 2, 4)]))],
    value("matvec", lambda tf, a, b: tf.linalg.matvec(a, b), real(3, 4), real(4)),
    value("matvec of a batch", lambda tf, a, b: tf.linalg.matvec(a, b, transpose_a=True), real(2, 4, 3),
          real(2, 4)),
    value("xw_plus_b", lambda tf, x, w, b: tf.nn.xw_plus_b(x, w, b), real(2, 3), real(3, 4), real(4)),
    value("relu_layer", lambda tf, x, w, b: tf.nn.relu_layer(x, w, b), real(2, 3), real(3, 4), real(4)),
    value("diag", lambda tf, x: tf.diag(x), real(3)),
    value("diag_part", lambda tf, x: tf.diag_part(x), real(3, 3)),
    value("matrix_diag", lambda tf, x: tf.matrix_diag(x), real(2, 3)),
    value("matrix_diag_part", lambda tf, x: tf.matrix_diag_part(x), real(2, 3, 3)),
    value("matrix_set_diag", lambda tf, x, d: tf.matrix_set_diag(x, d), real(2, 3, 3), real(2, 3)),
    value("matrix_transpose", lambda tf, x: tf.matrix_transpose(x), real(2, 3, 2)),
    value("matrix_band_part", lambda tf, x: tf.matrix_band_part(x, 1, 0), real(4, 4)),
    value("upper triangle", lambda tf, x: tf.linalg.band_part(x, 0, -1), real(3, 4)),
    value("eye", lambda tf: [tf.eye(3), tf.eye(2, 3), tf.eye(2, batch_shape=[2])]),
    value("cholesky", lambda tf, x: tf.cholesky(well_conditioned(tf, x)), real(3, 3), tolerance=10),
    value("matrix_inverse", lambda tf, x: tf.matrix_inverse(well_conditioned(tf, x)), real(3, 3),
          tolerance=10),
    value("matrix_determinant", lambda tf, x: tf.matrix_determinant(well_conditioned(tf, x)), real(3, 3),
          tolerance=10),
    value("matrix_solve", lambda tf, x, b: tf.matrix_solve(well_conditioned(tf, x), b), real(3, 3),
          real(3, 2), tolerance=10),
    value("matrix_triangular_solve",
          lambda tf, x, b: tf.matrix_triangular_solve(tf.cholesky(well_conditioned(tf, x)), b), real(3, 3),
          real(3, 2), tolerance=10),
    value("float16 matmul", matmul(), real(3, 4), real(4, 2), dtypes=("float16",), grad=False),
    value("layer in float32 only", lambda tf, x, w: tf.nn.softmax(tf.matmul(tf.tanh(tf.matmul(x, w)), w)),
          real(3, 3), real(3, 3), dtypes=FLOAT32),
]
