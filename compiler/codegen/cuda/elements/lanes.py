"""Stores of neighbouring elements by one thread: what lies side by side is read, and written, in one go."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import C_TYPES
from staticgraph.compiler.codegen.cuda.scalar import loaded, stored
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel.expr import Expr, Load
from staticgraph.compiler.kernel.schedule_gpu.strides import in_line, lane_loads, replaced
from staticgraph.compiler.kernel.stmt import Store

Table = dict[Expr, Expr]


class Lanes:
    """`stores` for each of some `tables` of indices, those of neighbours in the first result."""

    def __init__(self, writer: CudaWriter, stores: Sequence[Store], tables: Sequence[Table]) -> None:
        self.writer, self.count = writer, len(tables)
        self.stores = [[replaced(s, table) for table in tables] for s in stores]
        self.loads = lane_loads(stores, tables)  # by what each is in `stores`

    def load(self, besides: Container[Load] = ()) -> None:
        """Read what lies side by side in one go, but for what has been read."""
        writer = self.writer
        for load, found in self.loads.items():
            if load in besides or not self._in_line(found):
                continue
            name = writer.name(load.buffer)
            writer.line(f"const {self.kind(load.dtype)} {name} = {self.read(found[0])};")
            self.bind(found, name)

    def read(self, first: Load) -> str:
        """The text of the vector that begins with an element."""
        place = self.writer.place(first.buffer, first.at)
        return f"*reinterpret_cast<const {self.kind(first.dtype)}*>({first.buffer} + {place})"

    def bind(self, found: Sequence[Load], vector: str) -> None:
        """From here to the end of the block, elements are those of the vector of this name."""
        for lane, load in enumerate(found):
            self.writer.bind(load, loaded(load.dtype, f"{vector}.at[{lane}]"))

    def stored(self) -> Iterator[str]:
        """Compute the values of each store, and its places; what writes them, in one go where they lie side
        by side.
        """
        writer = self.writer
        for stores in self.stores:
            buffer, dtype = stores[0].buffer, stores[0].value.dtype
            elements = [stored(dtype, writer.wide(s.value)) for s in stores]
            places = [writer.place(buffer, s.at) for s in stores]
            if self._in_line(stores):
                kind = self.kind(dtype)
                together = f"{kind}{{{{{', '.join(elements)}}}}}"
                yield f"*reinterpret_cast<{kind}*>({buffer} + {places[0]}) = {together};"
            else:
                for place, element in zip(places, elements, strict=True):
                    yield f"{buffer}[{place}] = {element};"

    def kind(self, dtype: DType) -> str:
        """The type of a vector in memory."""
        return f"Vector<{C_TYPES[dtype.name]}, {self.count}>"

    def _in_line(self, found: Sequence[Load] | Sequence[Store]) -> bool:
        return self.count > 1 and in_line(self.writer.buffers[found[0].buffer], [e.at for e in found])
