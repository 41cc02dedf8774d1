"""Convolutions over one, two or three axes of space."""

from __future__ import annotations

from typing import Any

from staticgraph import nn
from staticgraph.arrays import array_ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.layers.convolution import sizes_of
from staticgraph.state.layer import known_size
from staticgraph.tf1.keras import activations, regularizers
from staticgraph.tf1.keras import backend as K
from staticgraph.tf1.keras.backend.nn import convolve, layout_of, transposed
from staticgraph.tf1.keras.engine.input_spec import InputSpec
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.layers.core import weight_config, weight_options
from staticgraph.tf1.keras.settings import checked_format


class _Convolution(Layer):
    """Common base of the convolutions over `rank` axes of space."""

    rank = 0
    weight_names: tuple[str, ...] = ("kernel", "bias")

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str | None = None, dilation_rate: Any = 1, activation: Any = None, use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        kernel_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        options = dict(locals()) | kwargs.pop("weight_options", {})
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.filters = filters
        self.kernel_size = sizes_of(kernel_size, self.rank, "kernel_size")
        self.strides = sizes_of(strides, self.rank, "strides")
        self.padding = padding.lower()
        if self.padding not in ("valid", "same", *(("causal",) if self.rank == 1 else ())):
            raise misuse(
                ValueError, f"padding={padding!r} is not valid or same" + (", or causal" * (self.rank == 1))
            )
        self.data_format = checked_format(data_format)
        self.dilation_rate = sizes_of(dilation_rate, self.rank, "dilation_rate")
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self._weight_options = {name: weight_options(name, options) for name in self.weight_names}
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def channel_axis(self) -> int:
        return -1 if self.data_format == "channels_last" else 1

    def _channels(self, input_shape: Any) -> int:
        channels = known_size(input_shape, self.channel_axis, self.name)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self.channel_axis: channels})
        return channels

    def _weight(self, name: str, shape: list[int]) -> Any:
        return self.add_weight(name, shape, **self._weight_options[name])

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.kernel = self._weight("kernel", [*self.kernel_size, channels, self.filters])
        self.bias = self._weight("bias", [self.filters]) if self.use_bias else None
        self.built = True

    def call(self, inputs: Any) -> Any:
        outputs = convolve(
            inputs, self.kernel, self.strides, self.padding, self.data_format, self.dilation_rate
        )
        return self._finish(outputs)

    def _finish(self, outputs: Any) -> Any:
        if self.bias is not None:
            outputs = K.bias_add(outputs, self.bias, self.data_format)
        return self.activation(outputs)

    def get_config(self) -> dict[str, Any]:
        weights: dict[str, Any] = {}
        for name, options in self._weight_options.items():
            weights |= weight_config(name, options)
        return super().get_config() | {
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "dilation_rate": self.dilation_rate,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            **weights,
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
        }


class Conv1D(_Convolution):
    """Convolution over sequences. `padding`: "valid", "same", or "causal", which looks at the past only."""

    rank = 1

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str | None = "channels_last", *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(filters, kernel_size, strides, padding, data_format, *args, **kwargs)


class Conv2D(_Convolution):
    """Convolution over images.

    >>> import staticgraph as sg
    >>> layer = sg.keras.layers.Conv2D(16, 3, padding="same", activation="relu")
    >>> layer(sg.keras.Input([28, 28, 1])).shape.as_list()
    [None, 28, 28, 16]
    """

    rank = 2


class Conv3D(_Convolution):
    """Convolution over volumes."""

    rank = 3


class _Transposed(_Convolution):
    """The transpose of a convolution, which enlarges by `strides`. Kernel: [..., filters, channels]."""

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        output_padding: Any = None, data_format: str | None = None, *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(filters, kernel_size, strides, padding, data_format, *args, **kwargs)
        given = output_padding is not None
        self.output_padding = sizes_of(output_padding, self.rank, "output_padding") if given else None

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        self.kernel = self._weight("kernel", [*self.kernel_size, self.filters, channels])
        self.bias = self._weight("bias", [self.filters]) if self.use_bias else None
        self.built = True

    def call(self, inputs: Any) -> Any:
        last = self.data_format == "channels_last"
        first = 1 if last else 2
        sizes, known = array_ops.shape(inputs), inputs.shape.as_list()
        space = [self._enlarged(sizes[first + d], d) for d in range(self.rank)]
        static = [None if n is None else self._enlarged(n, d)
                  for d, n in enumerate(known[first : first + self.rank])]  # fmt: skip
        space = [dynamic if n is None else n for n, dynamic in zip(static, space, strict=True)]
        wanted = [sizes[0], *space, self.filters] if last else [sizes[0], self.filters, *space]
        outputs = transposed(
            inputs, self.kernel, wanted, self.strides, self.padding, self.data_format, self.dilation_rate
        )
        shape = [known[0], *static, self.filters] if last else [known[0], self.filters, *static]
        outputs.set_shape(shape)
        return self._finish(outputs)

    def _enlarged(self, size: Any, axis: int) -> Any:
        """The output's size along an axis of space, for an input of `size`, a number or a tensor."""
        stride, rate = self.strides[axis], self.dilation_rate[axis]
        window = (self.kernel_size[axis] - 1) * rate + 1
        if self.output_padding is None:
            return size * stride + (max(window - stride, 0) if self.padding == "valid" else 0)
        pad = 0 if self.padding == "valid" else window // 2
        return (size - 1) * stride + window - 2 * pad + self.output_padding[axis]

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"output_padding": self.output_padding}


