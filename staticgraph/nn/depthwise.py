"""Convolutions with a filter per channel, with TensorFlow 1's names: part of `sg.nn`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.building.framework import get_default_graph, name_scope
from staticgraph.building.signatures import renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.nn.convolutions import conv2d, layer_attrs


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """`depthwise_conv2d` with its taps `dilations` apart."""
    return ops.depthwise_conv2d_native(
        input,
        filter,
        **layer_attrs(strides, padding, data_format, dilations),
        name=name,
    )


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: str,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Each channel convolved by itself with `filter` [height, width, channels, multiplier].

    The result has channels * multiplier channels. `rate` is how far apart the taps are.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 8, 8, 3])
    >>> sg.nn.depthwise_conv2d(x, sg.ones([3, 3, 3, 2]), [1, 1, 1, 1], "SAME").shape.as_list()
    [None, 8, 8, 6]
    """
    rate = renamed("dilations", dilations, "rate", rate)
    with name_scope(name, "depthwise", [input, filter]) as scope:
        count_more(get_default_graph(), 2)  # TensorFlow's shape of the filter, and its rates
        return depthwise_conv2d_native(input, filter, strides, padding, data_format or "NHWC", rate, scope)


def depthwise_conv2d_native_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `depthwise_conv2d_native` by its input of shape `input_sizes`."""
    return ops.depthwise_conv2d_native_backprop_input(
        filter,
        out_backprop,
        input_sizes=input_sizes,
        **layer_attrs(strides, padding, data_format, dilations),
        name=name,
    )


def depthwise_conv2d_native_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `depthwise_conv2d_native` by its filter of shape `filter_sizes`."""
    return ops.depthwise_conv2d_native_backprop_filter(
        input,
        out_backprop,
        filter_sizes=filter_sizes,
        **layer_attrs(strides, padding, data_format, dilations),
        name=name,
    )


depthwise_conv2d_backprop_input = depthwise_conv2d_native_backprop_input
depthwise_conv2d_backprop_filter = depthwise_conv2d_native_backprop_filter


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Sequence[int],
    padding: str,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """`depthwise_conv2d`, then `conv2d` with `pointwise_filter` [1, 1, channels * multiplier, outputs].

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 8, 8, 3])
    >>> y = sg.nn.separable_conv2d(x, sg.ones([3, 3, 3, 2]), sg.ones([1, 1, 6, 4]), [1, 2, 2, 1], "SAME")
    >>> y.shape.as_list()
    [None, 4, 4, 4]
    """
    rate = renamed("dilations", dilations, "rate", rate)
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        data_format = data_format or "NHWC"
        count_more(get_default_graph(), 2)
        apart = depthwise_conv2d_native(
            input, depthwise_filter, strides, padding, data_format, rate, name="depthwise"
        )
        return conv2d(apart, pointwise_filter, 1, "VALID", data_format=data_format, name=scope)
