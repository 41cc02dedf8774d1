"""Residual nets, second version: normalized before each convolution, https://arxiv.org/abs/1603.05027."""

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
from staticgraph.tf1.keras.applications.imagenet_utils import decode_predictions
from staticgraph.tf1.keras.applications.scaled import preprocess_input

__all__ = ["ResNet101V2", "ResNet152V2", "ResNet50V2", "decode_predictions", "preprocess_input"]

_ORIGIN = "https://github.com/keras-team/keras-applications/releases/download/resnet/"


def _resnet(net: Net, name: str, counts: tuple[int, ...]) -> Any:
    images = image_input(net, 224, 32)
    x = layers.ZeroPadding2D(((3, 3), (3, 3)), name="conv1_pad")(images)
    x = layers.Conv2D(64, 7, strides=2, name="conv1_conv")(x)
    x = layers.ZeroPadding2D(((1, 1), (1, 1)), name="pool1_pad")(x)
    x = layers.MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    for stack, count in enumerate(counts, 2):
        for block in range(1, count + 1):
            stride = 2 if block == count and stack < len(counts) + 1 else 1
            x = _block(x, 32 * 2 ** (stack - 1), stride, block == 1, f"conv{stack}_block{block}")
    x = _active(x, "post")
    if net.include_top:
        x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers.Dense(net.classes, activation="softmax", name="probs")(x)
    else:
        x = pooled(net, x, ("avg_pool", "max_pool"))
    part = "" if net.include_top else "_notop"
    file = f"{name}_weights_tf_dim_ordering_tf_kernels{part}.h5"
    return model_of(net, images, x, name, lambda: (_ORIGIN, file))


def _active(x: Any, name: str) -> Any:
    x = normalized(x, f"{name}_bn", epsilon=1.001e-5)
    return layers.Activation("relu", name=f"{name}_relu")(x)


def _block(x: Any, depth: int, stride: int, projects: bool, name: str) -> Any:
    """Return `x` and three convolutions of it, added up."""
    y = _active(x, f"{name}_preact")
    if projects:
        x = layers.Conv2D(4 * depth, 1, strides=stride, name=f"{name}_0_conv")(y)
    elif stride > 1:
        x = layers.MaxPooling2D(1, strides=stride)(x)
    y = layers.Conv2D(depth, 1, use_bias=False, name=f"{name}_1_conv")(y)
    y = layers.ZeroPadding2D(((1, 1), (1, 1)), name=f"{name}_2_pad")(_active(y, f"{name}_1"))
    y = layers.Conv2D(depth, 3, strides=stride, use_bias=False, name=f"{name}_2_conv")(y)
    y = layers.Conv2D(4 * depth, 1, name=f"{name}_3_conv")(_active(y, f"{name}_2"))
    return layers.Add(name=f"{name}_out")([x, y])


ResNet50V2 = known_net(224, "ResNet50V2", "Return a residual net of 50 layers, second version.")(
    lambda net: _resnet(net, "resnet50v2", (3, 4, 6, 3))
)
ResNet101V2 = known_net(224, "ResNet101V2", "Return a residual net of 101 layers, second version.")(
    lambda net: _resnet(net, "resnet101v2", (3, 4, 23, 3))
)
ResNet152V2 = known_net(224, "ResNet152V2", "Return a residual net of 152 layers, second version.")(
    lambda net: _resnet(net, "resnet152v2", (3, 8, 36, 3))
)

show_public_names(__name__)
