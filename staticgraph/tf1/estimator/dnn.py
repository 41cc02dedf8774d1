"""Networks of dense layers on columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph import layers, nn
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.state.initializers import GlorotUniform
from staticgraph.state.scopes import variable_scope
from staticgraph.tf1 import feature_column, summary
from staticgraph.tf1.estimator.estimator import Estimator
from staticgraph.tf1.estimator.head_parameters import classifier, regressor
from staticgraph.tf1.estimator.heads import Head
from staticgraph.tf1.estimator.linear import check_features
from staticgraph.tf1.estimator.optimizers import as_optimizer
from staticgraph.tf1.estimator.spec import EstimatorSpec, ModeKeys

_LEARNING_RATE = 0.05
_PARAMETERS = (
    "hidden_units feature_columns model_dir {} optimizer activation_fn dropout "
    "input_layer_partitioner config warm_start_from loss_reduction batch_norm"
)


class DNNEstimator(Estimator):
    """A network of dense layers with a head, see `DNNClassifier` and `DNNRegressor`."""

    def __init__(
        self,
        head: Head,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        batch_norm: bool = False,
    ) -> None:
        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            chosen = as_optimizer(optimizer, _LEARNING_RATE)
            check_features(features)
            with variable_scope("dnn"):
                logits = dnn_logits(
                    features,
                    mode,
                    head.logits_dimension,
                    hidden_units,
                    feature_columns,
                    activation_fn,
                    dropout,
                    batch_norm,
                )
                return head.create_estimator_spec(features, mode, logits, labels, chosen)

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNClassifier(DNNEstimator):
    """A classifier with hidden layers of `hidden_units` units on dense columns.

    `activation_fn` of the hidden layers, `dropout`: the share of their outputs that is dropped while
    training, `batch_norm`: whether they are normalised. The others: see `LinearClassifier`.

    >>> import staticgraph as sg
    >>> net = sg.estimator.DNNClassifier([10, 10], [sg.feature_column.numeric_column("x")], n_classes=3)
    >>> net.config.save_summary_steps
    100
    """

    __init__ = classifier(DNNEstimator, _PARAMETERS)


class DNNRegressor(DNNEstimator):
    """A model of numbers with hidden layers on dense columns, see `DNNClassifier` and `LinearRegressor`."""

    __init__ = regressor(DNNEstimator, _PARAMETERS)


# TensorFlow's two variables of a dense layer are resources in parts: it makes these operations more of them.
_READS_OF_PARTS = 6


def dnn_logits(
    features: Any,
    mode: str,
    units: int,
    hidden_units: Sequence[int],
    feature_columns: Any,
    activation_fn: Any,
    dropout: float | None,
    batch_norm: bool,
) -> Any:
    """The outputs of a network of dense layers, with summaries of the activations."""
    is_training = mode == ModeKeys.TRAIN
    with variable_scope("input_from_feature_columns"):
        net = feature_column.input_layer(features, feature_columns)
    for number, size in enumerate(hidden_units):
        name = f"hiddenlayer_{number}"
        net = layers.dense(net, size, activation_fn, kernel_initializer=GlorotUniform(), name=name)
        count_more(get_default_graph(), _READS_OF_PARTS)
        if dropout is not None and is_training:
            net = layers.dropout(net, dropout, training=True)
        if batch_norm:
            with variable_scope(name):
                net = layers.batch_normalization(
                    net, momentum=0.999, training=is_training, name=f"batchnorm_{number}"
                )
        _summarize(net, name)
    logits = layers.dense(net, units, kernel_initializer=GlorotUniform(), name="logits")
    _summarize(logits, "logits")
    return logits


def _summarize(value: Any, tag: str) -> None:
    summary.scalar(f"{tag}/fraction_of_zero_values", nn.zero_fraction(value))
    summary.histogram(f"{tag}/activation", value)
