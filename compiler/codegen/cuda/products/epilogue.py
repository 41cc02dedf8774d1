"""Epilogue of a contraction: statements that compute and store the results from the finished sums.

The statements work on packs: a few results that are contiguous along the fastest index. An array is read or
written a pack at a time if its elements are contiguous too.
"""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import C_TYPES, Parameter
from staticgraph.compiler.codegen.cuda.products.axes import Values, in_packs, integer, is_wide, place
from staticgraph.compiler.codegen.cuda.scalar import loaded, stored
from staticgraph.compiler.kernel.contraction import Access, Contraction
from staticgraph.compiler.kernel.cost import operation_cost
from staticgraph.compiler.kernel.expr import Index, Scalar, walk


def epilogue(c: Contraction, values: Values, fastest: Index | None, width: int, acc: str) -> list[str]:
    """Statements for the pack of `width` results that begins where the indices have these values.

    `acc` is the text of the sum of its result number `j`.
    """
    read = _distinct(c.loads.values())
    places = _distinct((*read, *c.targets))
    lines = []
    for number, x in enumerate(places):
        wide = is_wide(c, x)
        lines.append(f"const {integer(wide)} at{number} = {place(x, values, wide)};")
    for number, x in enumerate(read):
        lines += _read(f"read{number}", x, f"at{places.index(x)}", fastest, width)
    for number, x in enumerate(c.targets):
        lines.append(f"Vector<{C_TYPES[x.dtype.name]}, {width}> made{number};")
    writer = CudaWriter({})
    with writer.block(f"#pragma unroll\nfor (int j = 0; j < {width}; j++)"):
        writer.bind(c.acc, acc)
        for local, x in c.loads.items():
            writer.bind(local, loaded(x.dtype, f"read{read.index(x)}.at[j]"))
        for number, (store, x) in enumerate(zip(c.stores, c.targets, strict=True)):
            writer.line(f"made{number}.at[j] = {stored(x.dtype, writer.wide(store.value))};")
    lines += writer.text.split("\n")
    for number, x in enumerate(c.targets):
        lines += _write(f"made{number}", x, f"at{places.index(x)}", fastest, width)
    return lines


def operations(c: Contraction) -> float:
    """About how many instructions the epilogue of one result is."""
    return sum(operation_cost(e.op) for e in walk(*(s.value for s in c.stores)) if isinstance(e, Scalar))


def pack_width(fastest: Index | None, most: int) -> int:
    """Number of results in a pack along the fastest index: `most` if all packs are whole then, else 1."""
    return most if fastest is not None and fastest.extent % most == 0 else 1


def parameters(c: Contraction, *operands: Access) -> list[Parameter]:
    """The buffers that a function reads or writes, in the order of the contraction."""
    used = {x.buffer for x in (*operands, *c.loads.values(), *c.targets)}
    written = {x.buffer for x in c.targets}
    return [Parameter(name, b.dtype, name in written) for name, b in c.buffers.items() if name in used]


def indented(lines: Iterable[str]) -> list[str]:
    """Lines further to the right."""
    return [f"  {line}" for line in lines]


def _distinct(accesses: Iterable[Access]) -> list[Access]:
    found: list[Access] = []
    for x in accesses:
        if x not in found:
            found.append(x)
    return found


def _read(name: str, x: Access, at: str, fastest: Index | None, width: int) -> list[str]:
    """Statements that define a pack of elements."""
    pack = f"Vector<{C_TYPES[x.dtype.name]}, {width}>"
    if width > 1 and in_packs(x, fastest, width):
        return [f"const {pack} {name} = *reinterpret_cast<const {pack}*>({x.buffer} + {at});"]
    elements = [f"{x.buffer}[{at} + {j * x.step(fastest)}]" for j in range(width)]
    return [f"const {pack} {name} = {{{{{', '.join(elements)}}}}};"]


def _write(name: str, x: Access, at: str, fastest: Index | None, width: int) -> list[str]:
    """Statements that store a pack of elements."""
    if width > 1 and in_packs(x, fastest, width):
        pack = f"Vector<{C_TYPES[x.dtype.name]}, {width}>"
        return [f"*reinterpret_cast<{pack}*>({x.buffer} + {at}) = {name};"]
    return [f"{x.buffer}[{at} + {j * x.step(fastest)}] = {name}.at[{j}];" for j in range(width)]
