"""Micro-kernels: one tile of a contraction's result, accumulated in vector registers.

A micro-kernel is a function of its own, called for every tile of its size. In each step of the sum it
multiplies a column of a with a panel row of b and adds the products to rows x vectors of partial sums. It
starts from zero or from partial sums in memory, and ends in memory or in the epilogue, so that a sum cut
into blocks needs no other code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from staticgraph.compiler.codegen.gemm.register_tile import (
    ZERO,
    Later,
    PanelSlot,
    Spans,
    Stream,
    Tile,
    apart,
    ask,
    moves,
    repeated,
    steps,
    together,
)
from staticgraph.compiler.codegen.gemm.several import Several
from staticgraph.compiler.codegen.gemm.tiles import TilePiece
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.codegen.llvm.text import memory_type, vector
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import Size

# In one round of the innermost loop, about: so many hide what the loop itself costs, more are more code
# for LLVM and no gain. A loop of a few steps does more in a round, since it does not pay for itself.
_PRODUCTS, _PRODUCTS_OF_FEW, _FEW = 24, 32, 8
# Processors guess which cache lines come next only inside of a page. Lines of b are asked for so many steps
# ahead where steps are so many bytes apart.
_AHEAD, FAR = 8, 1024
_ROW_STEPS = 4  # of the sum, at least, between asking for rows that are read later
# LLVM prefers to split 512-bit vectors on some processors; it must not where the tiles were chosen for them.
WIDE = 'noinline nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512"'

Sums = Mapping[tuple[int, int], str]  # by row and number of the piece
Finish = Callable[[GemmWriter, Sums], None]


def micro_kernel(
    tile: Tile,
    finish: Finish,
    whole: Callable[[GemmWriter, Tile], list[str]],
    sizes: dict[Size | Several, str] | None,
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the symbol of the micro-kernel, its text after what that needs, and its last arguments.

    Args:
        tile: What it computes.
        finish: Writes the code of the epilogue.
        whole: Writes the code of sums that are finished at once.
        sizes: The parameters that hold open sizes. Those that it reads are its last ones, too.
    """
    w = GemmWriter(sizes)
    if tile.partial is None:
        finish(w, _named(tile, whole(w, tile)))
    else:
        sums = _accumulate(w, tile, _initial(w, tile, tile.partial))
        done, keep, end = w.label(), w.label(), w.label()
        w.branch_if("%last", done, keep)
        w.start(keep)
        for (i, j), value in zip(tile.places, sums, strict=True):
            w.store(value, *_partial(w, tile, tile.partial, i, j))
        w.branch(end)
        w.start(done)
        finish(w, _named(tile, sums))
        w.branch(end)
        w.start(end)
    symbol, text = w.helper(tile.parameters, WIDE)
    return symbol, (*w.needs, text), tuple(w.used)


def column_sums(w: GemmWriter, tile: Tile, a: str = "%a", b: str = "%b") -> list[str]:
    """The finished sums of the tile, in vectors along the columns."""
    return _accumulate(w, tile, ["zeroinitializer"] * len(tile.places), a, b)


def _named(tile: Tile, sums: list[str]) -> Sums:
    return dict(zip(tile.places, sums, strict=True))


def _partial(
    w: GemmWriter, tile: Tile, stream: Stream, row: int, j: int
) -> tuple[str, DType, int, int | str]:
    """Address, type, width and valid lanes of partial sums in memory."""
    piece = tile.pieces[j]
    valid = piece.width if stream.padded else piece.valid
    place = w.add(w.mul(row, stream.row), piece.start)
    return w.address("%sums", place, tile.dtype), tile.dtype, piece.width, valid


def _initial(w: GemmWriter, tile: Tile, stream: Stream) -> list[str]:
    """Zero in the first block of the sum, the partial sums in memory afterwards."""
    again, ready, before = w.label(), w.label(), w.block
    w.branch_if("%first", ready, again)
    w.start(again)
    loaded = [w.load(*_partial(w, tile, stream, i, j)) for i, j in tile.places]
    w.branch(ready)
    w.start(ready)
    return [
        w.value(f"phi {kind} [ zeroinitializer, %{before} ], [ {value}, %{again} ]")
        for kind, value in zip(tile.kinds, loaded, strict=True)
    ]


