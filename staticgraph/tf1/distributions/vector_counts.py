"""Numbers of operations of normally distributed vectors in TensorFlow 1.15, which default seeds follow from.

TensorFlow composes these distributions: a standard normal one, moved and scaled by a bijector that takes
linear operators. The numbers are measured. They depend on the batch: none, of known sizes, or of open ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.building.operation_counts import constants
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import counted_as, op_count, set_op_count
from staticgraph.compiler.graph.static_value import static_value

Counts = Mapping[str, tuple[int, int, int]]  # by method: without a batch, of known sizes, of open ones

OF_DIAGONAL: Counts = {
    "made": (40, 43, 58),
    "sample": (62, 62, 81),
    "log_prob": (66, 66, 81),
    "entropy": (73, 83, 98),
    "mean": (1, 1, 8),
    "mode": (1, 1, 8),
    "stddev": (1, 1, 1),
    "variance": (1, 1, 1),
}
OF_TRIANGLE: Counts = {
    "made": (40, 43, 51),
    "sample": (63, 63, 82),
    "log_prob": (66, 66, 108),
    "mean": (1, 1, 1),
    "mode": (1, 1, 1),
}
_WITHOUT_LOC = (0, -1, -6)
_LOC_ALONE = (0, 1, -10)
_SCALE_OF_ALL = (0, 2, -9)  # `scale_identity_multiplier` alone
_ONE_SCALE = (0, 0, -11)  # for all members of the batch
_FACTOR = 1  # constant of a `sample_shape` that is one number
_UNKNOWN_NUMBER = (17, 17, 8)  # more operations if the number of samples is not known
_UNTIL_DRAW = (9, 9, 13)
_UNTIL_UNKNOWN_DRAW = 16
_OF_DRAW = 2  # mean and deviation, constants of the draw itself
_INVERTED = 34  # operations that a density needs less if it is that of a sample: these are kept
_OPEN_VALUE = 10  # operations more if vectors without a batch meet values of an open shape
_KNOWN_VALUE = 15  # operations less if an open batch meets values of a known shape
_DIVERGENCE = 42


def _kind(distribution: Any) -> int:
    if distribution.batch_shape.ndims == 0:
        return 0
    return 1 if distribution.batch_shape.is_fully_defined() else 2


def made_of(distribution: Any, values: list[Any]) -> int:
    """Return the number of operations that make the distribution of arguments `values`."""
    kind, loc = _kind(distribution), values[0]
    scale = values[1] if len(values) > 1 else None
    count = distribution._COUNTS["made"][kind]
    given = [value for value in values if value is not None]
    if loc is None:
        count += _WITHOUT_LOC[kind]
    elif len(values) > 2 and scale is None:
        count += (_LOC_ALONE if values[2] is None else _SCALE_OF_ALL)[kind]
    elif distribution._COUNTS is OF_DIAGONAL and kind and _rank(scale) == 1:
        count += _ONE_SCALE[kind]
    made = constants(*given)
    return count + made + (made > 0) + distribution._MORE


def _rank(value: Any) -> int | None:
    return value.shape.ndims if hasattr(value, "shape") else np.ndim(value)


def counted_sample(distribution: Any, sample_shape: Any) -> AbstractContextManager[None]:
    """Return the context of `sample`."""
    kind, graph = _kind(distribution), get_default_graph()
    if "sample" not in distribution._COUNTS:
        return nullcontext()
    is_known = not isinstance(sample_shape, sg.Tensor) or static_value(sample_shape) is not None
    more = _FACTOR if is_known and np.ndim(sample_shape) == 0 else 0
    until = _UNTIL_DRAW[kind] + more if is_known else _UNTIL_UNKNOWN_DRAW
    distribution._draw_at = op_count(graph) + until - _OF_DRAW
    count = distribution._COUNTS["sample"][kind] + (more if is_known else _UNKNOWN_NUMBER[kind])
    return counted_as(graph, count)


def count_until_draw(distribution: Any) -> None:
    """Count what `sample` makes before it draws."""
    set_op_count(get_default_graph(), distribution._draw_at)


def counted_value(distribution: Any, method: str, value: Any) -> AbstractContextManager[None]:
    """Return the context of a method that takes a value."""
    if method not in ("log_prob", "prob"):
        return nullcontext()
    kind = _kind(distribution)
    count = distribution._COUNTS["log_prob"][kind] + 2 * (method == "prob") + constants(value)
    shape = value.shape if hasattr(value, "shape") else np.shape(value)
    if isinstance(value, sg.Tensor) and value in distribution._drawn:
        count -= _INVERTED + (_KNOWN_VALUE if kind == 2 else 0)
    elif sg.TensorShape(shape).is_fully_defined():
        count -= _KNOWN_VALUE if kind == 2 else 0
    else:
        count += _OPEN_VALUE if kind == 0 else 0
    return counted_as(get_default_graph(), count)


def counted_statistic(distribution: Any, method: str) -> AbstractContextManager[None]:
    """Return the context of a statistic."""
    counts = distribution._COUNTS.get(method)
    if counts is None:
        return nullcontext()
    return counted_as(get_default_graph(), counts[_kind(distribution)])


def counted_divergence(a: Any, b: Any) -> AbstractContextManager[None]:
    """Return the context of the divergence of one distribution from another."""
    if a._COUNTS is not OF_DIAGONAL or b._COUNTS is not OF_DIAGONAL:
        return nullcontext()
    means = sum(each._COUNTS["mean"][_kind(each)] - 1 for each in (a, b))
    return counted_as(get_default_graph(), _DIVERGENCE + means)
