"""Plan of one contraction on one target.

The plan decides about tiles, blocks, chunks, packing, and the layout of scratch memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from staticgraph.compiler.codegen.gemm.choice import NO_CHOICE, Choice
from staticgraph.compiler.codegen.gemm.chunks import COLUMN_CHUNKS, Grid, OpenPart, grid_of
from staticgraph.compiler.codegen.gemm.narrow_results import MOST_ROWS, dot_tiling, row_tiling, rows_pay
from staticgraph.compiler.codegen.gemm.packed_operands import (
    SAME_SETS,
    TURNS,
    Packed,
    Scratch,
    is_far,
    numbers,
    overlaps,
    packed_operands,
    rows_share_lines,
)
from staticgraph.compiler.codegen.gemm.register_tile import Later, Stream
from staticgraph.compiler.codegen.gemm.tiles import (
    Along,
    DepthBlocks,
    PanelRun,
    TileRun,
    Tiling,
    choose,
    choose_open,
    choose_open_columns,
    depth_blocks,
    open_rows,
    panels,
    whole_pieces,
)
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import Size, content
from staticgraph.compiler.kernel.contraction import Access, Contraction, closed, count
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

_BLOCK_BYTES = 3072  # of one column of a block of b
# Of a block of b, by number of registers: each tile of rows reads it all. Tiles in 32 registers have so many
# rows that a shared cache is fast enough; those in 16 want it in the second-level cache.
_CACHED_BYTES = {32: 2 * 1024 * 1024, 16: 512 * 1024}
_SAME_SETS_BLOCK = 512  # steps of a sum: of those a panel of b stays in the second-level cache as it lies
_FEW_ROWS = 256  # packing b is a good part of the work
# Operands of a sum of open length cannot be packed ahead. So its blocks are shorter, and its chunks few
# and as wide as the result: what they read stays in the second-level cache.
_OPEN_BLOCK_BYTES = 1024
_ADDED_PIECES = 4  # vectors of a tile that adds slices
_OPEN_PANEL_BYTES = 128 * 1024  # of panels of b that a chunk packs together, if the number of columns is open


@dataclass(frozen=True, slots=True)
class GemmPlan:
    """The decisions."""

    dtype: DType
    lanes: int
    along: Along
    tiling: Tiling
    grid: Grid  # over the outer indices that move b, panels, the other outer indices, tiles of rows
    read: float  # elements of the operands that all chunks read
    panel_block: int  # panels that are gone through together, for every tile of rows; 0: all of a chunk
    turns: int  # tiles of rows that each ask for a part of the next panel of b; 0: it is near, or not packed
    blocks: DepthBlocks
    block_indices: tuple[Index, ...]  # of the sum, inside a block
    extents: tuple[int | None, ...]  # steps of a block along each of them; None: differs from block to block
    block_depth: int  # products in a block
    partial: Access | None  # where the sums stay between blocks
    a: Packed | None  # None: read as it lies
    b: Packed | None
    first_packs: bool  # the first tile of rows packs the panels of b that it reads
    a_stream: Stream  # as they lie in memory
    b_stream: Stream
    private_bytes: int
    shared_bytes: int

    @property
    def share(self) -> int:
        """Steps of the sum, of the next panel of b, that one of the tiles of rows asks for."""
        return -(-self.block_depth // self.turns)

    def next_panel(self, columns: int) -> Later:
        """The share of the next panel of b, with so many columns."""
        stream = self.b_stream
        if stream.lane == 1:
            return Later("%next", stream.dtype, self.share, stream.k[-1], columns)
        return Later("%next", stream.dtype, columns, stream.lane, self.share)

    @property
    def tile_a(self) -> Stream:
        """Strides by which a micro-kernel reads a."""
        if self.a is None:
            return self.a_stream
        return Stream(self.dtype, 1, 0, self._packed_steps(self.a.pitch))

    @property
    def panel_b(self) -> Stream:
        """Strides by which a micro-kernel reads b."""
        if self.b is None:
            return self.b_stream
        return Stream(self.dtype, 0, 1, self._packed_steps(self.b.pitch), padded=True)

    def _packed_steps(self, pitch: int) -> tuple[int, ...]:
        return tuple(n * pitch for n in numbers(self.block_indices))


def plan(
    c: Contraction,
    target: CpuTarget,
    reserved: int = 0,
    choice: Choice = NO_CHOICE,
    crossing: float = 0.0,
) -> GemmPlan:
    """Decide what was not chosen. The first `reserved` bytes of shared memory are taken.

    A part `crossing` of the vectors of b cross into another cache line.
    """
    lanes, size = target.lanes([c.dtype]), c.dtype.size
    along = direction(c, target)
    blocks, split = _depth(c, along, choice.depth)
    even = not split and _can_repeat_rows(c)
    tiling = _tiling(c, along, lanes, target.registers, choice, crossing, even)
    inside = c.k[blocks.level :]
    block_depth = blocks.size * math.prod(map(count, inside[1:]))

    tiles, whole = tiling.tile_count * math.prod(map(count, c.other_outer)), c.open_sum and not split
    pack_a, pack_b = packed_operands(c, along, tiling, tiles, target.registers, choice, whole)
    far = pack_b and is_far(c, tiles)
    read, grid = grid_of(c, tiling, pack_a, pack_b, far and not pack_a and _rows_stay(c, tiling))
    columns, *rest = grid.dimensions[len(c.outer_of_b) :]
    column_size, *sizes = _chunk_sizes(c, tiling, grid)
    has_rows = all(d.parts == 1 for d in rest)  # each chunk has all tiles of rows
    turns = _turns(c, tiling, sizes) if far and has_rows else 0
    panel_bytes = block_depth * tiling.pitch * size
    block = _panels_in_block(c, pack_b, panel_bytes, column_size, sizes, target.registers, choice.single)
    block = 1 if turns and not (c.open_columns and pack_b) else block

    scratch, a, b = Scratch(reserved), None, None
    if pack_b:
        shares = not (has_rows or c.open_columns) and _can_be_shared(c, c.b, c.lanes)
        b = scratch.packed(c, c.b, c.lanes, tiling.panels, None if shares else inside, block_depth)
        scratch.reserve(b, c.outer_of_b, block or column_size)
    first_packs = pack_b and has_rows and c.b.step(c.lanes) == 1 and not (c.limits or tiling.even)
    if pack_a:
        shares = (columns.parts > 1 or rows_share_lines(c)) and not c.limits
        shares = shares and _can_be_shared(c, c.a, c.rows)
        a = _packed_a(c, scratch, tiling.rows, lanes, None if shares else inside, block_depth)
    partial = _partial_sums(c, tiling, scratch) if split else None
    return GemmPlan(
        c.dtype,
        lanes,
        along,
        tiling,
        grid,
        read,
        block,
        turns,
        blocks,
        inside,
        extents=_extents(c, inside, blocks.size, split),
        block_depth=block_depth,
        partial=partial,
        a=a,
        b=b,
        first_packs=first_packs,
        a_stream=stream(c.a, c, inside),
        b_stream=stream(c.b, c, inside),
        private_bytes=scratch.private,
        shared_bytes=scratch.shared,
    )


def _can_be_shared(c: Contraction, operand: Access, lanes: Index | None) -> bool:
    """True if chunks may share a packed copy of an operand: its size is known, and nothing is twice in it."""
    is_open = c.open_sum or any(map(operand.step, c.open_outer))
    return not (is_open or overlaps(c, operand, lanes))


def _packed_a(
    c: Contraction,
    scratch: Scratch,
    rows: Sequence[TileRun],
    lanes: int,
    block: tuple[Index, ...] | None,
    depth: int,
) -> Packed:
    """Pack a in panels of whole vectors: one for each tile of rows, of `depth` products along `block`."""
    runs = tuple(PanelRun(r.start, r.count, whole_pieces(r.size, lanes)) for r in rows)
    a = scratch.packed(c, c.a, c.rows, runs, block, depth)
    scratch.reserve(a, tuple(i for i in c.outer if c.a.step(i)), 1)
    return a


def _chunk_sizes(c: Contraction, tiling: Tiling, grid: Grid) -> list[int]:
    """The sizes of a chunk along panels, other outer indices and tiles of rows; of an open part all of it."""
    counts = [tiling.panel_count, *map(count, c.other_outer), tiling.tile_count]
    parts = grid.dimensions[len(c.outer_of_b) :]
    return [n if isinstance(d, OpenPart) else d.size for n, d in zip(counts, parts, strict=True)]


def _extents(c: Contraction, inside: Sequence[Index], block: int, split: bool) -> tuple[int | None, ...]:
    """The trip counts of the loops of a block over `inside`; None if they are not the same for all blocks."""
    uneven = c.open_sum or (split and closed(inside[0]) % block != 0)
    windows = frozenset(x.k for x in c.limits if x.place is None or x.place is not c.rows)
    return tuple(
        None if (uneven and n == 0) or i in windows or _is_open(i) else block if n == 0 else closed(i)
        for n, i in enumerate(inside)
    )


def _turns(c: Contraction, tiling: Tiling, sizes: list[int]) -> int:
    """The number of tiles of rows while which the next panel of b is asked for."""
    if any(isinstance(step, Size) for step in c.b.steps.values()):
        return 0
    turns = math.prod(sizes)
    return min(turns, max(TURNS, _least_tiles(c, tiling))) if c.open_outer else turns


def _panels_in_block(
    c: Contraction,
    pack_b: bool,
    panel_bytes: int,
    panel_count: int,
    sizes: list[int],
    registers: int,
    single: bool | None,
) -> int:
    """The number of panels of b that all tiles of rows read before the next ones; 0 for all of them."""
    block = max(1, _CACHED_BYTES[registers] // panel_bytes)
    if single is not None:
        block = 1 if single else panel_count
    if c.open_columns and pack_b:
        return max(1, min(block, _OPEN_PANEL_BYTES // panel_bytes))
    return block if math.prod(sizes) > 1 and panel_count > block * 5 // 4 else 0


def _is_open(index: Index) -> bool:
    return isinstance(index.extent, Size)


def adding_plan(c: Contraction, target: CpuTarget, reserved: int) -> GemmPlan:
    """Plan sums of slices, in elements of a, that only wait to be added.

    Tiles have one row: no row has anything in common with another one, and more would only be more text.
    """
    lanes = target.lanes([c.dtype])
    tiling = Tiling((TileRun(0, 1, c.row_count),), panels(c.column_count, lanes, _ADDED_PIECES))
    unpacked = stream(c.a, c, c.k)
    read, grid = grid_of(c, tiling, False, False, False)
    known = None if c.open_sum else c.depth
    return GemmPlan(
        c.dtype,
        lanes,
        Along.COLUMNS,
        tiling,
        grid,
        read,
        0,
        0,
        DepthBlocks(0, c.depth),
        c.k,
        extents=(known,),
        block_depth=c.depth,
        partial=None,
        a=None,
        b=None,
        first_packs=False,
        a_stream=unpacked,
        b_stream=unpacked,
        private_bytes=0,
        shared_bytes=reserved,
    )


def direction(c: Contraction, target: CpuTarget) -> Along:
    """Choose the direction of the vectors."""
    lanes = target.lanes([c.dtype])
    if not c.k or c.a.step(c.lanes) or c.limits or c.open_columns:
        return Along.COLUMNS
    vector = c.column_count == 1
    turned = not c.b.buffer  # it was turned around for that
    # A short sum fills no vector. Products with a vector stay as they are: with an open number of rows they
    # are along the sum, too, and give the same bits.
    few = c.row_count <= min(MOST_ROWS, c.depth // lanes) or turned or vector or c.rows is None
    across = (c.b.step(c.lanes) != 1 or vector) and not c.open_sum
    if few and across and c.b.step(c.k[-1]) == 1 and c.a.step(c.k[-1]) == 1:
        return Along.SUM
    if c.open_rows:
        return Along.COLUMNS
    if c.a.step(c.rows) == 1 and c.b.step(c.lanes) and rows_pay(c, lanes, target.registers):
        return Along.ROWS
    return Along.COLUMNS


def _can_repeat_rows(c: Contraction) -> bool:
    """True if there are many short lines of rows, and to compute a row twice does no harm."""
    targets = {x.buffer for x in c.targets}
    return bool(c.open_rows and c.outer) and not any(x.buffer in targets for x in c.loads.values())


def _tiling(
    c: Contraction, along: Along, lanes: int, registers: int, choice: Choice, crossing: float, even: bool
) -> Tiling:
    match along:
        case Along.SUM:
            tiling = dot_tiling(c.row_count, c.column_count, registers)
            largest = max(run.size for run in tiling.rows)
            runs = open_rows(largest, tiling.tile_count, c.row_unit) if c.open_rows else tiling.rows
            return replace(tiling, rows=runs)
        case Along.ROWS:
            return row_tiling(c.row_count, c.column_count, lanes, registers)
    if c.open_columns:
        unit = c.row_unit if c.open_rows else None
        return choose_open_columns(c.column_count, c.depth, lanes, registers, c.row_count, unit)
    if c.open_rows:
        rows = c.row_count, c.row_unit
        return choose_open(c.column_count, c.depth, lanes, registers, *rows, crossing=crossing, even=even)
    if (chosen := choice.tiling(c.row_count, c.column_count, lanes)) is not None:
        return chosen
    times = math.prod(map(count, c.outer))
    return choose(c.row_count, c.column_count, c.depth, lanes, registers, times, crossing)


def _depth(c: Contraction, along: Along, chosen: int | None) -> tuple[DepthBlocks, bool]:
    """The blocks of the sum, and whether there is more than one."""
    extents, largest = tuple(map(count, c.k)), chosen or _BLOCK_BYTES // c.dtype.size
    if c.several_open or (c.open_sum and (c.open_outer or c.open_columns) and _kept(c) is None):
        return DepthBlocks(0, extents[0]), False  # there is no memory for unfinished sums, as below
    if c.open_sum:
        inner = math.prod(extents[1:])
        largest = largest if inner > 1 else _OPEN_BLOCK_BYTES // c.dtype.size
        return DepthBlocks(0, max(1, largest // inner)), along is Along.COLUMNS
    limited = min((c.k.index(x.k) for x in c.limits), default=len(extents))
    if c.open is not None and _kept(c) is None:
        largest = c.depth  # there is no memory for unfinished sums of an open number of results
    if c.open_rows and c.k and c.b.step(c.k[-1]) * c.b.dtype.size % SAME_SETS == 0:
        largest = min(largest, _SAME_SETS_BLOCK)
    if along is not Along.COLUMNS or limited == 0 or c.depth <= largest * 3 // 2:
        return DepthBlocks(0, extents[0] if extents else 1), False
    if limited < len(extents):  # where a block begins and ends must not depend on the window
        outside, inside = extents[limited - 1], math.prod(extents[limited:])
        size = min(outside, max(1, largest // inside))
        return DepthBlocks(limited - 1, size), limited > 1 or size < outside
    blocks = depth_blocks(extents, largest)
    return blocks, blocks.level > 0 or blocks.size < extents[0]


def _least_tiles(c: Contraction, tiling: Tiling) -> int:
    """The number of tiles of rows for each value of an open size."""
    others = math.prod(content(i.extent) for i in c.other_outer)
    return others * (c.row_unit // tiling.rows[0].size if c.open_rows else tiling.tile_count)


def _rows_stay(c: Contraction, tiling: Tiling) -> bool:
    """True if chunks should have all rows, and so panels of their own that no other chunk packs."""
    chunks = tiling.panel_count * math.prod(map(count, c.outer_of_b))
    rows = c.row_count * math.prod(map(count, c.other_outer))
    return rows <= _FEW_ROWS and c.size(c.a) * c.a.dtype.size <= CPU.near_bytes and chunks >= COLUMN_CHUNKS


def stream(access: Access, c: Contraction, inside: tuple[Index, ...]) -> Stream:
    """Return the strides by which micro-kernels read an access directly from memory, unpacked."""
    k = tuple(access.stride(i) for i in inside)
    return Stream(access.dtype, access.stride(c.rows), access.stride(c.lanes), k, padded=not access.buffer)


def _partial_sums(c: Contraction, tiling: Tiling, scratch: Scratch) -> Access:
    """A result that can hold the unfinished sums, or else scratch memory."""
    return _kept(c) or scratch.results(c, c.outer, tiling.columns)


def _kept(c: Contraction) -> Access | None:
    """A result that can hold the unfinished sums."""
    read = {x.buffer for x in c.loads.values()}
    for access in c.targets:
        if access.dtype is c.dtype and access.step(c.lanes) == 1 and access.buffer not in read:
            return access
    return None
