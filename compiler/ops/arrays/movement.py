"""Ops that only move elements: each element of the result
is one element of the input, at a computed position.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.requirements import index_in
from staticgraph.compiler.graph.dtypes import ANY, DType, int32, int64
from staticgraph.compiler.graph.errors import (
    DtypeError,
    OperandError,
    RuleError,
    ShapeError,
    counted,
    require,
)
from staticgraph.compiler.graph.opdef import method, ops
from staticgraph.compiler.graph.shapes import (
    Shape,
    TensorType,
    merge,
    normalize_axes,
    normalize_axis,
    shape_text,
)
from staticgraph.compiler.graph.sizes import AnySize, Size, content, positive, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Extent
from staticgraph.compiler.ops.kinds import View, composite, movement, sizes
from staticgraph.compiler.ops.samples import Draw, Sample, fixed, real

INDEX = frozenset({int32, int64})


def check_index(name: str, dtype: DType) -> None:
    """Refuse positions of another dtype than int32 and int64, for a type rule."""
    require(dtype in INDEX, f"{name} is {dtype}, and must be int32 or int64", kind=DtypeError)


def raveled(at: Sequence[Expr], shape: Sequence[int]) -> Expr:
    """The place of position `at` in a row-major array of this shape, counted in elements."""
    flat: Expr = Const(0, int64)
    for axis, (i, n) in enumerate(zip(at, shape, strict=True)):
        flat = flat * n + i if axis else i
    return flat


def unraveled(flat: Expr, shape: Sequence[int]) -> tuple[Expr, ...]:
    """The position at place `flat` of a row-major array of this shape."""
    at: list[Expr] = []
    stride: Any = 1
    for n in reversed(shape):
        at.append(flat // stride % n if len(at) < len(shape) - 1 else flat // stride)
        stride *= n if isinstance(n, Size) else max(n, 1)
    return tuple(reversed(at))


def reshaped(tensor: Shape | None, shape: Shape | None) -> Shape | None:
    """The shape that `reshape` gives: -1 stands for what is left, None for a size not known yet."""
    if shape is None:
        return None
    free = [d for d, n in enumerate(shape) if n is None or n == -1]
    hint = "only one size can be inferred from the others"
    require(shape.count(-1) <= 1, f"shape {list(shape)} has more than one -1", hint)
    require(all(n is None or n >= -1 for n in shape), f"shape {list(shape)} has a negative size")
    rest = math.prod(n for n in shape if n is not None and n != -1)
    if tensor is None or None in tensor or len(free) > 1:
        return tuple(None if d in free else n for d, n in enumerate(shape))
    size = math.prod(n for n in tensor if n is not None)
    if not free:
        require(
            size == rest,
            f"{shape_text(tensor)} has {size} elements, and {list(shape)} has {rest}",
            hint="the number of elements stays the same; -1 stands for the size that makes it so",
        )
        return shape
    if isinstance(rest, Size):  # an open size is not 0 here, though it may be 0 in a run
        times = content(rest)
        size, rest = size // (rest // times), times
    if not rest and size == 0:  # sizes of zero on either side do not count, as in TensorFlow
        size, rest = (math.prod(n for n in sizes if n not in (None, 0, -1)) for sizes in (tensor, shape))
        return tuple(size // rest if d in free else n for d, n in enumerate(shape))
    require(
        rest and size % rest == 0,
        f"for {list(shape)} the {size} elements of {shape_text(tensor)} must be evenly divisible by {rest}",
        hint="the product of the other sizes must divide the number of elements",
    )
    return tuple(size // rest if d in free else n for d, n in enumerate(shape))


def _numpy_reshape(tensor: np.ndarray, shape: Any) -> np.ndarray:
    sizes: Any = reshaped(tensor.shape, shape)  # NumPy infers no size where another one is 0
    return np.reshape(tensor, sizes)


def _reshape_static(types: list[TensorType], values: list[Any], shape: Any) -> Any:
    """A reshape of a number or a vector into a vector keeps what is known of it."""
    value, known = values[0], None not in shape
    if value is None:
        return (None,) if tuple(shape) in ((1,), (-1,)) and types[0].rank == 0 else None
    if isinstance(value, tuple) and None in value:
        return value if len(shape) == 1 else None
    return np.reshape(value, reshaped(np.shape(value), shape)) if known else None


@movement(
    tf="Reshape", type=lambda tensor, shape: TensorType(tensor.dtype, reshaped(tensor.shape, shape)),
    numpy=_numpy_reshape, operands=("shape",), partial=("shape",), dtypes=ANY, strings=True,
    static=_reshape_static, grad_any_rank=True,
    grad=lambda g, y, tensor, shape: (ops.reshape(g, shape=sizes(tensor)),), grad_takes=(),
    counted="inferred_size",
    samples=[Sample(real(2, 6), shape=(3, 4)), Sample(real(2, 3, 4), shape=(-1, 8)),
             Sample(real(), shape=(1, 1)), Sample(real(0, 3), shape=(3, 0)),
             Sample(real(0, 6), shape=(0, -1, 3)), Sample(real(1, 1), shape=())],
)
def reshape(at: tuple[Expr, ...], tensor: View, *, shape: Any) -> Expr:
    """The same elements in row-major order, in another shape. One size may be -1: it is what is left."""
    result = reshaped(tensor.shape, shape)
    assert result is not None
    sizes = tuple(n for n in result if n is not None)
    return tensor[unraveled(raveled(at, sizes), tensor.shape)]


def _inferred(tensor: np.ndarray, shape: np.ndarray) -> np.ndarray:
    wanted = tuple(shape.tolist())
    try:
        made: Any = reshaped(tensor.shape, wanted)
    except RuleError:
        made = wanted
    return np.array(made[wanted.index(-1)] if -1 in wanted else -1, np.int64)


def _inferred_type(tensor: TensorType, shape: TensorType) -> TensorType:
    require(shape.rank in (None, 1), f"a shape is a vector, not an array of {shape_text(shape.shape)}")
    return TensorType(int64, ())


@composite(
    type=_inferred_type, numpy=_inferred, vars={"shape": "I"},
    dtypes={"T": ANY, "I": INDEX}, differentiable=False,
    samples=[Sample(real(2, 6), fixed(np.array([3, -1]))), Sample(real(5), fixed(np.array([-1, 2]))),
             Sample(real(0, 6), fixed(np.array([0, -1, 3])))],
)
def inferred_size(tensor: Any, shape: Any) -> Any:
    """The size for which -1 stands in a `reshape`, if a run tells the others; -1 if there is none."""
    known, wanted = tensor.recorder.constant(tensor.shape, int64), ops.cast(shape, dtype=int64)
    others = ops.maximum(ops.reduce_prod(ops.maximum(wanted, np.int64(1))), np.int64(1))
    # Sizes of zero on either side do not count.
    size = ops.select(
        ops.reduce_any(ops.equal(wanted, np.int64(0))),
        ops.reduce_prod(ops.maximum(known, np.int64(1))),
        ops.reduce_prod(known),
    )
    found = ops.floor_div(size, others)
    negative = ops.select(wanted < np.int64(0), wanted, ops.zeros_like(wanted))
    is_one = ops.equal(ops.reduce_sum(negative), np.int64(-1))
    return ops.select(is_one & ops.equal(found * others, size), found, np.int64(-1))


def _permutation(perm: Any, rank: int) -> tuple[int, ...]:
    return (
        tuple(reversed(range(rank))) if perm is None else tuple(normalize_axis(p, rank, "perm") for p in perm)
    )


def _transposed(a: TensorType, perm: Any = None) -> TensorType:
    if a.shape is None:
        return TensorType(a.dtype, None if perm is None else (None,) * len(perm))
    rank = len(a.shape)
    hint = f"perm has each of the axes 0 to {rank - 1} once" if rank else "a number has no axes"
    what = f"perm {list(perm or ())}"
    require(perm is None or len(perm) == rank, f"{what} does not fit a tensor of rank {rank}", hint)
    order = _permutation(perm, rank)
    missing = sorted({*range(rank)} - {*order})
    require(
        not missing,
        f"{what} is not a permutation of the axes: {', '.join(map(str, missing))} is missing",
        hint,
        kind=OperandError if all(0 <= a < rank for a in order) else ShapeError,
    )
    return TensorType(a.dtype, tuple(a.shape[p] for p in order))


@movement(
    tf="Transpose", type=_transposed, numpy=lambda a, perm=None: np.transpose(a, perm), operands=("perm",),
    dtypes=ANY, strings=True,
    grad=lambda g, y, a, perm=None: (
        ops.transpose(g, perm=tuple(int(p) for p in np.argsort(_permutation(perm, a.type.rank))),
                      name="transpose"),
    ),
    grad_takes=("perm",),
    samples=[Sample(real(2, 3)), Sample(real(2, 3, 4), perm=(1, 2, 0)), Sample(real(2, 3, 4), perm=(0, 2, 1)),
             Sample(real()), Sample(real(0, 3), perm=(1, 0))],
)
def transpose(at: tuple[Expr, ...], a: View, *, perm: Any = None) -> Expr:
    """Axis i of the result is axis perm[i] of `a`; without `perm` the axes are reversed."""
    order = _permutation(perm, a.rank)
    return a[tuple(at[order.index(d)] for d in range(a.rank))]


def _expanded(input: TensorType, axis: Any) -> TensorType:
    if input.shape is None or _is_open(axis):
        return TensorType(input.dtype, None if input.shape is None else (None,) * (len(input.shape) + 1))
    axis = normalize_axis(int(np.reshape(axis, ())), len(input.shape) + 1)
    return TensorType(input.dtype, (*input.shape[:axis], 1, *input.shape[axis:]))


def _expand_static(types: list[TensorType], values: list[Any], axis: Any) -> Any:
    if types[0].rank == 0:
        return (None,) if values[0] is None else np.reshape(values[0], (1,))
    known = values[0] is not None and not (isinstance(values[0], tuple) and None in values[0])
    return np.expand_dims(np.asarray(values[0]), int(np.reshape(axis, ()))) if known else None


@movement(
    tf="ExpandDims", type=_expanded,
    numpy=lambda input, axis: np.expand_dims(input, int(np.reshape(axis, ()))),
    operands={"axis": "dim"}, partial=("axis",), dtypes=ANY, strings=True, static=_expand_static,
    grad=lambda g, y, input, axis: (ops.reshape(g, shape=sizes(input)),), grad_takes=(), grad_any_rank=True,
    samples=[Sample(real(2, 3), axis=0), Sample(real(2, 3), axis=-1), Sample(real(2, 3), axis=1),
             Sample(real(), axis=0)],
)
def expand_dims(at: tuple[Expr, ...], input: View, *, axis: Any) -> Expr:
    """The input with a new axis of size one at `axis`."""
    axis = normalize_axis(int(np.reshape(axis, ())), len(at))
    return input[at[:axis] + at[axis + 1 :]]


def _squeezed_axes(shape: Shape, axis: Any) -> tuple[int, ...]:
    if axis is None or axis == ():
        return tuple(d for d, n in enumerate(shape) if n == 1)
    return normalize_axes(axis, len(shape))


def _squeezed(input: TensorType, axis: Any = None) -> TensorType:
    if input.shape is None or (axis in (None, ()) and None in input.shape):
        return TensorType(input.dtype, None)
    gone = _squeezed_axes(input.shape, axis)
    for d in gone:
        require(
            input.shape[d] in (1, None),
            f"axis {d} has size {input.shape[d]}, and only axes of size 1 can be removed",
            hint="leave axis away to remove all axes of size 1; x[0] takes one part of an axis",
        )
    return TensorType(input.dtype, tuple(n for d, n in enumerate(input.shape) if d not in gone))


@movement(
    tf="Squeeze", type=_squeezed,
    numpy=lambda input, axis=None: np.squeeze(input, _squeezed_axes(input.shape, axis)), dtypes=ANY,
    strings=True, grad_any_rank=True,
    grad=lambda g, y, input, axis=None: (ops.reshape(g, shape=sizes(input)),), grad_takes=(),
    samples=[Sample(real(1, 3, 1)), Sample(real(1, 3, 1), axis=(0,)), Sample(real(2, 1, 3), axis=(-2,)),
             Sample(real(2, 3)), Sample(real(1, 1))],
)
def squeeze(at: tuple[Expr, ...], input: View, *, axis: Any = None) -> Expr:
    """The input without the axes of size one in `axis`, or without all of them."""
    gone, kept = _squeezed_axes(input.shape, axis), iter(at)
    return input[tuple(Const(0, int64) if d in gone else next(kept) for d in range(input.rank))]


def _tiled(input: TensorType, multiples: Any) -> TensorType:
    if input.shape is None or multiples is None:
        rank = len(multiples) if multiples is not None else input.rank
        return TensorType(input.dtype, None if rank is None else (None,) * rank)
    require(
        len(multiples) == len(input.shape),
        f"{counted(len(multiples), 'multiple')} for a tensor of rank {len(input.shape)}",
        hint="give one multiple per axis: 1 leaves an axis as it is",
    )
    require(all(m is None or m >= 0 for m in multiples), f"multiples {list(multiples)} must not be negative")
    sizes = zip(input.shape, multiples, strict=True)
    return TensorType(input.dtype, tuple(None if n is None or m is None else n * m for n, m in sizes))


def _tile_grad(g: Any, y: Any, input: Any, multiples: Any) -> tuple[Any]:
    shape = sizes(input)
    if isinstance(shape, tuple) and isinstance(multiples, tuple):
        split: Any = [n for pair in zip(multiples, shape, strict=True) for n in pair]
    else:
        split = ops.reshape(ops.stack([ops.cast(multiples, dtype=int32), shape], axis=1), shape=[-1])
    return (ops.reduce_sum(reshape(g, shape=split), axis=tuple(range(0, 2 * input.type.rank, 2))),)


@movement(
    tf="Tile", type=_tiled, numpy=lambda input, multiples: np.tile(input, multiples),
    operands=("multiples",), partial=("multiples",), dtypes=ANY, strings=True, grad=_tile_grad, grad_takes=(),
    samples=[Sample(real(2, 3), multiples=(2, 1)), Sample(real(3), multiples=(4,)),
             Sample(real(2, 1, 3), multiples=(1, 3, 2)), Sample(real(2), multiples=(0,)),
             Sample(real(), multiples=())],
)
def tile(at: tuple[Expr, ...], input: View, *, multiples: Any) -> Expr:
    """The input repeated multiples[i] times along axis i."""
    axes = zip(at, input.shape, multiples, strict=True)
    return input[tuple(i if same(m, 1) or same(n, 0) else i % n for i, n, m in axes)]


def _reversed_axes(axis: Any, rank: int) -> tuple[int, ...]:
    axes = normalize_axes(axis, rank)
    require(isinstance(axis, int) or len(axes) == len(axis), f"axis {axis} names an axis twice")
    return axes


def _is_open(operand: Any) -> bool:
    """Return if an operand, or an entry of it, depends on what is fed."""
    return operand is None or (isinstance(operand, tuple) and None in operand)


def _reverse_type(tensor: TensorType, axis: Any) -> TensorType:
    if tensor.shape is not None and not _is_open(axis):
        _reversed_axes(axis, len(tensor.shape))
    return tensor


@movement(
    tf="ReverseV2", type=_reverse_type, numpy=lambda tensor, axis: np.flip(tensor, axis),
    operands=("axis",), partial=("axis",), dtypes=ANY, strings=True,
    grad=lambda g, y, tensor, axis: (ops.reverse(g, axis=axis),), grad_takes=("axis",),
    samples=[Sample(real(2, 3), axis=(0,)), Sample(real(2, 3, 4), axis=(-1, 0)), Sample(real(5), axis=(0,)),
             Sample(real(2, 2), axis=())],
)
def reverse(at: tuple[Expr, ...], tensor: View, *, axis: Any) -> Expr:
    """The elements in opposite order along each axis in `axis`."""
    axes = _reversed_axes(axis, tensor.rank)
    return tensor[
        tuple(n - 1 - i if d in axes else i for d, (i, n) in enumerate(zip(at, tensor.shape, strict=True)))
    ]


def _shifts(shift: Any, axis: Any, rank: int) -> dict[int, list[AnySize]]:
    """Return the shifts of each axis, by axis. One that is named twice has two, whose sum may overflow."""
    require(rank > 0, "input must be 1-D or higher: a number has no axes")
    for name, value in (("shift", shift), ("axis", axis)):
        require(np.ndim(value) < 2, f"{name} must be a scalar or a 1-D vector, not {value}")
    shifts, axes = np.reshape(shift, -1).tolist(), np.reshape(axis, -1).tolist()
    what = f"shift and axis must have the same size, not {len(shifts)} and {len(axes)}"
    require(len(shifts) == len(axes), what, hint="give as many shifts as axes")
    out: dict[int, list[AnySize]] = {}
    for s, a in zip(shifts, axes, strict=True):
        out.setdefault(normalize_axis(a, rank, kind=OperandError), []).append(s)
    return out


def _roll_type(input: TensorType, shift: Any, axis: Any) -> TensorType:
    if input.shape is not None and not _is_open(shift) and not _is_open(axis):
        _shifts(shift, axis, len(input.shape))
    return input


def _roll_grad(g: Any, y: Any, input: Any, shift: Any, axis: Any) -> tuple[Any]:
    shifts = np.reshape(shift, -1).tolist()
    back = [-s for s in shifts]
    if any(isinstance(s, Size) or s == np.iinfo(np.int64).min for s in shifts):
        # The least int64 has no opposite. One less than the opposite of any number is an int64.
        g, back = ops.roll(g, shift=np.ones_like(shift, np.int64), axis=axis), [-1 - s for s in shifts]
    return (ops.roll(g, shift=np.reshape(back, np.shape(shift)), axis=axis),)


@movement(
    tf="Roll", type=_roll_type, numpy=lambda input, shift, axis: np.roll(input, shift, axis),
    operands=("shift", "axis"), partial=("shift", "axis"), dtypes=ANY, strings=True,
    grad=_roll_grad, grad_takes=("shift", "axis"),
    samples=[Sample(real(5), shift=2, axis=0), Sample(real(3, 4), shift=(1, -2), axis=(0, 1)),
             Sample(real(3, 4), shift=(3, 3), axis=(1, 1)), Sample(real(0, 2), shift=1, axis=0)],
)
def roll(at: tuple[Expr, ...], input: View, *, shift: Any, axis: Any) -> Expr:
    """Elements moved by `shift` places along `axis`; those that leave at the end come in at the beginning."""
    shifts, at = _shifts(shift, axis, input.rank), tuple(at)
    moves = enumerate(zip(at, input.shape, strict=True))
    return input[tuple(_moved(i, shifts.get(d, []), n) for d, (i, n) in moves)]


def _moved(i: Expr, shifts: Sequence[AnySize], n: AnySize) -> Expr:
    for shift in shifts:
        i = _moved_once(i, shift, n)
    return i


def _moved_once(i: Expr, shift: AnySize, n: AnySize) -> Expr:
    if same(shift, 0) or same(n, 0):
        return i
    if not isinstance(n, Size) and not isinstance(shift, Size):
        return (i + (-shift % n)) % n
    places = Extent(shift) if isinstance(shift, Size) else Const(shift, int64)  # `-shift` may overflow
    # A division by 0 may be moved out of the loop over i, which is then empty.
    return (i + (Extent(n) - places % Extent(positive(n)))) % Extent(n)


def _reverse_sequence_type(
    input: TensorType, seq_lengths: TensorType, seq_dim: int, batch_dim: int = 0
) -> TensorType:
    if input.shape is None:
        return input
    rank = len(input.shape)
    seq, batch = normalize_axis(seq_dim, rank, "seq_dim"), normalize_axis(batch_dim, rank, "batch_dim")
    require(seq != batch, f"seq_dim and batch_dim are both {seq}")
    merge(seq_lengths.shape, (input.shape[batch],), f"seq_lengths and the input along axis {batch},")
    return input


def _reverse_sequence(
    input: np.ndarray, seq_lengths: np.ndarray, seq_dim: int, batch_dim: int = 0
) -> np.ndarray:
    out = np.array(input)
    rows, source = (
        np.moveaxis(out, (batch_dim, seq_dim), (0, 1)),
        np.moveaxis(input, (batch_dim, seq_dim), (0, 1)),
    )
    for row, length in enumerate(seq_lengths):
        rows[row, :length] = source[row, :length][::-1]
    return out


@movement(
    tf="ReverseSequence", type=_reverse_sequence_type, numpy=_reverse_sequence, vars={"seq_lengths": "I"},
    requires=index_in(
        "reverse_sequence", "seq_lengths", 1,
        lambda input, seq_lengths, seq_dim, batch_dim=0: input.shape[seq_dim] + 1,
    ),
    dtypes={"T": ANY, "I": INDEX}, differentiable=(0,),
    grad=lambda g, y, x, lengths, seq_dim, batch_dim=0: (
        ops.reverse_sequence(g, lengths, seq_dim=seq_dim, batch_dim=batch_dim), None,
    ),
    grad_takes=(),
    samples=[Sample(real(2, 5), Draw((2,), 1, 5, dtype="int32"), seq_dim=1),
             Sample(real(3, 4, 2), Draw((4,), 0, 3, dtype="int64"), seq_dim=0, batch_dim=1),
             Sample(real(1, 1), Draw((1,), 1, 1, dtype="int32"), seq_dim=1)],
)
def reverse_sequence(
    at: tuple[Expr, ...], input: View, seq_lengths: View, *, seq_dim: int, batch_dim: int = 0
) -> Expr:
    """The first seq_lengths[b] elements along `seq_dim` in opposite order, for each b along `batch_dim`."""
    seq, batch = normalize_axis(seq_dim, input.rank), normalize_axis(batch_dim, input.rank)
    i, n = at[seq], input.shape[seq]
    length = scalar.minimum(scalar.cast(seq_lengths[at[batch]], int64), n)
    source = scalar.select(i < length, length - 1 - i, i)
    return input[at[:seq] + (source,) + at[seq + 1 :]]


@method("reshape")
def _reshape(x: Any, *shape: Any) -> Any:
    return reshape(x, shape=shape[0] if len(shape) == 1 else shape)


@method("transpose")
def _transpose(x: Any, *perm: Any) -> Any:
    return transpose(x, perm=None if perm in ((), (None,)) else perm[0] if np.ndim(perm[0]) else perm)


@method("ravel")
@method("flatten")
def _flatten(x: Any) -> Any:
    return reshape(x, shape=(-1,))


@method("squeeze")
def _squeeze(x: Any, axis: Any = None) -> Any:
    return squeeze(x, axis=(axis,) if isinstance(axis, int) else axis)


@method("swapaxes")
def _swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    order = list(range(len(x.shape)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(x, perm=order)
