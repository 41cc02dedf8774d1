"""Nests that belong together row by row, as one function over rows and what adds up its sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.graph.sizes import MANY, estimate, same
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.lower_expressions import Nest, Placer
from staticgraph.compiler.kernel.schedule_gpu.function import FunctionSchedule, GpuSchedule, Grid
from staticgraph.compiler.kernel.schedule_gpu.rows.cached_rows import remembered
from staticgraph.compiler.kernel.schedule_gpu.rows.group import Sharing, sharing
from staticgraph.compiler.kernel.schedule_gpu.rows.parts import RowPart
from staticgraph.compiler.kernel.schedule_gpu.rows.program import RowProgram, row_program
from staticgraph.compiler.kernel.schedule_gpu.rows.totals import RowSums
from staticgraph.compiler.kernel.schedule_gpu.strides import neighbours
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, Stmt
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
