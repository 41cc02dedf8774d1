"""Heads: what becomes of a model's logits, which is predictions, a loss, metrics and a training step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from staticgraph import nn, train
from staticgraph.arrays import array_ops, creation
from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import ones_like, zeros_like
from staticgraph.arrays.indexing import gather
from staticgraph.arrays.sorting import argmax
from staticgraph.building.framework import GraphKeys, control_dependencies, get_collection, name_scope
from staticgraph.building.inputs import constant, convert_to_tensor, group, identity
from staticgraph.compiler.graph.dtypes import float32, string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.control_flow.assertions import Assert
from staticgraph.domains import strings
from staticgraph.mathematics.math_ops import add_n, greater_equal, less_equal, logical_and, maximum
from staticgraph.mathematics.reductions import reduce_all, reduce_sum
from staticgraph.nn.activation import sigmoid
from staticgraph.tf1 import metrics as streaming
from staticgraph.tf1 import summary
from staticgraph.tf1.estimator.export.outputs import (
    ClassificationOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
)
from staticgraph.tf1.estimator.parsing import as_weight_column
from staticgraph.tf1.estimator.spec import DEFAULT_SERVING, EstimatorSpec, ModeKeys
from staticgraph.tf1.feature_column.columns import Features
from staticgraph.tf1.feature_column.vocabulary import places
from staticgraph.train.losses import Reduction, compute_weighted_loss, mean_squared_error

_BATCH_MEAN = "sum_over_batch_size"
# How Keras calls the ways to reduce, which these heads were given in its words.
_IN_OUR_WORDS = {_BATCH_MEAN: Reduction.SUM_OVER_BATCH_SIZE, "sum": Reduction.SUM}
Metrics = dict[str, tuple[Any, Any]]


class Losses(NamedTuple):
    """The loss of a batch, what it is made of, and the labels as numbers."""

    total: Any
    each: Any
    weights: Any
    labels: Any


class Head(ABC):
    """Head of a model: makes predictions, losses and metrics of logits [batch, `logits_dimension`].

    Args:
        weight_column: A feature, or its column, with the weights of the examples in loss and metrics.
        loss_reduction: One of `sg.losses.Reduction`, or "sum" or "sum_over_batch_size".
        loss_fn: Another loss of each example, `loss_fn(labels, logits)`.
        name: The name scope of the operations, and a suffix of the names of metrics and summaries.

    Raises:
        ValueError: There is no such reduction, or it is `Reduction.NONE`.
    """

    logits_dimension: int

    def __init__(self, weight_column: Any, loss_reduction: str, loss_fn: Any, name: str | None) -> None:
        loss_reduction = _IN_OUR_WORDS.get(loss_reduction, loss_reduction)
        if loss_reduction not in Reduction.all() or loss_reduction == Reduction.NONE:
            _refuse(f"Invalid loss_reduction: {loss_reduction}")
        self._weight_column = weight_column
        self._reduction = loss_reduction
        self._loss_fn = loss_fn
        self.name = name

    @abstractmethod
    def predictions(self, logits: Any) -> dict[str, Any]:
        """The predictions by name."""

    @abstractmethod
    def signatures(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        """Return the outputs of an exported model, by signature."""

    @abstractmethod
    def numbers(self, labels: Any) -> Any:
        """The labels as numbers that the loss takes."""

    @abstractmethod
    def each_loss(self, labels: Any, logits: Any) -> Any:
        """The loss of each example: [batch, 1], or [batch, logits_dimension]."""

    @abstractmethod
    def metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> Metrics:
        """Metrics besides the loss."""

    @property
    def label_dimension(self) -> int:
        """The number of values in a label."""
        return 1

    def losses(self, features: Any, logits: Any, labels: Any) -> Losses:
        """The loss of a batch. ValueError for labels or weights of another shape."""
        numbers = self.numbers(_as_columns(labels, self.label_dimension))
        each = (self._loss_fn or self.each_loss)(labels=numbers, logits=logits)
        weights: Any = 1.0
        if self._weight_column is not None:
            weights = Features(features)[as_weight_column(self._weight_column)]
        total = compute_weighted_loss(each, weights, reduction=self._reduction)
        return Losses(total, each, weights, numbers)

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        update_ops: Any = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> EstimatorSpec:
        """The specification of a model with these logits.

        Training needs an `optimizer`, or a function from the loss to a training step. ValueError for
        neither or both, and for logits of another size.
        """
        with name_scope(self.name, "head"):
            logits = cast(convert_to_tensor(logits), float32)
            if logits.shape.ndims is not None and logits.shape[-1].value not in (None, self.logits_dimension):
                _refuse(
                    f"logits shape must be [D0, D1, ... DN, {self.logits_dimension}], got {logits.shape}."
                )
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(mode, predictions, export_outputs=self.signatures(predictions))
            losses = self.losses(features, logits, labels)
            penalty = add_n(list(regularization_losses)) if regularization_losses else None
            total = losses.total if penalty is None else losses.total + penalty
            if mode == ModeKeys.EVAL:
                with name_scope("metrics"):
                    metrics: Metrics = {"average_loss": streaming.mean(losses.each, losses.weights)}
                    metrics |= self.metrics(predictions, losses.labels, losses.weights)
                    if penalty is not None:
                        metrics["regularization_loss"] = streaming.mean(penalty)
                named = {self._key(key): metric for key, metric in metrics.items()}
                return EstimatorSpec(mode, predictions, total, eval_metric_ops=named)
            step = _training_step(total, optimizer, trainable_variables, train_op_fn, update_ops)
            summaries = {"loss": total, "regularization_loss": penalty}
            if self._reduction == Reduction.SUM:
                count = reduce_sum(losses.weights * ones_like(losses.each))
                summaries["average_loss"] = losses.total / count
        with name_scope(None):
            for key, value in summaries.items():
                if value is not None:
                    summary.scalar(self._key(key), value)
        return EstimatorSpec(mode, predictions, total, step)

    def _key(self, key: str) -> str:
        return f"{key}/{self.name}" if self.name else key


class BinaryClassHead(Head):
    """Two classes, by one logit: of labels 0 and 1, or of those in `label_vocabulary`.

    `thresholds`: probabilities for which accuracy, precision and recall are metrics too.
    """

    logits_dimension = 1
    summation_method = "careful_interpolation"  # of the area under precision and recall

    def __init__(
        self,
        weight_column: Any = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = _BATCH_MEAN,
        loss_fn: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        self._thresholds = tuple(thresholds or ())
        self._vocabulary = _checked_vocabulary(label_vocabulary, 2)

    def predictions(self, logits: Any) -> dict[str, Any]:
        both = array_ops.concat([zeros_like(logits), logits], axis=-1, name="two_class_logits")
        ids = array_ops.expand_dims(argmax(both, axis=-1, name="class_ids"), -1)
        return {
            "logits": logits,
            "logistic": sigmoid(logits, name="logistic"),
            "probabilities": nn.softmax(both, name="probabilities"),
            **_class_names(ids, logits, 2, self._vocabulary),
        }

    def signatures(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        classes = ClassificationOutput(predictions["probabilities"], predictions["all_classes"])
        return {
            DEFAULT_SERVING: classes,
            "classification": classes,
            "regression": RegressionOutput(predictions["logistic"]),
            "predict": PredictOutput(predictions),
        }

    def numbers(self, labels: Any) -> Any:
        if self._vocabulary is not None:
            labels = places(labels, self._vocabulary, name="class_id_lookup")
        return _checked_classes(cast(labels, float32), 2)

    def each_loss(self, labels: Any, logits: Any) -> Any:
        return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> Metrics:
        ids, probability = predictions["class_ids"], predictions["logistic"]
        share = streaming.mean(labels, weights, name="label/mean")
        found: Metrics = {
            "accuracy": streaming.accuracy(labels, ids, weights, name="accuracy"),
            "precision": streaming.precision(labels, ids, weights, name="precision"),
            "recall": streaming.recall(labels, ids, weights, name="recall"),
            "prediction/mean": streaming.mean(probability, weights, name="prediction/mean"),
            "label/mean": share,
            "accuracy_baseline": (maximum(share[0], 1.0 - share[0]), maximum(share[1], 1.0 - share[1])),
            "auc": streaming.auc(labels, probability, weights, name="auc"),
            "auc_precision_recall": streaming.auc(
                labels,
                probability,
                weights,
                curve="PR",
                name="auc_pr",
                summation_method=self.summation_method,
            ),
        }
        for threshold in self._thresholds:
            above = cast(greater_equal(probability, threshold), float32)
            at = f"positive_threshold_{threshold:g}"
            found[f"accuracy/{at}"] = streaming.accuracy(labels, above, weights)
            found[f"precision/{at}"] = streaming.precision(labels, above, weights)
            found[f"recall/{at}"] = streaming.recall(labels, above, weights)
        return found


class MultiClassHead(Head):
    """`n_classes` classes, by a logit for each: of labels from 0 on, or of those in `label_vocabulary`."""

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = _BATCH_MEAN,
        loss_fn: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        if n_classes is None or n_classes <= 2:
            _refuse(f"n_classes must be > 2: {n_classes}.", "use a binary head for two classes")
        self.logits_dimension = n_classes
        self._vocabulary = _checked_vocabulary(label_vocabulary, n_classes)

    def predictions(self, logits: Any) -> dict[str, Any]:
        ids = array_ops.expand_dims(argmax(logits, axis=-1, name="class_ids"), -1)
        return {
            "logits": logits,
            "probabilities": nn.softmax(logits, name="probabilities"),
            **_class_names(ids, logits, self.logits_dimension, self._vocabulary),
        }

    def signatures(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        classes = ClassificationOutput(predictions["probabilities"], predictions["all_classes"])
        return {DEFAULT_SERVING: classes, "classification": classes, "predict": PredictOutput(predictions)}

    def numbers(self, labels: Any) -> Any:
        if self._vocabulary is not None:
            if labels.dtype is not string:
                _refuse(f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}")
            labels = places(labels, self._vocabulary, name="class_id_lookup")
        elif not labels.dtype.is_integer:
            _refuse(f"Labels dtype should be integer. Instead got {labels.dtype}.")
        return _checked_classes(labels, self.logits_dimension)

    def each_loss(self, labels: Any, logits: Any) -> Any:
        labels = array_ops.squeeze(labels, -1)
        return array_ops.expand_dims(
            nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits), -1
        )

    def metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> Metrics:
        return {"accuracy": streaming.accuracy(labels, predictions["class_ids"], weights, name="accuracy")}


class RegressionHead(Head):
    """`label_dimension` numbers, which the logits are, or what `inverse_link_fn` makes of them."""

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = _BATCH_MEAN,
        loss_fn: Any = None,
        inverse_link_fn: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        if label_dimension < 1:
            _refuse(f"Invalid label_dimension {label_dimension}.")
        self.logits_dimension = label_dimension
        self._inverse_link = inverse_link_fn

    @property
    def label_dimension(self) -> int:
        return self.logits_dimension

    def predictions(self, logits: Any) -> dict[str, Any]:
        if self._inverse_link is None:
            return {"predictions": logits}
        return {"predictions": self._inverse_link(logits), "logits": logits}

    def signatures(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        numbers = RegressionOutput(predictions["predictions"])
        return {DEFAULT_SERVING: numbers, "regression": numbers, "predict": PredictOutput(predictions)}

    def numbers(self, labels: Any) -> Any:
        return cast(labels, float32)

    def each_loss(self, labels: Any, logits: Any) -> Any:
        return mean_squared_error(labels, logits, reduction=Reduction.NONE)

    def metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> Metrics:
        return {
            "prediction/mean": streaming.mean(predictions["predictions"], weights, name="prediction/mean"),
            "label/mean": streaming.mean(labels, weights),
        }


class _CannedBinaryHead(BinaryClassHead):
    """The head of classifiers such as `DNNClassifier`, which sum trapezoids, as TensorFlow's do."""

    summation_method = "trapezoidal"


