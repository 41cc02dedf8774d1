"""Convolutions as TensorFlow has them: padding, data formats,
depthwise filters, and the gradients as ops of their own.

A family of three ops is closed under differentiation: convolution, its gradient by the input and its gradient
by the filter are each linear in two tensors, and the derivatives of each are the other two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import OpDef, ops
from staticgraph.compiler.graph.shapes import Shape, TensorType, merge, operand_shape, shape_text
from staticgraph.compiler.graph.sizes import is_open
from staticgraph.compiler.ops.kinds import composite, sizes
from staticgraph.compiler.ops.neural.convolution import conv_filter, conv_transposed, conv_windows
from staticgraph.compiler.ops.neural.windows import Window, check_padding, positions, window
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.support.dataclass import dataclass

Ints = tuple[int, ...]
Family = tuple[OpDef, OpDef, OpDef]  # a convolution, and its gradients by the input and by the filter
_AXES = {
    "input": "its axes are batch, space and channels: expand_dims adds one",
    "filter": "its axes are space, input channels and output channels",
}
_PADDINGS = ("SAME", "VALID", "EXPLICIT")
_MANY = 8  # channels


@dataclass(frozen=True, slots=True)
class Layer:
    """The attributes of a convolution, in the order of its data format as users write them."""

    strides: Ints
    padding: str
    explicit_paddings: Ints
    data_format: str
    dilations: Ints

    @property
    def channels_first(self) -> bool:
        return self.data_format.startswith("NC")

    @property
    def to_last(self) -> Ints:
        """The permutation of axes from the data format to channels last."""
        rank = len(self.strides)
        return (0, *range(2, rank), 1) if self.channels_first else tuple(range(rank))

    @property
    def from_last(self) -> Ints:
        """The inverse of `to_last`."""
        return tuple(int(axis) for axis in np.argsort(self.to_last))

    def space(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Select the values of the spatial axes out of one value per axis."""
        return tuple(values[2:] if self.channels_first else values[1:-1])

    def ordered(self, batch: Any, space: Sequence[Any], channels: Any) -> tuple[Any, ...]:
        """One value per axis, in the order of the data format."""
        return (batch, channels, *space) if self.channels_first else (batch, *space, channels)

    def extra(self) -> list[tuple[int, int]]:
        """Explicit padding of the spatial axes."""
        if self.padding != "EXPLICIT":
            return [(0, 0)] * (len(self.strides) - 2)
        pairs = list(zip(self.explicit_paddings[::2], self.explicit_paddings[1::2], strict=True))
        return list(self.space(pairs))

    def windows(self, space: Ints, taps: Ints) -> list[Window]:
        per_axis = zip(
            space, taps, self.space(self.strides), self.space(self.dilations), self.extra(), strict=True
        )
        return [window(n, k, s, d, self.padding, extra) for n, k, s, d, extra in per_axis]

    def check(self, rank: int) -> None:
        """Check the attributes by themselves, for a type rule."""
        formats = {4: ("NHWC", "NCHW"), 5: ("NDHWC", "NCDHW")}[rank]
        require(
            self.data_format in formats,
            f"data_format {self.data_format!r} does not exist",
            hint=f"it is one of {', '.join(formats)}",
        )
        check_padding(self.padding, _PADDINGS)
        for name in ("strides", "dilations"):
            values = getattr(self, name)
            hint = "give one number per axis, with 1 for batch and channels"
            count = len(values)
            require(count == rank, f"{name} {values} has {count} entries, {rank} are needed", hint)
            require(min(values) > 0, f"{name} {values} must be positive")
            one = self.ordered(values[0], [1] * (rank - 2), values[1 if self.channels_first else -1])
            require(set(one) == {1}, f"{name} {values} must be 1 along batch and channels", hint)
        require(min(self.explicit_paddings, default=0) >= 0, "explicit_paddings must not be negative")
        wanted = 2 * rank if self.padding == "EXPLICIT" else 0
        count = len(self.explicit_paddings)
        require(
            count == wanted,
            f"explicit_paddings has {count} entries, {wanted} are needed with {self.padding!r}",
        )


