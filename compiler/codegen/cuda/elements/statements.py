"""Any kernel: loops whose iterations are independent are spread over threads, all else runs as it is written.

Each statement of the body that has such loops becomes a function, and so does what lies between two of them,
with a single thread. Statements side by side that only store single elements become one function together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from dataclasses import replace

from staticgraph.compiler.codegen.cuda.elements.pointwise import pointwise
from staticgraph.compiler.codegen.cuda.elements.scatter import KEYS, scatter, scatter_calls
from staticgraph.compiler.codegen.cuda.elements.spread import Body, spread, used_once
from staticgraph.compiler.codegen.cuda.expr import CudaWriter, index_type
from staticgraph.compiler.codegen.cuda.function import (
    C_TYPES,
    Extents,
    FunctionCall,
    KernelWork,
    Parameter,
    call,
)
from staticgraph.compiler.codegen.cuda.limits import THREADS
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.dependence import accesses
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, substitute, walk
from staticgraph.compiler.kernel.index import simplify_index
from staticgraph.compiler.kernel.lower_reductions import Nest
from staticgraph.compiler.kernel.schedule_cpu import flatten
from staticgraph.compiler.kernel.spill_across_phases import connect
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Share,
    Stmt,
    Store,
    Update,
    While,
    expressions,
)
from staticgraph.compiler.kernel.stmt import statements as inside

_OWN_BYTES = 512  # of scratch memory that a thread keeps for itself; more of it comes from the work's
_MOST_SCRATCH = 1 << 26  # bytes of that: fewer threads share the items where it would be more


def statements(kernel: Kernel) -> KernelWork:
    """The functions that do what a kernel says, and the scratch memory that they need."""
    flat = flatten(kernel)
    buffers = dict(flat.buffers)
    bodies = connect(spread(flat), buffers)
    return _Phases(replace(flat, buffers=buffers), bodies).work()


class _Phases:
    """Writes phases of a kernel as functions."""

    def __init__(self, kernel: Kernel, bodies: list[Body]) -> None:
        self.kernel, self.bodies = kernel, bodies
        self.private = used_once(bodies) & kernel.locals.keys()
        self.scratch: dict[str, int] = {}

    def work(self) -> KernelWork:
        calls: list[FunctionCall] = []
        plain: list[Nest] = []
        for body in filter(_runs, self.bodies):
            nest = _plain(body, self.private)
            if nest is not None:
                plain.append(nest)
            else:
                calls += [*self.pointwise(plain), *self.calls(body)]
                plain = []
        calls += self.pointwise(plain)
        return KernelWork(tuple(calls), tuple(self.scratch.items()))

    def pointwise(self, nests: list[Nest]) -> list[FunctionCall]:
        """Return the calls for phases that store one element at a time."""
        calls = pointwise(nests, self.kernel.buffers)
        self.provide(name for call in calls for name in call.arguments)
        return calls

    def calls(self, body: Body) -> list[FunctionCall]:
        """Return the calls for a phase of any other kind."""
        found = scatter(body, self.kernel.buffers)
        if found is None:
            return [self.call(body)]
        calls, size = scatter_calls(found, self.kernel.buffers)
        self.scratch[KEYS] = max(size, self.scratch.get(KEYS, 0))
        self.provide(name for call in calls for name in call.arguments if name != KEYS)
        return calls

    def provide(self, used: Iterable[str]) -> None:
        """Make sure that there is memory for buffers that the caller does not give."""
        for name in used:
            if name not in self.kernel.arguments:
                self.scratch.setdefault(name, _bytes(self.kernel.buffers[name]))

    def call(self, body: Body) -> FunctionCall:
        writer = _StatementWriter(self.kernel.buffers)
        touched = accesses(body)
        used = {a.buffer: self.kernel.buffers[a.buffer] for a in touched}
        written = {a.buffer for a in touched if isinstance(a, Store)}
        match body:
            case (Loop(item, inner, LoopKind.PARALLEL),):
                private = [name for name in used if name in self.private]
                grid, block = self.spread(writer, item, inner, private)
                used = {name: b for name, b in used.items() if name not in private or name in self.scratch}
            case _:
                writer.body(body)
                grid = block = (1, 1, 1)
        self.provide(used)
        order = [name for name in self.kernel.buffers if name in used]
        parameters = [Parameter(name, used[name].dtype, name in written) for name in order]
        return call(re.sub(r"\W", "_", self.kernel.name), parameters, writer.text, grid, block)

    def spread(
        self, writer: _StatementWriter, item: Index, inner: tuple[Stmt, ...], private: list[str]
    ) -> tuple[Extents, Extents]:
        """Write a loop whose iterations are spread over threads."""
        large = [name for name in private if _bytes(self.kernel.buffers[name]) > _OWN_BYTES]
        room = _MOST_SCRATCH // max(1, sum(_bytes(self.kernel.buffers[name]) for name in large))
        threads = min(item.extent, max(room, THREADS)) if large else item.extent
        block = min(THREADS, -(-threads // 32) * 32)
        grid = -(-threads // block)
        kind = index_type(Index("thread", grid * block + item.extent))
        writer.line(f"const {kind} thread = {kind}(blockIdx.x) * {block} + threadIdx.x;")
        for name in private:
            buffer = self.kernel.buffers[name]
            element = C_TYPES[buffer.dtype.name]
            writer.pointers[name] = mine = writer.name(name)
            if name in large:
                self.scratch[name] = _bytes(buffer) * grid * block
                writer.line(f"{element}* const {mine} = {name} + int64_t(thread) * {buffer.size};")
            else:
                writer.line(f"{element} {mine}[{max(buffer.size, 1)}];")
        head = f"if (thread < {item.extent})"
        if large:
            head = f"for ({kind} item = thread; item < {item.extent}; item += {grid * block})"
        with writer.block(head):
            writer.bind_index(item, "item" if large else "thread")
            writer.body(inner)
        return (grid, 1, 1), (block, 1, 1)


class _StatementWriter(CudaWriter):
    """Writes statements for one thread."""

    def body(self, body: tuple[Stmt, ...]) -> None:
        for number, stmt in enumerate(body):
            match stmt:
                case Let(local, value):
                    self.define(local, value, constant=local not in updated(body[number:]))
                case Update(local, value):
                    self.assign(local, value)
                case Store(buffer, at, value):
                    self.store(buffer, at, value)
                case Loop():
                    self.loop(stmt)
                case While(condition, inner):
                    self.forget(_changed(inner))
                    with self.block("while (true)"):
                        self.line(f"if (!({self.value(condition)})) break;")
                        self.body(inner)
                case If(condition, inner):
                    with self.block(f"if ({self.value(condition)})"):
                        self.body(inner)

    def loop(self, loop: Loop) -> None:
        index, kind = loop.index, index_type(loop.index)
        self.forget(_changed(loop.body))
        first, end = ("0", str(index.extent)) if loop.share is None else self.share(loop.share, index.extent)
        name = self.name(index.name)
        with self.block(f"for ({kind} {name} = {first}; {name} < {end}; ++{name})"):
            self.bind_index(index, name)
            self.body(loop.body)

    def share(self, share: Share, extent: int) -> tuple[str, str]:
        """The first iteration of a share, and the one after its last."""
        units = extent // share.unit
        first, after = (p * units // share.count * share.unit for p in (share.part, share.part + 1))
        end = scalar.select(scalar.eq(share.part, share.count - 1), Const(extent, int64), after)
        return self.value(simplify_index(first)), self.value(simplify_index(end))


def updated(body: tuple[Stmt, ...]) -> set[Local]:
    """The locals that `body` gives new values."""
    return {s.local for s in inside(body) if isinstance(s, Update)}


def _changed(body: tuple[Stmt, ...]) -> set[Local | str]:
    return {*updated(body), *(s.buffer for s in inside(body) if isinstance(s, Store))}


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
                stores.append(
                    Store(buffer, tuple(substitute(a, table) for a in at), substitute(value, table))
                )
            case _:
                return None
    return Nest((item,), tuple(stores))


def _runs(body: tuple[Stmt, ...]) -> bool:
    match body:
        case (Loop(Index(_, extent), _, LoopKind.PARALLEL),):
            return extent > 0
    return bool(body)


def _bytes(buffer: Buffer) -> int:
    return max(buffer.size, 1) * buffer.dtype.size
