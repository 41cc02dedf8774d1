"""Copies whose source and result run along different indices in memory, as those of a transposition do.

Loops would read, or write, one element of each of many cache lines. Squares that are turned around in
registers read and write whole vectors: the code is that which packs transposed operands of products
(`transpose.py`).

    y[j, i] = x[i, j]      16 rows of x at a time: in a square, lanes run along i, and steps along j
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from staticgraph.compiler.codegen.abi import SCRATCH_PARAMETERS, KernelCode, Phase
from staticgraph.compiler.codegen.gemm.chunks import Grid, IndexRange, chunks_wanted, cut
from staticgraph.compiler.codegen.gemm.register_tile import Stream
from staticgraph.compiler.codegen.gemm.tiles import TilePiece, whole_pieces
from staticgraph.compiler.codegen.gemm.transpose import turn
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import UNSIGNED
from staticgraph.compiler.graph.sizes import is_open
from staticgraph.compiler.kernel.contraction import Access, access, closed, merged
from staticgraph.compiler.kernel.expr import Index, Load
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass, replace

_SIDE = 16  # lanes of a square, at most
_LEAST = 8  # values of an index that are worth squares
_BLOCK = 512  # steps that are done for one panel of lanes before those of the next


@dataclass(frozen=True, slots=True)
class TransposedCopy:
    """The copy of `source` to `target`, element by element.

    Attributes:
        source: What is read: neighbours along `line` are neighbours in memory.
        target: What is written: neighbours along `lanes` are neighbours in memory.
        lanes: The index of the lanes of squares.
        line: The index of their steps.
        outer: The other indices.
        buffers: The names of the arguments, in order.
    """

    source: Access
    target: Access
    lanes: Index
    line: Index
    outer: tuple[Index, ...]
    buffers: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(map(closed, (self.lanes, self.line, *self.outer)))


def transposed_copy(
    domain: tuple[Index, ...], store: Store, buffers: Mapping[str, Buffer]
) -> TransposedCopy | None:
    """Return a store for all values of the indices `domain` as such a copy.

    None if it is something else, if a size is open, or if an index has few values.
    """
    load = store.value
    if not isinstance(load, Load) or load.buffer == store.buffer or buffers[load.buffer].dtype.is_complex:
        return None
    if buffers[load.buffer].local or is_open([i.extent for i in domain]):
        return None
    source, target = access(load.buffer, load.at, buffers), access(store.buffer, store.at, buffers)
    if source is None or target is None or is_open([source.offset, target.offset]):
        return None
    indices, (source, target) = merged([i for i in domain if closed(i) > 1], [source, target])
    if any(is_open([x.stride(i)]) or x.step(i) < 0 for x in (source, target) for i in indices):
        return None
    lanes = next((i for i in indices if target.step(i) == 1), None)
    line = next((i for i in indices if source.step(i) == 1), None)
    if lanes is None or line is None or lanes is line or min(closed(lanes), closed(line)) < _LEAST:
        return None
    outer = tuple(i for i in indices if i is not lanes and i is not line)
    word = UNSIGNED[source.dtype.size]
    return TransposedCopy(
        replace(source, dtype=word), replace(target, dtype=word), lanes, line, outer, tuple(buffers)
    )


def emit(c: TransposedCopy, target: CpuTarget) -> KernelCode:
    """The code of a copy: squares, shared out by the outer indices, the lanes and the steps."""
    side = min(_SIDE, max(1, target.vector_bytes // c.source.dtype.size))
    nanoseconds = CPU.turned_ns * c.size
    panels, blocks = -(-closed(c.lanes) // side), -(-closed(c.line) // _BLOCK)
    grid = cut((*map(closed, c.outer), panels, blocks), chunks_wanted(nanoseconds))
    code = _Writer(c, side).code(grid)
    return KernelCode((Phase(code, grid.chunks),), cost=nanoseconds, time=round(1000 * nanoseconds))


class _Writer:
    """Writes the function of a copy, in squares of `side` lanes. The addresses of both arrays move along."""

    def __init__(self, c: TransposedCopy, side: int) -> None:
        self._c, self._side, self._w, self._word = c, side, GemmWriter(), c.source.dtype

    def code(self, grid: Grid) -> Code:
        c, w = self._c, self._w
        *outer, panels, blocks = grid.spans(w)
        names = {name: f"%p{n}" for n, name in enumerate(c.buffers)}
        at, to = (w.address(names[x.buffer], x.offset, self._word) for x in (c.source, c.target))
        whole, rest = divmod(closed(c.lanes), self._side)

        def panel(at: str, to: str, number: Number, pieces: tuple[TilePiece, ...]) -> None:
            at, to = self._moved(at, to, c.lanes, w.mul(number, self._side))
            for piece in pieces:
                self._blocks(*self._moved(at, to, c.lanes, piece.start), piece, blocks)

        def all_panels(at: str, to: str) -> None:
            if whole:
                full = whole_pieces(self._side, self._side)
                panels.within(w, 0, whole, lambda n: panel(at, to, n, full))
            if rest:
                panels.within(w, whole, 1, lambda n: panel(at, to, n, whole_pieces(rest, self._side)))

        self._each([*zip(c.outer, outer, strict=True)], at, to, all_panels)
        return w.finish((*(f"ptr {name}" for name in names.values()), *SCRATCH_PARAMETERS))

    def _moved(self, at: str, to: str, index: Index, by: Number) -> tuple[str, str]:
        """The addresses after `index` went up by `by`."""
        w, source, target = self._w, self._c.source.step(index), self._c.target.step(index)
        return w.address(at, w.mul(by, source), self._word), w.address(to, w.mul(by, target), self._word)

    def _each(
        self, indices: list[tuple[Index, IndexRange]], at: str, to: str, body: Callable[[str, str], None]
    ) -> None:
        """`body` for all values of the indices in their spans."""
        if not indices:
            body(at, to)
            return
        (index, span), *rest = indices
        self._w.each(
            span.start, span.stop, 1, lambda n: self._each(rest, *self._moved(at, to, index, n), body)
        )

    def _blocks(self, at: str, to: str, piece: TilePiece, blocks: IndexRange) -> None:
        """The squares of some lanes, for all steps of the blocks in a span."""
        w, c, steps = self._w, self._c, closed(self._c.line)
        stream, lanes = Stream(self._word, 0, c.source.step(c.lanes)), replace(piece, start=0)

        def block(n: Number) -> None:
            start = w.mul(n, _BLOCK)
            count = _BLOCK if steps % _BLOCK == 0 else w.minimum(_BLOCK, w.add(steps, w.mul(start, -1)))
            source, result = self._moved(at, to, c.line, start)
            turn(w, stream, lanes, self._word, source, result, c.target.step(c.line), count)

        blocks.within(w, 0, -(-steps // _BLOCK), block)
