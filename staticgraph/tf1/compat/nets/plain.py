"""Chains of convolutions and pools that end in fully connected layers: AlexNet, VGG and OverFeat."""

from __future__ import annotations

from collections.abc import Mapping
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


class Call(NamedTuple):
    """The arguments that a user gives to any of these nets."""

    inputs: Any
    num_classes: int
    is_training: Any
    dropout_keep_prob: float
    spatial_squeeze: bool
    scope: Any


def net_of(
    default: str, stages: tuple[Stage, ...], head: Head, call: Call, own_name_scope: bool = True
) -> tuple[Any, dict[str, Any]]:
    """Build a net of a table of its layers.

    Args:
        default: The scope of the net if the call has none.
        stages: The convolutions and pools in order.
        head: The layers after them.
        call: The user's arguments.
        own_name_scope: If True, the collection of end points is named after the name scope, which differs
            between two nets that share weights; else after the variable scope.

    Returns:
        The logits, and the end points by name.
    """
    with sg.variable_scope(call.scope, default, [call.inputs]) as opened:
        collection = (opened.original_name_scope if own_name_scope else opened.name) + "_end_points"
        with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=collection):
            net = call.inputs
            for stage in stages:
                net = _applied(stage, net)
            net = _head(head, call, net)
        end_points = convert_collection_to_dict(collection)
        if call.spatial_squeeze:
            net = end_points[f"{opened.name}/fc8"] = sg.squeeze(net, [1, 2], name="fc8/squeezed")
    return net, end_points


def _applied(stage: Stage, net: Any) -> Any:
    number, depth, window, options, repeated, pool = stage
    shape = depth, [window, window]
    if repeated:
        net = repeat(net, repeated, conv2d, *shape, **options, scope=f"conv{number}")
    else:
        net = conv2d(net, *shape, **options, scope=f"conv{number}")
    return max_pool2d(net, [pool, pool], scope=f"pool{number}") if pool else net


def _head(head: Head, call: Call, net: Any) -> Any:
    window = [head.window, head.window]
    net = conv2d(net, head.depth, window, padding="VALID", scope="fc6", **head.options)
    net = dropout(net, call.dropout_keep_prob, is_training=call.is_training, scope="dropout6")
    net = conv2d(net, 4096, [1, 1], scope="fc7", **head.options)
    net = dropout(net, call.dropout_keep_prob, is_training=call.is_training, scope="dropout7")
    last = {"activation_fn": None, "normalizer_fn": None, **head.options, **head.last}
    return conv2d(net, call.num_classes, [1, 1], scope="fc8", **last)


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
