"""Inverses and determinants of square matrices, and solutions of systems, made of `factors.py`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import complex64, complex128, float32, float64
from staticgraph.compiler.graph.errors import RuleError, require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import Shape, TensorType, broadcast, shape_text
from staticgraph.compiler.graph.sizes import is_open, proven, same, same_shape
from staticgraph.compiler.ops.arrays.creation import positions
from staticgraph.compiler.ops.kinds import composite, conjugate
from staticgraph.compiler.ops.linear_algebra.algorithms import unrolled
from staticgraph.compiler.ops.linear_algebra.products import summed_over_batches
from staticgraph.compiler.ops.samples import Sample, real

_LARGE = 64  # rows of a matrix whose inverse is worth an order of its columns

FIELDS = frozenset({float32, float64, complex64, complex128})


def matrices(x: TensorType, name: str = "input", square: bool = True) -> Shape | None:
    """Return the shape of a batch of matrices, or refuse it for a type rule."""
    if x.shape is None:
        return None
    require(len(x.shape) >= 2, f"{name} has rank {x.rank}, at least 2 is needed")
    rows, columns = x.shape[-2:]
    fits = not square or rows is None or columns is None or rows == columns
    hint = "matmul(x, x, transpose_a=True) is square; lstsq solves systems that are not"
    require(fits, f"{name} has shape {shape_text(x.shape)}, its matrices must be square", hint)
    return x.shape


def square_type(input: TensorType, **_: Any) -> TensorType:
    """Type rule: that of the input, a batch of square matrices."""
    matrices(input)
    return input


def nonsingular(of: str) -> Any:
    """Return the requirement that the matrices of the first input have inverses."""

    def requires(matrix: Any, *_: Any, **__: Any) -> list[Any]:
        if any(same(n, 0) for n in matrix.shape):
            return []
        return [ops.factor_nonzero(ops.lu(matrix)[0], of=of)]

    return requires


def telling(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with TF1's words for where LAPACK gives up."""

    def run(*args: Any, **attrs: Any) -> Any:
        try:
            return function(*args, **attrs)
        except np.linalg.LinAlgError:
            hint = "look for NaN, and for rows that depend on each other: adding 1e-6 * eye(n) may help"
            raise RuleError(f"{what} Shape: {list(args[0].shape)}", hint) from None

    return run


def unless_singular(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of matrices, with NaN for what LAPACK does not give: requirements tell of that."""

    def run(x: np.ndarray, *args: np.ndarray) -> Any:
        try:
            return function(x, *args)
        except np.linalg.LinAlgError:
            if any(a.ndim > 2 for a in (x, *args)):
                batch = np.broadcast_shapes(x.shape[:-2], *(a.shape[:-2] for a in args))
                spread = (np.broadcast_to(a, (*batch, *a.shape[-2:])) for a in (x, *args))
                each = [a.reshape(-1, *a.shape[-2:]) for a in spread]
                made = np.stack([run(*some) for some in zip(*each, strict=True)])
                return made.reshape(*batch, *made.shape[-2:])
            return np.full((x.shape[0], args[0].shape[-1] if args else x.shape[1]), np.nan, x.dtype)

    return run


def widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in double precision, its results in that of the input."""

    def run(x: np.ndarray, **attrs: Any) -> Any:
        made = function(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64), **attrs)
        if isinstance(made, tuple):
            return tuple(np.asarray(m).astype(x.dtype) for m in made)
        return np.asarray(made).astype(x.dtype)

    return run


def adjoint(x: Any) -> Any:
    """The conjugate transposes of matrices."""
    rank = x.type.rank
    return conjugate(ops.transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2)))


def product(a: Any, b: Any, adj_a: bool = False, adj_b: bool = False) -> Any:
    """The product of matrices, or of their adjoints."""
    return ops.batch_matmul(a, b, adj_x=adj_a, adj_y=adj_b)


def real_part(x: Any) -> Any:
    """The real parts of numbers, which may be real themselves."""
    return ops.real(x) if x.dtype.is_complex else x


def in_field(x: Any, dtype: Any) -> Any:
    """Real numbers as numbers of `dtype`."""
    return ops.complex(x, 0.0) if dtype.is_complex else x


def least(a: int | None, b: int | None) -> int | None:
    """The lesser size, if both are known."""
    return None if a is None or b is None else min(a, b)


