"""`tf.contrib.slim.nets.resnet_v2`: residual nets that normalize before each convolution."""

from __future__ import annotations

from typing import Any

from staticgraph.tf1.compat.contrib.framework.arg_scope import add_arg_scope
from staticgraph.tf1.compat.nets.resnet import (
    Call,
    Unit,
    Version,
    block_of,
    bottleneck_of,
    net_of_layers,
    residual_net,
)
from staticgraph.tf1.compat.nets.resnet_utils import Block, resnet_arg_scope

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_v2",
    "resnet_v2_101",
    "resnet_v2_152",
    "resnet_v2_200",
    "resnet_v2_50",
    "resnet_v2_block",
]


@add_arg_scope
def bottleneck(
    inputs: Any,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """Apply a residual unit: three convolutions of normalized and activated inputs, added to them.

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
    unit = Unit(depth, depth_bottleneck, stride, rate, outputs_collections, scope)
    return bottleneck_of("bottleneck_v2", unit, inputs, normalized_first=True)


_VERSION = Version("resnet_v2", bottleneck, normalized_first=True)


def resnet_v2(
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
    """Build a residual net of your own blocks that normalize first, https://arxiv.org/abs/1603.05027.

    Args:
        inputs: Images [batch, height, width, channels].
        blocks: A list of `Block`s, such as `resnet_v2_block` makes.
        num_classes: The number of classes; None for features without logits.
        is_training: If True, the statistics of the batch normalize, else the moving averages.
        global_pool: If True, the mean over rows and columns is taken after the blocks.
        output_stride: How many times fewer rows than the images the last block's result has; None for the
            product of all strides.
        include_root_block: If True, a 7 by 7 convolution and a pool come first, with stride 2 each. If False,
            the inputs are not activated yet.
        reuse: If True, the variables must exist already; then give `scope` too.
        scope: The scope of the variables.

    Returns:
        The logits [batch, height, width, num_classes] or the features, and all layers' results by name.

    Raises:
        ValueError: If `output_stride` is no product of the first units' strides.

    >>> import staticgraph as sg
    >>> from staticgraph.tf1.compat.nets.resnet_v2 import resnet_v2, resnet_v2_block
    >>> images = sg.placeholder(sg.float32, [None, 65, 65, 3])
    >>> blocks = [resnet_v2_block("block1", base_depth=4, num_units=2, stride=2)]
    >>> net, end_points = resnet_v2(images, blocks, global_pool=False)
    >>> net.shape.as_list(), list(end_points)[-1]
    ([None, 8, 8, 16], 'resnet_v2/block1')
    """
    call = Call(
        inputs, num_classes, is_training, global_pool, output_stride, include_root_block, reuse, scope
    )
    return residual_net(_VERSION, blocks, call)


resnet_v2.default_image_size = 224  # type: ignore[attr-defined]


def resnet_v2_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Return a block of bottleneck units.

    Args:
        scope: The scope of the block.
        base_depth: Channels of the units' bottlenecks; their results have four times as many.
        num_units: The number of units.
        stride: The stride of the last unit. The others have stride 1.
    """
    return block_of(bottleneck, scope, base_depth, num_units, stride)


resnet_v2_50 = net_of_layers(_VERSION, 50)
resnet_v2_101 = net_of_layers(_VERSION, 101)
resnet_v2_152 = net_of_layers(_VERSION, 152)
resnet_v2_200 = net_of_layers(_VERSION, 200)