def _output_shape(x: Shape, w: Shape, layer: Layer, depthwise: bool) -> Shape:
    channels = x[1] if layer.channels_first else x[-1]
    require(
        channels is None or w[-2] is None or channels == w[-2],
        f"the input has {channels} channels and the filter takes {w[-2]}",
        hint=f"the filter is {shape_text(w)}: height, width, input channels, "
        + ("multiplier" if depthwise else "output channels"),
    )
    require(0 not in w[:-2], f"the filter {shape_text(w)} is empty along an axis of space")
    taps, space = w[:-2], layer.space(x)
    per_axis = zip(
        space, taps, layer.space(layer.strides), layer.space(layer.dilations), layer.extra(), strict=True
    )
    counts = [positions(n, k, s, d, layer.padding, extra) for n, k, s, d, extra in per_axis]
    if depthwise:
        inputs = channels if channels is not None else w[-2]
        return layer.ordered(x[0], counts, None if inputs is None or w[-1] is None else inputs * w[-1])
    return layer.ordered(x[0], counts, w[-1])


# What the ops do, in NumPy: one tap at a time


def _taps(w: Ints, layer: Layer, space: Ints) -> Any:
    """For each tap its index, and the slices of the padded input that it meets at all positions."""
    windows = layer.windows(space, w[:-2])
    for tap in product(*(range(k) for k in w[:-2])):
        starts = [t * axis.dilation for t, axis in zip(tap, windows, strict=True)]
        meets = [
            slice(a, max(a, a + (x.count - 1) * x.stride + 1), x.stride)
            for a, x in zip(starts, windows, strict=True)
        ]
        yield tap, (slice(None), *meets)


def _padded(x: np.ndarray, layer: Layer, taps: Ints) -> np.ndarray:
    x = x.transpose(layer.to_last).astype(np.float64)
    return np.pad(x, [(0, 0), *((a.before, a.after) for a in layer.windows(x.shape[1:-1], taps)), (0, 0)])


def _split(y: np.ndarray, multiplier: int) -> np.ndarray:
    """Channels of a depthwise result as [input channel, multiplier]."""
    return y.reshape(*y.shape[:-1], y.shape[-1] // max(1, multiplier), multiplier)


class _Reference:
    """The three ops of a family in NumPy."""

    def __init__(self, depthwise: bool) -> None:
        self.depthwise = depthwise

    def forward(self, x: np.ndarray, w: np.ndarray, **attrs: Any) -> np.ndarray:
        layer = Layer(**attrs)
        padded = _padded(x, layer, w.shape[:-2])
        y: Any = 0.0
        for tap, meets in _taps(w.shape, layer, layer.space(x.shape)):
            seen = padded[meets]
            y = y + (
                (seen[..., None] * w[tap]).reshape(*seen.shape[:-1], w.shape[-2] * w.shape[-1])
                if self.depthwise
                else seen @ w[tap]
            )
        return np.asarray(y).transpose(layer.from_last).astype(x.dtype)

    def by_input(self, w: np.ndarray, g: np.ndarray, input_sizes: Ints, **attrs: Any) -> np.ndarray:
        layer = Layer(**attrs)
        padded = np.zeros_like(_padded(np.zeros(input_sizes, np.float32), layer, w.shape[:-2]))
        dy = g.transpose(layer.to_last).astype(np.float64)
        for tap, meets in _taps(w.shape, layer, layer.space(input_sizes)):
            padded[meets] += (_split(dy, w.shape[-1]) * w[tap]).sum(-1) if self.depthwise else dy @ w[tap].T
        cut = [
            slice(a.before, a.before + a.length)
            for a in layer.windows(layer.space(input_sizes), w.shape[:-2])
        ]
        return padded[(slice(None), *cut)].transpose(layer.from_last).astype(g.dtype)

    def by_filter(self, x: np.ndarray, g: np.ndarray, filter_sizes: Ints, **attrs: Any) -> np.ndarray:
        layer = Layer(**attrs)
        padded = _padded(x, layer, filter_sizes[:-2])
        dy = g.transpose(layer.to_last).astype(np.float64)
        dw = np.zeros(filter_sizes)
        for tap, meets in _taps(filter_sizes, layer, layer.space(x.shape)):
            seen = padded[meets]
            if self.depthwise:
                dw[tap] = (seen[..., None] * _split(dy, filter_sizes[-1])).sum(
                    axis=tuple(range(seen.ndim - 1))
                )
            else:
                dw[tap] = seen.reshape(-1, seen.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])
        return dw.astype(x.dtype)


