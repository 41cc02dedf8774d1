"""Contractions in LLVM: cache blocks and tiles around micro-kernels.

The loops of a kernel, outermost first:

    indices that move b; blocks of columns     so that a block of b stays in the second-level cache
    blocks of the sum                          the same
      pack the block of b
      the other outer indices; tiles of rows   a tile of a stays in the first-level cache
        pack the tile of a
        panels of columns: call the micro-kernel

Blocks exist only where the operands are large, and packing only where it pays. The order in which products
are added depends on nothing but the shapes and the width of the target's vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from staticgraph.compiler.codegen.abi import SCRATCH_PARAMETERS, KernelCode, Phase
from staticgraph.compiler.codegen.contraction_dot import dot_sums
from staticgraph.compiler.codegen.contraction_epilogue import Epilogue
from staticgraph.compiler.codegen.contraction_kernel import Stream, Tile, column_sums, micro_kernel
from staticgraph.compiler.codegen.contraction_pack import pack_panel, pack_tile, pack_turned
from staticgraph.compiler.codegen.contraction_plan import Plan, plan
from staticgraph.compiler.codegen.contraction_tiles import PanelRun, Run
from staticgraph.compiler.codegen.contraction_writer import Number, Writer
from staticgraph.compiler.codegen.llvm_text import Code
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.kernel.contraction import Access, Contraction
from staticgraph.compiler.kernel.expr import Index

_A, _B, _SUMS = "a", "b", "sums"


def emit(contraction: Contraction, target: CpuTarget) -> KernelCode:
    """The code of a contraction: its arguments are the buffers in their order."""
    decided = plan(contraction, target)
    code = _Generator(contraction, decided).code()
    return KernelCode((Phase(code),), private_bytes=decided.scratch_bytes)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of the sum, inside its loops: how many steps
    of the outermost index, and whether first and last.
    """

    count: Number
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class _Cursor:
    """The address of every access at the present values of the loops around."""

    at: dict[str, str]

    def moved(self, w: Writer, accesses: dict[str, Access], index: Index, by: Number) -> _Cursor:
        """The addresses after `index` went up by `by`."""
        return _Cursor(
            {
                name: w.address(pointer, w.mul(by, accesses[name].step(index)), accesses[name].dtype)
                for name, pointer in self.at.items()
            }
        )


