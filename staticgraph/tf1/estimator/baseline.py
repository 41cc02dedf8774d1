"""Baselines: models that ignore the features, and learn the mean of the labels."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays import array_ops
from staticgraph.arrays.creation import ones
from staticgraph.state.initializers import Zeros
from staticgraph.state.scopes import get_variable, variable_scope
from staticgraph.tf1.estimator.estimator import Estimator
from staticgraph.tf1.estimator.head_parameters import classifier, regressor
from staticgraph.tf1.estimator.heads import Head
from staticgraph.tf1.estimator.linear import check_features
from staticgraph.tf1.estimator.optimizers import as_optimizer
from staticgraph.tf1.estimator.spec import EstimatorSpec

_LEARNING_RATE = 0.3
_PARAMETERS = "model_dir {} optimizer config loss_reduction"


class BaselineEstimator(Estimator):
    """A baseline with a head, see `BaselineClassifier`."""

    def __init__(
        self, head: Head, model_dir: Any = None, optimizer: Any = "Ftrl", config: Any = None
    ) -> None:
        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            check_features(features)
            batch = array_ops.shape(next(iter(features.values())))[0]
            with variable_scope("baseline"):
                bias = get_variable("bias", [head.logits_dimension], initializer=Zeros())
                logits = bias * ones([batch, head.logits_dimension])
            chosen = as_optimizer(optimizer, _LEARNING_RATE)
            return head.create_estimator_spec(features, mode, logits, labels, chosen)

        super().__init__(model_fn, model_dir, config)


class BaselineClassifier(BaselineEstimator):
    """Predicts each class with its share of the labels. The parameters: see `LinearClassifier`."""

    __init__ = classifier(BaselineEstimator, _PARAMETERS)


class BaselineRegressor(BaselineEstimator):
    """Predicts the mean of the labels. The parameters: see `LinearRegressor`."""

    __init__ = regressor(BaselineEstimator, _PARAMETERS)
