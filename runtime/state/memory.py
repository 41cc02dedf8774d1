"""Memory: aligned arrays, the pools that lend blocks for results, and room on a thread's stack."""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from staticgraph.compiler.codegen.native.dispatch_layout import Block
from staticgraph.compiler.graph.dtypes import DType, bfloat16
from staticgraph.compiler.graph.errors import ResourceExhaustedError, UnimplementedError, misuse
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


LARGE = 64 * 1024  # bytes: below, a new array costs less than the look for an old one
KEPT = 2  # blocks per result: a loop that holds on to the last result needs two
_WORDS = KEPT * len(Block)


class BufferPool:
    """The last blocks of one result. `words` has them for compiled code: `KEPT` records of kind `Block`."""

    __slots__ = ("words", "_blocks")

    def __init__(self) -> None:
        self._blocks: list[np.ndarray] = []
        self.words = (ctypes.c_int64 * _WORDS)()

    def array(self, type: TensorType) -> np.ndarray:
        """An uninitialised aligned array for a value of this type, as compiled code holds it."""
        size = math.prod(type.static_shape) * type.dtype.size
        if size < LARGE:
            return empty(type)
        counts = zip(self._blocks, _references(self._blocks), strict=True)
        free = [b for b, count in counts if b.size == size + ALIGNMENT and count == _UNSEEN]
        block = free[0] if free else self._new(size)
        start = _aligned(block) - block.ctypes.data
        return block[start : start + size].view(storage_dtype(type.dtype)).reshape(type.static_shape)

    def _new(self, size: int) -> np.ndarray:
        block = np.empty(size + ALIGNMENT, np.uint8)
        self._blocks = [block, *self._blocks[: KEPT - 1]]
        records = [(id(b), b.size - ALIGNMENT, _aligned(b)) for b in self._blocks]
        self.words[: len(Block) * len(records)] = [word for record in records for word in record]
        return block


def _aligned(block: np.ndarray) -> int:
    """The first aligned address in a block."""
    return -(-block.ctypes.data // ALIGNMENT) * ALIGNMENT


def _references(blocks: list[np.ndarray]) -> list[int]:
    return [sys.getrefcount(block) for block in blocks]


(_UNSEEN,) = _references([np.empty(0)])  # the count of a block that only its list refers to


_Made = TypeVar("_Made")


def with_room(work: Callable[[], _Made]) -> _Made:
    """Return `work()`. If it meets Python's limit of recursion, it is called again with a higher one.

    Args:
        work: A function that may be called twice.

    Raises:
        UnimplementedError: If that limit is met, too.
    """
    try:
        return work()
    except RecursionError:
        pass  # a graph with loops in loops in loops
    from staticgraph.compiler.support.recursion import deep_recursion  # what few programs need

    try:
        with deep_recursion():
            return work()
    except RecursionError:
        text = "loops and branches lie too deep in each other to be compiled"
        hint = "some 500 levels are possible: carry a list of values through one loop instead"
        raise misuse(UnimplementedError, text, hint) from None
