"""Memory of compiled code between pages that nobody may touch, full of bytes that nobody computes.

`install` is for a process of its own. From then on each block lies at the end of a page, or at the start of
one, and a load or store beyond it ends the process with a signal. Buffers in the arena, which share a block,
get pages of their own. What is read before it is written, and the few bytes between a block and its page's
end, are NaN with a payload that arithmetic hands on: `foreign` finds it in results.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from staticgraph.compiler.kernel.stmt import ALIGNMENT, padded
from staticgraph.compiler.lower import lower
from staticgraph.compiler.lower.buffer_assignment import Key, Lifetime
from staticgraph.runtime.cpu import open_step, pool
from staticgraph.runtime.cpu.fast_path import call_record as binding
from staticgraph.runtime.cpu.measurements import meter
from staticgraph.runtime.state import memory

PAGE = mmap.PAGESIZE
POISON = 0xFFA5A5A5  # a signalling NaN; arithmetic makes it a quiet one
_QUIET = 1 << 22
_NONE = 0
_LARGE = 1 << 26  # bytes: larger blocks are not filled, which would take longer than the run

_libc = ctypes.CDLL(None, use_errno=True)
_gaps: dict[int, list[int]] = {}  # offsets of pages between the buffers of an arena, by its size
_at_end = True


def guarded_bytes(size: int, gaps: Sequence[int] = ()) -> np.ndarray:
    """`memory.aligned_bytes`, between pages without access, with others of them at `gaps`."""
    inside = -(-max(size, 1) // PAGE) * PAGE
    block = mmap.mmap(-1, inside + 2 * PAGE)
    whole = np.frombuffer(block, np.uint8)
    if inside <= _LARGE:
        whole[PAGE : PAGE + inside].view(np.uint32)[:] = POISON
    start = PAGE + (inside - padded(size) if _at_end else 0)
    address = whole.ctypes.data
    assert (address + start) % ALIGNMENT == 0
    for page in (0, PAGE + inside, *(start + gap for gap in gaps)):
        if _libc.mprotect(ctypes.c_void_p(address + page), PAGE, _NONE):
            raise OSError(ctypes.get_errno(), "mprotect")
    return whole[start:][:size]


def guarded_arena(size: int) -> np.ndarray:
    """The same for the blocks of an executable, one of which is the arena."""
    return guarded_bytes(size, _gaps.get(size, ()))


def plan_apart(lifetimes: Mapping[Key, Lifetime]) -> tuple[dict[Key, int], int]:
    """`plan_arena` with a page between any two buffers, each at the end of its pages or at their start."""
    offsets: dict[Key, int] = {}
    gaps, at = [], 0
    for key, (size, _, _) in lifetimes.items():
        room = padded(max(size, 1))
        inside = -(-room // PAGE) * PAGE
        offsets[key] = at + (inside - room if _at_end else 0)
        gaps.append(at + inside)
        at += inside + PAGE
    if at:
        _gaps.clear()  # the arena is made next, and those of loops lie within it
        _gaps[at] = gaps
    return offsets, at


def install(at_end: bool = True) -> None:
    """Let all memory of compiled code in this process be guarded."""
    global _at_end
    _at_end = at_end
    name = memory.aligned_bytes.__name__
    for module in (memory, binding, pool, meter):
        setattr(module, name, guarded_bytes)
    setattr(open_step, name, guarded_arena)
    open_step.AHEAD = 0  # an arena is no larger than it must be
    setattr(lower, "plan_arena", plan_apart)  # noqa: B010


def feed(array: np.ndarray) -> np.ndarray:
    """A guarded copy of an array."""
    made = guarded_bytes(array.nbytes).view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def foreign(array: Hashable) -> bool:
    """Return True if a result has bytes that no computation has made."""
    made = np.asarray(array)
    if made.dtype.kind not in "fiuc" or made.dtype.itemsize < 4:
        return False
    words = np.ascontiguousarray(made).reshape(-1).view(np.uint32)
    return bool(np.isin(words, (POISON, POISON | _QUIET)).any())
