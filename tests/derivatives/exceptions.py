"""Exceptions to the comparison of derivatives, and why. The page `docs/derivatives.md` tells the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Exempt:
    """Derivatives of an op that are not compared."""

    why: str
    first: tuple[int, ...] = ()  # by these inputs
    second: tuple[int, ...] = ()  # of the second order, by these inputs
    unless: Callable[[Sequence[np.ndarray]], bool] | None = None  # at all points but these


def _sums_to_one(arrays: Sequence[np.ndarray]) -> bool:
    labels = arrays[1].sum(axis=-1)
    return bool(np.allclose(labels, 1))


def _has_full_rank(arrays: Sequence[np.ndarray]) -> bool:
    n = min(arrays[0].shape[-2:])
    return 0 in arrays[0].shape or bool(np.all(np.linalg.cond(arrays[0][..., :n]) < 1e6))


def _distinct(arrays: Sequence[np.ndarray]) -> bool:
    return bool(np.diff(np.sort(arrays[0], axis=-1), axis=-1).all())


EXEMPT = {
    "igamma": Exempt("the second derivative by a is not known: a LookupError", second=(0,)),
    "igammac": Exempt("the second derivative by a is not known: a LookupError", second=(0,)),
    "softmax_cross_entropy": Exempt(
        "labels are probabilities, as in TensorFlow: the derivative by the logits is right if they sum to 1",
        second=(1,),
        unless=_sums_to_one,
    ),
    "nth_element": Exempt("equal elements share the derivative", unless=_distinct),
    "qr": Exempt(
        "a matrix whose first columns depend on each other has no derivative", unless=_has_full_rank
    ),
}

# Parts of the names of public functions, and of points of theirs.
NOT_COMPARED = {
    "stop_gradient": "it says that it has no derivative",
    "normalize by hand": "it stops the gradient of a mean",
    "custom_gradient": "its derivative is the user's",
    "softmax_cross_entropy": "labels are probabilities, as in TensorFlow",
    "softmax cross entropy": "labels are probabilities, as in TensorFlow",
    "categorical_crossentropy from_logits": "labels are probabilities, as in TensorFlow",
    "hinge/, zeros": "labels of 0 are taken for -1",
    "losses., zeros": "a mean with weights of 0 is 0 there",
    "sequence_loss": "a mean with weights of 0 is 0 there",
}
