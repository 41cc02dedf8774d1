"""Functions of matrices: norms, generalised inverses, banded products; and averages of losses."""

from tests.golden.draws import given, positive, real
from tests.golden.runner import FLOAT32, answer, error, value

INF = float("inf")
SINGULAR = given([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])


def linalg(function, **options):
    return lambda tf, *args: getattr(tf.linalg, function)(*args, **options)


def shared(tf):
    """The variables of three calls of a template, and of a second template of the same name."""

    def layer(x):
        return x * tf.get_variable("w", [2])

    first, second = tf.make_template("layer", layer), tf.make_template("layer", layer)
    calls = [function(tf.ones([2])).name for function in (first, second, first)]
    variables = [[v.name for v in function.variables] for function in (first, second)]
    return calls + variables + [first.variable_scope_name, second.variable_scope_name]


def options(tf):
    """Templates with a name from here, with one that must be free, and with bound arguments."""

    def layer(x, size):
        return tf.get_variable("w", [size])

    now = tf.make_template("layer", layer, create_scope_now_=True, size=3)
    later = tf.make_template("layer", layer, unique_name_="own", size=2)
    return [later(1).name, now(1).name, now.variables[0].name, len(later.trainable_variables)]


def late_variable(tf):
    names = iter("ab")
    layer = tf.make_template("layer", lambda: tf.get_variable(next(names), [1]))
    return [layer(), layer()]


PIVOTED = given([[2.0, 3, 1, 0], [0.1, 1, 0.2, 4], [0, 5, 2, 3]])


def solved(tf, x, rhs, **options):
    """Systems whose diagonals dominate, so that rounding decides nothing."""
    strong = tf.concat([x[..., :1, :], x[..., 1:2, :] + 6.0, x[..., 2:, :]], -2)
    return tf.linalg.tridiagonal_solve(strong, rhs, **options)


def hermitian(tf, *parts):
    x = parts[0] if len(parts) == 1 else tf.complex(*parts)
    return x + tf.linalg.adjoint(x)


def spectral(tf, *parts):
    """Eigenvalues, and a function of the matrix that does not depend on the phases of eigenvectors."""
    values, vectors = tf.linalg.eigh(hermitian(tf, *parts))
    product = tf.matmul(vectors * tf.exp(0.1 * values)[..., None, :], vectors, adjoint_b=True)
    return [tf.math.real(values), tf.math.real(product), tf.math.imag(product)][: 2 if len(parts) == 1 else 3]


def determinants(tf, *parts):
    x = parts[0] if len(parts) == 1 else tf.complex(*parts)
    return [tf.math.real(tf.linalg.det(x)), tf.math.real(tf.linalg.slogdet(x)[1])]


def inverses(tf, re, im):
    x = tf.complex(re, im)
    return [tf.math.real(tf.linalg.inv(x)), tf.math.imag(tf.linalg.inv(x))]


def least_squares(tf, re, im):
    x = tf.linalg.lstsq(tf.complex(re, im), tf.complex(im, re), fast=False)
    return [tf.math.real(x), tf.math.imag(x)]


def singular(tf, x, **options):
    """Singular values, and a product that does not depend on the signs of vectors."""
    values, left, right = tf.linalg.svd(x, **options)
    k = values.shape[-1].value
    return [values, tf.matmul(left[..., :k] * values[..., None, :] ** 2, right[..., :k], transpose_b=True)]


def root(tf, x):
    return tf.linalg.sqrtm(tf.matmul(x, x, transpose_b=True) + 3.0 * tf.eye(3, dtype=x.dtype) + 0.3 * x)