def classifier_head(n_classes: int, weight_column: Any, label_vocabulary: Any, loss_reduction: str) -> Head:
    """The head of a classifier."""
    if n_classes == 2:
        return _CannedBinaryHead(weight_column, None, label_vocabulary, loss_reduction)
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction)


def _training_step(loss: Any, optimizer: Any, variables: Any, train_op_fn: Any, update_ops: Any) -> Any:
    if (optimizer is None) == (train_op_fn is None):
        _refuse("one of train_op_fn and optimizer must be set, and not both.")
    if optimizer is not None:
        step = optimizer.minimize(loss, train.get_global_step(), var_list=variables)
    else:
        step = train_op_fn(loss)
    updates = get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops
    return group(step, *updates) if updates else step


def _as_columns(labels: Any, size: int) -> Any:
    """Labels of shape [batch, size]; those of shape [batch] have one column. ValueError for others."""
    if labels is None:
        _refuse("You must provide a labels Tensor. Given: None.", "input_fn returns (features, labels)")
    labels = convert_to_tensor(labels)
    if labels.shape.ndims == 1:
        labels = array_ops.expand_dims(labels, -1)
    known = None if labels.shape.ndims is None else labels.shape[-1].value
    if known not in (None, size):
        hint = "labels are numbers of classes and not one-hot vectors; check n_classes or label_dimension"
        _refuse(f"Mismatched label shape. Expected labels dimension={size}.  Received {known}.", hint)
    return labels


