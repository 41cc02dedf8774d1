"""Kernels of rows as a GPU does them: for each row statements, and sweeps over its columns.

The rows of a softmax are two sweeps that reduce and one that stores:

    for row in 0..64:
      acc0 = -inf
      sweep 0..1000:  acc0 max= x[row, c]
      acc1 = 0.0
      sweep 0..1000:  acc1 += exp(x[row, c] - acc0)
      sweep 0..1000:  out[row, c] = exp(x[row, c] - acc0) / acc1

The columns of a sweep are divided among threads in the same way whenever there are as many of them, so that a
thread finds in its registers what it has loaded or computed in the sweep before. A column is `q * width + v`:
number v of the vector q.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Local, substitute, walk
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.loops.dependence import conflict, reductions
from staticgraph.compiler.kernel.loops.fusion import fuse_loops
from staticgraph.compiler.kernel.loops.nests import flatten, interchange
from staticgraph.compiler.kernel.schedule_gpu.strides import Columns, counting, split, width
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Let,
    Loop,
    Stmt,
    Store,
    Update,
    While,
    rewrite,
    statements,
    updated,
)
from staticgraph.compiler.support.dataclass import dataclass

_SERIAL = 64  # rounds of loops that one thread does for one column


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """`body` for every column of a row: for all `vectors` q, and every `lane` v of them."""

    vectors: Index
    lane: Index
    body: tuple[Stmt, ...]

    @property
    def columns(self) -> int:
        """Number of columns."""
        return self.vectors.extent * self.lane.extent

    @property
    def width(self) -> int:
        """Columns of a vector."""
        return self.lane.extent

    @property
    def column(self) -> Expr:
        """The number of the column."""
        return simplify_index(self.vectors * self.width + self.lane)

    @property
    def steps(self) -> list[Update]:
        """Updates of the reductions over the columns."""
        return reductions(Loop(self.vectors, self.body))


@dataclass(frozen=True, slots=True, eq=False)
class RowProgram:
    """`items` for every value of `row`, over flat buffers. `numbers` were local buffers of one element."""

    row: Index
    items: tuple[Stmt | Sweep, ...]
    buffers: Mapping[str, Buffer]
    numbers: tuple[Local, ...]

    @property
    def sweeps(self) -> list[Sweep]:
        """The items that go over the columns."""
        return [item for item in self.items if isinstance(item, Sweep)]

    def sweep_over(self, columns: int) -> Sweep:
        """A sweep over so many columns."""
        return next(sweep for sweep in self.sweeps if sweep.columns == columns)


def row_program(kernel: Kernel, depth: int | None) -> RowProgram | None:
    """`kernel`, as `place` made it, as a program for each row; None if it has another form.

    So many outermost loops, if that is known, are over rows; otherwise those are with nothing between them.
    """
    flat = fuse_loops(flatten(kernel))
    around, body = _rows(flat.body, depth)
    if any(isinstance(s, While | If) for s in statements(flat.body)):
        return None
    if any(isinstance(s, Loop) and same(s.index.extent, 0) for s in statements(flat.body)):
        return None
    if any(conflict(loop, flat.buffers, flat.locals.keys()) for loop in around):
        return None
    numbers = {n: Local(n, b.dtype) for n, b in flat.locals.items() if b.size == 1}
    indices = [loop.index for loop in around]
    row = counting("row", math.prod(i.extent for i in indices))
    body = _named_once(rewrite(_in_registers(body, numbers), lambda e: _at(e, indices, row)))
    items = [_Chain.of(s) if isinstance(s, Loop) else s for s in interchange(body, flat.buffers)]
    chains = [item for item in items if isinstance(item, _Chain)]
    if not chains or any(chain.serial > _SERIAL for chain in chains):
        return None
    if any(conflict(loop, flat.buffers) for chain in chains for loop in chain.loops):
        return None
    counts = {chain.count for chain in chains}
    widths = {n: _width(n, [c for c in chains if c.count == n], flat.buffers) for n in counts}
    swept = tuple(i.sweep(widths[i.count]) if isinstance(i, _Chain) else i for i in items)
    buffers = {n: b for n, b in flat.buffers.items() if n not in numbers}
    return RowProgram(row, swept, buffers, tuple(numbers.values()))


def _rows(body: tuple[Stmt, ...], depth: int | None) -> tuple[list[Loop], tuple[Stmt, ...]]:
    """The loops over rows, and what is done in each row."""
    around: list[Loop] = []
    while len(body) == 1 and isinstance(body[0], Loop) and not reductions(body[0]):
        inside = body[0].body
        if len(around) == depth or not any(isinstance(s, Loop) for s in inside):
            break  # these are the columns
        around.append(body[0])
        body = inside
    return around, body


def _in_registers(body: tuple[Stmt, ...], numbers: Mapping[str, Local]) -> tuple[Stmt, ...]:
    """`body` with locals instead of buffers of one element."""

    def loaded(expr: Expr) -> Expr:
        loads = [e for e in walk(expr) if isinstance(e, Load) and e.buffer in numbers]
        return substitute(expr, {e: numbers[e.buffer] for e in loads})

    def stored(stmt: Stmt) -> Stmt:
        match stmt:
            case Store(buffer, _, value) if buffer in numbers:
                return Update(numbers[buffer], value)
            case Loop():
                return replace(stmt, body=tuple(map(stored, stmt.body)))
        return stmt

    return tuple(stored(s) for s in rewrite(body, loaded))


def _named_once(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`body` with one name for a value, where `place` has given it one for each loop that needs it."""
    changed = updated(body)
    stored = {s.buffer for s in statements(body) if isinstance(s, Store)}
    names: dict[Expr, Local] = {}
    same: dict[Expr, Expr] = {}
    out: list[Stmt] = []
    for stmt in body:
        (stmt,) = rewrite((stmt,), lambda e: substitute(e, same))
        if isinstance(stmt, Let) and stmt.local not in changed:
            loads = {e.buffer for e in walk(stmt.value) if isinstance(e, Load)}
            if stmt.value in names and stored.isdisjoint(loads):
                same[stmt.local] = names[stmt.value]
                continue
            names[stmt.value] = stmt.local
        out.append(stmt)
    return tuple(out)


