"""Looking numbers up in a register, in each lane another one: one instruction of x86-64 since AVX2."""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.compiler.codegen.llvm.site import Site, constant
from staticgraph.compiler.codegen.llvm.text import vector

_INSTRUCTION = {8: "llvm.x86.avx2.permps", 16: "llvm.x86.avx512.permvar.sf.512"}  # by the numbers of a table


def look_up(site: Site, table: tuple[float, ...], index: str) -> str:
    """The numbers of `table` at the positions that the low bits of `index` are, in all lanes."""
    width, lanes = len(table), site.lanes
    numbers = ", ".join(f"float {constant(x, site.dtype)}" for x in table)

    def found(positions: str) -> str:
        kind = vector("float", width)
        operands = (kind, f"<{numbers}>"), (vector("i32", width), positions)
        return site.emitter.call(kind, _INSTRUCTION[width], *operands)

    if lanes == 1:
        first = site.value(f"insertelement {vector('i32', width)} poison, i32 {index}, i64 0")
        return site.value(f"extractelement {vector('float', width)} {found(first)}, i64 0")
    if lanes < width:
        wide = found(_shuffled(site, "i32", lanes, index, "poison", [*range(lanes), *[0] * (width - lanes)]))
        return _shuffled(site, "float", width, wide, "poison", range(lanes))
    parts = [index]
    while lanes > width:
        lanes //= 2
        halves = range(lanes), range(lanes, 2 * lanes)
        parts = [_shuffled(site, "i32", 2 * lanes, part, "poison", half) for part in parts for half in halves]
    parts = [found(part) for part in parts]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [_shuffled(site, "float", lanes, a, b, range(2 * lanes)) for a, b in pairs]
        lanes *= 2
    return parts[0]


def _shuffled(site: Site, element: str, lanes: int, a: str, b: str, order: Iterable[int]) -> str:
    """These lanes of two vectors."""
    return site.emitter.shuffle(vector(element, lanes), order, a, b)
