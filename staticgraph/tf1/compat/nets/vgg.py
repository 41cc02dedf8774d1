"""`tf.contrib.slim.nets.vgg`: the nets of the Visual Geometry Group with 11, 16 and 19 layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.tf1.compat.contrib.framework.arg_scope import Scope
from staticgraph.tf1.compat.nets.plain import Call, Head, Stage, net_of, plain_scope

__all__ = ["vgg_16", "vgg_19", "vgg_a", "vgg_arg_scope", "vgg_d", "vgg_e"]


def vgg_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """Return the default arguments of VGG's layers, for `slim.arg_scope`.

    Args:
        weight_decay: The factor of the L2 losses of the weights.
    """
    return plain_scope(weight_decay, sg.zeros_initializer())


_DOC = """Build the net of the Visual Geometry Group with {layers} layers, https://arxiv.org/abs/1409.1556.

    Args:
        inputs: Images [batch, 224, 224, channels]; larger ones if `spatial_squeeze` is False.
        num_classes: The number of classes.
        is_training: If True, dropout drops.
        dropout_keep_prob: The probability that dropout keeps an element.
        spatial_squeeze: If True, the logits are [batch, num_classes], else [batch, 1, 1, num_classes].
        scope: The scope of the variables.

    Returns:
        The logits, and the results of all layers by name.

    >>> from staticgraph.tf1.compat.nets import vgg
    >>> logits, end_points = vgg.{name}(sg.placeholder(sg.float32, [None, 224, 224, 3]), 10)
    >>> end_points["{name}/pool5"].shape.as_list()
    [None, 7, 7, 512]
    """


def _vgg(name: str, counts: tuple[int, ...], own_name_scope: bool = True) -> Callable[..., Any]:
    """Return the net with so many convolutions before each of its five pools."""
    depths = 64, 128, 256, 512, 512
    rows = enumerate(zip(depths, counts, strict=True), 1)
    stages = tuple(Stage(number, depth, 3, repeated=count, pool=2) for number, (depth, count) in rows)

    def net(
        inputs: Any,
        num_classes: int = 1000,
        is_training: Any = True,
        dropout_keep_prob: float = 0.5,
        spatial_squeeze: bool = True,
        scope: Any = name,
    ) -> tuple[Any, dict[str, Any]]:
        call = Call(inputs, num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope)
        return net_of(name, stages, Head(7), call, own_name_scope)

    net.__name__ = net.__qualname__ = name
    net.__doc__ = _DOC.format(name=name, layers=sum(counts) + 3)
    net.default_image_size = 224  # type: ignore[attr-defined]
    return net


vgg_a = _vgg("vgg_a", (1, 1, 2, 2, 2))
vgg_d = vgg_16 = _vgg("vgg_16", (2, 2, 3, 3, 3))
vgg_e = vgg_19 = _vgg("vgg_19", (2, 2, 4, 4, 4), own_name_scope=False)
