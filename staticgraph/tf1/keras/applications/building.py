"""Inputs, ends and weights, which all known nets have in common."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.tf1.keras import layers
from staticgraph.tf1.keras.engine.input_layer import Input
from staticgraph.tf1.keras.engine.network import get_source_inputs
from staticgraph.tf1.keras.engine.node import history
from staticgraph.tf1.keras.models import Model
from staticgraph.tf1.keras.settings import checked_format
from staticgraph.tf1.keras.utils.download import get_file

ORIGIN = "https://github.com/fchollet/deep-learning-models/releases/download/"


class Net(NamedTuple):
    """Options of a net, as a program gives them.

    Attributes:
        include_top: If the net names classes; otherwise it ends with features.
        weights: None for random ones, "imagenet", or a file.
        input_tensor: A tensor of images, or None.
        input_shape: Shape of an image, or None.
        pooling: What becomes of features: None, "avg" or "max".
        classes: The number of classes.
    """

    include_top: bool
    weights: str | None
    input_tensor: Any
    input_shape: Any
    pooling: str | None
    classes: int


class KnownNet(Protocol):
    """A function that makes a net, with the arguments that most known nets have."""

    def __call__(
        self,
        include_top: bool = True,
        weights: str | None = "imagenet",
        input_tensor: Any = None,
        input_shape: Any = None,
        pooling: str | None = None,
        classes: int = 1000,
        **kwargs: Any,
    ) -> Any:
        """Return a Keras model."""


_ARGUMENTS = """

    Args:
        include_top: If it ends with classes; otherwise with features.
        weights: None for random ones, "imagenet" for those that are downloaded, or a file.
        input_tensor: A tensor of images; None for a new input.
        input_shape: Shape of an image. Default: ({size}, {size}, 3), open without the top.
        pooling: "avg" or "max" over height and width, None for neither; only without the top.
        classes: The number of classes.
        **kwargs: Not used.

    Raises:
        ValueError: If weights, classes or the shape are not possible.
    """


def known_net(size: int, name: str = "", summary: str = "") -> Callable[[Callable[[Net], Any]], KnownNet]:
    """Return a decorator that makes the public function of a net of a function that builds it.

    Args:
        size: Height and width of the images that its weights are for.
        name: The name of the public function. Default: that of the function that builds the net.
        summary: The first line of its documentation. Default: that of the function that builds the net.
    """

    def decorate(build: Callable[[Net], Any]) -> KnownNet:
        def made(
            include_top: bool = True,
            weights: str | None = "imagenet",
            input_tensor: Any = None,
            input_shape: Any = None,
            pooling: str | None = None,
            classes: int = 1000,
            **kwargs: Any,
        ) -> Any:
            return build(Net(include_top, weights, input_tensor, input_shape, pooling, classes))

        made.__name__ = made.__qualname__ = name or build.__name__
        made.__doc__ = (summary or build.__doc__ or "") + _ARGUMENTS.format(size=size)
        made.__module__ = build.__module__
        return made

    return decorate


def image_input(net: Net, size: int, least: int) -> Any:
    """Return the tensor of images of a net.

    Args:
        net: What is asked for.
        size: Height and width of the images that the weights are for.
        least: The least height and width that is possible.

    Raises:
        ValueError: If weights, classes or the shape are not possible.
    """
    if net.weights not in (None, "imagenet") and not os.path.exists(net.weights):
        text = f"weights is {shown(net.weights)}, and must be None, 'imagenet' or a file that exists"
        raise misuse(ValueError, text)
    if net.weights == "imagenet" and net.include_top and net.classes != 1000:
        text = f"weights='imagenet' with its top names 1000 classes, not {net.classes}"
        raise misuse(ValueError, text, "include_top=False, and a layer of your own behind it")
    shape = _shape(net, size, least)
    if net.input_tensor is None:
        return Input(shape=shape)
    if history(net.input_tensor) is not None:
        return net.input_tensor
    return Input(tensor=net.input_tensor, shape=shape)


def _shape(net: Net, size: int, least: int) -> tuple[int | None, ...]:
    last = checked_format(None) == "channels_last"
    given = None if net.input_shape is None else tuple(net.input_shape)
    if given is not None and len(given) != 3:
        raise misuse(ValueError, f"input_shape is {given}, and must have three sizes")
    channels = 3 if given is None else given[-1 if last else 0]
    sizes = (size, size) if given is None else given[:2] if last else given[1:]
    if net.weights == "imagenet" and (channels != 3 or (net.include_top and sizes != (size, size))):
        wanted = (size, size, 3) if last else (3, size, size)
        text = f"weights='imagenet' is for images of shape {wanted}, not {given}"
        raise misuse(ValueError, text, "weights=None, or include_top=False for another height and width")
    if any(n is not None and n < least for n in sizes):
        raise misuse(ValueError, f"input_shape is {given}, and height and width must be at least {least}")
    if net.include_top and None in sizes:
        raise misuse(ValueError, f"input_shape is {given}: with include_top=True, all sizes must be known")
    if given is None and not net.include_top:
        sizes = (None, None)
    return (*sizes, channels) if last else (channels, *sizes)


def pooled(net: Net, x: Any, names: tuple[str | None, str | None] = (None, None)) -> Any:
    """Return features as the program wants them. `names`: of the layer for means, and for maxima."""
    if net.pooling == "avg":
        return layers.GlobalAveragePooling2D(name=names[0])(x)
    return layers.GlobalMaxPooling2D(name=names[1])(x) if net.pooling == "max" else x


def model_of(net: Net, images: Any, x: Any, name: str, file: Callable[[], tuple[str, str]]) -> Any:
    """Return the model from images to `x`, with its weights.

    Args:
        net: What is asked for.
        images: The tensor of images.
        x: The result.
        name: The name of the model.
        file: Tells the folder of the net and the name of the file with the weights of ImageNet.
    """
    inputs = images if net.input_tensor is None else get_source_inputs(net.input_tensor)
    model = Model(inputs, x, name=name)
    if net.weights == "imagenet":
        origin, called = file()
        model.load_weights(get_file(called, origin + called, cache_subdir="models"))
    elif net.weights is not None:
        model.load_weights(net.weights)
    return model


def normalized(x: Any, name: str | None, **options: Any) -> Any:
    """Return a tensor after batch normalization over channels."""
    return layers.BatchNormalization(axis=channel_axis(), name=name, **options)(x)


def channel_axis() -> int:
    """Return the axis of channels."""
    return 3 if checked_format(None) == "channels_last" else 1
