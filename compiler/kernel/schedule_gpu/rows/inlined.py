"""Rows of intermediate values, computed where they are needed rather than stored.

Kernels of rows hold rows of values in local buffers. A thread that needs one of its columns again finds it
in its registers, if it is worth a place there, or computes it again; so what they hold becomes part of the
formulas that read it. What all columns have in common, such as the greatest element, is computed once:

    row0[c] = exp(x[row, c] - maximum(x[row, k] for k))        number0 = maximum(x[row, k] for k)
    y[row, c] = row0[c] / add(row0[k] for k)             ->    y[row, c] = exp(x[row, c] - number0) / ...
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import field, replace

from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Index,
    Load,
    Reduce,
    free_indices,
    outermost_reductions,
    substitute,
    transform,
    walk,
)
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(slots=True)
class Inlined:
    """`nests` for each point of `rows` and `sums` over them, with as few local buffers as can be."""

    rows: tuple[Index, ...]
    buffers: dict[str, Buffer]
    nests: list[Nest] = field(default_factory=list)
    sums: list[Nest] = field(default_factory=list)
    _formulas: dict[str, Store] = field(default_factory=dict)
    _once: Set[str] = frozenset()  # buffers that one statement stores to

    @staticmethod
    def of(
        nests: Sequence[Nest], buffers: Mapping[str, Buffer], rows: Sequence[Index], sums: Sequence[Nest]
    ) -> Inlined:
        made = Inlined(tuple(rows), dict(buffers))
        stored = Counter(s.buffer for n in nests for s in n.stores)
        changed = {name for name in stored if not buffers[name].local}
        made._once = {name for name, count in stored.items() if count == 1}
        for nest in nests:
            made._add(nest, changed)
        for nest in sums:
            stores = tuple(replace(s, value=made._sum(s.value)) for s in nest.stores)
            made.sums.append(Nest(nest.domain, stores))
        return made

    def _add(self, nest: Nest, changed: set[str]) -> None:
        stores = []
        for store in nest.stores:
            store = replace(store, value=self._read(store.value))
            buffer = self.buffers[store.buffer]
            if buffer.local and buffer.size > 1 and store.buffer in self._once:
                formula = replace(store, value=self._numbered(store.value))
                if _plain(formula, changed):
                    self._formulas[store.buffer] = formula
                    del self.buffers[store.buffer]
                    continue
            stores.append(store)
        if stores:
            self.nests.append(Nest(nest.domain, tuple(stores)))

    def _read(self, value: Expr) -> Expr:
        """`value` with formulas instead of what was stored."""

        def change(node: Expr) -> Expr:
            if not (isinstance(node, Load) and node.buffer in self._formulas):
                return node
            formula = self._formulas[node.buffer]
            places = zip(formula.at, node.at, strict=True)
            at: dict[Expr, Expr] = {i: e for i, e in places if isinstance(i, Index)}
            return simplify_index(substitute(formula.value, at))

        return transform(value, change)

    def _sum(self, value: Expr) -> Expr:
        """The same where the rows are the first axes of the reductions."""
        table: dict[Expr, Expr] = {}
        for reduce in outermost_reductions(value):
            there: dict[Expr, Expr] = dict(zip(self.rows, reduce.axes, strict=False))
            formulas, self._formulas = (
                self._formulas,
                {n: replace(f, value=substitute(f.value, there)) for n, f in self._formulas.items()},
            )
            table[reduce] = Reduce(reduce.axes, reduce.combine, self._read(reduce.value))
            self._formulas = formulas
        return substitute(value, table)

    def _numbered(self, value: Expr) -> Expr:
        """`value` with reductions that are the same for the whole row computed before."""
        table: dict[Expr, Expr] = {}
        for reduce in outermost_reductions(value):
            if free_indices(reduce) <= set(self.rows):
                name = next(n for k in itertools.count() if (n := f"number{k}") not in self.buffers)
                self.buffers[name] = Buffer(reduce.dtype, (), written=True, local=True)
                self.nests.append(Nest(self.rows, (Store(name, (), reduce),)))
                table[reduce] = Load(name, (), reduce.dtype)
        return substitute(value, table)


def _plain(formula: Store, changed: set[str]) -> bool:
    """True if a stored value can be recomputed elsewhere: at any column, and at any time."""
    indices = [i for i in formula.at if isinstance(i, Index)]
    return (
        len(set(indices)) == len(indices)
        and all(isinstance(i, Index | Const) for i in formula.at)
        and not any(isinstance(e, Reduce) for e in walk(formula.value))
        and changed.isdisjoint(e.buffer for e in walk(formula.value) if isinstance(e, Load))
    )
