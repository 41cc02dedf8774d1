"""Sums over rows that threads take on the way, and where those of a block come together.

Each thread has a number for each of its columns in registers. The warps of a block put theirs into shared
memory, where there is room for that, and add them up in order; otherwise each warp writes its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel.schedule_gpu.rows.group import Sharing
from staticgraph.compiler.kernel.schedule_gpu.target import WARP
from staticgraph.compiler.support.dataclass import dataclass

_POOL = 40 << 10  # bytes of shared memory for all sums


@dataclass(frozen=True, slots=True)
class RowPart:
    """A local buffer in which a thread sums over its rows. The sums of blocks go to the buffer `total`, a row
    from each.
    """

    buffer: str
    combine: str
    dtype: DType
    size: int
    total: str


def part_rows(part: RowPart, parts: Sequence[RowPart], sharing: Sharing) -> int:
    """Return the number of rows of partial sums that all blocks write together."""
    return sharing.blocks * (1 if meet(part, parts, sharing) else sharing.warps)


def meet(part: RowPart, parts: Sequence[RowPart], sharing: Sharing) -> bool:
    """True if the block adds up the sums of its warps; otherwise each warp writes its own."""
    room = sharing.warps * sum(p.size * max(p.dtype.size, 4) for p in parts)
    return sharing.lanes > WARP or sharing.warps == 1 or part.size == 1 or room <= _POOL