CASES = [
    [value("eigh %s" % (shape,), spectral, real(*shape), tolerance=8.0) for shape in ((3, 3), (2, 4, 4))],
    value("eigh of complex matrices", spectral, real(2, 3, 3), real(2, 3, 3), tolerance=8.0),
    value("eigvalsh", lambda tf, x: tf.linalg.eigvalsh(hermitian(tf, x)), real(3, 3), tolerance=8.0),
    [value("svd %s" % (shape,), singular, real(*shape), tolerance=8.0)
     for shape in ((3, 3), (2, 4, 3), (2, 4))],
    value("svd, full", lambda tf, x: singular(tf, x, full_matrices=True), real(4, 3), tolerance=8.0),
    [value("matrix_solve_ls %s, regularizer %s" % (shape, regularizer),
           lambda tf, x, y, regularizer=regularizer: tf.matrix_solve_ls(x, y, regularizer),
           real(*shape), real(*shape[:-1], 2), tolerance=16.0)
     for shape in ((4, 2), (2, 4), (3, 4, 2), (3, 2, 4)) for regularizer in (0.0, 0.5)],
    value("matrix_solve_ls of complex matrices", least_squares, real(4, 2), real(4, 2), grad=False,
          tolerance=16.0),
    value("svd, values only", linalg("svd", compute_uv=False), real(2, 4, 2), tolerance=8.0),
    [value("qr %s" % (shape,), lambda tf, x: list(tf.linalg.qr(x)), real(*shape), tolerance=8.0)
     for shape in ((3, 3), (2, 4, 3))],
    [value("spectral norm of unknown rank, axis %s, keepdims %s" % (axis, keepdims),
           lambda tf, x, a=axis, kept=keepdims: tf.norm(tf.placeholder_with_default(x, None), 2, a, kept),
           real(2, 3, 4), tolerance=8.0) for axis in ((-2, -1), (-1, 0)) for keepdims in (False, True)],
    [error("norm over axis %s" % (axis,), lambda tf, axis=axis: tf.norm([[0.0, 1.0], [2.0, 3.0]], axis=axis))
     for axis in ([], [0], [1, 2, 3], [[1], [2]], 3.14, [1, 1])],
    value("spectral norm", lambda tf, x: tf.norm(x, ord=2, axis=[-2, -1]), real(2, 3, 4), tolerance=8.0),
    value("det and slogdet", determinants, real(2, 3, 3), tolerance=8.0),
    # TensorFlow's gradient of a complex determinant lacks a conjugate.
    value("det and slogdet of complex matrices", determinants, real(2, 3, 3), real(2, 3, 3), grad=False,
          tolerance=8.0),
    value("inv of complex matrices", inverses, real(2, 3, 3), real(2, 3, 3), tolerance=8.0),
    value("pinv and its gradient", linalg("pinv"), real(4, 3), tolerance=8.0),
    value("sqrtm", root, real(3, 3), grad=False, tolerance=8.0),
    [value("expm %s, times %s" % (shape, factor), lambda tf, x, f=factor: tf.linalg.expm(f * x), real(*shape),
           tolerance=4.0)
     for shape, factor in (((3, 3), 1.0), ((1, 1), 2.0), ((2, 4, 4), 0.1), ((2, 3, 3), 4.0))],
    [value("lu %s" % (shape,), lambda tf, x: list(tf.linalg.lu(x)), real(*shape), grad=False, tolerance=4.0)
     for shape in ((4, 4), (1, 1), (2, 3, 3))],
    value("lu, int64", lambda tf, x: list(tf.linalg.lu(x, tf.int64)), real(3, 3), grad=False, tolerance=4.0),
    [value("tridiagonal_solve %s" % (shape,), solved, real(*shape[:-1]), real(*shape[:-3], *shape[-2:]))
     for shape in ((3, 6, 2), (2, 3, 4, 1), (3, 1, 2))],
    value("tridiagonal_solve with pivots", linalg("tridiagonal_solve"), PIVOTED, real(4, 2), grad=False,
          tolerance=4.0),
    value("tridiagonal_solve, sides without their ends", lambda tf, a, b, c, x: tf.linalg.tridiagonal_solve(
        (a, b + 5.0, c), x, "sequence"), real(2, 3), real(2, 4), real(2, 3), real(2, 4)),
    value("tridiagonal_solve of a vector", solved, real(3, 5), real(5)),
    value("tridiagonal_solve, transposed", lambda tf, x, y: solved(tf, x, y, transpose_rhs=True), real(3, 5),
          real(2, 5), grad=False),
    [value("normalize, ord %s, axis %s" % (ord, axis), linalg("normalize", ord=ord, axis=axis),
           positive(3, 4))
     for ord in ("euclidean", 1, 3, INF) for axis in (None, 0, 1)],
    value("normalize matrices", linalg("normalize", ord=1, axis=[-2, -1]), positive(2, 3, 4)),
    [value("pinv %s" % (shape,), linalg("pinv"), real(*shape), grad=False, tolerance=4.0)
     for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2))],
    value("pinv of a singular matrix", linalg("pinv"), SINGULAR, grad=False, tolerance=4.0),
    value("pinv with rcond", linalg("pinv", rcond=0.5), real(4, 3), grad=False, tolerance=4.0),
    [value("matrix_rank %s" % (shape,), linalg("matrix_rank"), real(*shape), grad=False)
     for shape in ((3, 3), (4, 2), (2, 3, 2))],
    value("matrix_rank of a singular matrix", linalg("matrix_rank"), SINGULAR, grad=False),
    value("matrix_rank with tol", linalg("matrix_rank", tol=3.0), SINGULAR, grad=False),
    value("tridiagonal_matmul", linalg("tridiagonal_matmul"), real(3, 5), real(5, 2)),
    value("tridiagonal_matmul of a batch", linalg("tridiagonal_matmul"), real(2, 3, 4), real(2, 4, 3)),
    value("tridiagonal_matmul, sequence", lambda tf, a, b, c, x: tf.linalg.tridiagonal_matmul(
        [a, b, c], x, diagonals_format="sequence"), real(4), real(4), real(4), real(4, 2)),
    value("tridiagonal_matmul, matrix", linalg("tridiagonal_matmul", diagonals_format="matrix"), real(4, 4),
          real(4, 2)),
    error("tridiagonal_matmul, another format", lambda tf: tf.linalg.tridiagonal_matmul(
        tf.zeros([3, 4]), tf.zeros([4, 1]), diagonals_format="none")),
    value("compute_average_loss", lambda tf, x: tf.nn.compute_average_loss(x), real(5)),
    value("compute_average_loss, weights", lambda tf, x, w: tf.nn.compute_average_loss(x, w), real(5),
          real(5), dtypes=FLOAT32),
    value("compute_average_loss, size", lambda tf, x: tf.nn.compute_average_loss(x, global_batch_size=8),
          real(5)),
    value("scale_regularization_loss", lambda tf, x: tf.nn.scale_regularization_loss(x), real(5)),
    [value("math.%s" % name, lambda tf, x, name=name: getattr(tf.math, name)(x), real(2, 3), tolerance=4.0)
     for name in ("softmax", "log_softmax", "zero_fraction", "l2_normalize")],
    answer("template", shared),
    answer("template with options", options),
    error("template with a variable too late", late_variable),
]