def _accumulate(w: GemmWriter, tile: Tile, sums: list[str], a: str = "%a", b: str = "%b") -> list[str]:
    """`sums` plus the products of all steps."""
    rows, known = range(tile.rows), _named(tile, sums)
    held = [_gathered(w, tile, slot, known) for slot in tile.slots]
    at = (a, b, "%packed")[: len(tile.streams)]
    opened = [steps(level) for level, extent in enumerate(tile.extents) if extent is None]
    if len(opened) < 2:
        if tile.extents:
            held = _SumLoop(w, tile, 0, at, none_empty=False).products(rows, held)
        else:
            held = _step(w, tile, at, 0, rows, held)
    else:  # one look for all loops: if any has no steps, there are no products
        kinds = [vector(memory_type(tile.dtype), slot.lanes) for slot in tile.slots]
        least: Number = opened[0]
        for extent in opened[1:]:
            least = w.minimum(least, extent)
        nest = _SumLoop(w, tile, 0, at, none_empty=True)
        held = unless_empty(w, kinds, 0, least, held, lambda held: nest.products(rows, held))
    found: dict[tuple[int, int], str] = {}
    for slot, value in zip(tile.slots, held, strict=True):
        found |= zip(((i, slot.j) for i in slot.rows), apart(w, slot, tile.dtype, value), strict=True)
    return [found[place] for place in tile.places]


def _gathered(w: GemmWriter, tile: Tile, slot: PanelSlot, sums: Sums) -> str:
    """The partial sums of a slot in one vector."""
    if all(sums[i, slot.j] == ZERO for i in slot.rows):
        return ZERO
    return together(w, slot, tile.dtype, lambda i: repeated(w, slot, tile.dtype, sums[i, slot.j]))


