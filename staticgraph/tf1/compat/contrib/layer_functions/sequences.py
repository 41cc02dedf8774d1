"""`tf.contrib.layers` between images and sequences of columns, and with one kernel for all channels."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.sizes import size_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.state.initializers import GlorotUniform, Zeros
from staticgraph.tf1.compat.contrib.arg_scope import add_arg_scope
from staticgraph.tf1.compat.contrib.layer_functions.utils import (
    collect_named_outputs,
    last_dimension,
    two_element_tuple,
)
from staticgraph.tf1.compat.contrib.layers import opened_layer

__all__ = ["conv2d_in_plane", "convolution2d_in_plane", "images_to_sequence", "sequence_to_images"]


@add_arg_scope
def convolution2d_in_plane(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    activation_fn: Any = sg.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = GlorotUniform,
    weights_regularizer: Any = None,
    biases_initializer: Any = Zeros,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Convolve each channel of images with the same kernel, then add biases and apply an activation.

    Args:
        inputs: Images [batch, height, width, channels].
        kernel_size: Height and width of the kernel, or one integer for both.
        stride: The steps of the kernel, one or two integers.
        padding: "SAME" or "VALID".
        activation_fn: The activation, or None.
        normalizer_fn, normalizer_params, weights_initializer, weights_regularizer, biases_initializer,
            biases_regularizer, reuse, variables_collections, outputs_collections, trainable, scope: As for
            `fully_connected`.

    Returns:
        Images with as many channels.
    """
    inputs = sg.convert_to_tensor(inputs)
    down, right = two_element_tuple(stride)
    channels = last_dimension(inputs.shape, min_rank=4)
    with opened_layer(scope, "ConvInPlane", inputs, reuse, variables_collections) as opened:
        shape, kind = [*two_element_tuple(kernel_size), 1, 1], inputs.dtype
        kernel = sg.get_variable("weights", shape, kind, weights_initializer, weights_regularizer, trainable)
        kernels = sg.tile(kernel, [1, 1, channels, 1])
        outputs = sg.nn.depthwise_conv2d(inputs, kernels, [1, down, right, 1], padding)
        if normalizer_fn is not None:
            outputs = normalizer_fn(outputs, **(normalizer_params or {}))
        elif biases_initializer is not None:
            biases = sg.get_variable(
                "biases", [channels], kind, biases_initializer, biases_regularizer, trainable
            )
            outputs = sg.nn.bias_add(outputs, biases)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, opened.name, outputs)


conv2d_in_plane = convolution2d_in_plane


@add_arg_scope
def images_to_sequence(
    inputs: Any, data_format: str = "NHWC", outputs_collections: Any = None, scope: str | None = None
) -> sg.Tensor:
    """The columns of images as steps of time, each row of each image a sequence: for recurrent layers.

    Args:
        inputs: Images [batch, height, width, channels], or of another order by `data_format`.
        data_format: "NHWC" or "NCHW".
        outputs_collections: Collections that the result joins.
        scope: The name of the scope.

    Returns:
        A tensor [width, batch * height, channels].

    Raises:
        ValueError: Another data format.
    """
    if data_format not in ("NHWC", "NCHW"):
        raise misuse(ValueError, f"images_to_sequence: data_format is NHWC or NCHW, not {data_format!r}")
    with sg.name_scope(scope, "ImagesToSequence", [inputs]) as opened:
        inputs = sg.convert_to_tensor(inputs)
        if data_format == "NCHW":
            inputs = sg.transpose(inputs, [0, 2, 3, 1])
        batch, height, width, channels = (size_of(inputs, axis) for axis in range(4))
        outputs = sg.reshape(sg.transpose(inputs, [2, 0, 1, 3]), [width, batch * height, channels])
    return collect_named_outputs(outputs_collections, opened, outputs)


@add_arg_scope
def sequence_to_images(
    inputs: Any,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> sg.Tensor:
    """The inverse of `images_to_sequence`.

    Args:
        inputs: A tensor [width, batch * height, channels].
        height: The height of an image.
        output_data_format: "channels_last" or "channels_first".
        outputs_collections: Collections that the result joins.
        scope: The name of the scope.

    Returns:
        Images [batch, height, width, channels], or [batch, channels, height, width].
    """
    with sg.name_scope(scope, "SequenceToImages", [inputs]) as opened:
        inputs = sg.convert_to_tensor(inputs)
        width, rows, channels = (size_of(inputs, axis) for axis in range(3))
        rows = rows // height if isinstance(rows, int) else -1
        split = sg.reshape(inputs, [width, rows, height, channels])
        order = [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3]
        outputs = sg.transpose(split, order)
    return collect_named_outputs(outputs_collections, opened, outputs)