def block(x: Any, rows: Sequence[Any] = (0, None), columns: Sequence[Any] = (0, None)) -> Any:
    """Rows and columns of matrices, each from one to the one before another; None is the end."""
    spans = [
        (first, n if stop is None else stop)
        for (first, stop), n in zip((rows, columns), x.shape[-2:], strict=True)
    ]
    if not is_open([n for span in spans for n in span]):
        return x[(..., *(slice(*span) for span in spans))]
    lead = x.rank - 2
    begin = (*(0 for _ in range(lead)), *(first for first, _ in spans))
    return ops.slice(x, begin=begin, size=(*x.shape[:lead], *(stop - first for first, stop in spans)))


def _adjoint(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2).conj()


# Random matrices of one element are the ones that are sure to be well conditioned and positive definite.
SQUARE = [
    Sample(real(1, 1, low=1.0, high=2.0)),
    Sample(real(2, 3, 1, 1, low=1.0, high=2.0)),
    Sample(real(0, 2, 2)),
]


def _inverse_grad(g: Any, y: Any, x: Any, adjoint: bool) -> tuple[Any]:
    """-Y^H G Y^H; with `adjoint`, where Y is the adjoint of the inverse, -Y G^H Y."""
    if adjoint:
        return (-product(product(y, g, adj_b=True), y),)
    return (-product(product(y, g, adj_a=True), y, adj_b=True),)


_turned = adjoint  # which the attribute hides


def _inverse(x: np.ndarray, adjoint: bool) -> np.ndarray:
    made = unless_singular(np.linalg.inv)(x)
    return _adjoint(made) if adjoint else made


@composite(
    tf="MatrixInverse", type=square_type, dtypes=FIELDS, samples=SQUARE, grad=_inverse_grad, grad_takes=(),
    numpy=widened(_inverse), requires=nonsingular("matrix_inverse"),
)
def matrix_inverse(input: Any, *, adjoint: bool = False) -> Any:
    """Inverses of square matrices; with `adjoint`, their adjoints."""
    if any(same(n, 0) for n in input.shape):
        return input
    factors, order = ops.lu(input)
    if proven(operator.lt, input.shape[-1], _LARGE):
        rows, places = ops.expand_dims(order, axis=-1), positions(input, input.shape[-1])
        here = ops.equal(rows, ops.cast(places, dtype=order.dtype))
        made = _substituted(factors, ops.cast(here, dtype=input.dtype))
    else:  # the inverse of L has zeros, which need not be computed
        half = ops.unit_lower_inverse(factors)
        made = ops.triangular_solution(factors, half, lower=False, adjoint=False, unit=False)
        made = ops.gather(made, _inverted(order), axis=input.rank - 1, batch_dims=input.rank - 2)
    return _turned(made) if adjoint else made


def _inverted(order: Any) -> Any:
    """The places of numbers in their order."""
    places = ops.cast(positions(order, order.shape[-1]), dtype=order.dtype)
    here = ops.equal(ops.expand_dims(order, axis=-2), ops.expand_dims(places, axis=-1))
    return ops.reduce_sum(ops.select(here, places, 0), axis=(-1,))


def _substituted(factors: Any, rhs: Any, adjoint: bool = False) -> Any:
    """X with L U X = rhs, or with the adjoint of the product."""
    lower = {"lower": True, "adjoint": adjoint, "unit": True}
    upper = {"lower": False, "adjoint": adjoint, "unit": False}
    for step in (upper, lower) if adjoint else (lower, upper):
        rhs = ops.triangular_solution(factors, rhs, **step)
    return rhs


def _per_matrix(numbers: Any) -> Any:
    """One number per matrix, in a shape that broadcasts against the matrices."""
    return ops.expand_dims(ops.expand_dims(numbers, axis=-1), axis=-1)


def _determinant_type(input: TensorType) -> TensorType:
    shape = matrices(input)
    return TensorType(input.dtype, None if shape is None else shape[:-2])


def _trace_of_product(a: Any, b: Any) -> Any:
    """tr(A^H B) of each pair of matrices, in a shape that broadcasts against them."""
    return ops.reduce_sum(conjugate(a) * b, axis=(-2, -1), keepdims=True)


def cofactors_by_values(x: np.ndarray) -> np.ndarray:
    """From singular values: the product of all but one of them needs no division."""
    left, values, right = np.linalg.svd(x)
    ones = np.ones_like(values[..., :1])
    before = np.cumprod(np.concatenate([ones, values[..., :-1]], axis=-1), axis=-1)[..., : x.shape[-1]]
    after = np.cumprod(np.concatenate([ones, values[..., :0:-1]], axis=-1), axis=-1)[..., : x.shape[-1]]
    others = before * after[..., ::-1]
    phase = np.conj(np.linalg.det(left) * np.linalg.det(right))
    return phase[..., None, None] * (left * others[..., None, :]) @ right


