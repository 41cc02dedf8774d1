"""Functions whose steps are taken by all threads of a block together.

`kernel/schedule_gpu/elements/cooperative.py` says which threads do what.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import field

from staticgraph.compiler.codegen.cuda.elements.statements import StatementWriter, changed
from staticgraph.compiler.codegen.cuda.expr import index_type
from staticgraph.compiler.codegen.cuda.function import C_TYPES, FunctionCall, call_of, parameters
from staticgraph.compiler.codegen.cuda.prelude import combiner, register_type
from staticgraph.compiler.codegen.cuda.scalar import constant
from staticgraph.compiler.graph.sizes import proven
from staticgraph.compiler.kernel.expr import Load, Local, identity, walk
from staticgraph.compiler.kernel.loops.dependence import accesses
from staticgraph.compiler.kernel.schedule_gpu.elements.cooperative import CooperativeSchedule, part_threads
from staticgraph.compiler.kernel.schedule_gpu.target import WARP
from staticgraph.compiler.kernel.stmt import (
    If,
    Let,
    Loop,
    LoopKind,
    Stmt,
    Store,
    Update,
    While,
    expressions,
    updates_of_outer,
)
from staticgraph.compiler.support.dataclass import dataclass

Body = tuple[Stmt, ...]
_GIVEN = "*"  # all that is no scratch memory: results may lie where inputs do


def cooperative(made: CooperativeSchedule) -> FunctionCall:
    """The function of a schedule."""
    writer = _CooperativeWriter(made)
    writer.whole()
    return call_of(made, parameters(made.buffers, made.written, made.uses), writer.text)


@dataclass(slots=True)
class _Team:
    """Threads that take each step together.

    Attributes:
        count: How many they are.
        number: The number of a thread among them.
        meet: The statement by which they wait for each other.
        reads: The buffers that were read since they met.
        writes: Those that were written.
    """

    count: int
    number: str
    meet: str
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """Context of statements that may be left out at run time: then nobody has met in them."""
        reads, writes = set(self.reads), set(self.writes)
        yield
        self.add(reads, writes)

    def touches(self, reads: set[str], writes: set[str]) -> bool:
        """Note what is read and written next. Return True if the threads have to meet before."""
        apart = writes & (self.reads | self.writes) or reads & self.writes
        if apart:
            self.reads, self.writes = set(), set()
        self.add(reads, writes)
        return bool(apart)

    def add(self, reads: set[str], writes: set[str]) -> None:
        """Note that memory may have been read and written since they met."""
        self.reads |= reads
        self.writes |= writes


class _CooperativeWriter(StatementWriter):
    """Writes statements for a block, for a warp of it, or for one thread: then `team` is None."""

    def __init__(self, made: CooperativeSchedule) -> None:
        super().__init__(made.buffers)
        self.made = made
        self.block_team = _Team(made.threads, "threadIdx.x", "__syncthreads();")
        self.team: _Team | None = self.block_team

    def whole(self) -> None:
        """Write the function."""
        made = self.made
        for name, count in made.copies.items():
            self._point(name, f"int64_t(blockIdx.x) * {count * self._elements(name)}")
        if made.item is None:
            self.body(made.body)
            return
        self.block_team.add(*self._touched(made.body))  # by the item before
        head = (
            f"for ({index_type(made.item)} item = blockIdx.x; item < {made.item.extent}; item += gridDim.x)"
        )
        with self.block(head):
            self.bind_index(made.item, "item")
            self.body(made.body)

    def statement(self, stmt: Stmt, rest: Body) -> None:
        team = self.team
        if team is None:
            super().statement(stmt, rest)
            return
        match stmt:
            case Let() | Update():
                self._look(team, stmt)
                super().statement(stmt, rest)
            case Store():
                self._meet(team, (stmt,))
                with self.block(f"if ({team.number} == 0)"):
                    super().statement(stmt, rest)
            case If():
                self._look(team, stmt)
                with team.perhaps():
                    super().statement(stmt, rest)
                self.forget(changed(stmt.body))
            case While(condition, inner):
                team.add(*self._touched((stmt,)))  # by the iteration before
                self.forget(changed(inner))
                with self.block("while (true)"):
                    self._look(team, stmt)
                    at_end = set(team.reads), set(team.writes)
                    self.line(f"if (!({self.value(condition)})) break;")
                    self.body(inner)
                team.reads, team.writes = at_end
            case Loop():
                self.loop(stmt)

    def loop(self, loop: Loop) -> None:
        """Write a loop: divided among threads if its iterations are independent."""
        team = self.team
        if team is None:
            super().loop(loop)
            return
        updates = updates_of_outer(loop.body)
        stores = any(isinstance(a, Store) for a in accesses(loop.body))
        self._look(team, loop)
        self.forget(changed(loop.body))
        if loop.kind is LoopKind.SIMD and not (updates and stores) and all(u.combine for u in updates):
            self._lanes(loop, team, {u.local: u.combine for u in updates if u.combine})
        elif loop.kind is LoopKind.PARALLEL and team is self.block_team and not updates:
            self._parts(loop)
        else:
            runs = loop.share is None and proven(operator.ge, loop.index.extent, 1)
            with nullcontext() if runs else team.perhaps():
                team.add(*self._touched(loop.body))  # by the iteration before
                self._each(loop, "0", 1)

    def _lanes(self, loop: Loop, team: _Team, combined: Mapping[Local, str]) -> None:
        """A thread does an iteration. What they combine, each warp combines for itself."""
        self._meet(team, loop.body)
        number, count = team.number, team.count
        if combined and count > WARP:
            number, count = f"threadIdx.x % {WARP}", WARP
        finish: list[str] = []
        for local, how in combined.items():
            before, mine, kind = self.name("before"), self.value(local), combiner(how, local.dtype)
            self.line(f"const {register_type(local.dtype)} {before} = {mine};")
            self.line(f"{mine} = {constant(identity(how, local.dtype).value, local.dtype)};")
            finish.append(f"{mine} = {kind}::of({before}, warp_reduce<{kind}>({mine}));")
        self.team = None
        self._each(loop, number, count)
        self.team = team
        for text in finish:
            self.line(text)

    def _parts(self, loop: Loop) -> None:
        """A warp of the block does an iteration, or a thread if there is nothing for its lanes."""
        self._meet(self.block_team, loop.body)
        threads = part_threads(loop)
        part, lane = (f"threadIdx.x {how} {threads}" for how in "/%")
        if threads > 1:
            self.team = _Team(threads, lane, "__syncwarp();")
            self.team.add(*self._touched(loop.body))  # by the iteration before
        else:
            self.team, part = None, "threadIdx.x"
        pointers = dict(self.pointers)
        with self.block(""):
            for name in self.made.copies:
                if not self.buffers[name].shared and name in {a.buffer for a in accesses(loop.body)}:
                    self._point(name, f"int64_t(1 + {part}) * {self._elements(name)}")
            self._each(loop, part, self.made.threads // threads)
        self.pointers, self.team = pointers, self.block_team

    def _each(self, loop: Loop, number: str, count: int) -> None:
        """The loop over every `count`-th iteration, from that of the thread's own number on."""
        index = loop.index
        first, end = ("0", f"{index.extent}") if loop.share is None else self.share(loop.share, index.extent)
        name = self.name(index.name)
        start = first if count == 1 else f"{first} + int({number})"
        step = f"++{name}" if count == 1 else f"{name} += {count}"
        with self.block(f"for ({index_type(index)} {name} = {start}; {name} < {end}; {step})"):
            self.bind_index(index, name)
            self.body(loop.body)

    def _look(self, team: _Team, stmt: Stmt) -> None:
        """Have the threads meet if a statement reads, in its own expressions, what one of them wrote."""
        reads = {self._memory(e.buffer) for e in walk(*expressions(stmt)) if isinstance(e, Load)}
        if team.touches(reads, set()):
            self.line(team.meet)

    def _meet(self, team: _Team, body: Body) -> None:
        """Have the threads meet if statements touch what one of them touched before."""
        if team.touches(*self._touched(body)):
            self.line(team.meet)

    def _touched(self, body: Body) -> tuple[set[str], set[str]]:
        """The memory that statements read, and what they write."""
        found = accesses(body)
        reads, writes = (
            {self._memory(a.buffer) for a in found if isinstance(a, kind)} for kind in (Load, Store)
        )
        return reads, writes

    def _memory(self, buffer: str) -> str:
        return buffer if buffer in self.made.copies else _GIVEN

    def _elements(self, name: str) -> int:
        return max(operator.index(self.buffers[name].size), 1)

    def _point(self, name: str, offset: str) -> None:
        """From here on, a buffer lies so far behind where it lay before."""
        mine, kind = self.name(name), C_TYPES[self.buffers[name].dtype.name]
        self.line(f"{kind}* const {mine} = {self.pointers[name]} + {offset};")
        self.pointers[name] = mine
