"""Sums of groups of neighbouring columns, by way of the sums of all columns.

    for g in 0..32:                             for j in 0..128 simd:
      acc = 0.0                                   column = 0.0
      for k in 0..1568:                           for k in 0..1568:
        for c in 0..4:                   ->         column += x[k * 128 + j]
          acc += x[k * 128 + g * 4 + c]           columns[j] = column
      y[g] = acc                                for g in 0..32:
                                                  acc = 0.0
                                                  for c in 0..4:
                                                    acc += columns[g * 4 + c]
                                                  y[g] = acc

The left loops read a fourth of a vector from each row, and each row 32 times. So it is in a group norm over
images whose channels come last. What a group needs besides, such as its mean, is loaded once for a column.
The order of additions depends on sizes and on the width of vectors alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import estimate
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Index,
    Load,
    Local,
    free_indices,
    identity,
    substitute,
    walk,
)
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.loops.dependence import accesses, obstacle, reductions
from staticgraph.compiler.kernel.loops.nests import step_of
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
    updated,
)
from staticgraph.compiler.support.dataclass import dataclass, replace

_ROWS = 16  # that are added up: with fewer, columns are not worth memory of their own
_MOST = 1 << 12  # columns
_VECTORS = 2  # that a group fills at most: more of them are rows of their own

Body = tuple[Stmt, ...]


def by_column_groups(kernel: Kernel, vector_bytes: int) -> Kernel:
    """`kernel`, flat, with sums of groups of columns by way of the sums of columns."""
    made = _Kernel(dict(kernel.buffers), vector_bytes)
    body = tuple(made.around(kernel.body, False))
    return (
        kernel
        if len(made.buffers) == len(kernel.buffers)
        else replace(kernel, buffers=made.buffers, body=body)
    )


@dataclass(slots=True)
class _Kernel:
    buffers: dict[str, Buffer]
    vector_bytes: int

    def around(self, body: Body, inside: bool) -> Iterator[Stmt]:
        """`body`, which is `inside` of a loop or not: then threads have the sums of columns in common."""
        for stmt in body:
            match stmt:
                case Loop(kind=LoopKind.SERIAL, share=None) if made := _Groups(self, stmt, inside).made():
                    yield from made
                case Loop() | If() | While():
                    yield replace(stmt, body=tuple(self.around(stmt.body, True)))
                case _:
                    yield stmt


class _Groups:
    """A loop over groups of columns, if it is one."""

    def __init__(self, kernel: _Kernel, loop: Loop, inside: bool) -> None:
        self.kernel, self.loop, self.inside = kernel, loop, inside
        self.lets = [stmt for stmt in loop.body if isinstance(stmt, Let)]
        self.buffers = dict(kernel.buffers)
        self.copies = 0

    def made(self) -> list[Stmt] | None:
        """Return statements that do the same; None if no columns are summed up, or if they may not."""
        if not any(map(self._sums, self.loop.body)) or obstacle(self.loop, self.kernel.buffers) is not None:
            return None
        definitions = _Definitions(self.loop.body, self._sums)
        body, totals = self._through_memory(definitions), definitions.totals
        if body is None:
            return None
        made: list[Stmt] = []
        part: list[Stmt] = []  # the statements since the last sum
        for stmt in body:
            if not isinstance(stmt, Loop) or not self._sums(stmt):
                part += [] if isinstance(stmt, Let) and stmt.local in totals else [stmt]
                continue
            sums = {step.local for step in reductions(stmt)}
            begun = [let for let in self.lets if let.local in sums and isinstance(let.value, Const)]
            before, columns = self._part(part), self._columns(stmt)
            if before is None or columns is None or len(begun) < len(sums):
                return None
            loop, total = columns
            made += [*before, loop]
            part = [*begun, total]
        after = self._part(part)
        if after is None:
            return None
        self.kernel.buffers.update(self.buffers)
        return [*made, *after]

    def _through_memory(self, defined: _Definitions) -> list[Stmt] | None:
        """The body of the loop, with values in memory that are needed after another sum, or by one.

        A definition may be repeated there instead if nothing is stored in between: what is stored may be in
        the memory that it loads from.
        """
        kept = defined.kept()
        if kept is None:
            return None
        index = self.loop.index
        places = {
            local: Load(self._buffer("kept", local.dtype, index.extent), (index,), local.dtype)
            for local in kept
        }
        body: list[Stmt] = []
        for stmt, part in zip(self.loop.body, defined.parts, strict=True):
            later: dict[Expr, Expr] = {x: load for x, load in places.items() if defined.home[x] < part}
            body += rewrite((stmt,), partial(substitute, table=later))
            given = {step.local for step in reductions(stmt)} if isinstance(stmt, Loop) else {*_given([stmt])}
            body += [
                Store(places[x].buffer, (index,), x)
                for x in kept
                if x in given and x not in defined.waiting(stmt)
            ]
        return body

    def _buffer(self, name: str, dtype: DType, size: int) -> str:
        """Add scratch memory, and return its name."""
        name = f"{name}{len(self.buffers)}"
        self.buffers[name] = Buffer(dtype, (size,), written=True, local=self.inside, shared=not self.inside)
        return name

    def _sums(self, stmt: Stmt) -> bool:
        """Return True if a statement sums up a group of columns over rows."""
        rows, column = _nest(stmt)
        groups = self.loop.index.extent
        if not rows or column is None or not isinstance(groups, int):
            return False
        width, many = column.index.extent, 1
        for row in rows:
            many *= estimate(row.index.extent)
        steps = reductions(column)
        size = max((step.local.dtype.size for step in steps), default=self.kernel.vector_bytes)
        return (
            isinstance(width, int)
            and 1 < width <= _VECTORS * self.kernel.vector_bytes // size
            and 1 < groups <= _MOST // width
            and many >= _ROWS
            and bool(steps)
            and all(step.combine is not None for step in steps)
            and all(isinstance(s, Let) or s in steps for s in column.body)
            and any(self._is_column(load, column.index) for load in _loads(column.body))
            and all(self._is_column(x, column.index) or _is_of_group(x, rows) for x in _loads(column.body))
        )

    def _is_column(self, load: Load, column: Index) -> bool:
        """Return True if a load is from neighbouring places for neighbouring columns of all groups."""
        near, far = step_of(load, column, ()), step_of(load, self.loop.index, ())
        return near == 1 and far == column.extent and not _has_locals(load)

    def _needed(self, body: Iterable[Stmt], sums: Set[Local] = frozenset()) -> list[Let] | None:
        """The definitions of the loop that statements need besides `sums`; None if one of them changes."""
        found: set[Local] = set()
        waiting = _read(body) - _given(body) - sums
        changing = updated(self.loop.body)
        own = {let.local: let for let in self.lets}
        while waiting:
            local = waiting.pop()
            if local in found or local not in own:
                continue
            if local in changing:
                return None
            found.add(local)
            waiting |= _read([own[local]])
        return [let for let in self.lets if let.local in found]

    def _part(self, part: list[Stmt]) -> list[Stmt] | None:
        """The loop over groups of statements that store something."""
        if not any(isinstance(stmt, Store) for stmt in statements(tuple(part))):
            return []
        needed = self._needed(part)
        return None if needed is None else [replace(self.loop, body=(*self._copied(needed, {}, part),))]

    def _copied(self, lets: list[Let], places: dict[Expr, Expr], body: Iterable[Stmt]) -> Iterator[Stmt]:
        """`body` at other places, after definitions of its own in place of `lets`."""
        self.copies += 1
        table = dict(places)
        for let in lets:
            own = Local(f"{let.local.name}_of{self.copies}", let.local.dtype)
            yield Let(own, _placed(let.value, table))
            table[let.local] = own
        for stmt in rewrite(tuple(body), lambda e: _placed(e, table)):
            yield _renamed(stmt, table)

    def _columns(self, stmt: Loop) -> tuple[Loop, Loop] | None:
        """The loop that sums up all columns and stores that, and the one that sums up those of a group."""
        rows, column = _nest(stmt)
        steps = reductions(column) if column else []
        needed = self._needed([stmt], {step.local for step in steps})
        if column is None or needed is None:
            return None
        width = column.index.extent
        index = Index(f"{column.index.name}_all", self.loop.index.extent * width)
        at: dict[Expr, Expr] = {self.loop.index: index // width, column.index: index % width}
        places = dict(at)
        starts: list[Stmt] = []
        stores: list[Stmt] = []
        totals: list[Stmt] = []
        for load in dict.fromkeys(x for x in _loads(column.body) if not self._is_column(x, column.index)):
            once = Local(f"{column.index.name}_{len(places)}", load.dtype)
            starts.append(Let(once, _placed(load, at)))
            places[load] = once
        for step in steps:
            assert step.combine is not None
            total = Local(f"{step.local.name}_column", step.local.dtype)
            name = self._buffer("columns", total.dtype, index.extent)
            starts.append(Let(total, identity(step.combine, total.dtype)))
            stores.append(Store(name, (index,), total))
            places[step.local] = total
            of_group = Load(name, ((self.loop.index * width + column.index),), total.dtype)
            totals.append(Update(step.local, scalar.read(step.combine, step.local, of_group), step.combine))
        inside = self._copied(needed, places, _within(rows, column.body))
        return Loop(index, (*starts, *inside, *stores), LoopKind.SIMD), Loop(column.index, tuple(totals))


class _Definitions:
    """Definitions and reads of locals in a loop over groups.

    Attributes:
        parts: For each statement, the number of the loop that it will be in: sums have odd ones.
        home: For each local, the number of the loop in which it has its value.
    """

    def __init__(self, body: Body, is_sum: Callable[[Stmt], bool]) -> None:
        self.body, self.sums = body, [*map(is_sum, body)]
        self.parts, self.home, self.at = [], {}, {}
        number = 0
        for at, (stmt, sums) in enumerate(zip(body, self.sums, strict=True)):
            self.parts.append(number + sums)
            number += 2 * sums
            if isinstance(stmt, Let):
                self.home[stmt.local], self.at[stmt.local] = number, at
            elif sums:
                self.home |= dict.fromkeys(updated((stmt,)), number)
        self.changing = updated(body)
        self.totals = updated(tuple(stmt for stmt, sums in zip(body, self.sums, strict=True) if sums))
        stores = [any(isinstance(s, Store) for s in statements((stmt,))) for stmt in body]
        self.stored = [sum(stores[:at]) for at in range(len(body) + 1)]

    def kept(self) -> list[Local] | None:
        """The locals whose values are needed in other loops than their own, None if that cannot be."""
        found: dict[Local, None] = {}
        for at, (stmt, part, sums) in enumerate(zip(self.body, self.parts, self.sums, strict=True)):
            own = updated((stmt,)) if sums else set()
            for local in sorted(_read([stmt]) & self.home.keys() - own, key=str):
                if self.home[local] < part and not self._repeatable(local, at):
                    found[local] = None
        return None if found.keys() & (self.changing - self.totals) else [*found]

    def _repeatable(self, local: Local, at: int) -> bool:
        """Return True if the definition of a local gives the same before a statement."""
        if local in self.changing or self.stored[self.at[local]] != self.stored[at]:
            return False
        definition = self.body[self.at[local]]
        return all(self._repeatable(x, at) for x in _read([definition]) if x in self.home)

    def waiting(self, stmt: Stmt) -> Set[Local]:
        """The locals that a statement defines without their values: sums to come."""
        return self.totals if isinstance(stmt, Let) else frozenset()


def _nest(stmt: Stmt) -> tuple[list[Loop], Loop | None]:
    """Loops with nothing between them: those around, and the innermost one; None if there is no loop."""
    rows: list[Loop] = []
    while isinstance(stmt, Loop) and stmt.kind is LoopKind.SERIAL and stmt.share is None:
        match stmt.body:
            case (Loop() as inside,):
                rows.append(stmt)
                stmt = inside
            case _:
                return rows, stmt
    return [], None


def _within(rows: list[Loop], body: Body) -> Body:
    for row in reversed(rows):
        body = (replace(row, body=body),)
    return body


def _renamed(stmt: Stmt, table: Mapping[Expr, Expr]) -> Stmt:
    if isinstance(stmt, (Let, Update)):
        own = table.get(stmt.local)
        return replace(stmt, local=own) if isinstance(own, Local) else stmt
    if isinstance(stmt, (Loop, While, If)):
        return replace(stmt, body=tuple([_renamed(each, table) for each in stmt.body]))
    return stmt


def _loads(body: Body) -> list[Load]:
    return [access for access in accesses(body) if isinstance(access, Load)]


def _has_locals(expr: Expr) -> bool:
    return any(isinstance(node, (Local, Load)) for part in expr.children for node in walk(part))


def _is_of_group(load: Load, rows: list[Loop]) -> bool:
    """Return True if an element is the same for all rows: it is loaded once."""
    return not _has_locals(load) and free_indices(load).isdisjoint(row.index for row in rows)


def _read(body: Iterable[Stmt]) -> set[Local]:
    nodes = (e for s in statements(tuple(body)) for e in walk(*expressions(s)))
    return {e for e in nodes if isinstance(e, Local)}


def _given(body: Iterable[Stmt]) -> set[Local]:
    return {s.local for s in statements(tuple(body)) if isinstance(s, Let)}


def _placed(expr: Expr, places: dict[Expr, Expr]) -> Expr:
    return simplify_index(substitute(expr, places))
