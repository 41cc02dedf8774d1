"""Arrays by name in one member: the safetensors format, which many libraries read.

Eight bytes with the length of a JSON header, the header, then the arrays without gaps. Complex numbers are
stored as pairs of real ones, with a note in the header, because the format has none of the larger kind.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import (
    DTYPES,
    DType,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    string,
)
from staticgraph.compiler.graph.errors import InvalidFileError, SaveError, layout
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.runtime.memory import storage_dtype
from staticgraph.runtime.saving.archive import ALIGNMENT
from staticgraph.runtime.saving.strict_json import check, dump, fields, items, parse

Stored = tuple[DType, np.ndarray]  # an array as compiled code holds it, and the dtype that it stands for

_CODES = {
    "float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16", "bool": "BOOL",
    "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
    "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64",
}  # fmt: skip
_DTYPES = {code: DTYPES[name] for name, code in _CODES.items()}
_PARTS = {complex64: float32, complex128: float64}
_MAX_RANK = 32


def write(tensors: Mapping[str, Stored]) -> list[Any]:
    """The pieces of the file: its header, then the arrays, aligned where sizes are multiples of 64 bytes.

    SaveError for an array of strings, which the format has not.
    """
    for name, (dtype, _) in tensors.items():
        if dtype is string:
            told = f"cannot save {name}: it holds strings, and the format has numbers and truth values only"
            raise SaveError(layout(told, user_frame(), hint="leave it out of what is saved"))
    order = sorted(tensors, key=lambda n: (tensors[n][1].nbytes % ALIGNMENT != 0, -tensors[n][0].size, n))
    header: dict[str, Any] = {}
    complex_names = {n: tensors[n][0].name for n in order if tensors[n][0] in _PARTS}
    if complex_names:
        header["__metadata__"] = complex_names
    position, pieces = 0, []
    for name in order:
        dtype, array = tensors[name]
        pair = (2,) if dtype in _PARTS else ()
        end = position + array.nbytes
        header[name] = {
            "dtype": _CODES[_PARTS.get(dtype, dtype).name],
            "shape": [*array.shape, *pair],
            "data_offsets": [position, end],
        }
        if array.size:
            pieces.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        position = end
    text = dump(header).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    return [struct.pack("<Q", len(text)) + text, *pieces]


def read(data: memoryview, what: str) -> dict[str, Stored]:
    """The arrays by name, read-only views of `data`. InvalidFileError unless all of it makes sense."""
    if len(data) < 8:
        raise InvalidFileError(f"{what} is too short")
    (length,) = struct.unpack_from("<Q", data)
    if length > len(data) - 8:
        raise InvalidFileError(f"the header of {what} is longer than {what}")
    header = check(parse(data[8 : 8 + length], f"the header of {what}"), f"the header of {what}", dict)
    complex_names = check(header.pop("__metadata__", {}), f"the metadata of {what}", dict)
    body, position, out = data[8 + length :], 0, {}
    for name, entry in header.items():
        label = f"{name!r} in {what}"
        stored, shape, end = _entry(entry, label, position)
        if end > len(body):
            raise InvalidFileError(f"{label} is larger than the file")
        array = np.frombuffer(body[position:end], storage_dtype(stored)).reshape(shape)
        if stored is bool_ and array.view(np.uint8).max(initial=0) > 1:
            raise InvalidFileError(f"{label} has values that are neither true nor false")
        out[name] = (
            _as_complex(array, complex_names.pop(name), label) if name in complex_names else (stored, array)
        )
        position = end
    if position != len(body) or complex_names:
        raise InvalidFileError(f"{what} holds more than its header tells")
    return out


def _entry(entry: Any, label: str, position: int) -> tuple[DType, tuple[int, ...], int]:
    """Dtype, shape and end of an array that begins at `position`."""
    entry = fields(entry, label, {"dtype": (str,), "shape": (list,), "data_offsets": (list,)})
    dtype = _DTYPES.get(entry["dtype"])
    shape = tuple(items(entry["shape"], f"the shape of {label}", int))
    if dtype is None or len(shape) > _MAX_RANK or min(shape, default=0) < 0:
        raise InvalidFileError(
            f"{label} has an impossible type: {entry['dtype']} of shape {list(shape)[:_MAX_RANK]}"
        )
    end = position + math.prod(shape) * dtype.size
    if entry["data_offsets"] != [position, end] or math.prod(n for n in shape if n) >= 2**48:
        raise InvalidFileError(
            f"{label} does not follow the array before it, or its size is not that of its shape"
        )
    return dtype, shape, end


def _as_complex(array: np.ndarray, name: Any, label: str) -> Stored:
    dtype = next((d for d in _PARTS if d.name == name), None)
    if dtype is None or _PARTS[dtype].numpy != array.dtype or array.shape[-1:] != (2,):
        raise InvalidFileError(f"{label} is not made of pairs, as complex numbers are")
    return dtype, array.view(dtype.numpy)[..., 0]
