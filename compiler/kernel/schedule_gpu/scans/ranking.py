"""Rows to be brought in order: where keys and items are, and what is stored of them."""

from __future__ import annotations

from collections.abc import Mapping

from staticgraph.compiler.graph.dtypes import DType, uint32, uint64
from staticgraph.compiler.kernel.expr import Expr, Index, substitute
from staticgraph.compiler.kernel.form import Selection
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.schedule_gpu.strides import split
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

    @property
    def word(self) -> DType:
        """The type of keys in registers and in scratch memory."""
        return uint64 if self.wide else uint32

    @property
    def results(self) -> tuple[str, str]:
        """The buffers that it writes."""
        return self.selection.values, self.selection.places

    @property
    def rows(self) -> list[Expr]:
        """The position of the row."""
        return split(self.row, [i.extent for i in self.selection.row])

    def at(self, expr: Expr) -> Expr:
        """An expression of the position of an item, in terms of `row` and of the column."""
        table: dict[Expr, Expr] = dict(zip(self.selection.row, self.rows, strict=True))
        return simplify_index(substitute(expr, table))
