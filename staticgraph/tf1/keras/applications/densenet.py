"""Dense nets: each layer sees the results of all before it, https://arxiv.org/abs/1608.06993."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras import layers
from staticgraph.tf1.keras.applications.building import (
    Net,
    channel_axis,
    image_input,
    known_net,
    model_of,
    normalized,
    pooled,
)
from staticgraph.tf1.keras.applications.imagenet_utils import decode_predictions
from staticgraph.tf1.keras.applications.scaled import preprocess_by_deviations as preprocess_input

__all__ = ["DenseNet121", "DenseNet169", "DenseNet201", "decode_predictions", "preprocess_input"]

_ORIGIN = "https://github.com/keras-team/keras-applications/releases/download/densenet/"
_GROWTH = 32  # channels that each layer adds


def _densenet(net: Net, name: str, counts: tuple[int, ...]) -> Any:
    images = image_input(net, 224, 32)
    x = layers.ZeroPadding2D(((3, 3), (3, 3)))(images)
    x = layers.Conv2D(64, 7, strides=2, use_bias=False, name="conv1/conv")(x)
    x = layers.Activation("relu", name="conv1/relu")(_norm(x, "conv1/bn"))
    x = layers.ZeroPadding2D(((1, 1), (1, 1)))(x)
    x = layers.MaxPooling2D(3, strides=2, name="pool1")(x)
    for stack, count in enumerate(counts, 2):
        for block in range(1, count + 1):
            x = _grown(x, f"conv{stack}_block{block}")
        if stack < len(counts) + 1:
            x = _halved(x, f"pool{stack}")
    x = layers.Activation("relu", name="relu")(_norm(x, "bn"))
    if net.include_top:
        x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers.Dense(net.classes, activation="softmax", name="fc1000")(x)
    else:
        x = pooled(net, x, ("avg_pool", "max_pool"))
    part = "" if net.include_top else "_notop"
    file = f"{name}_weights_tf_dim_ordering_tf_kernels{part}.h5"
    return model_of(net, images, x, name, lambda: (_ORIGIN, file))


def _norm(x: Any, name: str) -> Any:
    return normalized(x, name, epsilon=1.001e-5)


def _grown(x: Any, name: str) -> Any:
    """Return `x` with the channels of one more layer."""
    y = layers.Activation("relu", name=f"{name}_0_relu")(_norm(x, f"{name}_0_bn"))
    y = layers.Conv2D(4 * _GROWTH, 1, use_bias=False, name=f"{name}_1_conv")(y)
    y = layers.Activation("relu", name=f"{name}_1_relu")(_norm(y, f"{name}_1_bn"))
    y = layers.Conv2D(_GROWTH, 3, padding="same", use_bias=False, name=f"{name}_2_conv")(y)
    return layers.Concatenate(axis=channel_axis(), name=f"{name}_concat")([x, y])


def _halved(x: Any, name: str) -> Any:
    """Return `x` with half of the channels, height and width."""
    x = layers.Activation("relu", name=f"{name}_relu")(_norm(x, f"{name}_bn"))
    depth = x.shape.as_list()[channel_axis()] // 2
    x = layers.Conv2D(depth, 1, use_bias=False, name=f"{name}_conv")(x)
    return layers.AveragePooling2D(2, strides=2, name=f"{name}_pool")(x)


DenseNet121 = known_net(224, "DenseNet121", "Return a dense net of 121 layers.")(
    lambda net: _densenet(net, "densenet121", (6, 12, 24, 16))
)
DenseNet169 = known_net(224, "DenseNet169", "Return a dense net of 169 layers.")(
    lambda net: _densenet(net, "densenet169", (6, 12, 32, 32))
)
DenseNet201 = known_net(224, "DenseNet201", "Return a dense net of 201 layers.")(
    lambda net: _densenet(net, "densenet201", (6, 12, 48, 32))
)

show_public_names(__name__)
