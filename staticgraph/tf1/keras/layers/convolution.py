"""Convolutions over one, two or three axes of space."""

from __future__ import annotations

from typing import Any

from staticgraph import nn
from staticgraph.building.signatures import like, with_defaults
from staticgraph.compiler.graph.errors import misuse
from staticgraph.layers import convolution
from staticgraph.layers.adapters import with_weights
from staticgraph.layers.spatial import data_format_of, per_axis, sizes_of
from staticgraph.state.input_spec import InputSpec
from staticgraph.state.layer import known_size
from staticgraph.tf1.keras.engine.arguments import GLOROT, OF_WEIGHTS, OF_WINDOWS, resolved, weight_options
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.settings import checked_format

_SEPARABLE: dict[str, Any] = {
    f"{weight}_initializer": "glorot_uniform" for weight in ("depthwise", "pointwise")
} | {"bias_initializer": "zeros"}


class _Convolution(convolution.Convolution, Layer):
    """Common base of the convolutions over `rank` axes of space."""

    config_names: tuple[str, ...] = (*OF_WINDOWS, "dilation_rate", *OF_WEIGHTS)

    @like(convolution.Convolution, "trainable name", data_format=None, **GLOROT)
    def __init__(self, **given: Any) -> None:
        given["data_format"] = checked_format(given["data_format"])
        super().__init__(**resolved(given))
        if self.padding not in ("valid", "same", *(("causal",) if self.rank == 1 else ())):
            causal = ", or causal" * (self.rank == 1)
            raise misuse(ValueError, f"padding={given['padding']!r} is not valid or same{causal}")
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def build(self, input_shape: Any) -> None:
        channels = known_size(input_shape, self.channel_axis, self.name)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self.channel_axis: channels})
        super().build(input_shape)


class Conv1D(_Convolution, convolution.Conv1D):
    """Convolution over sequences. `padding`: "valid", "same", or "causal", which looks at the past only."""

    __init__ = with_defaults(_Convolution, data_format="channels_last")


class Conv2D(_Convolution, convolution.Conv2D):
    """Convolution over images.

    >>> import staticgraph as sg
    >>> layer = sg.keras.layers.Conv2D(16, 3, padding="same", activation="relu")
    >>> layer(sg.keras.Input([28, 28, 1])).shape.as_list()
    [None, 28, 28, 16]
    """


class Conv3D(_Convolution, convolution.Conv3D):
    """Convolution over volumes."""


class _Transposed(_Convolution, convolution.Transposed):
    """The transpose of a convolution, which enlarges by `strides`. Kernel: [..., filters, channels]."""

    config_names = ("output_padding",)

    @like(_Convolution, after={"output_padding": "padding"}, output_padding=None)
    def __init__(self, output_padding: Any, **given: Any) -> None:
        super().__init__(**given)
        own = output_padding is not None
        self.output_padding = sizes_of(output_padding, self.rank, "output_padding") if own else None


class Conv2DTranspose(_Transposed):
    """The transpose of a convolution over images."""

    rank = 2


class Conv3DTranspose(_Transposed, convolution.Conv3DTranspose):
    """The transpose of a convolution over volumes."""

    rank = 3

    __init__ = with_defaults(_Transposed, "dilation_rate", strides=(1, 1, 1))


class _Separable(_Convolution, convolution.Separable):
    """A convolution of each channel by itself, then one over all channels at each place."""

    config_names = ("depth_multiplier",)

    @like(convolution.Separable, "trainable name", strides=1, data_format=None, dilation_rate=1, **_SEPARABLE)
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)


class SeparableConv2D(_Separable, convolution.SeparableConv2D):
    """Depthwise and then pointwise convolution of images."""


class SeparableConv1D(_Separable, convolution.SeparableConv1D):
    """Depthwise and then pointwise convolution of sequences."""

    def call(self, inputs: Any) -> Any:
        if self.padding == "causal":
            raise misuse(NotImplementedError, "SeparableConv1D: padding must be valid or same")
        return super().call(inputs)


class DepthwiseConv2D(_Convolution):
    """A convolution of each channel of images by itself, with `depth_multiplier` results each."""

    rank = 2

    @with_weights(depthwise="glorot_uniform", bias="zeros")
    def __init__(
        self,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        kernel = weight_options(kwargs, "depthwise")
        where = {"strides": strides, "padding": padding, "data_format": data_format}
        super().__init__(0, kernel_size, **where, activation=activation, use_bias=use_bias, **kwargs)
        self.depth_multiplier = depth_multiplier
        self.weight_options = kernel | {"bias": self.weight_options["bias"]}

    def _build_kernels(self, channels: int) -> None:
        shape = [*self.kernel_size, channels, self.depth_multiplier]
        self.depthwise_kernel = self._weight("depthwise_kernel", shape, "depthwise")

    def _outputs(self, channels: int) -> int:
        return channels * self.depth_multiplier

    def convolve(self, inputs: Any) -> Any:
        order = data_format_of(self.data_format, 2)
        strides, rate = per_axis(self.strides, 2, order), list(self.dilation_rate)
        padding = self.padding.upper()
        return nn.depthwise_conv2d(inputs, self.depthwise_kernel, strides, padding, rate, data_format=order)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config() | {"depth_multiplier": self.depth_multiplier}
        config.pop("filters")
        return config


Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution2DTranspose, Convolution3DTranspose = Conv2DTranspose, Conv3DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
