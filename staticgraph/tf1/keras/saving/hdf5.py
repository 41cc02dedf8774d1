"""Keras's HDF5 files, where the optional package h5py is installed."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from staticgraph.compiler.graph.boundary import CAUGHT
from staticgraph.compiler.graph.errors import InvalidFileError, misuse, told
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.tf1.keras import state

_UNREADABLE: tuple[type[Exception], ...] = (*CAUGHT, RuntimeError, OSError)
_MOST_OF_A_BYTE = 1100  # bytes of values for a byte of a file: what zlib makes of zeros
_ALWAYS = 1 << 20  # bytes that any file may claim


def _h5py() -> Any:
    """The package, or the user's error."""
    try:
        import h5py
    except ImportError:
        hint = (
            "pip install h5py, or choose a name that does not end in .h5: then a file of our own is written"
        )
        raise misuse(ImportError, "HDF5 files need the package h5py", hint) from None
    return h5py


@contextmanager
def _reading(path: str) -> Iterator[Any]:
    """Open a file to read it.

    Raises:
        InvalidFileError: The file is damaged, or holds something else than a model.
        OSError: The file cannot be read.
    """
    try:
        with _h5py().File(path, "r") as file:
            yield file
    except _UNREADABLE as error:
        if told(error) or getattr(error, "errno", None) is not None:  # a number is the system's
            raise
        text = f"{path} is damaged, or is not a model: {error}"
        raise misuse(InvalidFileError, text, "take another copy of it, or save the model again") from None


def _member(group: Any, name: str) -> Any:
    """Return a member of a group, or None if there is none.

    HDF5 can place a member in another file, and read that. A model that someone sends must not do so.
    """
    for part in name.split("/"):
        link = group.get(part, getlink=True)
        if link is None:
            return None
        if not isinstance(link, _h5py().HardLink):
            raise ValueError(f"{name} lies in another file, or in another place of this one")
        group = group[part]
    return group


class _Arrays:
    """Values of the datasets of a file. What all of them together claim is compared with its size.

    Args:
        path: The file.
    """

    def __init__(self, path: str) -> None:
        self._room = _MOST_OF_A_BYTE * os.path.getsize(path) + _ALWAYS

    def __call__(self, dataset: Any) -> np.ndarray:
        """Return the values of a dataset.

        Raises:
            ValueError: They lie in another file, are no numbers, or are too many.
        """
        if dataset.external or dataset.is_virtual:
            raise ValueError(f"{dataset.name} lies in another file")
        size = dataset.size * dataset.dtype.itemsize
        self._room -= size
        if self._room < 0:
            raise ValueError(f"{dataset.name} claims {size} bytes, which is more than such a file holds")
        chunk = math.prod(dataset.chunks or ()) * dataset.dtype.itemsize
        if chunk > max(size, _ALWAYS):  # HDF5 decompresses whole chunks, which may reach beyond the values
            raise ValueError(f"{dataset.name} is divided into chunks of {chunk} bytes, and has {size}")
        if dataset.dtype.kind not in "biufc":
            raise ValueError(f"an array of {dataset.dtype} is no weight")
        return np.asarray(dataset)


def _write_weights(group: Any, model: Any) -> None:
    group.attrs["layer_names"] = [layer.name.encode() for layer in model.layers]
    for layer in model.layers:
        made = group.create_group(layer.name)
        weights = layer.weights
        names = [w.name for w in weights]
        made.attrs["weight_names"] = [name.encode() for name in names]
        for name, value in zip(names, state.batch_get_value(weights), strict=True):
            made.create_dataset(name, data=value)


def _read_weights(group: Any, values: _Arrays) -> dict[str, list[np.ndarray]]:
    found = {}
    for name in map(_text, group.attrs["layer_names"]):
        layer = _member(group, name)
        arrays = [values(_member(layer, _text(w))) for w in layer.attrs["weight_names"]]
        if arrays:
            found[name] = arrays
    return found


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@contextmanager
def _writing(path: str) -> Iterator[Any]:
    """Open a new file to write it. At the end it replaces the file at `path`. SaveError if that fails."""
    content = io.BytesIO()
    with _h5py().File(content, "w") as file:
        yield file
    write_file(path, [content.getbuffer()])


def save_weights(model: Any, path: str) -> None:
    """Write the weights."""
    with _writing(path) as file:
        _write_weights(file, model)


def load_weights(path: str) -> dict[str, list[np.ndarray]]:
    """The weights of each layer that has some, by its name."""
    with _reading(path) as file:
        return _read_weights(_member(file, "model_weights") or file, _Arrays(path))


def save_model(model: Any, path: str, described: Mapping[str, Any]) -> None:
    """Write the architecture, the weights, and how the model is trained."""
    with _writing(path) as file:
        kept = {key: value for key, value in described.items() if key != "training"}
        file.attrs["model_config"] = json.dumps(kept).encode()
        file.attrs["staticgraph_training"] = json.dumps(described["training"]).encode()
        _write_weights(file.create_group("model_weights"), model)
        if described["training"] is not None:
            group = file.create_group("optimizer_weights")
            for i, value in enumerate(model.optimizer.get_weights()):
                group.create_dataset(str(i), data=value)


def load_model(path: str) -> tuple[Any, dict[str, list[np.ndarray]], list[np.ndarray]]:
    """Return the description of a model, its weights by layer, and the weights of its optimizer.

    Raises:
        ValueError: The file holds weights alone.
    """
    with _reading(path) as file:
        if "model_config" not in file.attrs:
            raise misuse(ValueError, f"{path} holds weights alone", "load_weights reads them")
        described = json.loads(_text(file.attrs["model_config"]))
        described["training"] = json.loads(_text(file.attrs.get("staticgraph_training", "null")))
        group = _member(file, "optimizer_weights") or {}
        ours = described["training"] is not None
        values = _Arrays(path)
        of_optimizer = [values(_member(group, str(i))) for i in range(len(group))] if ours else []
        return described, _read_weights(_member(file, "model_weights"), values), of_optimizer
