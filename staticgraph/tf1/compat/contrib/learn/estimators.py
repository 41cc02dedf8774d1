"""`tf.contrib.learn`: estimators as they were before `tf.estimator`, which take arrays as well as
functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.estimator.spec import EstimatorSpec
from staticgraph.tf1.estimator.user_functions import parameters

__all__ = [
    "BaseEstimator",
    "Estimator",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "PredictionKey",
    "RunConfig",
    "SKCompat",
    "infer_real_valued_columns_from_input",
    "infer_real_valued_columns_from_input_fn",
]

_DEFAULT_SECS = 600


class ModeKeys:
    """The purposes for which a model is built: training, evaluation, inference."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"


class PredictionKey:
    """The names of predictions."""

    CLASSES = "classes"
    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    LOGISTIC = "logistic"
    SCORES = "scores"
    GENERIC = "output"


class ModelFnOps(NamedTuple):
    """The operations of a model, as its model function returns them; see `sg.estimator.EstimatorSpec`."""

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Any = None
    output_alternatives: Any = None
    training_chief_hooks: Any = None
    training_hooks: Any = None
    scaffold: Any = None

    def estimator_spec(self, default_serving_output_alternative_key: str | None = None) -> EstimatorSpec:
        """Return the specification for `sg.estimator`."""
        return EstimatorSpec(
            self.mode,
            self.predictions,
            self.loss,
            self.train_op,
            self.eval_metric_ops,
            training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )


class MetricSpec:
    """A metric: a function of predictions, labels and weights, and which of the predictions and labels it
    takes.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: str | None = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        self.metric_fn = metric_fn
        self.prediction_key = prediction_key
        self.label_key = label_key
        self.weight_key = weight_key

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """The metric, of features, labels and predictions. ValueError if it is not clear which."""
        names = parameters(self.metric_fn)
        given = {"predictions": _picked(predictions, self.prediction_key, "prediction_key")}
        given["labels" if "labels" in names or "targets" not in names else "targets"] = _picked(
            labels, self.label_key, "label_key"
        )
        if self.weight_key is not None:
            given["weights"] = inputs[self.weight_key]
        return self.metric_fn(**given)


class RunConfig(sg.estimator.RunConfig):
    """`sg.estimator.RunConfig` with settings of one machine's hardware, which are kept and change nothing."""

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int = 100,
        save_checkpoints_secs: Any = 0,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: str | None = None,
        session_config: Any = None,
        session_creation_timeout_secs: float = 7200,
    ) -> None:
        if save_checkpoints_secs == 0:  # nothing is said
            save_checkpoints_secs = None if save_checkpoints_steps else _DEFAULT_SECS
        super().__init__(
            model_dir,
            tf_random_seed,
            save_summary_steps,
            save_checkpoints_steps,
            save_checkpoints_secs,
            session_config,
            keep_checkpoint_max,
            keep_checkpoint_every_n_hours,
            log_step_count_steps,
            protocol=protocol,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )
        vars(self).update(
            num_cores=num_cores,
            log_device_placement=log_device_placement,
            gpu_memory_fraction=gpu_memory_fraction,
        )
        vars(self).update(master=master or "", evaluation_master=evaluation_master)


class BaseEstimator:
    """Common base of the estimators, which differ in the model that `_model_fn` builds."""

    def __init__(self, model_dir: Any = None, config: Any = None) -> None:
        self._estimator = sg.estimator.Estimator(self._spec, model_dir, config)
        self._metrics: Mapping[Any, Any] = {}

    def _model_fn(self, features: Any, labels: Any, mode: str) -> ModelFnOps:
        raise NotImplementedError

    model_dir: str = read_only("estimator.model_dir", "The folder of the checkpoints.")
    config: Any = read_only("estimator.config")

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Any = None,
        max_steps: int | None = None,
    ) -> BaseEstimator:
        """Train with arrays, in an order drawn anew for each epoch, or with what `input_fn` gives.

        `batch_size`: of arrays, by default all at once. `steps` and `max_steps`: see `Estimator.train` of
        `sg.estimator`. `monitors`: hooks. ValueError for arrays and a function, and for neither.
        """
        data = _as_input(x, y, input_fn, batch_size, None, is_shuffled=True)
        self._estimator.train(data, monitors, steps, max_steps)
        return self

    def partial_fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        steps: int = 1,
        batch_size: int | None = None,
        monitors: Any = None,
    ) -> BaseEstimator:
        """`fit` for one step, or a few."""
        return self.fit(x, y, input_fn, steps, batch_size, monitors)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        feed_fn: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Any = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:
        """The metrics over all batches, or `steps` of them.

        `metrics`: further ones by name: a `MetricSpec`, or a function of predictions and labels.
        """
        self._metrics = metrics or {}
        data = _as_input(x, y, input_fn, batch_size, 1)
        return self._estimator.evaluate(data, steps, hooks, checkpoint_path, name)

    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: Any = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """The predictions for each example, one after the other; as arrays without `as_iterable`.

        `outputs`: only these of the predictions.
        """
        found = self._estimator.predict(_as_input(x, None, input_fn, batch_size, 1), outputs)
        if as_iterable:
            return found
        examples = list(found)
        if examples and isinstance(examples[0], Mapping):
            return {key: np.stack([example[key] for example in examples]) for key in examples[0]}
        return np.stack(examples)

    def get_variable_names(self) -> list[str]:
        """The names in the latest checkpoint."""
        return self._estimator.get_variable_names()

    def get_variable_value(self, name: str) -> Any:
        """A variable in the latest checkpoint."""
        return self._estimator.get_variable_value(name)

    def _spec(self, features: Any, labels: Any, mode: str) -> EstimatorSpec:
        made = self._model_fn(features, labels, mode)
        metrics = dict(made.eval_metric_ops or {})
        if mode == ModeKeys.EVAL:
            for name, metric in self._metrics.items():
                known = metric if isinstance(metric, MetricSpec) else MetricSpec(metric)
                metrics[name] = known.create_metric_ops(features, labels, made.predictions)
        return made._replace(eval_metric_ops=metrics).estimator_spec()


