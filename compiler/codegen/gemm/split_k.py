"""Long sums with few results, such as gradients of weights: cut into slices, whose sums are added in order.

Where the tiles of the result are too few to share out, the sum is cut along one of its indices. The slices
are an outer index of a contraction of its own, whose results lie in shared memory;
what remains is to add those and to compute the epilogue. An open index has fewer slices if it is short.

If the number of rows is open, there is scratch memory for the slices of few of them. Runs with more rows have
tiles enough: they add up whole sums (`open_rows.py`).
"""

from __future__ import annotations

import math
from dataclasses import replace

from staticgraph.compiler.codegen.gemm.chunks import (
    ChunkPart,
    Grid,
    OpenPart,
    chunks_wanted,
    nanoseconds,
    open_chunks,
)
from staticgraph.compiler.codegen.gemm.micro_kernel import read_lanes, unless_empty
from staticgraph.compiler.codegen.gemm.packed_operands import Scratch
from staticgraph.compiler.codegen.gemm.plan import GemmPlan
from staticgraph.compiler.codegen.gemm.register_tile import Tile, steps
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.graph.sizes import NOMINAL, AnySize, at_least, at_most, several
from staticgraph.compiler.kernel.contraction import Access, Contraction, Slices, closed
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.stmt import Store
from staticgraph.compiler.support.dataclass import dataclass

_SHALLOW = 240  # products: shorter slices cost more to add than they gain
_MUCH = 2  # times as many elements read
_HEAVY = 8  # times as many elements of b as results
_EVEN = 16  # slices that share out evenly among a few threads
FEW_ROWS = 2 * NOMINAL  # of an open number: there are few tiles of them


@dataclass(frozen=True, slots=True)
class Sliced:
    """The sums of the slices, and the sum of those, which has them as operand a."""

    partial: Contraction
    rest: Contraction
    shared_bytes: int


def sliced(c: Contraction, plan: GemmPlan, reserved: int) -> Sliced | None:
    """`c` with its sum cut into slices, if that gives enough chunks where the tiles do not.

    Or if that reads much less: chunks of the result each read one operand from end to end, those of the sum
    read their own part of both. Weights then stay in the cache of the core that updates them, as the rows of
    their gradient are shared out in the same order. Not where panels of the second operand are asked for
    ahead of time: each is read once then, and nothing is left to add. The first `reserved` bytes of shared
    memory are taken.
    """
    if plan.turns:
        return None
    if c.open is not None:
        one = c.open_sum and not (c.several_open or c.open_outer or c.open_columns)
        return _open_slices(c, plan, reserved) if one else None
    return _closed_slices(c, plan, plan.grid.chunks, reserved)


def sliced_if_few(c: Contraction, plan: GemmPlan, reserved: int) -> Sliced | None:
    """`c` with its sum cut into slices, for at most `FEW_ROWS` of an open number of rows.

    None if it does not pay for as many rows as estimates are made for.
    """
    if plan.turns or c.limits or c.open_sum or c.open_columns or c.rows is None or c.open_outer != (c.rows,):
        return None
    if c.row_count > FEW_ROWS:
        return None
    parts = [
        min(d.parts, plan.tiling.tile_count) if isinstance(d, OpenPart) else d.parts
        for d in plan.grid.dimensions
    ]
    return _closed_slices(c, plan, math.prod(parts), reserved, FEW_ROWS)