def _cofactors_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    """tr(G^H W) C - C G^H W with W, the adjoint of the inverse: not defined for a singular matrix.

    Cofactors of few rows are polynomials, and so is their derivative, which exists at singular matrices, too.
    """
    if proven(operator.lt, x.shape[-1], 2):
        return (ops.zeros_like(x),)
    if _are_few(x):
        return (_slope_of_cofactors(x, g),)
    inverse = matrix_inverse(x, adjoint=True)
    return (y * _trace_of_product(g, inverse) - product(product(y, g, adj_b=True), inverse),)


def _are_few(x: Any) -> bool:
    """Return True if cofactors of matrices are written out."""
    return proven(operator.le, x.shape[-1], unrolled.FEW) and not x.dtype.is_complex


def _slope_of_cofactors(x: Any, g: Any) -> Any:
    """The derivative C' of the cofactors C at x along g, which is its own adjoint.

    C has the degree n - 1 in x: (C(x + g) - C(x - g)) / 2 is C' up to degree 2, and C' + C(g) at degree 3.
    C' is linear in g, which is brought to the size of x for that: otherwise the larger one would drown the
    other.
    """
    largest = [ops.reduce_max(ops.abs(each), axis=(-2, -1), keepdims=True) for each in (x, g)]
    known = ops.logical_and(*(ops.greater(each, 0.0) for each in largest))
    of_x, of_g = (ops.select(known, each, 1.0) for each in largest)
    scale = ops.stop_gradient(of_x / of_g)
    g = g * scale
    slope = (matrix_cofactors(x + g) - matrix_cofactors(x - g)) * 0.5
    return (slope - matrix_cofactors(g) if x.shape[-1] == 4 else slope) / scale


@composite(
    type=square_type, numpy=widened(cofactors_by_values), dtypes=FIELDS, grad=_cofactors_grad,
    samples=[*SQUARE, Sample(real(2, 3, 3)), Sample(real(4, 4)), Sample(real(5, 5))],
)
def matrix_cofactors(input: Any) -> Any:
    """Derivatives of the determinants of square matrices by their elements; of singular matrices, too.

    For complex matrices they are conjugated.
    """
    if _are_few(input):
        return ops.small_cofactors(input)
    return _cofactors_of_values(input)


def _cofactors_of_values(x: Any) -> Any:
    """Cofactors of matrices as `cofactors_by_values` has them."""
    values, left, right = ops.square_svd(x, compute_uv=True)
    others = [ops.cumprod(values, axis=values.rank - 1, exclusive=True, reverse=r) for r in (False, True)]
    turns = conjugate(matrix_determinant(left)) * matrix_determinant(right)
    turns = turns if x.dtype.is_complex else ops.sign(turns)
    scaled = left * ops.expand_dims(in_field(others[0] * others[1], x.dtype), axis=-2)
    return _per_matrix(turns) * product(scaled, right, adj_b=True)


def _pivots(x: Any) -> tuple[Any, Any]:
    """The diagonals of the factors U of matrices, and the signs of the orders of their rows."""
    factors, order = ops.lu(x)
    n = x.shape[-1]
    later = ops.less(ops.expand_dims(positions(x, n), axis=-1), positions(x, n))
    greater = ops.greater(ops.expand_dims(order, axis=-1), ops.expand_dims(order, axis=-2))
    exchanged = ops.reduce_sum(ops.cast(ops.logical_and(later, greater), dtype=order.dtype), axis=(-2, -1))
    sign = ops.cast(1 - 2 * ops.bitwise_and(exchanged, 1), dtype=x.dtype)
    return ops.matrix_diag_part(factors), sign


@composite(
    tf="MatrixDeterminant", type=_determinant_type, numpy=widened(np.linalg.det), dtypes=FIELDS,
    samples=SQUARE,
    grad=lambda g, y, x: (_per_matrix(g) * matrix_cofactors(x),),
)
def matrix_determinant(input: Any) -> Any:
    """Determinants of square matrices."""
    pivots, sign = _pivots(input)
    return sign * ops.reduce_prod(pivots, axis=(-1,))


def _log_determinant_type(input: TensorType) -> tuple[TensorType, TensorType]:
    return _determinant_type(input), _determinant_type(input)


