"""Linear operators: their products, solutions, determinants, parts and hints, with and without a batch."""

from tests.golden.draws import given, positive, real
from tests.golden.runner import FLOAT32, answer, error, value


def definite(tf, x):
    return tf.matmul(x, x, transpose_b=True) + 2.0 * tf.eye(x.shape[-1].value, dtype=x.dtype)


def dominant(tf, x):
    return x + 4.0 * tf.eye(x.shape[-1].value, dtype=x.dtype)


def both(tf, x):
    return tf.complex(x, x[..., ::-1])


# By title: a function of `tf` and of the tensors that the inputs become, and the inputs.
MAKERS = {
    "full": (lambda tf, x: tf.linalg.LinearOperatorFullMatrix(dominant(tf, x)), real(2, 4, 4)),
    "full, definite": (lambda tf, x: tf.linalg.LinearOperatorFullMatrix(
        definite(tf, x), is_self_adjoint=True, is_positive_definite=True), real(4, 4)),
    "triangular": (lambda tf, x: tf.linalg.LinearOperatorLowerTriangular(dominant(tf, x)), real(4, 4)),
    "triangular, batch": (lambda tf, x: tf.linalg.LinearOperatorLowerTriangular(
        dominant(tf, x), is_non_singular=True), real(2, 4, 4)),
    "diagonal": (lambda tf, x: tf.linalg.LinearOperatorDiag(x), positive(4)),
    "diagonal of complex numbers": (lambda tf, x: tf.linalg.LinearOperatorDiag(both(tf, x)), positive(2, 4)),
    "householder": (lambda tf, x: tf.linalg.LinearOperatorHouseholder(x), positive(4)),
    "identity": (lambda tf, x: tf.linalg.LinearOperatorIdentity(4), real(1)),
    "identity, batch": (lambda tf, x: tf.linalg.LinearOperatorIdentity(4, [2]), real(1)),
    "scaled identity": (lambda tf, x: tf.linalg.LinearOperatorScaledIdentity(4, x), positive(2)),
    "composition": (lambda tf, x, y: tf.linalg.LinearOperatorComposition(
        [tf.linalg.LinearOperatorLowerTriangular(dominant(tf, x)), tf.linalg.LinearOperatorDiag(y)]),
        real(4, 4), positive(4)),
    "blocks": (lambda tf, x, y: tf.linalg.LinearOperatorBlockDiag(
        [tf.linalg.LinearOperatorFullMatrix(dominant(tf, x)), tf.linalg.LinearOperatorDiag(y)]),
        real(2, 2, 2), positive(2)),
    "kronecker": (lambda tf, x, y: tf.linalg.LinearOperatorKronecker(
        [tf.linalg.LinearOperatorFullMatrix(dominant(tf, x)), tf.linalg.LinearOperatorDiag(y)]),
        real(2, 2), positive(2, 2)),
    "low rank": (lambda tf, x, u: tf.linalg.LinearOperatorLowRankUpdate(
        tf.linalg.LinearOperatorDiag(x, is_positive_definite=True), u), positive(4), real(4, 2)),
    "low rank, four parts": (lambda tf, x, u, d, v: tf.linalg.LinearOperatorLowRankUpdate(
        tf.linalg.LinearOperatorFullMatrix(dominant(tf, x)), u, d, v),
        real(4, 4), positive(2, 4, 2), positive(2), positive(4, 2)),
    "circulant": (lambda tf, x: tf.linalg.LinearOperatorCirculant(both(tf, x)), positive(4)),
    "circulant, real spectra": (lambda tf, x: tf.linalg.LinearOperatorCirculant(x), positive(2, 4)),
    "circulant of blocks": (lambda tf, x: tf.linalg.LinearOperatorCirculant2D(both(tf, x)), positive(2, 2)),
    "circulant of blocks of blocks": (lambda tf, x: tf.linalg.LinearOperatorCirculant3D(both(tf, x)),
                                      positive(2, 1, 2)),
    "toeplitz": (lambda tf, x, y: tf.linalg.LinearOperatorToeplitz(x + 4.0, y), positive(4), positive(4)),
}  # fmt: skip

