"""`tf.contrib.slim.nets.alexnet`: the second version of AlexNet, for one GPU.

>>> from staticgraph.tf1.compat.nets.alexnet import alexnet_v2
>>> logits, end_points = alexnet_v2(sg.placeholder(sg.float32, [None, 224, 224, 3]), 10)
>>> logits.shape.as_list(), end_points["alexnet_v2/pool5"].shape.as_list()
([None, 10], [None, 5, 5, 256])
"""

from __future__ import annotations

import staticgraph as sg
from staticgraph.tf1.compat.contrib.framework.arg_scope import Scope
from staticgraph.tf1.compat.nets.plain import Stage, biased_head, net_of, plain_scope

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


_WHAT = "AlexNet in its second version, https://arxiv.org/abs/1404.5997"
alexnet_v2 = net_of("alexnet.alexnet_v2", _WHAT, _STAGES, biased_head(5))
