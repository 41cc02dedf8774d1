"""`tf.contrib.layers` that normalize each example by itself: `instance_norm` and `group_norm`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import staticgraph as sg
from staticgraph.building.sizes import size_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.nn.normalization import standardized
from staticgraph.state.initializers import Ones, Zeros
from staticgraph.tf1.compat.contrib.framework.arg_scope import add_arg_scope
from staticgraph.tf1.compat.contrib.layer_utils import collect_named_outputs
from staticgraph.tf1.compat.contrib.layers import opened_layer


@add_arg_scope
def instance_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """Normalize each channel of each example over its positions, then scale and shift it by weights.

    Args:
        inputs: A tensor [batch, ..., channels], or [batch, channels, ...] with data_format="NCHW".
        center: If True, a variable `beta` is added.
        scale: If True, a variable `gamma` is a factor.
        epsilon: Added to the variance.
        activation_fn: Applied to the result.
        param_initializers: A dict of initializers for "beta" and "gamma".
        reuse, variables_collections, outputs_collections, trainable, scope: As for the other layers.
        data_format: "NHWC" or "NCHW".

    Returns:
        A tensor of the shape of `inputs`.

    Raises:
        ValueError: If the rank or the number of channels is not known, or for another data format.
    """
    inputs = sg.convert_to_tensor(inputs)
    if data_format not in ("NHWC", "NCHW"):
        raise misuse(ValueError, f"instance_norm(data_format): {data_format!r} is neither NHWC nor NCHW")
    rank = _rank("instance_norm", inputs)
    axis = 1 if data_format == "NCHW" else rank - 1
    along = [d for d in range(1, rank) if d != axis]
    broadcast = None if axis == rank - 1 else [-1 if d == axis else 1 for d in range(rank)]
    with opened_layer(scope, "InstanceNorm", inputs, reuse, variables_collections) as opened:
        made = partial(_parameter, inputs, axis, param_initializers or {}, trainable, broadcast)
        beta, gamma = made("beta", Zeros, center), made("gamma", Ones, scale)
        outputs = standardized(inputs, along, beta, gamma, epsilon, "instancenorm")
        outputs = outputs if activation_fn is None else activation_fn(outputs)
    return collect_named_outputs(outputs_collections, opened.name, outputs)


@add_arg_scope
def group_norm(
    inputs: Any,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    mean_close_to_zero: bool = False,
) -> Any:
    """Normalize each group of channels of each example over some axes, then scale and shift each channel.

    Args:
        inputs: A tensor whose rank, and sizes along the channels and `reduction_axes`, are known.
        groups: The number of groups, which divides that of the channels.
        channels_axis: The axis of the channels.
        reduction_axes: The axes to normalize over besides the channels of a group.
        center, scale, epsilon, activation_fn, param_initializers: As for `instance_norm`.
        reuse, variables_collections, outputs_collections, trainable, scope: As for the other layers.
        mean_close_to_zero: Accepted; both ways to compute the variance are stable here.

    Returns:
        A tensor of the shape of `inputs`.

    Raises:
        ValueError: If axes are out of range or overlap, a size is not known, or `groups` does not divide the
            number of channels.
    """
    inputs = sg.convert_to_tensor(inputs)
    rank = _rank("group_norm", inputs)
    if not all(-rank <= axis < rank for axis in (channels_axis, *reduction_axes)):
        raise misuse(ValueError, f"group_norm: an axis is out of range for inputs of shape {inputs.shape}")
    axis = channels_axis % rank
    reduced = [each % rank for each in reduction_axes]
    if axis in reduced:
        raise misuse(ValueError, "group_norm: reduction_axes must not have the axis of the channels")
    known = inputs.shape.as_list()
    if any(known[each] is None for each in (axis, *reduced)):
        raise misuse(ValueError, f"group_norm: a size that must be known is not, in {inputs.shape}")
    channels = known[axis]
    if groups > channels or channels % groups:
        raise misuse(ValueError, f"group_norm: {groups} groups do not divide {channels} channels")
    sizes = [size_of(inputs, each) for each in range(rank)]
    split = [groups, channels // groups]
    grouped = sg.reshape(inputs, [*sizes[:axis], *split, *sizes[axis + 1 :]])
    over = [axis + 1, *(each + 1 if each > axis else each for each in reduced)]
    broadcast = [*[1] * axis, *split, *[1] * (rank - axis - 1)]
    with opened_layer(scope, "GroupNorm", inputs, reuse, variables_collections) as opened:
        made = partial(_parameter, inputs, axis, param_initializers or {}, trainable, broadcast)
        beta, gamma = made("beta", Zeros, center), made("gamma", Ones, scale)
        outputs = standardized(grouped, over, beta, gamma, epsilon)
        outputs = sg.reshape(outputs, sizes)
        count_more(inputs.graph, 3 if inputs.shape.is_fully_defined() else 2)  # shapes, and parts of them
        outputs.set_shape(inputs.shape)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
    return collect_named_outputs(outputs_collections, opened.name, outputs)


def _rank(what: str, inputs: sg.Tensor) -> int:
    rank: int | None = inputs.shape.ndims
    if rank is None:
        raise misuse(ValueError, f"{what}: the rank of {inputs.name} must be known", "call set_shape")
    return rank


def _parameter(
    inputs: sg.Tensor,
    axis: int,
    initializers: dict[str, Any],
    trainable: bool,
    broadcast: list[int] | None,
    name: str,
    initializer: Any,
    wanted: bool,
) -> Any:
    """Return the variable of that name with a number for each channel, in the shape `broadcast`; or None."""
    if not wanted:
        return None
    size = inputs.shape[axis].value
    if size is None:
        raise misuse(ValueError, f"the number of channels of {inputs.name} must be known", "call set_shape")
    start = initializers.get(name, initializer)
    variable = sg.get_variable(name, [size], inputs.dtype, start, trainable=trainable)
    return variable if broadcast is None else sg.reshape(variable, broadcast)