def _closed_slices(
    c: Contraction, plan: GemmPlan, chunks: int, reserved: int, rows: int | None = None
) -> Sliced | None:
    """`c` with a closed index of its sum cut into slices, if that pays.

    There are `chunks` without, and at most `rows` if their number is open.
    """
    wanted = chunks_wanted(nanoseconds(c))
    least = -(-wanted // chunks)
    if least <= 2:
        least = _EVEN if _reads_less(c, plan) else 1
    found = _cut(c, least) if least > 1 else None
    if found is None:
        return None
    index, count = found
    slices = Index("slices", count)
    step = closed(index) // count
    inside = Index(index.name, step)

    def within(x: Access) -> Access:
        steps = {i: s for i, s in x.steps.items() if i is not index}
        if index in x.steps:
            steps |= {slices: x.steps[index] * step, inside: x.steps[index]}
        return replace(x, steps={i: s for i, s in steps.items() if several(i.extent)})

    columns = -(-c.column_count // plan.lanes) * plan.lanes
    scratch = Scratch(reserved)
    sums = scratch.results(c, (slices, *c.outer), columns, rows)
    k = tuple(inside if i is index else i for i in c.k)
    a, b = within(c.a), within(c.b)
    outer = tuple(sorted((slices, *c.outer), key=lambda i: not b.step(i)))
    sliced_sums = replace(
        c,
        a=a,
        b=b,
        outer=outer,
        k=tuple(i for i in k if several(i.extent)),
        stores=(Store("", (), c.acc),),
        targets=(sums,),
        loads={},
    )
    rest = replace(c, a=sums, b=sums, k=(slices,), limits=())
    return Sliced(sliced_sums, rest, scratch.shared)


def _reads_less(c: Contraction, plan: GemmPlan) -> bool:
    """True if chunks of a long sum read much less than those of the result."""
    results = math.prod(map(closed, c.outer)) * c.row_count * c.column_count
    once = c.size(c.a) + c.size(c.b) + 2 * _EVEN * results
    pays = c.depth >= _EVEN * _SHALLOW or c.size(c.b) >= _HEAVY * results
    return plan.read > _MUCH * once and pays


def _open_slices(c: Contraction, plan: GemmPlan, reserved: int) -> Sliced | None:
    """`c` with the open index of its sum cut into slices, if the tiles do not give enough chunks."""
    least = -(-open_chunks(c) // plan.grid.chunks)
    if _reads_less(c, plan):
        least = _EVEN
    if least <= 2:
        return None
    index = Index("slices", min(least, _EVEN))
    columns = -(-c.column_count // plan.lanes) * plan.lanes
    scratch = Scratch(reserved)
    sums = scratch.results(c, (index, *c.outer), columns)
    inner = math.prod(map(closed, c.k[1:]))
    slices = Slices(index, -(-_SHALLOW // inner), 1 if len(c.k) > 1 else 4)
    sliced_sums = replace(
        c, outer=(index, *c.outer), stores=(Store("", (), c.acc),), targets=(sums,), loads={}, slices=slices
    )
    rest = replace(c, a=sums, b=sums, k=(index,), limits=(), slices=slices)
    return Sliced(sliced_sums, rest, scratch.shared)


def used_chunks(c: Contraction, grid: Grid) -> AnySize:
    """The number of chunks. Slices that a short sum does not have come last, and have none.

    So no thread claims chunks without work while another one has all that have some.
    """
    if c.slices is None or not c.outer or c.outer[0] is not c.slices.index:
        return grid.chunks
    slices, least = grid.dimensions[0], c.slices.least
    assert c.open is not None and isinstance(slices, ChunkPart)
    used = at_least(at_most((c.open.extent + (least - 1)) // least, closed(c.slices.index)), 1)
    return (used + (slices.size - 1)) // slices.size * (grid.chunks // slices.parts)


def _cut(c: Contraction, least: int) -> tuple[Index, int] | None:
    """The index to cut and the number of slices: `least` or somewhat more, or as many as there can be."""
    most = min(4 * least, c.depth // _SHALLOW)
    free = [i for i in c.k if not any(i is x.k for x in c.limits)]
    fitting = [(i, n) for i in free for n in range(2, most + 1) if closed(i) % n == 0]
    enough = [(i, n) for i, n in fitting if n >= least]
    if enough:
        return min(enough, key=lambda cut: cut[1])
    return max(fitting, key=lambda cut: cut[1], default=None)


def slice_sums(w: GemmWriter, tile: Tile) -> list[str]:
    """The finished sums of a tile, whose operand a are the sums of slices."""

    def read(at: str) -> list[str]:
        return [
            read_lanes(
                w,
                w.address(at, w.add(w.mul(i, tile.a.row), tile.pieces[j].start), tile.dtype),
                tile.a,
                tile.pieces[j],
            )
            for i, j in tile.places
        ]

    (known,), (step,) = tile.extents, tile.a.k
    count = steps(0) if known is None else known

    def add(n: Number, sums: list[str]) -> list[str]:
        following = read(w.address("%a", w.mul(n, step), tile.dtype))
        return [
            w.value(f"fadd {kind} {x}, {y}") for kind, x, y in zip(tile.kinds, sums, following, strict=True)
        ]

    first = read("%a")

    def rest(held: list[str]) -> list[str]:
        return w.repeat(1, count, 1, add, list(zip(tile.kinds, held, strict=True)))

    return rest(first) if known is not None else unless_empty(w, tile.kinds, 1, count, first, rest)