class _SumLoop:
    """The loop over one index of the sum, and those inside it, from the addresses `at` of the streams on.

    `none_empty`: it is known that all loops have steps.
    """

    def __init__(self, w: GemmWriter, tile: Tile, level: int, at: Sequence[str], none_empty: bool) -> None:
        self._w, self._tile, self._level, self._at, self._none_empty = w, tile, level, at, none_empty
        self._extent = tile.extents[level]
        self._kinds = [vector(memory_type(tile.dtype), slot.lanes) for slot in tile.slots]
        self._innermost = level + 1 == len(tile.extents)
        once = tile.small or not self._innermost  # few rows are not worth the text
        self._unroll = 1 if once else _unrolled(self._extent, len(self._kinds))

    def products(self, rows: range, sums: list[str]) -> list[str]:
        """`sums` plus the products of some rows."""
        spans = dict(self._tile.inside)
        if self._level in spans:
            return self._of_spans(spans[self._level], rows, sums)
        if self._extent is None:
            return self._of_open_extent(steps(self._level), rows, sums)
        return self._of_extent(self._extent, rows, sums)

    def _of_spans(self, spans: Spans, rows: range, sums: list[str]) -> list[str]:
        """Neighbouring values of the index with products in the same rows are one loop."""
        for (first, last), values in groupby(enumerate(spans), lambda item: item[1]):
            ks, some = [k for k, _ in values], range(max(first, rows.start), min(last, rows.stop))
            if some:
                sums = self._rounds(ks[0], ks[-1] + 1, 1, some, sums)
        return sums

    def _of_open_extent(self, stop: str, rows: range, sums: list[str]) -> list[str]:
        w, unroll = self._w, self._unroll
        if self._none_empty and unroll == 1:
            return self._rounds(0, stop, 1, rows, sums)
        whole = stop if unroll == 1 else w.value(f"and i64 {stop}, {-unroll}")
        begin: Number = 0
        for arrays in self._asked_together():
            begin, sums = self._while_asking_open(arrays, begin, stop, rows, sums)
        sums = self._rounds_if_any(begin, whole, unroll, rows, sums)
        return sums if unroll == 1 else self._rounds_if_any(whole, stop, 1, rows, sums)

    def _of_extent(self, extent: int, rows: range, sums: list[str]) -> list[str]:
        """Whole rounds of a loop, and the steps that are left once more without one."""
        start, unroll = 0, self._unroll
        for arrays in self._asked_together():
            count = arrays[0].rows
            share = extent * len(arrays) // len(self._tile.later) // count // unroll * unroll
            if share >= _ROW_STEPS * len(arrays):
                sums = self._while_asking(arrays, start, share, rows, sums)
                start += share * count
        even = extent - (extent - start) % unroll
        if even > start:
            sums = self._rounds(start, even, unroll, rows, sums)
        return self._steps(even, extent - even, rows, sums) if even < extent else sums

    def _steps(self, k: Number, count: int, rows: range, sums: list[str]) -> list[str]:
        """`count` steps from `k` on, without a loop."""
        return self._from(self._place(k), count, rows, sums)

    def _place(self, k: Number) -> list[str]:
        """The addresses of the streams at step `k`."""
        return self._moved(self._at, [self._w.mul(k, s.k[self._level]) for s in self._tile.streams])

    def _moved(self, at: Sequence[str], ways: Sequence[Number]) -> list[str]:
        """The addresses of the streams some elements after `at`."""
        streams = zip(at, ways, self._tile.streams, strict=True)
        return [self._w.address(pointer, way, stream.dtype) for pointer, way, stream in streams]

    def _from(self, here: Sequence[str], count: int, rows: range, sums: list[str]) -> list[str]:
        """`count` steps from the addresses `here` on, without a loop."""
        w = self._w
        if not self._innermost:
            return _SumLoop(w, self._tile, self._level + 1, here, self._none_empty).products(rows, sums)
        for u in range(count):
            sums = _step(w, self._tile, here, u, rows, sums)
        return sums

    def _rounds(
        self, start: Number, stop: Number, count: int, rows: range, sums: list[str], shift: Number = 0
    ) -> list[str]:
        """A loop whose rounds are `count` steps each. Addresses are carried, as the best form is known here.

        LLVM sees no pattern in them: its search for another form takes longer than all of the rest.
        """
        w, first = self._w, self._place(self._w.add(shift, start))
        ways = [w.mul(count, stream.k[self._level]) for stream in self._tile.streams]
        kinds = [*self._kinds, *["ptr"] * len(first)]

        def body(_: Number, values: list[str]) -> list[str]:
            here = values[len(sums) :]
            if here != first:
                here = [w.value(f"freeze ptr {pointer}") for pointer in here]
            following = self._from(here, count, rows, values[: len(sums)])
            return [*following, *self._moved(here, ways)]

        return w.repeat(start, stop, count, body, list(zip(kinds, [*sums, *first], strict=True)))[: len(sums)]

    def _rounds_if_any(
        self, start: Number, stop: Number, count: int, rows: range, sums: list[str]
    ) -> list[str]:
        def some(held: list[str]) -> list[str]:
            return self._rounds(start, stop, count, rows, held)

        return unless_empty(self._w, self._kinds, start, stop, sums, some)

    def _repeat(
        self,
        start: Number,
        stop: Number,
        count: int,
        body: Callable[[Number, list[str]], list[str]],
        sums: list[str],
    ) -> list[str]:
        return self._w.repeat(start, stop, count, body, list(zip(self._kinds, sums, strict=True)))

    def _asked_together(self) -> list[list[Later]]:
        """Arrays that are prefetched meanwhile: those of as many rows, for which one loop asks, together."""
        found: dict[int, list[Later]] = {}
        for later in self._tile.later if len(self._tile.extents) == 1 else ():
            found.setdefault(later.rows, []).append(later)
        return list(found.values())

    def _while_asking(
        self, arrays: Sequence[Later], start: int, share: int, rows: range, sums: list[str]
    ) -> list[str]:
        """Ask for all rows of the arrays, `share` steps after each."""
        w = self._w

        def part(row: Number, held: list[str]) -> list[str]:
            for later in arrays:
                later.ask(w, row)
            return self._rounds(0, share, self._unroll, rows, held, w.add(start, w.mul(row, share)))

        return self._repeat(0, arrays[0].rows, 1, part, sums)

    def _while_asking_open(
        self, arrays: Sequence[Later], start: Number, stop: str, rows: range, sums: list[str]
    ) -> tuple[Number, list[str]]:
        """Ask for the rows in the last block, a part of its steps after each; the first step after those."""
        w, count, unroll = self._w, arrays[0].rows, self._unroll
        share = w.mul(w.quotient(stop, len(self._tile.later) * count), len(arrays))
        share = w.value(f"and i64 {share}, {-unroll}")
        asked = w.value(f"select i1 %last, i64 {count}, i64 0") if self._tile.partial else count

        def part(row: Number, held: list[str]) -> list[str]:
            for later in arrays:
                later.ask(w, row)
            first = w.add(start, w.mul(row, share))
            return unless_empty(
                w, self._kinds, 0, share, held, lambda held: self._rounds(0, share, unroll, rows, held, first)
            )

        def all_rows(held: list[str]) -> list[str]:
            return self._repeat(0, asked, 1, part, held)

        return w.add(start, w.mul(share, asked)), unless_empty(w, self._kinds, 0, asked, sums, all_rows)


