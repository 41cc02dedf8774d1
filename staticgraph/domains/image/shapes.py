"""Shapes of images: checks and sizes that all functions of images use."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import checked
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.sizes import Size, is_known, size_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor


def as_image(image: Any, call: str) -> Tensor:
    """`image` as a tensor of rank 3 or 4; one of unknown rank is taken to be one image. ValueError else."""
    image = convert_to_tensor(image, name="image")
    if image.type.rank is None:
        with counted_as(image.graph, 0):
            image = ops.identity(image)
        image.set_shape([None, None, None])
    with checked(call):
        require(
            image.type.rank in (3, 4),
            f"the image has shape {image.shape}",
            hint="an image is [height, width, channels], a batch [batch, height, width, channels]",
        )
    return image


def checked_image(image: Any, call: str) -> Tensor:
    """`as_image`, counted as TensorFlow's check of an image."""
    image = convert_to_tensor(image, name="image")
    count_more(image.graph, checks_of_image(image))
    return as_image(image, call)


def checks_of_image(image: Tensor) -> int:
    """Return the number of operations by which TensorFlow checks that an image is one: an identity, which
    waits for an assertion on sizes that are not known.
    """
    return 1 if image.type.is_static else 23


def height_and_width(image: Tensor) -> tuple[Size, Size]:
    """The sizes of the third and second last axes."""
    return size_of(image, -3), size_of(image, -2)


def with_sizes(made: Tensor, like: Tensor, height: Size, width: Size) -> Tensor:
    """`made`, of which is told what follows from the image that it was made of."""
    known = [n if is_known(n) else None for n in (height, width)]
    batch = (like.type.shape or ())[:-3]
    made.set_shape(TensorShape([*batch, *known, like.shape[-1]]))
    return made
