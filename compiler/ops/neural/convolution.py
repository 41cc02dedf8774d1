"""The contractions behind every convolution, over any number of spatial axes.

Convolutions and their gradients (`convolution_layers.py`) are made of three contractions on channels-last
arrays. `conv_windows` sums over taps and channels; `conv_filter`, its gradient by the filter, over images and
positions; `conv_spread`, its gradient by the input where the stride is 1, over taps and outputs. Windows may
reach over the edges of the input, where there are zeros. With strides, the gradient by the input is a
`conv_spread` for every remainder of the position by the stride, each with the taps that can reach it.

Group axes between space and channels are carried along: a depthwise convolution has a group per channel.

    x [batch, *space, *groups, in]     w [*taps, *groups, in, out]     y [batch, *positions, *groups, out]

Position p meets with its tap t the element s * p + d * t - before, with s the strides and d the dilations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.open_sizes import greater, lesser
from staticgraph.compiler.graph.shapes import TensorType, merge
from staticgraph.compiler.graph.sizes import at_least, is_open, same
from staticgraph.compiler.kernel.expr import Expr, Index, Reduce
from staticgraph.compiler.kernel.predicated_loads import padded_load
from staticgraph.compiler.ops.arrays.assembly import spread_apart
from staticgraph.compiler.ops.kinds import View, contraction
from staticgraph.compiler.ops.neural.windows import LONGEST
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.support.dataclass import dataclass, replace

Ints = tuple[int, ...]
_MOST_PARTS = 16  # convolutions that the gradient of one with strides may become


def _letters(d: int, groups: int) -> tuple[str, str, str]:
    """Names of the position, tap and group axes for NumPy's einsum."""
    return "pqr"[:d], "uvw"[:d], "gh"[:groups]


def _patches(
    x: np.ndarray, taps: Ints, counts: Ints, strides: Ints, dilations: Ints, before: Ints
) -> np.ndarray:
    """The windows of `x` in float64: [batch, *counts, *groups, in, *taps]."""
    axes = range(1, len(taps) + 1)
    x = x.astype(np.float64)
    for axis, p, t, s, d, b in zip(axes, counts, taps, strides, dilations, before, strict=True):
        at = s * np.arange(p)[:, None] + d * np.arange(t) - b
        inside = (at >= 0) & (at < x.shape[axis])
        x = np.moveaxis(x, axis, 0)
        seen = x[np.where(inside, at, 0)] if len(x) else np.zeros((*at.shape, *x.shape[1:]))
        seen = seen * inside.reshape(*inside.shape, *[1] * (x.ndim - 1))
        x = np.moveaxis(np.moveaxis(seen, 1, -1), 0, axis)
    return x


def _check(image: TensorType, other: TensorType, steps: dict[str, Ints], filter: bool, last: int) -> None:
    """Check for a type rule that attributes have one entry per spatial axis, and that the operands fit.

    `other` is a filter, or has the positions of one. `last`: its axis that is as long as the last of `image`.
    """
    d = len(next(iter(steps.values())))
    for name, values in steps.items():
        require(len(values) == d > 0, f"{name} {values} has {len(values)} entries, {max(d, 1)} are needed")
        least = {"strides": 1, "dilations": 1, "before": None}.get(name, 0)
        require(least is None or all(n >= least for n in values), f"{name} {values} must be {least} or more")
        require(all(-LONGEST <= n <= LONGEST for n in values), f"{name} {values} is more than {LONGEST}")
    x, w = image.shape, other.shape
    if x is None or w is None:
        return
    needed = d + 2
    require(len(x) == len(w) >= needed, f"ranks {len(x)} and {len(w)} differ, or are less than {needed}")
    merge(x[d + 1 : -1], w[d + (0 if filter else 1) : -2 if filter else -1], "groups")
    if filter:
        merge(x[-1:], w[last : last + 1 or None], "channels")
    else:
        merge(x[:1], w[:1], "batches")


def _windows_type(
    x: TensorType, w: TensorType, counts: Ints, strides: Ints, dilations: Ints, before: Ints
) -> TensorType:
    steps = {"strides": strides, "dilations": dilations, "before": before, "counts": counts}
    _check(x, w, steps, True, -2)
    if x.shape is None or w.shape is None:
        return TensorType(x.dtype, None)
    return TensorType(x.dtype, (x.shape[0], *counts, *x.shape[len(strides) + 1 : -1], w.shape[-1]))


