"""Wide and deep models: the sum of a linear model and a network of dense layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from staticgraph import nn, train
from staticgraph.building.framework import control_dependencies
from staticgraph.compiler.graph.errors import misuse
from staticgraph.state.scopes import variable_scope
from staticgraph.state.state_ops import assign_add
from staticgraph.tf1.estimator.dnn import dnn_logits
from staticgraph.tf1.estimator.estimator import Estimator
from staticgraph.tf1.estimator.head_parameters import classifier, regressor
from staticgraph.tf1.estimator.heads import Head
from staticgraph.tf1.estimator.linear import check_features, linear_logits
from staticgraph.tf1.estimator.optimizers import as_optimizer
from staticgraph.tf1.estimator.spec import EstimatorSpec

_DNN_LEARNING_RATE = 0.001
_MOST_LINEAR_LEARNING_RATE = 0.005
_PARAMETERS = (
    "model_dir linear_feature_columns linear_optimizer dnn_feature_columns dnn_optimizer "
    "dnn_hidden_units dnn_activation_fn dnn_dropout {} input_layer_partitioner config "
    "warm_start_from loss_reduction batch_norm linear_sparse_combiner"
)


class DNNLinearCombinedEstimator(Estimator):
    """A wide and deep model with a head, see `DNNLinearCombinedClassifier`."""

    def __init__(
        self,
        head: Head,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = nn.relu,
        dnn_dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        linear_sparse_combiner: str = "sum",
        *,
        warm_start_from: Any = None,
        batch_norm: bool = False,
    ) -> None:
        linear = list(linear_feature_columns or ())
        deep = list(dnn_feature_columns or ())
        if not linear and not deep:
            _refuse("Either linear_feature_columns or dnn_feature_columns must be defined.")
        if deep and not dnn_hidden_units:
            _refuse("dnn_hidden_units must be defined when dnn_feature_columns is specified.")

        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            check_features(features)
            parts, trained = [], []
            if deep:
                with variable_scope("dnn") as scope:
                    units = head.logits_dimension
                    network = dnn_logits(
                        features,
                        mode,
                        units,
                        dnn_hidden_units or (),
                        deep,
                        dnn_activation_fn,
                        dnn_dropout,
                        batch_norm,
                    )
                parts.append(network)
                trained.append((as_optimizer(dnn_optimizer, _DNN_LEARNING_RATE), scope))
            if linear:
                with variable_scope("linear") as scope:
                    parts.append(
                        linear_logits(features, linear, head.logits_dimension, linear_sparse_combiner)
                    )
                rate = min(_MOST_LINEAR_LEARNING_RATE, len(linear) ** -0.5)
                trained.append((as_optimizer(linear_optimizer, rate), scope))

            def train_op_fn(loss: Any) -> Any:
                steps = [made.minimize(loss, var_list=scope.trainable_variables()) for made, scope in trained]
                with control_dependencies(steps):
                    return assign_add(train.get_global_step(), 1).op

            logits = parts[0] if len(parts) == 1 else parts[0] + parts[1]
            return head.create_estimator_spec(features, mode, logits, labels, train_op_fn=train_op_fn)

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedClassifier(DNNLinearCombinedEstimator):
    """A classifier whose logits are those of a linear model plus those of a network, trained together.

    Each has columns and an optimizer of its own. The parameters: see `LinearClassifier` and `DNNClassifier`.
    ValueError without any columns, and for columns of the network without hidden layers.
    """

    __init__ = classifier(DNNLinearCombinedEstimator, _PARAMETERS)


class DNNLinearCombinedRegressor(DNNLinearCombinedEstimator):
    """A model of numbers that is a linear model plus a network, see `DNNLinearCombinedClassifier`."""

    __init__ = regressor(DNNLinearCombinedEstimator, _PARAMETERS)


def _refuse(text: str) -> NoReturn:
    raise misuse(ValueError, text)