def _at(expr: Expr, indices: Sequence[Index], one: Expr) -> Expr:
    """`expr` where one number says which point of `indices` it is."""
    table: dict[Expr, Expr] = dict(zip(indices, split(one, [i.extent for i in indices]), strict=True))
    return simplify_index(substitute(expr, table))


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """Loops over the columns with nothing between them."""

    loops: tuple[Loop, ...]

    @staticmethod
    def of(loop: Loop) -> _Chain:
        loops = [loop]
        while len(loops[-1].body) == 1 and isinstance(loops[-1].body[0], Loop):
            loops.append(loops[-1].body[0])
        return _Chain(tuple(loops))

    @property
    def count(self) -> int:
        """Number of columns that the loops cover together."""
        return math.prod(loop.index.extent for loop in self.loops)

    @property
    def serial(self) -> int:
        """Rounds of the loops that are left inside."""
        return _rounds(self.loops[-1].body)

    def sweep(self, wide: int) -> Sweep:
        """The same over vectors of so many columns."""
        q, v = Index("q", self.count // wide), Index("v", wide)
        indices = [loop.index for loop in self.loops]
        return Sweep(q, v, rewrite(_formulas(self.loops[-1].body), lambda e: _at(e, indices, q * wide + v)))


def _formulas(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`body` with formulas instead of names for them: then what two sweeps compute looks the same in both."""
    if any(isinstance(s, Loop) for s in body):
        return body
    changed: set[Expr] = {s.local for s in body if isinstance(s, Update)}
    stored = {s.buffer for s in body if isinstance(s, Store)}
    table: dict[Expr, Expr] = {}
    out: list[Stmt] = []
    for stmt in body:
        (stmt,) = rewrite((stmt,), lambda e: substitute(e, table))
        if isinstance(stmt, Let) and stmt.local not in changed:
            parts = walk(stmt.value)
            reads = {e.buffer for e in parts if isinstance(e, Load)}
            if changed.isdisjoint(parts) and stored.isdisjoint(reads):
                table[stmt.local] = stmt.value
                continue
        out.append(stmt)
    return tuple(out)


def _rounds(body: tuple[Stmt, ...]) -> int:
    return max((s.index.extent * _rounds(s.body) for s in body if isinstance(s, Loop)), default=1)


def _width(count: int, chains: Sequence[_Chain], buffers: Mapping[str, Buffer]) -> int:
    """Columns of a vector, for all sweeps over as many columns."""

    def together(wide: int) -> Columns:
        sweeps = [chain.sweep(wide) for chain in chains]
        return sweeps[0].vectors, sweeps[0].lane, tuple(s for sweep in sweeps for s in sweep.body)

    return width(count, together, buffers)
