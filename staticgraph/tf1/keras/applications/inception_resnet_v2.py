"""Inception with residual blocks, https://arxiv.org/abs/1602.07261."""

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

__all__ = ["InceptionResNetV2", "decode_predictions", "preprocess_input"]

# Of each kind of residual block: its branches, a list of (depth, size) each.
_BRANCHES: dict[str, list[list[tuple[int, Any]]]] = {
    "block35": [[(32, 1)], [(32, 1), (32, 3)], [(32, 1), (48, 3), (64, 3)]],
    "block17": [[(192, 1)], [(128, 1), (160, (1, 7)), (192, (7, 1))]],
    "block8": [[(192, 1)], [(192, 1), (224, (1, 3)), (256, (3, 1))]],
}


@known_net(299)
def InceptionResNetV2(net: Net) -> Any:
    """Return an Inception net with residual blocks, second version."""
    images = image_input(net, 299, 75)
    x = _conv(images, 32, 3, stride=2, padding="valid")
    x = _conv(_conv(x, 32, 3, padding="valid"), 64, 3)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = _conv(_conv(x, 80, 1, padding="valid"), 192, 3, padding="valid")
    x = layers.MaxPooling2D(3, strides=2)(x)
    ends = [_chain(x, branch) for branch in ([(96, 1)], [(48, 1), (64, 5)], [(64, 1), (96, 3), (96, 3)])]
    ends.append(_conv(layers.AveragePooling2D(3, strides=1, padding="same")(x), 64, 1))
    x = _joined(ends, "mixed_5b")
    for number in range(1, 11):
        x = _residual(x, "block35", number, 0.17)
    x = _narrowed(x, [[(384, 3)], [(256, 1), (256, 3), (384, 3)]], "mixed_6a")
    for number in range(1, 21):
        x = _residual(x, "block17", number, 0.1)
    x = _narrowed(x, [[(256, 1), (384, 3)], [(256, 1), (288, 3)], [(256, 1), (288, 3), (320, 3)]], "mixed_7a")
    for number in range(1, 10):
        x = _residual(x, "block8", number, 0.2)
    x = _residual(x, "block8", 10, 1.0, is_last=True)
    x = _conv(x, 1536, 1, name="conv_7b")
    if net.include_top:
        x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers.Dense(net.classes, activation="softmax", name="predictions")(x)
    else:
        x = pooled(net, x)
    part = "" if net.include_top else "_notop"
    file = f"inception_resnet_v2_weights_tf_dim_ordering_tf_kernels{part}.h5"
    return model_of(net, images, x, "inception_resnet_v2", lambda: (f"{ORIGIN}v0.7/", file))


def _conv(
    x: Any, depth: int, size: Any, stride: int = 1, padding: str = "same", name: str | None = None
) -> Any:
    x = layers.Conv2D(depth, size, strides=stride, padding=padding, use_bias=False, name=name)(x)
    x = normalized(x, name and f"{name}_bn", scale=False)
    return layers.Activation("relu", name=name and f"{name}_ac")(x)


def _chain(x: Any, branch: list[tuple[int, Any]]) -> Any:
    for depth, size in branch:
        x = _conv(x, depth, size)
    return x


def _joined(ends: list[Any], name: str) -> Any:
    return layers.Concatenate(axis=channel_axis(), name=name)(ends)


def _narrowed(x: Any, branches: list[list[tuple[int, Any]]], name: str) -> Any:
    """Return branches that end at half the height and width, and the largest elements there."""
    ends = []
    for *before, (depth, size) in branches:
        ends.append(_conv(_chain(x, before), depth, size, stride=2, padding="valid"))
    return _joined([*ends, layers.MaxPooling2D(3, strides=2)(x)], name)


def _residual(x: Any, kind: str, number: int, scale: float, is_last: bool = False) -> Any:
    """Return `x` and `scale` times its branches, added up."""
    name = f"{kind}_{number}"
    mixed = _joined([_chain(x, branch) for branch in _BRANCHES[kind]], f"{name}_mixed")
    y = layers.Conv2D(x.shape.as_list()[channel_axis()], 1, padding="same", name=f"{name}_conv")(mixed)
    x = layers.Lambda(_scaled_sum, arguments={"scale": scale}, name=name)([x, y])
    return x if is_last else layers.Activation("relu", name=f"{name}_ac")(x)


def _scaled_sum(pair: list[Any], scale: float) -> Any:
    return pair[0] + pair[1] * scale


show_public_names(__name__)
