"""Result of a model function: `EstimatorSpec`, the operations of a model in one of the modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from staticgraph import train
from staticgraph.arrays import array_ops
from staticgraph.building.framework import get_default_graph
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.tf1.estimator.export.outputs import ExportOutput, PredictOutput

DEFAULT_SERVING = "serving_default"


class ModeKeys:
    """The purposes for which a model is built: training, evaluation, prediction."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: dict[str, Any]
    export_outputs: dict[str, ExportOutput] | None
    training_chief_hooks: tuple[Any, ...]
    training_hooks: tuple[Any, ...]
    scaffold: Any
    evaluation_hooks: tuple[Any, ...]
    prediction_hooks: tuple[Any, ...]


class EstimatorSpec(_Fields):
    """The operations of a model, as its model function returns them.

    `mode`: one of `ModeKeys`. `predictions`: a tensor or a dict of them, needed to predict. `loss`: a
    number, needed to train and to evaluate. `train_op`: makes a training step, needed to train.
    `eval_metric_ops`: for each name a pair (value, update operation), as those of `sg.metrics`.
    `export_outputs`: signatures by name; by default, a model that predicts gives its predictions. The hooks
    are called while training (those of the chief too), evaluating and predicting. `scaffold`: how sessions
    begin.

    ValueError for what is missing, TypeError for what is of another type.

    >>> import staticgraph as sg
    >>> y = sg.constant([1.0])
    >>> sg.estimator.EstimatorSpec(sg.estimator.ModeKeys.PREDICT, predictions={"y": y}).predictions["y"] is y
    True
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Mapping[str, Any] | None = None,
        export_outputs: Mapping[str, ExportOutput] | None = None,
        training_chief_hooks: Any = None,
        training_hooks: Any = None,
        scaffold: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> EstimatorSpec:
        if mode == ModeKeys.TRAIN:
            _require(train_op is not None, "Missing train_op.")
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            _require(loss is not None, "Missing loss.")
        if mode == ModeKeys.PREDICT:
            _require(predictions is not None, "Missing predictions.")
        predictions = {} if predictions is None else predictions
        for key, value in predictions.items() if isinstance(predictions, Mapping) else [("", predictions)]:
            _require_tensor(value, f"predictions[{key}]" if key else "predictions")
        if train_op is not None and not isinstance(train_op, Operation | Tensor):
            _mistaken(f"train_op must be Operation or Tensor, given: {train_op!r}")
        if not isinstance(scaffold, train.Scaffold | None):
            _mistaken(f"scaffold must be tf.train.Scaffold. Given: {scaffold!r}")
        return super().__new__(
            cls,
            mode,
            predictions,
            None if loss is None else _scalar(loss),
            train_op,
            _metrics(eval_metric_ops),
            _signatures(_exported(export_outputs, predictions, mode)),
            _hooks(training_chief_hooks),
            _hooks(training_hooks),
            scaffold or train.Scaffold(),
            _hooks(evaluation_hooks),
            _hooks(prediction_hooks),
        )

    def _replace(self, **changes: Any) -> EstimatorSpec:
        """A specification with other values in some fields, but of the same mode."""
        _require(changes.get("mode", self.mode) == self.mode, "mode of EstimatorSpec cannot be changed.")
        return EstimatorSpec(**(self._asdict() | changes))


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise misuse(ValueError, f"EstimatorSpec: {text}")


def _mistaken(text: str) -> NoReturn:
    raise misuse(TypeError, f"EstimatorSpec: {text}")


def _require_tensor(value: Any, what: str) -> None:
    if not isinstance(value, Tensor | SparseTensor):
        _mistaken(f"{what} must be Tensor, given: {value!r}")
    graph = get_default_graph()
    _require(value.graph is graph, f"{what} with {value.name} must be from the default graph.")


def _scalar(loss: Any) -> Tensor:
    loss = convert_to_tensor(loss)
    _require_tensor(loss, "loss")
    _require(loss.shape.num_elements() in (None, 1), f"Loss must be scalar, given: {loss}")
    return loss if loss.shape.ndims == 0 else array_ops.reshape(loss, [])


def _metrics(given: Mapping[str, Any] | None) -> dict[str, Any]:
    if not isinstance(given, Mapping | None):
        _mistaken(f"eval_metric_ops must be a dict, given: {given!r}")
    for key, metric in (given or {}).items():
        if not isinstance(metric, tuple) or len(metric) != 2:
            text = "Values of eval_metric_ops must be (metric_value, update_op) tuples"
            _mistaken(f"{text}, given: {metric!r} for key: {key}")
    return dict(given or {})


def _exported(given: Any, predictions: Any, mode: str) -> Any:
    """The signatures: those that are given, or for a model that predicts its predictions."""
    is_default = given is None and mode == ModeKeys.PREDICT
    return {DEFAULT_SERVING: PredictOutput(predictions)} if is_default else given


def _signatures(given: Mapping[str, ExportOutput] | None) -> dict[str, ExportOutput] | None:
    """The signatures; one alone is also the default one. ValueError if none of several is."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        _mistaken(f"export_outputs must be dict, given: {given!r}")
    for value in given.values():
        if not isinstance(value, ExportOutput):
            _mistaken(f"Values in export_outputs must be ExportOutput objects. Given: {value!r}")
    outputs = dict(given)
    if len(outputs) == 1:
        outputs.setdefault(DEFAULT_SERVING, next(iter(given.values())))
    text = f"several export_outputs are given, and none of them is the default one, {DEFAULT_SERVING!r}"
    _require(not outputs or DEFAULT_SERVING in outputs, text)
    return outputs


def _hooks(given: Any) -> tuple[Any, ...]:
    hooks = tuple(given or ())
    for hook in hooks:
        if not isinstance(hook, train.SessionRunHook):
            _mistaken(f"All hooks must be SessionRunHook instances, given: {hook!r}")
    return hooks
