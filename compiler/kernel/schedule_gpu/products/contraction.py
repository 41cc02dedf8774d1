"""Contractions on a GPU: by the library for matrix products, by tiles of our own, or directly."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.size_contexts import Undecided
from staticgraph.compiler.graph.sizes import MANY, Size, estimate, is_open
from staticgraph.compiler.kernel.contraction import Contraction, count
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.schedule_gpu.function import GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Axes, Axis, axes
from staticgraph.compiler.kernel.schedule_gpu.products.direct import DirectSchedule, SplitK, outputs_of
from staticgraph.compiler.kernel.schedule_gpu.products.library import library
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.kernel.schedule_gpu.products.results import (
    ProductSchedule,
    adding,
    in_scratch,
    into,
    operations,
)
from staticgraph.compiler.kernel.schedule_gpu.products.shape import Cut, choose
from staticgraph.compiler.kernel.schedule_gpu.products.tiles import TileSchedule
from staticgraph.compiler.kernel.schedule_gpu.target import WARP, GpuTarget
from staticgraph.compiler.machine import H200, GpuMachine

_PARTIAL = "partial"  # the name of scratch memory
_SHORTEST = 64  # products that a thread adds up, in a slice
_MOST_SLICES = 512  # of a sum
_THIN, _TINY = 4, 64  # rows or columns, results: fewer do not fill a tile
_COUNTED = 2**30  # rows, columns, or products of a sum, of which tiles count fewer


def by_library(product: Contraction, target: GpuTarget) -> GpuSchedule | None:
    """The schedule of a contraction by cuBLAS; None if that cannot do it, takes longer, or is not to."""
    return library(product, axes(product), outputs_of(product), target.precision) if target.cublas else None


def open_product(c: Contraction, target: GpuTarget) -> GpuSchedule:
    """The schedule of a contraction whose sizes are open. Undecided if it needs to know them."""
    strides = [s for x in (c.a, c.b, *c.targets, *c.loads.values()) for s in (x.offset, *x.steps.values())]
    edges = [n for x in c.limits for n in (x.offset, x.step, x.place_step, x.extent)]
    if is_open([*strides, *edges]):
        raise Undecided(f"the product of {c.a.buffer} and {c.b.buffer}")
    if found := by_library(c, target):
        return found
    if target.refused is not None and len(c.k) > 1:
        raise Undecided(f"a convolution of {c.a.buffer}")  # by a library that is asked for each size
    return own(c, target.precision, target.machine)


def own(
    product: Contraction, precision: Precision = Precision.FLOAT32, machine: GpuMachine = H200
) -> GpuSchedule:
    """The schedule of a contraction without the library."""
    along, outputs = axes(product), outputs_of(product)
    if has_tiles(product, along):
        return by_tiles(product, along, outputs, _cut(product, along, precision, machine))
    return directly(product, outputs, machine)


def has_tiles(c: Contraction, along: Axes) -> bool:
    """True if elements of both operands are reused so often that it pays to keep them in shared memory."""
    rows, columns = (estimate(axis.extent, MANY) for axis in (along.rows, along.columns))
    if c.lanes not in along.columns.indices or any(x.place in along.columns.indices for x in c.limits):
        return False
    fits = max(rows, columns, c.depth) < _COUNTED
    return fits and min(rows, columns) >= _THIN and rows * columns > _TINY


def by_tiles(c: Contraction, along: Axes, outputs: Axis, cut: Cut) -> GpuSchedule:
    """The schedule by tiles, cut in a certain way."""
    if cut.slices == 1:
        return GpuSchedule((TileSchedule(c, along, cut),))
    slices = Index("slices", cut.slices)
    every = Axis(outputs.name, (slices, *outputs.indices))
    return _sliced(c, outputs, every, lambda partial: TileSchedule(partial, along, cut, slices))


def _cut(c: Contraction, along: Axes, precision: Precision, machine: GpuMachine) -> Cut:
    exact = c.a.dtype.size == c.b.dtype.size == 2  # tensor cores take all bits of such numbers
    tensor = c.dtype is float32 and (exact or precision is not Precision.FLOAT32)
    rows, columns, times, depth = (
        estimate(axis.extent, MANY) for axis in (along.rows, along.columns, along.batch, along.sum)
    )
    found = choose(rows, columns, depth, times, c.dtype.size, operations(c), tensor, machine)
    if found.slices == 1 or not isinstance(along.sum.extent, Size):
        return found
    steps = -(-along.sum.extent // (found.slices * found.shape.depth))
    return replace(found, products=steps * found.shape.depth)


def directly(c: Contraction, outputs: Axis, machine: GpuMachine) -> GpuSchedule:
    """The schedule without tiles."""
    whole = DirectSchedule(c, outputs)
    slices = _slices(whole, machine)
    if not slices:
        return GpuSchedule((whole,))
    every = Axis(outputs.name, (*(s.number for s in slices), *outputs.indices))
    return _sliced(c, outputs, every, lambda partial: DirectSchedule(partial, every, tuple(slices)))


def _slices(whole: DirectSchedule, machine: GpuMachine) -> list[SplitK]:
    """Return the indices of the sum to cut into slices, the longest ones first."""
    c, together = whole.product, WARP if whole.shared else 1
    wanted = min(machine.busy_threads // whole.busy, c.depth // (_SHORTEST * together), _MOST_SLICES)
    found: list[SplitK] = []
    for index in sorted(c.k, key=lambda i: -count(i)):
        slices = min(wanted, count(index))
        if slices < 2:
            break
        length = -(-index.extent // slices)
        length = -(-length // 8) * 8 if together > 1 else length  # whole packs
        number = Index(
            f"slices{len(found)}", slices if isinstance(length, Size) else -(-index.extent // length)
        )
        found.append(SplitK(index, number, length))
        wanted //= number.extent
    return found


def _sliced(
    c: Contraction, outputs: Axis, every: Axis, first: Callable[[Contraction], ProductSchedule]
) -> GpuSchedule:
    """`first` gives the sums of slices, whose numbers come first in `every`; these are then added."""
    sums = in_scratch(_PARTIAL, c.dtype, every)
    slices = math.prod(i.extent for i in every.indices if i not in outputs.indices)
    last = adding(c, sums, outputs, slices)
    return GpuSchedule((first(into(c, sums)), last), ((_PARTIAL, every.extent * c.dtype.size),))
