"""`tf.contrib.slim.nets.alexnet`: the second version of AlexNet, for one GPU."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.tf1.compat.contrib.framework.arg_scope import Scope
from staticgraph.tf1.compat.nets.plain import Call, Head, Stage, net_of, normal_weights, plain_scope

__all__ = ["alexnet_v2", "alexnet_v2_arg_scope"]

_STAGES = (
    Stage(1, 64, 11, {"stride": 4, "padding": "VALID"}, pool=3),
    Stage(2, 192, 5, pool=3),
    Stage(3, 384, 3),
    Stage(4, 384, 3),
    Stage(5, 256, 3, pool=3),
)


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """Return the default arguments of AlexNet's layers, for `slim.arg_scope`.

    Args:
        weight_decay: The factor of the L2 losses of the weights.
    """
    return plain_scope(weight_decay, sg.constant_initializer(0.1), "VALID")


def alexnet_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "alexnet_v2",
) -> tuple[Any, dict[str, Any]]:
    """Build AlexNet in its second version, https://arxiv.org/abs/1404.5997.

    Args:
        inputs: Images [batch, 224, 224, channels]; larger ones if `spatial_squeeze` is False.
        num_classes: The number of classes.
        is_training: If True, dropout drops.
        dropout_keep_prob: The probability that dropout keeps an element.
        spatial_squeeze: If True, the logits are [batch, num_classes], else [batch, 1, 1, num_classes].
        scope: The scope of the variables.

    Returns:
        The logits, and the results of all layers by name.

    >>> from staticgraph.tf1.compat.nets.alexnet import alexnet_v2
    >>> logits, end_points = alexnet_v2(sg.placeholder(sg.float32, [None, 224, 224, 3]), 10)
    >>> logits.shape
    TensorShape([Dimension(None), Dimension(10)])
    """
    call = Call(inputs, num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope)
    biases = sg.constant_initializer(0.1)
    options = {"weights_initializer": normal_weights(0.005), "biases_initializer": biases}
    head = Head(5, 4096, options, {"biases_initializer": sg.zeros_initializer()})
    return net_of("alexnet_v2", _STAGES, head, call)


alexnet_v2.default_image_size = 224  # type: ignore[attr-defined]