def _checked_classes(labels: Any, count: int) -> Any:
    """The labels; an InvalidArgumentError while running where one is not from 0 to count - 1."""
    is_class = logical_and(greater_equal(labels, 0), less_equal(labels, count - 1))
    text = f"a label is not from 0 to {count - 1}: Labels must be >= 0 and <= n_classes - 1"
    with control_dependencies([Assert(reduce_all(is_class), [text])]):
        return identity(labels)


def _checked_vocabulary(vocabulary: Any, count: int) -> list[str] | None:
    if vocabulary is None:
        return None
    if not isinstance(vocabulary, list | tuple):
        _refuse(f"label_vocabulary should be a list or a tuple. Given type: {type(vocabulary).__name__}")
    if len(vocabulary) != count:
        _refuse(f"label_vocabulary has {len(vocabulary)} items, and there are {count} classes")
    return list(vocabulary)


def _class_names(ids: Any, logits: Any, count: int, vocabulary: list[str] | None) -> dict[str, Any]:
    """The classes that are predicted and all classes, as numbers and as strings."""
    numbers = creation.range(count)
    names = strings.as_string(numbers) if vocabulary is None else constant(vocabulary)
    batch = [array_ops.shape(logits)[0], 1]
    return {
        "class_ids": ids,
        "classes": strings.as_string(ids) if vocabulary is None else gather(names, ids),
        "all_class_ids": array_ops.tile(array_ops.expand_dims(numbers, 0), batch),
        "all_classes": array_ops.tile(array_ops.expand_dims(names, 0), batch),
    }


def _refuse(text: str, hint: str | None = None) -> NoReturn:
    raise misuse(ValueError, text, hint)
