"""Contractions in LLVM: chunks, cache blocks and tiles around micro-kernels.

The first phases of a kernel pack into shared memory what many chunks read; the next one multiplies;
the last one adds the results of slices, where the sum was cut. The loops of a chunk that multiplies,
outermost first:

    indices that move b; blocks of columns     so that a block of b stays in the second-level cache
    blocks of the sum                          the same
      pack the block of b, if the chunk has it for itself and it must be turned around
      the other outer indices; tiles of rows   a tile of a stays in the first-level cache
        pack the tile of a
        panels of columns: call the micro-kernel; that of the first tile packs what it reads of b

Blocks exist only where the operands are large, and packing only where it pays. The order in which products
are added depends on nothing but the shapes and the width of the target's vectors.

Indices may have open extents, parameters of the functions:

    rows       full tiles, then at most one of each smaller power of two
    columns    full panels, then panels of one vector, masked
    outer      a loop, as ever
    the sum    the outermost loop of micro-kernels, in blocks and slices whose borders follow from its length

Each chunk computes its share, which may be empty. Only what does not move along the open index is packed into
shared memory. Everything is decided for an estimate; if few rows want another way, a kernel has both
(`open_rows.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from staticgraph.compiler.codegen.abi import KernelCode, Phase
from staticgraph.compiler.codegen.gemm.choice import NO_CHOICE, Choice
from staticgraph.compiler.codegen.gemm.chunks import IndexRange, each_panel, nanoseconds, picoseconds
from staticgraph.compiler.codegen.gemm.design import Design, Part, Whole, design
from staticgraph.compiler.codegen.gemm.epilogue import Epilogue
from staticgraph.compiler.codegen.gemm.loops import Cursor, each, numbers, open_sizes, parameters
from staticgraph.compiler.codegen.gemm.micro_kernel import micro_kernel
from staticgraph.compiler.codegen.gemm.pack import pack, pack_all, pack_span
from staticgraph.compiler.codegen.gemm.packed_operands import Packed
from staticgraph.compiler.codegen.gemm.plan import GemmPlan
from staticgraph.compiler.codegen.gemm.register_tile import Spans, Stream, Tile
from staticgraph.compiler.codegen.gemm.several import Several
from staticgraph.compiler.codegen.gemm.tiles import VALID, PanelRun, TileRun
from staticgraph.compiler.codegen.gemm.writer import UNOPTIMIZED, GemmWriter, Number
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.sizes import MANY, Size
from staticgraph.compiler.kernel.contraction import Access, Contraction, Limit, Slices, closed, count
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.support.dataclass import dataclass

_A, _B, _SUMS, _UNPACKED = "a", "b", "sums", "unpacked"
_Symbol = tuple[str, tuple[str, ...]]  # of a micro-kernel, and its last arguments
Inside = tuple[tuple[int, Spans], ...]  # rows with products, by index of the sum


def emit(contraction: Contraction, target: CpuTarget, choice: Choice = NO_CHOICE) -> KernelCode:
    """The code of a contraction: its arguments are the buffers in their order. The results have the same bits
    with any choice.
    """
    return emit_design(contraction, design(contraction, target, choice))


def emit_design(contraction: Contraction, decided: Design) -> KernelCode:
    """The code of a contraction with this design."""
    phases = _phases(decided.parts)
    if decided.few_rows is not None:
        from staticgraph.compiler.codegen.gemm.open_rows import by_rows  # for open sizes

        phases = by_rows(decided.contraction, decided.few_rows, _phases(decided.few), phases)
    if decided.first is not None:
        phases = (decided.first, *phases)
    return kernel_code(contraction, decided, phases)


def kernel_code(contraction: Contraction, decided: Design, phases: tuple[Phase, ...]) -> KernelCode:
    """The code of a contraction, of these phases."""
    cost, time = nanoseconds(contraction, MANY), picoseconds(contraction)
    return KernelCode(
        phases, decided.shared_bytes, decided.private_bytes, cost, time, decided.contraction.sizes
    )


def _phases(parts: Sequence[Part]) -> tuple[Phase, ...]:
    return tuple(
        Phase(function.code, chunks, function.reads)
        for part in parts
        for function, chunks in zip(functions(part), part.chunks, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Function:
    """The function of a phase, the arguments that it reads ahead of the others, and the numbers that it takes
    if it is that of several products.
    """

    code: Code
    reads: tuple[int, ...] | None
    numbers: tuple[Several, ...]


def functions(part: Part) -> list[Function]:
    """The functions of the phases of a part."""
    c, found = part.contraction, list[Function]()
    for packing in part.packing:
        w = pack_all(c, packing.operand, packing.packed, packing.grid)
        found.append(Function(w.finish(parameters(c, w)), c.arguments(packing.operand), numbers(w)))
    code, w = _Generator(c, part.plan, part.whole).function()
    return [*found, Function(code, None, numbers(w))]


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of the sum, inside its loops: how many steps
    along each of its indices, and whether first and last.
    """

    counts: tuple[Number, ...]
    first: str
    last: str


