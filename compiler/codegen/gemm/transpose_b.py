"""Few columns and a long sum that runs along the rows of a: the last layer of a classifier.

Ten columns would leave a third of every vector empty. So b, which is small, is turned around first: then both
operands run along the sum, and so do the vectors of the product, which is one of dot.py.
"""

from __future__ import annotations

from dataclasses import replace

from staticgraph.compiler.codegen.abi import Phase
from staticgraph.compiler.codegen.gemm.chunks import chunks_wanted, cut
from staticgraph.compiler.codegen.gemm.loops import Cursor, open_sizes, parameters
from staticgraph.compiler.codegen.gemm.register_tile import Stream
from staticgraph.compiler.codegen.gemm.scratch import aligned
from staticgraph.compiler.codegen.gemm.tiles import TilePiece, row_products
from staticgraph.compiler.codegen.gemm.transpose import turn
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.contraction import Access, Contraction, closed, count
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

_ADDING = 6  # to add up the lanes of a vector of sums, in multiply-adds
_TURNING = 0.75  # to turn an element of b around


@dataclass(frozen=True, slots=True)
class Turned:
    """A phase that transposes b, and the contraction that reads the transposed b.

    The transposed b lies in the first `shared_bytes` of shared memory.
    """

    phase: Phase
    contraction: Contraction
    shared_bytes: int


def turned(c: Contraction, target: CpuTarget) -> Turned | None:
    """`c` with b turned around, if it is worth it."""
    lanes = target.lanes([c.dtype])
    if c.open_sum or c.open_columns or c.column_count == 1:
        return None
    if len(c.k) != 1 or c.limits or c.outer_of_b or c.a.step(c.lanes) or c.a.step(c.k[0]) != 1:
        return None
    if isinstance(c.b.stride(c.k[0]), Size):
        return None
    if c.b.step(c.lanes) != 1 or c.column_count + 3 > target.registers or not _pays(c, lanes):
        return None
    (k,), dtype = c.k, c.dtype
    pitch = -(-closed(k) // lanes) * lanes
    place = Access("", dtype, 0, {c.lanes: pitch, k: 1})
    return Turned(_phase(c, lanes, pitch), replace(c, b=place), aligned(c.column_count * pitch * dtype.size))


def _pays(c: Contraction, lanes: int) -> bool:
    columns, rows = c.column_count, c.row_count
    for index in c.outer:
        rows *= count(index)
    along = rows * columns * (-(-c.depth // lanes) + _ADDING) + _TURNING * columns * c.depth
    return along <= rows * row_products(columns, lanes) * c.depth


def _phase(c: Contraction, lanes: int, pitch: int) -> Phase:
    """Squares of b, shared out by steps of the sum."""
    w, (k,) = GemmWriter(open_sizes(c)), c.k
    columns = c.column_count
    blocks, rest = divmod(closed(k), lanes)
    grid = cut((blocks + (rest > 0),), chunks_wanted(CPU.turned_ns * columns * c.depth))
    (span,) = grid.spans(w)
    at = Cursor.at_start(w, c, {"from": c.b, "to": Access("", c.dtype, 0, {})}).at

    def square(block: Number, valid: int) -> None:
        stream = Stream(c.b.dtype, 0, c.b.step(k))
        first = w.mul(block, lanes)
        source = w.address(at["from"], w.mul(first, c.b.step(k)), c.b.dtype)
        result = w.address(at["to"], first, c.dtype)
        turn(w, stream, TilePiece(0, lanes, valid), c.dtype, source, result, pitch, columns)

    if blocks:
        span.within(w, 0, blocks, lambda n: square(n, lanes))
    if rest:
        span.within(w, blocks, 1, lambda n: square(n, rest))
    return Phase(w.finish(parameters(c)), grid.chunks, c.arguments(c.b))