X = [[1.0, -2.0], [0.5, 3.0], [2.0, 0.0], [-1.0, 1.5]]
XT = [list(row) for row in zip(*X)]
SYSTEMS = {
    "products": lambda tf, a, x, xt: [
        a.matmul(x), a.matmul(x, adjoint=True), a.matmul(xt, adjoint_arg=True), a.matvec(x[:, 0]),
        a.to_dense(), a.adjoint().to_dense()],
    "solutions": lambda tf, a, x, xt: [
        a.solve(x), a.solve(x, adjoint=True), a.solve(xt, adjoint_arg=True), a.solvevec(x[:, 1]),
        a.inverse().to_dense()],
    "parts": lambda tf, a, x, xt: [
        a.determinant(), a.log_abs_determinant(), a.diag_part(), a.trace(),
        a.shape_tensor(), a.batch_shape_tensor(), a.tensor_rank_tensor(), a.domain_dimension_tensor()],
}  # fmt: skip


def results(tf, system, make, *parts):
    """The results of an operator, real and imaginary parts apart."""
    a = make(tf, *parts)
    made = SYSTEMS[system](tf, a, tf.constant(X, a.dtype), tf.constant(XT, a.dtype))
    halves = []
    for each in made:
        halves += [tf.math.real(each), tf.math.imag(each)] if each.dtype.is_complex else [each]
    return halves


def told(tf):
    """Names and hints of operators, and of those that follow from them."""
    x = tf.ones([4, 4])
    full, diagonal = tf.linalg.LinearOperatorFullMatrix(x), tf.linalg.LinearOperatorDiag(tf.ones([2, 4]))
    made = [full, diagonal, full.adjoint(), full.inverse(), diagonal.inverse(), full.adjoint().adjoint(),
            full.matmul(diagonal), diagonal.matmul(diagonal), tf.linalg.LinearOperatorKronecker([full, full]),
            tf.linalg.LinearOperatorBlockDiag([full, full]), tf.linalg.LinearOperatorToeplitz(x[0], x[0]),
            tf.linalg.LinearOperatorZeros(3, batch_shape=[2]), tf.linalg.LinearOperatorIdentity(2).cholesky()]
    return [[each.name, type(each).__name__, each.shape.as_list(), each.is_non_singular, each.is_self_adjoint,
             each.is_positive_definite, each.is_square] for each in made]  # fmt: skip


def counted(tf):
    """Names of nodes, and how many operations there are."""
    made = [tf.linalg.LinearOperatorLowerTriangular(tf.ones([3, 3])).to_dense(),
            tf.linalg.LinearOperatorLowerTriangular(tf.placeholder(tf.float32, [None, None])).to_dense(),
            tf.linalg.LinearOperatorDiag(tf.ones([3]), name="scale").matmul(tf.ones([3, 2])),
            tf.linalg.LinearOperatorIdentity(3).to_dense(),
            tf.linalg.LinearOperatorScaledIdentity(3, 2.0).matvec(tf.ones([3])),
            tf.linalg.LinearOperatorFullMatrix(tf.ones([3, 3])).determinant()]
    return [each.name for each in made] + [tf.get_default_graph()._last_id]  # fmt: skip


def open_mask(tf):
    """A causal mask whose size follows from what is fed."""
    x = tf.placeholder_with_default(tf.ones([2, 3, 5]), [None, None, 5])
    length = tf.shape(x)[1]
    mask = tf.linalg.LinearOperatorLowerTriangular(tf.ones([length, length])).to_dense()
    full = tf.linalg.LinearOperatorFullMatrix(mask, is_square=True)
    return [tf.matmul(mask, x[0]), tf.linalg.LinearOperatorIdentity(length).matmul(x),
            tf.linalg.LinearOperatorBlockDiag([full] * 2).to_dense(),
            tf.linalg.LinearOperatorKronecker([full] * 2).trace()]  # fmt: skip


