"""`tf.contrib.layers`' regularizers: functions of a weight that make a loss."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse

Regularizer = Callable[[Any], Any]


def _checked(scale: Any, name: str) -> float:
    if isinstance(scale, numbers.Integral) and not isinstance(scale, bool) and scale != 0:
        raise misuse(ValueError, f"{name}: scale is a float, not the integer {scale}")
    if not scale >= 0:
        raise misuse(ValueError, f"{name}: scale is {scale}, it must not be negative")
    return float(scale)


def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """`scale` times the sum of the absolute weights; no loss for a scale of 0."""
    factor = _checked(scale, "l1_regularizer")

    def l1(weights: Any, name: str | None = None) -> Any:
        with sg.name_scope(scope, "l1_regularizer", [weights]) as inner:
            return sg.multiply(factor, sg.reduce_sum(sg.abs(weights)), name=name or inner)

    return l1 if factor else lambda _: None


def l2_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """`scale` times half the sum of the squared weights; no loss for a scale of 0.

    >>> from staticgraph.tf1.compat.contrib.regularizers import l2_regularizer
    >>> with sg.Session() as sess:
    ...     float(sess.run(l2_regularizer(0.5)(sg.constant([2.0, 4.0]))))
    5.0
    """
    factor = _checked(scale, "l2_regularizer")

    def l2(weights: Any) -> Any:
        with sg.name_scope(scope, "l2_regularizer", [weights]) as inner:
            return sg.multiply(factor, sg.nn.l2_loss(weights), name=inner)

    return l2 if factor else lambda _: None


def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None) -> Regularizer:
    """The sum of both regularizers."""
    parts = [l1_regularizer(scale_l1), l2_regularizer(scale_l2)]
    made = sum_regularizer(parts, scope or "l1_l2_regularizer")
    assert made is not None
    return made


def sum_regularizer(
    regularizer_list: Sequence[Regularizer | None], scope: str | None = None
) -> Regularizer | None:
    """The sum of several regularizers; None stands for no loss, and is what comes of no others."""
    parts = [part for part in regularizer_list if part is not None]
    if not parts:
        return None

    def total(weights: Any) -> Any:
        with sg.name_scope(scope, "sum_regularizer", [weights]) as inner:
            losses = [loss for part in parts if (loss := part(weights)) is not None]
            return sg.add_n(losses, name=inner) if losses else None

    return total


def apply_regularization(regularizer: Regularizer, weights_list: Sequence[Any] | None = None) -> Any:
    """The sum of a regularizer over weights, by default those in the collection WEIGHTS; also a loss."""
    weights = sg.get_collection(sg.GraphKeys.WEIGHTS) if weights_list is None else weights_list
    if not weights:
        raise misuse(ValueError, "apply_regularization: there are no weights")
    with sg.name_scope("get_regularization_penalty", values=weights) as inner:
        losses = [loss for weight in weights if (loss := regularizer(weight)) is not None]
        penalty = sg.add_n(losses, name=inner) if losses else sg.constant(0.0)
    sg.add_to_collection(sg.GraphKeys.REGULARIZATION_LOSSES, penalty)
    return penalty
