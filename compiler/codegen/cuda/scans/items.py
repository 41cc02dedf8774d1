"""Common parts of functions for scans and sorted rows: how items are combined, read and stored."""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.expr import CudaWriter, counter
from staticgraph.compiler.codegen.cuda.function import FunctionCall, call_of, parameters
from staticgraph.compiler.codegen.cuda.prelude import register_type
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.scalar import cast
from staticgraph.compiler.kernel.schedule_gpu.scans.line import Line
from staticgraph.compiler.kernel.schedule_gpu.scans.ranking import Ranking
from staticgraph.compiler.kernel.schedule_gpu.scans.scan import ScanSchedule


def begun(line: Line) -> CudaWriter:
    """Return a writer that begins with how two items are combined: `Combine::of(left, right)`."""
    number = register_type(line.dtype)
    inside = CudaWriter({})
    inside.bind(line.scan.left, "left")
    inside.bind(line.scan.right, "right")
    result = inside.wide(line.scan.combine)
    writer = CudaWriter(line.all_buffers)
    writer.line("struct Combine {")
    writer.line(f"  typedef {number} R;")
    writer.line("  static SG_MEMBER R of(R left, R right) {")
    writer.line("\n".join(f"    {text}" for text in [*inside.text.splitlines(), f"return {result};"]))
    writer.line("  }\n};")
    return writer


def beyond(line: Line, more: int) -> str:
    """The type of the number of an item, or of one so far beyond the last."""
    return counter(line.scan.length + more)


def ended(made: ScanSchedule, writer: CudaWriter) -> FunctionCall:
    """The call of the function that was written."""
    return call_of(made, parameters(writer.buffers, {made.written}, writer.text), writer.text)


def key(writer: CudaWriter, ranking: Ranking, column: str) -> str:
    """The key in a column of the present row, which the writer knows."""
    writer.bind_index(ranking.selection.column, column)
    return writer.wide(ranking.at(ranking.selection.key))


def store_item(writer: CudaWriter, ranking: Ranking, rank: str, column: str) -> None:
    """Store the item of a column at its rank, if that is among those that are selected."""
    selection = ranking.selection
    order = Index("rank", max(ranking.length, 1))
    with writer.block(f"if ({rank} < {selection.count})"):
        writer.bind_index(selection.column, column)
        writer.bind_index(order, rank)
        values = ranking.at(selection.item), cast(selection.column, int32)
        for name, value in zip(ranking.results, values, strict=True):
            writer.store(name, (*ranking.rows, order), value)
