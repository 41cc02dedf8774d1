"""Kernels of rows with sums over all of them: the sums become local buffers that live from row to row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from staticgraph.compiler.kernel.expr import (
    Expr,
    Index,
    Load,
    Reduce,
    free_indices,
    outermost_reductions,
    substitute,
)
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.scalar import read
from staticgraph.compiler.kernel.schedule_gpu.rows.group import Sharing
from staticgraph.compiler.kernel.schedule_gpu.rows.parts import RowPart, part_rows
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Total:
    """For every point of `columns`, what `combine` makes of `each` over all rows, and over `axes`."""

    columns: tuple[Index, ...]
    combine: str
    axes: tuple[Index, ...]
    each: Expr

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(c.extent for c in self.columns)


@dataclass(slots=True)
class RowSums:
    """Sums over `rows`: for each row, `steps` add to the local buffers of `parts`."""

    rows: tuple[Index, ...]
    parts: list[RowPart] = field(default_factory=list)
    steps: list[Nest] = field(default_factory=list)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    _totals: dict[_Total, RowPart] = field(default_factory=dict)
    _ends: list[tuple[Nest, dict[Reduce, _Total]]] = field(default_factory=list)

    @staticmethod
    def of(nests: Sequence[Nest], rows: Sequence[Index]) -> RowSums:
        """The sums that `nests` need, whose reductions are over `rows` first."""
        made = RowSums(tuple(rows))
        for nest in nests:
            made._add(nest)
        return made

    def _add(self, nest: Nest) -> None:
        own = nest.renamed("c")
        found = [e for s in own.stores for e in outermost_reductions(s.value)]
        self._ends.append((own, {e: self._total(e, own.domain) for e in found}))

    def _total(self, reduce: Reduce, domain: tuple[Index, ...]) -> _Total:
        needed = free_indices(reduce)
        count = len(self.rows)
        each = substitute(reduce.value, dict(zip(reduce.axes[:count], self.rows, strict=True)))
        columns = tuple(c for c in domain if c in needed)
        total = _Total(columns, reduce.combine, reduce.axes[count:], each)
        if total not in self._totals:
            number, dtype = len(self.parts), reduce.dtype
            name = f"part{number}"
            self.buffers[name] = Buffer(dtype, total.shape, written=True, local=True)
            more = Reduce(total.axes, total.combine, each) if total.axes else each
            more = read(total.combine, Load(name, columns, dtype), more)
            self.steps.append(Nest((*self.rows, *columns), (Store(name, columns, more),)))
            part = RowPart(name, total.combine, dtype, self.buffers[name].size, f"total{number}")
            self._totals[total] = part
            self.parts.append(part)
        return total

    def ends(self, sharing: Sharing) -> tuple[list[Nest], dict[str, Buffer]]:
        """Return the work that remains once each block has its sums: nests, and the buffers of the sums."""
        heights = {part.total: part_rows(part, self.parts, sharing) for part in self.parts}
        buffers = {
            part.total: Buffer(part.dtype, (heights[part.total], *total.shape), written=True)
            for total, part in self._totals.items()
        }
        nests: list[Nest] = []
        for nest, totals in self._ends:
            table: dict[Expr, Expr] = {}
            for reduce, total in totals.items():
                name = self._totals[total].total
                block = Index("block", heights[name])
                load = Load(name, (block, *total.columns), reduce.dtype)
                table[reduce] = Reduce((block,), reduce.combine, load)
            stores = tuple(replace(s, value=substitute(s.value, table)) for s in nest.stores)
            nests.append(Nest(nest.domain, stores))
        return nests, buffers
