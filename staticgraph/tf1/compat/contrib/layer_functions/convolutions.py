"""Convolutions of `tf.contrib.layers` over one, two and three axes, and their transposes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.framework.arg_scope import add_arg_scope
from staticgraph.tf1.compat.contrib.layers import channel_order, weighted


def _convolution(name: str, doc: str, kind: Callable[..., Any]) -> Callable[..., Any]:
    """Return the layer that convolves as `kind` does, with biases and an activation."""

    def convolve(
        inputs: Any,
        num_outputs: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: str = "SAME",
        data_format: str | None = None,
        rate: Any = 1,
        activation_fn: Any = sg.nn.relu,
        *others: Any,
        **options: Any,
    ) -> Any:
        order = channel_order(data_format)
        layer = partial(kind, num_outputs, kernel_size, stride, padding, order, rate)
        return weighted(layer, "Conv", inputs, activation_fn, *others, **options)

    return _named(convolve, name, doc)


def _transpose(name: str, doc: str, kind: Callable[..., Any], channels_last: str) -> Callable[..., Any]:
    """Return the layer that is the transpose of a convolution, in the scope `Conv..._transpose`."""

    def enlarge(
        inputs: Any,
        num_outputs: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: str = "SAME",
        data_format: str | None = channels_last,
        activation_fn: Any = sg.nn.relu,
        *others: Any,
        **options: Any,
    ) -> Any:
        order = channel_order(data_format)
        layer = partial(kind, num_outputs, kernel_size, stride, padding, order)
        return weighted(layer, name.capitalize(), inputs, activation_fn, *others, **options)

    return _named(enlarge, name, doc)


def _named(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return add_arg_scope(function)


conv1d = _convolution(
    "conv1d",
    "Convolve sequences [batch, time, channels], then add biases and apply an activation; see `conv2d`.",
    sg.layers.Conv1D,
)
conv2d = _convolution(
    "conv2d",
    """Convolve images [batch, height, width, channels], then add biases and apply an activation.

    Args:
        inputs: The images, [batch, channels, height, width] for `data_format` "NCHW".
        num_outputs: The number of channels of the result.
        kernel_size: Height and width of the kernels, or one integer for both.
        stride: The steps of the kernels, one or two integers.
        padding: "SAME" or "VALID".
        data_format: "NHWC", "NCHW", or None for "NHWC".
        rate: The distance of neighbouring elements of the kernels, one or two integers.
        activation_fn: The activation, or None.
        others, options: Those of `fully_connected`.

    Returns:
        Images with `num_outputs` channels.

    Raises:
        ValueError: If there is no such data format.

    >>> from staticgraph.tf1.compat.contrib.layer_functions.convolutions import conv2d
    >>> conv2d(sg.placeholder(sg.float32, [None, 8, 8, 3]), 16, 3, stride=2)
    <sg.Tensor 'Conv/Relu:0' shape=(?, 4, 4, 16) dtype=float32>
    """,
    sg.layers.Conv2D,
)
conv3d = _convolution(
    "conv3d",
    "Convolve volumes [batch, depth, height, width, channels], then add biases and apply an activation.",
    sg.layers.Conv3D,
)
conv2d_transpose = _transpose(
    "conv2d_transpose",
    "Enlarge images by `stride` with the transpose of a convolution, then apply an activation; see `conv2d`.",
    sg.layers.Conv2DTranspose,
    "NHWC",
)
conv3d_transpose = _transpose(
    "conv3d_transpose",
    "Enlarge volumes by `stride` with the transpose of a convolution, then apply an activation.",
    sg.layers.Conv3DTranspose,
    "NDHWC",
)

_BY_RANK = {3: conv1d, 4: conv2d, 5: conv3d}


@add_arg_scope
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Any = sg.nn.relu,
    *others: Any,
    **options: Any,
) -> Any:
    """`conv1d`, `conv2d` or `conv3d`, by the rank of the inputs, without the defaults of their scopes.

    Args:
        inputs: A tensor of rank 3, 4 or 5.
        num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn, options: As for `conv2d`.

    Returns:
        A tensor of the same rank with `num_outputs` channels.

    Raises:
        ValueError: The rank is another or not known.
    """
    inputs = sg.convert_to_tensor(inputs)
    if inputs.shape.ndims not in _BY_RANK:
        raise misuse(
            ValueError, f"convolution: inputs are of rank 3, 4 or 5, these have shape {inputs.shape}"
        )
    kind = getattr(_BY_RANK[inputs.shape.ndims], "__wrapped__")  # noqa: B009
    given = num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn
    return kind(inputs, *given, *others, **options)
