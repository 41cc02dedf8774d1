"""The VGG net of 19 layers."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.applications.building import Net
from staticgraph.tf1.keras.applications.imagenet_utils import decode_predictions, preprocess_input
from staticgraph.tf1.keras.applications.vgg import vgg

__all__ = ["VGG19", "decode_predictions", "preprocess_input"]


def VGG19(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    **kwargs: Any,
) -> Any:
    """Return a VGG net of 19 layers.

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
    return vgg(net, "vgg19", (2, 2, 4, 4, 4))


show_public_names(__name__)
