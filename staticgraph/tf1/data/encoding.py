"""Encoding of elements as bytes, for files and for other processes.

Each array is its rank, its sizes, the number of its bytes, and these. Element types are not told: who reads
knows what was written. Reading executes nothing, and takes no more memory than there are bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import DataLossError

_HEAD = struct.Struct("<BQ")


def encoded(arrays: Sequence[np.ndarray], dtypes: Sequence[DType]) -> bytes:
    """The bytes of arrays of these types."""
    parts = []
    for array, dtype in zip(arrays, dtypes, strict=True):
        data = dtype.to_bytes(array)
        parts += [_HEAD.pack(array.ndim, len(data)), struct.pack(f"<{array.ndim}Q", *array.shape), data]
    return b"".join(parts)


def decoded(data: bytes, dtypes: Sequence[DType]) -> list[np.ndarray]:
    """The arrays. DataLossError for what `encoded` cannot have made."""
    view, arrays = memoryview(data), []
    try:
        for dtype in dtypes:
            rank, size = _HEAD.unpack_from(view)
            shape = struct.unpack_from(f"<{rank}Q", view, _HEAD.size)
            start = _HEAD.size + 8 * rank
            body, view = view[start : start + size], view[start + size :]
            arrays.append(dtype.from_bytes(body, shape).copy())
    except (struct.error, ValueError, OverflowError, MemoryError) as error:
        raise DataLossError(f"the bytes of an element are damaged: {error}") from None
    if view:
        raise DataLossError(f"{len(view)} bytes follow the last array of an element")
    return arrays
