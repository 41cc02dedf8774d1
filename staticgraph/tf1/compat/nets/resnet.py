"""Residual nets of both versions: the root, the blocks, and the logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.framework.arg_scope import arg_scope
from staticgraph.tf1.compat.contrib.layer_functions.convolutions import conv2d
from staticgraph.tf1.compat.contrib.layer_functions.pooling import max_pool2d
from staticgraph.tf1.compat.contrib.layer_utils import (
    collect_named_outputs,
    convert_collection_to_dict,
    last_dimension,
)
from staticgraph.tf1.compat.contrib.layers import batch_norm, softmax
from staticgraph.tf1.compat.nets.resnet_utils import Block, conv2d_same, stack_blocks_dense, subsample

__all__: list[str] = []

LINEAR = {"activation_fn": None, "normalizer_fn": None}

# The units in each block of the nets, by the number of layers.
UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}


class Version(NamedTuple):
    """The differences between the two versions.

    Attributes:
        name: The scope of a net that is given none.
        bottleneck: The function that applies a unit.
        normalized_first: If True, units normalize and activate what they are given, and not what they make.
    """

    name: str
    bottleneck: Callable[..., Any]
    normalized_first: bool


class Call(NamedTuple):
    """The arguments that a user gives to any residual net."""

    inputs: Any
    num_classes: int | None
    is_training: Any
    global_pool: bool
    output_stride: int | None
    include_root_block: bool
    reuse: Any
    scope: Any


def residual_net(version: Version, blocks: Any, call: Call) -> tuple[Any, dict[str, Any]]:
    """Build a residual net of its blocks; see `resnet_v1` of `tf.contrib.slim.nets.resnet_v1`."""
    with sg.variable_scope(call.scope, version.name, [call.inputs], reuse=call.reuse) as opened:
        collection = opened.original_name_scope + "_end_points"
        with (
            arg_scope([conv2d, version.bottleneck, stack_blocks_dense], outputs_collections=collection),
            arg_scope([batch_norm], is_training=call.is_training),
        ):
            net: Any = call.inputs
            stride: float | None = call.output_stride
            if call.include_root_block:
                net, stride = _root(version, net, stride)
            net = stack_blocks_dense(net, blocks, stride)
            if version.normalized_first:
                net = batch_norm(net, activation_fn=sg.nn.relu, scope="postnorm")
            if call.global_pool:
                net = sg.reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if call.num_classes is not None:
                net = conv2d(net, call.num_classes, [1, 1], scope="logits", **LINEAR)
            end_points = convert_collection_to_dict(collection)
            if call.num_classes is not None:
                end_points["predictions"] = softmax(net, scope="predictions")
    return net, end_points


def _root(version: Version, net: Any, output_stride: float | None) -> tuple[Any, float | None]:
    """Return the images after the first layer and its pool, and the output stride that is left."""
    if output_stride is not None and output_stride % 4 != 0:
        raise misuse(ValueError, f"{version.name}: output_stride={output_stride:g} is not a multiple of 4")
    with arg_scope([conv2d], **(LINEAR if version.normalized_first else {})):
        net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
    net = max_pool2d(net, [3, 3], stride=2, scope="pool1")
    return net, None if output_stride is None else output_stride / 4


class Unit(NamedTuple):
    """The arguments of a bottleneck unit."""

    depth: int
    depth_bottleneck: int
    stride: int
    rate: int
    outputs_collections: Any
    scope: Any


def bottleneck_of(version: str, unit: Unit, inputs: Any, normalized_first: bool) -> Any:
    """Apply three convolutions, of windows 1, 3 and 1, and add the inputs or a projection of them.

    Args:
        version: The scope of a unit that is given none.
        unit: Its arguments.
        inputs: Images [batch, height, width, channels].
        normalized_first: If True, normalize and activate the inputs, and not the result.
    """
    with sg.variable_scope(unit.scope, version, [inputs]) as opened:
        channels = last_dimension(inputs.shape, min_rank=4)
        net, last = inputs, {"activation_fn": None}
        if normalized_first:
            net = batch_norm(inputs, activation_fn=sg.nn.relu, scope="preact")
            last = LINEAR
        if unit.depth == channels:
            shortcut = subsample(inputs, unit.stride, "shortcut")
        else:
            shortcut = conv2d(net, unit.depth, [1, 1], stride=unit.stride, scope="shortcut", **last)
        net = conv2d(net, unit.depth_bottleneck, [1, 1], stride=1, scope="conv1")
        net = conv2d_same(net, unit.depth_bottleneck, 3, unit.stride, rate=unit.rate, scope="conv2")
        net = conv2d(net, unit.depth, [1, 1], stride=1, scope="conv3", **last)
        net = shortcut + net if normalized_first else sg.nn.relu(shortcut + net)
    return collect_named_outputs(unit.outputs_collections, opened.name, net)


def block_of(
    bottleneck: Callable[..., Any], scope: str, base_depth: int, num_units: int, stride: int
) -> Block:
    """Return a block of units of the same depth, the last of which has the stride."""
    unit = {"depth": 4 * base_depth, "depth_bottleneck": base_depth, "stride": 1}
    return Block(scope, bottleneck, [*[unit] * (num_units - 1), {**unit, "stride": stride}])


_DOC = "Build the residual net of version {version} with {layers} layers; see `{name}`."


def net_of_layers(version: Version, layers: int) -> Callable[..., Any]:
    """Return the function that builds the net of 50, 101, 152 or 200 layers."""
    name = f"{version.name}_{layers}"

    def net(
        inputs: Any,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        reuse: Any = None,
        scope: Any = name,
    ) -> tuple[Any, dict[str, Any]]:
        blocks = [
            block_of(version.bottleneck, f"block{number}", 32 * 2**number, units, 1 if number == 4 else 2)
            for number, units in enumerate(UNITS[layers], 1)
        ]
        call = Call(inputs, num_classes, is_training, global_pool, output_stride, True, reuse, scope)
        return residual_net(version, blocks, call)

    net.__name__ = net.__qualname__ = name
    net.__doc__ = _DOC.format(version=version.name[-1], name=version.name, layers=layers)
    return net
