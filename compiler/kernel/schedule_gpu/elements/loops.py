"""Schedule of any kernel: independent iterations are spread over threads, all else runs as it is written.

Each statement of the body that has such iterations becomes a function, and so does what lies between two of
them, with a single thread. Statements side by side that only store single elements become one function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from staticgraph.compiler.graph.sizes import AnySize, Size, at_least, at_most, same
from staticgraph.compiler.kernel.expr import Expr, Index, Load, substitute, walk
from staticgraph.compiler.kernel.loops.dependence import accesses
from staticgraph.compiler.kernel.loops.nests import flatten
from staticgraph.compiler.kernel.loops.spill_across_phases import connect
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_gpu.elements.pointwise import pointwise
from staticgraph.compiler.kernel.schedule_gpu.elements.scatter import (
    KEYS,
    NoteSchedule,
    ScatterSchedule,
    scatter,
)
from staticgraph.compiler.kernel.schedule_gpu.elements.spread import Body, spread, used_once
from staticgraph.compiler.kernel.schedule_gpu.function import FunctionSchedule, GpuSchedule, Grid
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS, WARP
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Let, Loop, LoopKind, Store, expressions
from staticgraph.compiler.machine import GpuMachine
from staticgraph.compiler.support.dataclass import dataclass

_OWN_BYTES = 512  # of scratch memory that a thread keeps for itself; more of it comes from the kernel's
_MOST_SCRATCH = 1 << 26  # bytes of that: fewer threads share the items where it would be more


@dataclass(frozen=True, slots=True, eq=False)
class LoopSchedule(FunctionSchedule):
    """`body` for each value of `item`, of which each thread takes one or several; once without it.

    `private` are the buffers that each thread has for itself.
    """

    name: str
    item: Index | None
    body: Body
    private: tuple[str, ...]
    buffers: Mapping[str, Buffer]

    meets = False
    takes_sizes = True

    @property
    def kind(self) -> str:
        return re.sub(r"\W", "_", self.name)

    @property
    def about(self) -> str:
        """The items."""
        return "all in one thread" if self.item is None else f"{self.item.extent} items"

    @property
    def large(self) -> tuple[str, ...]:
        """The private buffers that do not fit registers: each thread has a part of scratch memory."""
        return tuple(name for name in self.private if _bytes(self.buffers[name]) > _OWN_BYTES)

    @property
    def threads(self) -> int:
        if self.item is None:
            return 1
        busy = self._busy
        return THREADS if isinstance(busy, Size) else min(THREADS, -(-busy // WARP) * WARP)

    @property
    def grid(self) -> Grid:
        return -(-self._busy // self.threads), 1, 1

    @property
    def _busy(self) -> AnySize:
        """Number of threads with an item."""
        count = 1 if self.item is None else self.item.extent
        if not self.large:
            return count
        room = _MOST_SCRATCH // max(1, sum(_bytes(self.buffers[name]) for name in self.large))
        return at_most(count, max(room, THREADS))

    @property
    def written(self) -> set[str]:
        """The buffers that it stores to."""
        return {a.buffer for a in accesses(self.body) if isinstance(a, Store)}

    @property
    def uses(self) -> set[str]:
        """The buffers that it reads or writes, but for those in registers."""
        own = {*self.private} - {*self.large}
        return {a.buffer for a in accesses(self.body)} - own

    @property
    def scratch(self) -> dict[str, AnySize]:
        """Bytes of scratch memory for the private buffers of all threads."""
        count = self.grid[0] * self.threads
        return {name: _bytes(self.buffers[name]) * count for name in self.large}


def statements(kernel: Kernel, machine: GpuMachine) -> GpuSchedule:
    """The functions that do what a kernel says, and the scratch memory that they need."""
    kernel = flatten(kernel)
    buffers = dict(kernel.buffers)
    bodies = connect(spread(kernel), buffers)
    kernel = replace(kernel, buffers=buffers)
    private = used_once(bodies) & kernel.locals.keys()
    functions: list[FunctionSchedule] = []
    scratch: dict[str, AnySize] = {}
    plain: list[Nest] = []

    def provide(used: Iterable[str]) -> None:
        """Make sure that there is memory for buffers that the caller does not give."""
        for name in (name for name in buffers if name in used and name not in kernel.arguments):
            scratch.setdefault(name, _bytes(buffers[name]))

    def close() -> None:
        """Add what stores one element at a time."""
        for made in pointwise(plain, buffers, machine):
            provide(made.uses)
            functions.append(made)
        plain.clear()

    for body in filter(_runs, bodies):
        if nest := _plain(body, private):
            plain.append(nest)
            continue
        close()
        if found := scatter(body, buffers):
            notes, updates = NoteSchedule(found), ScatterSchedule(found)
            scratch[KEYS] = max(_bytes(found.buffers[KEYS]), scratch.get(KEYS, 0))
            provide(notes.uses | updates.uses)
            functions += [notes, updates]
            continue
        made = _loop(kernel, body, private)
        scratch |= made.scratch
        provide(made.uses)
        functions.append(made)
    close()
    return GpuSchedule(tuple(functions), tuple(scratch.items()))


def _loop(kernel: Kernel, body: Body, private: Set[str]) -> LoopSchedule:
    match body:
        case (Loop(item, inner, LoopKind.PARALLEL),):
            own = [a.buffer for a in accesses(inner) if a.buffer in private]
            return LoopSchedule(kernel.name, item, inner, tuple(dict.fromkeys(own)), kernel.buffers)
    return LoopSchedule(kernel.name, None, body, (), kernel.buffers)


def _plain(body: Body, private: Set[str]) -> Nest | None:
    """A phase that is a parallel loop of stores alone, as these; None if a store reads what one before it
    stores, or uses memory that is `private` to a thread.
    """
    match body:
        case (Loop(item, inner, LoopKind.PARALLEL),):
            pass
        case _:
            return None
    table: dict[Expr, Expr] = {}
    stores: list[Store] = []
    for stmt in inner:
        loaded = {e.buffer for e in walk(*expressions(stmt)) if isinstance(e, Load)}
        if not loaded.isdisjoint({*private, *(s.buffer for s in stores)}):
            return None
        match stmt:
            case Let(local, value):
                table[local] = substitute(value, table)
            case Store(buffer, at, value) if buffer not in private:
                at = tuple(substitute(a, table) for a in at)
                stores.append(Store(buffer, at, substitute(value, table)))
            case _:
                return None
    return Nest((item,), tuple(stores))


def _runs(body: Body) -> bool:
    match body:
        case (Loop(Index(_, extent), _, LoopKind.PARALLEL),):
            return not same(extent, 0)
    return bool(body)


def _bytes(buffer: Buffer) -> AnySize:
    return at_least(buffer.size, 1) * buffer.dtype.size
