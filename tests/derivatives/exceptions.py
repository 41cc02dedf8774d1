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

# Parts of the names of public functions and of points of theirs: all that stand before and after a comma.
NOT_COMPARED = {
    "stop_gradient": "it says that it has no derivative",
    "normalize by hand": "it stops the gradient of a mean",
    "py_func has no gradient": "it says that it has no derivative",
    "custom_gradient": "its derivative is the user's",
    "quantization/, quantize_and_dequantize": "its derivative is that without rounding",
    "softmax_cross_entropy": "labels are probabilities, as in TensorFlow",
    "softmax cross entropy": "labels are probabilities, as in TensorFlow",
    "categorical_crossentropy from_logits": "labels are probabilities, as in TensorFlow",
    "inge, zeros": "labels of 0 are taken for -1",
    "losses., zeros": "a mean with weights of 0 is 0 there",
    "norm of, empty": "the norm of nothing is at its kink: the derivative by its weight divides 0 by 0",
    "linalg.normalize of, empty": "as that of a norm",
    "std of, empty": "as that of a norm",
    "logsumexp of, empty": "the logarithm of a sum of nothing: the derivative by its weight divides 0 by 0",
    "reduce_max of, empty": "the largest of nothing: the derivative by its weight divides 0 by 0",
    "reduce_min of, empty": "the smallest of nothing: the derivative by its weight divides 0 by 0",
    "backend.max of, empty": "as that of reduce_max",
    "backend.min of, empty": "as that of reduce_min",
    "lbeta, empty": "the logarithm of the Gamma function at 0",
    "average_loss, empty": "a mean over nothing",
    "weighted_moments, empty": "a mean over nothing",
    "adjust_hue, zeros": "a grey pixel has no hue",
    "adjust_hue, all equal": "a grey pixel has no hue",
    "walk/qr of, all equal": "a matrix whose first columns depend on each other has no derivative",
    "until large, zeros": "it does not end",
    "sequence_loss": "a mean with weights of 0 is 0 there",
}


def not_compared(name: str) -> str | None:
    """Return why a function at a point is not compared, None if it is."""
    for parts, why in NOT_COMPARED.items():
        if all(part in name for part in parts.split(", ")):
            return why
    return None
