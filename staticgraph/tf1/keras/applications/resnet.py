"""Residual nets: blocks that add to what they take, https://arxiv.org/abs/1512.03385.

>>> import staticgraph as sg
>>> features = sg.keras.applications.ResNet50(False, None, input_shape=(64, 64, 3), pooling="avg")
>>> features.output_shape, features.count_params()
((None, 2048), 23587712)
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras import layers
from staticgraph.tf1.keras.applications.building import (
    Net,
    image_input,
    known_net,
    model_of,
    normalized,
    pooled,
)
from staticgraph.tf1.keras.applications.imagenet_utils import decode_predictions, preprocess_input

__all__ = ["ResNet101", "ResNet152", "ResNet50", "decode_predictions", "preprocess_input"]

_ORIGIN = "https://github.com/keras-team/keras-applications/releases/download/resnet/"
_EPSILON = 1.001e-5


def _resnet(net: Net, name: str, counts: tuple[int, ...]) -> Any:
    images = image_input(net, 224, 32)
    x = layers.ZeroPadding2D(((3, 3), (3, 3)), name="conv1_pad")(images)
    x = layers.Conv2D(64, 7, strides=2, name="conv1_conv")(x)
    x = normalized(x, "conv1_bn", epsilon=_EPSILON)
    x = layers.Activation("relu", name="conv1_relu")(x)
    x = layers.ZeroPadding2D(((1, 1), (1, 1)), name="pool1_pad")(x)
    x = layers.MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    for stack, count in enumerate(counts, 2):
        for block in range(1, count + 1):
            stride = 2 if stack > 2 and block == 1 else 1
            x = _block(x, 32 * 2 ** (stack - 1), stride, block == 1, f"conv{stack}_block{block}")
    if net.include_top:
        x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers.Dense(net.classes, activation="softmax", name="probs")(x)
    else:
        x = pooled(net, x, ("avg_pool", "max_pool"))
    part = "" if net.include_top else "_notop"
    return model_of(
        net, images, x, name, lambda: (_ORIGIN, f"{name}_weights_tf_dim_ordering_tf_kernels{part}.h5")
    )


def _block(x: Any, depth: int, stride: int, projects: bool, name: str) -> Any:
    """Return a tensor and three convolutions of it, added up."""
    shortcut = x
    if projects:
        shortcut = layers.Conv2D(4 * depth, 1, strides=stride, name=f"{name}_0_conv")(x)
        shortcut = normalized(shortcut, f"{name}_0_bn", epsilon=_EPSILON)
    for number, (filters, size, step) in enumerate(((depth, 1, stride), (depth, 3, 1), (4 * depth, 1, 1)), 1):
        padding = "same" if size == 3 else "valid"
        x = layers.Conv2D(filters, size, strides=step, padding=padding, name=f"{name}_{number}_conv")(x)
        x = normalized(x, f"{name}_{number}_bn", epsilon=_EPSILON)
        if number < 3:
            x = layers.Activation("relu", name=f"{name}_{number}_relu")(x)
    x = layers.Add(name=f"{name}_add")([shortcut, x])
    return layers.Activation("relu", name=f"{name}_out")(x)


ResNet50 = known_net(224, "ResNet50", "Return a residual net of 50 layers.")(
    lambda net: _resnet(net, "resnet50", (3, 4, 6, 3))
)
ResNet101 = known_net(224, "ResNet101", "Return a residual net of 101 layers.")(
    lambda net: _resnet(net, "resnet101", (3, 4, 23, 3))
)
ResNet152 = known_net(224, "ResNet152", "Return a residual net of 152 layers.")(
    lambda net: _resnet(net, "resnet152", (3, 8, 36, 3))
)

show_public_names(__name__)
