"""Loops whose trip count the data decide, several iterations at a time.

To find out after each iteration if there is another one, the host waits for the GPU and the GPU for the host.
Here the GPU is asked for more iterations than there may be, and those after the end do nothing: their work is
predicated on the state of the loop, which a function brings up to date between two. The host looks after 2
iterations, after 4 more, after 8 more and so on: a loop is asked for about twice as many as it has, at most.

Iterations are captured in pairs, since what is carried is in one of two places by turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from weakref import finalize

import numpy as np

from staticgraph.compiler.codegen.cuda.predicated import ADVANCE, DONE, ENDED, ROWS
from staticgraph.compiler.graph.errors import DeadlineExceededError, misuse
from staticgraph.compiler.lower.program import Carried, LoopInstruction, Ref, RowAt
from staticgraph.runtime.gpu.cuda.driver import Direction
from staticgraph.runtime.gpu.graphs.order import Span
from staticgraph.runtime.gpu.graphs.predicate import WORD, Predicate, Predicated
from staticgraph.runtime.gpu.graphs.predicated_branch import states_of
from staticgraph.runtime.gpu.graphs.recording import Recording, Table, at, inner_table
from staticgraph.runtime.state.resources import remaining

_SHORT, _LONG = 2, 8  # iterations in a graph
_LOOK = 32  # iterations after which the host looks, at most
_PIECES = 512  # of work that may be done in vain, about
_MOST_PIECES = 256  # in an iteration: with more of them, it takes no less time not to wait
_MOST_MULTIPLICATIONS = 1 << 26  # in an iteration, of products that are done in any case: some microseconds


class PredicatedLoop:
    """A loop in a program with this table, of which the GPU does several iterations at a time.

    Args:
        recorder: What asks the GPU.
        loop: The loop, in whose iterations the host takes no part.
        table: The addresses of the program that it is in.
        count: Its trip count, or None if that depends on values.
    """

    def __init__(self, recorder: Recording, loop: LoopInstruction, table: Table, count: int | None) -> None:
        self._recorder, self._loop, self._table, self._count = recorder, loop, table, count
        self._driver = recorder.device.driver
        self._again = at(table, loop.body.pred)
        self._rows = (*loop.reads, *loop.writes)
        about = np.array(self._about(), np.int64)
        branches, size = states_of(loop.body.program, len(self._rows))
        state = self._driver.allocate(size + about.nbytes)
        finalize(self, recorder.device.release, [state]).atexit = False  # then it goes with the process
        self._driver.copy(state + size, about.ctypes.data, about.nbytes, Direction.TO_DEVICE)
        self._about_span = state + size, state + size + about.nbytes
        arena = at(table, loop.body.arena)
        rows = [self._memory(row) for row in self._rows]
        states = {key: state + place for key, place in branches.items()}
        self._predicate = Predicate(state, rows, (arena, arena + loop.body.program.arena), states)
        self._start, self._state = (self._driver.pinned(WORD * ROWS).view(np.int64) for _ in range(2))
        self._graphs: dict[int, Callable[[], None] | None] = {}  # by the number of iterations
        self._tried = set[bool]()  # whether that was late
        self._pieces = 0  # of work in an iteration

    def is_ready(self, late: bool) -> bool:
        """Return True if all iterations can be predicated. The first answer that says so takes long."""
        if self._graphs.get(_SHORT) is None and late not in self._tried:
            self._tried.add(late)
            self._graphs[_SHORT] = self._captured(_SHORT, late)
        return self._graphs.get(_SHORT) is not None

    def run(self, number: int) -> int:
        """Run all iterations from this one on, an even one, and return how many there were in all.

        What is carried must be where even iterations read it, and is then where `places` says.
        """
        self._start[:] = number, 0
        state = self._predicate.state
        self._driver.copy(state, self._start.ctypes.data, self._start.nbytes, Direction.TO_DEVICE)
        self._advance()
        step, asked = _SHORT, number
        while True:
            self._ask(step)
            asked += step
            if self._count is None or asked >= self._count:
                self._driver.synchronize()
                if self._state[ENDED]:
                    return int(self._state[DONE])
            within_deadline()
            if step < min(_LOOK, _PIECES // max(self._pieces, 1)):
                step *= 2

    def places(self, number: int) -> list[int]:
        """Return the addresses of what is carried, before an iteration."""
        return [at(self._table, place(each, number)) for each in self._loop.carried]

    def _ask(self, count: int) -> None:
        """Ask for so many iterations, a power of two."""
        if count >= _LONG and _LONG not in self._graphs:
            self._graphs[_LONG] = self._captured(_LONG, late=True)
        long = self._graphs[_LONG] if count >= _LONG else None
        short = self._graphs[_SHORT]
        graph, each = (long, _LONG) if long is not None else (short, _SHORT)
        assert graph is not None
        for _ in range(count // each):
            graph()

    def _captured(self, count: int, late: bool) -> Callable[[], None] | None:
        """Return the action that does so many iterations, if there are as many; None if that cannot be.

        The last thing that it does is to find out if there is another one.
        """

        def ask() -> None:
            for number in range(count):
                self._iteration(number)
            self._recorder.fetch(self._state, self._predicate.state)

        predicate = self._predicate
        predicate.work = work = Predicated()
        made = self._recorder.predicated(ask, predicate, late)
        self._pieces, products = (n // (2 * count) for n in (work.pieces, work.multiplications))
        return None if self._pieces > _MOST_PIECES or products > _MOST_MULTIPLICATIONS else made

    def _iteration(self, number: int) -> None:
        loop, predicate = self._loop, self._predicate
        now, following = self.places(number), self.places(number + 1)
        rows = [predicate.row(n) for n in range(len(self._rows))]
        read, written = rows[: len(loop.reads)], rows[len(loop.reads) :]
        captures = [at(self._table, ref) for ref in loop.captures]
        places = (*now, *captures, *read, self._again, *following, *written)
        self._recorder.program(loop.body.program, inner_table(self._table, loop.body, places))
        self._advance()

    def _advance(self) -> None:
        """Ask for the function that finds out if there is another iteration."""
        state = self._predicate.span  # which all that is predicated reads
        reads = [self._about_span, *self._counters()]
        reads += [(each, each + 1) for each in (at(self._table, self._loop.pred), self._again)]
        self._recorder.call(ADVANCE, [state[0], self._about_span[0]], reads, [state])

    def _counters(self) -> Iterator[Span]:
        """The bytes that tell which rows an iteration works on."""
        for row in self._rows:
            carried = self._loop.carried[row.counter]
            for number in range(2 if carried.counts is None else 0):
                start = at(self._table, place(carried, number))
                yield start, start + row.counter_bytes

    def _about(self) -> list[int]:
        """Return what `ADVANCE` has to know of the loop."""
        count = -1 if self._count is None else self._count
        found = [at(self._table, self._loop.pred), self._again, count, len(self._rows)]
        spare = at(self._table, self._loop.spare)
        for row in self._rows:
            carried = self._loop.carried[row.counter]
            found += [at(self._table, row.base), row.size, row.rows, row.offset, spare]
            found += [at(self._table, place(carried, number)) for number in range(2)]
            found += [row.counter_bytes, 0, 0] if carried.counts is None else [0, *carried.counts]
        return found

    def _memory(self, row: RowAt) -> Sequence[Span]:
        """The bytes that a row may be in."""
        base, spare = at(self._table, row.base), at(self._table, self._loop.spare)
        return [(base, base + row.rows * row.size), (spare, spare + self._loop.row)]


def place(carried: Carried, number: int) -> Ref:
    """Return where a carried value is before an iteration, if even ones read it at its second place."""
    return carried.final if carried.other is None or number % 2 else carried.other


def within_deadline() -> None:
    """DeadlineExceededError if the time of the run is over."""
    if remaining() == 0:
        text = "the time that the run was given is over; all variables are as they were before it"
        raise misuse(DeadlineExceededError, text)
