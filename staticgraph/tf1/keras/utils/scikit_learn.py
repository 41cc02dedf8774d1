"""Models as estimators of scikit-learn (TF1's `tf.keras.wrappers.scikit_learn`)."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.engine.sequential import Sequential
from staticgraph.tf1.keras.utils.arrays import to_categorical

__all__ = ["KerasClassifier", "KerasRegressor"]

_METHODS = ("fit", "predict", "predict_classes", "evaluate")


class _Wrapper:
    """A function that builds a model, and the arguments of the function and of the model's methods."""

    model: Any

    def __init__(self, build_fn: Callable[..., Any] | None = None, **sk_params: Any) -> None:
        self.build_fn = build_fn
        self.sk_params = sk_params
        self.check_params(sk_params)

    def check_params(self, params: dict[str, Any]) -> None:
        """Raise ValueError for a name that neither the function nor a method of the model takes."""
        takers = [self._builder, *(getattr(Sequential, name) for name in _METHODS)]
        for name in params:
            if name != "nb_epoch" and not any(_takes(taker, name) for taker in takers):
                raise misuse(ValueError, f"{name} is not a legal parameter")

    def get_params(self, **params: Any) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn asks for them. Arguments are not used."""
        return {**copy.deepcopy(self.sk_params), "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> Any:
        """Change parameters, and return this object. ValueError for an unknown one."""
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Build a new model and train it. Further arguments are those of `Sequential.fit`.

        Returns:
            The `History` of the training.
        """
        self.model = self._builder(**self.filter_sk_params(self._builder))
        y = self._targets(np.asarray(y))
        return self.model.fit(x, y, **{**copy.deepcopy(self.filter_sk_params(Sequential.fit)), **kwargs})

    def filter_sk_params(
        self, fn: Callable[..., Any], override: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the parameters that a function takes, and those of `override`."""
        taken = {name: value for name, value in self.sk_params.items() if _takes(fn, name)}
        return taken | (override or {})

    @property
    def _builder(self) -> Callable[..., Any]:
        """The function that builds a model: a subclass may be it."""
        mine: Any = self
        return mine.__call__ if self.build_fn is None else self.build_fn

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Targets as the loss of the model takes them."""
        loss = getattr(self.model.loss, "__name__", self.model.loss)
        return to_categorical(y) if loss == "categorical_crossentropy" and y.ndim != 2 else y


def _takes(function: Callable[..., Any], name: str) -> bool:
    return name in inspect.signature(function).parameters


class KerasClassifier(_Wrapper):
    """A classifier of scikit-learn, which builds a Keras model for each training.

    Args:
        build_fn: A function that returns a compiled model, or an object with `__call__`. Without it, a
            subclass defines `__call__`.
        **sk_params: Arguments of the function, and of the model's `fit`, `predict` and `evaluate`.

    Raises:
        ValueError: A parameter belongs to none of them.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> from staticgraph.compat import tf1 as tf
    >>> def build(units=4):
    ...     first = sg.keras.layers.Dense(units, activation="tanh", input_shape=[1])
    ...     model = sg.keras.Sequential([first, sg.keras.layers.Dense(1, activation="sigmoid")])
    ...     model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    ...     return model
    >>> net = tf.keras.wrappers.scikit_learn.KerasClassifier(build, units=8, epochs=2, verbose=0)
    >>> _ = net.fit(np.array([[0.0], [1.0]]), np.array(["no", "yes"]))
    >>> net.predict_proba(np.array([[0.5]])).shape, net.classes_.tolist()
    ((1, 2), ['no', 'yes'])
    """

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Train for labels of any kind: a vector, a column, or rows with a 1 for the class."""
        labels = np.array(y)
        if labels.ndim == 2 and labels.shape[1] > 1:
            self.classes_ = np.arange(labels.shape[1])
        elif labels.ndim in (1, 2):
            self.classes_ = np.unique(labels)
            labels = np.searchsorted(self.classes_, labels)
        else:
            raise misuse(
                ValueError, f"Invalid shape for y: {labels.shape}", "a vector, or [samples, classes]"
            )
        self.n_classes_ = len(self.classes_)
        return super().fit(x, labels, **kwargs)

    def predict(self, x: Any, **kwargs: Any) -> np.ndarray:
        """The most likely label of each sample."""
        chosen = self.model.predict_classes(x, **self.filter_sk_params(Sequential.predict_classes, kwargs))
        labels: np.ndarray = self.classes_[chosen]
        return labels

    def predict_proba(self, x: Any, **kwargs: Any) -> np.ndarray:
        """The probability of each class, [samples, classes]; also of both, if the model has one output."""
        found = self.model.predict_proba(x, **self.filter_sk_params(Sequential.predict_proba, kwargs))
        return np.hstack([1 - found, found]) if found.shape[1] == 1 else found

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """The share of samples that the model classifies as `y` says.

        Raises:
            ValueError: The model was compiled without `metrics=["accuracy"]`.
        """
        labels = self._targets(np.searchsorted(self.classes_, y))
        found = self.model.evaluate(x, labels, **self.filter_sk_params(Sequential.evaluate, kwargs))
        values = found if isinstance(found, list) else [found]
        for name, value in zip(self.model.metrics_names, values, strict=True):
            if name in ("accuracy", "acc"):
                return float(value)
        text = "The model is not configured to compute accuracy."
        raise misuse(ValueError, text, 'compile(..., metrics=["accuracy"])')


class KerasRegressor(_Wrapper):
    """A regressor of scikit-learn, which builds a Keras model for each training, see `KerasClassifier`."""

    def predict(self, x: Any, **kwargs: Any) -> np.ndarray:
        """The values for each sample, without axes of size one."""
        return np.squeeze(self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs)))

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """The loss on these data, negative: more is better."""
        found = self.model.evaluate(x, y, **self.filter_sk_params(Sequential.evaluate, kwargs))
        return -float(found[0] if isinstance(found, list) else found)


show_public_names(__name__)
