"""`tf.contrib.layers.separable_conv2d`: convolve each channel by itself, then over all channels."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.layers.spatial import data_format_of, per_axis
from staticgraph.state.initializers import GlorotUniform
from staticgraph.tf1.compat.contrib.framework.arg_scope import add_arg_scope
from staticgraph.tf1.compat.contrib.layers import channel_order, weighted


@add_arg_scope
def separable_conv2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = "NHWC",
    rate: Any = 1,
    activation_fn: Any = sg.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = GlorotUniform,
    pointwise_initializer: Any = None,
    *others: Any,
    **options: Any,
) -> Any:
    """Convolve each channel by itself, then all channels by a 1 by 1 convolution, and apply an activation.

    Args:
        inputs: Images [batch, height, width, channels].
        num_outputs: The number of channels of the result; None leaves the 1 by 1 convolution out.
        kernel_size: Height and width of the kernels, or one integer for both.
        depth_multiplier: The number of kernels for each channel.
        stride, padding, data_format, rate, activation_fn: As for `conv2d`.
        pointwise_initializer: For `pointwise_weights`; `weights_initializer` by default.
        others, options: Those of `fully_connected`.

    Returns:
        Images of `num_outputs` channels, or of channels times `depth_multiplier`.
    """
    given = normalizer_fn, normalizer_params, weights_initializer
    shape = kernel_size, stride, padding, channel_order(data_format), rate, depth_multiplier

    def layer(kernel_initializer: Any, kernel_regularizer: Any, **rest: Any) -> Any:
        rest |= {"depthwise_initializer": kernel_initializer, "depthwise_regularizer": kernel_regularizer}
        if num_outputs is None:
            return _Depthwise(1, *shape, **rest)
        rest["pointwise_initializer"] = pointwise_initializer or kernel_initializer
        return sg.layers.SeparableConv2D(
            num_outputs, *shape, pointwise_regularizer=kernel_regularizer, **rest
        )

    return weighted(layer, "SeparableConv2d", inputs, activation_fn, *given, *others, **options)


class _Depthwise(sg.layers.SeparableConv2D):
    """The first of the two convolutions alone."""

    def _build_kernels(self, channels: int) -> None:
        shape = [*self.kernel_size, channels, self.depth_multiplier]
        self.depthwise_kernel = self._weight("depthwise_kernel", shape, "depthwise")

    def _outputs(self, channels: int) -> int:
        return channels * self.depth_multiplier

    def convolve(self, inputs: sg.Tensor) -> sg.Tensor:
        order = data_format_of(self.data_format, 2)
        strides, padding = per_axis(self.strides, 2, order), self.padding.upper()
        kernel, rate = self.depthwise_kernel, list(self.dilation_rate)
        return sg.nn.depthwise_conv2d(inputs, kernel, strides, padding, rate, data_format=order)
