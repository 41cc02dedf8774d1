"""Memory of large results, handed out again when the caller has dropped them.

Fresh pages cost more than the arithmetic that fills them, on virtual machines several times more. A result's
array refers to the block that it lies in, and so does every view of it, so the block's reference count tells
whether anyone can still see it.
"""

from __future__ import annotations

import ctypes
import math
import sys

import numpy as np

from staticgraph.compiler.codegen.native.dispatch_layout import Block
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.machine import ALIGNMENT
from staticgraph.runtime.memory.aligned import empty, storage_dtype

LARGE = 64 * 1024  # bytes: below, a new array costs less than the look for an old one
KEPT = 2  # blocks per result: a loop that holds on to the last result needs two


class BufferPool:
    """The last blocks of one result. `words` has them for compiled code: `KEPT` records of kind `Block`."""

    __slots__ = ("words", "_blocks")

    def __init__(self) -> None:
        self._blocks: list[np.ndarray] = []
        self.words = (ctypes.c_int64 * (KEPT * len(Block)))()

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
