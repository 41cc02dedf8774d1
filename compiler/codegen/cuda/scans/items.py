"""Rows to be brought in order: text that reads keys, and stores items."""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.scalar import cast
from staticgraph.compiler.kernel.schedule_gpu.scans.ranking import Ranking


def key(writer: CudaWriter, ranking: Ranking) -> str:
    """The key in column `at` of the present row, which the writer knows."""
    writer.bind_index(ranking.selection.column, "at")
    return writer.wide(ranking.at(ranking.selection.key))


def store_item(writer: CudaWriter, ranking: Ranking, rank: str) -> None:
    """Store the item of a column at its rank, if that is among those that are selected."""
    selection = ranking.selection
    order = Index("rank", max(ranking.length, 1))
    with writer.block(f"if ({rank} < {selection.count})"):
        writer.bind_index(selection.column, "column")
        writer.bind_index(order, rank)
        values = ranking.at(selection.item), cast(selection.column, int32)
        for name, value in zip(ranking.results, values, strict=True):
            writer.store(name, (*ranking.rows, order), value)