def _windows(
    x: np.ndarray, w: np.ndarray, counts: Ints, strides: Ints, dilations: Ints, before: Ints
) -> np.ndarray:
    d = len(strides)
    p, t, g = _letters(d, x.ndim - d - 2)
    patches = _patches(x, w.shape[:d], counts, strides, dilations, before)
    return np.einsum(f"n{p}{g}c{t},{t}{g}co->n{p}{g}o", patches, w.astype(np.float64)).astype(x.dtype)


def _filter_type(
    x: TensorType, g: TensorType, taps: Ints, strides: Ints, dilations: Ints, before: Ints
) -> TensorType:
    steps = {"strides": strides, "dilations": dilations, "before": before, "taps": taps}
    _check(x, g, steps, False, -1)
    if x.shape is None or g.shape is None:
        return TensorType(x.dtype, None)
    return TensorType(x.dtype, (*taps, *x.shape[len(strides) + 1 :], g.shape[-1]))


def _filter(
    x: np.ndarray, g: np.ndarray, taps: Ints, strides: Ints, dilations: Ints, before: Ints
) -> np.ndarray:
    d = len(strides)
    p, t, groups = _letters(d, x.ndim - d - 2)
    patches = _patches(x, taps, g.shape[1 : d + 1], strides, dilations, before)
    return np.einsum(f"n{p}{groups}c{t},n{p}{groups}o->{t}{groups}co", patches, g.astype(np.float64)).astype(
        x.dtype
    )


def _spread_type(g: TensorType, w: TensorType, space: Ints, dilations: Ints, before: Ints) -> TensorType:
    _check(g, w, {"dilations": dilations, "before": before, "space": space}, True, -1)
    if g.shape is None or w.shape is None:
        return TensorType(g.dtype, None)
    return TensorType(g.dtype, (g.shape[0], *space, *g.shape[len(space) + 1 : -1], w.shape[-2]))


def _spread(g: np.ndarray, w: np.ndarray, space: Ints, dilations: Ints, before: Ints) -> np.ndarray:
    d = len(space)
    turned = np.flip(w, tuple(range(d))).swapaxes(-1, -2)
    start = tuple(step * (t - 1) - b for t, step, b in zip(w.shape, dilations, before, strict=False))
    return _windows(g, turned, space, (1,) * d, dilations, start)


def conv_transposed(g: Any, w: Any, space: Ints, strides: Ints, dilations: Ints, before: Ints) -> Any:
    """The cotangent of the input of a convolution; `space` are the spatial axes of the input."""
    if set(strides) == {1}:
        return _spread_over(g, w, space, dilations, before)
    if is_open(before):
        return _cut_out(g, w, space, strides, dilations, before)
    apart = set(dilations) == {1} and all(t <= s for t, s in zip(w.shape, strides, strict=False))
    if apart and w.rank == len(space) + 2:
        return _side_by_side(g, w, space, strides, before)
    if math.prod(strides) > _MOST_PARTS:
        none, gaps = (0,) * g.rank, (0, *(s - 1 for s in strides), *(0,) * (g.rank - len(space) - 1))
        spread = spread_apart(g, none, none, gaps)
        return _spread_over(spread, w, space, dilations, before)
    axes = [
        [_Reach.of(*each, remainder) for remainder in range(each[2])]
        for each in zip(space, w.shape, strides, dilations, before, strict=False)
    ]
    parts = [_Part.of(g, w, reaches) for reaches in product(*axes)]
    if is_open(space):
        parts = _with_common_zeros(parts)
    steps = (1, *strides, *(1,) * (g.rank - len(space) - 1))
    return ops.interleave([part.cotangent for part in parts], strides=steps)


