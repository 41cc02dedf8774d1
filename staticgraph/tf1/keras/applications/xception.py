"""Xception: residual blocks of separable convolutions, https://arxiv.org/abs/1610.02357."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras import layers
from staticgraph.tf1.keras.applications.building import (
    ORIGIN,
    Net,
    image_input,
    known_net,
    model_of,
    normalized,
    pooled,
)
from staticgraph.tf1.keras.applications.imagenet_utils import decode_predictions
from staticgraph.tf1.keras.applications.scaled import preprocess_input

__all__ = ["Xception", "decode_predictions", "preprocess_input"]


@known_net(299)
def Xception(net: Net) -> Any:
    """Return an Xception net."""
    images = image_input(net, 299, 71)
    x = _conv(images, 32, 2, "block1_conv1")
    x = _conv(x, 64, 1, "block1_conv2")
    for number, depth in ((2, 128), (3, 256), (4, 728)):
        x = _narrowing(x, (depth, depth), f"block{number}", starts_active=number > 2)
    for number in range(5, 13):
        y = x
        for layer in range(1, 4):
            y = _separable(_active(y, f"block{number}_sepconv{layer}"), 728, f"block{number}_sepconv{layer}")
        x = layers.add([y, x])
    x = _narrowing(x, (728, 1024), "block13")
    for last, depth in ((1, 1536), (2, 2048)):
        name = f"block14_sepconv{last}"
        x = _active(_separable(x, depth, name), name)
    if net.include_top:
        x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers.Dense(net.classes, activation="softmax", name="predictions")(x)
    else:
        x = pooled(net, x)
    end = "" if net.include_top else "_notop"
    file = f"xception_weights_tf_dim_ordering_tf_kernels{end}.h5"
    return model_of(net, images, x, "xception", lambda: (f"{ORIGIN}v0.4/", file))


def _active(x: Any, name: str) -> Any:
    return layers.Activation("relu", name=f"{name}_act")(x)


def _conv(x: Any, depth: int, stride: int, name: str) -> Any:
    x = layers.Conv2D(depth, 3, strides=stride, use_bias=False, name=name)(x)
    return _active(normalized(x, f"{name}_bn"), name)


def _separable(x: Any, depth: int, name: str) -> Any:
    x = layers.SeparableConv2D(depth, 3, padding="same", use_bias=False, name=name)(x)
    return normalized(x, f"{name}_bn")


def _narrowing(x: Any, depths: tuple[int, int], name: str, starts_active: bool = True) -> Any:
    """Return two separable convolutions and a projection of `x`, added up at half the height and width."""
    shortcut = layers.Conv2D(depths[1], 1, strides=2, padding="same", use_bias=False)(x)
    shortcut = normalized(shortcut, None)
    for part, depth in enumerate(depths, 1):
        if part > 1 or starts_active:
            x = _active(x, f"{name}_sepconv{part}")
        x = _separable(x, depth, f"{name}_sepconv{part}")
    x = layers.MaxPooling2D(3, strides=2, padding="same", name=f"{name}_pool")(x)
    return layers.add([x, shortcut])


show_public_names(__name__)
