"""Division of scans among threads, chosen by the number of scans and their length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from staticgraph.compiler.codegen.cuda.function import FunctionCall, KernelWork
from staticgraph.compiler.codegen.cuda.limits import SECTOR_BYTES, THREADS
from staticgraph.compiler.codegen.cuda.scans import across, along
from staticgraph.compiler.codegen.cuda.scans.along import STRIP, TILE
from staticgraph.compiler.codegen.cuda.scans.line import Line
from staticgraph.compiler.kernel.expr import Load, walk
from staticgraph.compiler.kernel.form import Scan
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.machine import GpuMachine

_SHORT = 32  # items that a single thread may as well take
_PIECE = 32  # items of a thread at least, where a row is divided: it also adds up what is before its piece


def is_worth(found: Scan) -> bool:
    """True if many threads per row do a scan faster than its loops, in which one thread does a row.

    The items must not read the target.
    """
    reads = {e.buffer for e in walk(found.item) if isinstance(e, Load)}
    return found.length >= _SHORT and found.rows > 0 and found.target not in reads


def scan(found: Scan, buffers: Mapping[str, Buffer], machine: GpuMachine) -> KernelWork:
    """The calls that do a scan of rows that are not empty."""
    line = Line(found, buffers)
    if line.inner * line.dtype.size >= SECTOR_BYTES:
        return _across(line, machine)
    if found.length <= STRIP or (found.length <= 4 * STRIP and found.rows > 1):
        return KernelWork((along.by_warp(line),))
    if found.rows >= machine.few_blocks or found.length < 2 * TILE:
        return KernelWork((along.by_block(line),))
    tiles = -(-found.length // TILE)
    line = divided(line, min(tiles, machine.busy_blocks // found.rows), TILE)
    return _in_parts(line, along.totals(line), along.by_block(line))


def _across(line: Line, machine: GpuMachine) -> KernelWork:
    """Neighbouring threads have neighbouring rows: of these, memory gives several at a time."""
    waiting = machine.busy_blocks * THREADS  # where each thread waits for a few items
    parts = min(-(-waiting // line.scan.rows), line.scan.length // _PIECE)
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
