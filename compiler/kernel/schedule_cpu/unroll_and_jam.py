"""Rows that are computed together because they load the same elements, as those of a stencil do.

    for i in 0..510:
      for j in 0..512 simd:
        y[i * 512 + j] = x[i * 512 + j] + x[i * 512 + j + 512]

loads nearly all of `x` twice. It becomes

    for i in 0..255:
      for j in 0..512 simd:
        y[i * 1024 + j] = x[i * 1024 + j] + x[i * 1024 + j + 512]
        y[i * 1024 + j + 512] = x[i * 1024 + j + 512] + x[i * 1024 + j + 1024]

in which `x[i * 1024 + j + 512]` is loaded once for both rows. The usual name for it is unroll and jam.
"""

from __future__ import annotations

from collections.abc import Iterator

from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Local, substitute
from staticgraph.compiler.kernel.indices.affine import linear
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.loops.dependence import accesses, conflict
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Let,
    Loop,
    LoopKind,
    Stmt,
    Store,
    While,
    rewrite,
    statements,
)
from staticgraph.compiler.support.dataclass import replace

_ROWS = (3, 4, 5, 2)  # together, the first that divides their number
_LOADS = 6  # of a row: more elements than that do not stay in registers until the next row needs them
_WORTH = 16  # rows


def jam(body: tuple[Stmt, ...], buffers: dict[str, Buffer]) -> tuple[Stmt, ...]:
    """`body`, flat and vectorized, with the rows together that load the same elements."""

    def jammed(stmt: Stmt) -> Stmt:
        match stmt:
            case Loop(kind=LoopKind.SERIAL):
                return _jammed(stmt, buffers) or replace(stmt, body=jam(stmt.body, buffers))
            case While() | If():
                return replace(stmt, body=jam(stmt.body, buffers))
        return stmt

    return tuple(map(jammed, body))


def _jammed(rows: Loop, buffers: dict[str, Buffer]) -> Loop | None:
    """`rows`, several at a time, if that can be and pays."""
    if isinstance(rows.index.extent, Size):
        return None
    count = next((n for n in _ROWS if rows.index.extent % n == 0), None)
    match rows.body:
        case (*before, Loop(kind=LoopKind.SIMD, share=None) as row) if count and rows.index.extent >= _WORTH:
            plain = all(isinstance(s, (Let, Store)) for s in (*before, *row.body))
            if not plain or not _share(rows.index, count, row.body) or conflict(rows, buffers) is not None:
                return None
        case _:
            return None
    index = Index(rows.index.name, rows.index.extent // count)
    body = [stmt for n in range(count) for stmt in _copy(rows, tuple(before), index * count + n, n)]
    together = [stmt for n in range(count) for stmt in _copy(rows, row.body, index * count + n, n)]
    return replace(rows, index=index, body=(*body, replace(row, body=tuple(together))))


def _share(row: Index, count: int, body: tuple[Stmt, ...]) -> bool:
    """Return True if some of `count` rows load the same element, but not because all rows do.

    The body must also have few loads.
    """
    loads = {a for a in accesses(body) if isinstance(a, Load)}
    moving = {load for load in loads if load.at and row in linear(load.at[0]).terms}
    shifts: list[dict[Expr, Expr]] = [{row: row + n} for n in range(1, count)]
    return len(loads) <= _LOADS and any(
        simplify_index(substitute(load, shift)) in moving for shift in shifts for load in moving
    )


def _copy(rows: Loop, body: tuple[Stmt, ...], place: Expr, number: int) -> Iterator[Stmt]:
    """`body`, a part of `rows`, for the row at `place`. All rows but the first have locals of their own."""
    defined = [s.local for s in statements(rows.body) if isinstance(s, Let)] if number else []
    own = {local: Local(f"{local.name}_row{number}", local.dtype) for local in defined}
    places: dict[Expr, Expr] = {rows.index: place}
    places.update(own.items())
    for stmt in rewrite(body, lambda e: simplify_index(substitute(e, places))):
        yield replace(stmt, local=own.get(stmt.local, stmt.local)) if isinstance(stmt, Let) else stmt