def _unrolled(extent: int | None, products: int) -> int:
    """The steps in one round of a loop over the sum, each of so many products.

    They divide the extent, where enough of them do: the steps that are left would be written once more.

    >>> _unrolled(9, 24), _unrolled(9, 8), _unrolled(128, 8), _unrolled(7, 10), _unrolled(None, 10)
    (1, 3, 2, 3, 2)
    """
    few = extent is not None and extent <= _FEW
    enough = _PRODUCTS_OF_FEW if few else _PRODUCTS
    most = max(1, min(4, enough // products))
    if extent is None:
        return 1 << (most.bit_length() - 1)
    even = (n for n in range(most, 0, -1) if extent % n == 0 and 2 * n * products >= enough)
    return next(even, most)


def unless_empty(
    w: GemmWriter,
    kinds: list[str],
    start: Number,
    stop: Number,
    sums: list[str],
    body: Callable[[list[str]], list[str]],
) -> list[str]:
    """`body(sums)` where start < stop, else `sums`."""
    some, after, before = w.label(), w.label(), w.block
    w.branch_if(w.value(f"icmp slt i64 {start}, {stop}"), some, after)
    w.start(some)
    results, end = body(sums), w.block
    w.branch(after)
    w.start(after)
    return [
        w.value(f"phi {kind} [ {old}, %{before} ], [ {new}, %{end} ]")
        for kind, old, new in zip(kinds, sums, results, strict=True)
    ]


def _step(w: GemmWriter, tile: Tile, at: Sequence[str], u: int, rows: range, sums: list[str]) -> list[str]:
    """One step of the sum, `u` after the one whose addresses are given: some rows with every vector."""
    offsets = [w.mul(u, stream.k[-1]) if stream.k else 0 for stream in tile.streams]
    left, right = _Reader(w, tile, tile.a, at[0], offsets[0]), _Reader(w, tile, tile.b, at[1], offsets[1])
    _ask_ahead(w, tile, at[1], offsets[1])
    if tile.packed:
        for piece in tile.pieces:
            place = w.address(at[2], w.add(offsets[2], piece.start), tile.dtype)
            w.store(right.lanes(0, piece), place, tile.dtype, piece.width, piece.width)
    return [
        w.fma(left.read(slot), right.read(slot), old, tile.dtype, slot.lanes) if slot.rows[0] in rows else old
        for slot, old in zip(tile.slots, sums, strict=True)
    ]


def _ask_ahead(w: GemmWriter, tile: Tile, b: str, offset: Number) -> None:
    """Prefetch the panel row of a later step, where steps are far apart or it is read for the first time."""
    stream, step = tile.b, tile.b.k[-1] if tile.b.k else 0
    far = isinstance(step, Size) or (not isinstance(step, str) and step * stream.dtype.size >= FAR)
    if isinstance(stream.lane, int) and stream.lane == 1 and not tile.asked and (tile.packed or far):
        ask(w, w.address(b, w.add(offset, w.mul(_AHEAD, step)), stream.dtype), tile.columns, stream.dtype)


class _Reader:
    """The vectors of one operand in one step, each read once."""

    def __init__(self, w: GemmWriter, tile: Tile, stream: Stream, base: str, offset: Number) -> None:
        self._w, self._tile, self._stream, self._base, self._offset = w, tile, stream, base, offset
        self._known: dict[tuple[str | int, ...], str] = {}

    def read(self, slot: PanelSlot) -> str:
        """The elements for an accumulator: neighbours along the lanes, or one in all lanes of a row."""
        piece, stream, first = self._tile.pieces[slot.j], self._stream, slot.rows[0]
        if not moves(stream.lane):
            return together(self._w, slot, self._tile.dtype, lambda row: self._spread(row, slot.lanes))
        row = first if moves(stream.row) else 0
        key = ("piece", row, slot.j, slot.lanes)
        if key not in self._known:
            self._known[key] = repeated(self._w, slot, self._tile.dtype, self.lanes(row, piece))
        return self._known[key]

    def lanes(self, row: int, piece: TilePiece) -> str:
        """The elements of a piece, neighbours along the lanes."""
        stream, key = self._stream, ("lanes", row, piece.start)
        if key not in self._known:
            w = self._w
            start = w.add(w.add(self._offset, w.mul(row, stream.row)), w.mul(piece.start, stream.lane))
            value = read_lanes(self._w, self._w.address(self._base, start, stream.dtype), stream, piece)
            self._known[key] = self._w.convert(value, stream.dtype, self._tile.dtype, piece.width)
        return self._known[key]

    def _spread(self, row: int, width: int) -> str:
        row = row if moves(self._stream.row) else 0
        dtype, scalar, spread = self._tile.dtype, ("scalar", row), ("spread", row, width)
        if scalar not in self._known:
            place = self._w.add(self._offset, self._w.mul(row, self._stream.row))
            pointer = self._w.address(self._base, place, self._stream.dtype)
            self._known[scalar] = self._w.convert(
                self._w.load(pointer, self._stream.dtype, 1, 1), self._stream.dtype, dtype, 1
            )
        if spread not in self._known:
            self._known[spread] = self._w.spread(self._known[scalar], memory_type(dtype), width)
        return self._known[spread]


def read_lanes(w: GemmWriter, pointer: str, stream: Stream, piece: TilePiece) -> str:
    """The elements of one piece, neighbours or some way apart, in their own type."""
    valid = piece.width if stream.padded else piece.valid
    if piece.width == 1 or (isinstance(stream.lane, int) and stream.lane == 1):
        return w.load(pointer, stream.dtype, piece.width, valid)
    return w.gather(pointer, stream.dtype, stream.lane, piece.width, valid)
