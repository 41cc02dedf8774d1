"""`tf.contrib.layers` that reduce positions or channels, or change gradients."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.sizes import size_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.framework.arg_scope import add_arg_scope
from staticgraph.tf1.compat.contrib.layer_utils import collect_named_outputs
from staticgraph.tf1.compat.contrib.layers import channel_order, opened_layer


@add_arg_scope
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: Any = None) -> Any:
    """The largest of each group of neighbouring channels.

    Args:
        inputs: A tensor.
        num_units: The number of channels of the result, which divides that of `inputs`.
        axis: The axis of the channels.
        scope: The scope of the operations.

    Returns:
        A tensor with `num_units` channels.

    Raises:
        ValueError: If `num_units` does not divide the number of channels.
    """
    with sg.variable_scope(scope, "MaxOut", [inputs]):
        inputs = sg.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        channels = inputs.shape[axis].value
        if channels is None or channels % num_units:
            raise misuse(ValueError, f"maxout(num_units): {num_units} does not divide {channels} channels")
        sizes = [size_of(inputs, each) for each in range(rank)]
        sizes[axis] = num_units
        outputs = sg.reduce_max(sg.reshape(inputs, [*sizes, channels // num_units]), -1)
        outputs.set_shape([n if isinstance(n, int) else None for n in sizes])
        return outputs


@add_arg_scope
def spatial_softmax(
    features: Any,
    temperature: Any = None,
    name: str | None = None,
    variables_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Any:
    """The expected position of each channel of images, under a softmax over all positions.

    Args:
        features: Images [batch, height, width, channels], or [batch, channels, height, width] for "NCHW".
        temperature: The first value of the variable that the features are divided by, 1 by default.
        name: The scope of the operations.
        variables_collections: Collections of the variable.
        trainable: If the variable is trained.
        data_format: "NHWC" or "NCHW".

    Returns:
        A matrix [batch, 2 * channels]: x and y of each channel, both between -1 and 1.

    Raises:
        ValueError: If there is no such data format.
    """
    last = channel_order(data_format) == "channels_last"
    features = sg.convert_to_tensor(features)
    with opened_layer(name, "spatial_softmax", features, None, variables_collections):
        if last:
            features = sg.transpose(features, [0, 3, 1, 2])
        batch, channels, height, width = (size_of(features, each) for each in range(4))
        start = sg.constant_initializer(1.0 if temperature is None else temperature)
        divisor = sg.get_variable("temperature", (), sg.float32, start, trainable=trainable)
        across, down = sg.meshgrid(
            sg.lin_space(-1.0, 1.0, num=height), sg.lin_space(-1.0, 1.0, num=width), indexing="ij"
        )
        flat = sg.reshape(features, [-1, height * width])
        attention = sg.nn.softmax(flat / divisor)
        places = [sg.reshape(each, [1, height * width]) for each in (across, down)]
        expected = [sg.reduce_sum(each * attention, [1], keepdims=True) for each in places]
        known = channels if isinstance(channels, int) else None
        made = sg.reshape(sg.concat(expected, 1), [-1, channels * 2])
        made.set_shape([batch if isinstance(batch, int) else None, None if known is None else known * 2])
        return made


def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Any:
    """`inputs`, whose gradient is `gradient_multiplier` times as large, a number or a tensor."""

    @sg.custom_gradient
    def scaled(x: Any) -> Any:
        return sg.identity(x), lambda g: g * gradient_multiplier

    return scaled(sg.convert_to_tensor(inputs))


@add_arg_scope
def dense_to_sparse(
    tensor: Any, eos_token: Any = 0, outputs_collections: Any = None, scope: Any = None
) -> Any:
    """The elements of a tensor that are not `eos_token`, as a SparseTensor of its shape."""
    with sg.variable_scope(scope, "dense_to_sparse", [tensor]) as opened:
        tensor = sg.convert_to_tensor(tensor)
        places = sg.where(sg.not_equal(tensor, sg.constant(eos_token, tensor.dtype)))
        values = sg.gather_nd(tensor, places)
        made = sg.SparseTensor(places, values, sg.shape(tensor, out_type=sg.int64))
    return collect_named_outputs(outputs_collections, opened.name, made)
