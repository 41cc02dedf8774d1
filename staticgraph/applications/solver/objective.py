"""Losses and metrics, each a number for each example, and the answers that a net of each kind gives.

A loss takes the output of the last layer as it is. That is either numbers, or scores, which are made into
probabilities here.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from staticgraph import nn
from staticgraph.arrays.indexing import one_hot
from staticgraph.arrays.sorting import argmax
from staticgraph.compiler.graph.dtypes import DType, float32, int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.mathematics.math_ops import greater
from staticgraph.state.layer import known_size
from staticgraph.tf1.keras import losses
from staticgraph.tf1.keras.metrics import functions

Function = Callable[..., Tensor]


class Answer(Enum):
    """Kind of answer that a net gives: a class, yes or no, or a number."""

    CLASS = "a class, a whole number from 0 on"
    YES = "yes or no, 1 or 0"
    NUMBER = "a number"

    @property
    def dtype(self) -> DType:
        """The dtype of the labels."""
        return int64 if self is Answer.CLASS else float32


@dataclass(frozen=True, slots=True)
class Loss:
    """`values(labels, outputs, **options)`: the loss of each example. `probable`: it makes probabilities."""

    answer: Answer
    values: Function
    probable: bool = False

    def given(self, outputs: Tensor) -> dict[str, Tensor]:
        """Return the outputs of the trained graph by name, computed from the last layer's output."""
        match self.answer:
            case Answer.CLASS:
                return {
                    "class": argmax(outputs, -1, name="class"),
                    "probabilities": nn.softmax(outputs, name="probabilities"),
                }
            case Answer.YES:
                likely = {"probability": nn.sigmoid(outputs, name="probability")} if self.probable else {}
                return {"yes": greater(outputs, 0.0, name="yes"), **likely}
            case _:
                return {"value": outputs}


def softmax_cross_entropy(labels: Tensor, outputs: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Minus the logarithm of the probability of the right one of several classes."""
    if not label_smoothing:
        return nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=outputs)
    classes = known_size(outputs.shape, -1, "label_smoothing")
    share = label_smoothing / classes
    targets = one_hot(labels, classes, 1.0 - label_smoothing + share, share)
    return nn.softmax_cross_entropy_with_logits_v2(labels=targets, logits=outputs)


def sigmoid_cross_entropy(labels: Tensor, outputs: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Minus the logarithm of the probability of the right one of yes and no."""
    targets = labels * (1.0 - label_smoothing) + 0.5 * label_smoothing if label_smoothing else labels
    return nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=outputs)


LOSSES: dict[str, Loss] = {
    "softmax_cross_entropy": Loss(Answer.CLASS, softmax_cross_entropy, probable=True),
    "sigmoid_cross_entropy": Loss(Answer.YES, sigmoid_cross_entropy, probable=True),
    "hinge": Loss(Answer.YES, losses.hinge),
    "squared_hinge": Loss(Answer.YES, losses.squared_hinge),
    "mean_squared_error": Loss(Answer.NUMBER, losses.mean_squared_error),
    "mean_absolute_error": Loss(Answer.NUMBER, losses.mean_absolute_error),
    "mean_absolute_percentage_error": Loss(Answer.NUMBER, losses.mean_absolute_percentage_error),
    "mean_squared_logarithmic_error": Loss(Answer.NUMBER, losses.mean_squared_logarithmic_error),
    "huber": Loss(Answer.NUMBER, losses.huber_loss),
    "logcosh": Loss(Answer.NUMBER, losses.logcosh),
    "poisson": Loss(Answer.NUMBER, losses.poisson),
}
METRICS: dict[str, dict[Answer, Function]] = {
    "accuracy": {
        Answer.CLASS: functions.sparse_categorical_accuracy,
        Answer.YES: lambda labels, outputs: functions.binary_accuracy(labels, outputs, 0.0),
    },
    "top_5_accuracy": {Answer.CLASS: functions.sparse_top_k_categorical_accuracy},
    "mean_absolute_error": {Answer.NUMBER: losses.mean_absolute_error},
    "mean_squared_error": {Answer.NUMBER: losses.mean_squared_error},
    "mean_absolute_percentage_error": {Answer.NUMBER: losses.mean_absolute_percentage_error},
}
USUAL = {Answer.CLASS: ["accuracy"], Answer.YES: ["accuracy"], Answer.NUMBER: ["mean_absolute_error"]}


def metrics_of(answer: Answer) -> list[str]:
    """The metrics that suit what a net is asked."""
    return [name for name, functions in METRICS.items() if answer in functions]
