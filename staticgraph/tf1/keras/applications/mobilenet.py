"""MobileNet: convolutions of each channel, and of all channels at a place, https://arxiv.org/abs/1704.04861."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras import layers
from staticgraph.tf1.keras.applications.building import ORIGIN, Net, image_input, model_of, normalized, pooled
from staticgraph.tf1.keras.applications.imagenet_utils import decode_predictions
from staticgraph.tf1.keras.applications.scaled import preprocess_input
from staticgraph.tf1.keras.settings import checked_format

__all__ = ["MobileNet", "decode_predictions", "preprocess_input"]

# Depth and stride of each block.
_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))


def MobileNet(
    input_shape: Any = None,
    alpha: float = 1.0,
    depth_multiplier: int = 1,
    dropout: float = 1e-3,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """Return a MobileNet of the first version.

    Args:
        input_shape: Shape of an image. Default: (224, 224, 3), open without the top.
        alpha: Factor of the depths of all layers.
        depth_multiplier: Filters of each channel.
        dropout: Part of the features that training drops.
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
    rows = size_of(input_shape, (128, 160, 192, 224))
    images = image_input(net, rows, 32)
    x = layers.ZeroPadding2D(((0, 1), (0, 1)), name="conv1_pad")(images)
    x = layers.Conv2D(int(32 * alpha), (3, 3), strides=(2, 2), use_bias=False, name="conv1")(x)
    x = layers.ReLU(6.0, name="conv1_relu")(normalized(x, "conv1_bn"))
    for number, (depth, stride) in enumerate(_BLOCKS, 1):
        x = _block(x, int(depth * alpha), depth_multiplier, stride, number)
    x = _classes(net, x, int(1024 * alpha), dropout) if include_top else pooled(net, x)
    part = "" if include_top else "_no_top"
    text = {1.0: "1_0", 0.75: "7_5", 0.50: "5_0", 0.25: "2_5"}.get(alpha, str(alpha))
    file = f"mobilenet_{text}_{rows}_tf{part}.h5"
    return model_of(
        net, images, x, f"mobilenet_{alpha:0.2f}_{rows_of(images)}", lambda: (f"{ORIGIN}v0.6/", file)
    )


def size_of(input_shape: Any, known: tuple[int, ...]) -> int:
    """Return the size of images whose weights are taken: that of `input_shape` if it is square and known."""
    rows, columns = (None, None) if input_shape is None else input_shape[:2]
    return rows if rows == columns and rows in known else 224


def rows_of(images: Any) -> int | None:
    """Return the height of images, None if it is open: nets are called after it."""
    return images.shape.as_list()[1 if checked_format(None) == "channels_last" else 2]


def _block(x: Any, depth: int, multiplier: int, stride: int, number: int) -> Any:
    if stride > 1:
        x = layers.ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{number}")(x)
    x = layers.DepthwiseConv2D(
        (3, 3),
        padding="same" if stride == 1 else "valid",
        depth_multiplier=multiplier,
        strides=(stride, stride),
        use_bias=False,
        name=f"conv_dw_{number}",
    )(x)
    x = layers.ReLU(6.0, name=f"conv_dw_{number}_relu")(normalized(x, f"conv_dw_{number}_bn"))
    x = layers.Conv2D(depth, (1, 1), padding="same", use_bias=False, name=f"conv_pw_{number}")(x)
    return layers.ReLU(6.0, name=f"conv_pw_{number}_relu")(normalized(x, f"conv_pw_{number}_bn"))


def _classes(net: Net, x: Any, depth: int, dropout: float) -> Any:
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Reshape((1, 1, depth), name="reshape_1")(x)
    x = layers.Dropout(dropout, name="dropout")(x)
    x = layers.Conv2D(net.classes, (1, 1), padding="same", name="conv_preds")(x)
    x = layers.Reshape((net.classes,), name="reshape_2")(x)
    return layers.Activation("softmax", name="act_softmax")(x)


show_public_names(__name__)
