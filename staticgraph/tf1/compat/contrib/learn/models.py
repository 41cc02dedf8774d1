"""`tf.contrib.learn`: classifiers and regressors that are ready to use, with their old parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import staticgraph as sg
from staticgraph.building.signatures import made_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib import layers as contrib_layers
from staticgraph.tf1.compat.contrib.learn.estimators import BaseEstimator, ModeKeys, ModelFnOps
from staticgraph.tf1.compat.contrib.optimizers.optimize_loss import optimize_loss
from staticgraph.tf1.estimator.heads import Head, RegressionHead, classifier_head

DEEP_LEARNING_RATE = 0.05
_MOST_LINEAR_LEARNING_RATE = 0.2
_BATCH_MEAN = sg.losses.Reduction.SUM_OVER_BATCH_SIZE

# What a metric of today was called.
_METRICS = {
    "accuracy": "accuracy",
    "prediction/mean": "labels/prediction_mean",
    "label/mean": "labels/actual_label_mean",
    "auc": "auc",
    "auc_precision_recall": "auc_precision_recall",
    "precision": "precision/positive_threshold_0.500000_mean",
    "recall": "recall/positive_threshold_0.500000_mean",
}


class Model(BaseEstimator):
    """Logits of columns, a head and an optimizer."""

    _OPTIMIZER: ClassVar[str]

    def __init__(self, head: Head, feature_columns: Any, learning_rate: float, given: dict[str, Any]) -> None:
        unknown = given.get("enable_centered_bias") or given.get("embedding_lr_multipliers")
        if unknown:
            text = "enable_centered_bias and embedding_lr_multipliers are not supported"
            raise misuse(NotImplementedError, text)
        self._head = head
        self._columns = list(feature_columns)
        self._optimizer = given["optimizer"] or self._OPTIMIZER
        self._learning_rate = learning_rate
        self._clip = given["gradient_clip_norm"]
        self._engineer = given["feature_engineering_fn"]
        super().__init__(given["model_dir"], given["config"])

    def _logits(self, features: Any, mode: str) -> Any:
        raise NotImplementedError

    def _model_fn(self, features: Any, labels: Any, mode: str) -> ModelFnOps:
        if self._engineer is not None:
            features, labels = self._engineer(features, labels)
        features = features if isinstance(features, dict) else {"": features}
        logits = self._logits(features, mode)

        spec = self._head.create_estimator_spec(features, mode, logits, labels, train_op_fn=self._train_op)
        metrics = {_METRICS[key]: metric for key, metric in spec.eval_metric_ops.items() if key in _METRICS}
        if isinstance(self._head, RegressionHead):
            metrics = {}
        elif "auc" in metrics:
            metrics["accuracy/baseline_label_mean"] = spec.eval_metric_ops["label/mean"]
            metrics["accuracy/threshold_0.500000_mean"] = spec.eval_metric_ops["accuracy"]
        return ModelFnOps(mode, self._named(spec.predictions), spec.loss, spec.train_op, metrics)

    def _train_op(self, loss: Any) -> Any:
        """The operation that makes a step of training."""
        clip = None if self._clip is None else float(self._clip)
        step = sg.train.get_global_step()
        return optimize_loss(loss, step, self._learning_rate, self._optimizer, clip_gradients=clip)

    def _named(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """The predictions under their old names, one value for each example."""
        if isinstance(self._head, RegressionHead):
            scores = predictions["predictions"]
            return {"scores": sg.squeeze(scores, [1]) if self._head.logits_dimension == 1 else scores}
        kept = {
            key: predictions[key] for key in ("logits", "logistic", "probabilities") if key in predictions
        }
        return kept | {"classes": sg.squeeze(predictions["class_ids"], [1])}


class _Linear(Model):
    _OPTIMIZER = "Ftrl"

    def __init__(
        self,
        head: Head,
        feature_columns: Any,
        model_dir: Any = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        _joint_weight: bool = False,
        _joint_weights: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        super().__init__(head, feature_columns, linear_rate(feature_columns), locals())

    def _logits(self, features: Any, mode: str) -> Any:
        return linear_logits(features, self._columns, self._head.logits_dimension)


def linear_rate(feature_columns: Any) -> float:
    """The learning rate of a linear model of so many columns."""
    return float(min(_MOST_LINEAR_LEARNING_RATE, len(list(feature_columns)) ** -0.5))


def linear_logits(features: Any, columns: Any, outputs: int) -> Any:
    """Weighted sums of columns."""
    with sg.variable_scope("linear"):
        return sg.feature_column.linear_model(features, columns, outputs)


class _Deep(Model):
    _OPTIMIZER = "Adagrad"

    def __init__(
        self,
        head: Head,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: Any = None,
        optimizer: Any = None,
        activation_fn: Any = sg.nn.relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
    ) -> None:
        self._units = list(hidden_units)
        self._activation = activation_fn
        self._dropout = dropout
        super().__init__(head, feature_columns, DEEP_LEARNING_RATE, locals())

    def _logits(self, features: Any, mode: str) -> Any:
        dropout = self._dropout if mode == ModeKeys.TRAIN else None
        outputs = self._head.logits_dimension
        return deep_logits(features, self._columns, [*self._units, outputs], self._activation, dropout)


def deep_logits(
    features: Any, columns: Any, units: Sequence[int], activation: Any, dropout: float | None
) -> Any:
    """The last layer of a network; `units` are those of each layer."""
    *hidden, outputs = units
    with sg.variable_scope("dnn"):
        with sg.variable_scope("input_from_feature_columns"):
            net = sg.feature_column.input_layer(features, columns)
        for number, count in enumerate(hidden):
            net = contrib_layers.fully_connected(
                net, count, activation_fn=activation, scope=f"hiddenlayer_{number}"
            )
            if dropout is not None:
                net = sg.nn.dropout(net, rate=dropout)
        return contrib_layers.fully_connected(net, outputs, activation_fn=None, scope="logits")


class _OneOf:
    """Predictions of which one is meant, unless the caller asks for other outputs."""

    _MEANT: ClassVar[str]

    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: Any = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """The class or the number of each example; with `outputs`, dicts of these predictions."""
        if outputs is not None:
            return BaseEstimator.predict(self, x, input_fn, batch_size, outputs, as_iterable)  # type: ignore[arg-type]
        return _one(self, self._MEANT, x, input_fn, batch_size, as_iterable)


class Classes(_OneOf):
    """Predictions of classifiers."""

    _MEANT = "classes"

    def predict_classes(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True
    ) -> Any:
        """The class of each example."""
        return _one(self, "classes", x, input_fn, batch_size, as_iterable)

    def predict_proba(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True
    ) -> Any:
        """The probabilities of all classes for each example."""
        return _one(self, "probabilities", x, input_fn, batch_size, as_iterable)


class Scores(_OneOf):
    """Predictions of regressors."""

    _MEANT = "scores"

    def predict_scores(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True
    ) -> Any:
        """The number that is predicted for each example."""
        return _one(self, "scores", x, input_fn, batch_size, as_iterable)


def classes_head(n_classes: int = 2, weight_column_name: str | None = None, label_keys: Any = None) -> Head:
    """The head of a classifier."""
    return classifier_head(n_classes, weight_column_name, label_keys, _BATCH_MEAN)


def numbers_head(label_dimension: int = 1, weight_column_name: str | None = None) -> Head:
    """The head of a model of numbers."""
    return RegressionHead(label_dimension, weight_column_name, _BATCH_MEAN)


_TRAINING = "optimizer {}gradient_clip_norm enable_centered_bias"
_DEEP = _TRAINING.format("activation_fn dropout ") + " config feature_engineering_fn"


class DNNClassifier(Classes, _Deep):
    """A classifier with hidden layers of `hidden_units` units, see `sg.estimator.DNNClassifier`.

    `gradient_clip_norm`: the greatest global norm of the gradients.
    """

    __init__ = made_of(
        _Deep,
        f"hidden_units feature_columns model_dir n_classes weight_column_name {_DEEP} "
        "embedding_lr_multipliers input_layer_min_slice_size label_keys",
        head=classes_head,
    )


class DNNRegressor(Scores, _Deep):
    """A model of numbers with hidden layers of `hidden_units` units, see `DNNClassifier`."""

    __init__ = made_of(
        _Deep,
        f"hidden_units feature_columns model_dir weight_column_name {_DEEP} label_dimension "
        "embedding_lr_multipliers input_layer_min_slice_size",
        head=numbers_head,
    )


class LinearClassifier(Classes, _Linear):
    """A classifier whose logits are weighted sums of columns, see `sg.estimator.LinearClassifier`."""

    __init__ = made_of(
        _Linear,
        f"feature_columns model_dir n_classes weight_column_name {_TRAINING.format('')} _joint_weight "
        "config feature_engineering_fn label_keys",
        head=classes_head,
    )


class LinearRegressor(Scores, _Linear):
    """A model whose predictions are weighted sums of columns, see `sg.estimator.LinearRegressor`."""

    __init__ = made_of(
        _Linear,
        f"feature_columns model_dir weight_column_name {_TRAINING.format('')} label_dimension "
        "_joint_weights config feature_engineering_fn",
        head=numbers_head,
    )


def _one(model: Any, key: str, x: Any, input_fn: Any, batch_size: int | None, as_iterable: bool) -> Any:
    """One of the predictions, without its name."""
    found = BaseEstimator.predict(model, x, input_fn, batch_size, [key], as_iterable)
    return (example[key] for example in found) if as_iterable else found[key]
