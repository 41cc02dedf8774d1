"""The nets of the Visual Geometry Group: blocks of convolutions of 3 by 3, https://arxiv.org/abs/1409.1556."""

from __future__ import annotations

from typing import Any

from staticgraph.tf1.keras import layers
from staticgraph.tf1.keras.applications.building import ORIGIN, Net, image_input, model_of, pooled

_DEPTHS = (64, 128, 256, 512, 512)


def VGG16(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """Return a VGG net of 16 layers.

    Args:
        include_top: If it ends with classes; otherwise with features.
        weights: None for random ones, "imagenet" for those that are downloaded, or a file.
        input_tensor: A tensor of images; None for a new input.
        input_shape: Shape of an image. Default: (224, 224, 3), open without the top.
        pooling: "avg" or "max" over height and width, None for neither; only without the top.
        classes: The number of classes.
        **kwargs: Not used.

    Raises:
        ValueError: If weights, classes or the shape are not possible.
    """
    net = Net(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _vgg(net, "vgg16", (2, 2, 3, 3, 3))


def VGG19(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """Return a VGG net of 19 layers, see `VGG16`."""
    net = Net(include_top, weights, input_tensor, input_shape, pooling, classes)
    return _vgg(net, "vgg19", (2, 2, 4, 4, 4))


def _vgg(net: Net, name: str, counts: tuple[int, ...]) -> Any:
    """Return a net of five blocks, each with some convolutions; see `Net` for what is asked of it."""
    images = x = image_input(net, 224, 32)
    for block, (depth, count) in enumerate(zip(_DEPTHS, counts, strict=True), 1):
        for number in range(1, count + 1):
            called = f"block{block}_conv{number}"
            x = layers.Conv2D(depth, (3, 3), padding="same", activation="relu", name=called)(x)
        x = layers.MaxPooling2D((2, 2), strides=(2, 2), name=f"block{block}_pool")(x)
    if net.include_top:
        x = layers.Flatten(name="flatten")(x)
        x = layers.Dense(4096, activation="relu", name="fc1")(x)
        x = layers.Dense(4096, activation="relu", name="fc2")(x)
        x = layers.Dense(net.classes, activation="softmax", name="predictions")(x)
    else:
        x = pooled(net, x)
    part = "" if net.include_top else "_notop"
    file = f"{name}_weights_tf_dim_ordering_tf_kernels{part}.h5"
    return model_of(net, images, x, name, lambda: (f"{ORIGIN}v0.1/", file))
