"""Inception, third version: modules of parallel convolutions, https://arxiv.org/abs/1512.00567."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras import layers
from staticgraph.tf1.keras.applications.building import (
    ORIGIN,
    Net,
    channel_axis,
    image_input,
    known_net,
    model_of,
    normalized,
    pooled,
)
from staticgraph.tf1.keras.applications.imagenet_utils import decode_predictions
from staticgraph.tf1.keras.applications.scaled import preprocess_input

__all__ = ["InceptionV3", "decode_predictions", "preprocess_input"]


@known_net(299)
def InceptionV3(net: Net) -> Any:
    """Return an Inception net of the third version."""
    images = image_input(net, 299, 75)
    x = _conv(images, 32, 3, stride=2, padding="valid")
    x = _conv(_conv(x, 32, 3, padding="valid"), 64, 3)
    x = layers.MaxPooling2D((3, 3), strides=(2, 2))(x)
    x = _conv(_conv(x, 80, 1, padding="valid"), 192, 3, padding="valid")
    x = layers.MaxPooling2D((3, 3), strides=(2, 2))(x)
    for number, depth in enumerate((32, 64, 64)):
        x = _wide(x, depth, f"mixed{number}")
    ends = [_conv(x, 384, 3, stride=2, padding="valid")]
    ends.append(_conv(_conv(_conv(x, 64, 1), 96, 3), 96, 3, stride=2, padding="valid"))
    x = _joined([*ends, layers.MaxPooling2D((3, 3), strides=(2, 2))(x)], "mixed3")
    for number, depth in enumerate((128, 160, 160, 192), 4):
        x = _long(x, depth, f"mixed{number}")
    ends = [_conv(_conv(x, 192, 1), 320, 3, stride=2, padding="valid")]
    y = _conv(_conv(_conv(x, 192, 1), 192, (1, 7)), 192, (7, 1))
    ends.append(_conv(y, 192, 3, stride=2, padding="valid"))
    x = _joined([*ends, layers.MaxPooling2D((3, 3), strides=(2, 2))(x)], "mixed8")
    for number in range(2):
        x = _split(x, number)
    if net.include_top:
        x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers.Dense(net.classes, activation="softmax", name="predictions")(x)
    else:
        x = pooled(net, x)
    part = "" if net.include_top else "_notop"
    file = f"inception_v3_weights_tf_dim_ordering_tf_kernels{part}.h5"
    return model_of(net, images, x, "inception_v3", lambda: (f"{ORIGIN}v0.5/", file))


def _conv(x: Any, depth: int, size: Any, stride: int = 1, padding: str = "same") -> Any:
    x = layers.Conv2D(depth, size, strides=(stride, stride), padding=padding, use_bias=False)(x)
    return layers.Activation("relu")(normalized(x, None, scale=False))


def _joined(ends: list[Any], name: str | None = None) -> Any:
    return layers.Concatenate(axis=channel_axis(), name=name)(ends)


def _averaged(x: Any, depth: int) -> Any:
    return _conv(layers.AveragePooling2D((3, 3), strides=(1, 1), padding="same")(x), depth, 1)


def _wide(x: Any, depth: int, name: str) -> Any:
    """Return branches of windows of 1, 5 and 3, and a mean of `depth` channels."""
    ends = [_conv(x, 64, 1), _conv(_conv(x, 48, 1), 64, 5), _conv(_conv(_conv(x, 64, 1), 96, 3), 96, 3)]
    return _joined([*ends, _averaged(x, depth)], name)


def _long(x: Any, depth: int, name: str) -> Any:
    """Return branches of rows and columns of seven, whose inner layers have `depth` channels."""
    ends = [_conv(x, 192, 1), _conv(_conv(_conv(x, depth, 1), depth, (1, 7)), 192, (7, 1))]
    y = _conv(_conv(_conv(x, depth, 1), depth, (7, 1)), depth, (1, 7))
    ends.append(_conv(_conv(y, depth, (7, 1)), 192, (1, 7)))
    return _joined([*ends, _averaged(x, 192)], name)


def _split(x: Any, number: int) -> Any:
    """Return branches that end in a row and a column of three each."""
    first, y = _conv(x, 320, 1), _conv(x, 384, 1)
    second = _joined([_conv(y, 384, (1, 3)), _conv(y, 384, (3, 1))], f"mixed9_{number}")
    y = _conv(_conv(x, 448, 1), 384, 3)
    third = _joined([_conv(y, 384, (1, 3)), _conv(y, 384, (3, 1))])
    return _joined([first, second, third, _averaged(x, 192)], f"mixed{9 + number}")


show_public_names(__name__)
