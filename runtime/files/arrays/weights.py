"""Files of arrays by name that other programs read and write too: safetensors and NumPy's `.npz`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.dtypes import bfloat16, float32
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files import checkpoint
from staticgraph.runtime.files.arrays import npz, safetensors
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.runtime.files.container import read_mapped
from staticgraph.runtime.session import Session
from staticgraph.runtime.state.memory import from_storage, to_storage


@dataclass(frozen=True, slots=True)
class _Format:
    write: Callable[[Mapping[str, Stored]], list[Any]]
    read: Callable[[memoryview], dict[str, Stored]]


_FORMATS = {
    ".safetensors": _Format(safetensors.write, lambda data: safetensors.read(data, "it")),
    ".npz": _Format(npz.write, npz.read),
}


def write(path: str | os.PathLike[str], tensors: Mapping[str, Stored]) -> None:
    """Replace the file at `path`, in the format of its suffix. SaveError if that is not possible."""
    write_file(path, _format(path).write(tensors))


def read(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Copies of the arrays by name, as NumPy has them. NotFoundError, InvalidFileError."""
    form = _format(path)

    def take(data: memoryview) -> dict[str, np.ndarray]:
        found = form.read(data)
        return {name: np.array(from_storage(array, dtype)) for name, (dtype, array) in found.items()}

    return read_mapped(path, _suffix(path), take)


def types_of(path: str | os.PathLike[str]) -> dict[str, TensorType]:
    """The types of the arrays by name. The errors of `read`."""
    form = _format(path)

    def take(data: memoryview) -> dict[str, TensorType]:
        return {name: TensorType(dtype, array.shape) for name, (dtype, array) in form.read(data).items()}

    return read_mapped(path, _suffix(path), take)


def restore(path: str | os.PathLike[str], variables: Mapping[str, Operation], session: Session) -> None:
    """Set `variables` in `session`, all of them or none; the errors of `checkpoint.restore`.

    float32 numbers are rounded for variables of bfloat16, which not all programs and formats have.
    """
    form = _format(path)

    def take(data: memoryview) -> dict[str, np.ndarray]:
        found = form.read(data)
        for name, op in variables.items():
            if op.outputs[0].dtype is bfloat16 and name in found and found[name][0] is float32:
                found[name] = bfloat16, to_storage(found[name][1], bfloat16)
        return checkpoint.chosen(os.fspath(path), variables, found, reshape=False)

    checkpoint.commit(variables, read_mapped(path, _suffix(path), take), session)


def _format(path: str | os.PathLike[str]) -> _Format:
    if _suffix(path) in _FORMATS:
        return _FORMATS[_suffix(path)]
    text = f"{os.fspath(path)!r} tells no format: files of arrays end in {' or '.join(_FORMATS)}"
    raise misuse(InvalidArgumentError, text)


def _suffix(path: str | os.PathLike[str]) -> str:
    return os.path.splitext(path_of(path, "path"))[1].lower()
