"""A model and the values of its constants, in one file or in two.

A file of ONNX is one message, which must be smaller than 2 GiB. Larger models have their values in a file
beside them. That is called after what it holds, so that a model is never beside the values of another one: it
is there before the model is replaced, and files of earlier models are removed afterwards.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import SaveError, misuse
from staticgraph.formats.onnx.proto import ModelProto, StringStringEntryProto, TensorProto
from staticgraph.formats.onnx.tensors import NUMBERS
from staticgraph.formats.onnx.write.nodes import Constant
from staticgraph.runtime.disk.atomic import write_file

_LARGEST = 1_900_000_000  # bytes of constants in a model
_ALIGNMENT = 4096  # of tensors in a file beside the model, so that they can be mapped into memory


def finish(
    model: ModelProto,
    constants: Mapping[str, Constant],
    path: str | os.PathLike[str] | None,
    external: bool | None,
) -> None:
    """Put the constants into a model, and write it where there is a path."""
    size = sum(c.data.size * c.dtype.size for c in constants.values())
    apart = size > _LARGEST if external is None else external
    if apart and path is None:
        text = f"the values of a model, {size} bytes, are to be in a file, and there is no path"
        raise misuse(SaveError, text, 'export(fetches, "net.onnx")')
    tensors = {name: constant.proto(name) for name, constant in constants.items()}
    if not apart:
        for name, tensor in _numbers(tensors):
            tensor.raw_data = _bytes(constants[name])
        model.graph.initializer.extend(list(tensors.values()))
        if path is not None:
            write_file(path, [model.SerializeToString()])
        return
    assert path is not None
    target = Path(path)
    digest = hashlib.blake2b(digest_size=8)
    for name, _ in _numbers(tensors):
        digest.update(_bytes(constants[name]))
    beside = f"{target.name}-{digest.hexdigest()}.data"
    write_file(target.with_name(beside), _placed(tensors, constants, beside))
    model.graph.initializer.extend(list(tensors.values()))
    write_file(target, [model.SerializeToString()])
    _remove_others(target, beside)


def _numbers(tensors: Mapping[str, TensorProto]) -> list[tuple[str, TensorProto]]:
    """All but strings, which are in the message always."""
    return [(name, tensor) for name, tensor in tensors.items() if tensor.data_type != NUMBERS[string]]


def _bytes(constant: Constant) -> bytes:
    return constant.dtype.to_bytes(constant.data)


def _placed(
    tensors: Mapping[str, TensorProto], constants: Mapping[str, Constant], file: str
) -> Iterator[bytes]:
    """The bytes of the file beside a model; the tensors are told where they are in it."""
    at = 0
    for name, tensor in _numbers(tensors):
        data, padding = _bytes(constants[name]), -at % _ALIGNMENT
        place = {"location": file, "offset": at + padding, "length": len(data)}
        tensor.external_data.extend([StringStringEntryProto(key=k, value=str(v)) for k, v in place.items()])
        tensor.data_location = TensorProto.DataLocation.EXTERNAL
        yield bytes(padding)
        yield data
        at += padding + len(data)


def _remove_others(target: Path, beside: str) -> None:
    """Remove the values of earlier models of this name."""
    ours = re.compile(re.escape(target.name) + r"-[0-9a-f]{16}\.data")
    for other in target.parent.iterdir():
        if ours.fullmatch(other.name) and other.name != beside:
            with contextlib.suppress(OSError):
                other.unlink()