class Estimator(BaseEstimator):
    """A model that a function builds.

    `model_fn(features, labels, mode, params, config, model_dir)` takes those of the parameters that it
    wants (`targets` is another name of the labels), and returns `ModelFnOps`, or predictions, loss and
    training step. `feature_engineering_fn(features, labels)`: what is done to both before. The others: see
    `sg.estimator.Estimator`.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        if not callable(model_fn):
            raise misuse(ValueError, f"model_fn must be a function, and not {model_fn!r}")
        self._user_model_fn = model_fn
        self._engineer = feature_engineering_fn
        self.params = params
        super().__init__(model_dir, config)

    def _model_fn(self, features: Any, labels: Any, mode: str) -> ModelFnOps:
        if self._engineer is not None:
            features, labels = self._engineer(features, labels)
        given = {
            "labels": labels,
            "targets": labels,
            "mode": mode,
            "params": self.params,
            "config": self.config,
            "model_dir": self.model_dir,
        }
        names = parameters(self._user_model_fn)
        _, *first = names_in_order(self._user_model_fn)
        if not {"labels", "targets"} & names and first:  # by position, whatever it is called
            given[first[0]] = labels
        made = self._user_model_fn(
            features, **{name: value for name, value in given.items() if name in names}
        )
        if isinstance(made, ModelFnOps):
            return made
        if not isinstance(made, list | tuple) or len(made) != 3:
            text = f"Unrecognized value returned by model_fn, please return ModelFnOps: {made!r}"
            raise misuse(ValueError, text)
        predictions, loss, train_op = made
        if mode == ModeKeys.INFER:
            loss = train_op = None
        return ModelFnOps(mode, predictions, loss, train_op)


class SKCompat:
    """An estimator in the manner of scikit-learn: `fit`, `predict` and `score` take arrays."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Any = None,
    ) -> SKCompat:
        """`BaseEstimator.fit`."""
        self._estimator.fit(x, y, None, steps, batch_size, monitors, max_steps)
        return self

    def predict(self, x: Any, batch_size: int = 128, outputs: Any = None) -> Any:
        """The predictions, as arrays."""
        return self._estimator.predict(x, None, batch_size, outputs, as_iterable=False)

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """`BaseEstimator.evaluate`."""
        found: dict[str, Any] = self._estimator.evaluate(
            x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name
        )
        return found


def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """A column of numbers for an array, or for each of a dict of arrays."""
    return _real_valued({key: np.asarray(value) for key, value in _by_name(x).items()})


def infer_real_valued_columns_from_input_fn(input_fn: Callable[[], Any]) -> list[Any]:
    """A column of numbers for each feature that a function gives."""
    with sg.Graph().as_default():
        features = input_fn()
        return _real_valued(_by_name(features[0] if isinstance(features, tuple) else features))


def names_in_order(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters, first to last."""
    known = parameters(function)
    code = getattr(function, "__code__", None)
    return sorted(known) if code is None else [name for name in code.co_varnames if name in known]


def _real_valued(features: Mapping[str, Any]) -> list[Any]:
    columns = []
    for key in sorted(features):
        feature = features[key]
        size = int(np.prod([int(n) for n in feature.shape[1:]], initial=1))
        dtype = sg.as_dtype(feature.dtype)
        if not (dtype.is_floating or dtype.is_integer):
            text = f"cannot infer a real-valued column for the feature {key!r} of dtype {dtype}"
            raise misuse(ValueError, text)
        columns.append(sg.feature_column.numeric_column(key, (size,), dtype=dtype))
    return columns


def _by_name(features: Any) -> Mapping[str, Any]:
    """Features by name; a single one has the empty name."""
    return features if isinstance(features, Mapping) else {"": features}


def _as_input(
    x: Any, y: Any, input_fn: Any, batch_size: int | None, epochs: int | None, is_shuffled: bool = False
) -> Callable[[], Any]:
    """An input function. ValueError if there are both arrays and a function, or neither."""
    if (x is None) == (input_fn is None):
        raise misuse(ValueError, "one of x and input_fn must be given, and not both")
    if input_fn is not None:
        given: Callable[[], Any] = input_fn
        return given
    arrays = {key: np.asarray(value) for key, value in x.items()} if isinstance(x, Mapping) else np.asarray(x)
    labels = {key: np.asarray(value) for key, value in y.items()} if isinstance(y, Mapping) else y
    labels = labels if labels is None or isinstance(labels, dict) else np.asarray(labels)
    count = len(next(iter(arrays.values()))) if isinstance(arrays, dict) else len(arrays)
    return sg.estimator.inputs.numpy_input_fn(arrays, labels, batch_size or count, epochs, is_shuffled)


def _picked(values: Any, key: str | None, what: str) -> Any:
    if not isinstance(values, Mapping):
        return values
    if key is None and len(values) == 1:
        return next(iter(values.values()))
    if key not in values:
        text = f"MetricSpec needs a {what}, one of {', '.join(map(str, values))}; it is {key!r}"
        raise misuse(ValueError, text)
    return values[key]
