"""Convolution layers over one, two or three axes of space."""

from __future__ import annotations

from typing import Any

from staticgraph import nn
from staticgraph.arrays.array_ops import stack
from staticgraph.building.inputs import constant
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.nn.activation import activation_of
from staticgraph.state.initializers import Zeros
from staticgraph.state.layer import Layer, check_rank, known_size, variable_options

_FORMATS = {
    ("channels_last", 1): "NWC", ("channels_last", 2): "NHWC", ("channels_last", 3): "NDHWC",
    ("channels_first", 1): "NCW", ("channels_first", 2): "NCHW", ("channels_first", 3): "NCDHW",
}  # fmt: skip


def data_format_of(data_format: str, rank: int) -> str:
    """The order of axes in the words of `nn`: `NHWC` for channels_last over two axes."""
    key = data_format.lower()
    if (key, rank) not in _FORMATS:
        raise misuse(ValueError, f"data_format={data_format!r} is not channels_last or channels_first")
    return _FORMATS[key, rank]


def sizes_of(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """`rank` integers from one for all axes, or one each."""
    if isinstance(value, int):
        return (value,) * rank
    sizes = tuple(int(n) for n in value)
    if len(sizes) != rank:
        raise misuse(ValueError, f"{name}={value!r} must be one integer or {rank} integers")
    return sizes


class _Convolution(Layer):
    """Common base of the convolutions over `rank` axes of space."""

    rank = 0

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str = "channels_last", dilation_rate: Any = 1, activation: Any = None,
        use_bias: bool = True, kernel_initializer: Any = None, bias_initializer: Any = Zeros,
        kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        kernel_constraint: Any = None, bias_constraint: Any = None, trainable: bool = True,
        name: str | None = None, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **options)
        self.filters = int(filters)
        self.kernel_size = sizes_of(kernel_size, self.rank, "kernel_size")
        self.strides = sizes_of(strides, self.rank, "strides")
        self.padding = padding.upper()
        self.data_format = data_format
        self.format = data_format_of(data_format, self.rank)
        self.dilation_rate = sizes_of(dilation_rate, self.rank, "dilation_rate")
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_options = variable_options(kernel_initializer, kernel_regularizer, kernel_constraint)
        self.bias_options = variable_options(bias_initializer, bias_regularizer, bias_constraint)

    @property
    def channel_axis(self) -> int:
        return -1 if self.format.endswith("C") else 1

    def per_axis(self, space: tuple[int, ...]) -> list[int]:
        """One number per axis of the input: those of `space`, and 1 for batch and channels."""
        return [1, *space, 1] if self.channel_axis == -1 else [1, 1, *space]

    def build(self, input_shape: TensorShape) -> None:
        check_rank(input_shape, self.rank + 2, self.name)
        channels = known_size(input_shape, self.channel_axis, self.name)
        self.kernel = self.add_weight("kernel", self.kernel_shape(channels), **self.kernel_options)
        self.bias = self.add_weight("bias", [self.filters], **self.bias_options) if self.use_bias else None
        # TF1 leaves this constant in the graph, and seeds of later random operations count it.
        constant(self.dilation_rate, name="dilation_rate")

    def kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, channels, self.filters]

    def call(self, inputs: Tensor) -> Tensor:
        return self.finish(self.convolve(inputs))

    def convolve(self, inputs: Tensor) -> Tensor:
        raise NotImplementedError

    def finish(self, outputs: Tensor) -> Tensor:
        """Bias and activation."""
        if self.bias is not None:
            outputs = nn.bias_add(
                outputs, self.bias, data_format="NHWC" if self.channel_axis == -1 else "NCHW"
            )
        return outputs if self.activation is None else self.activation(outputs)


class Conv1D(_Convolution):
    """Convolution over one axis; `kernel` has shape [kernel_size, channels, filters]."""

    rank = 1

    def convolve(self, inputs: Tensor) -> Tensor:
        return nn.conv1d(
            inputs, self.kernel, self.per_axis(self.strides), self.padding, data_format=self.format,
            dilations=self.per_axis(self.dilation_rate),
        )  # fmt: skip


class Conv2D(_Convolution):
    """Convolution over two axes; `kernel` has shape [height, width, channels, filters].

    >>> import staticgraph as sg
    >>> layer = sg.layers.Conv2D(16, 3, padding="same")
    >>> layer(sg.placeholder(sg.float32, [None, 28, 28, 1])).shape.as_list()
    [None, 28, 28, 16]
    """

    rank = 2

    def convolve(self, inputs: Tensor) -> Tensor:
        return nn.conv2d(
            inputs, self.kernel, self.per_axis(self.strides), self.padding, data_format=self.format,
            dilations=self.per_axis(self.dilation_rate),
        )  # fmt: skip


