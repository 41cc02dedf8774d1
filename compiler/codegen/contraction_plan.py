"""What to do for one contraction on one target: tiles,
blocks, what to pack, and where everything lies in scratch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from staticgraph.compiler.codegen.contraction_dot import MOST_ROWS, dot_tiling
from staticgraph.compiler.codegen.contraction_kernel import Stream
from staticgraph.compiler.codegen.contraction_tiles import DepthBlocks, PanelRun, Tiling, choose, depth_blocks
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel.contraction import Access, Contraction
from staticgraph.compiler.kernel.expr import Index

_BLOCK_BYTES = 2048  # of one column of a block of b
# Of a block of b, by number of registers: each tile of rows reads it all. Tiles in 32 registers have so many
# rows that a shared cache is fast enough; those in 16 want it in the second-level cache.
_CACHED_BYTES = {32: 2 * 1024 * 1024, 16: 256 * 1024}
_PACKED_BYTES = 96 * 1024  # a smaller b is read as it lies
_REUSED = 8  # fewer tiles of rows than this do not pay for packing b
_FAR_BYTES = (
    1024  # steps this long lose the help of the prefetcher, and of the cache where they are powers of two
)


@dataclass(frozen=True, slots=True)
class Group:
    """Panels that are treated together; `block` of them at a time, or all at once if 0."""

    panels: tuple[PanelRun, ...]
    block: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions. Offsets are in bytes of scratch memory, which begins with the block of b."""

    dtype: DType
    lanes: int
    along: int  # lanes of vectors along the sum; 0: vectors lie along the columns
    tiling: Tiling
    groups: tuple[Group, ...]
    blocks: DepthBlocks
    block_indices: tuple[Index, ...]  # of the sum, inside a block
    extents: tuple[int | None, ...]  # steps of a block along each of them; None: differs from block to block
    block_depth: int  # products in a block
    partial: Access | None  # where the sums stay between blocks
    pack_a: bool
    pack_b: bool
    turned: bool  # b is packed by turning squares around
    a_row_pitch: int  # elements between the rows of a packed tile of a; 0: the rows of a step are neighbours
    a_stream: Stream  # as they lie in memory
    b_stream: Stream
    a_offset: int
    sums_offset: int
    scratch_bytes: int

    def tile_a(self, rows: int) -> Stream:
        """How a micro-kernel of so many rows reads a."""
        if not self.pack_a:
            return self.a_stream
        row, unit = (self.a_row_pitch, 1) if self.a_row_pitch else (1, rows)
        return Stream(self.a_stream.dtype, row, 0, self._packed_steps(unit))

    def panel_b(self, panel: PanelRun) -> Stream:
        """How a micro-kernel reads a panel of b."""
        if not self.pack_b:
            return self.b_stream
        pitch = sum(p.width for p in panel.pieces)
        return Stream(self.dtype, 0, 1, self._packed_steps(pitch), padded=True)

    def _packed_steps(self, unit: int) -> tuple[int, ...]:
        steps, inside = [], unit
        for index in reversed(self.block_indices):
            steps.append(inside)
            inside *= index.extent
        return tuple(reversed(steps))


