"""Loops over the indices of a contraction, and the addresses that move along with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from staticgraph.compiler.codegen.abi import SCRATCH_PARAMETERS
from staticgraph.compiler.codegen.gemm.chunks import IndexRange
from staticgraph.compiler.codegen.gemm.several import Several
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.contraction import Access, Contraction
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.support.dataclass import dataclass


def open_sizes(c: Contraction) -> dict[Size | Several, str]:
    """Return the parameter that holds the value of each open size."""
    return {size: f"%s{n}" for n, size in enumerate(c.sizes)}


def parameters(c: Contraction, w: GemmWriter | None = None) -> tuple[str, ...]:
    """Return the parameters of the functions of a contraction's kernel; of that which `w` has written."""
    buffers = (f"ptr %p{n}" for n in range(len(c.buffers)))
    sizes = open_sizes(c) if w is None else w.sizes
    return (*buffers, *(f"i64 {size}" for size in sizes.values()), *SCRATCH_PARAMETERS)


def numbers(w: GemmWriter) -> tuple[Several, ...]:
    """Return the numbers that are parameters of what `w` has written, after the open sizes."""
    return tuple(size for size in w.sizes if isinstance(size, Several))


@dataclass(frozen=True, slots=True)
class Cursor:
    """The values of the indices of the loops around, and the address of every access there."""

    accesses: Mapping[str, Access]
    at: Mapping[str, str]
    values: Mapping[Index, Number] = field(default_factory=dict)

    @classmethod
    def at_start(cls, w: GemmWriter, c: Contraction, accesses: Mapping[str, Access]) -> Cursor:
        """Return the cursor with all indices at 0. An access without a buffer is to shared scratch memory."""
        names = {buffer: f"%p{n}" for n, buffer in enumerate(c.buffers)} | {"": "%shared"}
        return cls(accesses, {n: w.address(names[x.buffer], x.offset, x.dtype) for n, x in accesses.items()})

    def moved(self, w: GemmWriter, index: Index | None, by: Number) -> Cursor:
        """The addresses after `index` went up by `by`."""
        at = {
            name: w.address(pointer, w.mul(by, self.accesses[name].stride(index)), self.accesses[name].dtype)
            for name, pointer in self.at.items()
        }
        values = self.values if index is None else {**self.values, index: by}
        return Cursor(self.accesses, at, values)

    def changed(self, name: str, pointer: str) -> Cursor:
        """Return a cursor with one of the addresses replaced."""
        return replace(self, at={**self.at, name: pointer})


def each(
    w: GemmWriter, indices: Sequence[tuple[Index, IndexRange]], cursor: Cursor, body: Callable[[Cursor], None]
) -> None:
    """`body` for all values of the indices in their spans."""
    if not indices:
        body(cursor)
        return
    (index, span), *rest = indices
    w.each(span.start, span.stop, 1, lambda i: each(w, rest, cursor.moved(w, index, i), body))
