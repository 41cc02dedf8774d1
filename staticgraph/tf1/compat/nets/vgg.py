"""`tf.contrib.slim.nets.vgg`: the nets of the Visual Geometry Group with 11, 16 and 19 layers.

>>> from staticgraph.tf1.compat.nets.vgg import vgg_16
>>> logits, end_points = vgg_16(sg.placeholder(sg.float32, [None, 224, 224, 3]), 10)
>>> logits.shape.as_list(), end_points["vgg_16/pool5"].shape.as_list()
([None, 10], [None, 7, 7, 512])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph.tf1.compat.contrib.framework.arg_scope import Scope
from staticgraph.tf1.compat.nets.plain import Head, Stage, net_of, plain_scope


def vgg_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """Return the default arguments of VGG's layers, for `slim.arg_scope`.

    Args:
        weight_decay: The factor of the L2 losses of the weights.
    """
    return plain_scope(weight_decay, sg.zeros_initializer())


def _vgg(name: str, counts: tuple[int, ...], own_name_scope: bool = True) -> Callable[..., Any]:
    """Return the net with so many convolutions before each of its five pools."""
    depths = 64, 128, 256, 512, 512
    rows = enumerate(zip(depths, counts, strict=True), 1)
    stages = tuple(Stage(number, depth, 3, repeated=count, pool=2) for number, (depth, count) in rows)
    layers = f"{sum(counts) + 3} layers, https://arxiv.org/abs/1409.1556"
    what = f"the net of the Visual Geometry Group with {layers}"
    return net_of(f"vgg.{name}", what, stages, Head(7), own_name_scope=own_name_scope)


vgg_a = _vgg("vgg_a", (1, 1, 2, 2, 2))
vgg_d = vgg_16 = _vgg("vgg_16", (2, 2, 3, 3, 3))
vgg_e = vgg_19 = _vgg("vgg_19", (2, 2, 4, 4, 4), own_name_scope=False)
