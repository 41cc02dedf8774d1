"""Schedule of products without tiles: a thread for a few results, or a warp for each.

For products whose operands are used once or a few times, such as those of a matrix and a vector or the
convolution of each channel with a filter of its own: memory is what takes the time. A warp shares a sum whose
elements are neighbours in memory; otherwise neighbouring threads have neighbouring results.
"""

from __future__ import annotations

from staticgraph.compiler.graph.sizes import MANY, AnySize, at_least, content, estimate
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.schedule_gpu.function import Grid
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Axis, in_packs, pack_width
from staticgraph.compiler.kernel.schedule_gpu.products.results import ProductSchedule
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS, VECTOR_BYTES, WARP
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SplitK:
    """A sum cut along `index`: slice `number` has `length` values of it, the last one those that are left."""

    index: Index
    number: Index
    length: AnySize


@dataclass(frozen=True, slots=True, eq=False)
class DirectSchedule(ProductSchedule):
    """One function; the numbers of `slices` are indices of `outputs`."""

    outputs: Axis
    slices: tuple[SplitK, ...] = ()

    kind = "direct"
    takes_sizes = True

    @property
    def about(self) -> str:
        """The results of a thread, or of a warp."""
        each = "a result for each warp" if self.shared else f"{self.width} results for each thread"
        return f"{each}, {self.outputs.extent} in all"

    @property
    def shared(self) -> bool:
        """True if the threads of a warp share a sum."""
        return shares_sums(self.product)

    @property
    def meets(self) -> bool:
        return self.shared

    @property
    def width(self) -> int:
        """Results of a thread."""
        return 1 if self.shared else pack(self.product, self.outputs.last)

    @property
    def step(self) -> int:
        """Products along the last index of a shared sum that a thread loads at once."""
        c = self.product
        cut = next((s.length for s in self.slices if s.index is c.k[-1]), 0) if c.k else 0
        step = pack(c, c.k[-1]) if self.shared else 1
        return 1 if content(cut) % step else step

    @property
    def per_block(self) -> int:
        """Results of a block."""
        return THREADS // WARP if self.shared else THREADS * self.width

    @property
    def grid(self) -> Grid:
        return at_least(-(-self.outputs.extent // self.per_block), 1), 1, 1

    @property
    def busy(self) -> int:
        """About how many threads have work."""
        outputs = estimate(self.outputs.extent, MANY)
        return outputs * WARP if self.shared else outputs // self.width


def outputs_of(c: Contraction) -> Axis:
    """All indices of the results as one count, neighbours in the first result next to each other."""
    target = c.targets[0]
    inside = [i for i in (*c.outer, c.rows, c.lanes) if i is not None]
    return Axis("z", tuple(sorted(inside, key=lambda i: -abs(target.step(i)))))


def shares_sums(c: Contraction) -> bool:
    """True if the threads of a warp share a sum.

    They do if, along the last index of the sum, the elements of at least one operand are contiguous and those
    of the other one are contiguous or the same. The index must also be long enough for a warp.
    """
    if not c.k or estimate(c.k[-1].extent) < WARP:
        return False
    steps = [x.step(c.k[-1]) for x in (c.a, c.b)]
    return sorted(steps) in ([0, 1], [1, 1])


def pack(c: Contraction, fastest: Index | None) -> int:
    """Number of elements along an index that a thread loads at once from each operand."""
    width = pack_width(fastest, VECTOR_BYTES // max(c.dtype.size, c.a.dtype.size, c.b.dtype.size))
    packed = all(in_packs(x, fastest, width, c.limits) or not x.step(fastest) for x in (c.a, c.b))
    return width if packed and not any(x.place is fastest for x in c.limits) else 1
