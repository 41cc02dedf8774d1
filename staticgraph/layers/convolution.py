"""Convolution layers over one, two or three axes of space."""

from __future__ import annotations

from typing import Any

from staticgraph import nn
from staticgraph.arrays.array_ops import stack
from staticgraph.building.inputs import constant
from staticgraph.building.signatures import with_defaults
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import text_of
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.layers.adapters import function_of, weight_options, with_weights
from staticgraph.layers.spatial import (
    convolve,
    convolve_separably,
    convolve_transposed,
    data_format_of,
    sizes_of,
)
from staticgraph.nn.activation import activation_of
from staticgraph.state.initializers import Zeros
from staticgraph.state.layer import Layer, check_rank, count_of, known_size


class Convolution(Layer):
    """Common base of the convolutions over `rank` axes of space."""

    rank = 0
    # TF1 leaves unused operations in the graph, and seeds of later random operations count them.
    leaves_unused = True

    @with_weights(before="trainable", kernel=None, bias=Zeros)
    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        trainable: bool = True,
        name: str | None = None,
        **options: Any,
    ) -> None:
        self.weight_options = weight_options(options, "kernel", "bias")
        super().__init__(trainable, name, **options)
        self.filters = count_of(filters, "filters")
        self.kernel_size = sizes_of(kernel_size, self.rank, "kernel_size")
        self.strides = sizes_of(strides, self.rank, "strides")
        self.padding = text_of(padding, "padding").lower()
        self.data_format = text_of(data_format, "data_format").lower()
        data_format_of(data_format, self.rank)  # which refuses any other
        self.dilation_rate = sizes_of(dilation_rate, self.rank, "dilation_rate")
        self.activation = activation_of(activation)
        self.use_bias = use_bias

    @property
    def channel_axis(self) -> int:
        return -1 if self.data_format == "channels_last" else 1

    def build(self, input_shape: Any) -> None:
        check_rank(input_shape, self.rank + 2, self.label)
        channels = known_size(input_shape, self.channel_axis, self.label)
        self._build_kernels(channels)
        self.bias = self._weight("bias", [self._outputs(channels)]) if self.use_bias else None
        self.built = True

    def _build_kernels(self, channels: int) -> None:
        """Make the weights that the input is convolved with."""
        self.kernel = self._weight("kernel", [*self.kernel_size, channels, self.filters])

    def _outputs(self, channels: int) -> int:
        """The number of channels of the output."""
        return self.filters

    def _weight(self, name: str, shape: list[int], options: str | None = None) -> Any:
        """A weight of the layer, with the options of that name."""
        return self.add_weight(name, shape, **self.weight_options[options or name])

    def call(self, inputs: Tensor) -> Tensor:
        outputs = self.convolve(inputs)
        if self.bias is not None:
            order = "NHWC" if self.channel_axis == -1 else "NCHW"
            outputs = nn.bias_add(outputs, self.bias, data_format=order)
        return outputs if self.activation is None else self.activation(outputs)

    def convolve(self, inputs: Tensor) -> Tensor:
        return convolve(inputs, self.kernel, self.strides, self.padding, self.data_format, self.dilation_rate)


class Forward(Convolution):
    """Common base of the convolutions that are not transposed or separable."""

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        if self.leaves_unused:
            constant(self.dilation_rate, name="dilation_rate")


class Conv1D(Forward):
    """Convolution over one axis; `kernel` has shape [kernel_size, channels, filters]."""

    rank = 1


class Conv2D(Forward):
    """Convolution over two axes; `kernel` has shape [height, width, channels, filters].

    >>> import staticgraph as sg
    >>> layer = sg.layers.Conv2D(16, 3, padding="same")
    >>> layer(sg.placeholder(sg.float32, [None, 28, 28, 1])).shape.as_list()
    [None, 28, 28, 16]
    """

    rank = 2


