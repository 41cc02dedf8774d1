"""`tf.contrib.slim.nets.overfeat`: OverFeat, for classification, localization and detection."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.tf1.compat.contrib.framework.arg_scope import Scope
from staticgraph.tf1.compat.nets.plain import Call, Head, Stage, net_of, normal_weights, plain_scope

__all__ = ["overfeat", "overfeat_arg_scope"]

_STAGES = (
    Stage(1, 64, 11, {"stride": 4, "padding": "VALID"}, pool=2),
    Stage(2, 256, 5, {"padding": "VALID"}, pool=2),
    Stage(3, 512, 3),
    Stage(4, 1024, 3),
    Stage(5, 1024, 3, pool=2),
)


def overfeat_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """Return the default arguments of OverFeat's layers, for `slim.arg_scope`.

    Args:
        weight_decay: The factor of the L2 losses of the weights.
    """
    return plain_scope(weight_decay, sg.zeros_initializer(), "VALID")


def overfeat(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "overfeat",
) -> tuple[Any, dict[str, Any]]:
    """Build OverFeat, https://arxiv.org/abs/1312.6229.

    Args:
        inputs: Images [batch, 231, 231, channels]; larger ones if `spatial_squeeze` is False.
        num_classes: The number of classes.
        is_training: If True, dropout drops.
        dropout_keep_prob: The probability that dropout keeps an element.
        spatial_squeeze: If True, the logits are [batch, num_classes], else [batch, 1, 1, num_classes].
        scope: The scope of the variables.

    Returns:
        The logits, and the results of all layers by name.

    >>> from staticgraph.tf1.compat.nets.overfeat import overfeat
    >>> logits, end_points = overfeat(sg.placeholder(sg.float32, [None, 231, 231, 3]), 10)
    >>> end_points["overfeat/pool5"].shape.as_list()
    [None, 6, 6, 1024]
    """
    call = Call(inputs, num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope)
    biases = sg.constant_initializer(0.1)
    options = {"weights_initializer": normal_weights(0.005), "biases_initializer": biases}
    head = Head(6, 3072, options, {"biases_initializer": sg.zeros_initializer()})
    return net_of("overfeat", _STAGES, head, call, own_name_scope=False)
