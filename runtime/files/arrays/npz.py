"""Arrays by name as NumPy's `.npz` files: a zip archive of `name.npy`, each a short header and its elements.

Files are written uncompressed and aligned. What `numpy.savez` and `savez_compressed` write is read without
NumPy's reader: a header is matched and never evaluated, and what is compressed may not grow beyond bounds.
"""

from __future__ import annotations

import io
import math
import re
import struct
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DTYPES, DType, bfloat16, bool_, string
from staticgraph.compiler.graph.errors import InvalidFileError
from staticgraph.compiler.graph.shapes import MOST_AXES, is_array_shape
from staticgraph.runtime.files import container
from staticgraph.runtime.files.arrays.safetensors import Stored, refuse_strings
from staticgraph.runtime.files.arrays.unzip import unzip
from staticgraph.runtime.state.memory import from_storage

_MAGIC = b"\x93NUMPY"
_LENGTHS = {1: "<H", 2: "<I", 3: "<I"}  # how long the header is, by the version of the format
_FIELD = re.compile(
    r"\s*(?:'descr'\s*:\s*'(?P<descr>[^']*)'|'fortran_order'\s*:\s*(?P<fortran_order>True|False)"
    r"|'shape'\s*:\s*\((?P<shape>\s*(?:[0-9]+\s*,\s*)*(?:[0-9]+\s*)?)\))\s*(?:,|(?=\}))"
)
_LONGEST = 4096  # bytes of a header; those of arrays of numbers have some hundred
_GROWTH, _ROOM = 4, 64 << 20  # what is compressed may take 4 times the size of the file and 64 MB
_KNOWN = {d.numpy.str[1:]: d for d in DTYPES.values() if d not in (bfloat16, string)}  # by "f4" and the like


def write(tensors: Mapping[str, Stored]) -> list[Any]:
    """The pieces of the file. bfloat16, which NumPy has not, becomes float32.

    SaveError for an array of strings, which NumPy reads as objects of Python's only.
    """
    refuse_strings(tensors)
    return container.pack({f"{name}.npy": _npy(*stored) for name, stored in tensors.items()})


def _npy(dtype: DType, stored: np.ndarray) -> list[Any]:
    """The pieces of one `.npy` file: its header, and its elements."""
    array, header = from_storage(stored, dtype), io.BytesIO()
    told = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(header, told)
    return [header.getvalue(), np.ascontiguousarray(array).reshape(-1).view(np.uint8) if array.size else b""]


def read(data: memoryview, names: Collection[str] | None = None, growth: int = _GROWTH) -> dict[str, Stored]:
    """Return arrays by name, views of `data` where possible.

    Args:
        data: The file.
        names: The arrays that are wanted. Default: all.
        growth: How many times the size of the file its compressed arrays may have.

    Raises:
        InvalidFileError: The file is damaged, or lacks an array or holds one of objects among those wanted.
    """
    arrays: dict[str, Stored] = {}
    for member, contents in unzip(data, growth * len(data) + _ROOM).items():
        name = member.removesuffix(".npy")
        if name in arrays:
            raise InvalidFileError(f"{name!r} is there twice")
        if names is None or name in names:
            arrays[name] = _array(contents, f"{name!r}")
    for name in names or ():
        if name not in arrays:
            raise InvalidFileError(f"it has no array {name!r}")
    return arrays


def _array(data: memoryview, label: str) -> Stored:
    """The array of one `.npy` file."""
    length_of = _LENGTHS.get(data[len(_MAGIC)]) if len(data) > 12 and data[: len(_MAGIC)] == _MAGIC else None
    if length_of is None:
        raise InvalidFileError(f"{label} is no array of NumPy's")
    start = len(_MAGIC) + 2 + struct.calcsize(length_of)
    (length,) = struct.unpack_from(length_of, data, start - struct.calcsize(length_of))
    if length > min(_LONGEST, len(data) - start):
        raise InvalidFileError(f"the header of {label} is too long")
    told = _header(bytes(data[start : start + length]), label)
    order, code = told["descr"][:1], told["descr"][1:]
    shape = tuple(int(size) for size in told["shape"].split(",") if size.strip())
    dtype = _KNOWN.get(code)
    if dtype is None or order not in ("<", ">", "|") or not is_array_shape(shape):
        what = "an array of objects, which can run code," if code[:1] == "O" else f"{told['descr']!r}"
        raise InvalidFileError(f"{label} is {what} of shape {list(shape)[:MOST_AXES]}, which is not read")
    body = data[start + length :]
    if math.prod(shape) * dtype.size != len(body):
        raise InvalidFileError(f"the size of {label} is not that of its shape, {list(shape)}")
    array = np.frombuffer(body, dtype.numpy.newbyteorder(order)).astype(dtype.numpy, copy=False)
    if dtype is bool_ and array.view(np.uint8).max(initial=0) > 1:
        raise InvalidFileError(f"{label} has values that are neither true nor false")
    return dtype, array.reshape(shape, order="F" if told["fortran_order"] == "True" else "C")


def _header(data: bytes, label: str) -> dict[str, str]:
    """The three fields of a header as text: it looks like a dict of Python's, and is not evaluated."""
    text, at, found = data.decode("latin-1"), 1, {}
    while match := _FIELD.match(text, at):
        name = match.lastgroup or ""
        found[name] = match[name]
        at = match.end()
    rest = text[at:].strip()
    if not text.startswith("{") or rest != "}" or sorted(found) != ["descr", "fortran_order", "shape"]:
        raise InvalidFileError(f"the header of {label} is of no known form")
    return found
