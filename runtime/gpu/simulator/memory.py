"""The memory of the simulator: blocks between guards, full of NaN at first, up to a limit.

The guards are NaN too, and of a kind that nobody computes: a load from there shows like one of memory that
nobody has written, and a store by what it leaves.
"""

from __future__ import annotations

import ctypes
import weakref

import numpy as np

from staticgraph.compiler.graph.errors import ResourceExhaustedError, counted
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.graphs.spans import Spans

ALIGNMENT = 256
UNSET = 0xFF  # a byte of NaN
_GUARD = 1024  # bytes before and after each block
_GUARDED = 0xFFFFA55A
_FENCE = np.full(_GUARD // 4 + 1, _GUARDED, np.uint32).tobytes()


@dataclass(slots=True, eq=False)
class GuardedBlock:
    """A piece of memory: its bytes, and those around it."""

    address: int
    size: int
    _whole: np.ndarray
    _start: int

    @property
    def bytes(self) -> np.ndarray:
        """A view of them."""
        return self._whole[self._start : self._start + self.size]

    def damage(self) -> str | None:
        """Describe in words a guard that a store has hit, and how far it reached; None if both are intact."""
        for start, where in ((self._start - _GUARD, "before"), (self._start + self.size, "past the end of")):
            found, phase = self._whole[start : start + _GUARD], start % 4
            if found.tobytes() != (whole := _FENCE[phase : phase + _GUARD]):
                places = np.flatnonzero(found != np.frombuffer(whole, np.uint8))
                reach = int(places[-1]) + 1 if start > self._start else _GUARD - int(places[0])
                return f"up to {counted(reach, 'byte')} {where} a block of {counted(self.size, 'byte')}"
        return None

    def mend(self) -> None:
        """Make the guards whole again."""
        kept = self.bytes.copy()
        self._whole.view(np.uint32)[:] = _GUARDED
        self.bytes[:] = kept


class Memory:
    """Simulated memory of the GPU that is allocated and not freed, and the pinned memory of the host."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._blocks: dict[int, GuardedBlock] = {}
        self._places = Spans()  # of blocks
        self._pinned = Spans()

    @property
    def blocks(self) -> list[GuardedBlock]:
        """All blocks that are allocated."""
        return list(self._blocks.values())

    def allocate(self, size: int) -> int:
        """The address of a new block. ResourceExhaustedError if the limit does not allow it."""
        if size < 1:
            raise ValueError(f"an allocation of {size} bytes")
        taken = -(-size // ALIGNMENT) * ALIGNMENT
        if self.used + taken > self.limit:
            left = self.limit - self.used
            raise ResourceExhaustedError(f"the device has {left} bytes left, and {size} were asked for")
        whole, start = _aligned(size)
        whole[start : start + size] = UNSET
        block = GuardedBlock(whole.ctypes.data + start, size, whole, start)
        self._blocks[block.address] = block
        self._places.add(block.address, size)
        self.used += taken
        return block.address

    def free(self, address: int) -> None:
        """Give a block back. ValueError if there is none."""
        block = self._blocks.pop(address, None)
        if block is None:
            raise ValueError(f"no block of memory starts at {address:#x}")
        self._places.remove(address)
        self.used -= -(-block.size // ALIGNMENT) * ALIGNMENT

    def pinned(self, size: int) -> np.ndarray:
        """Bytes of the host that count as pinned as long as an array of them lives."""
        whole, start = _aligned(max(size, 1))
        address = whole.ctypes.data + start
        self._pinned.add(address, size)
        weakref.finalize(whole.base, self._pinned.remove, address)  # which every view of it refers to
        return whole[start : start + size]

    def find(self, address: int, size: int) -> GuardedBlock | None:
        """The block that these bytes are part of."""
        start = self._places.find(address, size)
        return None if start is None else self._blocks[start]

    def is_pinned(self, address: int, size: int) -> bool:
        """Return True if all these bytes of the host are pinned."""
        return self._pinned.find(address, size) is not None

    def view(self, address: int, size: int) -> np.ndarray:
        """Bytes of a block. LookupError if they are not within one."""
        block = self.find(address, size)
        if block is None:
            raise LookupError(f"{counted(size, 'byte')} at {address:#x} are not within memory of the device")
        return block.bytes[address - block.address :][:size]


def move(target: int, source: int, size: int) -> None:
    """Copy bytes anywhere in this process."""
    ctypes.memmove(target, source, size)


def _aligned(size: int) -> tuple[np.ndarray, int]:
    """Memory that is all guard, with room for `size` bytes between, and where they start in it."""
    whole = np.full(-(-size // 4) + (2 * _GUARD + ALIGNMENT) // 4, _GUARDED, np.uint32).view(np.uint8)
    return whole, _GUARD + -(whole.ctypes.data + _GUARD) % ALIGNMENT
