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

from staticgraph.compiler.kernel.affine import Affine, Range
from staticgraph.compiler.kernel.expr import Expr, Index, Load, free_indices, walk
from staticgraph.compiler.kernel.index import offset, simplify_index
from staticgraph.compiler.kernel.lower_reductions import Nest
from staticgraph.compiler.kernel.schedule_gpu.elements.transpose import TransposeSchedule, transpose
from staticgraph.compiler.kernel.schedule_gpu.function import Extents, FunctionSchedule
from staticgraph.compiler.kernel.schedule_gpu.limits import ARGUMENT_BYTES, THREADS, VECTOR_BYTES
from staticgraph.compiler.kernel.schedule_gpu.strides import replaced
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
    def vectors(self) -> int:
        """Number of whole vectors; the elements that do not fill another one are left over."""
        return self.index.extent // self.lanes

    @property
    def vectors_of_a_thread(self) -> int:
        """Two where a thread would wait for too few loads at a time to keep memory busy."""
        return 2 if self.vectors >= self.busy and len(self.reads) <= _FEW else 1

    @property
    def blocks(self) -> int:
        """Number of thread blocks of the part, at least one."""
        return max(1, -(-self.vectors // (self.vectors_of_a_thread * THREADS)))


def _flattened(nest: Nest, buffers: Mapping[str, Buffer], busy: int) -> list[PointwisePart]:
    """The stores of a nest, those together that are done for the same indices.

    What reads an element comes before what writes it.
    """
    together: dict[tuple[Index, ...], list[Store]] = {}
    for store in nest.stores:
        needed = frozenset[Index]().union(*(free_indices(a) for a in store.at))
        loops = tuple(i for i in nest.domain if i in needed and i.extent != 1)
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
    whole = Index("at", math.prod(i.extent for i in loops))
    table: dict[Expr, Expr] = {}
    stride = 1
    for index in sorted(loops, key=lambda i: abs(first.terms.get(i, 0))):
        table[index] = simplify_index(whole // stride % index.extent) if index.extent else index
        stride *= max(index.extent, 1)
    return PointwisePart(whole, tuple(replaced(s, table) for s in stores), Nest(loops, stores), busy)


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
    periods = {abs(f) for f in (*a.terms.values(), *b.terms.values())} | {buffer.size}
    return any(_lie_apart(_within(a, period), _within(b, period), period) for period in periods)


def _within(form: Affine, period: int) -> Range:
    """Return the range of a position relative to the start of its period.

    The first period begins at 0. The range passes the end of the period if the position can cross that end.
    """
    rest = Affine({t: f for t, f in form.terms.items() if f % period}, form.constant % period)
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
    meets = False

    @property
    def about(self) -> str:
        """The vectors of each part."""
        return "; ".join(f"{p.vectors_of_a_thread} of {p.vectors} vectors of {p.lanes}" for p in self.parts)

    @property
    def ranges(self) -> list[tuple[PointwisePart, int]]:
        """The parts, each with the number of its first block."""
        starts = [sum(p.blocks for p in self.parts[:n]) for n in range(len(self.parts))]
        return list(zip(self.parts, starts, strict=True))

    @property
    def grid(self) -> Extents:
        return sum(p.blocks for p in self.parts), 1, 1

    @property
    def uses(self) -> set[str]:
        """The buffers that it reads or writes."""
        return set[str]().union(*(p.uses for p in self.parts))


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
    for part in (part for part in parts if part.index.extent):
        if tiles := transpose(part.nest, buffers):
            close()
            made.append(tiles)
        else:
            waiting.append(part)
    close()
    return made
