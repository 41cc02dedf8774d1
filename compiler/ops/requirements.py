"""The requirements that ops state: truth values that are False for a bad index, divisor, exponent or order.

Each has two attributes for its message: `of`, the op that requires it, and `operand`, the name of that op's
input. The wording is TensorFlow's: `gather: indices[2] = 7 is not in [0, 5)`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, FLOATING, INTEGER, REAL, bool_, float64, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, broadcast, shape_text
from staticgraph.compiler.graph.sizes import Size, bounds, is_open, proven, same
from staticgraph.compiler.ops.arrays.creation import check_numbers, positions
from staticgraph.compiler.ops.kinds import composite
from staticgraph.compiler.ops.samples import Draw, Sample, fixed, indices, real


def _type(
    x: TensorType, *others: TensorType, of: str, operand: str, low: Any = None, high: Any = None,
    sizes: Any = None,
) -> TensorType:
    require(isinstance(of, str) and isinstance(operand, str), "an op and its operand are named by strings")
    limits = all(isinstance(n, int | Size | None) for n in (low, high))
    require(limits, "the limits of a range are integers or None")
    if sizes is not None:
        whole = isinstance(sizes, tuple) and all(isinstance(n, int | Size) for n in sizes)
        require(whole, "sizes are integers")
        fits = x.shape is None or (x.shape and x.shape[-1] in (None, len(sizes)))
        require(fits, f"there are {len(sizes)} sizes for coordinates of shape {shape_text(x.shape)}")
    if others:
        broadcast(x.shape, others[0].shape)
    return TensorType(bool_, ())


_REQUIREMENT: dict[str, Any] = {"type": _type, "dtypes": INTEGER, "differentiable": False}
_OF = {"of": "gather", "operand": "indices"}


def _place(operand: str, index: tuple[int, ...]) -> str:
    """Return an element of an operand in words: `indices[0,2]`, or `indices` if that is a number."""
    return f"{operand}[{','.join(map(str, index))}]" if index else operand


def _first(wrong: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))


def _inside(x: Any, low: int | None, high: int | None) -> Any:
    """Return for each element of an array or a value if it is in [low, high). None is no limit."""
    if low is None:
        return x < high if high is not None else x == x
    return x >= low if high is None else (x >= low) & (x < high)


def _representable(x: Any, low: int | None, high: int | None) -> tuple[int | None, int | None]:
    """Return the limits as far as the dtype of `x` has numbers outside of them."""
    least, greatest = int(x.dtype.min), int(x.dtype.max)
    high = None if high is None or bounds(high)[0] > greatest else high
    return None if low is None or low <= least else low, high


def _not_in_range(x: np.ndarray, low: int | None, high: int | None, of: str, operand: str) -> str:
    index = _first(~np.asarray(_inside(x, low, high)))
    told = f"{of}: {_place(operand, index)} = {x[index]}"
    return f"{told} is negative" if high is None else f"{told} is not in [{low or 0}, {high})"


@composite(
    numpy=lambda x, low, high, of, operand: np.all(_inside(x, low, high)), violation=_not_in_range,
    samples=[Sample(indices(4, 3, below=4), low=0, high=3, **_OF),
             Sample(indices(below=4, dtype="int64"), low=None, high=4, **_OF),
             Sample(indices(5, below=4), low=2, high=None, **_OF),
             Sample(indices(0, below=4), low=0, high=0, **_OF)],
    **_REQUIREMENT,
)
def in_range(x: Any, *, low: int | None, high: int | None, of: str, operand: str) -> Any:
    """True if each element of `x` is in [low, high), a limit of None being no limit.

    `x` is the `operand` of the op `of`, which requires it.
    """
    too_low = low is not None and low > int(x.dtype.max)
    if too_low or (high is not None and bounds(high)[1] <= int(x.dtype.min)):
        return ops.reduce_all(ops.not_equal(x, x))
    low, high = _representable(x, low, high)
    if low is None and high is None:
        return x.recorder.constant(True, bool_)
    if high is not None and bounds(high)[1] > int(x.dtype.max):  # an open size, which may be too large for it
        x = ops.cast(x, dtype=int64)
    return ops.reduce_all(_inside(x, low, high))


def _coordinates_inside(x: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    return (x >= 0) & (x < np.asarray(sizes, np.int64))


def _no_coordinates(x: np.ndarray, sizes: tuple[int, ...], of: str, operand: str) -> str:
    index = _first(~np.asarray(_coordinates_inside(x, sizes).all(axis=-1)))
    found, shape = list(map(int, x[index])), list(sizes)
    return f"{of}: {_place(operand, index)} = {found} does not index into shape {shape}"


@composite(
    numpy=lambda x, sizes, of, operand: np.all(_coordinates_inside(x, sizes)), violation=_no_coordinates,
    samples=[Sample(indices(4, 2, below=4), sizes=(3, 5), **_OF),
             Sample(indices(2, 2, 1, below=4, dtype="int64"), sizes=(4,), **_OF),
             Sample(indices(0, 3, below=4), sizes=(3, 2, 1), **_OF)],
    **_REQUIREMENT,
)
def coordinates_in_range(x: Any, *, sizes: tuple[int, ...], of: str, operand: str) -> Any:
    """True if the last axis of `x` holds coordinates of places in a tensor whose first axes have `sizes`.

    `x` is the `operand` of the op `of`, which requires it.
    """
    if is_open(sizes):
        x, limits = ops.cast(x, dtype=int64), x.recorder.constant(sizes, int64)
    else:
        limits = np.minimum(sizes, int(x.dtype.max)).astype(x.dtype.numpy)
    return ops.reduce_all((x >= 0) & (x < limits))


@composite(
    numpy=lambda x, of, operand: np.all(x != 0),
    violation=lambda x, of, operand: (
        f"{of}: {_place(operand, _first(np.asarray(x == 0)))} = 0, and integers cannot be divided by zero"
    ),
    samples=[Sample(Draw((2, 3), 1, 3, dtype="int32"), of="floor_div", operand="y"),
             Sample(indices(below=2, dtype="int64"), of="floor_div", operand="y"),
             Sample(indices(0, below=3), of="floor_div", operand="y")],
    **_REQUIREMENT,
)
def nonzero(x: Any, *, of: str, operand: str) -> Any:
    """True if no element of `x` is 0: `x` is the `operand` of the op `of`, which requires it.

    As for all requirements, a run in which it is False changes nothing.
    """
    return ops.reduce_all(ops.not_equal(x, 0))


def _is_permutation(x: np.ndarray) -> bool:
    return bool(np.array_equal(np.sort(x), np.arange(len(x))))


def _no_permutation(x: np.ndarray, of: str, operand: str) -> str:
    outside = (x < 0) | (x >= len(x))
    if outside.any():
        return _not_in_range(x, 0, len(x), of, operand)
    _, first = np.unique(x, return_index=True)
    index = int(np.setdiff1d(np.arange(len(x)), first)[0])
    return f"{of}: {operand}[{index}] = {x[index]} is a duplicate: a permutation has each number once"


def _vector(x: TensorType, **attrs: Any) -> TensorType:
    require(x.rank in (None, 1), f"it is a vector, not of shape {shape_text(x.shape)}")
    return _type(x, **attrs)


def _matrix(x: TensorType, **attrs: Any) -> TensorType:
    require(x.rank in (None, 2), "rows are those of a matrix")
    return _type(x, **attrs)


@composite(
    numpy=lambda x, of, operand: np.bool_(_is_permutation(x)), violation=_no_permutation,
    samples=[Sample(indices(2, below=2), of="invert_permutation", operand="x"),
             Sample(indices(1, below=1, dtype="int64"), of="invert_permutation", operand="x"),
             Sample(indices(0, below=2), of="invert_permutation", operand="x")],
    **_REQUIREMENT | {"type": _vector},
)
def is_permutation(x: Any, *, of: str, operand: str) -> Any:
    """True if `x` holds each number below its length once.

    `x` is the `operand` of the op `of`, which requires it.
    """
    count = x.shape[0]
    if same(count, 0):
        return x.recorder.constant(True, bool_)
    ones = ops.fill(x.recorder.constant(1, x.dtype), dims=(count,))
    return ops.reduce_all(ops.equal(ops.unsorted_segment_sum(ones, x, num_segments=count), 1))


def _decreases(x: np.ndarray) -> np.ndarray:
    """Return for each number of a vector if it is less than the one before, 0 being before the first."""
    return x < np.concatenate([np.zeros(1, x.dtype), x])[:-1]


def _not_sorted(x: np.ndarray, of: str, operand: str) -> str:
    index = int(np.argmax(_decreases(x)))
    told = f"{of}: {operand}[{index}] = {x[index]}"
    if x[index] < 0:
        return f"{told} is negative"
    return f"{told} comes after {x[index - 1]}, and {operand} must be sorted (unsorted_{of} takes any order)"


@composite(
    numpy=lambda x, of, operand: np.bool_(not _decreases(x).any()), violation=_not_sorted,
    samples=[Sample(indices(2, below=2), of="segment_sum", operand="segment_ids"),
             Sample(indices(1, below=1, dtype="int64"), of="segment_sum", operand="segment_ids"),
             Sample(indices(0, below=2), of="segment_sum", operand="segment_ids")],
    **_REQUIREMENT | {"type": _vector},
)
def is_sorted(x: Any, *, of: str, operand: str) -> Any:
    """True if no number of the vector `x` is negative or less than the one before.

    `x` is the `operand` of the op `of`, which requires it.
    """
    before = ops.pad(x, paddings=((1, 0),))[:-1]
    return ops.reduce_all(ops.greater_equal(x, before))


def _not_leading(start: np.ndarray, limit: np.ndarray, delta: np.ndarray, of: str) -> str:
    if delta == 0:
        return f"{of}: delta is 0"
    if not np.isfinite([start, limit, delta]).all():
        return f"{of}: start {start}, limit {limit} and delta {delta} must be finite"
    return f"{of}: from {start} to {limit} no steps of {delta} lead: the sign of delta must fit"


def _leads(start: np.ndarray, limit: np.ndarray, delta: np.ndarray, of: str) -> np.bool_:
    finite = bool(np.isfinite([start, limit, delta]).all())
    return np.bool_(finite and delta != 0 and (limit >= start if delta > 0 else limit <= start))


def _numbers(start: TensorType, *others: TensorType, of: str) -> TensorType:
    check_numbers(start, *others)
    return _type(start, of=of, operand="delta")


@composite(
    type=_numbers, dtypes=REAL,
    numpy=_leads, differentiable=False, violation=_not_leading,
    samples=[
        Sample(*(fixed(np.array(n)) for n in numbers), of="range")
        for numbers in ((0, 5, 2), (3, 3, 1), (9, 0, -3))
    ],
)
def steps_lead(start: Any, limit: Any, delta: Any, *, of: str) -> Any:
    """True if steps of `delta` lead from `start` to `limit`, for the op `of`, which requires it."""
    leads = ((delta > 0) & (limit >= start)) | ((delta < 0) & (limit <= start))
    if not start.dtype.is_floating:
        return leads
    return leads & ops.is_finite(start) & ops.is_finite(limit) & ops.is_finite(delta)


def _ascending(x: Any) -> np.ndarray:
    """Return for each row of a matrix but the first if it comes after the one before, number by number."""
    above = np.zeros(x.shape[:-1], bool)[1:]
    for column in reversed(range(x.shape[-1])):
        before, after = x[:-1, column], x[1:, column]
        above = (after > before) | ((after == before) & above)
    return above


def _not_ascending(x: np.ndarray, of: str, operand: str) -> str:
    index = 1 + int(np.argmax(~_ascending(x)))
    told = f"{of}: {operand}[{index}] = {list(map(int, x[index]))}"
    if np.array_equal(x[index], x[index - 1]):
        return f"{told} is repeated"
    return f"{told} is out of order: {operand}[{index - 1}] = {list(map(int, x[index - 1]))} comes before it"


@composite(
    numpy=lambda x, of, operand: np.all(_ascending(x)), violation=_not_ascending,
    samples=[Sample(indices(3, 2, below=4), of="sparse_to_dense", operand="sparse_indices"),
             Sample(indices(2, 1, below=4, dtype="int64"), of="sparse_to_dense", operand="sparse_indices"),
             Sample(indices(0, 2, below=4), of="sparse_to_dense", operand="sparse_indices")],
    **_REQUIREMENT | {"type": _matrix},
)
def rows_ascend(x: Any, *, of: str, operand: str) -> Any:
    """True if each row of the matrix `x` comes after the one before it, in lexicographic order.

    `x` is the `operand` of the op `of`, which requires it.
    """
    rows = x.shape[0]
    if proven(operator.lt, rows, 2):
        return x.recorder.constant(True, bool_)
    above = x.recorder.constant(False, bool_)
    for column in reversed(range(x.shape[1])):
        after = x[:, column]
        before = ops.roll(after, shift=1, axis=0)
        above = ops.logical_or(ops.greater(after, before), ops.logical_and(ops.equal(after, before), above))
    return ops.reduce_all(ops.logical_or(above, ops.equal(positions(x, rows), 0)))  # none is before the first


def _not_below(x: np.ndarray, y: np.ndarray, of: str, operand: str) -> str:
    return f"{of}: {operand} = {x.max()} is not below the limit {y.min()}"


@composite(
    numpy=lambda x, y, of, operand: np.bool_(np.all(x < y)), violation=_not_below,
    samples=[Sample(indices(below=4), indices(below=4), of="random_uniform_int", operand="minval"),
             Sample(indices(below=2, dtype="int64"), indices(below=9, dtype="int64"), **_OF),
             Sample(indices(3, below=3), indices(3, below=9), **_OF)],
    **_REQUIREMENT,
)
def below(x: Any, y: Any, *, of: str, operand: str) -> Any:
    """True if each element of `x` is less than that of `y`: `x` is the `operand` of the op `of`.

    That op requires it of the least of its results and of the limit that they do not reach.
    """
    return ops.reduce_all(ops.less(x, y))


def _not_at_most(x: np.ndarray, limit: float, of: str, operand: str) -> str:
    index = _first(~(x.astype(np.float64) <= limit))
    return f"{of}: {_place(operand, index)} = {x[index]} is not a number up to {limit:g}"


@composite(
    type=lambda x, limit, of, operand: TensorType(bool_, ()),
    numpy=lambda x, limit, of, operand: np.bool_(np.all(x.astype(np.float64) <= limit)),
    violation=_not_at_most,
    samples=[
        Sample(real(2, 3), limit=1.5, of="random_poisson", operand="rate"),
        Sample(real(), limit=2.5, of="random_poisson", operand="rate"),
        Sample(real(0), limit=0.0, of="random_poisson", operand="rate"),
    ],
    dtypes=INTEGER | FLOATING, differentiable=False,
)  # fmt: skip
def at_most(x: Any, *, limit: float, of: str, operand: str) -> Any:
    """True if no element of `x` is NaN or above `limit`: `x` is the `operand` of the op `of`."""
    return ops.reduce_all(ops.less_equal(ops.cast(x, dtype=float64), limit))


def _factor_type(x: TensorType, of: str) -> TensorType:
    require(isinstance(of, str), "an op is named by a string")
    fits = x.shape is None or (len(x.shape) >= 2 and (None in x.shape[-2:] or x.shape[-2] == x.shape[-1]))
    require(fits, f"x has shape {shape_text(x.shape)}, and factors are square matrices")
    return TensorType(bool_, ())


def _diagonal(x: np.ndarray) -> np.ndarray:
    return np.diagonal(x, axis1=-2, axis2=-1)


_FACTORS = [Sample(real(3, 3, low=1.0, high=2.0), of="cholesky"), Sample(real(2, 2, 2), of="cholesky"),
            Sample(real(0, 2, 2), of="cholesky")]


@composite(
    type=_factor_type, numpy=lambda x, of: np.all(_diagonal(x) > 0), samples=_FACTORS,
    violation=lambda x, of: (
        f"{of}: Cholesky decomposition was not successful. The input might not be valid. "
        f"Shape: {list(x.shape)}"
    ),
    dtypes=FLOATING | COMPLEX, differentiable=False,
)
def factor_positive(x: Any, *, of: str) -> Any:
    """True if the numbers on the diagonals of Cholesky factors are greater than zero.

    The op `of` requires it of its result: if a matrix is not positive definite, its factor has NaN or zero
    there.
    """
    diagonal = ops.matrix_diag_part(x)
    return ops.reduce_all(ops.greater(ops.real(diagonal) if x.dtype.is_complex else diagonal, 0.0))


@composite(
    type=_factor_type, numpy=lambda x, of: np.all(_diagonal(x) != 0), samples=_FACTORS,
    violation=lambda x, of: (
        f"{of}: Input {'' if of == 'matrix_inverse' else 'matrix '}is not invertible. Shape: {list(x.shape)}"
    ),
    dtypes=FLOATING | COMPLEX, differentiable=False,
)
def factor_nonzero(x: Any, *, of: str) -> Any:
    """True if no number on the diagonals of triangular matrices is zero: then they have inverses.

    The op `of` requires it of the factors of its input.
    """
    return ops.reduce_all(ops.not_equal(ops.matrix_diag_part(x), 0.0))


_DECOMPOSITIONS = {
    "pseudo_inverse": "The singular value decomposition",
    "svd": "The singular value decomposition",
    "self_adjoint_eig": "Self-adjoint eigen decomposition",
}  # fmt: skip


@composite(
    type=lambda x, of: TensorType(bool_, ()), numpy=lambda x, of: np.all(np.isfinite(x)),
    samples=[
        Sample(real(3, 2), of="svd"), Sample(real(2, 2, 2), of="svd"), Sample(real(0, 2), of="svd"),
    ],
    violation=lambda x, of: (
        f"{of}: {_DECOMPOSITIONS.get(of, of)} was not successful. The input might not be valid. "
        f"Shape: {list(x.shape)}. Look for NaN and infinite numbers in it"
    ),
    dtypes=FLOATING | COMPLEX, differentiable=False,
)  # fmt: skip
def decomposable(x: Any, *, of: str) -> Any:
    """True if all numbers of matrices are finite: the op `of` requires it of its input."""
    parts = [ops.real(x), ops.imag(x)] if x.dtype.is_complex else [x]
    finite = [ops.reduce_all(ops.is_finite(part)) for part in parts]
    return finite[0] if len(finite) == 1 else ops.logical_and(*finite)
