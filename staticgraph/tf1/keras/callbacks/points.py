"""A callback that writes metrics for the page of `python -m staticgraph watch`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from staticgraph.tf1.keras.callbacks.base import Callback

if TYPE_CHECKING:  # a program that writes nothing does not wait for it
    from staticgraph.tf1.summary.points import PointWriter


class Watch(Callback):
    """Writes the metrics of each batch and each epoch, so that they are seen at once.

    `python -m staticgraph watch` and TensorBoard show them: those of batches as `batch/loss` over the batches
    since the beginning, those of epochs as `epoch/loss` and `epoch/val_loss` over the epochs.

    Args:
        run: Folder of the run. A new one below `runs/` by default.
        every_n_batches: After how many batches metrics are written; 0 is at the end of epochs alone.
        histogram_freq: After how many epochs the weights are written as histograms; 0 is never.

    >>> import tempfile
    >>> model = sg.keras.Sequential([sg.keras.layers.Dense(1, input_shape=[2])])
    >>> model.compile("sgd", "mse")
    >>> watch = sg.keras.callbacks.Watch(tempfile.mkdtemp())
    >>> _ = model.fit(np.ones([8, 2]), np.ones([8, 1]), verbose=0, epochs=2, callbacks=[watch])
    """

    _chief_worker_only = True  # all would write the same file

    def __init__(
        self, run: str | os.PathLike[str] | None = None, every_n_batches: int = 1, histogram_freq: int = 0
    ) -> None:
        super().__init__()
        self.run, self.every_n_batches, self.histogram_freq = run, every_n_batches, histogram_freq
        self._writer: PointWriter | None = None
        self._batches = self._examples = 0

    def on_train_begin(self, logs: Any = None) -> None:
        if self._writer is None:
            from staticgraph.tf1.summary.points import PointWriter

            self._writer = PointWriter(self.run)
            self._writer.write({"graph": self.model.outputs[0].graph}, 0, timed=False)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        found = dict(logs or {})
        self._examples += int(found.pop("size", 0))
        found.pop("batch", None)
        if self._writer is not None and self.every_n_batches and self._batches % self.every_n_batches == 0:
            values = {f"batch/{name}": value for name, value in found.items()}
            self._writer.write(values, self._batches, self._examples)
            self._examples = 0
        self._batches += 1

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._writer is None:
            return
        values = {f"epoch/{name}": value for name, value in (logs or {}).items()}
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            weights = zip(self.model.weights, self.model.get_weights(), strict=True)
            values |= {variable.name.replace(":", "_"): value for variable, value in weights if value.ndim}
        self._writer.write(values, epoch, timed=False)
