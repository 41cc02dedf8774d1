"""Watched borders around the memory that compiled code writes to.

Every aligned block lies between two borders of known bytes. A write beyond the block changes them, which is
seen when the test ends that made the block, when the file of tests ends, or when the block is freed, rather
than much later and elsewhere. After some thousand tests there are thousands of blocks: to look at all of them
after each test took a sixth of the time.
"""

from __future__ import annotations

import sys
import weakref
from types import ModuleType

import numpy as np

from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.runtime.cpu import executable, pool
from staticgraph.runtime.cpu.fast_path import call_record as binding
from staticgraph.runtime.cpu.measurements import meter
from staticgraph.runtime.state import memory

_BORDER = bytes([0xA5]) * ALIGNMENT
_found: list[str] = []  # where the blocks were made that something wrote beyond


class _Block(np.ndarray):
    """A block with its borders. `size` bytes between them are lent."""

    borders: tuple[memoryview, ...] = ()  # none: a view of a block, or one that was reported
    size_lent: int
    made_by: str

    def __del__(self) -> None:
        self.look()

    def look(self) -> None:
        """Note whether a border has changed.

        Bytes are compared, not arrays: NumPy's functions read a context variable, and before CPython 3.12 a
        finalizer that reads one while it is being reset leaves a reference to the freed value behind.
        """
        for border in self.borders:
            if border.tobytes() != _BORDER and _blocks is not None:  # None when the interpreter ends
                _found.append(f"{self.size_lent} bytes for {self.made_by}")
                self.borders = ()


_Blocks = weakref.WeakValueDictionary[int, _Block]
_blocks, _new_blocks = _Blocks(), _Blocks()  # all, and those that were made since the last look


def aligned_bytes(size: int) -> np.ndarray:
    """`memory.aligned_bytes`, with borders."""
    memory = np.empty(size + 3 * ALIGNMENT, np.uint8)
    start = ALIGNMENT + -memory.ctypes.data % ALIGNMENT
    block = memory.view(_Block)
    block.size_lent, block.made_by = size, sys._getframe(1).f_code.co_name
    block.borders = tuple(memory.data[i : i + ALIGNMENT] for i in (start - ALIGNMENT, start + size))
    for border in block.borders:
        border[:] = _BORDER
    _blocks[id(block)] = _new_blocks[id(block)] = block
    return block[start:][:size].view(np.ndarray)  # an empty slice begins where the sliced array does


def violations(everywhere: bool = False) -> list[str]:
    """The blocks that something wrote beyond since the last call: of those that were made since then, or of
    all (`everywhere`), and of those that were freed.
    """
    for block in [*(_blocks if everywhere else _new_blocks).values()]:
        block.look()
    _new_blocks.clear()
    found = _found.copy()
    _found.clear()
    return found


def _watch(*modules: ModuleType) -> None:
    for module in modules:
        setattr(module, memory.aligned_bytes.__name__, aligned_bytes)


_watch(memory, executable, binding, pool, meter)
