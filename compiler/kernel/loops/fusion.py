"""Neighbouring loops become one where their iterations do not depend on each other.

    for j in 0..6:                          for j in 0..6:
      e[j] = exp(x[i, j] - top)               v0 = exp(x[i, j] - top)
    total = 0.0                       ->      e[j] = v0
    for k in 0..6:                            total += v0
      total += e[k]

A value that is loaded where it has just been stored is taken from its register instead, and a local buffer
that nothing loads any more is not stored at all. So a kernel may be written as one loop per value: only what
must wait for the end of a loop, as for the sum over a row, really goes through memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from staticgraph.compiler.graph.sizes import Size, same
from staticgraph.compiler.kernel.expr import Expr, Load, Local, loads, substitute, walk
from staticgraph.compiler.kernel.loops.dependence import accesses, obstacle, reductions
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Stmt,
    Store,
    Update,
    While,
    expressions,
    rewrite,
    statements,
)
from staticgraph.compiler.support.dataclass import dataclass, replace

_REACH = 32  # statements that are looked at for a loop to join: so the time grows with the kernel's length


_BLOCK = (Loop, While, If)


def fuse_loops(kernel: Kernel) -> Kernel:
    """`kernel`, flat, with fewer loops, and without the local buffers that this makes useless."""
    body = _fused(kernel.body, kernel.buffers)
    reads, stored = set[Load](), set[str]()
    for access in accesses(body):
        if isinstance(access, Load):
            reads.add(access)
        else:
            stored.add(access.buffer)
    loaded = {load.buffer for load in reads}
    if not loaded.isdisjoint(stored):
        body = _Forwarding(kernel, reads).block(body)
        loaded = {access.buffer for access in accesses(body) if isinstance(access, Load)}
    useless = kernel.locals.keys() - loaded
    if not useless:
        return replace(kernel, body=body)
    buffers = {name: b for name, b in kernel.buffers.items() if name not in useless}
    return replace(kernel, buffers=buffers, body=tuple(_without_stores(body, useless)))


@dataclass(frozen=True, slots=True)
class _Step:
    """A statement, the locals that it defines and reads, and the buffers that it changes and reads."""

    stmt: Stmt
    given: frozenset[Expr]
    read: frozenset[Expr]
    stored: frozenset[str]
    loaded: frozenset[str]

    @staticmethod
    def of(stmt: Stmt) -> _Step:
        inside = list(statements((stmt,)))
        nodes = {e for s in inside for e in walk(*expressions(s))}
        return _Step(
            stmt,
            frozenset(s.local for s in inside if isinstance(s, (Let, Update))),
            frozenset(e for e in nodes if isinstance(e, Local)),
            frozenset(s.buffer for s in inside if isinstance(s, Store)),
            frozenset(e.buffer for e in nodes if isinstance(e, Load)),
        )

    def conflicts(self, other: _Step) -> bool:
        """Return True if the two steps must run in their order."""
        return bool(
            self.given & (other.given | other.read)
            or self.read & other.given
            or self.stored & (other.stored | other.loaded)
            or self.loaded & other.stored
        )


def _fused(body: tuple[Stmt, ...], buffers: dict[str, Buffer]) -> tuple[Stmt, ...]:
    fused = [*body]
    if [*map(type, body)].count(Loop) > 1:
        steps: list[_Step] = []
        for stmt in body:
            step = _Step.of(stmt)
            if not (isinstance(stmt, Loop) and _join(steps, step, buffers)):
                steps.append(step)
        fused = [s.stmt for s in steps]
    return tuple([replace(s, body=_fused(s.body, buffers)) if isinstance(s, _BLOCK) else s for s in fused])


def _join(steps: list[_Step], late: _Step, buffers: dict[str, Buffer]) -> bool:
    """Make the loop `late` a part of the earliest loop of `steps` that it can join, if there is one.

    What it needs of the definitions in between goes before that loop.
    """
    chosen: tuple[int, Loop, list[int]] | None = None
    needed: list[int] = []
    for at in range(len(steps) - 1, max(-1, len(steps) - 1 - _REACH), -1):
        early = steps[at]
        blocked = any(early.conflicts(steps[n]) for n in needed)
        if isinstance(early.stmt, Let) and (blocked or early.conflicts(late)):
            needed.append(at)
            continue
        if blocked:
            break
        if (loop := _as_one(early, late, buffers)) is not None:
            chosen = at, loop, list(needed)
        if early.conflicts(late):
            break
    if chosen is None:
        return False
    at, loop, needed = chosen
    moved = [steps[n] for n in sorted(needed)]
    rest = [s for n, s in enumerate(steps) if n > at and n not in needed]
    steps[at:] = [*moved, _Step.of(loop), *rest]
    return True


def _as_one(early: _Step, late: _Step, buffers: dict[str, Buffer]) -> Loop | None:
    """The loop that does what both do, if it may run in any order.

    They read the same memory, or go over an open number of rows: threads would share out each by itself.
    """
    match early.stmt, late.stmt:
        case Loop(index, first, LoopKind.SERIAL), Loop(other, second, LoopKind.SERIAL):
            whole = early.stmt.share is None and late.stmt.share is None
            alike = (
                whole
                and same(index.extent, other.extent)
                and not (isinstance(index.extent, int) and index.extent < 2)
                and (
                    (early.loaded | early.stored) & late.loaded
                    or (_over_rows(early.stmt) and _over_rows(late.stmt))
                )
            )
            bound = {s.index.name for s in statements(second) if isinstance(s, Loop)}
            if alike and index.name not in bound:
                second = rewrite(second, lambda e: substitute(e, {other: index}))
                loop = Loop(index, (*first, *second))
                return loop if obstacle(loop, buffers) is None else None
    return None


def _over_rows(loop: Loop) -> bool:
    """Return True if an open number of rows are filled, each by loops of its own."""
    filled = all(isinstance(stmt, Loop) for stmt in loop.body)
    return isinstance(loop.index.extent, Size) and filled and not reductions(loop)


class _Forwarding:
    """Takes values from registers instead of the memory that they have just been stored to.

    `loads`: those of the kernel; what no other statement loads is not looked for in a block.
    """

    def __init__(self, kernel: Kernel, loads: set[Load]) -> None:
        self.loads = loads
        self._known: dict[int, tuple[Stmt, list[Load | Store]]] = {}  # by id: blocks lie in each other
        stmts = list(statements(kernel.body))
        taken = {s.local.name for s in stmts if isinstance(s, Let)}
        self.shared = kernel.shared.keys()
        self.names = (name for n in itertools.count() if (name := f"v{n}") not in taken)

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        stores = [stmt for stmt in body if isinstance(stmt, Store)]
        read = self.loads_of(body) if any(_load_of(store) in self.loads for store in stores) else set()
        while body:
            stmt, body = body[0], body[1:]
            match stmt:
                case Store() if _load_of(stmt) in read:
                    stmt, body = self.forwarded(stmt, body, out)
                    read = self.loads_of(body)
                    self.loads |= read  # positions of some have changed
                case Store():
                    pass
                case Loop() | While() | If():
                    stmt = replace(stmt, body=self.block(stmt.body))
            out.append(stmt)
        return tuple(out)

    def loads_of(self, body: tuple[Stmt, ...]) -> set[Load]:
        return {access for access in self.accesses(body) if isinstance(access, Load)}

    def accesses(self, body: tuple[Stmt, ...]) -> list[Load | Store]:
        found: list[Load | Store] = []
        for stmt in body:
            if id(stmt) not in self._known:
                if isinstance(stmt, _BLOCK):
                    own: list[Load | Store] = [load for e in expressions(stmt) for load in loads(e)]
                    own += self.accesses(stmt.body)
                else:
                    own = accesses((stmt,))
                self._known[id(stmt)] = stmt, own
            found += self._known[id(stmt)][1]
        return found

    def forwarded(
        self, store: Store, rest: tuple[Stmt, ...], out: list[Stmt]
    ) -> tuple[Store, tuple[Stmt, ...]]:
        """The store, and the `rest` of its block without loads of the element that it stores."""
        load = _load_of(store)
        later = self.accesses(rest)
        if load not in later or any(isinstance(a, Store) and a.buffer == store.buffer for a in later):
            return store, rest
        parallel = any(isinstance(s, Loop) and s.kind is LoopKind.PARALLEL for s in rest)
        if parallel and store.buffer in self.shared:  # other threads read it
            return store, rest
        value = store.value
        changes = any(isinstance(s, Update) and s.local is value for s in statements(rest))
        if not isinstance(value, Local) or changes:
            value = Local(next(self.names), value.dtype)
            out.append(Let(value, store.value))
        return replace(store, value=value), rewrite(rest, lambda e: substitute(e, {load: value}))


def _load_of(store: Store) -> Load:
    """The load of what a store writes."""
    return Load(store.buffer, store.at, store.value.dtype)


def _without_stores(body: tuple[Stmt, ...], useless: frozenset[str] | set[str]) -> Iterator[Stmt]:
    for stmt in body:
        match stmt:
            case Store(buffer) if buffer in useless:
                continue
            case Loop() | While() | If():
                if left := tuple(_without_stores(stmt.body, useless)):
                    yield replace(stmt, body=left)
            case _:
                yield stmt