def plan(c: Contraction, target: CpuTarget) -> Plan:
    """Decide."""
    lanes, size = target.lanes([c.dtype]), c.dtype.size
    along = lanes if _is_dot(c) else 0
    if along:
        tiling = dot_tiling(c.row_count, c.lanes.extent, registers(target))
    else:
        tiling = choose(c.row_count, c.lanes.extent, c.depth, lanes, registers(target))
    blocks, split = _depth(c, along)
    inside = c.k[blocks.level :]
    block_depth = blocks.size * math.prod(i.extent for i in inside[1:])
    uneven = split and inside[0].extent % blocks.size != 0
    outermost = () if not inside else (None,) if uneven else (blocks.size,)

    tiles = sum(r.count for r in tiling.rows) * math.prod(i.extent for i in c.outer if not c.b.step(i))
    pack_b = not along and _packs_b(c, tiles)
    block_panels = max(1, _CACHED_BYTES[registers(target)] // (block_depth * tiling.pitch * size))
    groups: tuple[Group, ...] = (Group(tiling.panels, 0),)
    if tiles > 1 and tiling.panel_count > block_panels * 5 // 4:
        groups = tuple(Group((p,), min(block_panels, p.count)) for p in tiling.panels)
    pack_a = not along and tiling.panel_count >= 4 and _packs_a(c)
    a_row_pitch = 0 if c.a.step(c.rows) == 1 else -(-block_depth // 16) * 16 + 16

    columns = tiling.pitch * max(g.block or tiling.panel_count for g in groups)
    a_offset = _aligned(columns * block_depth * size) if pack_b else 0
    a_elements = tiling.tile_rows * max(a_row_pitch, block_depth)
    sums_offset = a_offset + (_aligned(a_elements * size) if pack_a else 0)
    partial, sums_bytes = _partial_sums(c, tiling, size) if split else (None, 0)
    return Plan(
        c.dtype, lanes, along, tiling, groups, blocks, inside,
        extents=(*outermost, *(i.extent for i in inside[1:])), block_depth=block_depth, partial=partial,
        pack_a=pack_a, pack_b=pack_b, turned=c.b.step(c.k[-1] if c.k else None) == 1, a_row_pitch=a_row_pitch,
        a_stream=_stream(c.a, c, inside), b_stream=_stream(c.b, c, inside),
        a_offset=a_offset, sums_offset=sums_offset, scratch_bytes=sums_offset + sums_bytes,
    )  # fmt: skip


def _is_dot(c: Contraction) -> bool:
    """Whether vectors should lie along the sum: see contraction_dot.py."""
    if not c.k or c.row_count > MOST_ROWS or c.a.step(c.lanes):
        return False
    return c.b.step(c.lanes) != 1 and c.b.step(c.k[-1]) == 1 and c.a.step(c.k[-1]) == 1


def _depth(c: Contraction, along: int) -> tuple[DepthBlocks, bool]:
    """The blocks of the sum, and whether there is more than one."""
    extents, largest = tuple(i.extent for i in c.k), _BLOCK_BYTES // c.dtype.size
    if along or c.depth <= largest * 3 // 2:
        return DepthBlocks(0, extents[0] if extents else 1), False
    blocks = depth_blocks(extents, largest)
    return blocks, blocks.level > 0 or blocks.size < extents[0]


def _packs_b(c: Contraction, tiles: int) -> bool:
    """Whether b must be packed, because it has no unit step
    along the lanes, or should be, because it is large.
    """
    large = c.lanes.extent * c.depth * c.dtype.size > _PACKED_BYTES
    return c.b.step(c.lanes) != 1 or (tiles >= _REUSED and large)


def _packs_a(c: Contraction) -> bool:
    """Whether the tiles of a are spread over so many cache lines that copying them pays."""
    steps = c.a.step(c.rows), c.a.step(c.k[-1] if c.k else None)
    far = max(steps) * c.a.dtype.size >= _FAR_BYTES
    return c.rows is not None and not c.a.step(c.lanes) and far and 1 in steps


def registers(target: CpuTarget) -> int:
    """Number of vector registers."""
    wide = target.vector_bytes == 64 or target.triple.startswith(("aarch64", "arm64"))
    return 32 if wide else 16


def _stream(access: Access, c: Contraction, inside: tuple[Index, ...]) -> Stream:
    k = tuple(access.step(i) for i in inside)
    return Stream(access.dtype, access.step(c.rows), access.step(c.lanes), k)


def _partial_sums(c: Contraction, tiling: Tiling, size: int) -> tuple[Access, int]:
    """A result that can hold the unfinished sums, or else scratch memory."""
    read = {x.buffer for x in c.loads.values()}
    for access in c.targets:
        if access.dtype is c.dtype and access.step(c.lanes) == 1 and access.buffer not in read:
            return access, 0
    steps = {c.lanes: 1}
    pitch = sum(p.count * sum(q.width for q in p.pieces) for p in tiling.panels)
    for index in ((c.rows,) if c.rows else ()) + tuple(i for i in c.outer if not c.b.step(i)):
        steps[index] = pitch
        pitch *= index.extent
    return Access("", c.dtype, 0, steps), _aligned(pitch * size)


def _aligned(size: int) -> int:
    return -(-size // 64) * 64
