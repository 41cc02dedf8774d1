"""`tf.contrib.slim.nets.overfeat`: OverFeat, for classification, localization and detection.

>>> from staticgraph.tf1.compat.nets.overfeat import overfeat
>>> logits, end_points = overfeat(sg.placeholder(sg.float32, [None, 231, 231, 3]), 10)
>>> logits.shape.as_list(), end_points["overfeat/pool5"].shape.as_list()
([None, 10], [None, 6, 6, 1024])
"""

from __future__ import annotations

import staticgraph as sg
from staticgraph.tf1.compat.contrib.framework.arg_scope import Scope
from staticgraph.tf1.compat.nets.plain import Stage, biased_head, net_of, plain_scope

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


overfeat = net_of(
    "overfeat.overfeat",
    "OverFeat, https://arxiv.org/abs/1312.6229",
    _STAGES,
    biased_head(6, 3072),
    size=231,
    own_name_scope=False,
)
