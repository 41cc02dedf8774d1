"""Arrays whose first byte is aligned for the widest vectors, and memory that goes back to the system."""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, bfloat16
from staticgraph.compiler.graph.errors import ResourceExhaustedError, misuse
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.machine import ALIGNMENT


def aligned_bytes(size: int) -> np.ndarray:
    """`size` bytes of uninitialised memory, as uint8, from an aligned address.

    Raises:
        ResourceExhaustedError: The system does not give so much.
    """
    try:
        block = np.empty(size + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError):  # the latter for what cannot be addressed
        raise misuse(ResourceExhaustedError, f"the system does not give {size:,} bytes of memory") from None
    start = -block.ctypes.data % ALIGNMENT
    return block[start:][:size]  # an empty slice begins where the sliced array does


_DATA = 16  # where CPython's objects of NumPy arrays hold the address of their elements


def _address(array: np.ndarray) -> int:
    return ctypes.c_int64.from_address(id(array) + _DATA).value


def _numpy_address(array: np.ndarray) -> int:
    return array.ctypes.data


def _is_laid_out() -> bool:
    """Return True if `_address` is right here."""
    known = sys.implementation.name == "cpython" and ctypes.sizeof(ctypes.c_void_p) == 8
    whole = np.zeros(4, np.int16)
    return known and all(_address(a) == a.ctypes.data for a in (whole, whole[1:], whole.reshape(2, 2)))


# The address of the first element of an array. NumPy makes several objects to tell it, which takes so long
# that it is a good part of a step of a small net.
address_of = _address if _is_laid_out() else _numpy_address


def storage_dtype(dtype: DType) -> np.dtype:
    """Return the NumPy dtype of elements in compiled code: 16-bit words for bfloat16, else NumPy's own."""
    return np.dtype(np.uint16) if dtype is bfloat16 else dtype.numpy


def empty(type: TensorType) -> np.ndarray:
    """An uninitialised aligned array for a value of this type, as compiled code holds it."""
    shape = type.static_shape
    size = math.prod(shape) * type.dtype.size
    return aligned_bytes(size).view(storage_dtype(type.dtype)).reshape(shape)


def to_storage(value: np.ndarray, dtype: DType) -> np.ndarray:
    """A NumPy value as compiled code holds it; the same array where possible."""
    if dtype is bfloat16:
        return np.frombuffer(dtype.to_bytes(value), np.uint16).reshape(value.shape)
    return value


def from_storage(stored: np.ndarray, dtype: DType) -> np.ndarray:
    """Convert an array of compiled code to a NumPy value. The result is the same array if possible."""
    return dtype.from_bytes(stored, stored.shape) if dtype is bfloat16 else stored


def give_back_unused() -> None:
    """Return to the system what the C library keeps of freed memory, where it can: tens of megabytes after
    large initial values or the work of LLVM.
    """
    if (trim := _malloc_trim()) is not None:
        trim(0)


@functools.cache
def _malloc_trim() -> Any:
    """The function of glibc; None elsewhere."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