class Conv3D(_Convolution):
    """Convolution over three axes; `kernel` has shape [depth, height, width, channels, filters]."""

    rank = 3

    def convolve(self, inputs: Tensor) -> Tensor:
        return nn.conv3d(
            inputs, self.kernel, self.per_axis(self.strides), self.padding, data_format=self.format,
            dilations=self.per_axis(self.dilation_rate),
        )  # fmt: skip


class Conv2DTranspose(_Convolution):
    """The transpose of a convolution over two axes, which enlarges by `strides`.

    `kernel` has shape [height, width, filters, channels].
    """

    rank = 2

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
        data_format: str = "channels_last", activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = None, bias_initializer: Any = Zeros, kernel_regularizer: Any = None,
        bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
        bias_constraint: Any = None, trainable: bool = True, name: str | None = None, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, data_format, 1, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, trainable, name, **options,
        )  # fmt: skip

    def kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, self.filters, channels]

    def build(self, input_shape: TensorShape) -> None:
        check_rank(input_shape, 4, self.name)
        channels = known_size(input_shape, self.channel_axis, self.name)
        self.kernel = self.add_weight("kernel", self.kernel_shape(channels), **self.kernel_options)
        self.bias = self.add_weight("bias", [self.filters], **self.bias_options) if self.use_bias else None

    def convolve(self, inputs: Tensor) -> Tensor:
        last = self.channel_axis == -1
        first = 1 if last else 2
        shape = ops.shape_of(inputs)
        batch, *size = shape[0], shape[first], shape[first + 1]
        space = [self._enlarged(n, d) for d, n in enumerate(size)]
        wanted = stack([batch, *space, self.filters] if last else [batch, self.filters, *space])
        wanted[0]  # TF1 leaves this operation in the graph, and seeds of later random operations count it
        outputs = nn.conv2d_transpose(
            inputs, self.kernel, wanted, self.per_axis(self.strides), self.padding, data_format=self.format
        )
        sizes = inputs.shape.as_list()
        known = [None if n is None else self._enlarged(n, d) for d, n in enumerate(sizes[first : first + 2])]
        outputs.set_shape([sizes[0], *known, self.filters] if last else [sizes[0], self.filters, *known])
        return outputs

    def _enlarged(self, size: Any, axis: int) -> Any:
        """The output's size along an axis of space, for an input of `size`, a number or a tensor."""
        stride = self.strides[axis]
        return (
            size * stride + max(self.kernel_size[axis] - stride, 0)
            if self.padding == "VALID"
            else size * stride
        )


class SeparableConv2D(_Convolution):
    """A convolution of each channel by itself, then a 1 by 1 convolution over all of them."""

    rank = 2

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
        data_format: str = "channels_last", dilation_rate: Any = (1, 1), depth_multiplier: int = 1,
        activation: Any = None, use_bias: bool = True, depthwise_initializer: Any = None,
        pointwise_initializer: Any = None, bias_initializer: Any = Zeros, depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        depthwise_constraint: Any = None, pointwise_constraint: Any = None, bias_constraint: Any = None,
        trainable: bool = True, name: str | None = None, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
            bias_constraint=bias_constraint, activity_regularizer=activity_regularizer, trainable=trainable,
            name=name, **options,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_options = variable_options(
            depthwise_initializer, depthwise_regularizer, depthwise_constraint
        )
        self.pointwise_options = variable_options(
            pointwise_initializer, pointwise_regularizer, pointwise_constraint
        )

    def build(self, input_shape: TensorShape) -> None:
        check_rank(input_shape, 4, self.name)
        channels = known_size(input_shape, self.channel_axis, self.name)
        deep = [*self.kernel_size, channels, self.depth_multiplier]
        wide = [1, 1, channels * self.depth_multiplier, self.filters]
        self.depthwise_kernel = self.add_weight("depthwise_kernel", deep, **self.depthwise_options)
        self.pointwise_kernel = self.add_weight("pointwise_kernel", wide, **self.pointwise_options)
        self.bias = self.add_weight("bias", [self.filters], **self.bias_options) if self.use_bias else None

    def convolve(self, inputs: Tensor) -> Tensor:
        return nn.separable_conv2d(
            inputs, self.depthwise_kernel, self.pointwise_kernel, self.per_axis(self.strides), self.padding,
            rate=self.dilation_rate, data_format=self.format,
        )  # fmt: skip


