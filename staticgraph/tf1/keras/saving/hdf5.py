"""Keras's HDF5 files, where the optional package h5py is installed.

Another process reads them (`hdf5_reader.py`): a few bytes of a damaged file let HDF5's library, which is
written in C, go on forever, and nothing in this process could stop it.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import InvalidFileError, misuse
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files.arrays import safetensors
from staticgraph.tf1.keras import state

_WAIT = 15.0  # times as long as the time of the processor: others may have it, or the disk is slow

Weights = dict[str, list[np.ndarray]]


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


def load_weights(path: str) -> Weights:
    """The weights of each layer that has some, by its name.

    Raises:
        InvalidFileError: The file is damaged, or holds something else than weights.
        OSError: The file cannot be read.
    """
    return _of_layers(*_content(path, "weights"))


def load_model(path: str) -> tuple[Any, Weights, list[np.ndarray]]:
    """Return the description of a model, its weights by layer, and the weights of its optimizer.

    Raises:
        ValueError: The file holds weights alone.
        InvalidFileError: The file is damaged, or holds something else than a model.
        OSError: The file cannot be read.
    """
    told, arrays = _content(path, "model")
    if "description" not in told:
        raise misuse(ValueError, f"{path} holds weights alone", "load_weights reads them")
    of_optimizer = [arrays[f"optimizer/{i}"] for i in range(told["optimizer"])]
    return told["description"], _of_layers(told, arrays), of_optimizer


def _content(path: str, what: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Let a process read a file: see `hdf5_reader.content`."""
    import subprocess  # with the rest only for reading these files, as few programs do

    from staticgraph.compiler.support.own_process import command
    from staticgraph.tf1.keras.saving import hdf5_reader

    _h5py()
    with open(path, "rb") as file:  # an error of the system is told as it is
        limit = _WAIT * hdf5_reader.seconds(os.fstat(file.fileno()).st_size)
    line = command(hdf5_reader.__name__, hdf5_reader.main.__name__, what, os.path.abspath(path))
    try:
        read = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise _damaged(path, "reading it does not come to an end") from None
    if read.returncode:
        lines = read.stderr.decode(errors="replace").strip().splitlines()
        raise _damaged(path, lines[-1] if lines else "HDF5's library does not come to an end with it")
    head, _, body = read.stdout.partition(b"\n")
    return json.loads(head), {n: a for n, (_, a) in safetensors.read(memoryview(body), path).items()}


def _damaged(path: str, why: str) -> InvalidFileError:
    text = f"{path} is damaged, or is not a model: {why}"
    return misuse(InvalidFileError, text, "take another copy of it, or save the model again")


def _of_layers(told: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Weights:
    layers = enumerate(told["layers"])
    return {
        name: [arrays[f"layer/{number}/{i}"] for i in range(count)]
        for number, (name, count) in layers
        if count
    }


def save_weights(model: Any, path: str) -> None:
    """Write the weights."""
    with _writing(path) as file:
        _write_weights(file, model)


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


@contextmanager
def _writing(path: str) -> Iterator[Any]:
    """Open a new file to write it. At the end it replaces the file at `path`. SaveError if that fails."""
    content = io.BytesIO()
    with _h5py().File(content, "w") as file:
        yield file
    write_file(path, [content.getbuffer()])


def _write_weights(group: Any, model: Any) -> None:
    group.attrs["layer_names"] = [layer.name.encode() for layer in model.layers]
    for layer in model.layers:
        made = group.create_group(layer.name)
        weights = layer.weights
        names = [w.name for w in weights]
        made.attrs["weight_names"] = [name.encode() for name in names]
        for name, value in zip(names, state.batch_get_value(weights), strict=True):
            made.create_dataset(name, data=value)