def _cut_out(g: Any, w: Any, space: Ints, strides: Ints, dilations: Ints, before: Ints) -> Any:
    """The cotangent of the input and of the padding around it, without the padding.

    Which taps meet an element depends on `before`, and that of an open size on the size.
    """
    steps = zip(g.shape[1:], strides, w.shape, dilations, strict=False)
    seen = [at_least((p - 1) * s + (t - 1) * r + 1, 0) for p, s, t, r in steps]
    room = tuple(n + at_least(b + m - n, 0) for n, b, m in zip(seen, before, space, strict=True))
    x = conv_transposed(g, w, room, strides, dilations, (0,) * len(space))
    images, *rest = x.shape
    rest = rest[len(space) :]
    return ops.slice(x, begin=(0, *before, *(0 for _ in rest)), size=(images, *space, *rest))


def _side_by_side(g: Any, w: Any, space: Ints, strides: Ints, before: Ints) -> Any:
    """The cotangent of the input where windows do not overlap: one product, its elements put in order."""
    d, taps, channels = len(space), w.shape[: len(space)], w.shape[-2]
    counts, outputs = g.shape[1 : d + 1], g.shape[-1]
    rows = ops.reshape(g, shape=(math.prod(g.shape[:-1]), outputs))
    columns = ops.reshape(w, shape=(math.prod(w.shape[:-1]), outputs))
    x = ops.reshape(ops.matmul(rows, columns, transpose_b=True), shape=(g.shape[0], *counts, *taps, channels))
    gaps = tuple((0, s - t) for s, t in zip(strides, taps, strict=True))
    x = ops.pad(x, paddings=(*((0, 0),) * (d + 1), *gaps, (0, 0)))
    by_axis = (axis for a in range(d) for axis in (1 + a, 1 + d + a))
    x = ops.transpose(x, perm=(0, *by_axis, 2 * d + 1))
    room = tuple(p * s for p, s in zip(counts, strides, strict=True))
    x = ops.reshape(x, shape=(g.shape[0], *room, channels))
    begin = tuple(lesser(max(b, 0), m) for b, m in zip(before, room, strict=True))
    ends = (lesser(b + n, m) for b, n, m in zip(before, space, room, strict=True))
    size = tuple(at_least(end - start, 0) for start, end in zip(begin, ends, strict=True))
    x = ops.slice(x, begin=(0, *begin, 0), size=(g.shape[0], *size, channels))
    short = ((max(-b, 0), n - have - max(-b, 0)) for n, have, b in zip(space, size, before, strict=True))
    return ops.pad(x, paddings=((0, 0), *short, (0, 0)))


