"""Linear models: a weighted sum of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from staticgraph import nn
from staticgraph.arrays import array_ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.state.scopes import variable_scope
from staticgraph.tf1 import feature_column, summary
from staticgraph.tf1.estimator.estimator import Estimator
from staticgraph.tf1.estimator.head_parameters import classifier, regressor
from staticgraph.tf1.estimator.heads import Head
from staticgraph.tf1.estimator.optimizers import as_optimizer
from staticgraph.tf1.estimator.spec import EstimatorSpec

_LEARNING_RATE = 0.2
_PARAMETERS = (
    "feature_columns model_dir {} optimizer config partitioner warm_start_from loss_reduction sparse_combiner"
)


class LinearEstimator(Estimator):
    """A linear model with a head, see `LinearClassifier` and `LinearRegressor`."""

    def __init__(
        self,
        head: Head,
        feature_columns: Any,
        model_dir: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        sparse_combiner: str = "sum",
        *,
        warm_start_from: Any = None,
    ) -> None:
        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            check_features(features)
            with variable_scope("linear"):
                logits = linear_logits(features, feature_columns, head.logits_dimension, sparse_combiner)
                chosen = as_optimizer(optimizer, _LEARNING_RATE)
                return head.create_estimator_spec(features, mode, logits, labels, chosen)

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class LinearClassifier(LinearEstimator):
    """A classifier whose logits are weighted sums of columns.

    `feature_columns`: dense ones and categories. `n_classes`: labels are from 0 to n_classes - 1, or those of
    `label_vocabulary`. `weight_column`: a feature with the weights of the examples. `optimizer`: one, a
    function that makes one, or its name. `sparse_combiner`: see `feature_column.linear_model`. The others:
    see `Estimator`.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> net = sg.estimator.LinearClassifier([sg.feature_column.numeric_column("x")])
    >>> x, y = np.float32([-2, -1, 1, 2]), np.array([0, 0, 1, 1])
    >>> train = sg.estimator.inputs.numpy_input_fn({"x": x}, y, num_epochs=None, shuffle=True)
    >>> test = sg.estimator.inputs.numpy_input_fn({"x": x}, y, shuffle=False)
    >>> float(net.train(train, steps=20).evaluate(test)["accuracy"])
    1.0
    """

    __init__ = classifier(LinearEstimator, _PARAMETERS)


class LinearRegressor(LinearEstimator):
    """A model whose predictions are weighted sums of columns, see `LinearClassifier`.

    `label_dimension`: how many numbers a label has.
    """

    __init__ = regressor(LinearEstimator, _PARAMETERS)


def linear_logits(features: Any, feature_columns: Any, units: int, sparse_combiner: str) -> Any:
    """The weighted sums of columns, with summaries of the weights."""
    variables: dict[Any, Any] = {}
    logits = feature_column.linear_model(
        features, feature_columns, units, sparse_combiner, cols_to_vars=variables
    )
    bias = variables.pop("bias")[0]
    if units > 1:
        summary.histogram("bias", bias)
    else:
        summary.scalar("bias", bias[0])
    weights = array_ops.concat([array_ops.reshape(v, [-1]) for each in variables.values() for v in each], 0)
    summary.scalar("fraction_of_zero_weights", nn.zero_fraction(weights))
    return logits


def check_features(features: Any) -> None:
    """ValueError unless the features are a dict."""
    if not isinstance(features, Mapping):
        text = f"features should be a dictionary of `Tensor`s. Given type: {type(features).__name__}"
        raise misuse(ValueError, text)
