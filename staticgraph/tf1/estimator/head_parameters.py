"""Classifiers and regressors: an estimator with a head each, that takes what its head is made of."""

from __future__ import annotations

from typing import Any

from staticgraph.building.signatures import made_of
from staticgraph.tf1.estimator.heads import Head, RegressionHead, classifier_head
from staticgraph.train import losses

_SUM = losses.Reduction.SUM


def classifier(base: type, order: str) -> Any:
    """Return the constructor of a classifier: that of its base, with the parameters of the `head`.

    Args:
        base: The class of estimators with any head.
        order: The parameters of the base, and `loss_reduction`; `{}` stands for the others of the head.
    """

    def head(
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        loss_reduction: str = _SUM,
    ) -> Head:
        return classifier_head(n_classes, weight_column, label_vocabulary, loss_reduction)

    return made_of(base, order.format("n_classes weight_column label_vocabulary"), head=head)


def regressor(base: type, order: str) -> Any:
    """Return the constructor of a regressor: see `classifier`."""

    def head(label_dimension: int = 1, weight_column: Any = None, loss_reduction: str = _SUM) -> Head:
        return RegressionHead(label_dimension, weight_column, loss_reduction)

    return made_of(base, order.format("label_dimension weight_column"), head=head)
