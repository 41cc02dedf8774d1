"""Vector loops that begin where a vector of their results does.

    for i in 0..510:
      for j in 0..510 simd:
        y[i * 512 + j + 513] = x[i * 512 + j + 513] * 2.0

would store every vector across two cache lines, which takes twice the time. It becomes

    for i in 0..510:
      for j in 0..15 simd:
        y[i * 512 + j + 513] = x[i * 512 + j + 513] * 2.0
      for j in 0..495 simd:
        y[i * 512 + j + 528] = x[i * 512 + j + 528] * 2.0
"""

from __future__ import annotations

from staticgraph.compiler.graph.sizes import Size, content, same
from staticgraph.compiler.kernel.expr import Expr, Index, substitute
from staticgraph.compiler.kernel.indices.affine import linear
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.loops.dependence import accesses
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Stmt, Store, While, rewrite
from staticgraph.compiler.support.dataclass import replace

_WORTH = 4  # vectors in a loop: the first one is done under a mask


def align(body: tuple[Stmt, ...], buffers: dict[str, Buffer], vector_bytes: int) -> tuple[Stmt, ...]:
    """`body`, flat and scheduled, with the SIMD loops cut in two that would store across cache lines."""
    aligned: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Loop(kind=LoopKind.SIMD):
                aligned += _aligned(stmt, buffers, vector_bytes)
            case Loop() | While() | If():
                aligned.append(replace(stmt, body=align(stmt.body, buffers, vector_bytes)))
            case _:
                aligned.append(stmt)
    return tuple(aligned)


def _aligned(loop: Loop, buffers: dict[str, Buffer], vector_bytes: int) -> tuple[Loop, ...]:
    extent = loop.index.extent
    if isinstance(extent, Size):
        return (loop,)
    lanes = vector_bytes // max((buffers[a.buffer].dtype.size for a in accesses(loop.body)), default=8)
    begin = _begin(loop, lanes)
    if not begin or loop.share is not None or extent < _WORTH * lanes:
        return (loop,)
    taken = lanes - begin
    first, rest = Index(loop.index.name, taken), Index(loop.index.name, extent - taken)

    def part(index: Index, start: int) -> Loop:
        places: dict[Expr, Expr] = {loop.index: index + start if start else index}
        return replace(
            loop, index=index, body=rewrite(loop.body, lambda e: simplify_index(substitute(e, places)))
        )

    return part(first, 0), part(rest, taken)


def _begin(loop: Loop, lanes: int) -> int:
    """The lane in which every store of `loop` begins; 0 if that is not known."""
    begins: set[int] = set()
    for stmt in loop.body:
        if isinstance(stmt, Store) and stmt.at:
            place = linear(stmt.at[0])
            step = place.stride(loop.index)
            if step is None or not same(step, 1):
                return 0
            if any(content(factor) % lanes for t, factor in place.terms.items() if t is not loop.index):
                return 0
            begins.add(place.constant % lanes)
        elif not isinstance(stmt, Let):
            return 0
    return begins.pop() if len(begins) == 1 else 0
