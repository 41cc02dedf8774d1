"""Schedules of what follows the sums of a contraction: add slices in order, compute the results.

Long sums with few results, such as gradients of weights, are cut into slices, so that there is work for the
whole GPU. The sums of the slices wait in scratch memory.
"""

from __future__ import annotations

import math
from dataclasses import replace

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import at_least
from staticgraph.compiler.kernel.contraction import Access, Contraction
from staticgraph.compiler.kernel.cost import operation_cost
from staticgraph.compiler.kernel.expr import Scalar, walk
from staticgraph.compiler.kernel.schedule_gpu.function import FunctionSchedule, Grid
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Axis, pack_width
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS, VECTOR_BYTES, WARP
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.support.dataclass import dataclass

_MANY = 32  # slices that one thread does not add by itself


@dataclass(frozen=True, slots=True, eq=False)
class ProductSchedule(FunctionSchedule):
    """One function that makes results of a contraction."""

    product: Contraction

    @property
    def operands(self) -> tuple[Access, ...]:
        """The arrays that it reads besides those of the epilogue."""
        return self.product.a, self.product.b

    @property
    def uses(self) -> set[str]:
        """The buffers that it reads or writes."""
        c = self.product
        return {x.buffer for x in (*self.operands, *c.loads.values(), *c.targets)}


@dataclass(frozen=True, slots=True, eq=False)
class ResultSchedule(ProductSchedule):
    """Results that need no product, by threads that make a pack of them each.

    With `sums`, each result is the sum of so many `slices` there. A warp adds up many of them.
    """

    outputs: Axis
    sums: Access | None = None
    slices: int = 0

    takes_sizes = True

    @property
    def kind(self) -> str:
        return "after_product" if self.sums is None else "add_slices"

    @property
    def about(self) -> str:
        """The packs, and the slices."""
        added = f", each of {self.slices} slices" if self.sums is not None else ""
        return f"{self.outputs.extent // self.width} packs of {self.width}{added}"

    @property
    def operands(self) -> tuple[Access, ...]:
        return () if self.sums is None else (self.sums,)

    @property
    def by_warp(self) -> bool:
        """True if a warp adds up the slices of one result."""
        return self.slices > _MANY

    @property
    def meets(self) -> bool:
        return self.by_warp

    @property
    def width(self) -> int:
        """Results of a pack."""
        if self.by_warp:
            return 1
        c = self.product
        dtypes = [x.dtype for x in (*c.targets, *c.loads.values())] if self.sums is None else [c.dtype]
        return pack_width(self.outputs.last, VECTOR_BYTES // max(dtype.size for dtype in dtypes))

    @property
    def per_block(self) -> int:
        """Results of a block."""
        return THREADS // WARP if self.by_warp else THREADS * self.width

    @property
    def grid(self) -> Grid:
        return at_least(-(-self.outputs.extent // self.per_block), 1), 1, 1


def in_scratch(name: str, dtype: DType, outputs: Axis) -> Access:
    """Return an access to the results in scratch memory of their own, contiguous and in order."""
    steps, step = {}, 1
    for index in reversed(outputs.indices):
        steps[index] = step
        step *= index.extent
    return Access(name, dtype, 0, steps)


def into(c: Contraction, target: Access) -> Contraction:
    """The contraction whose only results are the sums, in scratch memory."""
    size = math.prod(i.extent for i in target.steps)
    buffers = {**c.buffers, target.buffer: Buffer(c.dtype, (size,), written=True)}
    return replace(c, stores=(Store(target.buffer, (), c.acc),), targets=(target,), loads={}, buffers=buffers)


def adding(c: Contraction, sums: Access, outputs: Axis, slices: int) -> ResultSchedule:
    """The function that adds the slices of each sum, of which there are so many, and computes the results."""
    return ResultSchedule(replace(c, buffers=into(c, sums).buffers), outputs, sums, slices)


def operations(c: Contraction) -> float:
    """About how many instructions the epilogue of one result is."""
    return sum(operation_cost(e.op) for e in walk(*(s.value for s in c.stores)) if isinstance(e, Scalar))
