"""Loops and branches on a GPU: which of them a graph can hold, and how the host drives the others.

A loop that always has the same number of rounds is asked for round by round, with the addresses that each
round has. If the GPU finds out whether a loop goes on, it is asked for several rounds at a time
(`predicated_loop.py`). If that cannot be, as in the first run, the host looks after each round; a round that
has the same addresses as an earlier one is a graph, captured when it comes for the second time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from staticgraph.compiler.gpu.step import every_instruction
from staticgraph.compiler.graph.errors import ResourceExhaustedError
from staticgraph.compiler.lower.program import (
    Branch,
    HostCall,
    Inner,
    Instruction,
    LoopInstruction,
    Program,
    Require,
    RowAt,
)
from staticgraph.runtime.gpu.graphs import predicated_branch
from staticgraph.runtime.gpu.graphs.predicated_loop import PredicatedLoop, within_deadline
from staticgraph.runtime.gpu.graphs.recording import Recording, at, inner_table

_TRUTH = np.dtype(np.int8)
MOST_CAPTURED = 20_000  # instructions of all rounds of a loop in a graph
_LATE = 4096  # rounds one by one, an even number, after which it pays to compile functions for several


def rounds(loop: LoopInstruction) -> int | None:
    """Return the trip count of a loop, or None if it depends on values."""
    attrs = loop.node.attrs
    return attrs["bound"] if attrs["exact"] else None


def is_known(loop: LoopInstruction) -> bool:
    """Return True if all iterations of a loop can be enqueued at once.

    The trip count must be known, and so must the counters of all rows that the loop reads or writes. All
    iterations together must have at most `MOST_CAPTURED` instructions.
    """
    count = rounds(loop)
    if count is None or any(loop.carried[row.counter].counts is None for row in _rows(loop)):
        return False
    return count * sum(1 for _ in every_instruction(loop.body.program)) <= MOST_CAPTURED


def decides(program: Program) -> bool:
    """Return True if the host takes part in a run of a program.

    The host runs host calls, chooses branches, looks at checks, and controls loops that are not `is_known`.
    """
    return any(isinstance(i, Branch) or _is_of_host(i) for i in every_instruction(program))


def _is_of_host(instruction: Instruction) -> bool:
    """Return True if the host takes part in an instruction in any case."""
    unknown = isinstance(instruction, LoopInstruction) and not is_known(instruction)
    return unknown or isinstance(instruction, HostCall | Require)


def loop(recorder: Recording, loop: LoopInstruction, table: Sequence[int]) -> None:
    """Ask for a loop, in a program with this table."""
    turns = _Turns(recorder, loop, table)
    if is_known(loop):
        turns.begin()
        for number in range(rounds(loop) or 0):
            turns.round(number)
        turns.end()
    else:
        recorder.decide(turns.all, loop)


def branch(recorder: Recording, branch: Branch, table: Sequence[int]) -> None:
    """Ask for the branch that is taken, in a program with this table; or for all, if the GPU chooses."""
    predicate = recorder.predicate_of(branch, table)
    if predicate is not None:
        predicated_branch.ask(recorder, predicate, branch, table)
        return
    inputs = [at(table, ref) for ref in branch.inputs]
    outputs = [at(table, ref) for ref in branch.outputs]
    bodies = [_Repeated(recorder, inner) for inner in branch.branches]
    tables = [inner_table(table, inner, (*inputs, *outputs)) for inner in branch.branches]
    index = at(table, branch.index)

    def take() -> None:
        number = recorder.number(index, np.dtype(np.int32))
        number = number if 0 <= number < len(bodies) else -1
        bodies[number](tables[number])

    recorder.decide(take, branch)


class Unsound(Exception):
    """A check of a step that failed: nothing has been changed."""


def require(recorder: Recording, instruction: Require, table: Sequence[int]) -> None:
    """Ask for the host to look at a truth value, and to end the run unless it holds."""

    def look() -> None:
        if not recorder.number(at(table, instruction.flag), _TRUTH):
            raise Unsound

    recorder.decide(look, instruction)


class _Repeated:
    """A body that is run again and again: as graphs, where addresses are those of an earlier time."""

    def __init__(self, recorder: Recording, inner: Inner) -> None:
        self._recorder = recorder
        self._program = inner.program
        self._simple = not decides(inner.program)
        self._graphs: dict[tuple[int, ...], Callable[[], None] | None] = {}

    def __call__(self, table: tuple[int, ...]) -> None:
        """Run it now."""
        ask = partial(self._recorder.program, self._program, table)
        graph = self._graphs.get(table)
        if graph is None and self._simple and table in self._graphs:
            (graph,) = self._recorder.captured(ask, self._program, table)
            self._graphs[table] = graph
        if graph is not None:
            graph()
            return
        if len(self._graphs) < 8:
            self._graphs[table] = None
        ask()


class _Turns:
    """The rounds of a loop, and where what it carries is before and after each."""

    def __init__(self, recorder: Recording, loop: LoopInstruction, table: Sequence[int]) -> None:
        self._recorder = recorder
        self._loop = loop
        self._outer = table
        self._body = _Repeated(recorder, loop.body)
        self._predicated: PredicatedLoop | None = None
        self._again = at(table, loop.body.pred)
        self._captures = [at(table, ref) for ref in loop.captures]
        self._now: list[int] = []  # where each carried value is
        self._next: list[int] = []  # where the next round puts it

    def begin(self) -> None:
        """Ask for what is done before the first round."""
        table, loop = self._outer, self._loop
        for whole in loop.whole:
            if whole.init is not None:
                self._recorder.copy(at(table, whole.final), at(table, whole.init), whole.size)
        if loop.row:
            self._recorder.clear(at(table, loop.spare), loop.row)
        self._now, self._next = [], []
        for carried in loop.carried:
            final = at(table, carried.final)
            init = final if carried.init is None else at(table, carried.init)
            if carried.other is None:
                self._recorder.copy(final, init, carried.size)
                init = final
            self._now.append(init)
            self._next.append(final)

    def round(self, number: int, known: bool = True) -> None:
        """Ask for a round: all at once if all its addresses are `known`, or else as the body can be run."""
        loop = self._loop
        reads, writes = ([self._row(row, number) for row in rows] for rows in (loop.reads, loop.writes))
        places = (*self._now, *self._captures, *reads, self._again, *self._next, *writes)
        table = inner_table(self._outer, loop.body, places)
        if known:
            self._recorder.program(loop.body.program, table)
        else:
            self._body(table)
        for n, carried in enumerate(loop.carried):
            if carried.other is not None:
                following = (at(self._outer, carried.other), at(self._outer, carried.final))
                self._now[n] = self._next[n]
                self._next[n] = following[self._next[n] == following[0]]

    def end(self) -> None:
        """Ask for what is done after the last round."""
        for carried, place in zip(self._loop.carried, self._now, strict=True):
            self._recorder.copy(at(self._outer, carried.final), place, carried.size)

    def all(self) -> None:
        """The whole loop: several rounds at a time, or one by one if that cannot be."""
        self.begin()
        if not self._rest(0):
            self._one_by_one()
        self.end()

    def _one_by_one(self) -> None:
        count = rounds(self._loop)
        going = self._recorder.number(at(self._outer, self._loop.pred), _TRUTH) != 0
        for number in itertools.count():
            if not going or number == count or (number == _LATE and self._rest(number)):
                break
            self.round(number, known=False)
            if count is None:
                going = self._recorder.number(self._again, _TRUTH) != 0
            within_deadline()

    def _rest(self, number: int) -> bool:
        """Run all iterations from this one on, if several can be asked for at a time."""
        body = self._loop.body.program
        if not self._recorder.merges or any(map(_is_of_host, every_instruction(body))):
            return False
        if self._predicated is None:
            try:
                self._predicated = PredicatedLoop(self._recorder, self._loop, self._outer, rounds(self._loop))
            except ResourceExhaustedError:  # no memory is left for its state
                return False
        if not self._predicated.is_ready(late=number > 0):
            return False
        even = self._predicated.places(0)
        for carried, place, now in zip(self._loop.carried, even, self._now, strict=True):
            self._recorder.copy(place, now, carried.size)
        self._now = self._predicated.places(self._predicated.run(number))
        return True

    def _row(self, row: RowAt, number: int) -> int:
        """The address of a row in a round, or of spare memory if there is no such row."""
        index = self._counter(row, number) + row.offset
        if 0 <= index < row.rows:
            return at(self._outer, row.base) + index * row.size
        return at(self._outer, self._loop.spare)

    def _counter(self, row: RowAt, number: int) -> int:
        counts = self._loop.carried[row.counter].counts
        if counts is not None:
            start, step = counts
            return start + step * number
        dtype = np.dtype(f"i{row.counter_bytes}")
        return self._recorder.number(self._now[row.counter], dtype)


def _rows(loop: LoopInstruction) -> tuple[RowAt, ...]:
    return (*loop.reads, *loop.writes)
