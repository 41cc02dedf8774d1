"""Division of scans among threads, chosen by the number of scans and their length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from staticgraph.compiler.codegen.cuda.card import CORES, THREADS
from staticgraph.compiler.codegen.cuda.function import FunctionCall, KernelWork
from staticgraph.compiler.codegen.cuda.scans import across, along
from staticgraph.compiler.codegen.cuda.scans.along import STRIP, TILE
from staticgraph.compiler.codegen.cuda.scans.line import Line
from staticgraph.compiler.kernel.expr import Load, walk
from staticgraph.compiler.kernel.form import Scan
from staticgraph.compiler.kernel.stmt import Buffer

_SHORT = 32  # items that a single thread may as well take
_SECTOR = 32  # bytes that memory gives at a time
_FEW = 2 * CORES  # blocks that do not occupy the card
_BLOCKS = 4 * CORES  # that do, with the items that each of them waits for
_WAITING = CORES * 4 * THREADS  # threads that do, where each waits for a few items
_PIECE = 32  # items of a thread at least, where a row is divided: it also adds up what is before its piece


def is_worth(found: Scan) -> bool:
    """True if many threads per row do a scan faster than its loops, in which one thread does a row.

    The items must not read the target.
    """
    reads = {e.buffer for e in walk(found.item) if isinstance(e, Load)}
    return found.length >= _SHORT and found.rows > 0 and found.target not in reads


def scan(found: Scan, buffers: Mapping[str, Buffer]) -> KernelWork:
    """The calls that do a scan of rows that are not empty."""
    line = Line(found, buffers)
    if line.inner * line.dtype.size >= _SECTOR:
        return _across(line)
    if found.length <= STRIP or (found.length <= 4 * STRIP and found.rows > 1):
        return KernelWork((along.by_warp(line),))
    if found.rows >= _FEW or found.length < 2 * TILE:
        return KernelWork((along.by_block(line),))
    tiles = -(-found.length // TILE)
    line = divided(line, min(tiles, _BLOCKS // found.rows), TILE)
    return _in_parts(line, along.totals(line), along.by_block(line))


def _across(line: Line) -> KernelWork:
    """Neighbouring threads have neighbouring rows: of these, memory gives several at a time."""
    parts = min(-(-_WAITING // line.scan.rows), line.scan.length // _PIECE)
    if parts <= 1:
        return KernelWork((across.columns(line),))
    line = divided(line, parts, 1)
    return _in_parts(line, across.totals(line), across.columns(line))


def divided(line: Line, parts: int, unit: int) -> Line:
    """Rows in so many parts at most, all but the last of which have as many items, a multiple of `unit`."""
    units = -(-line.scan.length // unit)
    length = -(-units // parts) * unit
    return replace(line, parts=-(-line.scan.length // length), length=length)


def _in_parts(line: Line, totals: FunctionCall, scans: FunctionCall) -> KernelWork:
    """First what the parts give, then each part after those before it."""
    return KernelWork((totals, scans), line.scratch)