class Conv3D(Forward):
    """Convolution over three axes; `kernel` has shape [depth, height, width, channels, filters]."""

    rank = 3


class Transposed(Convolution):
    """The transpose of a convolution, which enlarges by `strides`. Kernel: [..., filters, channels]."""

    output_padding: tuple[int, ...] | None = None

    def _build_kernels(self, channels: int) -> None:
        self.kernel = self._weight("kernel", [*self.kernel_size, self.filters, channels])

    def convolve(self, inputs: Tensor) -> Tensor:
        last = self.channel_axis == -1
        first = 1 if last else 2
        shape, known = ops.shape_of(inputs), inputs.shape.as_list()
        batch, *sizes = shape[0], *(shape[first + d] for d in range(self.rank))
        space = [self._enlarged(n, d) for d, n in enumerate(sizes)]
        static = [
            None if n is None else self._enlarged(n, d)
            for d, n in enumerate(known[first : first + self.rank])
        ]
        if not self.leaves_unused:
            space = [dynamic if n is None else n for n, dynamic in zip(static, space, strict=True)]
        wanted = stack([batch, *space, self.filters] if last else [batch, self.filters, *space])
        if self.leaves_unused and self.rank == 2:
            wanted[0]
        outputs = convolve_transposed(
            inputs, self.kernel, wanted, self.strides, self.padding, self.data_format, self.dilation_rate
        )
        outputs.set_shape([known[0], *static, self.filters] if last else [known[0], self.filters, *static])
        return outputs

    def _enlarged(self, size: Any, axis: int) -> Any:
        """The output's size along an axis of space, for an input of `size`, a number or a tensor."""
        stride, rate = self.strides[axis], self.dilation_rate[axis]
        window = (self.kernel_size[axis] - 1) * rate + 1
        if self.output_padding is None:
            return size * stride + max(window - stride, 0) if self.padding == "valid" else size * stride
        pad = 0 if self.padding == "valid" else window // 2
        return (size - 1) * stride + window - 2 * pad + self.output_padding[axis]


class Conv2DTranspose(Transposed):
    """The transpose of a convolution over two axes, which enlarges by `strides`.

    `kernel` has shape [height, width, filters, channels].
    """

    rank = 2
    __init__ = with_defaults(Transposed, "dilation_rate", strides=(1, 1))


class Conv3DTranspose(Transposed):
    """The transpose of a convolution over three axes, which enlarges by `strides`.

    `kernel` has shape [depth, height, width, filters, channels].
    """

    rank = 3
    __init__ = with_defaults(Transposed, "dilation_rate", strides=(1, 1, 1))


class Separable(Convolution):
    """A convolution of each channel by itself, then one over all channels at each place."""

    @with_weights(before="trainable", depthwise=None, pointwise=None, bias=Zeros)
    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = (1, 1),
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        trainable: bool = True,
        name: str | None = None,
        **options: Any,
    ) -> None:
        kernels = weight_options(options, "depthwise", "pointwise")
        options |= {"trainable": trainable, "name": name}
        shape = filters, kernel_size, strides, padding, data_format, dilation_rate
        super().__init__(*shape, activation, use_bias, **options)
        self.depth_multiplier = depth_multiplier
        self.weight_options = {**kernels, "bias": self.weight_options["bias"]}

    def _build_kernels(self, channels: int) -> None:
        deep = [*self.kernel_size, channels, self.depth_multiplier]
        wide = [*[1] * self.rank, channels * self.depth_multiplier, self.filters]
        self.depthwise_kernel = self._weight("depthwise_kernel", deep, "depthwise")
        self.pointwise_kernel = self._weight("pointwise_kernel", wide, "pointwise")

    def convolve(self, inputs: Tensor) -> Tensor:
        kernels = self.depthwise_kernel, self.pointwise_kernel
        return convolve_separably(
            inputs, *kernels, self.strides, self.padding, self.data_format, self.dilation_rate
        )


