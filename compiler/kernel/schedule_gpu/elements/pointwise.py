"""Schedule of stores of which each element is computed by itself: loops, vectors, threads and blocks.

The loops of a nest become one, over positions in the order of memory. A thread takes a whole vector of them,
16 bytes of the widest dtype. Large arrays have two vectors for each thread, so that enough is on its way from
memory.

Nests that leave each other's results alone become one function: each has a range of the blocks. Those that
read operands across their order in memory have functions of their own, see `turned`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.sizes import MANY, AnySize, Size, at_least, content, estimate, same
from staticgraph.compiler.kernel.expr import Expr, Index, Load, free_indices, number, walk
from staticgraph.compiler.kernel.indices.affine import Affine, Range
from staticgraph.compiler.kernel.indices.index import offset, simplify_index
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_gpu.elements.transpose import TransposeSchedule, transpose
from staticgraph.compiler.kernel.schedule_gpu.function import FunctionSchedule, Grid
from staticgraph.compiler.kernel.schedule_gpu.strides import counting, replaced
from staticgraph.compiler.kernel.schedule_gpu.target import ARGUMENT_BYTES, THREADS, VECTOR_BYTES
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.machine import GpuMachine
from staticgraph.compiler.support.dataclass import dataclass

_MOST_LANES = 8  # elements of a vector
_FEW = 2  # operands
_MOST_BUFFERS = ARGUMENT_BYTES // 8 - 32  # of one function: pointers, and some room for more


@dataclass(frozen=True, slots=True)
class PointwisePart:
    """Stores for each value of one index, which stands for all loops of `nest`."""

    index: Index
    count: AnySize  # values of the index
    stores: tuple[Store, ...]
    nest: Nest
    busy: int  # vectors that keep the GPU busy, at one for each thread

    @property
    def writes(self) -> set[str]:
        return {s.buffer for s in self.stores}

    @property
    def reads(self) -> set[str]:
        return {e.buffer for e in walk(*(s.value for s in self.stores)) if isinstance(e, Load)}

    @property
    def uses(self) -> set[str]:
        """The buffers that it reads or writes."""
        return self.reads | self.writes

    @property
    def lanes(self) -> int:
        """Number of elements in a vector."""
        elements = [e for e in walk(*(s.value for s in self.stores)) if isinstance(e, Load)]
        widths = [e.dtype.size for e in elements if self.index in free_indices(e)]
        widths += [s.value.dtype.size for s in self.stores]
        return min(VECTOR_BYTES // max(widths), _MOST_LANES)

    @property
    def vectors(self) -> AnySize:
        """Number of whole vectors; the elements that do not fill another one are left over."""
        return self.count // self.lanes

    @property
    def rest(self) -> AnySize:
        """Number of elements that are left over."""
        return self.count % self.lanes

    @property
    def vectors_of_a_thread(self) -> int:
        """Two where a thread would wait for too few loads at a time to keep memory busy."""
        return 2 if estimate(self.vectors, MANY) >= self.busy and len(self.reads) <= _FEW else 1

    @property
    def blocks(self) -> AnySize:
        """Number of thread blocks of the part, at least one."""
        return at_least(-(-self.vectors // (self.vectors_of_a_thread * THREADS)), 1)


def _flattened(nest: Nest, buffers: Mapping[str, Buffer], busy: int) -> list[PointwisePart]:
    """The stores of a nest, those together that are done for the same indices.

    What reads an element comes before what writes it.
    """
    together: dict[tuple[Index, ...], list[Store]] = {}
    for store in nest.stores:
        needed = frozenset[Index]().union(*(free_indices(a) for a in store.at))
        loops = tuple(i for i in nest.domain if i in needed and not same(i.extent, 1))
        together.setdefault(loops, []).append(store)
    parts = [_flat(loops, tuple(stores), buffers, busy) for loops, stores in together.items()]
    ordered: list[PointwisePart] = []
    while parts:
        ready = next(p for p in parts if not any(p.writes & q.reads for q in parts if q is not p))
        parts.remove(ready)
        ordered.append(ready)
    return ordered


def _flat(
    loops: tuple[Index, ...], stores: tuple[Store, ...], buffers: Mapping[str, Buffer], busy: int
) -> PointwisePart:
    """One index for all loops; neighbouring values of it are neighbours in the first result."""
    first = offset(buffers[stores[0].buffer], stores[0].at)
    count = math.prod(i.extent for i in loops)
    whole = counting("at", count)
    table: dict[Expr, Expr] = {}
    stride: AnySize = 1
    for index in sorted(loops, key=lambda i: abs(estimate(first.terms.get(i, 0)))):
        table[index] = _place(whole // number(stride, int64), index, same(stride * index.extent, count))
        stride *= index.extent if isinstance(index.extent, Size) else max(index.extent, 1)
    return PointwisePart(whole, count, tuple(replaced(s, table) for s in stores), Nest(loops, stores), busy)


def _place(place: Expr, index: Index, slowest: bool) -> Expr:
    """The value of an index, given its position and those of slower ones. No iteration divides by 0."""
    if isinstance(index.extent, int) and not index.extent:
        return index
    of_slower = slowest and isinstance(index.extent, Size)
    return simplify_index(place if of_slower else place % number(index.extent, int64))


def _groups(parts: Sequence[PointwisePart], buffers: Mapping[str, Buffer]) -> list[list[PointwisePart]]:
    """Runs of parts that leave each other's results alone."""
    groups: list[list[PointwisePart]] = []
    for part in parts:
        last = groups[-1] if groups else []
        used = set[str]().union(*(p.uses for p in last))
        if (
            last
            and all(_are_apart(part, other, buffers) for other in last)
            and len(used | part.uses) <= _MOST_BUFFERS
        ):
            last.append(part)
        else:
            groups.append([part])
    return groups


