"""Callbacks that write the metrics somewhere: a table, a server, TensorBoard; and functions as callbacks."""

from __future__ import annotations

import csv
import json
import os
import warnings
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.runtime.disk.atomic import writing
from staticgraph.tf1.keras.callbacks.base import Callback


class LambdaCallback(Callback):
    """A callback of functions that are given as arguments, such as `on_epoch_end=lambda epoch, logs: ...`."""

    def __init__(
        self,
        on_epoch_begin: Any = None,
        on_epoch_end: Any = None,
        on_batch_begin: Any = None,
        on_batch_end: Any = None,
        on_train_begin: Any = None,
        on_train_end: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        given = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_batch_begin": on_batch_begin,
            "on_batch_end": on_batch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
        }
        vars(self).update({name: made for name, made in (given | kwargs).items() if made is not None})


class CSVLogger(Callback):
    """Writes the metrics of each epoch as a line of a table."""

    _chief_worker_only = True  # all would write the same file

    def __init__(self, filename: Any, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename, self.separator, self.append = path_of(filename, "filename"), separator, append
        self.keys: list[str] | None = None
        self._file: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        self._has_head = self.append and os.path.exists(self.filename) and os.path.getsize(self.filename) > 0
        self._file = open(self.filename, "a" if self.append else "w", newline="")  # noqa: SIM115 - until the end

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        found = dict(logs or {})
        writer = csv.writer(self._file, delimiter=self.separator)
        with writing(self.filename):
            if self.keys is None:
                self.keys = sorted(found)
                if not self._has_head:
                    writer.writerow(["epoch", *self.keys])
            writer.writerow([epoch, *(found.get(key, "NA") for key in self.keys)])
            self._file.flush()

    def on_train_end(self, logs: Any = None) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class RemoteMonitor(Callback):
    """Posts the metrics of each epoch to a server; where it cannot be reached, training goes on."""

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: Any = None,
        send_as_json: bool = False,
    ) -> None:
        super().__init__()
        self.root, self.path, self.field = root, path, field
        self.headers, self.send_as_json = headers, send_as_json

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        import urllib.parse  # a program that asks no server does not wait for them
        import urllib.request

        found = {"epoch": epoch, **{name: float(value) for name, value in (logs or {}).items()}}
        kind = "application/json" if self.send_as_json else "application/x-www-form-urlencoded"
        plain = json.dumps(found)
        body = plain if self.send_as_json else urllib.parse.urlencode({self.field: plain})
        request = urllib.request.Request(
            self.root + self.path, body.encode(), {"Content-Type": kind, **(self.headers or {})}
        )
        try:
            with urllib.request.urlopen(request):
                pass
        except OSError:
            warnings.warn(f"the server at {self.root} cannot be reached", stacklevel=2)


class TensorBoard(Callback):
    """Writes the metrics to files that TensorBoard shows: after each epoch, or after `update_freq` samples.

    The graph is written too; gradients, embeddings and profiles are not.

    Args:
        log_dir: The folder of the files.
        histogram_freq: After how many epochs the values of all weights are written as histograms; 0 is never.
        write_graph: If the graph is written.
        write_images: If weights are written as images where histograms are.
        update_freq: "epoch", "batch", or a number of samples.
    """

    _chief_worker_only = True  # all would write the same file

    def __init__(
        self,
        log_dir: Any = "./logs",
        histogram_freq: int = 0,
        batch_size: int = 32,
        write_graph: bool = True,
        write_grads: bool = False,
        write_images: bool = False,
        embeddings_freq: int = 0,
        embeddings_layer_names: Any = None,
        embeddings_metadata: Any = None,
        embeddings_data: Any = None,
        update_freq: Any = "epoch",
        profile_batch: int = 2,
    ) -> None:
        super().__init__()
        self.log_dir, self.write_graph = path_of(log_dir, "log_dir"), write_graph
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self.histogram_freq, self.write_images = histogram_freq, write_images
        self.writer: Any = None
        self._seen = self._since = 0

    def on_train_begin(self, logs: Any = None) -> None:
        from staticgraph.tf1.summary import FileWriter  # nor one that writes no summaries for these

        graph = self.model.outputs[0].graph if self.write_graph else None
        self.writer = FileWriter(self.log_dir, graph)

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        found = dict(logs or {})
        size = found.pop("size", 1)
        found.pop("batch", None)
        self._seen, self._since = self._seen + size, self._since + size
        if self.update_freq != "epoch" and self._since >= self.update_freq:
            self._write({f"batch_{name}": value for name, value in found.items()}, self._seen)
            self._since = 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._write({f"epoch_{name}": value for name, value in (logs or {}).items()}, epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            self._write_weights(epoch)

    def _write_weights(self, epoch: int) -> None:
        from staticgraph.tf1.summary import encode

        for variable, value in zip(self.model.weights, self.model.get_weights(), strict=True):
            name = variable.name.replace(":", "_")
            self.writer.add_summary(encode.histogram(name, value), epoch)
            pixels = as_images(value) if self.write_images else None
            if pixels is not None:
                self.writer.add_summary(encode.image(name, pixels), epoch)
        self.writer.flush()

    def _write(self, values: dict[str, Any], step: int) -> None:
        from staticgraph.tf1.summary import Summary

        for name, value in values.items():
            made = Summary(value=[Summary.Value(tag=name, simple_value=float(value))])
            self.writer.add_summary(made, step)
        self.writer.flush()

    def on_train_end(self, logs: Any = None) -> None:
        self.writer.close()


def as_images(weights: np.ndarray) -> np.ndarray | None:
    """Weights as images [number, height, width, 1] as in TF 1.15, None if they have more axes than 3.

    A matrix is one image, laid on its side if it is higher than wide.

    >>> as_images(np.zeros((5, 3))).shape
    (1, 3, 5, 1)
    >>> as_images(np.zeros((5, 3, 7))).shape
    (7, 5, 3, 1)
    """
    match weights.ndim:
        case 1:
            return weights.reshape(1, -1, 1, 1)
        case 2:
            rows, columns = weights.shape
            return (weights.T if rows > columns else weights)[None, :, :, None]
        case 3:
            return np.moveaxis(weights, 2, 0)[..., None]
    return None