def conv1d(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
    data_format: str = "channels_last", dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True,
    kernel_initializer: Any = None, bias_initializer: Any = Zeros, kernel_regularizer: Any = None,
    bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
    bias_constraint: Any = None, trainable: bool = True, name: str | None = None, reuse: Any = None,
) -> Tensor:  # fmt: skip
    """A new `Conv1D` layer applied to `inputs` of shape [batch, length, channels].

    >>> import staticgraph as sg
    >>> sg.layers.conv1d(sg.placeholder(sg.float32, [None, 20, 3]), 8, 5).shape.as_list()
    [None, 16, 8]
    """
    return Conv1D(
        filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
        kernel_constraint, bias_constraint, trainable, name, _scope=name, _reuse=reuse,
    )(inputs)  # fmt: skip


def conv2d(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: str = "channels_last", dilation_rate: Any = (1, 1), activation: Any = None,
    use_bias: bool = True, kernel_initializer: Any = None, bias_initializer: Any = Zeros,
    kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
    kernel_constraint: Any = None, bias_constraint: Any = None, trainable: bool = True,
    name: str | None = None, reuse: Any = None,
) -> Tensor:  # fmt: skip
    """A new `Conv2D` layer applied to `inputs` of shape [batch, height, width, channels].

    `padding`: "valid", where the kernel is inside the input, or "same", `ceil(size / stride)` elements.

    >>> import staticgraph as sg
    >>> images = sg.placeholder(sg.float32, [None, 28, 28, 1])
    >>> sg.layers.conv2d(images, 32, 5, strides=2, padding="same", activation=sg.nn.relu)
    <sg.Tensor 'conv2d/Relu:0' shape=(?, 14, 14, 32) dtype=float32>
    """
    return Conv2D(
        filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
        kernel_constraint, bias_constraint, trainable, name, _scope=name, _reuse=reuse,
    )(inputs)  # fmt: skip


def conv3d(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1, 1), padding: str = "valid",
    data_format: str = "channels_last", dilation_rate: Any = (1, 1, 1), activation: Any = None,
    use_bias: bool = True, kernel_initializer: Any = None, bias_initializer: Any = Zeros,
    kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
    kernel_constraint: Any = None, bias_constraint: Any = None, trainable: bool = True,
    name: str | None = None, reuse: Any = None,
) -> Tensor:  # fmt: skip
    """A new `Conv3D` layer applied to `inputs` of shape [batch, depth, height, width, channels].

    >>> import staticgraph as sg
    >>> sg.layers.conv3d(sg.placeholder(sg.float32, [None, 4, 8, 8, 1]), 2, 3).shape.as_list()
    [None, 2, 6, 6, 2]
    """
    return Conv3D(
        filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
        kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
        kernel_constraint, bias_constraint, trainable, name, _scope=name, _reuse=reuse,
    )(inputs)  # fmt: skip


def conv2d_transpose(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: str = "channels_last", activation: Any = None, use_bias: bool = True,
    kernel_initializer: Any = None, bias_initializer: Any = Zeros, kernel_regularizer: Any = None,
    bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
    bias_constraint: Any = None, trainable: bool = True, name: str | None = None, reuse: Any = None,
) -> Tensor:  # fmt: skip
    """A new `Conv2DTranspose` layer applied to `inputs` of shape [batch, height, width, channels].

    >>> import staticgraph as sg
    >>> codes = sg.placeholder(sg.float32, [None, 7, 7, 64])
    >>> sg.layers.conv2d_transpose(codes, 32, 5, strides=2, padding="same").shape.as_list()
    [None, 14, 14, 32]
    """
    return Conv2DTranspose(
        filters, kernel_size, strides, padding, data_format, activation, use_bias, kernel_initializer,
        bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
        bias_constraint, trainable, name, _scope=name, _reuse=reuse,
    )(inputs)  # fmt: skip


def separable_conv2d(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: str = "channels_last", dilation_rate: Any = (1, 1), depth_multiplier: int = 1,
    activation: Any = None, use_bias: bool = True, depthwise_initializer: Any = None,
    pointwise_initializer: Any = None, bias_initializer: Any = Zeros, depthwise_regularizer: Any = None,
    pointwise_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
    depthwise_constraint: Any = None, pointwise_constraint: Any = None, bias_constraint: Any = None,
    trainable: bool = True, name: str | None = None, reuse: Any = None,
) -> Tensor:  # fmt: skip
    """A new `SeparableConv2D` layer applied to `inputs` of shape [batch, height, width, channels].

    >>> import staticgraph as sg
    >>> sg.layers.separable_conv2d(sg.placeholder(sg.float32, [None, 8, 8, 3]), 4, 3).shape.as_list()
    [None, 6, 6, 4]
    """
    return SeparableConv2D(
        filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation,
        use_bias, depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer,
        pointwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint,
        pointwise_constraint, bias_constraint, trainable, name, _scope=name, _reuse=reuse,
    )(inputs)  # fmt: skip
