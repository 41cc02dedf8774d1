"""Estimators and optimizers made of others: with more metrics, features in predictions, clipped gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from staticgraph import sparse, train
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.clip import clip_by_global_norm
from staticgraph.sparse.tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from staticgraph.tf1.estimator.estimator import Estimator
from staticgraph.tf1.estimator.export.outputs import PredictOutput
from staticgraph.tf1.estimator.spec import ModeKeys
from staticgraph.tf1.estimator.user_functions import parameters

_OF_METRICS = {"features", "labels", "predictions", "config"}


def add_metrics(estimator: Estimator, metric_fn: Callable[..., Mapping[str, Any]]) -> Estimator:
    """Make an estimator that evaluates more metrics.

    Args:
        estimator: The estimator whose model it is.
        metric_fn: A function of some of `features`, `labels`, `predictions` and `config`. It returns pairs
            (value, update operation) by name, as those of `sg.metrics`. It may replace metrics.

    Raises:
        ValueError: The function has other parameters.

    >>> import staticgraph as sg
    >>> net = sg.estimator.LinearRegressor([sg.feature_column.numeric_column("x")])
    >>> def error(labels, predictions):
    ...     return {"mae": sg.metrics.mean_absolute_error(labels, predictions["predictions"])}
    >>> net = sg.estimator.add_metrics(net, error)
    >>> make_input = sg.estimator.inputs.numpy_input_fn
    >>> import numpy as np
    >>> x = np.float32([1.0, 3.0])
    >>> float(net.evaluate(make_input({"x": x}, x[:, None], shuffle=False))["mae"])
    2.0
    """
    names = parameters(metric_fn)
    if others := sorted(names - _OF_METRICS - {"self"}):
        hint = f"an estimator passes {', '.join(sorted(_OF_METRICS))}"
        raise misuse(ValueError, f"metric_fn ({metric_fn}) has following not expected args: {others}", hint)

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        given = {
            "features": features, "labels": labels, "predictions": spec.predictions, "config": config,
        }  # fmt: skip
        more = metric_fn(**{name: value for name, value in given.items() if name in names})
        return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **more})

    return Estimator(model_fn, estimator.model_dir, estimator.config, warm_start_from=estimator._warm_start)


def forward_features(
    estimator: Estimator, keys: Any = None, sparse_default_values: Mapping[str, Any] | None = None
) -> Estimator:
    """Make an estimator whose predictions have features in them, such as the key of each example.

    Args:
        estimator: The estimator whose model it is.
        keys: The name of a feature, or a list of names. Default: all features.
        sparse_default_values: For each sparse feature what stands where it has no value.

    Raises:
        TypeError: A key is not a string.
        ValueError: While the model is built, for a key that no feature has or that a prediction has, for
            predictions that are not a dict, and for a sparse feature without a default.
    """
    wanted = [keys] if isinstance(keys, str) else keys
    if wanted is not None and not isinstance(wanted, list | tuple):
        kind = type(keys).__name__
        raise misuse(TypeError, f"keys should be either a string or a list of strings. Given: {kind}")
    if others := [key for key in wanted or () if not isinstance(key, str)]:
        text = f"All items in the given keys list should be a string, and not {others[0]!r}"
        raise misuse(TypeError, text)
    defaults = sparse_default_values or {}

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        spec = estimator.model_fn(features, labels, mode, config)
        if spec.predictions is None:
            return spec
        more = _forwarded(features, spec.predictions, wanted, defaults)
        for key in ("predict", "serving_default"):
            output = (spec.export_outputs or {}).get(key)
            if isinstance(output, PredictOutput):
                output.outputs.update(more)
        return spec._replace(predictions={**spec.predictions, **more})

    return Estimator(model_fn, estimator.model_dir, estimator.config)


def _forwarded(features: Any, predictions: Any, keys: Any, defaults: Mapping[str, Any]) -> dict[str, Tensor]:
    """The features that predictions get, each as a dense tensor."""
    if not isinstance(predictions, dict):
        kind = type(predictions).__name__
        raise misuse(
            ValueError, f"Predictions should be a dict to be able to forward features. Given: {kind}"
        )
    found = {}
    for key in features if keys is None else keys:
        if key not in features:
            hint = f"the features are {', '.join(features)}"
            raise misuse(ValueError, f'keys should be exist in features. Key "{key}" is not', hint)
        if key in predictions:
            text = f"Cannot forward feature key ({key}). Since it does exist in predictions."
            raise misuse(ValueError, text)
        feature = convert_to_tensor_or_sparse_tensor(features[key])
        if key in defaults:
            if not isinstance(feature, SparseTensor):
                raise misuse(ValueError, f"Feature ({key}) is expected to be a `SparseTensor`.")
            feature = sparse.to_dense(feature, default_value=defaults[key])
        if not isinstance(feature, Tensor):
            hint = f"sparse_default_values={{{key!r}: ...}}, or leave it out by keys"
            raise misuse(ValueError, f"Feature ({key}) should be a Tensor, and is {feature}", hint)
        found[key] = feature
    return found


class _Transformed(train.Optimizer):
    """An optimizer that applies gradients after a function has changed them."""

    def __init__(self, optimizer: Any, transform: Callable[[list[Any]], list[Any]], name: str) -> None:
        super().__init__(use_locking=False, name=name)
        self._optimizer, self._transform = optimizer, transform

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """`compute_gradients` of the optimizer."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Change the gradients, and apply them."""
        return self._optimizer.apply_gradients(self._transform(list(grads_and_vars)), global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """A slot of the optimizer."""
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """The names of the optimizer's slots."""
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self) -> Any:
        """The variables of the optimizer."""
        return self._optimizer.variables()


def clip_gradients_by_norm(optimizer: Any, clip_norm: Any) -> train.Optimizer:
    """Make an optimizer that scales all gradients so that their global norm is at most `clip_norm`.

    Args:
        optimizer: The optimizer that applies them.
        clip_norm: The largest norm, a number or a scalar.

    >>> import staticgraph as sg
    >>> w = sg.Variable([3.0, 4.0])
    >>> clipped = sg.contrib.estimator.clip_gradients_by_norm(sg.train.GradientDescentOptimizer(1.0), 1.0)
    >>> step = clipped.minimize(sg.nn.l2_loss(w))
    >>> with sg.Session() as sess:
    ...     _ = sess.run(sg.global_variables_initializer())
    ...     _ = sess.run(step)
    ...     [round(float(value), 2) for value in sess.run(w)]
    [2.4, 3.2]
    """

    def clipped(pairs: list[Any]) -> list[Any]:
        gradients, variables = zip(*pairs, strict=True)
        return list(zip(clip_by_global_norm(gradients, clip_norm)[0], variables, strict=True))

    return _Transformed(optimizer, clipped, f"ClipByNorm{optimizer.get_name()}")
