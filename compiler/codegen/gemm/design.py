"""Decisions about a product before any of its code is written: its parts, each with a plan, in order.

usual                       pack operands; multiply
a long sum, few results     pack operands; multiply slices of the sum; add the slices
few columns                 turn b around; multiply along the sum
an open number of rows      for few of them one of these, for many another one
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from staticgraph.compiler.codegen.abi import Phase
from staticgraph.compiler.codegen.gemm.cache_lines import crossing_part
from staticgraph.compiler.codegen.gemm.choice import NO_CHOICE, Choice
from staticgraph.compiler.codegen.gemm.chunks import Grid
from staticgraph.compiler.codegen.gemm.epilogue import with_formulas
from staticgraph.compiler.codegen.gemm.micro_kernel import column_sums
from staticgraph.compiler.codegen.gemm.narrow_results import dot_sums, row_sums
from staticgraph.compiler.codegen.gemm.pack import packing_grid
from staticgraph.compiler.codegen.gemm.packed_operands import Packed
from staticgraph.compiler.codegen.gemm.plan import GemmPlan, adding_plan, plan
from staticgraph.compiler.codegen.gemm.register_tile import Tile
from staticgraph.compiler.codegen.gemm.split_k import (
    FEW_ROWS,
    Sliced,
    slice_sums,
    sliced,
    sliced_if_few,
    used_chunks,
)
from staticgraph.compiler.codegen.gemm.tiles import Along
from staticgraph.compiler.codegen.gemm.transpose import turned, turning_phase
from staticgraph.compiler.codegen.gemm.writer import GemmWriter
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel.contraction import Access, Contraction
from staticgraph.compiler.support.dataclass import dataclass

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.gemm.open_rows import Unpacked

Whole = Callable[[GemmWriter, Tile], list[str]]  # writes the finished sums of a tile
_WHOLE: dict[Along, Whole] = {Along.COLUMNS: column_sums, Along.ROWS: row_sums, Along.SUM: dot_sums}


@dataclass(frozen=True, slots=True)
class Packing:
    """An operand that is packed into shared memory before the sums begin, in as many chunks."""

    operand: Access
    packed: Packed
    grid: Grid


@dataclass(frozen=True, slots=True)
class Part:
    """Sums, of which `whole` writes those of a tile, and the packing before them: a phase each."""

    contraction: Contraction
    plan: GemmPlan
    whole: Whole
    packing: tuple[Packing, ...] = ()

    @property
    def chunks(self) -> list[AnySize]:
        """The number of chunks of each phase."""
        multiplied = used_chunks(self.contraction, self.plan.grid)
        return [*(packing.grid.chunks for packing in self.packing), multiplied]


@dataclass(frozen=True, slots=True)
class Design:
    """A product: a phase that comes first and is written already, and parts.

    With at most `few_rows` rows, if that is a number, it has the parts `few` instead.
    """

    contraction: Contraction
    first: Phase | None
    parts: tuple[Part, ...]
    shared_bytes: int
    private_bytes: int
    few: tuple[Part, ...] = ()
    few_rows: int | None = None


def design(contraction: Contraction, target: CpuTarget, choice: Choice = NO_CHOICE) -> Design:
    """Decide how a product is done, apart from what was chosen."""
    c = with_formulas(contraction, target)
    turn = turned(c, target)
    reserved, multiplied = (turn.shared_bytes, turn.contraction) if turn else (0, c)
    usual = plan(multiplied, target, reserved)
    decided = _decided(multiplied, target, reserved, choice, usual)
    if c.sizes:
        from staticgraph.compiler.codegen.gemm.open_rows import in_run  # for open sizes

        decided = replace(decided, grid=in_run(multiplied, decided.grid))
        c = replace(c, sizes=tuple(dict.fromkeys((*c.sizes, *decided.grid.open_parts))))
    first = turning_phase(c, target) if turn else None
    c = replace(multiplied, sizes=c.sizes)
    cut = sliced(c, usual, reserved)
    if cut is not None:
        return Design(c, first, *_slices(cut, target, choice))
    part = _part(c, decided)
    shared, private = decided.shared_bytes, decided.private_bytes
    few = sliced_if_few(c, usual, reserved)
    if few is not None and not part.packing:
        parts, more, own = _slices(few, target)
        return Design(c, first, (part,), max(shared, more), max(private, own), parts, FEW_ROWS)
    if c.open_outer and (unpacked := _unpacked_if_few(c, decided, target, reserved)) is not None:
        private = max(private, unpacked.plan.private_bytes)
        return Design(c, first, (part,), shared, private, (_part(c, unpacked.plan),), unpacked.rows)
    return Design(c, first, (part,), shared, private)


def _decided(c: Contraction, target: CpuTarget, reserved: int, choice: Choice, usual: GemmPlan) -> GemmPlan:
    """The plan of sums, or of slices of them: another one if that was chosen, or if vectors of b cross lines.

    How sums are cut into slices decides their bits. So it does not depend on where b lies.
    """
    crossing = 0.0 if usual.b or usual.along is not Along.COLUMNS else crossing_part(c, usual.lanes)
    if choice == NO_CHOICE and not crossing:
        return usual
    return plan(c, target, reserved, choice, crossing)


def _part(c: Contraction, p: GemmPlan) -> Part:
    packed = [Packing(x, y, packing_grid(c, x, y)) for x, y in ((c.a, p.a), (c.b, p.b)) if y and y.shared]
    return Part(c, p, _WHOLE[p.along], tuple(packed))


def _unpacked_if_few(c: Contraction, usual: GemmPlan, target: CpuTarget, reserved: int) -> Unpacked | None:
    from staticgraph.compiler.codegen.gemm.open_rows import unpacked_if_few  # for open sizes

    return unpacked_if_few(c, usual, target, reserved)


def _slices(cut: Sliced, target: CpuTarget, choice: Choice = NO_CHOICE) -> tuple[tuple[Part, ...], int, int]:
    """The parts that make the sums of slices and add them; the bytes of shared and of private memory."""
    usual = plan(cut.partial, target, cut.shared_bytes)
    decided = _decided(cut.partial, target, cut.shared_bytes, choice, usual)
    adding = Part(cut.rest, adding_plan(cut.rest, target, decided.shared_bytes), slice_sums)
    return (_part(cut.partial, decided), adding), decided.shared_bytes, decided.private_bytes