def _log_determinant_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    """The sign of a real determinant is constant; the phase of a complex one turns with Im(tr(A^-1 dA))."""
    by_sign, by_log = g
    if x.dtype.is_complex:
        scale = 0.0 if by_log is None else ops.real(by_log)
        turn = 0.0 if by_sign is None else -ops.imag(ops.conj(by_sign) * y[0])
        by_log = ops.complex(scale, turn)
    return (None if by_log is None else _per_matrix(by_log) * matrix_inverse(x, adjoint=True),)


@composite(
    tf="LogMatrixDeterminant", type=_log_determinant_type, numpy=widened(np.linalg.slogdet), dtypes=FIELDS,
    samples=SQUARE, grad=_log_determinant_grad, grad_takes=(),
)
def log_matrix_determinant(input: Any) -> Any:
    """Signs, and logarithms of the absolute values, of the determinants of square matrices."""
    pivots, sign = _pivots(input)
    sizes = ops.abs(pivots) if not input.dtype.is_complex else ops.complex_abs(pivots)
    logarithm = ops.reduce_sum(ops.log(sizes), axis=(-1,))
    if not input.dtype.is_complex:
        return sign * ops.reduce_prod(ops.sign(pivots), axis=(-1,)), logarithm
    phases = pivots / ops.complex(ops.select(ops.equal(sizes, 0.0), 1.0, sizes), 0.0)
    return sign * ops.reduce_prod(phases, axis=(-1,)), ops.complex(logarithm, 0.0)


def solution_type(matrix: TensorType, rhs: TensorType, **_: Any) -> TensorType:
    """Type rule: that of X with matrix X = rhs."""
    left, right = matrices(matrix, "matrix"), matrices(rhs, "rhs", square=False)
    if left is None or right is None:
        return rhs
    require(
        left[-1] is None or right[-2] is None or left[-1] == right[-2],
        f"matrix has {left[-1]} rows and rhs has {right[-2]}",
    )
    batch = broadcast(left[:-2], right[:-2])
    assert batch is not None
    return TensorType(rhs.dtype, batch + right[-2:])


def solved(matrix: np.ndarray, rhs: np.ndarray, adjoint: bool) -> np.ndarray:
    """X with matrix X = rhs, or with the adjoint of the matrix; NaN if it has no inverse."""
    wide = np.complex128 if matrix.dtype.kind == "c" else np.float64
    a = matrix.astype(wide)
    solve = unless_singular(np.linalg.solve)
    return solve(_adjoint(a) if adjoint else a, rhs.astype(wide)).astype(rhs.dtype)


def _solve_grad(g: Any, y: Any, matrix: Any, rhs: Any, adjoint: bool) -> tuple[Any, Any]:
    by_rhs = matrix_solve(matrix, g, adjoint=not adjoint)
    by_matrix = product(y, by_rhs, adj_b=True) if adjoint else product(by_rhs, y, adj_b=True)
    return summed_over_batches(-by_matrix, by_rhs, matrix, rhs)


SYSTEMS = [
    Sample(real(1, 1, low=1.0, high=2.0), real(1, 3)),
    Sample(real(2, 1, 1, low=1.0, high=2.0), real(2, 1, 2)),
    Sample(real(0, 2, 2), real(0, 2, 3)),
    Sample(real(1, 1, low=1.0, high=2.0), real(3, 1, 2)),
    Sample(real(3, 1, 1, 1, low=1.0, high=2.0), real(2, 1, 1)),
]


@composite(
    tf="MatrixSolve", type=solution_type, dtypes=FIELDS, samples=SYSTEMS, grad=_solve_grad, grad_takes=(),
    numpy=solved, requires=nonsingular("matrix_solve"),
)
def matrix_solve(matrix: Any, rhs: Any, *, adjoint: bool = False) -> Any:
    """X with matrix X = rhs, or with the adjoint of the matrix."""
    if any(same(n, 0) for n in (*matrix.shape, *rhs.shape)):
        return ops.zeros_like(rhs)
    factors, order = ops.lu(matrix)
    batch = broadcast(matrix.shape[:-2], rhs.shape[:-2])
    if not adjoint:
        return _substituted(factors, _rows(rhs, order, batch))
    solution = _substituted(factors, rhs, adjoint=True)
    return _rows(solution, _inverted(order), batch)


def _rows(x: Any, order: Any, batch: Any) -> Any:
    """The rows of matrices in an order that each has for itself."""
    if not same_shape(x.shape[:-2], batch):
        x = ops.broadcast_to(x, shape=(*batch, *x.shape[-2:]))
    if not same_shape(order.shape[:-1], batch):
        order = ops.broadcast_to(order, shape=(*batch, order.shape[-1]))
    return ops.gather(x, order, axis=len(batch), batch_dims=len(batch))
