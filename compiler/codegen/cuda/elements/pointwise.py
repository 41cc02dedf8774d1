"""Stores of which each element is computed by itself: one function for any number of nests of loops.

The loops of a nest become one, over positions in the order of memory. A thread takes a whole vector of them,
16 bytes of the widest dtype: each operand is then read in one go where its elements lie side by side, or once
where they are the same, and what neighbours share, such as a block of random bits, is computed once. All that
follows from simplifying the positions `vector * 4 + 0`, `vector * 4 + 1` and so on. Large arrays have two
vectors for each thread, so that enough is on its way from memory.

Nests that leave each other's results alone become one function: each has a range of the blocks. Those that
read operands across their order in memory have functions of their own, see `transposed`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from staticgraph.compiler.codegen.cuda.elements.lanes import Lanes, replaced
from staticgraph.compiler.codegen.cuda.elements.transposed import transposed
from staticgraph.compiler.codegen.cuda.expr import CudaWriter, index_type
from staticgraph.compiler.codegen.cuda.function import FunctionCall, Parameter, call
from staticgraph.compiler.codegen.cuda.limits import THREADS, VECTOR_BYTES
from staticgraph.compiler.kernel.expr import Expr, Index, Load, free_indices, walk
from staticgraph.compiler.kernel.index import Affine, Range, offset, simplify_index
from staticgraph.compiler.kernel.lower_reductions import Nest
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.support.dataclass import dataclass

_MOST_LANES = 8
_MANY = 1 << 17  # vectors: more than a large card has threads
_FEW = 2  # operands
_MOST_BUFFERS = 480  # of one function: a card takes 4 KiB of arguments


def pointwise(nests: Sequence[Nest], buffers: Mapping[str, Buffer]) -> list[FunctionCall]:
    """Calls that do the nests, one after the other or several at once. There is no `Reduce` in them."""
    calls: list[FunctionCall] = []
    waiting: list[_Flat] = []
    for part in (part for nest in nests for part in _flattened(nest, buffers) if part.index.extent):
        if turned := transposed(part.nest, buffers):
            calls += [*_calls(waiting, buffers), turned]
            waiting = []
        else:
            waiting.append(part)
    return calls + _calls(waiting, buffers)


def _calls(parts: Sequence[_Flat], buffers: Mapping[str, Buffer]) -> list[FunctionCall]:
    return [_call(group, buffers) for group in _groups(parts, buffers)]


@dataclass(frozen=True, slots=True)
class _Flat:
    """Stores for each value of one index, which stands for all loops of `nest`."""

    index: Index
    stores: tuple[Store, ...]
    nest: Nest

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
        return 2 if self.vectors >= _MANY and len(self.reads) <= _FEW else 1

    @property
    def blocks(self) -> int:
        """Number of thread blocks of the part, at least one."""
        return max(1, -(-self.vectors // (self.vectors_of_a_thread * THREADS)))


def _flattened(nest: Nest, buffers: Mapping[str, Buffer]) -> list[_Flat]:
    """The stores of a nest, those together that are done for the same indices.

    What reads an element comes before what writes it.
    """
    together: dict[tuple[Index, ...], list[Store]] = {}
    for store in nest.stores:
        needed = frozenset[Index]().union(*(free_indices(a) for a in store.at))
        loops = tuple(i for i in nest.domain if i in needed and i.extent != 1)
        together.setdefault(loops, []).append(store)
    parts = [_flat(loops, tuple(stores), buffers) for loops, stores in together.items()]
    ordered: list[_Flat] = []
    while parts:
        ready = next(p for p in parts if not any(p.writes & q.reads for q in parts if q is not p))
        parts.remove(ready)
        ordered.append(ready)
    return ordered


def _flat(loops: tuple[Index, ...], stores: tuple[Store, ...], buffers: Mapping[str, Buffer]) -> _Flat:
    """One index for all loops; neighbouring values of it are neighbours in the first result."""
    first = offset(buffers[stores[0].buffer], stores[0].at)
    whole = Index("at", math.prod(i.extent for i in loops))
    table: dict[Expr, Expr] = {}
    stride = 1
    for index in sorted(loops, key=lambda i: abs(first.terms.get(i, 0))):
        table[index] = simplify_index(whole // stride % index.extent) if index.extent else index
        stride *= max(index.extent, 1)
    return _Flat(whole, tuple(replaced(s, table) for s in stores), Nest(loops, stores))


def _groups(parts: Sequence[_Flat], buffers: Mapping[str, Buffer]) -> list[list[_Flat]]:
    """Runs of parts that leave each other's results alone."""
    groups: list[list[_Flat]] = []
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


def _are_apart(one: _Flat, other: _Flat, buffers: Mapping[str, Buffer]) -> bool:
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


def _call(parts: list[_Flat], buffers: Mapping[str, Buffer]) -> FunctionCall:
    """One function for parts that leave each other's results alone."""
    writer, first = CudaWriter(buffers), 0
    for number, part in enumerate(parts):
        blocks = part.blocks
        head = "else" if number else ""
        if number < len(parts) - 1:
            head += f" if (blockIdx.x < {first + blocks})"
        with writer.block(head) if len(parts) > 1 else nullcontext():
            _write(writer, part, f"(blockIdx.x - {first})" if first else "blockIdx.x")
        first += blocks
    used = set[str]().union(*(p.uses for p in parts))
    written = set[str]().union(*(p.writes for p in parts))
    parameters = [Parameter(name, b.dtype, name in written) for name, b in buffers.items() if name in used]
    return call("pointwise", parameters, writer.text, (first, 1, 1), (THREADS, 1, 1))


def _write(writer: CudaWriter, part: _Flat, block: str) -> None:
    """Write the code of the blocks of a part; `block` is the number of the block, from 0 for the first."""
    vectors, lanes, each = part.vectors, part.lanes, part.vectors_of_a_thread
    kind = index_type(Index("thread", part.blocks * each * THREADS))
    writer.line(f"const {kind} vector = {kind}({block}) * {each * THREADS} + threadIdx.x;")
    near, far = Index("near", vectors), Index("far", vectors)
    if each == 2:
        with writer.block(f"if (vector + {THREADS} < {vectors})"):
            writer.bind_index(near, "vector")
            writer.line(f"const {kind} far = vector + {THREADS};")
            writer.bind_index(far, "far")
            _write_elements(writer, part, [near, far], lanes)
    if vectors:
        with writer.block(f"{'else ' if each == 2 else ''}if (vector < {vectors})"):
            writer.bind_index(near, "vector")
            _write_elements(writer, part, [near], lanes)
    if rest := part.index.extent % lanes:
        with writer.block(f"if ({block} == 0 && threadIdx.x < {rest})"):
            element = Index("element", rest)
            writer.line("const int element = threadIdx.x;")
            writer.bind_index(element, "element")
            _write_elements(writer, part, [element], 1, vectors * lanes)


def _write_elements(
    writer: CudaWriter, part: _Flat, vectors: Sequence[Index], lanes: int, start: int = 0
) -> None:
    """Write the work of a thread: the elements from `start + vector * lanes` on, for each of `vectors`.

    All loads come before all computations, and these before all stores.
    """
    mine: list[Lanes] = []
    for vector in vectors:
        places = [simplify_index(vector * lanes + (start + lane)) for lane in range(lanes)]
        mine.append(Lanes(writer, part.stores, [{part.index: place} for place in places]))
    for each in mine:
        each.load()
    lines = [line for each in mine for line in each.stored()]
    for line in lines:
        writer.line(line)
