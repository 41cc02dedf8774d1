"""`Callback`: what a program does between the steps of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from staticgraph.compiler.graph.checks.arguments import list_of
from staticgraph.compiler.graph.errors import misuse, shown


class Callback:
    """The base of callbacks: `fit`, `evaluate` and `predict` call the methods that a subclass defines.

    `logs` is a dict: the size and the metrics of a batch, or the metrics of an epoch, whose values a method
    may also change or add to. `self.model` is the model, `self.params` tells how it is being run.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> class Report(sg.keras.callbacks.Callback):
    ...     def on_epoch_end(self, epoch, logs=None):
    ...         print(epoch, sorted(logs))
    >>> model = sg.keras.Sequential([sg.keras.layers.Dense(1, input_shape=[2])])
    >>> model.compile("sgd", "mse")
    >>> _ = model.fit(np.ones([4, 2]), np.ones([4, 1]), verbose=0, callbacks=[Report()])
    0 ['loss']
    """

    _chief_worker_only: bool | None = None  # TensorFlow's name: True if only the first process calls it

    def __init__(self) -> None:
        self.model: Any = None
        self.params: dict[str, Any] = {}
        self.validation_data: Any = None

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params

    def set_model(self, model: Any) -> None:
        self.model = model

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None: ...

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None: ...

    def on_batch_begin(self, batch: int, logs: Any = None) -> None: ...

    def on_batch_end(self, batch: int, logs: Any = None) -> None: ...

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None: ...

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None: ...

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None: ...

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None: ...

    def on_train_begin(self, logs: Any = None) -> None: ...

    def on_train_end(self, logs: Any = None) -> None: ...

    def on_test_begin(self, logs: Any = None) -> None: ...

    def on_test_end(self, logs: Any = None) -> None: ...

    def on_predict_begin(self, logs: Any = None) -> None: ...

    def on_predict_end(self, logs: Any = None) -> None: ...


class CallbackList:
    """Several callbacks as one. Those that define nothing for batches are not called for them."""

    def __init__(self, callbacks: Iterable[Any], model: Any) -> None:
        self.callbacks = list_of(callbacks, "callbacks")
        self.model = model
        for callback in self.callbacks:
            if isinstance(callback, type) or not hasattr(callback, "set_model"):
                text = f"{shown(callback)} among the callbacks is no callback"
                raise misuse(TypeError, text, "make one with its arguments: EarlyStopping(patience=3)")
            callback.set_model(model)

    def set_params(self, params: dict[str, Any]) -> None:
        for callback in self.callbacks:
            callback.set_params(params)

    def watch_batches(self, kind: str) -> bool:
        """Return True if a callback defines a method for the batches of `kind`."""
        names = [f"on_{kind}_batch_begin", f"on_{kind}_batch_end"]
        names += ["on_batch_begin", "on_batch_end"] if kind == "train" else []
        return any(
            getattr(type(c), name, None) is not getattr(Callback, name) or name in vars(c)
            for c in self.callbacks
            for name in names
        )

    def on_batch_begin(self, kind: str, batch: int, size: int) -> None:
        self._call(f"on_{kind}_batch_begin", batch, {"batch": batch, "size": size})

    def on_batch_end(self, kind: str, batch: int, size: int, logs: dict[str, Any]) -> None:
        self._call(f"on_{kind}_batch_end", batch, {"batch": batch, "size": size, **logs})

    def on_epoch_begin(self, epoch: int) -> None:
        self._call("on_epoch_begin", epoch, {})

    def on_epoch_end(self, epoch: int, logs: dict[str, Any]) -> None:
        self._call("on_epoch_end", epoch, logs)

    def on_train_begin(self) -> None:
        self._call("on_train_begin", {})

    def on_train_end(self) -> None:
        self._call("on_train_end", {})

    def on_test_begin(self) -> None:
        self._call("on_test_begin", {})

    def on_test_end(self) -> None:
        self._call("on_test_end", {})

    def on_predict_begin(self) -> None:
        self._call("on_predict_begin", {})

    def on_predict_end(self) -> None:
        self._call("on_predict_end", {})

    def _call(self, name: str, *args: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, name)(*args)


class History(Callback):
    """The loss and the metrics of all epochs: what `fit` gives. `history.history["loss"]` is a list."""

    def __init__(self) -> None:
        super().__init__()
        self.epoch: list[int] = []
        self.history: dict[str, list[float]] = {}

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)

    def __repr__(self) -> str:
        return f"<History of {len(self.epoch)} epochs: {', '.join(self.history)}>"

    def plot(self, path: Any = None) -> Any:
        """Draw the loss and each metric over the epochs, with that of the validation data beside it.

        Args:
            path: A file to write, which ends with .svg; None writes nothing.

        Returns:
            The picture, which a notebook shows; `svg` is its text.
        """
        from staticgraph.draw.curves import Curves  # a program that draws nothing does not load it

        panels: dict[str, dict[str, list[float]]] = {}
        for name, values in self.history.items():
            panels.setdefault(name.removeprefix("val_"), {})[name] = [float(value) for value in values]
        curves = Curves(panels, "epoch")
        if path is not None:
            curves.save(path)
        return curves


class BaseLogger(Callback):
    """Means of the metrics of an epoch. `fit` does this by itself; it is here for programs that name it."""

    def __init__(self, stateful_metrics: Any = None) -> None:
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or ())
        self.totals: dict[str, float] = {}
        self.seen = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.seen, self.totals = 0, {}

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        found = dict(logs or {})
        size = found.pop("size", 0)
        self.seen += size
        for name, value in found.items():
            kept = name in self.stateful_metrics
            self.totals[name] = value if kept else self.totals.get(name, 0.0) + value * size

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        for name in self.params.get("metrics", ()):
            if logs is not None and name in self.totals:
                kept = name in self.stateful_metrics
                logs[name] = self.totals[name] if kept else self.totals[name] / max(self.seen, 1)