class _Generator:
    """Writes one kernel."""

    def __init__(self, contraction: Contraction, plan: Plan) -> None:
        self._c, self._plan, self._w = contraction, plan, Writer()
        self._epilogue = Epilogue(contraction)
        self._accesses: dict[str, Access] = {_A: contraction.a, _B: contraction.b}
        for name, access in zip(self._epilogue.pointers, self._epilogue.accesses, strict=True):
            self._accesses[name] = access
        if plan.partial is not None:
            self._accesses[_SUMS] = plan.partial
        self._kernels: dict[tuple[int, PanelRun], str] = {}

    def code(self) -> Code:
        """The function."""
        w, names = self._w, {buffer: f"%p{n}" for n, buffer in enumerate(self._c.buffers)}
        start = {}
        for name, access in self._accesses.items():
            if access.buffer:
                start[name] = w.address(names[access.buffer], access.offset, access.dtype)
            else:
                start[name] = w.value(f"getelementptr i8, ptr %private, i64 {self._plan.sums_offset}")
        moving_b = [i for i in self._c.outer if self._c.b.step(i)]
        self._indices(moving_b, _Cursor(start), self._column_blocks)
        return w.finish([*(f"ptr {name}" for name in names.values()), *SCRATCH_PARAMETERS])

    def _move(self, cursor: _Cursor, index: Index, by: Number) -> _Cursor:
        return cursor.moved(self._w, self._accesses, index, by)

    def _indices(self, indices: list[Index], cursor: _Cursor, body: Callable[[_Cursor], None]) -> None:
        """Loops over `indices`."""
        if not indices:
            body(cursor)
            return
        index, *rest = indices
        self._w.each(0, index.extent, 1, lambda i: self._indices(rest, self._move(cursor, index, i), body))

    def _column_blocks(self, cursor: _Cursor) -> None:
        """Groups of panels; a group is one block, or panels of one kind that are many blocks."""
        lanes = self._c.lanes
        for group in self._plan.groups:
            here = self._move(cursor, lanes, group.panels[0].start)
            if not group.block:
                self._depth_blocks(here, group.panels, None)
                continue
            (panel,) = group.panels

            def block(
                first: Number, here: _Cursor = here, panel: PanelRun = panel, size: int = group.block
            ) -> None:
                count = self._w.minimum(size, self._w.add(panel.count, self._w.mul(first, -1)))
                moved = self._move(here, lanes, self._w.mul(first, panel.size))
                self._depth_blocks(moved, (panel,), count)

            self._w.each(0, panel.count, group.block, block)

    def _depth_blocks(self, cursor: _Cursor, panels: tuple[PanelRun, ...], count: Number | None) -> None:
        """Loops over the blocks of the sum."""
        w, blocks = self._w, self._plan.blocks
        if self._plan.partial is None:
            whole = self._c.k[0].extent if self._c.k else 1
            self._packed_b(cursor, panels, count, _Block(whole, "true", "true"))
            return

        def level(n: int, cursor: _Cursor, first: str, last: str) -> None:
            index = self._c.k[n]
            size = blocks.size if n == blocks.level else 1

            def body(k: Number) -> None:
                steps = w.minimum(size, w.add(index.extent, w.mul(k, -1))) if index.extent % size else size
                at_first = self._both(first, self._compare("eq", k, 0))
                at_last = self._both(last, self._compare("sge", w.add(k, size), index.extent))
                moved = self._move(cursor, index, k)
                if n < blocks.level:
                    level(n + 1, moved, at_first, at_last)
                else:
                    self._packed_b(moved, panels, count, _Block(steps, at_first, at_last))

            w.each(0, index.extent, size, body)

        level(0, cursor, "true", "true")

    def _compare(self, predicate: str, a: Number, b: int) -> str:
        if isinstance(a, int):
            return "true" if (a == b if predicate == "eq" else a >= b) else "false"
        return self._w.value(f"icmp {predicate} i64 {a}, {b}")

    def _both(self, a: str, b: str) -> str:
        return b if a == "true" else a if b == "true" else self._w.value(f"and i1 {a}, {b}")

    def _counts(self, block: _Block) -> tuple[Number, ...]:
        """The steps of the block along each of its indices."""
        inside = self._plan.block_indices
        return (block.count, *(i.extent for i in inside[1:])) if inside else ()

    def _packed_b(
        self, cursor: _Cursor, panels: tuple[PanelRun, ...], count: Number | None, block: _Block
    ) -> None:
        """Pack the block of b if that pays, and go through the rows."""
        w, p = self._w, self._plan
        if p.pack_b:
            start = "%private"
            for panel in panels:
                pack = pack_turned if p.turned else pack_panel

                def one(n: Number, panel: PanelRun = panel, pack: Callable[..., None] = pack) -> None:
                    column = w.add(w.mul(n, panel.size), panel.start - panels[0].start)
                    source = w.address(
                        cursor.at[_B], w.mul(column, self._c.b.step(self._c.lanes)), self._c.b.dtype
                    )
                    place = w.address(start, w.mul(column, p.block_depth), self._c.dtype)
                    pack(w, source, p.b_stream, panel.pieces, self._counts(block), place, self._c.dtype)

                w.each(0, panel.count if count is None else count, 1, one)
            cursor = replace(cursor, at=cursor.at | {_B: start})
        others = [i for i in self._c.outer if not self._c.b.step(i)]
        self._indices(others, cursor, lambda here: self._row_tiles(here, panels, count, block))

    def _row_tiles(
        self, cursor: _Cursor, panels: tuple[PanelRun, ...], count: Number | None, block: _Block
    ) -> None:
        """Tiles of rows."""
        for run in self._plan.tiling.rows:

            def tile(n: Number, run: Run = run) -> None:
                here = cursor
                if self._c.rows is not None:
                    here = self._move(cursor, self._c.rows, self._w.add(self._w.mul(n, run.size), run.start))
                if self._plan.pack_a:
                    here = self._packed_a(here, run, block)
                self._panels(here, run, panels, count, block)

            self._w.each(0, run.count, 1, tile)

    def _packed_a(self, cursor: _Cursor, run: Run, block: _Block) -> _Cursor:
        w, p = self._w, self._plan
        start = w.value(f"getelementptr i8, ptr %private, i64 {p.a_offset}")
        pack_tile(w, cursor.at[_A], p.a_stream, run.size, self._counts(block), start, p.a_row_pitch, p.lanes)
        return replace(cursor, at=cursor.at | {_A: start})

    def _panels(
        self, cursor: _Cursor, run: Run, panels: tuple[PanelRun, ...], count: Number | None, block: _Block
    ) -> None:
        """Panels of columns: call the micro-kernels."""
        w, p, lanes = self._w, self._plan, self._c.lanes
        for panel in panels:

            def call(n: Number, panel: PanelRun = panel) -> None:
                column = w.add(w.mul(n, panel.size), panel.start - panels[0].start)
                here = self._move(cursor, lanes, column).at
                if p.pack_b:
                    here[_B] = w.address(cursor.at[_B], w.mul(column, p.block_depth), self._c.dtype)
                arguments = [f"ptr {here[name]}" for name in (_A, _B, *self._epilogue.pointers)]
                if p.partial is not None:
                    arguments += [
                        f"ptr {here[_SUMS]}",
                        f"i64 {block.count}",
                        f"i1 {block.first}",
                        f"i1 {block.last}",
                    ]
                w.line(f"call void {self._kernel(run.size, panel)}({', '.join(arguments)})")

            w.each(0, panel.count if count is None else count, 1, call)

    def _kernel(self, rows: int, panel: PanelRun) -> str:
        """The symbol of the micro-kernel for a size of tile."""
        p, key = self._plan, (rows, replace(panel, start=0, count=0))
        if key not in self._kernels:
            partial = None
            if p.partial is not None:
                partial = Stream(self._c.dtype, p.partial.step(self._c.rows), 1, padded=not p.partial.buffer)
            tile = Tile(
                self._c.dtype, rows, panel.pieces, p.tile_a(rows), p.panel_b(panel), p.extents, partial,
                self._epilogue.pointers, p.along,
            )  # fmt: skip
            symbol, needs = micro_kernel(
                tile, self._epilogue.finish(tile), dot_sums if p.along else column_sums
            )
            for need in needs:
                self._w.need(need)
            self._kernels[key] = symbol
        return self._kernels[key]
