"""`tf.contrib.slim.nets.resnet_v2`: residual nets that normalize before each convolution.

>>> import staticgraph as sg
>>> from staticgraph.tf1.compat.nets.resnet_v2 import resnet_v2, resnet_v2_block
>>> images = sg.placeholder(sg.float32, [None, 65, 65, 3])
>>> blocks = [resnet_v2_block("block1", base_depth=4, num_units=2, stride=2)]
>>> net, end_points = resnet_v2(images, blocks, global_pool=False)
>>> net.shape.as_list(), list(end_points)[-1]
([None, 8, 8, 16], 'resnet_v2/block1')
"""

from __future__ import annotations

from staticgraph.tf1.compat.nets.resnet import version_of
from staticgraph.tf1.compat.nets.resnet_utils import resnet_arg_scope

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_v2",
    "resnet_v2_101",
    "resnet_v2_152",
    "resnet_v2_200",
    "resnet_v2_50",
    "resnet_v2_block",
]

bottleneck, resnet_v2, resnet_v2_block, *_layers = version_of(
    2, "https://arxiv.org/abs/1603.05027", normalized_first=True
)
resnet_v2_50, resnet_v2_101, resnet_v2_152, resnet_v2_200 = _layers