def known_definite(tf):
    return tf.linalg.LinearOperatorFullMatrix([[2.0, 1.0], [1.0, 3.0]], None, True, True)


def as_matrices(tf, x):
    """Functions of matrices, of which some arguments are operators."""
    full, known = tf.linalg.LinearOperatorFullMatrix([[2.0, 1.0], [0.0, 3.0]]), known_definite(tf)
    made = [tf.matmul(full, x), tf.matmul(x, full), tf.matmul(full, x, adjoint_a=True, adjoint_b=True),
            tf.matmul(a=x, b=full, adjoint_b=True), tf.matmul(full, known), tf.linalg.adjoint(full),
            tf.matrix_inverse(full, adjoint=True), tf.cholesky(known), tf.linalg.det(full),
            tf.matrix_solve(full, x), tf.matrix_diag_part(full), tf.trace(full), tf.linalg.logdet(known)]
    return [each.to_dense() if isinstance(each, tf.linalg.LinearOperator) else each for each in made]


def asserted(tf, operator, method):
    with tf.control_dependencies([getattr(operator, method)()]):
        return tf.identity(1.0)


def rows(tf, *numbers):
    return tf.linalg.LinearOperatorDiag(list(numbers))


BAD = {
    "a matrix of another size": lambda tf: rows(tf, 1.0, 2.0).matmul(tf.ones([3, 3])),
    "a vector of another size": lambda tf: rows(tf, 1.0, 2.0).matvec(tf.ones([3])),
    "another type": lambda tf: rows(tf, 1.0, 2.0).matmul(tf.ones([2, 2], tf.float64)),
    "a scalar as a triangle": lambda tf: tf.linalg.LinearOperatorLowerTriangular(1.0),
    "integers": lambda tf: tf.linalg.LinearOperatorFullMatrix([[1, 2], [3, 4]]),
    "a negative size": lambda tf: tf.linalg.LinearOperatorIdentity(-1),
    "a size that is not whole": lambda tf: tf.linalg.LinearOperatorIdentity(1.5),
    "hints that contradict": lambda tf: tf.linalg.LinearOperatorFullMatrix(
        [[1.0]], is_positive_definite=True, is_non_singular=False),
    "a hint that cannot be": lambda tf: tf.linalg.LinearOperatorDiag([1.0], is_self_adjoint=False),
    "no operators": lambda tf: tf.linalg.LinearOperatorComposition([]),
    "operators of two types": lambda tf: tf.linalg.LinearOperatorComposition(
        [rows(tf, 1.0), tf.linalg.LinearOperatorIdentity(1, dtype=tf.float64)]),
    "a block that is not square": lambda tf: tf.linalg.LinearOperatorBlockDiag(
        [tf.linalg.LinearOperatorFullMatrix(tf.ones([2, 3]))]),
    "a determinant that is not": lambda tf: tf.linalg.LinearOperatorFullMatrix(tf.ones([2, 3])).determinant(),
    "a solution that is not": lambda tf: tf.linalg.LinearOperatorZeros(2).solve(tf.ones([2, 2])),
    "an inverse that is not": lambda tf: tf.linalg.LinearOperatorZeros(2).inverse(),
    "a factor that is not": lambda tf: rows(tf, 1.0).cholesky(),
    "a singular diagonal": lambda tf: asserted(tf, rows(tf, 1.0, 0.0), "assert_non_singular"),
    "a negative diagonal": lambda tf: asserted(tf, rows(tf, 1.0, -1.0), "assert_positive_definite"),
    "a matrix that is not symmetric": lambda tf: asserted(
        tf, tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]]), "assert_self_adjoint"),
    "a good diagonal": lambda tf: asserted(tf, rows(tf, 1.0, 2.0), "assert_positive_definite"),
    "a transpose in a product": lambda tf: tf.matmul(known_definite(tf), tf.eye(2), transpose_a=True),
    "a sparse factor": lambda tf: tf.matmul(tf.eye(2), known_definite(tf), a_is_sparse=True),
    "a tensor whose right side it is": lambda tf: tf.matrix_solve(tf.eye(2), known_definite(tf)),
    "a logarithm that is not known": lambda tf: tf.linalg.logdet(rows(tf, 1.0, 2.0)),
    "two sizes of an update": lambda tf: tf.linalg.LinearOperatorLowRankUpdate(
        rows(tf, 1.0, 2.0), tf.ones([3, 1])),
    "a row and a column of two sizes": lambda tf: tf.linalg.LinearOperatorToeplitz([1.0, 2.0], [1.0]),
}  # fmt: skip

