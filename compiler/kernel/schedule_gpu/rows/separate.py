"""Nests as kernels of their own: what one of them leaves for another lies in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from staticgraph.compiler.kernel.expr import (
    Expr,
    Index,
    Load,
    Reduce,
    outermost_reductions,
    substitute,
    transform,
    walk,
)
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.stmt import Buffer, expressions
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Separate:
    """`nests`, then `sums`, each on its own. `scratch`: the memory that they need besides, in bytes."""

    nests: list[Nest]
    sums: list[Nest]
    buffers: Mapping[str, Buffer]
    scratch: list[tuple[str, int]]


def separate(
    nests: Sequence[Nest], buffers: Mapping[str, Buffer], rows: Sequence[Index], sums: Sequence[Nest]
) -> Separate:
    """The nests of a kernel of rows, with one buffer for all rows instead of a local one for each."""
    heights = tuple(i.extent for i in rows)
    local = {n: Buffer(b.dtype, (*heights, *b.shape), written=True) for n, b in buffers.items() if b.local}

    def row(expr: Expr, at: Sequence[Index]) -> Expr:
        """`expr` in the row `at`."""

        def change(node: Expr) -> Expr:
            if isinstance(node, Load) and node.buffer in local:
                return Load(node.buffer, (*at, *node.at), node.dtype)
            return node

        return transform(expr, change)

    def in_row(nest: Nest) -> Nest:
        at = nest.domain[: len(rows)]
        stores = (replace(s, value=row(s.value, at)) for s in nest.stores)
        return Nest(
            nest.domain, tuple(replace(s, at=(*at, *s.at)) if s.buffer in local else s for s in stores)
        )

    def over_rows(value: Expr) -> Expr:
        at = {e: e.axes[: len(rows)] for e in outermost_reductions(value)}
        return substitute(value, {e: Reduce(e.axes, e.combine, row(e.value, at[e])) for e in at})

    return Separate(
        [in_row(nest) for nest in nests],
        [Nest(n.domain, tuple(replace(s, value=over_rows(s.value)) for s in n.stores)) for n in sums],
        {**buffers, **local},
        [(name, b.size * b.dtype.size) for name, b in local.items()],
    )


def merged(nests: Iterable[Nest]) -> list[Nest]:
    """`nests` with those made one that follow each other, have the same loops, and do not read each other."""
    out: list[Nest] = []
    for nest in nests:
        if out and _alike(out[-1], nest):
            out[-1] = Nest(nest.domain, (*out[-1].stores, *nest.stores))
        else:
            out.append(nest)
    return out


def _alike(one: Nest, other: Nest) -> bool:
    found = [e for s in (*one.stores, *other.stores) for e in outermost_reductions(s.value)]
    extents = {tuple(a.extent for a in e.axes) for e in found}
    stored = {s.buffer for s in one.stores}
    touched = {s.buffer for s in other.stores}
    touched |= {e.buffer for s in other.stores for e in walk(*expressions(s)) if isinstance(e, Load)}
    return one.domain == other.domain and len(extents) <= 1 and stored.isdisjoint(touched)
