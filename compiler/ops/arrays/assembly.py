"""Ops that write rectangular pieces side by side: concat, stack and the paddings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, float32, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import method, ops
from staticgraph.compiler.graph.shapes import (
    TensorType,
    compatible,
    merge,
    normalize_axis,
    operand_shape,
    shape_text,
)
from staticgraph.compiler.graph.sizes import AnySize, Size, at_least, at_most, same, several
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, number
from staticgraph.compiler.ops.kinds import Piece, View, assembly, movement, sizes
from staticgraph.compiler.ops.samples import Sample, real

MOST_GAPS = 64  # elements between two of an operand
Pairs = tuple[tuple[int, int], ...]


def _concat_type(*values: TensorType, axis: int | None) -> TensorType:
    require(values, "there is nothing to join", hint="the list must have one tensor or more")
    known = [v.shape for v in values if v.shape is not None]
    if not known:
        return TensorType(values[0].dtype, None)
    rank = len(known[0])
    require(rank > 0, "Can't concatenate scalars (use tf.stack instead)", hint="stack makes a vector of them")
    require(
        all(len(s) == rank for s in known),
        f"the ranks differ: {' and '.join(shape_text(s) for s in known)}",
        hint="expand_dims adds an axis of size 1",
    )
    if axis is None:
        return TensorType(values[0].dtype, (None,) * rank)
    axis = normalize_axis(axis, rank)
    rest: Any = known[0][:axis] + known[0][axis + 1 :]
    for s in known:
        rest = merge(rest, s[:axis] + s[axis + 1 :], f"axes other than {axis} must agree, and")
    sizes = [None if v.shape is None else v.shape[axis] for v in values]
    total = None if None in sizes else sum(n for n in sizes if n is not None)
    return TensorType(values[0].dtype, (*rest[:axis], total, *rest[axis:]))


def _concat_static(types: list[TensorType], values: list[Any], axis: int) -> Any:
    """Vectors with unknown entries join as such; the length of each must be known."""
    if all(v is not None and not isinstance(v, tuple) for v in values):
        return np.concatenate(values, axis)
    if any(v is None and (t.rank != 1 or t.shape == (None,)) for t, v in zip(types, values, strict=True)):
        return None
    parts = [
        (None,) * t.static_shape[0] if v is None else tuple(v) for t, v in zip(types, values, strict=True)
    ]
    return tuple(n for part in parts for n in part)


def _concat_grad(g: Any, y: Any, *values: Any, axis: int) -> Any:
    axis = normalize_axis(axis, values[0].type.rank)
    parts = tuple(v.type.shape[axis] for v in values)
    if None in parts:
        parts = ops.stack([ops.shape_of(v)[axis] for v in values])
    made = ops.split_v(g, size_splits=parts, axis=axis, num_split=len(values))
    return made if isinstance(made, tuple) else (made,)


@assembly(
    tf="ConcatV2", type=_concat_type, numpy=lambda *values, axis: np.concatenate(values, axis),
    operands=("axis",), partial=("axis",), dtypes=ANY, strings=True, static=_concat_static,
    grad=_concat_grad, grad_takes=("axis",),
    samples=[Sample(real(2, 3), real(2, 4), axis=1), Sample(real(2), real(3), real(1), axis=0),
             Sample(real(2, 1, 3), real(2, 2, 3), axis=-2), Sample(real(0, 3), real(2, 3), axis=0),
             Sample(real(3), axis=0)],
    elements_of=(),
)
def concat(*values: View, axis: int) -> list[Piece]:
    """Tensors joined along an existing axis, in which alone their shapes may differ."""
    axis = normalize_axis(axis, values[0].rank)
    pieces, start = [], 0
    for value in values:
        offset = tuple(start if d == axis else 0 for d in range(value.rank))
        pieces.append(Piece(offset, value.shape, value.__getitem__))
        start += value.shape[axis]
    return pieces


def _stack_type(*values: TensorType, axis: int = 0) -> TensorType:
    require(values, "there is nothing to stack", hint="the list must have one tensor or more")
    shape = None
    for v in values:
        shape = merge(shape, v.shape, "all shapes must be equal, and")
    if shape is None:
        return TensorType(values[0].dtype, None)
    rank = len(shape) + 1
    require(-rank <= axis < rank, f"axis = {axis} not in [{-rank}, {rank}), as the result has {rank} axes")
    axis %= rank
    return TensorType(values[0].dtype, (*shape[:axis], len(values), *shape[axis:]))


def _stack_static(types: list[TensorType], values: list[Any], axis: int = 0) -> Any:
    """A vector of numbers of which only some are known.

    Operands of unknown rank count as numbers: values are asked for as shapes, and a shape is a vector.
    """
    if any(isinstance(v, tuple) for v in values):
        return None
    if all(v is not None for v in values):
        return np.stack(values, axis)
    if any(t.rank for t in types) or any(v is not None and np.ndim(v) for v in values):
        return None
    return tuple(None if v is None else np.asarray(v).item() for v in values)


def _stack_grad(g: Any, y: Any, *values: Any, axis: int = 0) -> Any:
    made = ops.unstack(g, num=len(values), axis=axis)
    return made if isinstance(made, tuple) else (made,)


@assembly(
    tf="Pack", type=_stack_type, numpy=lambda *values, axis=0: np.stack(values, axis), dtypes=ANY,
    strings=True, static=_stack_static, grad=_stack_grad, grad_takes=(),
    samples=[Sample(real(2, 3), real(2, 3)), Sample(real(2, 3), real(2, 3), real(2, 3), axis=1),
             Sample(real(), real()), Sample(real(2), real(2), axis=-1), Sample(real(0), real(0))],
    elements_of=(),
)
def stack(*values: View, axis: int = 0) -> list[Piece]:
    """Tensors of one shape joined along a new axis."""
    rank = values[0].rank + 1
    axis = normalize_axis(axis, rank)

    def piece(k: int, value: View) -> Piece:
        offset = tuple(k if d == axis else 0 for d in range(rank))
        shape = (*value.shape[:axis], 1, *value.shape[axis:])
        return Piece(offset, shape, lambda at: value[at[:axis] + at[axis + 1 :]])

    return [piece(k, value) for k, value in enumerate(values)]


@method("stack")
def _pack(values: Sequence[Any], axis: int = 0, name: str | None = None) -> Any:
    return stack(list(values), axis=axis, name=name)


def _between(count: int) -> int:
    """Return the number of gaps between elements."""
    return at_least(count - 1, 0)


def embedded(
    inner: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int],
    element: Callable[[tuple[Expr, ...]], Expr],
    filler: Expr,
) -> list[Piece]:
    """Pieces of an array with `low` fillers before, `high`
    after and `interior` between the elements of an inner one.

    Disjoint boxes: along each axis the parts without elements are filled over the full extent of the later
    axes, and only the part with elements is divided further.
    """
    sizes = zip(inner, low, high, interior, strict=True)
    full = [a + n + _between(n) * gap + b if gap else a + n + b for n, a, b, gap in sizes]
    pieces: list[Piece] = []

    def fill(axis: int, start: int, count: int, step: int) -> None:
        rest = full[axis + 1 :]
        offset = (*low[:axis], start, *(0 for _ in rest))
        shape = (*inner[:axis], count, *rest)
        steps = (*(gap + 1 for gap in interior[:axis]), step, *(1 for _ in rest))
        if not same(math.prod(shape), 0):
            pieces.append(Piece(offset, shape, lambda at: filler, steps))

    for axis, (n, a, b, gap) in enumerate(zip(inner, low, high, interior, strict=True)):
        fill(axis, 0, a, 1)
        for k in range(gap):
            fill(axis, a + 1 + k, _between(n), gap + 1)
        fill(axis, full[axis] - b, b, 1)
    if not same(math.prod(inner), 0):
        pieces.append(Piece(tuple(low), tuple(inner), element, tuple(gap + 1 for gap in interior)))
    return pieces


def _padded(tensor: TensorType, paddings: Any) -> TensorType:
    if paddings is None or tensor.shape is None:
        rank = tensor.rank if paddings is None else len(paddings)
        return TensorType(tensor.dtype, None if rank is None else (None,) * rank)
    fits = len(paddings) == len(tensor.shape) and all(np.shape(p) == (2,) for p in paddings)
    hint = "a pair tells how much to add before and after; [0, 0] leaves an axis as it is"
    require(fits, f"paddings must be one pair for each of the {len(tensor.shape)} axes, not {paddings}", hint)
    require(all(p >= 0 for pair in paddings for p in pair), f"paddings must be non-negative: {paddings}")
    sizes = zip(tensor.shape, paddings, strict=True)
    return TensorType(tensor.dtype, tuple(None if n is None else n + a + b for n, (a, b) in sizes))


def _unpadded(g: Any, tensor: Any, paddings: Any) -> Any:
    pairs = isinstance(paddings, tuple)
    begin = tuple(a for a, _ in paddings) if pairs else ops.cast(paddings, dtype=int32)[:, 0]
    return ops.slice(g, begin=begin, size=sizes(tensor))


def _pad_v2_grad(g: Any, y: Any, tensor: Any, constant_values: Any, paddings: Pairs) -> tuple[Any, Any]:
    inside = _unpadded(g, tensor, paddings)
    return inside, ops.reduce_sum(g) - ops.reduce_sum(inside)


_PADDINGS = [
    Sample(real(2, 3), paddings=((1, 0), (2, 1))), Sample(real(4), paddings=((0, 3),)),
    Sample(real(2, 2, 2), paddings=((0, 0), (1, 1), (0, 2))), Sample(real(0, 2), paddings=((1, 1), (0, 0))),
    Sample(real(), paddings=()),
]


@assembly(
    tf="Pad", type=_padded, operands=("paddings",), partial=("paddings",), dtypes=ANY, samples=_PADDINGS,
    numpy=lambda tensor, paddings: np.pad(tensor, paddings) if paddings else np.array(tensor),
    grad=lambda g, y, tensor, paddings: (_unpadded(g, tensor, paddings),), grad_takes=(),
)
def pad(tensor: View, *, paddings: Any) -> list[Piece]:
    """The tensor with paddings[i] = (before, after) zeros along axis i."""
    none = (0,) * tensor.rank
    before, after = tuple(a for a, _ in paddings), tuple(b for _, b in paddings)
    return embedded(tensor.shape, before, after, none, tensor.__getitem__, Const(0, tensor.dtype))


def _pad_v2_type(tensor: TensorType, value: TensorType, paddings: Any) -> TensorType:
    shape = shape_text(value.shape)
    require(compatible(value.shape, ()), f"constant_values must be a number, not of shape {shape}")
    return _padded(tensor, paddings)


def _pad_v2(tensor: np.ndarray, constant_values: np.ndarray, paddings: Pairs) -> np.ndarray:
    return np.pad(tensor, paddings, constant_values=constant_values) if paddings else np.array(tensor)


@assembly(
    tf="PadV2", type=_pad_v2_type, numpy=_pad_v2, grad=_pad_v2_grad, grad_takes=(),
    operands=("paddings",), partial=("paddings",), dtypes=ANY, strings=True,
    samples=[Sample(*s.draws, real(), **s.attrs) for s in _PADDINGS],
)
def pad_v2(tensor: View, constant_values: View, *, paddings: Any) -> list[Piece]:
    """The tensor with paddings[i] = (before, after) copies of a number along axis i."""
    none = (0,) * tensor.rank
    before, after = tuple(a for a, _ in paddings), tuple(b for _, b in paddings)
    return embedded(tensor.shape, before, after, none, tensor.__getitem__, constant_values[()])


def _interior_type(x: TensorType, low: Any, high: Any, interior: Any) -> TensorType:
    if x.shape is None:
        return x
    for name, values in (("low", low), ("high", high), ("interior", interior)):
        fits = None not in (operand_shape(values, name) or ()) and len(values) == len(x.shape)
        require(fits, f"{name} {values} needs {len(x.shape)} entries")
    most = max(interior, default=0)
    require(most <= MOST_GAPS, f"interior {interior} is more than {MOST_GAPS}: each gap is written by itself")
    sizes = zip(x.shape, low, high, interior, strict=True)
    full = (None if n is None else a + n + (_between(n) * gap if gap else 0) + b for n, a, b, gap in sizes)
    return TensorType(x.dtype, tuple(full))


def _interior(x: np.ndarray, low: Any, high: Any, interior: Any) -> np.ndarray:
    sizes = list(zip(x.shape, low, high, interior, strict=True))
    out = np.zeros([a + n + max(n - 1, 0) * gap + b for n, a, b, gap in sizes], x.dtype)
    out[tuple(slice(a, a + n * (gap + 1) - gap if n else a, gap + 1) for n, a, b, gap in sizes)] = x
    return out


def _interior_grad(g: Any, y: Any, x: Any, low: Any, high: Any, interior: Any) -> tuple[Any]:
    ends = tuple(
        a + at_least(n - 1, 0) * (gap + 1) + at_most(n, 1)
        for n, a, gap in zip(x.shape, low, interior, strict=True)
    )
    return (ops.strided_slice(g, begin=low, end=ends, strides=tuple(gap + 1 for gap in interior)),)


@assembly(
    tf="InteriorPad", type=_interior_type, numpy=_interior, grad=_interior_grad, dtypes=ANY,
    samples=[Sample(real(2, 3), low=(1, 0), high=(0, 2), interior=(0, 1)),
             Sample(real(4), low=(2,), high=(0,), interior=(2,)),
             Sample(real(1, 2), low=(0, 0), high=(1, 0), interior=(3, 0)),
             Sample(real(), low=(), high=(), interior=())],
)
def interior_pad(x: View, *, low: Any, high: Any, interior: Any) -> list[Piece]:
    """Zeros around and between the elements: the adjoint of a slice with steps.

    Along axis i, low[i] of them before, high[i] after, and interior[i] between any two elements.
    """
    return embedded(x.shape, low, high, interior, x.__getitem__, Const(0, x.dtype))


def spread_apart(x: Any, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Any:
    """`interior_pad`, for gaps of any size: wide ones are padding of rows of one element each."""
    if max(interior, default=0) <= MOST_GAPS:
        return ops.interior_pad(x, low=tuple(low), high=tuple(high), interior=tuple(interior))
    for axis, gap in enumerate(interior):
        before, n, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
        if gap and several(n):
            rows = ops.reshape(x, shape=(*before, n, 1, *after))
            wide = ops.pad(rows, paddings=[(0, gap if d == axis + 1 else 0) for d in range(rows.rank)])
            whole = ops.reshape(wide, shape=(*before, n * (gap + 1), *after))
            size = tuple(at_least(m - gap, 0) if d == axis else m for d, m in enumerate(whole.shape))
            x = ops.slice(whole, begin=(0,) * x.rank, size=size)
    return ops.pad(x, paddings=tuple(zip(low, high, strict=True)))


def _interleave_type(*parts: TensorType, strides: Any) -> TensorType:
    known = None not in (operand_shape(strides, "strides") or (None,))
    require(known and 0 not in strides, f"strides {strides} must be positive")
    require(len(parts) == math.prod(strides), f"strides {strides} need {math.prod(strides)} parts")
    shapes = [p.shape for p in parts if p.shape is not None]
    if len(shapes) < len(parts):
        return TensorType(parts[0].dtype, None)
    from staticgraph.compiler.graph.open_sizes import summed_up  # few graphs have such parts

    fits = all(len(s) == len(strides) for s in shapes)
    require(fits, f"a part has another rank than strides {strides} have entries")
    sizes = []
    for axis in range(len(strides)):
        along = [s[axis] for s, at in zip(shapes, _remainders(strides), strict=True) if not any(
            r for d, r in enumerate(at) if d != axis)]
        sizes.append(None if None in along else summed_up(sum(n for n in along if n is not None)))
    for shape, at in zip(shapes, _remainders(strides), strict=True):
        wanted = (None if n is None else -(-(n - r) // s) for n, r, s in zip(sizes, at, strides, strict=True))
        merge(shape, tuple(wanted), f"part {at} and the place for it,")
    return TensorType(parts[0].dtype, tuple(sizes))


def _remainders(strides: Sequence[int]) -> list[tuple[int, ...]]:
    return list(product(*(range(s) for s in strides)))


def _interleave(*parts: np.ndarray, strides: Any) -> np.ndarray:
    types = (TensorType(float32, p.shape) for p in parts)
    out = np.empty(_interleave_type(*types, strides=strides).static_shape, parts[0].dtype)
    for part, at in zip(parts, _remainders(strides), strict=True):
        out[tuple(slice(r, None, s) for r, s in zip(at, strides, strict=True))] = part
    return out


def _interleave_grad(g: Any, y: Any, *parts: Any, strides: Any) -> Any:
    return tuple(
        g[tuple(slice(r, None, s) for r, s in zip(at, strides, strict=True))] for at in _remainders(strides)
    )


@assembly(
    name="interleave", type=_interleave_type, numpy=_interleave, grad=_interleave_grad, dtypes=ANY,
    samples=[Sample(real(2, 3), real(2, 2), strides=(1, 2)),
             Sample(real(2, 2), real(2, 1), real(1, 2), real(1, 1), strides=(2, 2)),
             Sample(real(1), real(1), real(0), strides=(3,))],
)
def interleave(*parts: View, strides: Any) -> list[Piece]:
    """Tensors whose elements are `strides` apart in the result, one for every remainder by the strides.

    Part number i holds the elements of the i-th combination of remainders, the last axis fastest.
    """
    return [
        Piece(at, part.shape, part.__getitem__, tuple(strides))
        for part, at in zip(parts, _remainders(strides), strict=True)
    ]


def mirror_type(tensor: TensorType, paddings: Any, mode: str) -> TensorType:
    """Type rule of `mirror_pad`."""
    made = _padded(tensor, paddings)
    require(mode in ("REFLECT", "SYMMETRIC"), f"mode {mode!r} is neither 'REFLECT' nor 'SYMMETRIC'")
    if tensor.shape is not None and paddings is not None:
        for axis, (n, pair) in enumerate(zip(tensor.shape, paddings, strict=True)):
            most = None if n is None else n - 1 if mode == "REFLECT" else n
            require(
                most is None or max(pair) <= most,
                f"axis {axis} of size {n} can be padded by at most {most} in mode {mode}, not {max(pair)}",
            )
    return made


def mirror_cotangent(g: Any, paddings: Pairs, mode: str) -> Any:
    """Return the cotangent of what `mirror_pad` pads: each mirrored strip is turned around and added where it
    came from, one axis after the other.
    """
    edge = 1 if mode == "REFLECT" else 0
    for axis, (a, b) in enumerate(paddings):
        n = g.shape[axis] - a - b
        total = _strip(g, axis, a, n)
        for start, count, place in ((0, a, edge), (a + n, b, n - edge - b)):
            if count:
                turned = ops.reverse(_strip(g, axis, start, count), axis=(axis,))
                around = tuple(
                    (place, n - place - count) if d == axis else (0, 0) for d in range(len(paddings))
                )
                total = total + pad(turned, paddings=around)
        g = total
    return g


def _strip(g: Any, axis: int, start: int, count: int) -> Any:
    begin = tuple(start if d == axis else 0 for d in range(len(g.shape)))
    return ops.slice(g, begin=begin, size=tuple(count if d == axis else n for d, n in enumerate(g.shape)))


def _mirror(tensor: np.ndarray, paddings: Pairs, mode: str) -> np.ndarray:
    numpy_mode: Any = mode.lower()
    return np.pad(tensor, paddings, mode=numpy_mode) if paddings else np.array(tensor)


@movement(
    tf="MirrorPad", type=mirror_type, numpy=_mirror, operands=("paddings",), partial=("paddings",),
    dtypes=ANY,
    grad=lambda g, y, tensor, paddings, mode: (mirror_cotangent(g, paddings, mode),),
    samples=[Sample(real(3, 4), paddings=((1, 2), (0, 3)), mode="REFLECT"),
             Sample(real(3, 4), paddings=((3, 2), (0, 4)), mode="SYMMETRIC"),
             Sample(real(5), paddings=((4, 4),), mode="REFLECT"),
             Sample(real(1), paddings=((1, 1),), mode="SYMMETRIC")],
)
def mirror_pad(at: tuple[Expr, ...], tensor: View, *, paddings: Any, mode: str) -> Expr:
    """The tensor continued by its mirror image: `paddings` = (before, after) elements for each axis.

    In `mode` REFLECT the mirror lies on the outermost elements, in SYMMETRIC behind them.
    """
    edge = 1 if mode == "REFLECT" else 0

    def reflected(i: Expr, padding: tuple[int, int], n: AnySize) -> Expr:
        if isinstance(n, Size) and padding == (0, 0):
            return i  # true of a number too, and found by later stages
        j = i - padding[0]
        j = scalar.maximum(j, edge - 1 - j)
        return scalar.minimum(j, number(2 * n - 1 - edge, int64) - j)

    return tensor[tuple(map(reflected, at, paddings, tensor.shape))]