@dataclass(frozen=True, slots=True)
class _Reach:
    """Along one axis, the elements stride * u + remainder of the input, for u < `size`, and their windows.

    They are met by tap `first` and every `step`th one after it: tap number m at position u + before - m *
    dilation.
    """

    size: int
    first: int
    step: int
    dilation: int
    before: int

    @classmethod
    def of(cls, length: int, taps: int, stride: int, dilation: int, before: int, remainder: int) -> _Reach:
        common = math.gcd(stride, dilation)
        reach = (t for t in range(taps) if (remainder + before - dilation * t) % stride == 0)
        first = next(reach, taps)
        return cls(
            -(-(length - remainder) // stride), first, stride // common, dilation // common,
            (remainder + before - dilation * first) // stride,
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """Every so many elements of the input, those with the same windows: a `conv_spread` of a cotangent."""

    g: Any
    w: Any
    space: Ints
    dilations: Ints
    before: Ints

    @classmethod
    def of(cls, g: Any, w: Any, reaches: Sequence[_Reach]) -> _Part:
        taps = tuple(slice(min(r.first, n), None, r.step) for r, n in zip(reaches, w.shape, strict=False))
        return cls(
            g, w if all(r.step == 1 for r in reaches) and not any(t.start for t in taps) else w[taps],
            tuple(at_least(r.size, 0) for r in reaches), tuple(r.dilation for r in reaches),
            tuple(r.before for r in reaches),
        )  # fmt: skip

    @property
    def is_zero(self) -> bool:
        """True if no tap reaches these elements."""
        return 0 in self.w.shape[: len(self.space)]

    @property
    def margins(self) -> tuple[tuple[Any, Any], ...]:
        """The zeros around the cotangent that windows reach, along each axis before it and after it."""
        steps = zip(self.g.shape[1:], self.w.shape, self.space, self.dilations, self.before, strict=False)
        return tuple((at_least(r * (t - 1) - b, 0), at_least(n + b - p, 0)) for p, t, n, r, b in steps)

    def around(self, margins: tuple[tuple[Any, Any], ...]) -> _Part:
        """The same part, of the cotangent with zeros around it."""
        after = self.g.rank - len(margins) - 1
        g = ops.pad(self.g, paddings=((0, 0), *margins, *((0, 0),) * after))
        before = tuple(b + low for b, (low, _) in zip(self.before, margins, strict=True))
        return replace(self, g=g, before=before)

    @property
    def cotangent(self) -> Any:
        """The cotangent of these elements."""
        d = len(self.space)
        if self.is_zero:
            shape = (self.g.shape[0], *self.space, *self.g.shape[d + 1 : -1], self.w.shape[-2])
            return ops.fill(self.g.recorder.constant(0, self.g.dtype), dims=shape)
        return _spread_over(self.g, self.w, self.space, self.dilations, self.before)


def _with_common_zeros(parts: Sequence[_Part]) -> list[_Part]:
    """Parts of an open size, of which all that need zeros around the cotangent have one copy with them."""
    needing = [p for p in parts if not p.is_zero and not all(same(n, 0) for pair in p.margins for n in pair)]
    if not needing:
        return list(parts)
    by_axis = zip(*(p.margins for p in needing), strict=True)
    widest = tuple(tuple(reduce(greater, side) for side in zip(*pairs, strict=True)) for pairs in by_axis)
    return [p.around(widest) if any(p is n for n in needing) else p for p in parts]


def _spread_over(g: Any, w: Any, space: Ints, dilations: Ints, before: Ints) -> Any:
    """`conv_spread`, with zeros around `g` if vectors must lie along the positions or space is open."""
    d = len(space)
    part = _Part(g, w, space, dilations, before)
    if w.shape[d:-1] == (1,) or is_open(space):
        part = part.around(part.margins)
    return conv_spread(part.g, w, space=space, dilations=dilations, before=part.before)


def _windows_grad(
    g: Any, y: Any, x: Any, w: Any, counts: Ints, strides: Ints, dilations: Ints, before: Ints
) -> tuple[Any, Any]:
    d = len(strides)
    by_x = conv_transposed(g, w, x.shape[1 : d + 1], strides, dilations, before)
    return by_x, conv_filter(x, g, taps=w.shape[:d], strides=strides, dilations=dilations, before=before)


def _filter_grad(
    g: Any, y: Any, x: Any, dy: Any, taps: Ints, strides: Ints, dilations: Ints, before: Ints
) -> tuple[Any, Any]:
    d = len(taps)
    by_x = conv_transposed(dy, g, x.shape[1 : d + 1], strides, dilations, before)
    return by_x, conv_windows(
        x, g, counts=dy.shape[1 : d + 1], strides=strides, dilations=dilations, before=before
    )


def _spread_grad(
    g: Any, y: Any, dy: Any, w: Any, space: Ints, dilations: Ints, before: Ints
) -> tuple[Any, Any]:
    d = len(space)
    steps = {"strides": (1,) * d, "dilations": dilations, "before": before}
    by_dy = conv_windows(g, w, counts=dy.shape[1 : d + 1], **steps)
    return by_dy, conv_filter(g, dy, taps=w.shape[:d], **steps)


def _taps(extents: Sequence[int]) -> list[Index]:
    return [Index(f"t{axis}", extent) for axis, extent in enumerate(extents)]


def _padded(x: View, at: Sequence[Any]) -> Expr:
    return padded_load(x.__getitem__, tuple(at), x.shape)


@contraction(
    type=_windows_type, numpy=_windows, dtypes=FLOATING, grad=_windows_grad,
    samples=[
        Sample(real(2, 5, 6, 3), real(3, 2, 3, 4), counts=(3, 5), strides=(1, 1), dilations=(1, 1),
               before=(0, 0)),
        Sample(real(1, 8, 7, 2), real(2, 3, 2, 3), counts=(4, 3), strides=(2, 3), dilations=(2, 1),
               before=(1, 2)),
        Sample(real(2, 9, 2), real(3, 2, 5), counts=(5,), strides=(2,), dilations=(3,), before=(4,)),
        Sample(real(1, 4, 4, 3, 1), real(2, 2, 3, 1, 2), counts=(4, 2), strides=(1, 2), dilations=(1, 1),
               before=(1, 0)),
        Sample(real(1, 3, 4, 3, 2), real(2, 2, 2, 2, 3), counts=(2, 3, 2), strides=(1, 1, 1),
               dilations=(1, 1, 1), before=(0, 0, 0)),
    ],
)
def conv_windows(
    at: tuple[Expr, ...], x: View, w: View, *, counts: Ints, strides: Ints, dilations: Ints, before: Ints
) -> Expr:
    """Convolution with `counts` positions along each axis, channels last.

    y[n, p, o] = sum over t and c of x[n, s * p + d * t - `before`, c] * w[t, c, o],
    with s the `strides` and d the `dilations`; x is 0 outside.
    """
    n, *rest, o = at
    d = len(strides)
    taps, c = _taps(w.shape[:d]), Index("c", x.shape[-1])
    place = [
        a * s + t * step - b for a, s, t, step, b in zip(rest, strides, taps, dilations, before, strict=False)
    ]
    groups = rest[d:]
    return Reduce((*taps, c), "add", _padded(x, (n, *place, *groups, c)) * w[(*taps, *groups, c, o)])


@contraction(
    type=_filter_type, numpy=_filter, dtypes=FLOATING, grad=_filter_grad,
    samples=[
        Sample(real(2, 5, 6, 3), real(2, 3, 5, 4), taps=(3, 2), strides=(1, 1), dilations=(1, 1),
               before=(0, 0)),
        Sample(real(1, 8, 7, 2), real(1, 4, 2, 3), taps=(2, 3), strides=(2, 3), dilations=(2, 1),
               before=(1, 0)),
        Sample(real(1, 4, 4, 3, 1), real(1, 3, 2, 3, 2), taps=(2, 2), strides=(1, 2), dilations=(1, 1),
               before=(0, 1)),
    ],
)
def conv_filter(
    at: tuple[Expr, ...], x: View, g: View, *, taps: Ints, strides: Ints, dilations: Ints, before: Ints
) -> Expr:
    """The gradient of a convolution by its filter.

    w[t, c, o] = sum over n and p of x[n, s * p + d * t - `before`, c] * g[n, p, o], for t < `taps`,
    with s the `strides` and d the `dilations`; x is 0 outside.
    """
    *rest, c, o = at
    d = len(strides)
    n = Index("n", x.shape[0])
    positions = [Index(f"p{axis}", g.shape[axis + 1]) for axis in range(d)]
    place = [
        p * s + t * step - b
        for p, s, t, step, b in zip(positions, strides, rest, dilations, before, strict=False)
    ]
    groups = rest[d:]
    seen = _padded(x, (n, *place, *groups, c))
    return Reduce((n, *positions), "add", seen * g[(n, *positions, *groups, o)])


@contraction(
    type=_spread_type, numpy=_spread, dtypes=FLOATING, grad=_spread_grad,
    samples=[Sample(real(2, 3, 5, 4), real(3, 2, 3, 4), space=(5, 6), dilations=(1, 1), before=(0, 0)),
             Sample(real(1, 4, 3, 3), real(2, 3, 2, 3), space=(4, 5), dilations=(2, 1), before=(1, 2)),
             Sample(real(1, 3, 3, 3, 2), real(2, 2, 3, 1, 2), space=(4, 4), dilations=(1, 2), before=(0, 1))],
)
def conv_spread(
    at: tuple[Expr, ...], g: View, w: View, *, space: Ints, dilations: Ints, before: Ints
) -> Expr:
    """The gradient of a convolution with strides of 1 by its input, of spatial shape `space`.

    x[n, i, c] = sum over t and o of g[n, i + `before` - d * t, o] * w[t, c, o],
    with d the `dilations`; g is 0 outside.
    """
    n, *rest, c = at
    d = len(space)
    back, o = _taps(w.shape[:d]), Index("o", g.shape[-1])
    taps = [t.extent - 1 - t for t in back]
    place = [
        i + b - step * (t.extent - 1) + t * step
        for i, t, step, b in zip(rest, back, dilations, before, strict=False)
    ]
    groups = rest[d:]
    return Reduce((*back, o), "add", _padded(g, (n, *place, *groups, o)) * w[(*taps, *groups, c, o)])
