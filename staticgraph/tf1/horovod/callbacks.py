"""Horovod's callbacks for models of Keras (`horovod.keras.callbacks`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.distribute.collectives import broadcast_variables
from staticgraph.distribute.host_numbers import means_of_all
from staticgraph.distribute.world import rank, size
from staticgraph.tf1.keras import backend
from staticgraph.tf1.keras.callbacks.base import Callback


class BroadcastGlobalVariablesCallback(Callback):
    """Gives the model and its optimizer the variables of one process when training begins.

    Args:
        root_rank: The rank of that process.
        device: Without effect.
    """

    def __init__(self, root_rank: int, device: str = "") -> None:
        super().__init__()
        self.root_rank = root_rank

    def on_train_begin(self, logs: Any = None) -> None:
        """Give the variables."""
        session = backend.get_session()
        listed = [*self.model.weights, *self.model.optimizer.weights]
        with session.graph.as_default():
            given = broadcast_variables(listed, self.root_rank)
        session.run(given)


class MetricAverageCallback(Callback):
    """Replaces the metrics of an epoch by their means over all processes, for the callbacks after it.

    Args:
        device: Without effect.
    """

    def __init__(self, device: str = "") -> None:
        super().__init__()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Replace the metrics."""
        if logs:
            logs.update(means_of_all(logs))


class LearningRateScheduleCallback(Callback):
    """Multiplies the learning rate with which training began.

    Args:
        multiplier: A number, or a function of the epoch that gives one.
        start_epoch: The first epoch in which it does so.
        end_epoch: The first epoch in which it does so no more; None, the default, for none.
        staircase: If True, the default, once in an epoch; else in each batch, by a fraction of the epoch.
        momentum_correction: If True, the default, scale the momentum in a batch whose rate is another one.
        steps_per_epoch: The batches of an epoch; by default those that the model tells.
        initial_lr: The learning rate that is multiplied; by default the optimizer's.

    Raises:
        ValueError: The number of batches is needed and not known.
    """

    def __init__(
        self,
        multiplier: float | Callable[[float], float],
        start_epoch: int = 0,
        end_epoch: int | None = None,
        staircase: bool = True,
        momentum_correction: bool = True,
        steps_per_epoch: int | None = None,
        initial_lr: float | None = None,
    ) -> None:
        super().__init__()
        self.start_epoch, self.end_epoch = start_epoch, end_epoch
        self.staircase = staircase if callable(multiplier) else True
        self.momentum_correction, self.steps_per_epoch = momentum_correction, steps_per_epoch
        self.initial_lr = initial_lr
        self.multiplier: Callable[[float], float] = (
            multiplier if callable(multiplier) else lambda epoch: multiplier
        )
        self._epoch = 0
        self._momentum: float | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Note the learning rate."""
        if self.initial_lr is None:
            self.initial_lr = float(backend.get_value(self.model.optimizer.lr))
        if not self.staircase and not self.steps_per_epoch:
            samples, batch = self.params.get("samples"), self.params.get("batch_size")
            steps = self.params.get("steps") or (samples // batch if samples and batch else None)
            if not steps:
                raise misuse(ValueError, "steps_per_epoch is not known", "give it to the callback")
            self.steps_per_epoch = steps

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Note the epoch."""
        self._epoch = epoch

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Set the learning rate."""
        if self._epoch < self.start_epoch or (self.end_epoch is not None and self._epoch >= self.end_epoch):
            return
        if self.staircase and batch == 0:
            self._set(self._epoch)
        elif not self.staircase:
            assert self.steps_per_epoch is not None
            self._set(self._epoch + batch / self.steps_per_epoch)

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Set the momentum back."""
        if self._momentum is not None:
            backend.set_value(self.model.optimizer.momentum, self._momentum)
            self._momentum = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Tell the learning rate with the metrics."""
        if logs is not None:
            logs["lr"] = float(backend.get_value(self.model.optimizer.lr))

    def _set(self, epoch: float) -> None:
        optimizer = self.model.optimizer
        assert self.initial_lr is not None
        old, new = float(backend.get_value(optimizer.lr)), self.initial_lr * self.multiplier(epoch)
        backend.set_value(optimizer.lr, new)
        if self.momentum_correction and hasattr(optimizer, "momentum") and old and new != old:
            self._momentum = float(backend.get_value(optimizer.momentum))
            backend.set_value(optimizer.momentum, self._momentum * new / old)


class LearningRateWarmupCallback(LearningRateScheduleCallback):
    """Raises the learning rate from a part for one process to the whole, in the first epochs.

    Args:
        warmup_epochs: The number of these epochs.
        momentum_correction: As for `LearningRateScheduleCallback`.
        steps_per_epoch: As for `LearningRateScheduleCallback`.
        verbose: 1 to have the first process print the rate in the end.
        initial_lr: The learning rate in the end; by default the optimizer's.
    """

    def __init__(
        self,
        warmup_epochs: int = 5,
        momentum_correction: bool = True,
        steps_per_epoch: int | None = None,
        verbose: int = 0,
        initial_lr: float | None = None,
    ) -> None:
        def multiplier(epoch: float) -> float:
            assert self.steps_per_epoch is not None
            done = (epoch + 1.0 / self.steps_per_epoch) / warmup_epochs
            return (1.0 + done * (size() - 1)) / size()

        super().__init__(
            multiplier, 0, warmup_epochs, False, momentum_correction, steps_per_epoch, initial_lr
        )
        self.verbose = verbose

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Tell the learning rate, and print it after the last of these epochs."""
        super().on_epoch_end(epoch, logs)
        if self.end_epoch is not None and epoch == self.end_epoch - 1 and self.verbose and rank() == 0:
            rate = float(backend.get_value(self.model.optimizer.lr))
            print(f"\nEpoch {epoch + 1}: finished gradual learning rate warmup to {rate:g}.")
