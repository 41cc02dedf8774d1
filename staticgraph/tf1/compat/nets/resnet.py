"""Residual nets of both versions: the root, the blocks, and the logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.framework.arg_scope import add_arg_scope, arg_scope
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


def version_of(number: int, paper: str, normalized_first: bool) -> list[Callable[..., Any]]:
    """Return the functions of one version of these nets.

    Args:
        number: The number of the version.
        paper: The source of it.
        normalized_first: If True, units normalize and activate what they are given, and not what they make.

    Returns:
        The functions that apply a unit, build a net, and make a block; and the nets of 50 to 200 layers.
    """
    version = f"resnet_v{number}"

    def named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        function.__name__ = function.__qualname__ = name
        function.__module__ = f"{__package__}.{version}"
        function.__doc__ = str(function.__doc__).replace("resnet_v0", version).replace("PAPER", paper)
        return function

    unit = add_arg_scope(named(_unit_of(number, normalized_first), "bottleneck"))
    block = named(_block_of(unit), f"{version}_block")
    net = named(_net_of(version, unit, normalized_first), version)
    net.default_image_size = 224  # type: ignore[attr-defined]
    deep = (named(_net_of_layers(version, net, block, layers), f"{version}_{layers}") for layers in UNITS)
    return [unit, net, block, *deep]


def _unit_of(number: int, normalized_first: bool) -> Callable[..., Any]:
    def bottleneck(
        inputs: Any,
        depth: int,
        depth_bottleneck: int,
        stride: int,
        rate: int = 1,
        outputs_collections: Any = None,
        scope: Any = None,
    ) -> Any:
        """Apply a residual unit: convolutions of windows 1, 3 and 1, added to the inputs.

        Args:
            inputs: Images [batch, height, width, channels].
            depth: Channels of the result. If `inputs` has others, they are projected by a convolution.
            depth_bottleneck: Channels of the first two convolutions.
            stride: The steps of the second convolution, and of the projection.
            rate: The distance of neighbouring elements of the second convolution's kernels.
            outputs_collections: Collections to which the result is added.
            scope: The scope of the unit.

        Returns:
            Images with `depth` channels.
        """
        with sg.variable_scope(scope, f"bottleneck_v{number}", [inputs]) as opened:
            channels = last_dimension(inputs.shape, min_rank=4)
            net, last = inputs, {"activation_fn": None}
            if normalized_first:
                net = batch_norm(inputs, activation_fn=sg.nn.relu, scope="preact")
                last = LINEAR
            if depth == channels:
                shortcut = subsample(inputs, stride, "shortcut")
            else:
                shortcut = conv2d(net, depth, [1, 1], stride=stride, scope="shortcut", **last)
            net = conv2d(net, depth_bottleneck, [1, 1], stride=1, scope="conv1")
            net = conv2d_same(net, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
            net = conv2d(net, depth, [1, 1], stride=1, scope="conv3", **last)
            net = shortcut + net if normalized_first else sg.nn.relu(shortcut + net)
        return collect_named_outputs(outputs_collections, opened.name, net)

    return bottleneck


def _block_of(unit: Callable[..., Any]) -> Callable[..., Block]:
    def block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
        """Return a block of bottleneck units.

        Args:
            scope: The scope of the block.
            base_depth: Channels of the units' bottlenecks; their results have four times as many.
            num_units: The number of units.
            stride: The stride of the last unit. The others have stride 1.
        """
        first = {"depth": 4 * base_depth, "depth_bottleneck": base_depth, "stride": 1}
        return Block(scope, unit, [*[first] * (num_units - 1), {**first, "stride": stride}])

    return block


def _net_of(version: str, unit: Callable[..., Any], normalized_first: bool) -> Callable[..., Any]:
    def net_of_blocks(
        inputs: Any,
        blocks: Any,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        include_root_block: bool = True,
        reuse: Any = None,
        scope: Any = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Build a residual net of your own blocks, PAPER.

        Args:
            inputs: Images [batch, height, width, channels].
            blocks: A list of `Block`s, such as `resnet_v0_block` makes.
            num_classes: The number of classes; None for features without logits.
            is_training: If True, the statistics of the batch normalize, else the moving averages.
            global_pool: If True, the mean over rows and columns is taken after the blocks.
            output_stride: How many times fewer rows than the images the last block's result has; None for the
                product of all strides.
            include_root_block: If True, a 7 by 7 convolution and a pool come first, with stride 2 each.
            reuse: If True, the variables must exist already; then give `scope` too.
            scope: The scope of the variables.

        Returns:
            The logits [batch, height, width, num_classes] or the features, and all layers' results by name.

        Raises:
            ValueError: If `output_stride` is no product of the first units' strides.
        """
        with sg.variable_scope(scope, version, [inputs], reuse=reuse) as opened:
            collection = opened.original_name_scope + "_end_points"
            with (
                arg_scope([conv2d, unit, stack_blocks_dense], outputs_collections=collection),
                arg_scope([batch_norm], is_training=is_training),
            ):
                net: Any = inputs
                left: float | None = output_stride
                if include_root_block:
                    net, left = _root(version, normalized_first, net, left)
                net = stack_blocks_dense(net, blocks, left)
                if normalized_first:
                    net = batch_norm(net, activation_fn=sg.nn.relu, scope="postnorm")
                if global_pool:
                    net = sg.reduce_mean(net, [1, 2], name="pool5", keepdims=True)
                if num_classes is not None:
                    net = conv2d(net, num_classes, [1, 1], scope="logits", **LINEAR)
                end_points = convert_collection_to_dict(collection)
                if num_classes is not None:
                    end_points["predictions"] = softmax(net, scope="predictions")
        return net, end_points

    return net_of_blocks


def _net_of_layers(
    version: str, build: Callable[..., Any], block: Callable[..., Block], layers: int
) -> Callable[..., Any]:
    def net(
        inputs: Any,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        reuse: Any = None,
        scope: Any = f"{version}_{layers}",
    ) -> tuple[Any, dict[str, Any]]:
        blocks = [
            block(f"block{number}", 32 * 2**number, units, 1 if number == 4 else 2)
            for number, units in enumerate(UNITS[layers], 1)
        ]
        rest = is_training, global_pool, output_stride, True, reuse, scope
        return build(inputs, blocks, num_classes, *rest)

    net.__doc__ = f"Build the residual net of version {version[-1]} with {layers} layers; see `{version}`."
    return net


def _root(version: str, linear: bool, net: Any, output_stride: float | None) -> tuple[Any, float | None]:
    """Return the images after the first layer and its pool, and the output stride that is left."""
    if output_stride is not None and output_stride % 4 != 0:
        raise misuse(ValueError, f"{version}: output_stride={output_stride:g} is not a multiple of 4")
    with arg_scope([conv2d], **(LINEAR if linear else {})):
        net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
    net = max_pool2d(net, [3, 3], stride=2, scope="pool1")
    return net, None if output_stride is None else output_stride / 4
