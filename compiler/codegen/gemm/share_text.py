"""Products that are done alike and differ in numbers alone, written as one text.

    576 columns of 96 products    as 12 panels in 3 chunks     ->  one function, which is called with
    384 columns of 64 products    as 8 panels in 2 chunks          (12, 3, 96, 576) and (8, 2, 64, 384)

Each product is designed for itself: its tiles, blocks and chunks are what they would be without the others.
If the designs have the same form, they are joined to one in which the numbers that differ are `Several`, and
the code is written once. The order in which products are added is that of each design, so the bits are the
same.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from staticgraph.compiler.codegen.abi import KernelCode, Phase
from staticgraph.compiler.codegen.gemm.chunks import OpenPart
from staticgraph.compiler.codegen.gemm.design import Design, Part, design
from staticgraph.compiler.codegen.gemm.epilogue import DEEP
from staticgraph.compiler.codegen.gemm.gemm import Function, emit_design, functions, kernel_code
from staticgraph.compiler.codegen.gemm.micro_kernel import FAR
from staticgraph.compiler.codegen.gemm.several import Apart, common, one_of
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import Size, Undecided, same_shape
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.expr import Extent, Index, walk
from staticgraph.compiler.machine import CPU

# A row of a whose stride is a parameter takes a register of the processor, of which there are few.
_ROWS = 8


def emit_together(contractions: Sequence[Contraction], target: CpuTarget) -> Iterator[tuple[int, KernelCode]]:
    """Yield number and code of each product, as soon as it is there, unless it asks for an open size."""
    designs: dict[int, Design] = {}
    forms: dict[Hashable, list[int]] = {}
    for n, contraction in enumerate(contractions):
        with contextlib.suppress(Undecided):
            designs[n] = decided = design(contraction, target)
            alike = decided.first is None and decided.few_rows is None
            forms.setdefault(tuple(map(_form, decided.parts)) if alike else n, []).append(n)
    waiting = [*forms.values()]
    while waiting:
        members = waiting.pop()
        try:
            codes = _written([designs[n] for n in members], [contractions[n] for n in members])
        except Apart as apart:
            waiting += _divided(members, apart)
        except Undecided:
            continue
        else:
            yield from zip(members, codes, strict=True)


def _divided(members: Sequence[int], apart: Apart) -> list[list[int]]:
    """Divide products into those that may have one text."""
    ways: dict[Hashable, list[int]] = {}
    for n, way in zip(members, apart.ways or members, strict=True):
        ways.setdefault(way, []).append(n)
    return [*ways.values()]


def _written(designs: Sequence[Design], contractions: Sequence[Contraction]) -> list[KernelCode]:
    """The code of products whose designs have one form."""
    if len(designs) == 1:
        return [emit_design(contractions[0], designs[0])]
    shared: list[Function] = []
    for parts in zip(*(decided.parts for decided in designs), strict=True):
        shared += functions(_Join(len(parts)).part(parts))
    codes = []
    for n, (decided, contraction) in enumerate(zip(designs, contractions, strict=True)):
        chunks = [count for part in decided.parts for count in part.chunks]
        phases = tuple(
            Phase(f.code, count, f.reads, numbers=tuple(one_of(number, n) for number in f.numbers))
            for f, count in zip(shared, chunks, strict=True)
        )
        codes.append(kernel_code(contraction, decided, phases))
    return codes


def _form(part: Part) -> Hashable:
    """Return what decides the text of a part, numbers apart: designs that differ in it are not joined."""
    c, p = part.contraction, part.plan
    rows, row_step = [run.size for run in p.tiling.rows], p.tile_a.row
    accesses = (c.a, c.b, *c.targets, *c.loads.values())
    indices = (c.lanes, *((c.rows,) if c.rows else ()), *c.outer, *c.k)
    step = p.panel_b.k[-1] if p.panel_b.k else 0
    grids = (p.grid, *(packing.grid for packing in part.packing))
    far = isinstance(step, int) and step * c.b.dtype.size >= FAR
    strided = isinstance(row_step, int) and row_step > 1 and max(rows) > _ROWS
    later = tuple(c.size(x) * x.dtype.size >= CPU.near_bytes for x in c.loads.values())  # is prefetched
    limited = any(x.place is c.rows for x in c.limits)
    return (
        # how the sums are done
        part.whole, p.along, tuple(rows), tuple(run.pieces for run in p.tiling.panels),
        bool(c.loads) and c.depth >= DEEP,
        p.blocks.level, tuple(x is None for x in p.extents), p.partial is None,
        # what is packed, and when
        tuple(x and (x.shared is None, x.turned) for x in (p.a, p.b)), p.first_packs, p.panel_block > 0,
        # what is asked of memory beforehand
        p.turns > 0, far, later,
        # elements: where they are, and what becomes of them
        tuple((x.buffer, x.dtype) for x in accesses), tuple(id(store.value) for store in c.stores),
        tuple(_kind(x.steps.get(i, 0)) for x in accesses for i in indices), row_step if strided else 0,
        # loops: their number, and which are open or limited
        tuple(isinstance(i.extent, Size) for i in indices), len(c.outer), len(c.sizes),
        tuple(isinstance(d, OpenPart) for g in grids for d in g.dimensions), len(c.limits), limited,
        tuple(run.count for run in p.tiling.rows) if limited else (),
    )  # fmt: skip


def _kind(step: Any) -> Hashable:
    """A stride as far as code is written for it."""
    return "open" if isinstance(step, Size) else step if step in (0, 1) else "some"


class _Join:
    """Joins what several products have at one place: what is equal stays, numbers become `Several`."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._numbers: dict[tuple[int, ...], Any] = {}
        self._indices: dict[Index, tuple[tuple[Index, ...], Index]] = {}  # by that of the first product
        self._sizes: dict[Size, tuple[Size, ...]] = {}

    def part(self, parts: Sequence[Part]) -> Part:
        """The parts of several products as one."""
        first = parts[0]
        for store in first.contraction.stores:
            for expr in walk(store.value):
                if isinstance(expr, Extent):
                    self._of([expr.size] * self._count)
        self._of([(c.lanes, c.rows, c.outer, c.k) for c in (part.contraction for part in parts)])
        c = self._record([part.contraction for part in parts], skip=("stores", "buffers"))
        p = self._record([part.plan for part in parts], skip=("read",))
        packing = self._of([part.packing for part in parts])
        return Part(c, p, first.whole, packing)

    def _of(self, values: Sequence[Any]) -> Any:
        first = values[0]
        if len({type(value) for value in values}) > 1:
            raise Apart("values of other types")
        match first:
            case bool() | str() | None | Enum() | DType():
                if any(value != first for value in values):
                    raise Apart(f"{first} and others")
                return first
            case int():
                key = tuple(values)
                if key not in self._numbers:
                    self._numbers[key] = common([*key])
                return self._numbers[key]
            case Size():
                return self._size(tuple(values))
            case Index():
                return self._index(tuple(values))
            case tuple():
                if len({len(value) for value in values}) > 1:
                    raise Apart("lists of other lengths")
                return tuple(map(self._of, zip(*values, strict=True)))
            case Mapping():
                return self._mapping(values)
        if dataclasses.is_dataclass(first):
            return self._record(values)
        if any(value is not first for value in values):
            raise Apart(f"{first} and others")
        return first

    def _mapping(self, values: Sequence[Mapping[Any, Any]]) -> dict[Any, Any]:
        """Entries by their keys: those of an index are found by the indices that it is in other products."""
        made: dict[Any, Any] = {}
        if len({len(value) for value in values}) > 1:
            raise Apart("mappings of other lengths")
        for key, *others in zip(*values, strict=True):
            keys = self._indices[key][0] if key in self._indices else (key, *others)
            if any(key not in value for key, value in zip(keys, values, strict=True)):
                raise Apart(f"no entry for {key}")
            made[self._of(keys)] = self._of([value[key] for key, value in zip(keys, values, strict=True)])
        return made

    def _record(self, records: Sequence[Any], skip: Sequence[str] = ()) -> Any:
        first = records[0]
        names = [field.name for field in dataclasses.fields(first) if field.name not in skip]
        values = {name: self._of([getattr(record, name) for record in records]) for name in names}
        return dataclasses.replace(first, **values)

    def _size(self, sizes: tuple[Size, ...]) -> Size:
        """An open size has the same parameter in all products."""
        if not same_shape(self._sizes.setdefault(sizes[0], sizes), sizes):
            raise Apart(f"{sizes[0]} is another size elsewhere")
        return sizes[0]

    def _index(self, indices: tuple[Index, ...]) -> Index:
        first = indices[0]
        if first not in self._indices:
            made = Index(first.name, self._of([index.extent for index in indices]))
            if any(made is other for _, other in self._indices.values()):
                raise Apart(f"two indices {made}")
            self._indices[first] = indices, made
        known, made = self._indices[first]
        if known != indices:
            raise Apart(f"{first} is another index elsewhere")
        return made