# What they are made of


def _moved(x: Any, perm: Sequence[int]) -> Any:
    return x if tuple(perm) == tuple(range(len(perm))) else ops.transpose(x, perm=tuple(perm))


def _grouped(x: Any, multiplier: int = 1) -> Any:
    """Channels last as [group, channel of the group]."""
    return ops.reshape(x, shape=(*x.shape[:-1], x.shape[-1] // max(1, multiplier), multiplier))


def _ungrouped(x: Any) -> Any:
    return ops.reshape(x, shape=(*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def _filter_per_channel(w: Any) -> Any:
    return ops.reshape(w, shape=(*w.shape[:-1], 1, w.shape[-1]))


def _pad_space(x: Any, outputs: int, windows: Sequence[Window]) -> tuple[Any, Ints]:
    """`x` with room for its windows, and how far these begin before it.

    The windows of many channels reach over the edges. With few channels that would cost more than it saves,
    and vectors must lie along the positions if there is but one output: the zeros are written, in front and
    behind. So they are if space is open: a matrix product takes no windows over edges that only a run knows.
    """
    before = tuple(a.before for a in windows)
    in_place = x.shape[-1] >= _MANY and outputs > 1 and not is_open(x.shape[1:-1])
    if in_place or not any(a.is_padded for a in windows):
        return x, before
    padded = ops.pad(x, paddings=((0, 0), *((a.before, a.after) for a in windows), (0, 0)))
    return padded, (0,) * len(windows)


def convolve(x: Any, w: Any, layer: Layer, depthwise: bool) -> Any:
    """The convolution of `x` by the filter `w`."""
    x = _moved(x, layer.to_last)
    windows = layer.windows(x.shape[1:-1], w.shape[:-2])
    x, before = _pad_space(x, x.shape[-1] if depthwise else w.shape[-1], windows)
    steps = {
        "counts": tuple(a.count for a in windows), "strides": layer.space(layer.strides),
        "dilations": layer.space(layer.dilations), "before": before,
    }
    if depthwise:
        y = _ungrouped(conv_windows(_grouped(x), _filter_per_channel(w), **steps))
    else:
        y = conv_windows(x, w, **steps)
    return _moved(y, layer.from_last)


def convolve_back_to_input(w: Any, g: Any, input_sizes: Ints, layer: Layer, depthwise: bool) -> Any:
    """The cotangent of a convolution's input, of shape `input_sizes`; that of its result is `g`."""
    space = layer.space(input_sizes)
    before = tuple(a.before for a in layer.windows(space, w.shape[:-2]))
    g = _moved(g, layer.to_last)
    steps = (space, layer.space(layer.strides), layer.space(layer.dilations), before)
    if depthwise:
        x = _ungrouped(conv_transposed(_grouped(g, w.shape[-1]), _filter_per_channel(w), *steps))
    else:
        x = conv_transposed(g, w, *steps)
    return _moved(x, layer.from_last)


def convolve_back_to_filter(x: Any, g: Any, filter_sizes: Ints, layer: Layer, depthwise: bool) -> Any:
    """The cotangent of a convolution's filter, of shape `filter_sizes`; that of its result is `g`."""
    x, g = _moved(x, layer.to_last), _moved(g, layer.to_last)
    x, before = _pad_space(x, g.shape[-1], layer.windows(x.shape[1:-1], filter_sizes[:-2]))
    if depthwise:
        x, g = _grouped(x), _grouped(g, filter_sizes[-1])
    steps = {
        "strides": layer.space(layer.strides), "dilations": layer.space(layer.dilations), "before": before
    }
    return ops.reshape(conv_filter(x, g, taps=filter_sizes[:-2], **steps), shape=filter_sizes)


# The families


def _samples(rank: int, depthwise: bool) -> list[tuple[Ints, Ints, dict[str, Any]]]:
    """Input shape, filter shape and attributes."""
    ones = (1,) * rank
    if rank == 5:
        return [
            ((1, 4, 5, 3, 2), (2, 3, 2, 2, 3), {"strides": ones, "padding": "SAME"}),
            ((2, 4, 5, 5, 1), (2, 2, 3, 1, 2), {"strides": (1, 2, 1, 2, 1), "padding": "VALID"}),
            (
                (1, 2, 3, 3, 4), (2, 1, 2, 2, 3),
                {"strides": (1, 1, 1, 1, 2), "padding": "SAME", "data_format": "NCDHW"},
            ),
        ]
    out = 2 if depthwise else 4
    return [
        ((2, 5, 6, 3), (3, 2, 3, out), {"strides": ones, "padding": "SAME"}),
        ((1, 7, 8, 2), (3, 3, 2, out), {"strides": (1, 2, 3, 1), "padding": "SAME"}),
        ((2, 2, 7, 6), (3, 2, 2, out), {"strides": (1, 1, 2, 2), "padding": "VALID", "data_format": "NCHW"}),
        ((1, 6, 5, 2), (2, 2, 2, out), {"strides": ones, "padding": "VALID", "dilations": (1, 2, 3, 1)}),
        (
            (1, 4, 5, 2), (2, 3, 2, out),
            {"strides": (1, 2, 1, 1), "padding": "EXPLICIT", "explicit_paddings": (0, 0, 2, 1, 0, 3, 0, 0)},
        ),
    ]


def _forward_type(rank: int, depthwise: bool) -> Callable[..., TensorType]:
    def type(input: TensorType, filter: TensorType, **attrs: Any) -> TensorType:
        layer = Layer(**attrs)
        layer.check(rank)
        for name, t in (("input", input), ("filter", filter)):
            require(t.rank in (None, rank), f"{name} has rank {t.rank}, {rank} is needed", _AXES[name])
        unknown = (None,) * rank
        return TensorType(
            input.dtype, _output_shape(input.shape or unknown, filter.shape or unknown, layer, depthwise)
        )

    return type


def _backward_type(rank: int, depthwise: bool, name: str) -> Callable[..., TensorType]:
    """The type rule of the gradient by the input or by the filter, whose shape is the operand `name`."""

    def type(first: TensorType, out_backprop: TensorType, **attrs: Any) -> TensorType:
        sizes = operand_shape(attrs.pop(name), name) or (None,) * rank
        layer = Layer(**attrs)
        layer.check(rank)
        require(len(sizes) == rank, f"{name} {sizes} has {len(sizes)} entries, {rank} are needed")
        what = "filter" if name == "input_sizes" else "input"
        for each, t in ((what, first), ("out_backprop", out_backprop)):
            require(t.rank in (None, rank), f"{each} has rank {t.rank}, {rank} is needed")
        other = first.shape or (None,) * rank
        x, w = (sizes, other) if name == "input_sizes" else (other, sizes)
        given = _output_shape(x, w, layer, depthwise)
        merge(given, out_backprop.shape, "the result of the convolution and out_backprop,")
        return TensorType(out_backprop.dtype, sizes)

    return type


def _samples_of(rank: int, depthwise: bool, defaults: Mapping[str, Any], which: str) -> list[Sample]:
    """Samples of the convolution, or of its gradient by the operand with the sizes `which`."""
    out = []
    for x, w, attrs in _samples(rank, depthwise):
        y: Any = _output_shape(x, w, Layer(**{**defaults, **attrs}), depthwise)
        match which:
            case "forward":
                out.append(Sample(real(*x), real(*w), **attrs))
            case "input_sizes":
                out.append(Sample(real(*w), real(*y), input_sizes=x, **attrs))
            case "filter_sizes":
                out.append(Sample(real(*x), real(*y), filter_sizes=w, **attrs))
    return out


def _family(rank: int, depthwise: bool, names: Sequence[str], tf: Sequence[str]) -> Family:
    """The three ops of convolutions of tensors with `rank` axes."""
    data_format = {4: "NHWC", 5: "NDHWC"}[rank]
    ones = (1,) * rank
    reference = _Reference(depthwise)
    defaults = {"explicit_paddings": (), "data_format": data_format, "dilations": ones}

    @composite(
        name=names[0], tf=tf[0], type=_forward_type(rank, depthwise), numpy=reference.forward,
        dtypes=FLOATING, samples=_samples_of(rank, depthwise, defaults, "forward"),
        grad=lambda g, y, x, w, **attrs: (
            by_input(w, g, input_sizes=sizes(x), **attrs),
            by_filter(x, g, filter_sizes=sizes(w), **attrs),
        ),
        grad_takes=(),
    )
    def forward(
        input: Any, filter: Any, *, strides: Ints, padding: str, explicit_paddings: Ints = (),
        data_format: str = data_format, dilations: Ints = ones,
    ) -> Any:
        """Cross-correlation of images [batch, *space, channels] with filters [*taps, channels, outputs]."""
        layer = Layer(strides, padding, explicit_paddings, data_format, dilations)
        return convolve(input, filter, layer, depthwise)

    @composite(
        name=names[1], tf=tf[1], type=_backward_type(rank, depthwise, "input_sizes"),
        numpy=reference.by_input, dtypes=FLOATING, operands=("input_sizes",), partial=("input_sizes",),
        samples=_samples_of(rank, depthwise, defaults, "input_sizes"),
        grad=lambda g, y, w, dy, input_sizes, **attrs: (
            by_filter(g, dy, filter_sizes=sizes(w), **attrs), forward(g, w, **attrs)
        ),
        grad_takes=(),
    )
    def by_input(
        filter: Any, out_backprop: Any, *, input_sizes: Any, strides: Ints, padding: str,
        explicit_paddings: Ints = (), data_format: str = data_format, dilations: Ints = ones,
    ) -> Any:
        """The gradient of a convolution by its input, which has shape `input_sizes`."""
        layer = Layer(strides, padding, explicit_paddings, data_format, dilations)
        return convolve_back_to_input(filter, out_backprop, input_sizes, layer, depthwise)

    @composite(
        name=names[2], tf=tf[2], type=_backward_type(rank, depthwise, "filter_sizes"),
        numpy=reference.by_filter, dtypes=FLOATING, operands=("filter_sizes",), partial=("filter_sizes",),
        samples=_samples_of(rank, depthwise, defaults, "filter_sizes"),
        grad=lambda g, y, x, dy, filter_sizes, **attrs: (
            by_input(g, dy, input_sizes=sizes(x), **attrs), forward(x, g, **attrs)
        ),
        grad_takes=(),
    )
    def by_filter(
        input: Any, out_backprop: Any, *, filter_sizes: Any, strides: Ints, padding: str,
        explicit_paddings: Ints = (), data_format: str = data_format, dilations: Ints = ones,
    ) -> Any:
        """The gradient of a convolution by its filter, which has shape `filter_sizes`."""
        layer = Layer(strides, padding, explicit_paddings, data_format, dilations)
        return convolve_back_to_filter(input, out_backprop, filter_sizes, layer, depthwise)

    return forward, by_input, by_filter


conv2d, conv2d_backprop_input, conv2d_backprop_filter = _family(
    4, False,
    ("conv2d", "conv2d_backprop_input", "conv2d_backprop_filter"),
    ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
)
conv3d, conv3d_backprop_input, conv3d_backprop_filter = _family(
    5, False,
    ("conv3d", "conv3d_backprop_input", "conv3d_backprop_filter"),
    ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"),
)
depthwise_conv2d, depthwise_conv2d_backprop_input, depthwise_conv2d_backprop_filter = _family(
    4,
    True,
    (
        "depthwise_conv2d_native",
        "depthwise_conv2d_native_backprop_input",
        "depthwise_conv2d_native_backprop_filter",
    ),
    ("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"),
)
