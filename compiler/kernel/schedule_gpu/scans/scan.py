"""Division of scans among threads, chosen by the number of scans and their length.

    along memory:   each thread of a warp takes every 32nd item; a warp does a row, or a block does, or blocks
                    do parts of a row
    across it:      neighbours in memory belong to others: a thread does a row, or a part of one

What the parts of a row give together is found by another function, which runs before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from staticgraph.compiler.kernel.expr import Load, walk
from staticgraph.compiler.kernel.form import Scan
from staticgraph.compiler.kernel.schedule_gpu.function import Extents, FunctionSchedule, GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.scans.line import PARTIAL, Line
from staticgraph.compiler.kernel.schedule_gpu.target import SECTOR_BYTES, THREADS, WARP
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.machine import GpuMachine
from staticgraph.compiler.support.dataclass import dataclass

ITEMS = 8  # of a thread, which are loaded at once
STRIP = ITEMS * WARP  # items of a warp
WARPS = THREADS // WARP
TILE = STRIP * WARPS  # items of a block
_SHORT = 32  # items that a single thread may as well take
_PIECE = 32  # items of a thread at least, where a row is divided: it also adds up what is before its piece


class Team(Enum):
    """Threads that do a row, or a part of one, together."""

    THREAD = "thread"
    WARP = "warp"
    BLOCK = "block"


@dataclass(frozen=True, slots=True, eq=False)
class ScanSchedule(FunctionSchedule):
    """One function: a team for each part of each row.

    `totals`: it writes the total of each part alone, but for the last, whose total is not needed.
    """

    line: Line
    team: Team
    totals: bool = False

    @property
    def kind(self) -> str:
        return "scan_totals" if self.totals else "scan"

    @property
    def about(self) -> str:
        """The team, and the parts of a row."""
        return f"a {self.team.value} for each of {self.parts} parts of {self.line.scan.rows} rows"

    @property
    def parts(self) -> int:
        """Parts of a row that it does."""
        return self.line.parts - self.totals

    @property
    def grid(self) -> Extents:
        teams = {Team.THREAD: THREADS, Team.WARP: WARPS, Team.BLOCK: 1}[self.team]  # of a block
        return -(-self.line.scan.rows * self.parts // teams), 1, 1

    @property
    def meets(self) -> bool:
        return self.team is not Team.THREAD

    @property
    def written(self) -> str:
        """The buffer that it writes."""
        return PARTIAL if self.totals else self.line.scan.target


def is_worth(found: Scan) -> bool:
    """True if many threads per row do a scan faster than its loops, in which one thread does a row.

    The items must not read the target.
    """
    reads = {e.buffer for e in walk(found.item) if isinstance(e, Load)}
    return found.length >= _SHORT and found.rows > 0 and found.target not in reads


def scan(found: Scan, buffers: Mapping[str, Buffer], machine: GpuMachine) -> GpuSchedule:
    """The functions that do a scan of rows that are not empty."""
    line = Line(found, buffers)
    if line.inner * line.dtype.size >= SECTOR_BYTES:
        # Neighbouring threads have neighbouring rows: of these, memory gives several at a time.
        waiting = machine.busy_blocks * THREADS  # where each thread waits for a few items
        return _in_parts(line, Team.THREAD, min(-(-waiting // found.rows), found.length // _PIECE), 1)
    if found.length <= STRIP or (found.length <= 4 * STRIP and found.rows > 1):
        return _in_parts(line, Team.WARP, 1, STRIP)
    if found.rows >= machine.few_blocks or found.length < 2 * TILE:
        return _in_parts(line, Team.BLOCK, 1, TILE)
    tiles = -(-found.length // TILE)
    return _in_parts(line, Team.BLOCK, min(tiles, machine.busy_blocks // found.rows), TILE)


def divided(line: Line, parts: int, unit: int) -> Line:
    """Rows in so many parts at most, all but the last of which have as many items, a multiple of `unit`."""
    units = -(-line.scan.length // unit)
    length = -(-units // parts) * unit
    return replace(line, parts=-(-line.scan.length // length), length=length)


def _in_parts(line: Line, team: Team, parts: int, unit: int) -> GpuSchedule:
    """Return one function; or first what the parts give, then each part after those before it."""
    if parts <= 1:
        return GpuSchedule((ScanSchedule(line, team),))
    line = divided(line, parts, unit)
    return GpuSchedule((ScanSchedule(line, team, totals=True), ScanSchedule(line, team)), line.scratch)
