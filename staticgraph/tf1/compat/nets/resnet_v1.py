"""`tf.contrib.slim.nets.resnet_v1`: residual nets that normalize after each convolution.

>>> import staticgraph as sg
>>> from staticgraph.tf1.compat.nets.resnet_v1 import resnet_v1, resnet_v1_block
>>> images = sg.placeholder(sg.float32, [None, 65, 65, 3])
>>> blocks = [resnet_v1_block("block1", base_depth=4, num_units=2, stride=2)]
>>> net, end_points = resnet_v1(images, blocks, global_pool=False)
>>> net.shape.as_list(), list(end_points)[-1]
([None, 8, 8, 16], 'resnet_v1/block1')
"""

from __future__ import annotations

from staticgraph.tf1.compat.nets.resnet import version_of
from staticgraph.tf1.compat.nets.resnet_utils import resnet_arg_scope

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_v1",
    "resnet_v1_101",
    "resnet_v1_152",
    "resnet_v1_200",
    "resnet_v1_50",
    "resnet_v1_block",
]

bottleneck, resnet_v1, resnet_v1_block, *_layers = version_of(
    1, "https://arxiv.org/abs/1512.03385", normalized_first=False
)
resnet_v1_50, resnet_v1_101, resnet_v1_152, resnet_v1_200 = _layers
