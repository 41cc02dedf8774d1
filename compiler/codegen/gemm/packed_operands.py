"""Packing: which operands of a contraction are copied into the order in which micro-kernels read them.

An operand is packed if it is read often enough, and badly where it lies.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.gemm.choice import Choice
from staticgraph.compiler.codegen.gemm.tiles import Along, Tiling, pages_apart
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.machine import CPU

# By number of registers: a smaller b is read as it lies, and so is one whose rows are no further
# apart. Where tiles have few rows, they read it so often that all but the nearest cache is too slow.
_PACKED_BYTES, _NEAR_BYTES = {32: 96 * 1024, 16: 32 * 1024}, {32: 512, 16: 0}
# Fewer tiles of rows than this do not pay for packing b. Panels of whole cache lines, of so many bytes, can
# be read more often as they lie, because micro-kernels ask for them ahead of time; not where rows of b are
# whole pages apart and fight for the same places in the cache.
_REUSED, _WIDE_REUSED, _FIGHTING_REUSED, _WIDE_PANEL = 8, 48, 4, 128
_FAR_STEPS = 256  # bytes; a reads a small part of each of many cache lines
SAME_SETS = 2048  # bytes apart, few places in the nearest cache are left
TURNS = 4  # tiles of rows, at least, while which the next panel of b can be asked for
PANELS = 4  # that a packed tile of a is used for, at least


def packed_operands(
    c: Contraction, along: Along, tiling: Tiling, tiles: int, registers: int, choice: Choice, whole: bool
) -> tuple[bool, bool]:
    """Return if a is packed, and if b is.

    Args:
        c: The contraction.
        along: What vectors lie along: only those along the columns read packed operands.
        tiling: The tiles of the result.
        tiles: The number of tiles of rows that read b.
        registers: The number of vector registers.
        choice: What a measurement decided; the rest is decided here.
        whole: True if the sum is not cut though its length is open: packed operands are blocks of it.
    """
    if along is not Along.COLUMNS or whole:
        return False, False
    pack_b = _packs_b(c, tiling, tiles, registers) if choice.pack_b is None else choice.pack_b
    pack_b = pack_b or c.b.step(c.lanes) != 1
    pack_a = tiling.panel_count >= PANELS and _packs_a(c, pack_b) if choice.pack_a is None else choice.pack_a
    return pack_a and _can_pack_a(c), pack_b


def _packs_b(c: Contraction, tiling: Tiling, tiles: int, registers: int) -> bool:
    """True if b must be packed, or should be.

    It must be if it has no unit step along the lanes. It should be if it is used often enough, and is either
    large, with rows far apart, or narrower than the sums.
    """
    large = c.column_count * c.depth * c.dtype.size > _PACKED_BYTES[registers]
    near = bool(c.k) and abs(c.b.step(c.k[-1])) * c.b.dtype.size <= _NEAR_BYTES[registers]
    narrow = c.b.dtype.size < c.dtype.size  # packed, elements are converted once
    fights = bool(c.k) and pages_apart(c.b.step(c.k[-1]), c.b.dtype)
    reused = tiles >= reused_tiles(c, tiling)
    if c.open_sum and registers == 32:
        both = all(x.step(c.k[-1]) * x.dtype.size % SAME_SETS == 0 for x in (c.a, c.b))
        return c.b.step(c.lanes) != 1 or fights or both
    return c.b.step(c.lanes) != 1 or (reused and (narrow or (large and not near)))


def reused_tiles(c: Contraction, tiling: Tiling) -> int:
    """The number of tiles of rows for which it pays to pack b."""
    wide = c.b.dtype.size == c.dtype.size and tiling.pitch * c.dtype.size >= _WIDE_PANEL
    fights = bool(c.k) and pages_apart(c.b.step(c.k[-1]), c.b.dtype)
    return _REUSED if not wide else _FIGHTING_REUSED if fights else _WIDE_REUSED


def is_far(c: Contraction, tiles: int) -> bool:
    """True if a packed b comes from memory, and can be prefetched while the panel before it is multiplied."""
    far = c.size(c.b) * c.b.dtype.size >= CPU.near_bytes
    walked = (
        len(c.k) == 1
        and not c.limits
        and (c.open is None or _opens_outermost(c))
        and not c.open_columns
        and 1 in (c.b.step(c.lanes), c.b.step(c.k[-1]))
    )
    return far and walked and tiles >= TURNS


def _opens_outermost(c: Contraction) -> bool:
    """True if only the outermost one of the indices that go through b again is open."""
    return c.open_outer == tuple(i for i in (*c.other_outer[:1], c.rows) if i is not None)[:1]


def _packs_a(c: Contraction, pack_b: bool) -> bool:
    """True if a should be packed.

    Packing pays if the tiles of a are spread over many cache lines. It also pays if a has a narrower dtype
    than the sums, since its elements are then converted only once.
    """
    narrow = c.a.dtype.size < c.dtype.size and 1 in (c.a.step(c.rows), c.a.step(c.k[-1] if c.k else None))
    if c.open_sum and not narrow:
        step = c.a.step(c.k[-1]) * c.a.dtype.size
        return _can_pack_a(c) and rows_share_lines(c) and step % SAME_SETS == 0 and not pack_b
    return _can_pack_a(c) and (rows_share_lines(c) or narrow)


def _can_pack_a(c: Contraction) -> bool:
    """True if tiles of a may be packed: all of their rows have all products, and no lane moves them."""
    return c.rows is not None and not c.a.step(c.lanes) and all(x.place is not c.rows for x in c.limits)


def rows_share_lines(c: Contraction) -> bool:
    """True if neighbouring rows of a share cache lines, and steps of the sum do not."""
    step = c.a.step(c.k[-1] if c.k else None)
    return c.a.step(c.rows) == 1 and step * c.a.dtype.size >= _FAR_STEPS