class _Generator:
    """Writes the phase that makes the results. `whole` writes sums that are finished at once."""

    def __init__(self, contraction: Contraction, plan: GemmPlan, whole: Whole) -> None:
        self._c, self._plan, self._whole = contraction, plan, whole
        self._w = GemmWriter(open_sizes(contraction))
        self._epilogue = Epilogue(contraction)
        self._accesses: dict[str, Access] = {
            _A: (plan.a and plan.a.shared) or contraction.a,
            _B: (plan.b and plan.b.shared) or contraction.b,
        }
        for name, access in zip(self._epilogue.pointers, self._epilogue.accesses, strict=True):
            self._accesses[name] = access
        if plan.partial is not None:
            self._accesses[_SUMS] = plan.partial
        if plan.turns or plan.first_packs:
            self._accesses[_UNPACKED] = contraction.b
        self._kernels: dict[tuple[int, Inside, PanelRun, tuple[str, ...]], _Symbol] = {}
        self._lengths: dict[Index, Number] = {}  # of open indices
        self._row_size: Number = 0  # of the tiles of an open number of rows

    def function(self) -> tuple[Code, GemmWriter]:
        """The function, and its writer."""
        c, w, grid = self._c, self._w, self._plan.grid
        moving = len(c.outer_of_b)
        outer = grid.spans(w, self._open_counts())
        self._tiles, self._columns = outer.pop(), outer.pop(moving)
        indices = list(zip(c.outer, outer, strict=True))
        self._others = indices[moving:]
        start = self._epilogue.begin(w, Cursor.at_start(w, c, self._accesses))

        body = self._column_blocks
        if c.slices is not None:
            piece, count = self._sliced(c.slices)
            if indices and indices[0][0] is c.slices.index:
                span = indices[0][1]
                indices[0] = c.slices.index, replace(span, stop=w.minimum(span.stop, count))
                body = partial(self._slice, c.slices, piece)

        def all_blocks() -> None:
            each(w, indices[:moving], start, body)

        variable = (*c.open_outer, c.slices and c.slices.index, c.lanes if c.open_columns else None)
        guarded = all_blocks
        for index, span in reversed((*indices, (c.lanes, self._columns), (c.rows, self._tiles))):
            if index is not None and index in variable:
                guarded = partial(w.when_less, span.start, span.stop, guarded)
        guarded()
        return w.finish(parameters(c, w), attributes="nounwind" if self._computes else UNOPTIMIZED), w

    @property
    def _computes(self) -> bool:
        """True if the function itself packs or computes, rather than only call micro-kernels."""
        p = self._plan
        packs = any(x is not None and not x.shared for x in (p.a, None if p.first_packs else p.b))
        return packs or self._epilogue.begins

    def _open_counts(self) -> list[Number]:
        """The number of parts of each open dimension of the chunks: values of an index, panels, tiles."""
        c, w = self._c, self._w
        for index in (*c.outer, *c.k):
            if isinstance(index.extent, Size):
                self._lengths[index] = index.extent
        tiling, counts = self._plan.tiling, list[Number]()
        sizes = {c.lanes: tiling.panels[0].size}
        for index in (*c.outer_of_b, c.lanes, *c.other_outer):
            if isinstance(index.extent, Size):
                size = sizes.get(index, 1)
                counts.append(w.quotient(w.add(index.extent, size - 1), size))
        if c.rows is not None and isinstance(c.rows.extent, Size):
            from staticgraph.compiler.codegen.gemm.open_rows import even_size

            self._row_size = even_size(w, c.rows.extent, tiling.rows) if tiling.even else tiling.rows[0].size
            counts.append(w.ratio(w.add(c.rows.extent, w.add(self._row_size, -1)), self._row_size))
        return counts

    def _sliced(self, slices: Slices) -> tuple[Number, Number]:
        """The length of the slices, and how many there are."""
        w, most = self._w, closed(slices.index)
        assert self._c.open is not None
        size = self._c.open.extent
        equal = w.quotient(w.add(size, most - 1), most)
        piece = w.mul(w.quotient(w.add(equal, slices.unit - 1), slices.unit), slices.unit)
        piece = w.maximum(piece, slices.least)
        rounded = w.add(size, w.add(piece, -1))
        count = w.maximum(w.value(f"udiv i64 {rounded}, {piece}"), 1)
        self._lengths[slices.index] = count
        return piece, count

    def _slice(self, slices: Slices, piece: Number, cursor: Cursor) -> None:
        """The sums of one slice."""
        w, c = self._w, self._c
        assert c.open is not None
        start = w.mul(cursor.values[slices.index], piece)
        self._lengths[c.open] = w.minimum(piece, w.add(c.open.extent, w.mul(start, -1)))
        self._column_blocks(cursor.moved(w, c.open, start))

    def _length(self, index: Index) -> Number:
        """The extent of an index."""
        return self._lengths[index] if index in self._lengths else closed(index)

    def _column_blocks(self, cursor: Cursor) -> None:
        if self._plan.panel_block:
            self._columns.blocks(
                self._w, self._plan.panel_block, lambda columns: self._depth_blocks(cursor, columns)
            )
        else:
            self._depth_blocks(cursor, self._columns)

    def _depth_blocks(self, cursor: Cursor, columns: IndexRange) -> None:
        """Loops over the blocks of the sum."""
        w, blocks = self._w, self._plan.blocks
        if self._plan.partial is None:
            self._block(cursor, columns, _Block(tuple(map(self._length, self._c.k)), "true", "true"))
            return

        def level(n: int, cursor: Cursor, first: str, last: str) -> None:
            index = self._c.k[n]
            size, extent = blocks.size if n == blocks.level else 1, self._length(index)
            even = isinstance(extent, int) and extent % size == 0

            def body(k: Number) -> None:
                steps = size if even else w.minimum(size, w.add(extent, w.mul(k, -1)))
                at_first = self._both(first, self._compare("eq", k, 0))
                at_last = self._both(last, self._compare("sge", w.add(k, size), extent))
                moved = cursor.moved(w, index, k)
                if n < blocks.level:
                    level(n + 1, moved, at_first, at_last)
                else:
                    counts = (steps, *map(closed, self._plan.block_indices[1:]))
                    self._block(moved, columns, _Block(counts, at_first, at_last))

            w.each(0, extent, size, body)  # the block of an empty sum is empty

        level(0, cursor, "true", "true")

    def _compare(self, predicate: str, a: Number, b: Number) -> str:
        if isinstance(a, int) and isinstance(b, int):
            return "true" if (a == b if predicate == "eq" else a >= b) else "false"
        return self._w.value(f"icmp {predicate} i64 {self._w.number(a)}, {self._w.number(b)}")

    def _both(self, a: str, b: str) -> str:
        return b if a == "true" else a if b == "true" else self._w.value(f"and i1 {a}, {b}")

    def _windowed(self, cursor: Cursor, block: _Block) -> tuple[Cursor, _Block]:
        """Leave out the steps that are outside of the array at the present values of the outer indices."""
        w, p, counts = self._w, self._plan, list(block.counts)
        for limit in self._c.limits:
            if limit.place is not None and limit.place is self._c.rows:
                continue
            value = 0 if limit.place is None else cursor.values.get(limit.place, 0)
            first, stop = _inside(w, limit, w.add(w.mul(value, limit.place_step), limit.offset))
            level = p.block_indices.index(limit.k)
            counts[level] = w.add(stop, w.mul(first, -1))
            for name, packed, stream in ((_A, None, p.a_stream), (_B, p.b, p.panel_b)):
                dtype = stream.dtype if packed is None else p.dtype
                place = w.address(cursor.at[name], w.mul(first, stream.k[level]), dtype)
                cursor = cursor.changed(name, place)
        return cursor, replace(block, counts=tuple(counts))

    def _block(self, cursor: Cursor, columns: IndexRange, block: _Block) -> None:
        """Pack the block of b if it is the chunk's own, and go through the rows."""
        w, p = self._w, self._plan
        if p.b and not p.b.shared:
            place = w.value(f"getelementptr i8, ptr %private, i64 {w.number(p.b.offset)}")
            if not p.first_packs:
                pack_span(w, p.b, p.b_stream, block.counts, cursor.at[_B], place, columns, columns.start)
            cursor = cursor.changed(_B, place)
        each(w, self._others, cursor, lambda here: self._row_tiles(*self._windowed(here, block), columns))

    def _row_tiles(self, cursor: Cursor, block: _Block, columns: IndexRange) -> None:
        if self._c.open_rows:
            self._open_row_tiles(cursor, block, columns)
            return
        first = 0
        for run, inside in self._runs():

            def tile(n: Number, run: TileRun = run, inside: Inside = inside, first: int = first) -> None:
                row = self._w.add(self._w.mul(n, run.size), run.start - first * run.size)
                here = cursor.moved(self._w, self._c.rows, row)
                if self._plan.a:
                    here = self._packed_a(here, self._plan.a, n, run, block)
                self._panels(here, n, run.size, inside, columns, block)

            self._tiles.within(self._w, first, run.count, tile)
            first += run.count

    def _open_row_tiles(self, cursor: Cursor, block: _Block, columns: IndexRange) -> None:
        """The tiles of the span, if the number of rows is open."""
        from staticgraph.compiler.codegen.gemm.open_rows import each_even_tile, each_tile

        w, c, tiling = self._w, self._c, self._plan.tiling
        assert c.rows is not None

        def tile(number: Number, row: Number, run: TileRun) -> None:
            here = cursor.moved(w, c.rows, row)
            if self._plan.a:
                here = self._packed_a(here, self._plan.a, number, run, block)
            self._panels(here, number, run.size, (), columns, block)

        if tiling.even:
            each_even_tile(w, self._tiles, c.rows.extent, self._row_size, tiling.rows, tile)
        else:
            each_tile(w, self._tiles, c.rows.extent, tiling.rows, tile)

    def _packed_a(self, cursor: Cursor, a: Packed, number: Number, run: TileRun, block: _Block) -> Cursor:
        """Return the cursor at the packed tile of a.

        Unless a is packed in shared memory already, first write the code that packs the tile.
        """
        w = self._w
        if a.shared:
            return cursor.changed(_A, w.address(cursor.at[_A], w.mul(number, a.elements), a.dtype))
        place = w.value(f"getelementptr i8, ptr %private, i64 {w.number(a.offset)}")
        (panel,) = (p for p in a.panels if p.start == run.start)
        along = replace(self._plan.a_stream, row=0, lane=a.lane)
        pack(w, a, along, block.counts, cursor.at[_A], place, panel.pieces)
        return cursor.changed(_A, place)

    def _runs(self) -> list[tuple[TileRun, Inside]]:
        """The tiles of rows, those apart that reach over an edge of the array."""
        p = self._plan
        out: list[tuple[TileRun, Inside]] = []
        limits = [x for x in self._c.limits if x.place is not None and x.place is self._c.rows]
        if not limits:
            return [(run, ()) for run in p.tiling.rows]
        for run in p.tiling.rows:
            for n in range(run.count):
                start = run.start + n * run.size
                inside = tuple((p.block_indices.index(x.k), _rows_inside(x, start, run.size)) for x in limits)
                inside = tuple(x for x in inside if any(span != (0, run.size) for span in x[1]))
                if out and out[-1][0].size == run.size and out[-1][1] == inside:
                    out[-1] = replace(out[-1][0], count=out[-1][0].count + 1), inside
                else:
                    out.append((TileRun(start, run.size, 1), inside))
        return out

    def _panels(
        self, cursor: Cursor, tile: Number, rows: int, inside: Inside, columns: IndexRange, block: _Block
    ) -> None:
        """Panels of columns: call the micro-kernels, those that pack b for the first tile of rows."""
        w, p = self._w, self._plan
        packs = self._packs(cursor, tile, rows)
        # The smaller ones of open tiles also come if there is no full one that packs.
        full = not self._c.open_rows or rows == p.tiling.rows[0].size
        after = _B if full or not p.first_packs else _UNPACKED

        def call(panel: PanelRun, n: Number, column: Number, inside_panel: Number) -> None:
            here = dict(cursor.moved(w, self._c.lanes, column).at)
            if p.b:
                number = n if p.b.shared else w.add(n, w.mul(columns.start, -1))
                place = w.add(w.mul(number, p.b.elements), inside_panel)
                here[_B] = w.address(cursor.at[_B], place, p.dtype)
            arguments = [f"ptr {here[name]}" for name in self._epilogue.pointers]
            if p.turns:
                way = w.add(self._to_next(cursor, column, panel, block), self._to_share(cursor, tile))
                arguments.append(f"ptr {w.address(here[_UNPACKED], way, self._c.b.dtype)}")
            arguments += [f"i64 {x.valid}" for x in panel.pieces if isinstance(x.valid, str)]
            arguments += [
                f"i64 {w.number(n)}"
                for n, extent in zip(block.counts, p.extents, strict=True)
                if extent is None
            ]
            if p.partial is not None:
                arguments += [f"ptr {here[_SUMS]}", f"i1 {block.first}", f"i1 {block.last}"]

            def kernel(*names: str) -> None:
                pointers = [f"ptr {here[name]}" for name in names]
                symbol, sizes = self._kernel(rows, inside, panel, names)
                w.line(f"call void {symbol}({', '.join([*pointers, *arguments, *sizes])})")

            w.either(packs, lambda: kernel(_A, _UNPACKED, _B), lambda: kernel(_A, after))

        each_panel(w, columns, p.tiling.panels, self._c.lanes.extent, call)

    def _packs(self, cursor: Cursor, tile: Number, rows: int) -> str:
        """Return the LLVM condition that a tile with `rows` rows packs the elements of b that it reads."""
        if not self._plan.first_packs or rows != self._plan.tiling.rows[0].size:
            return "false"
        packs = self._compare("eq", tile, 0)
        for index, _ in self._others:
            packs = self._both(packs, self._compare("eq", cursor.values[index], 0))
        return packs

    def _to_next(self, cursor: Cursor, column: Number, panel: PanelRun, block: _Block) -> Number:
        """Elements of b from this panel to what is packed next: the next block of the sum, or panel."""
        w, b, (k, *_), last = self._w, self._c.b, self._c.k, self._plan.tiling.panels[-1]
        end = last.start + (last.count - 1) * last.size  # the last one has none after it
        right = w.add(w.minimum(w.add(column, panel.size), end), w.mul(column, -1))
        way = w.mul(right, b.step(self._c.lanes))
        if block.last == "true":
            return way
        back = w.mul(cursor.values[k], -b.step(k))
        down = self._plan.blocks.size * b.step(k)
        return w.value(f"select i1 {block.last}, i64 {w.add(way, back)}, i64 {down}")

    def _to_share(self, cursor: Cursor, tile: Number) -> Number:
        """Elements of b from the beginning of a panel to the part that this tile of rows asks for."""
        w, p, turn, times = self._w, self._plan, tile, self._plan.tiling.tile_count
        for index, _ in reversed(self._others):
            turn = w.add(turn, w.mul(cursor.values[index], times))
            times *= count(index)  # of an open one nothing depends on it: it is the outermost
        start = w.minimum(w.mul(turn, p.share), p.block_depth - p.share)
        return w.mul(start, self._c.b.step(self._c.k[0]))

    def _is_small(self, rows: int) -> bool:
        """Return True if tiles of so many rows are smaller than most: of an open number, at most one is the
        last, or all are if there are few rows.
        """
        tiling, full = self._plan.tiling, self._plan.tiling.rows[0].size
        return self._c.open_rows and (2 * rows <= full if tiling.even else rows != full)

    def _kernel(self, rows: int, inside: Inside, panel: PanelRun, operands: tuple[str, ...]) -> _Symbol:
        """The symbol of the micro-kernel for a kind of tile, and its last arguments.

        It may pack the panel of b that it reads.
        """
        p = self._plan
        valid = (replace(x, valid=VALID) if isinstance(x.valid, str) else x for x in panel.pieces)
        panel = PanelRun(0, 0, tuple(valid))
        key = rows, inside, panel, operands
        if key not in self._kernels:
            partial = None
            if p.partial is not None:
                row = p.partial.stride(self._c.rows)
                partial = Stream(self._c.dtype, row, 1, padded=not p.partial.buffer)
            later, extra = self._epilogue.later(rows, panel.size), self._epilogue.pointers
            if p.turns:
                following = p.next_panel(panel.size)
                later, extra = (following, *later), (*extra, following.pointer)
            if None in p.extents and not self._c.open_sum:
                later = ()  # blocks are too short, or windows reach over an edge
            b = p.b_stream if operands[1] == _UNPACKED else p.panel_b
            packed = p.panel_b if len(operands) == 3 else None
            tile = Tile(
                self._c.dtype, rows, panel.pieces, p.tile_a, b, p.extents, partial, extra, p.lanes, inside,
                later, packed, bool(p.turns), self._is_small(rows),
            )  # fmt: skip
            finish = self._epilogue.finish(tile)
            symbol, needs, sizes = micro_kernel(tile, finish, self._whole, self._w.sizes)
            for need in needs:
                self._w.need(need)
            self._kernels[key] = symbol, tuple(f"i64 {size}" for size in sizes)
        return self._kernels[key]


def _rows_inside(limit: Limit, start: int, rows: int) -> Spans:
    """The rows of a tile that have products, from the first to before the last, for each step of the sum."""
    spans = []
    for k in range(closed(limit.k)):
        at = [limit.offset + limit.step * k + limit.place_step * (start + r) for r in range(rows)]
        inside = [r for r in range(rows) if 0 <= at[r] < limit.extent]
        spans.append((inside[0], inside[-1] + 1) if inside else (0, 0))
    return tuple(spans)


def _inside(w: GemmWriter, limit: Limit, start: Number) -> tuple[Number, Number]:
    """`limit.span(start)` in code."""
    if isinstance(start, int):
        return limit.span(start)

    def steps(distance: Number) -> Number:
        whole = w.maximum(distance, 0)
        return whole if limit.step == 1 else w.value(f"udiv i64 {w.add(whole, limit.step - 1)}, {limit.step}")

    first = w.minimum(steps(w.mul(start, -1)), closed(limit.k))
    stop = w.minimum(steps(w.add(w.mul(start, -1), limit.extent)), closed(limit.k))
    return first, w.maximum(first, stop)
