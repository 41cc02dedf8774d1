"""Callbacks that watch a metric: to stop, to change the learning rate, to save the best model."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.keras import state
from staticgraph.tf1.keras.callbacks.base import Callback


class Best:
    """The best value of a metric up to now. `mode`: "min", "max", or "auto", which the name decides."""

    def __init__(self, monitor: str, mode: str = "auto", min_delta: float = 0.0) -> None:
        if mode not in ("auto", "min", "max"):
            raise misuse(ValueError, f"mode={mode!r} is not auto, min or max")
        name = monitor.removeprefix("val_")
        rises = mode == "max" or (mode == "auto" and ("acc" in name or name.startswith(("fmeasure", "auc"))))
        self.monitor, self.rises, self.min_delta = monitor, rises, abs(min_delta)
        self._better: Callable[[Any, Any], bool] = operator.gt if rises else operator.lt
        self.value = -math.inf if rises else math.inf

    def of(self, logs: Any) -> Any:
        """The value in the logs of an epoch; None, with a warning, if there is none."""
        found = (logs or {}).get(self.monitor)
        if found is None:
            known = ", ".join(logs or {})
            warnings.warn(f"there is no metric {self.monitor!r} to watch, only {known}", stacklevel=4)
        return found

    def improves(self, value: float) -> bool:
        """Return True if `value` is better than the best by more than `min_delta`."""
        return self._better(value - self.min_delta if self.rises else value + self.min_delta, self.value)


class EarlyStopping(Callback):
    """Stops training where a metric has not improved for `patience` epochs.

    `baseline` must be improved upon to begin with; `restore_best_weights` ends with those of the best epoch.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__()
        self.monitor, self.min_delta, self.patience, self.verbose = monitor, min_delta, patience, verbose
        self.mode, self.baseline, self.restore_best_weights = mode, baseline, restore_best_weights
        self.wait = self.stopped_epoch = 0
        self.best_weights: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        self._best = Best(self.monitor, self.mode, self.min_delta)
        self._best.value = self._best.value if self.baseline is None else self.baseline
        self.wait = self.stopped_epoch = 0

    best: float = read_only("best.value")

    def get_monitor_value(self, logs: Any) -> Any:
        """The value of the metric in the logs of an epoch."""
        return self._best.of(logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        value = self.get_monitor_value(logs)
        if value is None:
            return
        if self._best.improves(value):
            self._best.value, self.wait = value, 0
            self.best_weights = self.model.get_weights() if self.restore_best_weights else None
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True
            if self.best_weights is not None:
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: Any = None) -> None:
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


class ReduceLROnPlateau(Callback):
    """Multiplies the learning rate by `factor` where a metric has not improved for `patience` epochs."""

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if factor >= 1.0:
            raise misuse(ValueError, f"factor={factor} must be below 1")
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.mode, self.cooldown, self.min_lr = mode, cooldown, min_lr
        self.min_delta = kwargs.pop("epsilon", min_delta)
        self.wait = self.cooldown_counter = 0

    def on_train_begin(self, logs: Any = None) -> None:
        self._best = Best(self.monitor, self.mode, self.min_delta)
        self.wait = self.cooldown_counter = 0

    def in_cooldown(self) -> bool:
        """Return True if the last reduction is too recent for another one."""
        return self.cooldown_counter > 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        rate = float(state.get_value(self.model.optimizer.learning_rate))
        logs = {} if logs is None else logs
        logs["lr"] = rate
        value = self._best.of(logs)
        if value is None:
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self._best.improves(value):
            self._best.value, self.wait = value, 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience and rate > self.min_lr:
                reduced = max(rate * self.factor, self.min_lr)
                self.model.optimizer.learning_rate = reduced
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {reduced}.")
                self.cooldown_counter, self.wait = self.cooldown, 0


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch: `schedule(epoch)`, or `schedule(epoch, rate)`."""

    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        rate = float(state.get_value(self.model.optimizer.learning_rate))
        try:
            chosen = self.schedule(epoch, rate)
        except TypeError:  # a schedule of the epoch alone
            chosen = self.schedule(epoch)
        if not isinstance(chosen, float | np.floating):
            raise misuse(ValueError, f"the schedule gave {chosen!r} for epoch {epoch}, it must give a float")
        self.model.optimizer.learning_rate = float(chosen)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {chosen}.")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if logs is not None:
            logs["lr"] = float(state.get_value(self.model.optimizer.learning_rate))


class TerminateOnNaN(Callback):
    """Stops training where the loss is no number, or infinite."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class ModelCheckpoint(Callback):
    """Saves the model, or its weights alone, after each epoch, or after `save_freq` samples.

    `filepath` may hold {epoch} and the names of metrics, as in "weights.{epoch:02d}-{val_loss:.2f}". With
    `save_best_only` only where the watched metric has improved.
    """

    _chief_worker_only = True  # all would write the same file

    def __init__(
        self,
        filepath: Any,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: Any = "epoch",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.filepath, self.monitor, self.verbose = path_of(filepath, "filepath"), monitor, verbose
        self.save_best_only, self.save_weights_only = save_best_only, save_weights_only
        self.period, self.save_freq = kwargs.pop("period", 1), save_freq
        if kwargs:
            raise misuse(TypeError, f"ModelCheckpoint() got an unknown argument {sorted(kwargs)[0]!r}")
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise misuse(ValueError, f"save_freq={save_freq!r} is not 'epoch' or a number of samples")
        self._best = Best(monitor, mode)
        self._epochs = self._samples = self._epoch = 0

    best: float = read_only("best.value")

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        if isinstance(self.save_freq, int):
            self._samples += (logs or {}).get("size", 1)
            if self._samples >= self.save_freq:
                self._samples = 0
                self._save(self._epoch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._epochs += 1
        if self.save_freq == "epoch" and self._epochs >= self.period:
            self._epochs = 0
            self._save(epoch, logs)

    def _save(self, epoch: int, logs: Any) -> None:
        path = self.filepath.format(**{**(logs or {}), "epoch": epoch + 1})
        if self.save_best_only:
            value = self._best.of(logs)
            if value is None:
                return
            if not self._best.improves(value):
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1:05d}: {self.monitor} did not improve from {self.best:0.5f}")
                return
            self._best.value = value
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: saving model to {path}")
        save = self.model.save_weights if self.save_weights_only else self.model.save
        save(path, overwrite=True)
