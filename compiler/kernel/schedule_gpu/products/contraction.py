"""Contractions on a GPU: by the library for matrix products, by tiles of our own, or directly."""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.schedule_gpu.function import GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.limits import WARP
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
from staticgraph.compiler.machine import H200, GpuMachine

_PARTIAL = "partial"  # the name of scratch memory
_SHORTEST = 64  # products that a thread adds up, in a slice
_MOST_SLICES = 512  # of a sum
_THIN, _TINY = 4, 64  # rows or columns, results: fewer do not fill a tile
_COUNTED = 2**30  # rows, columns, or products of a sum, of which tiles count fewer


def by_library(product: Contraction, precision: Precision = Precision.FLOAT32) -> GpuSchedule | None:
    """The schedule of a contraction by the library; None where that cannot do it, or would take longer."""
    return library(product, axes(product), outputs_of(product), precision)


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
    rows, columns = along.rows.extent, along.columns.extent
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
    rows, columns = along.rows.extent, along.columns.extent
    times, size = along.batch.extent, c.dtype.size
    return choose(rows, columns, c.depth, times, size, operations(c), tensor, machine)


def directly(c: Contraction, outputs: Axis, machine: GpuMachine = H200) -> GpuSchedule:
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
    for index in sorted(c.k, key=lambda i: -i.extent):
        if min(wanted, index.extent) < 2:
            break
        length = -(-index.extent // min(wanted, index.extent))
        length = -(-length // 8) * 8 if together > 1 else length  # whole packs
        number = Index(f"slices{len(found)}", -(-index.extent // length))
        found.append(SplitK(index, number, length))
        wanted //= number.extent
    return found


def _sliced(
    c: Contraction, outputs: Axis, every: Axis, first: Callable[[Contraction], ProductSchedule]
) -> GpuSchedule:
    """`first` gives the sums of slices, whose numbers come first in `every`; these are then added."""
    sums = in_scratch(_PARTIAL, c.dtype, every)
    last = adding(c, sums, outputs, every.extent // outputs.extent)
    return GpuSchedule((first(into(c, sums)), last), ((_PARTIAL, every.extent * c.dtype.size),))
