"""The distance of sequences: how many elements to put in, take out or replace until one is the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import EVERY, float32
from staticgraph.compiler.graph.errors import InvalidArgumentError, require
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.kinds import host

_ONE_TYPE = dict.fromkeys(("hypothesis_values", "truth_values"), "T")
_PLACES = dict.fromkeys(("hypothesis_indices", "hypothesis_shape", "truth_indices", "truth_shape"), "int64")


def _type(*parts: TensorType, sizes: tuple[int | None, ...] | None, normalize: bool) -> TensorType:
    for part, rank in zip(parts, (2, 1, 1, 2, 1, 1), strict=True):
        require(part.rank in (None, rank), f"a part of a sparse tensor has {part.rank} axes, not {rank}")
    return TensorType(float32, sizes)


@host(tf="EditDistance", type=_type, vars=_ONE_TYPE | _PLACES, dtypes={"T": EVERY})
def edit_distance(
    hypothesis_indices: Any, hypothesis_values: Any, hypothesis_shape: Any,
    truth_indices: Any, truth_values: Any, truth_shape: Any,
    *, sizes: Any = None, normalize: bool = True,
) -> Any:
    """The Levenshtein distances of two sparse tensors along the last axis.

    `normalize` divides by the length of the truth: infinity where that has none and the hypothesis has some.
    `sizes` is what is known of the result's shape.
    """
    if len(hypothesis_shape) != len(truth_shape):
        ranks = f"{len(hypothesis_shape)} and {len(truth_shape)} axes"
        raise InvalidArgumentError(f"the sparse tensors have {ranks}, and must have the same number")
    shape = tuple(np.maximum(hypothesis_shape, truth_shape)[:-1])
    guesses = _sequences(hypothesis_indices, hypothesis_values, shape, "hypothesis")
    truths = _sequences(truth_indices, truth_values, shape, "truth")
    distances = np.zeros(shape, np.float32)
    for place in guesses.keys() | truths.keys():
        guess, truth = guesses.get(place, []), truths.get(place, [])
        distance = float(levenshtein(guess, truth))
        if normalize:
            distance = distance / len(truth) if truth else float("inf")
        distances[place] = distance
    return distances


def _sequences(
    indices: Any, values: Any, shape: tuple[int, ...], what: str
) -> dict[tuple[int, ...], list[Any]]:
    """The elements of each sequence that has some, by its place."""
    found: dict[tuple[int, ...], list[Any]] = {}
    for index, value in zip(indices.tolist(), values.tolist(), strict=True):
        place = tuple(index[:-1])
        if any(not 0 <= at < size for at, size in zip(place, shape, strict=True)):
            text = f"a sequence of the {what} is at {list(place)}, outside of {list(shape)}"
            raise InvalidArgumentError(text)
        found.setdefault(place, []).append(value)
    return found


def levenshtein(a: Sequence[Any], b: Sequence[Any]) -> int:
    """The least number of changes that turn `a` into `b`.

    >>> levenshtein("kitten", "sitting")
    3
    """
    row = list(range(len(b) + 1))
    for count, one in enumerate(a, 1):
        corner, row[0] = row[0], count
        for at, other in enumerate(b, 1):
            corner, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, corner + (one != other))
    return row[-1]
