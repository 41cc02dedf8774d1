"""Vectors of the second operand that cross from one cache line into the next, and what they cost a tile.

A micro-kernel reads each vector of b once for all rows of its tile. A vector that crosses is two accesses,
and tiles of few rows wait for them. Vectors cross if rows of b are no whole cache lines. They also cross if b
is an array of the caller that begins between two lines: those of NumPy begin 16 bytes after one. Tiles of
more rows do not wait, but often need a second micro-kernel, which takes LLVM some milliseconds.
"""

from __future__ import annotations

import math

from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.machine import ALIGNMENT

# Of reading a vector that crosses, and an element of a beside it, in multiply-adds: fitted to tiles of 4 to
# 14 rows and 2 to 4 vectors, of 128 x 256 x 256 and 128 x 512 x 512, on a Sapphire Rapids.
_CROSSING_COST, _ELEMENT_COST = 5.0, 1.25


def crossing_part(c: Contraction, lanes: int) -> float:
    """The part of the vectors of b, read as it lies, that cross into another cache line.

    It is 0 if b has no vectors: neighbours along the lanes are not neighbours in memory.
    """
    if not c.b.buffer or c.b.step(c.lanes) != 1:
        return 0.0
    size, width = c.b.dtype.size, lanes * c.b.dtype.size
    if c.buffers[c.b.buffer].unaligned:
        return width / ALIGNMENT
    steps = [step for index, step in c.b.steps.items() if index is not c.lanes]
    unit = math.gcd(ALIGNMENT, *(_known(n) * size for n in (c.b.offset, *steps)))
    return max(0, width - unit) / ALIGNMENT


def reading_cost(rows: int, vectors: int, crossing: float) -> float:
    """The time of a step of a tile for reading its operands, in multiply-adds; 0 if no vector crosses."""
    return crossing and rows * _ELEMENT_COST + vectors * crossing * _CROSSING_COST


def _known(step: object) -> int:
    """A distance in elements. Nothing divides an open one."""
    return 1 if isinstance(step, Size) else int(step)  # type: ignore[call-overload]
