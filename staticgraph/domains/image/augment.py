"""Images changed at random, for training. Each run draws anew; seeds are those of `random_uniform`."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import checked, name_scope
from staticgraph.building.sizes import size_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.recording.op_count import op_count, set_op_count
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.image.color import adjust_hue, adjust_saturation
from staticgraph.domains.image.geometry import mirrored
from staticgraph.domains.image.intensity import adjust_brightness, adjust_contrast
from staticgraph.domains.image.shapes import checked_image
from staticgraph.random_numbers.random_ops import random_uniform


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Every other image, at random, with its columns in opposite order; each of a batch by itself.

    >>> import staticgraph as sg
    >>> sg.image.random_flip_left_right(sg.placeholder(sg.float32, [None, 28, 28, 3])).shape.as_list()
    [None, 28, 28, 3]
    """
    return _random_flip(image, -2, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Every other image, at random, with its rows in opposite order; each of a batch by itself."""
    return _random_flip(image, -3, seed, "random_flip_up_down")


def _random_flip(image: Any, axis: int, seed: int | None, call: str) -> Tensor:
    with name_scope(None, call, [image]):
        image = checked_image(image, call)
        start = op_count(image.graph)
        if image.type.rank == 3:
            chosen = ops.less(random_uniform([], 0, 1.0, seed=seed), 0.5)
            made = ops.select(chosen, mirrored(image, axis), image)
            set_op_count(image.graph, start + 18)  # a branch in TensorFlow
            return made
        size = size_of(image, 0)
        set_op_count(image.graph, start + 5)  # the size, taken from the shape
        drawn = random_uniform([size], 0, 1.0, seed=seed)
        chosen = ops.reshape(ops.greater(drawn, 0.5), shape=(-1, 1, 1, 1))
        made = ops.select(chosen, mirrored(image, axis), image)
        set_op_count(image.graph, start + 25)  # TensorFlow adds both, each times 0 or 1
        return made


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a number from [-max_delta, max_delta). ValueError if that is negative."""
    with checked("random_brightness"):
        require(max_delta >= 0, f"max_delta is {max_delta}, and must not be negative")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a factor from [lower, upper). ValueError unless 0 <= lower < upper."""
    return adjust_contrast(image, _factor("random_contrast", lower, upper, seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` by a factor from [lower, upper). ValueError unless 0 <= lower < upper."""
    return adjust_saturation(image, _factor("random_saturation", lower, upper, seed))


def _factor(call: str, lower: float, upper: float, seed: int | None) -> Tensor:
    with checked(call):
        require(lower >= 0, f"lower is {lower}, and must not be negative")
        require(upper > lower, f"upper is {upper}, and must be greater than lower, {lower}")
    return random_uniform([], lower, upper, seed=seed)


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a number from [-max_delta, max_delta). ValueError unless that is in [0, 0.5]."""
    with checked("random_hue"):
        require(0 <= max_delta <= 0.5, f"max_delta is {max_delta}, and must be between 0 and 0.5")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))
