"""Calls of the functions that users give estimators: `input_fn` and `model_fn`, with the parameters they
want.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from staticgraph import train
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.formats.tf.log import log
from staticgraph.tf1 import data
from staticgraph.tf1.estimator.spec import EstimatorSpec

_MODEL_PARAMETERS = ("features", "labels", "mode", "params", "config")


class DatasetInitializer(train.SessionRunHook):
    """Sets the iterator of an input to its beginning in each new session."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def begin(self) -> None:
        self._initializer = self._iterator.initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._initializer)


def parameters(function: Any) -> set[str]:
    """The names of a function's parameters, of what it calls too where it is an object or a `partial`."""
    found = inspect.signature(function).parameters.values()
    return {p.name for p in found if p.kind is not p.VAR_KEYWORD and p.kind is not p.VAR_POSITIONAL}


def check_model_fn(model_fn: Any, has_params: bool) -> None:
    """ValueError for parameters of `model_fn` that an estimator does not know, and for params that it
    ignores.
    """
    if not callable(model_fn):
        raise misuse(TypeError, f"model_fn is {shown(model_fn)}", "it is a function(features, labels, mode)")
    names = parameters(model_fn)
    if "features" not in names:
        _refuse(f"model_fn ({model_fn}) must include features argument.")
    if has_params and "params" not in names:
        _refuse(f"model_fn ({model_fn}) does not include params argument, but params is passed to Estimator.")
    if not has_params and "params" in names:
        log.warning(
            "Estimator's model_fn (%s) includes params argument, but params are not passed to Estimator.",
            model_fn,
        )
    if others := sorted(names - {*_MODEL_PARAMETERS, "self"}):
        hint = f"an estimator passes {', '.join(_MODEL_PARAMETERS)}"
        _refuse(f"model_fn ({model_fn}) has following not expected args: {others}", hint)


def call_model_fn(
    model_fn: Callable[..., Any],
    features: Any,
    labels: Any,
    mode: str,
    params: Any,
    config: Any,
    *kinds: type[Any],
) -> Any:
    """Call a model function and return its result: an `EstimatorSpec`, or one of other `kinds`.

    Raises:
        ValueError: The result is something else, or there are labels and the function does not take them.
    """
    given = {"labels": labels, "mode": mode, "params": params, "config": config}
    names = parameters(model_fn)
    if labels is not None and "labels" not in names:
        _refuse("model_fn does not take labels, but input_fn returns labels.")
    log.info("Calling model_fn.")
    made = model_fn(features=features, **{name: value for name, value in given.items() if name in names})
    log.info("Done calling model_fn.")
    if not isinstance(made, (EstimatorSpec, *kinds)):
        _refuse(f"model_fn should return an EstimatorSpec, and not {made!r}")
    return made


def call_input_fn(
    input_fn: Callable[..., Any], mode: str, params: Any, config: Any, strategy: Any = None
) -> Any:
    """Call an input function and return its result: tensors or a dataset.

    With a strategy, `input_context` tells the function which part of the input it makes.
    """
    given = {"mode": mode, "params": params, "config": config}
    names = parameters(input_fn)
    if "input_context" in names and hasattr(strategy, "input_context"):
        given["input_context"] = strategy.input_context()
        text = "The `input_fn` accepts an `input_context` which will be given by DistributionStrategy"
        log.info(text)
    return input_fn(**{name: value for name, value in given.items() if name in names})


def features_and_labels(made: Any) -> tuple[Any, Any, list[Any]]:
    """Features, labels or None, and hooks, of what an input function made."""
    hooks: list[Any] = []
    if isinstance(made, data.Dataset):
        iterator = made.make_initializable_iterator()
        hooks.append(DatasetInitializer(iterator))
        made = iterator.get_next()
    return (*split(made), hooks)


def split(made: Any) -> tuple[Any, Any]:
    """Return features, and labels or None, of an element of the input."""
    if not isinstance(made, list | tuple):
        return made, None
    if len(made) != 2:
        _refuse(f"input_fn should return (features, labels) as a len 2 tuple, and not {len(made)} things.")
    return made[0], made[1]


def _refuse(text: str, hint: str | None = None) -> NoReturn:
    raise misuse(ValueError, text, hint)
