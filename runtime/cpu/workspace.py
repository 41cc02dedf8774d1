"""Memory in which a step runs: its arena, the scratch memory of kernels, and its constants.

Executables of one step for different sizes share it, since no two of them run at the same time. The arena is
as large as the largest of them needs.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from staticgraph.compiler.graph.sizes import estimate
from staticgraph.compiler.lower.program import ARENA, CONSTANTS, PRIVATE, SHARED
from staticgraph.runtime.memory.aligned import address_of, aligned_bytes, give_back_unused

if TYPE_CHECKING:
    from staticgraph.compiler.compile import Compiled
    from staticgraph.compiler.lower.program import Program
    from staticgraph.runtime.cpu.disk.loaded_program import LoadedProgram
    from staticgraph.runtime.cpu.pool import Pool

AHEAD = 1 << 28  # bytes up to which an arena that is too small is replaced by one of twice its size
MUCH = 1 << 20  # bytes of a step beside which it matters what is kept: to give that back takes a millisecond


class Workspace:
    """Memory of the executables of one step. `prepared` is the step, with any sizes.

    Attributes:
        pool: The threads that help with the step; None if it has no work for several.

    Raises:
        MemoryError: The system does not give so much.
    """

    def __init__(self, prepared: Compiled | LoadedProgram) -> None:
        program = prepared.program
        if _bytes(program) >= MUCH:
            give_back_unused()  # the peak is from here on: the arena comes on top of what is kept
        self._arena = aligned_bytes(0)
        self._address = address_of(self._arena)
        shared, private = aligned_bytes(prepared.shared), aligned_bytes(prepared.private)
        constants = aligned_bytes(len(program.constants))
        program.constants.write(constants)
        self._fixed = {SHARED: shared, PRIVATE: private, CONSTANTS: constants}
        self._places = [(slot, address_of(block)) for slot, block in self._fixed.items()]
        self.pool: Pool | None = None
        if prepared.regions:
            from staticgraph.runtime.cpu.pool import POOL  # its code is not needed by small steps

            self.pool = POOL
            self._places.append((program.pool_slot, POOL.open(prepared.private)))
        self._tables: WeakValueDictionary[int, Any] = WeakValueDictionary()  # by address

    def enter(self, table: ctypes.Array[ctypes.c_void_p], arena: int) -> None:
        """Put the addresses of the memory into a table, of a step whose arena has so many bytes.

        Raises:
            MemoryError: The system does not give so much.
        """
        if arena > len(self._arena):
            # Sizes often grow step by step. What is not used yet takes no memory of the system.
            self._arena = aligned_bytes(max(arena, min(2 * len(self._arena), AHEAD)))
            self._address = address_of(self._arena)
            for each in self._tables.values():
                each[ARENA] = self._address
        self._tables[ctypes.addressof(table)] = table
        table[ARENA] = self._address
        for slot, address in self._places:
            table[slot] = address


def _bytes(program: Program) -> int:
    """Return about how many bytes a run works with."""
    types = (*program.arguments, *program.results)
    return len(program.constants) + estimate(program.arena + sum(t.size * t.dtype.size for t in types))
