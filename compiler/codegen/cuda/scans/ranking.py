"""Rows to be brought in order: where keys and items are, and what is stored of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import FunctionCall, call
from staticgraph.compiler.codegen.cuda.strides import split
from staticgraph.compiler.codegen.cuda.vectors import parameters
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.kernel.expr import Expr, Index, substitute
from staticgraph.compiler.kernel.form import Selection
from staticgraph.compiler.kernel.index import simplify_index
from staticgraph.compiler.kernel.scalar import cast
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """A selection whose rows are numbered as one."""

    selection: Selection
    buffers: Mapping[str, Buffer]

    @property
    def row(self) -> Index:
        """The number of a row."""
        return Index("row", self.selection.rows)

    @property
    def length(self) -> int:
        """Number of items in a row."""
        return self.selection.column.extent

    @property
    def wide(self) -> bool:
        """True if a key and a column together need more than 64 bits."""
        return self.selection.key.dtype.size > 4

    def key(self, writer: CudaWriter, column: str) -> str:
        """The key in a column of the present row, which the writer knows."""
        writer.bind_index(self.selection.column, column)
        return writer.wide(self._at(self.selection.key))

    def store(self, writer: CudaWriter, rank: str, column: str) -> None:
        """Store the item of a column at its rank, if that is among those that are selected."""
        selection = self.selection
        order = Index("rank", max(self.length, 1))
        with writer.block(f"if ({rank} < {selection.count})"):
            writer.bind_index(selection.column, column)
            writer.bind_index(order, rank)
            for name, value in (
                (selection.values, self._at(selection.item)),
                (selection.places, cast(selection.column, int32)),
            ):
                writer.store(name, (*self._rows(), order), value)

    def call(
        self, kind: str, writer: CudaWriter, written: Sequence[str], grid: int, threads: int
    ) -> FunctionCall:
        """The function that was written; its threads meet."""
        arguments = parameters(writer.buffers, {*written}, writer.text)
        return call(kind, arguments, writer.text, (grid, 1, 1), (threads, 1, 1), meets=True)

    def _rows(self) -> list[Expr]:
        return split(self.row, [i.extent for i in self.selection.row])

    def _at(self, expr: Expr) -> Expr:
        table: dict[Expr, Expr] = dict(zip(self.selection.row, self._rows(), strict=True))
        return simplify_index(substitute(expr, table))
