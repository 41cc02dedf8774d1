"""Arrays by name in one member: the safetensors format, which many libraries read.

Eight bytes with the length of a JSON header, the header, then the arrays without gaps. complex128 is stored
as pairs of float64, with a note in the header's metadata, because the format has it not. Files of other
libraries may list the arrays in any order, and have other metadata, which is passed over.
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
    complex128,
    float64,
    string,
)
from staticgraph.compiler.graph.errors import InvalidFileError, SaveError, misuse
from staticgraph.compiler.graph.shapes import MOST_AXES, is_array_shape
from staticgraph.runtime.files.attributes import check, dump, fields, items, parse
from staticgraph.runtime.files.container import ALIGNMENT
from staticgraph.runtime.state.memory import storage_dtype

Stored = tuple[DType, np.ndarray]  # an array as compiled code holds it, and the dtype that it stands for

# fmt: off
_CODES = {
    "float16": "F16", "float32": "F32", "float64": "F64", "bfloat16": "BF16", "bool": "BOOL",
    "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
    "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64", "complex64": "C64",
}
# fmt: on
_DTYPES = {code: DTYPES[name] for name, code in _CODES.items()}
_METADATA = "__metadata__"
_LONGEST = 100_000_000  # bytes of a header, as in the reference implementation


def write(tensors: Mapping[str, Stored]) -> list[Any]:
    """The pieces of the file: its header, then the arrays, aligned where sizes are multiples of 64 bytes.

    SaveError for an array of strings, which the format has not, and for a name that it has not.
    """
    refuse_strings(tensors)
    if _METADATA in tensors:
        told = f"cannot save {_METADATA}: the format keeps this name for itself"
        raise misuse(SaveError, told, "give it another name")
    order = sorted(tensors, key=lambda n: (tensors[n][1].nbytes % ALIGNMENT != 0, -tensors[n][0].size, n))
    header: dict[str, Any] = {}
    if pairs := {n: complex128.name for n in order if tensors[n][0] is complex128}:
        header[_METADATA] = pairs
    position, pieces = 0, []
    for name in order:
        dtype, array = tensors[name]
        end = position + array.nbytes
        header[name] = {
            "dtype": _CODES[float64.name if name in pairs else dtype.name],
            "shape": [*array.shape, *([2] if name in pairs else [])],
            "data_offsets": [position, end],
        }
        if array.size:
            pieces.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        position = end
    text = dump(header).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    return [struct.pack("<Q", len(text)) + text, *pieces]


def refuse_strings(tensors: Mapping[str, Stored]) -> None:
    """SaveError if an array holds strings."""
    for name, (dtype, _) in tensors.items():
        if dtype is string:
            told = f"cannot save {name}: it holds strings, and the format has numbers and truth values only"
            raise misuse(SaveError, told, "leave it out of what is saved")


def read(data: memoryview, what: str) -> dict[str, Stored]:
    """The arrays by name, read-only views of `data`. InvalidFileError unless all of it makes sense."""
    if len(data) < 8:
        raise InvalidFileError(f"{what} is too short")
    (length,) = struct.unpack_from("<Q", data)
    if length > min(len(data) - 8, _LONGEST):
        raise InvalidFileError(f"the header of {what} is too long")
    header = check(parse(data[8 : 8 + length], f"the header of {what}"), f"the header of {what}", dict)
    metadata = _texts(header.pop(_METADATA, {}), f"the metadata of {what}")
    body, position, out = data[8 + length :], 0, {}
    entries = [(*_entry(entry, f"{name!r} in {what}"), name) for name, entry in header.items()]
    for begin, end, dtype, shape, name in sorted(entries, key=lambda entry: entry[:2]):
        label = f"{name!r} in {what}"
        if begin != position:
            raise InvalidFileError(f"{label} does not follow the array before it")
        if end > len(body):
            raise InvalidFileError(f"{label} is larger than the file")
        array = np.frombuffer(body[begin:end], storage_dtype(dtype)).reshape(shape)
        if dtype is bool_ and array.view(np.uint8).max(initial=0) > 1:
            raise InvalidFileError(f"{label} has values that are neither true nor false")
        is_pairs = metadata.get(name) == complex128.name
        out[name] = _joined(dtype, array, label) if is_pairs else (dtype, array)
        position = end
    if position != len(body):
        raise InvalidFileError(f"{what} holds more than its header tells")
    return {name: out[name] for name in header}


def _texts(value: Any, what: str) -> dict[str, str]:
    """An object whose fields are all strings."""
    for key, text in check(value, what, dict).items():
        check(text, f"{key!r} of {what}", str)
    return value


def _entry(entry: Any, label: str) -> tuple[int, int, DType, tuple[int, ...]]:
    """Return the begin and end of an array, its dtype and its shape. Raises InvalidFileError."""
    entry = fields(entry, label, {"dtype": (str,), "shape": (list,), "data_offsets": (list,)})
    dtype = _DTYPES.get(entry["dtype"])
    shape = tuple(items(entry["shape"], f"the shape of {label}", int))
    place = items(entry["data_offsets"], f"the place of {label}", int)
    if dtype is None or not is_array_shape(shape):
        raise InvalidFileError(
            f"{label} has an impossible type: {entry['dtype']} of shape {list(shape)[:MOST_AXES]}"
        )
    size = math.prod(shape) * dtype.size
    if len(place) != 2 or place[1] - place[0] != size:
        raise InvalidFileError(f"the place of {label} is not of the size of its shape")
    return place[0], place[1], dtype, shape


def _joined(dtype: DType, array: np.ndarray, label: str) -> Stored:
    """Complex numbers from their pairs."""
    if dtype is not float64 or array.shape[-1:] != (2,):
        raise InvalidFileError(f"{label} is not made of pairs, as complex numbers are")
    return complex128, array.view(np.complex128)[..., 0]
