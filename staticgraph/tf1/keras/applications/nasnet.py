"""NASNet: cells that a search found, https://arxiv.org/abs/1707.07012."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras import layers
from staticgraph.tf1.keras.applications.building import (
    Net,
    channel_axis,
    image_input,
    model_of,
    normalized,
    pooled,
)
from staticgraph.tf1.keras.applications.imagenet_utils import decode_predictions
from staticgraph.tf1.keras.applications.scaled import preprocess_input

__all__ = ["NASNetLarge", "NASNetMobile", "decode_predictions", "preprocess_input"]

_ORIGIN = "https://github.com/titu1994/Keras-NASNet/releases/download/v1.2/"


def NASNetMobile(
    input_shape: Any = None,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """Return a small NASNet.

    Args:
        input_shape: Shape of an image. Default: (224, 224, 3).
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
    return _nasnet(net, 224, depth=44, count=4, stem=32, is_large=False)


def NASNetLarge(
    input_shape: Any = None,
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """Return a large NASNet for images of 331 rows and columns, see `NASNetMobile`."""
    net = Net(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _nasnet(net, 331, depth=168, count=6, stem=96, is_large=True)


def _nasnet(net: Net, size: int, depth: int, count: int, stem: int, is_large: bool) -> Any:
    """Return a net of three stacks of `count` cells; the first has `depth` channels."""
    given = net.input_shape if net.input_shape is not None else (size, size, 3)
    images = image_input(net._replace(input_shape=given), size, 32)
    x = layers.Conv2D(stem, 3, strides=2, use_bias=False, kernel_initializer="he_normal", name="stem_conv1")(
        images
    )
    x, before = _norm(x, "stem_bn1"), None
    for number, part in ((1, depth // 4), (2, depth // 2)):
        x, before = _reduction(x, before, part, f"stem_{number}"), x
    for stack in range(3):
        first = stack * count + (stack > 0)
        for number in range(first, first + count):
            x, before = _normal(x, before, depth << stack, str(number)), x
        if stack < 2:
            made = _reduction(x, before, depth << (stack + 1), f"reduce_{(stack + 1) * count}")
            x, before = made, before if is_large else x
    x = layers.Activation("relu")(x)
    if net.include_top:
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.Dense(net.classes, activation="softmax", name="predictions")(x)
    else:
        x = pooled(net, x)
    file = f"NASNet-{'large' if is_large else 'mobile'}{'' if net.include_top else '-no-top'}.h5"
    return model_of(net, images, x, "NASNet", lambda: (_ORIGIN, file))


def _norm(x: Any, name: str) -> Any:
    return normalized(x, name, momentum=0.9997, epsilon=1e-3)


def _conv(x: Any, depth: int, name: str) -> Any:
    return layers.Conv2D(depth, 1, padding="same", use_bias=False, kernel_initializer="he_normal", name=name)(
        x
    )


def _sum(x: Any, y: Any, name: str | None = None) -> Any:
    return layers.add([x, y], name=name)


def _padding(x: Any, size: int) -> Any:
    """Return the padding with which windows of a stride of two lie as in a convolution of all sizes."""
    sizes = x.shape.as_list()[2:4] if channel_axis() == 1 else x.shape.as_list()[1:3]
    return tuple((size // 2 - (1 if n is None else 1 - n % 2), size // 2) for n in sizes)


def _separable(x: Any, depth: int, size: int, name: str, stride: int = 1) -> Any:
    """Return two separable convolutions of `x`."""
    x, padding = layers.Activation("relu")(x), "same"
    if stride == 2:
        x, padding = layers.ZeroPadding2D(_padding(x, size), name=f"separable_conv_1_pad_{name}")(x), "valid"
    for number in (1, 2):
        if number == 2:
            x, padding, stride = layers.Activation("relu")(x), "same", 1
        x = layers.SeparableConv2D(
            depth,
            size,
            strides=stride,
            padding=padding,
            use_bias=False,
            kernel_initializer="he_normal",
            name=f"separable_conv_{number}_{name}",
        )(x)
        x = _norm(x, f"separable_conv_{number}_bn_{name}")
    return x


def _adjusted(before: Any, x: Any, depth: int, name: str) -> Any:
    """Return the tensor of the cell before with the height, width and depth of this one."""
    if before is None:
        return x
    row = 2 if channel_axis() == 1 else 1
    sizes, wanted = before.shape.as_list(), x.shape.as_list()
    if sizes[row] != wanted[row]:
        y = layers.Activation("relu", name=f"adjust_relu_1_{name}")(before)
        shifted = layers.Cropping2D(((1, 0), (1, 0)))(layers.ZeroPadding2D(((0, 1), (0, 1)))(y))
        halves = []
        for number, half in ((1, y), (2, shifted)):
            half = layers.AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_{number}_{name}")(half)
            halves.append(_conv(half, depth // 2, f"adjust_conv_{number}_{name}"))
        return _norm(layers.concatenate(halves, axis=channel_axis()), f"adjust_bn_{name}")
    if sizes[channel_axis()] != depth:
        y = _conv(layers.Activation("relu")(before), depth, f"adjust_conv_projection_{name}")
        return _norm(y, f"adjust_bn_{name}")
    return before


def _begun(x: Any, depth: int, kind: str, name: str) -> Any:
    return _norm(_conv(layers.Activation("relu")(x), depth, f"{kind}_conv_1_{name}"), f"{kind}_bn_1_{name}")


def _averaged(x: Any, name: str, stride: int = 1) -> Any:
    padding = "same" if stride == 1 else "valid"
    return layers.AveragePooling2D(3, strides=stride, padding=padding, name=name)(x)


def _normal(x: Any, before: Any, depth: int, name: str) -> Any:
    """Return the result of a cell that keeps height and width."""
    p = _adjusted(before, x, depth, name)
    h = _begun(x, depth, "normal", name)
    x1 = _sum(
        _separable(h, depth, 5, f"normal_left1_{name}"),
        _separable(p, depth, 3, f"normal_right1_{name}"),
        f"normal_add_1_{name}",
    )
    x2 = _sum(
        _separable(p, depth, 5, f"normal_left2_{name}"),
        _separable(p, depth, 3, f"normal_right2_{name}"),
        f"normal_add_2_{name}",
    )
    x3 = _sum(_averaged(h, f"normal_left3_{name}"), p, f"normal_add_3_{name}")
    left, right = _averaged(p, f"normal_left4_{name}"), _averaged(p, f"normal_right4_{name}")
    x4 = _sum(left, right, f"normal_add_4_{name}")
    x5 = _sum(_separable(h, depth, 3, f"normal_left5_{name}"), h, f"normal_add_5_{name}")
    return layers.concatenate([p, x1, x2, x3, x4, x5], axis=channel_axis(), name=f"normal_concat_{name}")


def _reduction(x: Any, before: Any, depth: int, name: str) -> Any:
    """Return the result of a cell that halves height and width."""
    p = _adjusted(before, x, depth, name)
    h = _begun(x, depth, "reduction", name)
    wide = layers.ZeroPadding2D(_padding(h, 3), name=f"reduction_pad_1_{name}")(h)
    x1 = _sum(
        _separable(h, depth, 5, f"reduction_left1_{name}", 2),
        _separable(p, depth, 7, f"reduction_right1_{name}", 2),
        f"reduction_add_1_{name}",
    )
    x2 = _sum(
        layers.MaxPooling2D(3, strides=2, name=f"reduction_left2_{name}")(wide),
        _separable(p, depth, 7, f"reduction_right2_{name}", 2),
        f"reduction_add_2_{name}",
    )
    x3 = _sum(
        _averaged(wide, f"reduction_left3_{name}", 2),
        _separable(p, depth, 5, f"reduction_right3_{name}", 2),
        f"reduction_add3_{name}",
    )
    x4 = _sum(x2, _averaged(x1, f"reduction_left4_{name}"))
    x5 = _sum(
        _separable(x1, depth, 3, f"reduction_left4_{name}"),
        layers.MaxPooling2D(3, strides=2, name=f"reduction_right5_{name}")(wide),
        f"reduction_add4_{name}",
    )
    return layers.concatenate([x2, x3, x4, x5], axis=channel_axis(), name=f"reduction_concat_{name}")


show_public_names(__name__)