CASES = [
    [value("%s of an operator: %s" % (system, title),
           lambda tf, *parts, system=system, maker=maker: results(tf, system, maker, *parts), *draws,
            dtypes=FLOAT32, tolerance=32.0, grad=title in ("triangular", "low rank", "kronecker"))
     for title, (maker, *draws) in MAKERS.items() for system in SYSTEMS],
    value("sum of an operator and a tensor", lambda tf, x: [
        tf.linalg.LinearOperatorDiag(x[0]).add_to_tensor(x),
        tf.linalg.LinearOperatorIdentity(3).add_to_tensor(x),
        tf.linalg.LinearOperatorScaledIdentity(3, 2.0).add_to_tensor(x),
        tf.linalg.LinearOperatorFullMatrix(x).add_to_tensor(x)], real(3, 3), dtypes=FLOAT32),
    value("zero operators", lambda tf, x: [
        tf.linalg.LinearOperatorZeros(3).matmul(x), tf.linalg.LinearOperatorZeros(3, batch_shape=[2]).trace(),
        tf.linalg.LinearOperatorZeros(2, 3, is_square=False, is_self_adjoint=False).matmul(x)],
        real(3, 2), grad=False, dtypes=FLOAT32),
    value("cholesky of an operator", lambda tf, x, d: [
        tf.linalg.LinearOperatorFullMatrix(definite(tf, x), None, True, True).cholesky().to_dense(),
        tf.linalg.LinearOperatorDiag(d, is_positive_definite=True).cholesky().to_dense(),
        tf.linalg.LinearOperatorScaledIdentity(2, d[0], is_positive_definite=True).cholesky().to_dense()],
        real(3, 3), positive(3), dtypes=FLOAT32, tolerance=8.0),
    value("products and solutions of operators", lambda tf, x, d: [
        tf.linalg.LinearOperatorFullMatrix(x).matmul(tf.linalg.LinearOperatorDiag(d)).to_dense(),
        tf.linalg.LinearOperatorDiag(d).matmul(tf.linalg.LinearOperatorLowerTriangular(x)).to_dense(),
        tf.linalg.LinearOperatorLowerTriangular(x).matmul(tf.linalg.LinearOperatorIdentity(3)).to_dense(),
        tf.linalg.LinearOperatorDiag(d).solve(tf.linalg.LinearOperatorFullMatrix(x)).to_dense()],
        real(3, 3), positive(3), dtypes=FLOAT32, tolerance=8.0),
    value("operators of open sizes", lambda tf, x: open_mask(tf), given([1.0]), grad=False, dtypes=FLOAT32),
    value("operators as arguments of functions of matrices", as_matrices, real(2, 2), dtypes=FLOAT32,
          tolerance=8.0),
    answer("names and hints of operators", told),
    answer("names and numbers of operations of operators", counted),
    [error("an operator with %s" % title, build) for title, build in BAD.items()],
]
