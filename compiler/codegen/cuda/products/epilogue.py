"""Epilogue of a contraction: statements that compute and store the results from the finished sums.

The statements work on packs: a few results that are contiguous along the fastest index. An array is read or
written a pack at a time if its elements are contiguous too.
"""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import C_TYPES, FunctionCall, call_of, parameters
from staticgraph.compiler.codegen.cuda.places import integer, place
from staticgraph.compiler.codegen.cuda.scalar import loaded, stored
from staticgraph.compiler.kernel.contraction import Access, Contraction
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Values, in_packs, is_wide
from staticgraph.compiler.kernel.schedule_gpu.products.results import ProductSchedule


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


def product_call(made: ProductSchedule, lines: Iterable[str]) -> FunctionCall:
    """The call of a function that makes results of a contraction."""
    written = {x.buffer for x in made.product.targets}
    return call_of(made, parameters(made.product.buffers, written, made.uses), "\n".join(lines))