class SeparableConv1D(Separable):
    """A convolution of each channel of sequences by itself, then one over all channels at each step."""

    rank = 1
    __init__ = with_defaults(Separable, strides=1, dilation_rate=1)


class SeparableConv2D(Separable):
    """A convolution of each channel by itself, then a 1 by 1 convolution over all of them."""

    rank = 2


@function_of(Conv1D)
def conv1d(inputs: Any, *args: Any, **options: Any) -> Any:
    """A new `Conv1D` layer applied to `inputs` of shape [batch, length, channels].

    >>> import staticgraph as sg
    >>> sg.layers.conv1d(sg.placeholder(sg.float32, [None, 20, 3]), 8, 5).shape.as_list()
    [None, 16, 8]
    """


@function_of(Conv2D, strides=(1, 1), dilation_rate=(1, 1))
def conv2d(inputs: Any, *args: Any, **options: Any) -> Any:
    """A new `Conv2D` layer applied to `inputs` of shape [batch, height, width, channels].

    `padding`: "valid", where the kernel is inside the input, or "same", `ceil(size / stride)` elements.

    >>> import staticgraph as sg
    >>> images = sg.placeholder(sg.float32, [None, 28, 28, 1])
    >>> sg.layers.conv2d(images, 32, 5, strides=2, padding="same", activation=sg.nn.relu)
    <sg.Tensor 'conv2d/Relu:0' shape=(?, 14, 14, 32) dtype=float32>
    """


@function_of(Conv3D, strides=(1, 1, 1), dilation_rate=(1, 1, 1))
def conv3d(inputs: Any, *args: Any, **options: Any) -> Any:
    """A new `Conv3D` layer applied to `inputs` of shape [batch, depth, height, width, channels].

    >>> import staticgraph as sg
    >>> sg.layers.conv3d(sg.placeholder(sg.float32, [None, 4, 8, 8, 1]), 2, 3).shape.as_list()
    [None, 2, 6, 6, 2]
    """


@function_of(Conv2DTranspose)
def conv2d_transpose(inputs: Any, *args: Any, **options: Any) -> Any:
    """A new `Conv2DTranspose` layer applied to `inputs` of shape [batch, height, width, channels].

    >>> import staticgraph as sg
    >>> codes = sg.placeholder(sg.float32, [None, 7, 7, 64])
    >>> sg.layers.conv2d_transpose(codes, 32, 5, strides=2, padding="same").shape.as_list()
    [None, 14, 14, 32]
    """


@function_of(Conv3DTranspose)
def conv3d_transpose(inputs: Any, *args: Any, **options: Any) -> Any:
    """A new `Conv3DTranspose` layer applied to `inputs` of shape [batch, depth, height, width, channels].

    >>> import staticgraph as sg
    >>> codes = sg.placeholder(sg.float32, [None, 2, 7, 7, 8])
    >>> sg.layers.conv3d_transpose(codes, 4, 3, strides=2, padding="same").shape.as_list()
    [None, 4, 14, 14, 4]
    """


@function_of(SeparableConv1D)
def separable_conv1d(inputs: Any, *args: Any, **options: Any) -> Any:
    """A new `SeparableConv1D` layer applied to `inputs` of shape [batch, length, channels].

    >>> import staticgraph as sg
    >>> sg.layers.separable_conv1d(sg.placeholder(sg.float32, [None, 8, 3]), 4, 3).shape.as_list()
    [None, 6, 4]
    """


@function_of(SeparableConv2D)
def separable_conv2d(inputs: Any, *args: Any, **options: Any) -> Any:
    """A new `SeparableConv2D` layer applied to `inputs` of shape [batch, height, width, channels].

    >>> import staticgraph as sg
    >>> sg.layers.separable_conv2d(sg.placeholder(sg.float32, [None, 8, 8, 3]), 4, 3).shape.as_list()
    [None, 6, 6, 4]
    """