def _are_apart(one: PointwisePart, other: PointwisePart, buffers: Mapping[str, Buffer]) -> bool:
    """True if neither of two parts writes an element that the other one reads or writes."""
    if one.writes & other.reads or other.writes & one.reads:
        return False
    pairs = ((a, b) for a in one.stores for b in other.stores if a.buffer == b.buffer)
    return all(_never_meet(buffers[a.buffer], a.at, b.at) for a, b in pairs)


def _never_meet(buffer: Buffer, one: tuple[Expr, ...], other: tuple[Expr, ...]) -> bool:
    """True if two positions always differ, since they lie in different parts of some period of memory."""
    a, b = offset(buffer, one), offset(buffer, other)
    strides = (*a.terms.values(), *b.terms.values(), buffer.size)
    periods = {abs(n) for n in strides if isinstance(n, int)}
    return any(_lie_apart(_within(a, period), _within(b, period), period) for period in periods)


def _within(form: Affine, period: int) -> Range:
    """Return the range of a position relative to the start of its period.

    The first period begins at 0. The range passes the end of the period if the position can cross that end.
    """
    rest = Affine({t: f for t, f in form.terms.items() if content(f) % period}, form.constant % period)
    return rest.range


def _lie_apart(one: Range, other: Range, period: int) -> bool:
    low, high = sorted((one, other))
    return low[0] >= 0 and low[1] < high[0] and high[1] < period


@dataclass(frozen=True, slots=True, eq=False)
class PointwiseSchedule(FunctionSchedule):
    """One function: its parts leave each other's results alone, and each has a range of the blocks."""

    parts: tuple[PointwisePart, ...]
    buffers: Mapping[str, Buffer]

    kind = "pointwise"
    takes_sizes = True
    meets = False

    @property
    def about(self) -> str:
        """The vectors of each part."""
        return "; ".join(f"{p.vectors_of_a_thread} of {p.vectors} vectors of {p.lanes}" for p in self.parts)

    @property
    def ranges(self) -> list[tuple[PointwisePart, AnySize]]:
        """The parts, each with the number of its first block."""
        starts = [_blocks(self.parts[:n]) for n in range(len(self.parts))]
        return list(zip(self.parts, starts, strict=True))

    @property
    def grid(self) -> Grid:
        return _blocks(self.parts), 1, 1

    @property
    def uses(self) -> set[str]:
        """The buffers that it reads or writes."""
        return set[str]().union(*(p.uses for p in self.parts))


def _blocks(parts: Sequence[PointwisePart]) -> AnySize:
    total: AnySize = 0
    for part in parts:
        total = total + part.blocks
    return total


Elements = list[PointwiseSchedule | TransposeSchedule]


def pointwise(nests: Sequence[Nest], buffers: Mapping[str, Buffer], machine: GpuMachine) -> Elements:
    """Functions that do the nests, in order. There is no `Reduce` in them."""
    made: Elements = []
    waiting: list[PointwisePart] = []

    def close() -> None:
        made.extend(PointwiseSchedule(tuple(group), buffers) for group in _groups(waiting, buffers))
        waiting.clear()

    busy = 1 << (machine.busy_threads.bit_length() - 1)  # a power of two, as sizes of arrays often are
    parts = (part for nest in nests for part in _flattened(nest, buffers, busy))
    for part in (part for part in parts if not same(part.count, 0)):
        if tiles := None if isinstance(part.count, Size) else transpose(part.nest, buffers):
            close()
            made.append(tiles)
        else:
            waiting.append(part)
    close()
    return made
