"""Sums of few columns with several accumulators each, so that an addition need not wait for the one before.

    for j in 0..3 simd:
      acc: float32 = 0.0
      for k in 0..700:
        acc += x[k * 3 + j]
      y[j] = acc

has one vector in flight, and an addition takes several cycles. It becomes

    for j in 0..3 simd:
      acc: float32 = 0.0
      acc_part1: float32 = 0.0
      for k in 0..350:
        acc += x[k * 6 + j]
        acc_part1 += x[k * 6 + j + 3]
      acc += acc_part1
      y[j] = acc

with four of them. Loops over more columns have more vectors in flight, and those that compute long have no
need. The order of additions depends on sizes alone.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.sizes import AnySize, Size, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.cost import values
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local, Scalar, identity, substitute, walk
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.loops.dependence import accesses, reductions
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Let,
    Loop,
    LoopKind,
    Share,
    Span,
    Stmt,
    Update,
    While,
    expressions,
    rewrite,
)
from staticgraph.compiler.support.dataclass import replace

_PARTS = 4  # accumulators: as many additions as are in flight
_WORTH = 8 * _PARTS  # iterations
_SHORT = 8  # operations of an iteration at most

Body = tuple[Stmt, ...]


def split_accumulators(body: Body, buffers: dict[str, Buffer], vector_bytes: int) -> Body:
    """`body`, scheduled, with several accumulators in loops that have few."""
    return tuple(_around(body, buffers, vector_bytes))


def _around(body: Body, buffers: dict[str, Buffer], vector_bytes: int) -> Iterator[Stmt]:
    """`body`, which is in no loop over columns."""
    for stmt in body:
        match stmt:
            case Loop(index, inside, LoopKind.SIMD):
                size = max((buffers[a.buffer].dtype.size for a in accesses(inside)), default=vector_bytes)
                few = isinstance(index.extent, int) and index.extent * size <= vector_bytes
                yield replace(stmt, body=tuple(_inside(inside, set()))) if few else stmt
            case Loop() | While() | If():
                yield replace(stmt, body=tuple(_around(stmt.body, buffers, vector_bytes)))
            case _:
                yield stmt


def _inside(body: Body, split: set[Local]) -> Iterator[Stmt]:
    """`body`, which is in a loop over few columns. `split` are the locals that have parts, once each."""
    for stmt in body:
        match stmt:
            case Loop() if _is_chain(stmt) and split.isdisjoint(step.local for step in reductions(stmt)):
                split.update(step.local for step in reductions(stmt))
                yield from _split(stmt)
            case Loop() | While() | If():
                yield replace(stmt, body=tuple(_inside(stmt.body, split)))
            case _:
                yield stmt


def _is_chain(loop: Loop) -> bool:
    """Return True if an iteration only adds to locals, each once, and computes little for it."""
    if isinstance(loop.share, Span) or not _is_worth(loop.index.extent, loop.share):
        return False
    steps = reductions(loop)
    reduced = {step.local for step in steps}
    nodes = [node for stmt in loop.body for node in walk(*expressions(stmt))]
    operations = [node.op for stmt in loop.body for node in values(stmt) if isinstance(node, Scalar)]
    return (
        0 < len(steps) == len(reduced)
        and all(step.combine is not None for step in steps)
        and all(isinstance(stmt, Let) or stmt in steps for stmt in loop.body)
        and sum(node in reduced for node in nodes) == len(steps)
        and len(operations) <= _SHORT * len(steps)
        and not any(map(scalar.is_function, operations))
    )


def _is_worth(extent: AnySize, share: Share | None) -> bool:
    """Return True if a loop may have enough iterations. Those of a share must be known."""
    if isinstance(extent, Size):
        return share is None
    count = 1 if share is None else share.count
    return isinstance(count, int) and extent >= _WORTH * count


def _split(loop: Loop) -> Iterator[Stmt]:
    index, extent = loop.index, loop.index.extent
    main, rest = Index(index.name, extent // _PARTS), Index(index.name, extent - extent // _PARTS * _PARTS)
    body: list[Stmt] = []
    sums: list[Stmt] = []
    for number in range(_PARTS):
        own: dict[Expr, Local] = {}
        for stmt in loop.body:
            assert isinstance(stmt, (Let, Update))
            if number:
                own[stmt.local] = Local(f"{stmt.local.name}_part{number}", stmt.local.dtype)
        for step in reductions(loop) if number else ():
            part = own[step.local]
            assert step.combine is not None
            yield Let(part, identity(step.combine, part.dtype))
            sums.append(Update(step.local, scalar.read(step.combine, step.local, part), step.combine))
        places: dict[Expr, Expr] = {index: main * _PARTS + number, **own}
        for stmt in _at(loop.body, places):
            assert isinstance(stmt, (Let, Update))
            body.append(replace(stmt, local=own.get(stmt.local, stmt.local)))
    share = loop.share
    if isinstance(share, Share):
        share = replace(share, unit=max(1, share.unit // _PARTS))
    yield Loop(main, tuple(body), share=share)
    if not same(rest.extent, 0):
        places = {index: rest + (extent - rest.extent)}
        yield Loop(rest, _at(loop.body, places), share=None if share is None else _last(share, rest))
    yield from sums


def _at(body: Body, places: dict[Expr, Expr]) -> Body:
    return rewrite(body, lambda e: simplify_index(substitute(e, places)))


def _last(share: Share | Span, rest: Index) -> Span:
    """All iterations of `rest` in the last part, none in the others."""
    assert isinstance(share, Share)
    end = Const(operator.index(rest.extent), int64)
    is_last = scalar.eq(share.part, operator.index(share.count) - 1)
    return Span(scalar.select(is_last, Const(0, int64), end), end)
