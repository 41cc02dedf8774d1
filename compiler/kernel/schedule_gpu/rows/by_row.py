"""Nests that belong together row by row, as one function over rows and what adds up its sums.

Rows may be stored and needed again, such as the sum that a norm is made of and a later layer adds to:

    y[row, c] = x[row, c] + z[row, c]                  y[row, c] = mine[c] = x[row, c] + z[row, c]
    acc0 += y[row, c]                           ->     acc0 += mine[c]
    out[row, c] = y[row, c] - acc0 / n                 out[row, c] = mine[c] - acc0 / n

A local buffer is in registers: what a thread has stored there, it need not load from memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from staticgraph.compiler.graph.sizes import MANY, estimate, same
from staticgraph.compiler.kernel.expr import Expr, Index, Load, substitute
from staticgraph.compiler.kernel.lower_expressions import Nest, Placer
from staticgraph.compiler.kernel.schedule_gpu.function import FunctionSchedule, GpuSchedule, Grid
from staticgraph.compiler.kernel.schedule_gpu.rows.group import Sharing, sharing, stmts_of
from staticgraph.compiler.kernel.schedule_gpu.rows.parts import RowPart
from staticgraph.compiler.kernel.schedule_gpu.rows.program import RowProgram, Sweep, row_program
from staticgraph.compiler.kernel.schedule_gpu.rows.totals import RowSums
from staticgraph.compiler.kernel.schedule_gpu.strides import accessed, neighbours
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, Stmt, Store, rewrite
from staticgraph.compiler.machine import GpuMachine
from staticgraph.compiler.support.dataclass import dataclass

_LONG = 16384  # columns of rows that must be many
_SHORT = 32  # columns of rows that one thread does
_MANY = 512  # of such rows, for each multiprocessor

Found = tuple[GpuSchedule, list[Nest], Mapping[str, Buffer]]


@dataclass(frozen=True, slots=True, eq=False)
class RowSchedule(FunctionSchedule):
    """`program` for each row by a group of threads; `parts` are the sums over rows that these take."""

    program: RowProgram
    sharing: Sharing
    parts: tuple[RowPart, ...]

    kind = "rows"
    takes_sizes = True

    @property
    def about(self) -> str:
        """The group, and what it keeps."""
        shared, sweeps = self.sharing, len(self.program.sweeps)
        each = f"{shared.lanes} threads a row, {shared.groups} rows a block, {sweeps} sweeps"
        return f"{each}, {len(shared.kept)} values of columns in registers, {len(self.parts)} sums over rows"

    @property
    def grid(self) -> Grid:
        return self.sharing.blocks, 1, 1

    @property
    def threads(self) -> int:
        return self.sharing.threads

    @property
    def blocks_per_core(self) -> int | None:
        return self.sharing.blocks_per_core


def by_row(
    nests: Sequence[Nest],
    buffers: Mapping[str, Buffer],
    rows: Sequence[Index],
    sums: Sequence[Nest],
    machine: GpuMachine,
) -> Found | None:
    """The schedule of `nests`, and nests over more buffers that are left; None if rows are not the way.

    Without `rows`, there is one nest, and the rows are its loops outside of reductions.
    """
    if not nests:
        return None
    around = tuple(i for i in rows if not same(i.extent, 1))
    taken = RowSums.of(sums, rows)
    placer = Placer()
    body: tuple[Stmt, ...] = tuple(s for n in (*nests, *taken.steps) for s in placer.nest(n, around))
    for index in reversed(around):
        body = (Loop(index, body),)
    program = row_program(Kernel("rows", {**buffers, **taken.buffers}, body), len(around) if rows else None)
    if program is None:
        return None
    across = _across(program)
    if not _worth(program, across, machine):
        return None
    program, shared = _shared(program, bool(sums), across, machine)
    if shared is None:
        return None
    ends, totals = taken.ends(shared)
    scratch = tuple((name, b.size * b.dtype.size) for name, b in totals.items())
    made = RowSchedule(program, shared, tuple(taken.parts))
    return GpuSchedule((made,), scratch), ends, {**buffers, **totals}


def _shared(
    program: RowProgram, sums: bool, across: bool, machine: GpuMachine
) -> tuple[RowProgram, Sharing | None]:
    """Return how threads share a program, and the program itself.

    Rows that the program stores are cached in registers as well, if they fit.
    """
    more = remembered(program)
    shared = sharing(more, sums, across, machine) if more is not program else None
    return (program, sharing(program, sums, across, machine)) if shared is None else (more, shared)


def _across(program: RowProgram) -> bool:
    """True if neighbours in memory are mostly in different rows."""
    along = across = 0
    for sweep in program.sweeps:
        along += neighbours(sweep.body, sweep.lane if sweep.width > 1 else sweep.vectors, program.buffers)
        across += neighbours(sweep.body, program.row, program.buffers)
    return across > along


def _worth(program: RowProgram, across: bool, machine: GpuMachine) -> bool:
    """True if there are enough rows of this length to keep the GPU busy."""
    longest, rows = max(s.columns for s in program.sweeps), estimate(program.row.extent, MANY)
    if across:
        return longest <= _SHORT or rows >= _MANY * machine.multiprocessors
    return longest <= _LONG or rows >= machine.multiprocessors // 2


_LARGEST = 4  # bytes of a number: twice as many registers are better used otherwise


def remembered(program: RowProgram) -> RowProgram:
    """`program` with local buffers for what one of its sweeps stores and others read."""
    local: dict[Load, Load] = {}
    buffers: dict[str, Buffer] = {}
    names = (f"mine{n}" for n in itertools.count())
    for name, buffer in program.buffers.items():
        first = _read_again(program, name)
        if first is not None:
            sweep, store = first
            mine = next(n for n in names if n not in program.buffers)
            buffers[mine] = Buffer(buffer.dtype, (sweep.columns,), written=True, local=True)
            stored = Load(name, store.at, store.value.dtype)
            local[stored] = Load(mine, (sweep.column,), store.value.dtype)
    if not local:
        return program
    items = tuple(_changed(i, local) if isinstance(i, Sweep) else i for i in program.items)
    return replace(program, items=items, buffers={**program.buffers, **buffers})


def _read_again(program: RowProgram, name: str) -> tuple[Sweep, Store] | None:
    """The sweep that stores a buffer, and its store, if other sweeps read it then, at the same columns."""
    buffer = program.buffers[name]
    if buffer.local or buffer.dtype.size > _LARGEST:
        return None
    found = [(item, a) for item in program.items for a in accessed(stmts_of(item)) if a.buffer == name]
    if len(found) < 2:
        return None
    (item, store), *others = found
    if not isinstance(item, Sweep) or not isinstance(store, Store) or store not in item.body:
        return None
    for other, access in others:
        apart = isinstance(other, Sweep) and other is not item and other.columns == item.columns
        if not apart or not isinstance(access, Load) or access.at != store.at:
            return None
    return item, store


def _changed(sweep: Sweep, local: Mapping[Load, Load]) -> Sweep:
    """`sweep` with local buffers instead of what it reads, and beside what it stores."""
    body: list[Stmt] = []
    table: dict[Expr, Expr] = dict(local.items())
    for stmt in rewrite(sweep.body, lambda e: substitute(e, table)):
        body.append(stmt)
        if isinstance(stmt, Store):
            mine = local.get(Load(stmt.buffer, stmt.at, stmt.value.dtype))
            if mine is not None:
                body.append(Store(mine.buffer, mine.at, stmt.value))
    return replace(sweep, body=tuple(body))
