"""Sorting of rows, by a method that depends on their length and on how many items are wanted."""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.codegen.cuda.scans.radix import radix
from staticgraph.compiler.codegen.cuda.scans.ranking import Ranking
from staticgraph.compiler.codegen.cuda.scans.tile import largest, scratch, sorted_pieces, stages
from staticgraph.compiler.kernel.expr import Load, walk
from staticgraph.compiler.kernel.form import Selection
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


def select(found: Selection, buffers: Mapping[str, Buffer]) -> KernelWork:
    """The calls that do a selection of something."""
    ranking = Ranking(found, buffers)
    most = largest(ranking)
    if ranking.length > most and found.count * _FEW > most:
        return radix(ranking)
    todo = stages(ranking)
    sizes: dict[str, int] = {}
    for name, buffer in (item for stage in todo[:-1] for item in scratch(ranking, stage).items()):
        sizes[name] = max(buffer.size * buffer.dtype.size, sizes.get(name, 0))
    return KernelWork(tuple(sorted_pieces(ranking, stage) for stage in todo), tuple(sizes.items()))
