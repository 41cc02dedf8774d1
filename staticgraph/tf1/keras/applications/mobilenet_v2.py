"""MobileNet, second version: residual blocks between narrow layers, https://arxiv.org/abs/1801.04381."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras import layers
from staticgraph.tf1.keras.applications.building import Net, image_input, model_of, normalized, pooled
from staticgraph.tf1.keras.applications.imagenet_utils import decode_predictions
from staticgraph.tf1.keras.applications.mobilenet import rows_of, size_of
from staticgraph.tf1.keras.applications.scaled import preprocess_input

__all__ = ["MobileNetV2", "decode_predictions", "preprocess_input"]

_ORIGIN = "https://github.com/JonathanCMitchell/mobilenet_v2_keras/releases/download/v1.1/"
# Depth, stride of the first and number of the blocks after the first block.
_BLOCKS = ((24, 2, 2), (32, 2, 3), (64, 2, 4), (96, 1, 3), (160, 2, 3), (320, 1, 1))


def MobileNetV2(
    input_shape: Any = None,
    alpha: float = 1.0,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """Return a MobileNet of the second version.

    Args:
        input_shape: Shape of an image. Default: (224, 224, 3), open without the top.
        alpha: Factor of the depths of all layers.
        include_top: If it ends with classes; otherwise with features.
        weights: None for random ones, "imagenet" for those that are downloaded, or a file.
        input_tensor: A tensor of images; None for a new input.
        pooling: "avg" or "max" over height and width, None for neither; only without the top.
        classes: The number of classes.
        **kwargs: Not used.

    Raises:
        ValueError: If weights, classes or the shape are not possible.
    """
    net = Net(include_top, weights, input_tensor, input_shape, pooling, classes)
    rows = size_of(input_shape, (96, 128, 160, 192, 224))
    images = image_input(net, rows, 32)
    x = layers.ZeroPadding2D(((0, 1), (0, 1)), name="Conv1_pad")(images)
    x = layers.Conv2D(_rounded(32 * alpha), 3, strides=2, use_bias=False, name="Conv1")(x)
    x = layers.ReLU(6.0, name="Conv1_relu")(_norm(x, "bn_Conv1"))
    depth = _rounded(16 * alpha)
    x = _narrowed(x, depth, 1, "expanded_conv")
    number = 0
    for wanted, first, count in _BLOCKS:
        for stride in (first, *(1,) * (count - 1)):
            number += 1
            x, depth = _block(x, depth, _rounded(wanted * alpha), stride, f"block_{number}")
    last = _rounded(1280 * alpha) if alpha > 1.0 else 1280
    x = layers.Conv2D(last, 1, use_bias=False, name="Conv_1")(x)
    x = layers.ReLU(6.0, name="out_relu")(_norm(x, "Conv_1_bn"))
    if include_top:
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.Dense(classes, activation="softmax", name="Logits")(x)
    else:
        x = pooled(net, x)
    part = "" if include_top else "_no_top"
    file = f"mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{alpha}_{rows}{part}.h5"
    return model_of(net, images, x, f"mobilenetv2_{alpha:0.2f}_{rows_of(images)}", lambda: (_ORIGIN, file))


def _rounded(depth: float) -> int:
    """Return the multiple of eight nearest to a depth, which is not below nine tenths of it."""
    made = max(8, int(depth + 4) // 8 * 8)
    return made + 8 if made < 0.9 * depth else made


def _norm(x: Any, name: str) -> Any:
    return normalized(x, name, epsilon=1e-3, momentum=0.999)


def _block(x: Any, depth: int, wanted: int, stride: int, name: str) -> tuple[Any, int]:
    """Return the result of a block that makes six times as many channels first, and its depth."""
    y = layers.Conv2D(6 * depth, 1, padding="same", use_bias=False, name=f"{name}_expand")(x)
    y = layers.ReLU(6.0, name=f"{name}_expand_relu")(_norm(y, f"{name}_expand_BN"))
    y = _narrowed(y, wanted, stride, name)
    return (layers.Add(name=f"{name}_add")([x, y]) if depth == wanted and stride == 1 else y), wanted


def _narrowed(x: Any, depth: int, stride: int, name: str) -> Any:
    if stride == 2:
        x = layers.ZeroPadding2D(((0, 1), (0, 1)), name=f"{name}_pad")(x)
    padding = "same" if stride == 1 else "valid"
    x = layers.DepthwiseConv2D(3, strides=stride, padding=padding, use_bias=False, name=f"{name}_depthwise")(
        x
    )
    x = layers.ReLU(6.0, name=f"{name}_depthwise_relu")(_norm(x, f"{name}_depthwise_BN"))
    x = layers.Conv2D(depth, 1, padding="same", use_bias=False, name=f"{name}_project")(x)
    return _norm(x, f"{name}_project_BN")


show_public_names(__name__)
