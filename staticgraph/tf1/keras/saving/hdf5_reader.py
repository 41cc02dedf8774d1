"""The process that reads one of Keras's HDF5 files: if the library goes astray in a damaged one, this ends.

Its arguments are WHAT and PATH. `WHAT` is "model" or "weights". On its standard output it tells what is in
the file, as a line of JSON, and then all arrays as one safetensors file. If the file cannot be read, it says
why on its standard error.
"""

from __future__ import annotations

import json
import math
import os
import sys
from typing import Any

import numpy as np

from staticgraph.compiler.graph.boundary import CAUGHT
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.support.own_process import limit
from staticgraph.runtime.files.arrays import safetensors

UNREADABLE: tuple[type[Exception], ...] = (*CAUGHT, RuntimeError, OSError)
_MOST_OF_A_BYTE = 1100  # bytes of values for a byte of a file: what zlib makes of zeros
_ALWAYS = 1 << 20  # bytes that any file may claim
_MEMORY = 2 << 30  # bytes of addresses that any file may take, and then some times its size
_GROWTH = 16
_SECONDS = 3.0  # of the processor that any file may take, and then one for so many bytes of it
_BYTES_A_SECOND = 10 << 20


def main() -> None:
    """Read the file that the arguments name, and write what is in it."""
    what, path = sys.argv[1:3]
    size = os.path.getsize(path)
    limit(_MEMORY + _GROWTH * size, seconds(size))
    try:
        told, arrays = content(path, what)
        pieces = safetensors.write({name: (as_dtype(a.dtype), a) for name, a in arrays.items()})
    except UNREADABLE as error:
        sys.exit(str(error) or type(error).__name__)
    out = sys.stdout.buffer
    out.write(json.dumps(told).encode() + b"\n")
    for piece in pieces:
        out.write(piece)


def seconds(size: int) -> float:
    """Return how much time of the processor a file of so many bytes may take."""
    return _SECONDS + size / _BYTES_A_SECOND


def content(path: str, what: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a file.

    Args:
        path: The file.
        what: "model", or "weights" if its description and its optimizer are not wanted.

    Returns:
        A dict with the names of `layers`, each with the number of its weights, and, of a model, its
        `description` and the number of weights of its `optimizer`; and arrays by "layer/" and the layer's
        number, or by "optimizer", each followed by "/" and their own number.

    Raises:
        UNREADABLE: One of these if the file is damaged, or holds something else than a model.
    """
    told: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    with _h5py().File(path, "r") as file:
        values = _Arrays(path)
        if what == "model" and "model_config" in file.attrs:
            described = json.loads(_text(file.attrs["model_config"]))
            described["training"] = json.loads(_text(file.attrs.get("staticgraph_training", "null")))
            group = _member(file, "optimizer_weights") or {}
            count = len(group) if described["training"] is not None else 0
            arrays |= {f"optimizer/{i}": values(_member(group, str(i))) for i in range(count)}
            told = {"description": described, "optimizer": count}
        layers = []
        weights = _member(file, "model_weights") or file
        for number, name in enumerate(map(_text, weights.attrs["layer_names"])):
            layer = _member(weights, name)
            found = [values(_member(layer, _text(w))) for w in layer.attrs["weight_names"]]
            arrays |= {f"layer/{number}/{i}": array for i, array in enumerate(found)}
            layers.append([name, len(found)])
    return {**told, "layers": layers}, arrays


def _h5py() -> Any:
    import h5py  # an extra

    return h5py


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
        return np.asarray(dataset, dataset.dtype.newbyteorder("="))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
