"""The two contractions behind every convolution, over any number of spatial axes.

Convolutions and their gradients (`convolution_layers.py`) are made of two contractions on channels-last
arrays without padding. A convolution `conv_valid` sums over taps and channels; `conv_filter`, which is its
gradient by the filter, sums over images and positions. The gradient by the input is again a `conv_valid`, of
the cotangent spread apart by the stride with the filter turned around. Group axes between space and channels
are carried along: a depthwise convolution has a group per channel.

    x [batch, *space, *groups, in]     w [*taps, *groups, in, out]     y [batch, *positions, *groups, out]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.kernel.expr import Expr, Index, Reduce
from staticgraph.compiler.ops.kinds import View, contraction
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.windows import positions

Ints = tuple[int, ...]


def _valid_type(x: TensorType, w: TensorType, strides: Ints, dilations: Ints) -> TensorType:
    if x.shape is None or w.shape is None:
        return TensorType(x.dtype, None)
    per_axis = zip(x.shape[1:], w.shape, strides, dilations, strict=False)
    counts = (positions(n, k, s, step, "VALID") for n, k, s, step in per_axis)
    return TensorType(x.dtype, (x.shape[0], *counts, *x.shape[len(strides) + 1 : -1], w.shape[-1]))


def _patches(x: np.ndarray, taps: Ints, strides: Ints, dilations: Ints) -> np.ndarray:
    """The windows of `x`: [batch, *positions, *groups, in, *taps]."""
    d = len(strides)
    reach = [(k - 1) * step + 1 for k, step in zip(taps, dilations, strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(1, d + 1)))
    by_position = tuple(slice(None, None, s) for s in strides)
    by_tap = tuple(slice(None, None, s) for s in dilations)
    key: Any = (slice(None), *by_position, ..., *by_tap)
    return views[key]


def _letters(d: int, groups: int) -> tuple[str, str, str]:
    """Names of the position, tap and group axes for NumPy's einsum."""
    return "pqr"[:d], "uvw"[:d], "gh"[:groups]


def _valid(x: np.ndarray, w: np.ndarray, strides: Ints, dilations: Ints) -> np.ndarray:
    d = len(strides)
    p, t, g = _letters(d, x.ndim - d - 2)
    patches = _patches(x.astype(np.float64), w.shape[:d], strides, dilations)
    return np.einsum(f"n{p}{g}c{t},{t}{g}co->n{p}{g}o", patches, w.astype(np.float64)).astype(x.dtype)


def _filter_type(x: TensorType, g: TensorType, taps: Ints, strides: Ints, dilations: Ints) -> TensorType:
    if x.shape is None or g.shape is None:
        return TensorType(x.dtype, None)
    return TensorType(x.dtype, (*taps, *x.shape[len(strides) + 1 :], g.shape[-1]))


def _filter(x: np.ndarray, g: np.ndarray, taps: Ints, strides: Ints, dilations: Ints) -> np.ndarray:
    d = len(strides)
    p, t, groups = _letters(d, x.ndim - d - 2)
    patches = _patches(x.astype(np.float64), taps, strides, dilations)
    patches = patches[(slice(None), *(slice(n) for n in g.shape[1 : d + 1]))]
    return np.einsum(f"n{p}{groups}c{t},n{p}{groups}o->{t}{groups}co", patches, g.astype(np.float64)).astype(
        x.dtype
    )


def conv_transposed(
    g: Any, w: Any, space: Ints, strides: Ints, dilations: Ints, before: Ints | None = None
) -> Any:
    """The cotangent of the input of `conv_valid`, of which
    `before` elements in front and all beyond `space` were padding.

    Element i of the input met tap t at position p where i = stride * p + dilation * t - before.
    """
    d = len(strides)
    before = before or (0,) * d
    taps = w.shape[:d]
    reach = [(k - 1) * step for k, step in zip(taps, dilations, strict=True)]
    start = tuple(r - b for r, b in zip(reach, before, strict=True))
    room = tuple(n + r for n, r in zip(space, reach, strict=True))
    g, start = _within(g, strides, start, room)
    end = (
        n - f - max(0, (k - 1) * s + 1) for n, f, k, s in zip(room, start, g.shape[1:], strides, strict=False)
    )
    rest = (0,) * (g.rank - d - 1)
    gaps = tuple(s - 1 for s in strides)
    g = ops.interior_pad(g, low=(0, *start, *rest), high=(0, *end, *rest), interior=(0, *gaps, *rest))
    turned = ops.reverse(w, axis=tuple(range(d))) if any(k > 1 for k in taps) else w
    axes = range(w.rank)
    turned = ops.transpose(turned, perm=(*axes[:-2], axes[-1], axes[-2]))
    return conv_valid(g, turned, strides=(1,) * d, dilations=dilations)


