"""Parts that executables of one step for different sizes share: code, memory, and functions of the sizes.

A new size must cost little: what does not depend on sizes is looked up once, the rest is computed together.

The memory is the arena, the scratch memory of kernels, and the constants. Executables share it, since no two
of them run at the same time. The arena is as large as the largest of them needs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, Monomial, Size, estimate, evaluate, is_open
from staticgraph.compiler.lower.program import ARENA, CONSTANTS, PRIVATE, SHARED
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import replace
from staticgraph.runtime.cpu.jit import load
from staticgraph.runtime.state.memory import address_of, aligned_bytes, give_back_unused

if TYPE_CHECKING:
    from staticgraph.compiler.compile import Compiled
    from staticgraph.compiler.lower.program import Program
    from staticgraph.runtime.cpu.disk.loaded_program import LoadedProgram
    from staticgraph.runtime.cpu.pool import Pool

# Bytes of a run from which on the system is asked if it has them: to ask takes as long as a small step.
ASKED = 1 << 28  # bytes from which on the system is asked if it has them
AHEAD = 1 << 28  # bytes up to which an arena that is too small is replaced by one of twice its size
MUCH = 1 << 20  # bytes of a step beside which it matters what is kept: to give that back takes a millisecond


class Workspace:
    """Memory of the executables of one step.

    Args:
        prepared: The step, with any sizes.
        shares: True if it has work for several threads.

    Attributes:
        pool: The threads that help with the step; None if it has no work for several.

    Raises:
        MemoryError: The system does not give so much.
    """

    def __init__(self, prepared: Compiled | LoadedProgram, shares: bool) -> None:
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
        if shares:
            from staticgraph.runtime.cpu.pool import POOL  # its code is not needed by small steps

            self.pool = POOL
            self._places.append((program.pool_slot, POOL.open(prepared.private)))
        self._tables: WeakValueDictionary[int, Any] = WeakValueDictionary()  # by address

    @property
    def size(self) -> int:
        """The bytes of the arena that is there."""
        return len(self._arena)

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
    return (
        len(program.constants) + estimate(program.arena) + sum(estimate(t.size) * t.dtype.size for t in types)
    )


Values = Mapping[str, int]


class OpenStep:
    """A step in memory, for any sizes.

    Args:
        made: The step, with its sizes open.

    Raises:
        MemoryError: The system does not give memory for its constants.
    """

    def __init__(self, made: Compiled | LoadedProgram) -> None:
        program = made.program
        self.made = made
        self.library = load(made.codes)
        self.entry = self.library[made.entry.name]
        self.host_calls = program.host_calls
        self.may_stop = program.may_stop
        self.needed = tuple(made.step.needed)  # variables that must have a value
        self.slots, self.numbers_slot = program.slots, program.numbers_slot
        regions = made.regions
        self.workspace = Workspace(made, bool(regions))
        self._program_at = program_at(program)
        # Results that overwrite a variable are no new memory, but their sizes are seldom open.
        self._new = [
            n for n, t in enumerate(program.results) if n < program.fetches or is_open(t.static_shape)
        ]
        self._count = len(made.sizes) if program.opens else 0
        self._numbers_at = evaluator((*(made.sizes if program.opens else ()), *regions))

    def at(self, values: Values) -> Compiled | LoadedProgram:
        """The step for values of its open sizes."""
        made: Any = self.made  # one of two classes with these fields
        found: Compiled | LoadedProgram
        found = replace(made, step=made.step.at(values), program=self._program_at(values))
        return found

    def require_memory(self, program: Program) -> None:
        """Raise MemoryError if a run of `program`, with sizes known, needs more than the system has left."""
        results = (program.results[n] for n in self._new)
        more = program.arena - self.workspace.size + sum(t.size * t.dtype.size for t in results)
        if more >= ASKED:
            from staticgraph.compiler.support.system_memory import require_memory  # few runs need so much

            require_memory(more)

    def numbers_at(self, values: Values) -> tuple[list[int], bool]:
        """Return the values of the sizes that the code asks for, and if several threads can work on a run."""
        found = self._numbers_at(values)
        times = found[self._count :]
        return found[: self._count], bool(times) and max(times) >= CPU.region_ns


def program_at(program: Program) -> Callable[[Values], Program]:
    """Return `program.at`, for many values: it knows which types are open."""
    arguments, results = types_at(program.arguments), types_at(program.results)

    def at(values: Values) -> Program:
        arena = evaluate(program.arena, values)
        return replace(program, arguments=arguments(values), results=results(values), arena=arena)

    return at


def types_at(types: Sequence[TensorType]) -> Callable[[Values], tuple[TensorType, ...]]:
    """Return a function that gives types for values of the open sizes in them."""
    opened = [n for n, type in enumerate(types) if is_open(type.static_shape)]

    def at(values: Values) -> tuple[TensorType, ...]:
        found = [*types]
        for n in opened:
            found[n] = types[n].at(values)
        return tuple(found)

    return at


def evaluator(sizes: Sequence[AnySize]) -> Callable[[Values], list[int]]:
    """Return a function that gives the values of many sizes, which are asked again and again.

    They are one product of a matrix of coefficients with the values of all monomials. A value beyond 64 bits
    is as code with 64 bits computes it.
    """
    terms: list[Mapping[Monomial, int]]
    terms = [size.terms if isinstance(size, Size) else {(): size} for size in sizes]
    monomials = list(dict.fromkeys(monomial for each in terms for monomial in each))
    try:
        matrix = np.array([[each.get(m, 0) for m in monomials] for each in terms], np.int64)
    except OverflowError:
        return lambda values: [evaluate(size, values) for size in sizes]
    if not monomials:
        return lambda values: []
    from staticgraph.compiler.graph.open_sizes import function_of  # closed steps do without

    functions = [function_of(Size({m: 1}) if m else 1) for m in monomials]

    def values_at(values: Values) -> list[int]:
        found = [function(values) for function in functions]
        try:
            products: list[int] = (matrix @ np.array(found, np.int64)).tolist()
        except OverflowError:
            return [evaluate(size, values) for size in sizes]
        return products

    return values_at