class Conv2DTranspose(_Transposed):
    """The transpose of a convolution over images."""

    rank = 2


class Conv3DTranspose(_Transposed):
    """The transpose of a convolution over volumes."""

    rank = 3

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = (1, 1, 1), padding: str = "valid",
        output_padding: Any = None, data_format: str | None = None, activation: Any = None,
        use_bias: bool = True, *args: Any, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, output_padding, data_format,
            kwargs.pop("dilation_rate", 1), activation, use_bias, *args, **kwargs,
        )  # fmt: skip


class _Separable(_Convolution):
    """A convolution of each channel by itself, then one over all channels at each place."""

    weight_names = ("depthwise", "pointwise", "bias")

    def __init__(
        self, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
        data_format: str | None = None, dilation_rate: Any = 1, depth_multiplier: int = 1,
        activation: Any = None, use_bias: bool = True, depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None, pointwise_regularizer: Any = None, bias_regularizer: Any = None,
        activity_regularizer: Any = None, depthwise_constraint: Any = None, pointwise_constraint: Any = None,
        bias_constraint: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            activity_regularizer=activity_regularizer, weight_options=dict(locals()), **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        deep, ones = channels * self.depth_multiplier, [1] * self.rank
        options = self._weight_options
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", [*self.kernel_size, channels, self.depth_multiplier], **options["depthwise"]
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel", [*ones, deep, self.filters], **options["pointwise"]
        )
        self.bias = self._weight("bias", [self.filters]) if self.use_bias else None
        self.built = True

    def call(self, inputs: Any) -> Any:
        return self._finish(
            K.separable_conv2d(
                inputs, self.depthwise_kernel, self.pointwise_kernel, self.strides, self.padding,
                self.data_format, self.dilation_rate,
            )
        )  # fmt: skip

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"depth_multiplier": self.depth_multiplier}


class SeparableConv2D(_Separable):
    """Depthwise and then pointwise convolution of images."""

    rank = 2


class SeparableConv1D(_Separable):
    """Depthwise and then pointwise convolution of sequences."""

    rank = 1

    def call(self, inputs: Any) -> Any:
        axis = 1 if self.data_format == "channels_last" else 2
        if self.padding == "causal":
            raise misuse(NotImplementedError, "SeparableConv1D: padding must be valid or same")
        made = K.separable_conv2d(
            array_ops.expand_dims(inputs, axis), array_ops.expand_dims(self.depthwise_kernel, 0),
            array_ops.expand_dims(self.pointwise_kernel, 0), (self.strides[0], self.strides[0]),
            self.padding, self.data_format, (1, self.dilation_rate[0]),
        )  # fmt: skip
        return self._finish(array_ops.squeeze(made, [axis]))


class DepthwiseConv2D(_Convolution):
    """A convolution of each channel of images by itself, with `depth_multiplier` results each."""

    rank = 2
    weight_names = ("depthwise", "bias")

    def __init__(
        self, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid", depth_multiplier: int = 1,
        data_format: str | None = None, activation: Any = None, use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform", bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
        depthwise_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            0, kernel_size, strides, padding, data_format, kwargs.pop("dilation_rate", 1), activation,
            use_bias, activity_regularizer=activity_regularizer, weight_options=dict(locals()), **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier

    def build(self, input_shape: Any) -> None:
        channels = self._channels(input_shape)
        shape = [*self.kernel_size, channels, self.depth_multiplier]
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", shape, **self._weight_options["depthwise"]
        )
        many = [channels * self.depth_multiplier]
        self.bias = self._weight("bias", many) if self.use_bias else None
        self.built = True

    def call(self, inputs: Any) -> Any:
        layout = layout_of(self.data_format, 2)
        steps = [1, *self.strides, 1] if layout == "NHWC" else [1, 1, *self.strides]
        made = nn.depthwise_conv2d(
            inputs, self.depthwise_kernel, steps, self.padding.upper(), list(self.dilation_rate),
            data_format=layout,
        )  # fmt: skip
        return self._finish(made)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config() | {"depth_multiplier": self.depth_multiplier}
        config.pop("filters")
        return config


Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution2DTranspose, Convolution3DTranspose = Conv2DTranspose, Conv3DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
