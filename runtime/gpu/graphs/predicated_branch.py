"""Branches that the GPU takes by itself, without the host.

All branches of an instruction are asked for, each predicated on a state that says if it is taken: those that
are not do nothing. So a captured graph goes on where the host would have to wait for a number, and a loop
whose iterations are predicated may have branches inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import finalize

import numpy as np

from staticgraph.compiler.codegen.cuda.predicated import choose
from staticgraph.compiler.gpu.step import every_instruction
from staticgraph.compiler.lower.program import Branch, Program
from staticgraph.runtime.gpu.cuda.driver import Direction
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.graphs.predicate import WORD, NotPredicable, Predicate, Predicated, state_bytes
from staticgraph.runtime.gpu.graphs.recording import Recording, Table, at, inner_table

# Pieces of all branches of an instruction, above which the host chooses. To wait for the GPU costs 7 us and
# lets it wait in turn; a piece that does nothing costs up to 0.7 us, and small ones are merged.
_MOST_PIECES = 32
_MOST_MULTIPLICATIONS = 1 << 24  # of products that are done in any case


def states_of(program: Program, rows: int) -> tuple[dict[int, int], int]:
    """Return where the states of all branches inside of a program are, after that of the loop around.

    Args:
        program: The program.
        rows: The number of rows of the loop.

    Returns:
        For each branch instruction, by its id, the offset of the states of its branches; and the bytes of
        all states.
    """
    places, start = {}, state_bytes(rows)
    for instruction in _branches(program):
        places[id(instruction)] = start
        start += len(instruction.branches) * state_bytes(rows)
    return places, start


def ask(recorder: Recording, predicate: Predicate, instruction: Branch, table: Table) -> None:
    """Ask for all branches of an instruction inside of what is predicated, in a program with this table."""
    index = at(table, instruction.index)
    states = predicate.branches[id(instruction)]
    start, end = predicate.span
    count, apart = len(instruction.branches), state_bytes(len(predicate.rows))
    call = choose(count, (end - start) // WORD, apart // WORD)
    written = states, states + count * apart
    recorder.call(call, [states, start, index], [(start, end), (index, index + 4)], [written])
    places = [at(table, ref) for ref in (*instruction.inputs, *instruction.outputs)]
    for number, inner in enumerate(instruction.branches):
        arena = at(table, inner.arena)
        private = arena, arena + inner.program.arena
        with recorder.under(predicate.of_branch(number, states, private)):
            recorder.program(inner.program, inner_table(table, inner, places))


class StepBranches:
    """Branches of a step outside of loops that the data end: which of them the GPU takes by itself.

    That is found when functions are looked for before a capture. A branch that was not there then is left to
    the host.
    """

    def __init__(self, device: Device, program: Program) -> None:
        self._device, self._program = device, program
        self._always: Predicate | None = None  # that of a loop which does not end
        self._pays: dict[int, bool] = {}  # by the id of an instruction

    def predicate(self, recorder: Recording, instruction: Branch, table: Table) -> Predicate | None:
        """Return the predicate by which to ask for all branches; None if the host chooses one."""
        key = id(instruction)
        if key not in self._pays and recorder.plans:
            self._pays[key] = self._found(recorder, instruction, table)
        return self._always if self._pays.get(key) else None

    def _found(self, recorder: Recording, instruction: Branch, table: Table) -> bool:
        if self._always is None:
            self._always = self._made()
        self._always.work = work = Predicated()
        predicate = self._always
        try:
            recorder.functions(lambda: ask(recorder, predicate, instruction, table))
        except NotPredicable:
            return False
        return work.pieces <= _MOST_PIECES and work.multiplications <= _MOST_MULTIPLICATIONS

    def _made(self) -> Predicate:
        places, size = states_of(self._program, 0)
        driver = self._device.driver
        start = driver.allocate(size)
        finalize(self, self._device.release, [start]).atexit = False  # then it goes with the process
        zeros = np.zeros(size, np.uint8)
        driver.copy(start, zeros.ctypes.data, size, Direction.TO_DEVICE)
        return Predicate(start, (), (0, 0), {key: start + place for key, place in places.items()})


def _branches(program: Program) -> Iterator[Branch]:
    return (each for each in every_instruction(program) if isinstance(each, Branch))
