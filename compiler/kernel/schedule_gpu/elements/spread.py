"""Loops of a kernel that are spread over threads: none of their iterations needs another one.

    for u in 0..500:                              for item in 0..64 parallel:
      row: int64 = int64(rows[u])                   for u in 0..500:
      if row < 10:                         becomes    row: int64 = int64(rows[u])
        for s in 0..64:                               if row < 10:
          y[row, s] = y[row, s] + x[u, s]               y[row, item] = y[row, item] + x[u, item]

Here two values of `u` may meet in one row, but two of `s` never meet. What is around such a loop is done by
each thread for itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import replace

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.sizes import AnySize, Size, estimate
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Local, free_indices, number, substitute, walk
from staticgraph.compiler.kernel.indices.affine import Affine, linear
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.loops.dependence import accesses, begun_with_stores, conflict, reductions
from staticgraph.compiler.kernel.schedule_gpu.strides import counting
from staticgraph.compiler.kernel.stmt import (
    If,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Share,
    Span,
    Stmt,
    Store,
    While,
    expressions,
    rewrite,
    statements,
    updated,
)
from staticgraph.compiler.support.dataclass import dataclass

Body = tuple[Stmt, ...]


def spread(kernel: Kernel) -> list[Body]:
    """The body of a flat kernel in phases. One that is spread over threads is a single parallel loop."""
    own = used_once([(stmt,) for stmt in kernel.body]) & kernel.locals.keys()
    bodies: list[list[Stmt]] = [[]]
    for stmt in kernel.body:
        found = SpreadNest.of(stmt).spread(kernel, own)
        if found is None:
            bodies[-1].append(stmt)
        else:
            bodies += [[found], []]
    return [tuple(body) for body in bodies]


def used_once(bodies: Sequence[Body]) -> Set[str]:
    """The buffers that only one of the bodies uses."""
    users = [{a.buffer for a in accesses(body)} for body in bodies]
    return {name for used in users for name in used if sum(name in other for other in users) == 1}


@dataclass(frozen=True, slots=True)
class SpreadNest:
    """Loops, definitions and conditions, each directly inside the one before, and what is inside the last."""

    around: tuple[Loop | Let | If, ...]
    inside: Body

    @staticmethod
    def of(stmt: Stmt) -> SpreadNest:
        around: list[Loop | Let | If] = []
        inside: Body = (stmt,)
        while inside and isinstance(inside[-1], Loop | If) and _are_definitions(inside[:-1], inside):
            around += [s for s in inside if isinstance(s, Loop | Let | If)]
            inside = inside[-1].body
        return SpreadNest(tuple(around), inside)

    def spread(self, kernel: Kernel, own: Set[str]) -> Loop | None:
        """The nest as one parallel loop, or None if no loop of it can be spread.

        `own` are the local buffers that nothing else uses.
        """
        chosen: list[Loop] = []
        movable = self.is_movable
        for place, stmt in enumerate(self.around):
            is_first = place == len(chosen)  # all around it have been chosen
            if not (is_first or movable):
                break
            if isinstance(stmt, Loop) and stmt.share is None:
                trial = self.moved_out(stmt, chosen)
                if (is_first and stmt.kind is LoopKind.PARALLEL) or _is_independent(trial, kernel, own):
                    chosen.append(stmt)
        return self.collapsed(chosen) if chosen else None

    @property
    def is_movable(self) -> bool:
        """True if definitions and conditions do not depend on the effects of the statements inside."""
        loaded = {e.buffer for s in self.around for e in walk(*expressions(s)) if isinstance(e, Load)}
        changed = updated(self.inside)
        locals_ = {e for s in self.around for e in walk(*expressions(s)) if isinstance(e, Local)}
        stored = {s.buffer for s in statements(self.inside) if isinstance(s, Store)}
        return loaded.isdisjoint(stored) and locals_.isdisjoint(changed)

    def moved_out(self, loop: Loop, without: Sequence[Loop]) -> Loop:
        """`loop` around all the others, but for some."""
        others = [s for s in self.around if s is not loop and s not in without]
        return replace(loop, body=self.inside_of(others))

    def inside_of(self, around: Sequence[Loop | Let | If]) -> Body:
        """Return the innermost statements wrapped in `around`, whose first one becomes the outermost."""
        body = self.inside
        for stmt in reversed(around):
            body = (stmt, *body) if isinstance(stmt, Let) else (replace(stmt, body=body),)
        return body

    def collapsed(self, chosen: Sequence[Loop]) -> Loop:
        """One loop over the iterations of all that were chosen; neighbours store to neighbours in memory.

        If one of the loops has no iterations, nothing is divided by 0.
        """
        body = self.inside_of([s for s in self.around if s not in chosen])
        store = next((s for s in statements(body) if isinstance(s, Store) and s.at), None)
        form = linear(store.at[0]) if store is not None else None
        loops = [s.index for s in chosen]
        if form is not None:
            loops.sort(key=lambda index: -_stride(form, index))
        item = counting("item", math.prod(index.extent for index in loops))
        table: dict[Expr, Expr] = {}
        stride: AnySize = 1
        for index in reversed(loops):
            extent = index.extent if isinstance(index.extent, Size) else max(index.extent, 1)
            place = item // number(stride, int64)
            if index is not loops[0] or not isinstance(extent, Size):
                place %= number(extent, int64)
            table[index] = simplify_index(place)
            stride *= extent
        return Loop(item, _replaced(body, table), LoopKind.PARALLEL)


def _stride(form: Affine, index: Index) -> float:
    """About how far a place moves with an index; anywhere, if that only decides what a local is."""
    return min(
        (abs(estimate(f)) for term, f in form.terms.items() if index in free_indices(term)), default=math.inf
    )


def _replaced(body: Body, table: dict[Expr, Expr]) -> Body:
    """`body` with other expressions for some, also in the shares of its loops."""

    def shared(stmt: Stmt) -> Stmt:
        match stmt:
            case Loop(share=Share(part, count, unit)):
                share = Share(simplify_index(substitute(part, table)), count, unit)
                return replace(stmt, body=tuple(map(shared, stmt.body)), share=share)
            case Loop(share=Span(start, stop)):
                span = Span(*(simplify_index(substitute(e, table)) for e in (start, stop)))
                return replace(stmt, body=tuple(map(shared, stmt.body)), share=span)
            case Loop() | While() | If():
                return replace(stmt, body=tuple(map(shared, stmt.body)))
        return stmt

    return tuple(map(shared, rewrite(body, lambda e: simplify_index(substitute(e, table)))))


def _are_definitions(before: Body, body: Body) -> bool:
    """True if all statements of `before` define locals, none of which is changed in `body`."""
    changed = updated(body)
    return all(isinstance(s, Let) and s.local not in changed for s in before)


def _is_independent(loop: Loop, kernel: Kernel, own: Set[str]) -> bool:
    """True if iterations can run at the same time, each with its own scratch memory."""
    private = begun_with_stores(loop) & own
    return not reductions(loop) and conflict(loop, kernel.buffers, private) is None