def _within(g: Any, strides: Ints, start: Ints, room: Ints) -> tuple[Any, Ints]:
    """`g` without the positions that fall outside `room`: their windows saw nothing but padding."""
    keep, first = [slice(None)], []
    for n, stride, offset, size in zip(g.shape[1:], strides, start, room, strict=False):
        low = max(0, -(offset // stride))
        high = min(n, (size - 1 - offset) // stride + 1)
        keep.append(slice(low, max(low, high)))
        first.append(offset + low * stride)
    untouched = all(s == slice(None) or s == slice(0, n) for s, n in zip(keep, g.shape, strict=False))
    return (g if untouched else g[tuple(keep)]), tuple(first)


def _valid_grad(g: Any, y: Any, x: Any, w: Any, strides: Ints, dilations: Ints) -> tuple[Any, Any]:
    d = len(strides)
    by_x = conv_transposed(g, w, x.shape[1 : d + 1], strides, dilations)
    return by_x, conv_filter(x, g, taps=w.shape[:d], strides=strides, dilations=dilations)


def _filter_grad(
    g: Any, y: Any, x: Any, dy: Any, taps: Ints, strides: Ints, dilations: Ints
) -> tuple[Any, Any]:
    by_x = conv_transposed(dy, g, x.shape[1 : len(taps) + 1], strides, dilations)
    by_dy = conv_valid(x, g, strides=strides, dilations=dilations)
    used = tuple(slice(n) for n in dy.shape)
    return by_x, by_dy if by_dy.shape == dy.shape else by_dy[used]


@contraction(
    type=_valid_type, numpy=_valid, dtypes=FLOATING, grad=_valid_grad,
    samples=[
        Sample(real(2, 5, 6, 3), real(3, 2, 3, 4), strides=(1, 1), dilations=(1, 1)),
        Sample(real(1, 8, 7, 2), real(2, 3, 2, 3), strides=(2, 3), dilations=(2, 1)),
        Sample(real(2, 9, 2), real(3, 2, 5), strides=(2,), dilations=(3,)),
        Sample(real(1, 4, 4, 3, 1), real(2, 2, 3, 1, 2), strides=(1, 2), dilations=(1, 1)),
        Sample(real(1, 3, 4, 3, 2), real(2, 2, 2, 2, 3), strides=(1, 1, 1), dilations=(1, 1, 1)),
    ],
)  # fmt: skip
def conv_valid(at: tuple[Expr, ...], x: View, w: View, *, strides: Ints, dilations: Ints) -> Expr:
    """Convolution without padding, channels last.

    y[n, p, o] = sum over t and c of x[n, s * p + d * t, c] *
    w[t, c, o], with s the `strides` and d the `dilations`.
    """
    n, *rest, o = at
    d = len(strides)
    p, groups = rest[:d], rest[d:]
    taps = [Index(f"t{axis}", w.shape[axis]) for axis in range(d)]
    c = Index("c", x.shape[-1])
    place = [a * s + t * step for a, s, t, step in zip(p, strides, taps, dilations, strict=True)]
    return Reduce((*taps, c), "add", x[(n, *place, *groups, c)] * w[(*taps, *groups, c, o)])


@contraction(
    type=_filter_type, numpy=_filter, dtypes=FLOATING, grad=_filter_grad,
    samples=[
        Sample(real(2, 5, 6, 3), real(2, 3, 5, 4), taps=(3, 2), strides=(1, 1), dilations=(1, 1)),
        Sample(real(1, 8, 7, 2), real(1, 3, 2, 3), taps=(2, 3), strides=(2, 3), dilations=(2, 1)),
        Sample(real(1, 4, 4, 3, 1), real(1, 3, 2, 3, 2), taps=(2, 2), strides=(1, 2), dilations=(1, 1)),
    ],
)  # fmt: skip
def conv_filter(
    at: tuple[Expr, ...], x: View, g: View, *, taps: Ints, strides: Ints, dilations: Ints
) -> Expr:
    """Gradient of `conv_valid` by its filter, which has `taps` positions.

    dw[t, c, o] = sum over n and p of x[n, s * p + d * t, c]
    * g[n, p, o], with s the `strides` and d the `dilations`.
    """
    *rest, c, o = at
    d = len(strides)
    t, groups = rest[:d], rest[d:]
    n = Index("n", x.shape[0])
    p = [Index(f"p{axis}", g.shape[axis + 1]) for axis in range(d)]
    place = [a * s + tap * step for a, s, tap, step in zip(p, strides, t, dilations, strict=True)]
    return Reduce((n, *p), "add", x[(n, *place, *groups, c)] * g[(n, *p, *groups, o)])
