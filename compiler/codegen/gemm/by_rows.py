"""Kernels that go one of two ways: products of an open number of rows are done otherwise if a run has few.

The border is fixed, so the bits of a run follow from its sizes alone.

    few rows                                     many rows
    slices of the sum, then the sum of those     whole sums: there are tiles enough for all threads
    the second operand as it lies in memory      packed: it is read again for each tile of rows
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce

from staticgraph.compiler.codegen.abi import Phase
from staticgraph.compiler.codegen.gemm.choice import Choice
from staticgraph.compiler.codegen.gemm.chunks import Grid, OpenPart, split
from staticgraph.compiler.codegen.gemm.loops import open_sizes, parameters
from staticgraph.compiler.codegen.gemm.packed_operands import reused_tiles
from staticgraph.compiler.codegen.gemm.plan import GemmPlan, plan
from staticgraph.compiler.codegen.gemm.writer import GemmWriter
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.sizes import AnySize, at_most
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.support.dataclass import dataclass

_LARGE = 4 << 20  # bytes of an operand: less is packed soon, beside what a second way costs LLVM
_FEW_PARTS = 8  # of an open dimension, which has few values


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The plan of runs that have at most `rows` rows: they read the second operand as it lies."""

    plan: GemmPlan
    rows: int


def unpacked_if_few(c: Contraction, usual: GemmPlan, target: CpuTarget, reserved: int) -> Unpacked | None:
    """The plan for few rows of a product that packs a large operand for many; None if there is none."""
    if not c.open_outer or c.open_sum or c.open_columns or c.outer_of_b:
        return None
    if usual.b is None or usual.b.shared is None:
        return None
    if c.b.step(c.lanes) != 1 or c.b.dtype is not c.dtype or c.size(c.b) * c.dtype.size < _LARGE:
        return None
    rows = (reused_tiles(c, usual.tiling) - 1) * usual.tiling.rows[0].size
    found = plan(c, target, reserved, Choice(pack_b=False))
    return Unpacked(replace(found, grid=_of_few(c, found.grid)), rows)


def _of_few(c: Contraction, grid: Grid) -> Grid:
    """The grid with its dimensions cut for few values of the open ones."""
    moving = len(c.outer_of_b) + 1
    dimensions = [*grid.dimensions[:moving]]
    for d in grid.dimensions[moving:]:
        if isinstance(d, OpenPart):
            dimensions.append(OpenPart(min(d.parts, _FEW_PARTS)))
        else:
            dimensions.append(split(d.count, 2) if d.parts == 1 and d.count > 1 else d)
    return Grid(tuple(dimensions))


def row_extents(c: Contraction) -> tuple[AnySize, ...]:
    """The extents whose product is the number of rows that go with each column of b."""
    return (*(i.extent for i in c.other_outer), *((c.rows.extent,) if c.rows else ()))


def by_rows(c: Contraction, most: int, few: Sequence[Phase], many: Sequence[Phase]) -> tuple[Phase, ...]:
    """Phases that do what `few` do in runs with at most `most` rows, else what `many` do."""
    extents = row_extents(c)
    is_many = at_most(math.prod(extents) // (most + 1), 1)
    operands = [(kind, name) for kind, name in map(str.split, parameters(c))]
    length, phases = max(len(few), len(many)), list[Phase]()
    pairs = zip(*((*[None] * (length - len(some)), *some) for some in (few, many)), strict=True)
    for one, other in pairs:
        w = GemmWriter(open_sizes(c))

        def does(phase: Phase | None, w: GemmWriter = w) -> None:
            if phase is not None:
                w.call_shared(phase.code, *operands)

        rows = reduce(w.mul, extents)
        w.either(w.value(f"icmp sle i64 {w.number(rows)}, {most}"), partial(does, one), partial(does, other))
        at_few, at_many = (1 if phase is None else phase.chunks for phase in (one, other))
        reads = None if one is not None or other is None else other.reads
        code = replace(w.finish(parameters(c)), plain=True)
        phases.append(Phase(code, at_few + (at_many - at_few) * is_many, reads))
    return tuple(phases)
