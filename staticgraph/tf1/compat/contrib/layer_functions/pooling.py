"""Pooling layers of `tf.contrib.layers`, over images, volumes and any number of axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.framework.arg_scope import add_arg_scope
from staticgraph.tf1.compat.contrib.layer_utils import collect_named_outputs, n_positive_integers
from staticgraph.tf1.compat.contrib.layers import channel_order


def _pooling(
    name: str, default: str, doc: str, kind: Callable[..., Any], channels_last: str = "NHWC"
) -> Callable[..., Any]:
    """The function that applies a layer of class `kind` in a scope."""

    def pooled(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str = channels_last,
        outputs_collections: Any = None,
        scope: Any = None,
    ) -> Any:
        with sg.name_scope(scope, default, [inputs]) as opened:
            layer = kind(kernel_size, stride, padding, channel_order(data_format), _scope=opened)
            outputs = layer(inputs)
        return collect_named_outputs(outputs_collections, opened, outputs)

    pooled.__name__ = pooled.__qualname__ = name
    pooled.__doc__ = doc
    return add_arg_scope(pooled)


max_pool2d = _pooling(
    "max_pool2d", "MaxPool2D", "The largest element of each window of images.", sg.layers.MaxPooling2D
)
avg_pool2d = _pooling(
    "avg_pool2d", "AvgPool2D", "The mean of each window of images.", sg.layers.AveragePooling2D
)
max_pool3d = _pooling(
    "max_pool3d",
    "MaxPool3D",
    "The largest element of each window of volumes.",
    sg.layers.MaxPooling3D,
    "NDHWC",
)
avg_pool3d = _pooling(
    "avg_pool3d", "AvgPool3D", "The mean of each window of volumes.", sg.layers.AveragePooling3D, "NDHWC"
)


@add_arg_scope
def pool(
    inputs: Any,
    kernel_size: Any,
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    stride: Any = 1,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """The mean or the largest element of each window, over one, two or three axes: see `sg.nn.pool`.

    Args:
        inputs: A tensor of rank 3, 4 or 5: batch, the axes of the windows, and channels.
        kernel_size: The sizes of a window, or one integer for all.
        pooling_type: "AVG" or "MAX".
        padding: "VALID" or "SAME".
        data_format: For example "NHWC" or "NCHW"; None for channels last.
        dilation_rate: The distances of the elements of a window.
        stride: The steps of the windows.
        outputs_collections: Collections that the result joins.
        scope: The name of the scope.

    Returns:
        A tensor of the same rank.

    Raises:
        ValueError: The rank is not known, or below 3.
    """
    with sg.name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as opened:
        inputs = sg.convert_to_tensor(inputs)
        if inputs.shape.ndims is None or inputs.shape.ndims < 3:
            raise misuse(
                ValueError, f"pool: the rank of the inputs must be 3 or more, their shape is {inputs.shape}"
            )
        axes = inputs.shape.ndims - 2
        outputs = sg.nn.pool(
            inputs,
            n_positive_integers(axes, kernel_size),
            pooling_type,
            padding,
            n_positive_integers(axes, dilation_rate),
            n_positive_integers(axes, stride),
            data_format=data_format,
        )
    return collect_named_outputs(outputs_collections, opened, outputs)
