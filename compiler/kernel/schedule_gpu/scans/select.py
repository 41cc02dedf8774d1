"""Sorting of rows, by a method that depends on their length and on how many items are wanted."""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.kernel.expr import Load, walk
from staticgraph.compiler.kernel.form import Selection
from staticgraph.compiler.kernel.schedule_gpu.function import GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.scans.radix import radix
from staticgraph.compiler.kernel.schedule_gpu.scans.ranking import Ranking
from staticgraph.compiler.kernel.schedule_gpu.scans.sort import largest, sort
from staticgraph.compiler.kernel.stmt import Buffer

_SHORT = 16  # items that a single thread may as well bring in order
_FEW = 8  # pieces are worth to be brought in order if no more than one of so many pairs goes on


def is_worth(found: Selection) -> bool:
    """True if many threads per row do a selection faster than its loops, in which one thread does a row.

    Items and keys must not read the buffers that the selection writes.
    """
    reads = {e.buffer for e in walk(found.item, found.key) if isinstance(e, Load)}
    is_apart = reads.isdisjoint({found.values, found.places})
    return found.rows > 0 and found.count > 0 and found.column.extent >= _SHORT and is_apart


def select(found: Selection, buffers: Mapping[str, Buffer]) -> GpuSchedule:
    """The functions that do a selection of something."""
    ranking = Ranking(found, buffers)
    most = largest(ranking)
    long = ranking.length > most and found.count * _FEW > most
    return radix(ranking) if long else sort(ranking)
