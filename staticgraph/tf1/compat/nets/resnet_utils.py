"""`tf.contrib.slim.nets.resnet_utils`: residual nets as blocks of units, at any density of the features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.framework.arg_scope import Scope, add_arg_scope, arg_scope
from staticgraph.tf1.compat.contrib.layer_functions.convolutions import conv2d
from staticgraph.tf1.compat.contrib.layer_functions.pooling import max_pool2d
from staticgraph.tf1.compat.contrib.layer_utils import collect_named_outputs
from staticgraph.tf1.compat.contrib.layers import batch_norm, variance_scaling_initializer
from staticgraph.tf1.compat.contrib.regularizers import l2_regularizer


class Block(NamedTuple):
    """A block of a residual net.

    Attributes:
        scope: The scope of the block.
        unit_fn: A function of a tensor, of `rate` and of a unit's arguments, that returns a tensor.
        args: A dictionary of arguments for each unit, with its `stride`.
    """

    scope: str
    unit_fn: Callable[..., Any]
    args: Sequence[dict[str, Any]]


def subsample(inputs: Any, factor: int, scope: Any = None) -> Any:
    """Return every `factor`-th row and column of images.

    Args:
        inputs: Images [batch, height, width, channels].
        factor: The distance of the rows and columns; 1 returns `inputs` itself.
        scope: The name of the operation.
    """
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(
    inputs: Any, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: Any = None
) -> Any:
    """Convolve images with as many zeros before as after them, whatever their size.

    `conv2d` with padding "SAME" adds one zero less before images of even size if `stride` is 2.

    Args:
        inputs: Images [batch, height, width, channels].
        num_outputs: The number of channels of the result.
        kernel_size: Height and width of the kernels.
        stride: The steps of the kernels.
        rate: The distance of neighbouring elements of the kernels.
        scope: The scope of the layer.

    Returns:
        Images with `num_outputs` channels.

    >>> from staticgraph.tf1.compat.nets.resnet_utils import conv2d_same
    >>> conv2d_same(sg.placeholder(sg.float32, [None, 8, 8, 3]), 16, 3, stride=2).shape.as_list()
    [None, 4, 4, 16]
    """
    shape = num_outputs, kernel_size
    if stride == 1:
        return conv2d(inputs, *shape, stride=1, rate=rate, padding="SAME", scope=scope)
    zeros = (kernel_size - 1) * rate
    around = [zeros // 2, zeros - zeros // 2]
    padded = sg.pad(inputs, [[0, 0], around, around, [0, 0]])
    return conv2d(padded, *shape, stride=stride, rate=rate, padding="VALID", scope=scope)


@add_arg_scope
def stack_blocks_dense(
    net: Any, blocks: Sequence[Block], output_stride: float | None = None, outputs_collections: Any = None
) -> Any:
    """Apply blocks one after the other, with at most `output_stride` times fewer rows than the images have.

    A unit that would go beyond this has stride 1, and the kernels after it are spread out instead.

    Args:
        net: Images [batch, height, width, channels].
        blocks: The blocks in order.
        output_stride: The product of the strides of some of the first units; None for that of all.
        outputs_collections: Collections to which the result of each block is added.

    Returns:
        The result of the last block.

    Raises:
        ValueError: If no number of units has the product `output_stride`.
    """
    reached, rate = 1, 1
    for block in blocks:
        with sg.variable_scope(block.scope, "block", [net]) as opened:
            for number, unit in enumerate(block.args, 1):
                stride = unit.get("stride", 1)
                if output_stride is not None and reached > output_stride:
                    raise _unreachable(reached, output_stride)
                with sg.variable_scope(f"unit_{number}", values=[net]):
                    if reached == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= stride
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        reached *= stride
        net = collect_named_outputs(outputs_collections, opened.name, net)
    if output_stride is not None and reached != output_stride:
        raise _unreachable(reached, output_stride)
    return net


def _unreachable(reached: int, wanted: float) -> Exception:
    return misuse(
        ValueError,
        f"stack_blocks_dense: the strides come to {reached}, and not to the output_stride {wanted:g}",
        "an output_stride is the product of the strides of the first units, such as 4 or 8",
    )


def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Scope:
    """Return the default arguments of the layers of residual nets, for `slim.arg_scope`.

    Args:
        weight_decay: The factor of the L2 losses of the weights.
        batch_norm_decay: The decay of the moving averages.
        batch_norm_epsilon: A number added to variances.
        batch_norm_scale: If True, batch normalization has a factor `gamma`.
    """
    normal = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": sg.GraphKeys.UPDATE_OPS,
    }
    convolution = {
        "weights_regularizer": l2_regularizer(weight_decay),
        "weights_initializer": variance_scaling_initializer(),
        "activation_fn": sg.nn.relu,
        "normalizer_fn": batch_norm,
        "normalizer_params": normal,
    }
    with (
        arg_scope([conv2d], **convolution),
        arg_scope([batch_norm], **normal),
        arg_scope([max_pool2d], padding="SAME") as scope,
    ):
        return scope
