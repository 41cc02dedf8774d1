"""Schedule of sums: which threads take which rows and columns, and into how many parts the rows are cut.

A block whose rows lie along memory adds up one column; otherwise it does up to 32 vectors of columns, and its
threads take rows in turn. If that leaves the GPU idle, blocks take parts of the rows, and a second function
adds up what they have found. The order in which threads run changes nothing: whatever is added, is added in
the order of the text.
"""

from __future__ import annotations

from staticgraph.compiler.kernel.schedule_gpu.function import Extents, FunctionSchedule, GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.limits import THREADS, WARP
from staticgraph.compiler.kernel.schedule_gpu.sums.sums import Sums, in_parts
from staticgraph.compiler.machine import GpuMachine
from staticgraph.compiler.support.dataclass import dataclass

_WORTH = 4  # parts that are worth another function
_VECTORS, _ROWS = 4, 16  # of a thread at least, if rows are cut: along memory, and across


@dataclass(frozen=True, slots=True, eq=False)
class SumSchedule(FunctionSchedule):
    """One function: blocks for `sums`, each of which has `parts` blocks that take a share of its rows.

    `along`: rows lie side by side in memory, and a thread loads `width` of them at a time; otherwise it has
    as many columns.
    """

    sums: Sums
    along: bool
    width: int
    parts: int

    @property
    def kind(self) -> str:
        return "full" if self.along else "columns"

    @property
    def about(self) -> str:
        """The tile of a block, and the parts of the rows."""
        way = "rows" if self.along else "columns"
        return f"vectors of {self.width} {way}, {self.tile} columns a block, rows in {self.parts} parts"

    @property
    def lanes(self) -> int:
        """Threads next to each other that have different columns."""
        vectors = self.sums.count // self.width
        return 1 if self.along else min(WARP, 1 << (vectors - 1).bit_length())

    @property
    def tile(self) -> int:
        """Columns of a block."""
        return 1 if self.along else self.lanes * self.width

    @property
    def strips(self) -> int:
        """Threads of a block that take rows of the same columns."""
        return THREADS // self.lanes

    @property
    def grid(self) -> Extents:
        return -(-self.sums.count // self.tile), self.parts, 1


def schedule(sums: Sums, machine: GpuMachine) -> GpuSchedule:
    """Return one function for `sums`, or one for parts of the rows and one that adds them up."""
    along = sums.is_along
    whole = _function(sums, along, 1)
    rows = sums.height // whole.strips
    most = rows // (whole.width * _VECTORS) if along else rows // _ROWS
    parts = min(machine.busy_blocks // whole.grid[0], most)
    if parts < _WORTH:
        return GpuSchedule((whole,))
    first, then, scratch = in_parts(sums, parts)
    return GpuSchedule((_function(first, along, parts), _function(then, along, 1)), scratch)


def _function(sums: Sums, along: bool, parts: int) -> SumSchedule:
    return SumSchedule(sums, along, sums.width_along if along else sums.width_across, parts)
