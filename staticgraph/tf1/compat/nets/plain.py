"""Chains of convolutions and pools that end in fully connected layers: AlexNet, VGG and OverFeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.tf1.compat.contrib.framework.arg_scope import Scope, arg_scope
from staticgraph.tf1.compat.contrib.layer_functions.convolutions import conv2d
from staticgraph.tf1.compat.contrib.layer_functions.pooling import max_pool2d
from staticgraph.tf1.compat.contrib.layer_utils import convert_collection_to_dict
from staticgraph.tf1.compat.contrib.layers import dropout, fully_connected, repeat
from staticgraph.tf1.compat.contrib.regularizers import l2_regularizer

__all__: list[str] = []

Arguments = Mapping[str, Any]
_NONE: Arguments = MappingProxyType({})


class Stage(NamedTuple):
    """Convolutions and the pool after them, if there is one.

    Attributes:
        number: The number in the names of the layers, such as `conv1` and `pool1`.
        depth: Channels of the convolutions.
        window: Height and width of their kernels.
        options: Further arguments of the convolutions.
        repeated: How many there are in a scope of their own; 0 for one without such a scope.
        pool: Height and width of the windows of the pool, 0 for none.
    """

    number: int
    depth: int
    window: int
    options: Arguments = _NONE
    repeated: int = 0
    pool: int = 0


class Head(NamedTuple):
    """The layers `fc6` to `fc8`, which are convolutions.

    Attributes:
        window: Height and width of the kernels of `fc6`.
        depth: Channels of `fc6`. `fc7` has 4,096.
        options: Arguments of all three.
        last: Further arguments of `fc8`.
    """

    window: int
    depth: int = 4096
    options: Arguments = _NONE
    last: Arguments = _NONE


_DOC = """Build {what}.

    Args:
        inputs: Images [batch, {size}, {size}, channels]; larger ones if `spatial_squeeze` is False.
        num_classes: The number of classes.
        is_training: If True, dropout drops.
        dropout_keep_prob: The probability that dropout keeps an element.
        spatial_squeeze: If True, the logits are [batch, num_classes], else [batch, 1, 1, num_classes].
        scope: The scope of the variables.

    Returns:
        The logits, and the results of all layers by name.
    """


def net_of(
    path: str, what: str, stages: tuple[Stage, ...], head: Head, size: int = 224, own_name_scope: bool = True
) -> Callable[..., tuple[Any, dict[str, Any]]]:
    """Return the function that builds a net of a table of its layers.

    Args:
        path: The module and the name of the function, which is the scope of a net that is given none.
        what: Its name in the documentation.
        stages: The convolutions and pools in order.
        head: The layers after them.
        size: Height and width of its images.
        own_name_scope: If True, the collection of end points is named after the name scope, which differs
            between two nets that share weights; else after the variable scope.
    """
    module, name = path.split(".")

    def net(
        inputs: Any,
        num_classes: int = 1000,
        is_training: Any = True,
        dropout_keep_prob: float = 0.5,
        spatial_squeeze: bool = True,
        scope: Any = name,
    ) -> tuple[Any, dict[str, Any]]:
        with sg.variable_scope(scope, name, [inputs]) as opened:
            collection = (opened.original_name_scope if own_name_scope else opened.name) + "_end_points"
            with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=collection):
                made = inputs
                for stage in stages:
                    made = _applied(stage, made)
                made = _head(head, made, num_classes, is_training, dropout_keep_prob)
            end_points = convert_collection_to_dict(collection)
            if spatial_squeeze:
                made = end_points[f"{opened.name}/fc8"] = sg.squeeze(made, [1, 2], name="fc8/squeezed")
        return made, end_points

    net.__name__ = net.__qualname__ = name
    net.__module__ = f"{__package__}.{module}"
    net.__doc__ = _DOC.format(what=what, size=size)
    net.default_image_size = size  # type: ignore[attr-defined]
    return net


def _applied(stage: Stage, net: Any) -> Any:
    number, depth, window, options, repeated, pool = stage
    shape = depth, [window, window]
    if repeated:
        net = repeat(net, repeated, conv2d, *shape, **options, scope=f"conv{number}")
    else:
        net = conv2d(net, *shape, **options, scope=f"conv{number}")
    return max_pool2d(net, [pool, pool], scope=f"pool{number}") if pool else net


def _head(head: Head, net: Any, classes: int, is_training: Any, keep_prob: float) -> Any:
    window = [head.window, head.window]
    net = conv2d(net, head.depth, window, padding="VALID", scope="fc6", **head.options)
    net = dropout(net, keep_prob, is_training=is_training, scope="dropout6")
    net = conv2d(net, 4096, [1, 1], scope="fc7", **head.options)
    net = dropout(net, keep_prob, is_training=is_training, scope="dropout7")
    last = {"activation_fn": None, "normalizer_fn": None, **head.options, **head.last}
    return conv2d(net, classes, [1, 1], scope="fc8", **last)


def plain_scope(weight_decay: float, biases_initializer: Any, pool_padding: str | None = None) -> Scope:
    """Return an `arg_scope` of these nets: ReLU, L2 losses of the weights, padded convolutions.

    Args:
        weight_decay: The factor of the L2 losses.
        biases_initializer: The initializer of the biases.
        pool_padding: The padding of pools; None leaves it alone.
    """
    decay = l2_regularizer(weight_decay)
    weighted = {"activation_fn": sg.nn.relu, "weights_regularizer": decay}
    with (
        arg_scope([conv2d, fully_connected], biases_initializer=biases_initializer, **weighted),
        arg_scope([conv2d], padding="SAME") as scope,
    ):
        if pool_padding is None:
            return scope
        with arg_scope([max_pool2d], padding=pool_padding) as padded:
            return padded


def normal_weights(stddev: float) -> Any:
    """Return an initializer of normal numbers that are cut off at two standard deviations."""
    return sg.truncated_normal_initializer(0.0, stddev)


def biased_head(window: int, depth: int = 4096) -> Head:
    """Return a head whose biases begin at 0.1, but for those of the logits."""
    options = {
        "weights_initializer": normal_weights(0.005),
        "biases_initializer": sg.constant_initializer(0.1),
    }
    return Head(window, depth, options, {"biases_initializer": sg.zeros_initializer()})
