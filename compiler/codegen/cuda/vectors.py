"""Statements for a few neighbouring columns at a time, which are loaded and stored as one vector.

    const Vector<float, 4> x_1 = *reinterpret_cast<const Vector<float, 4>*>(x + t_1);
    Vector<float, 4> y_1;
    for (int v = 0; v < 4; ++v) {
      y_1.at[v] = ...
    }
    *reinterpret_cast<Vector<float, 4>*>(y + t_1) = y_1;

What does not lie in memory like that is loaded and stored element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import nullcontext
from types import MappingProxyType

from staticgraph.compiler.codegen.cuda.expr import CudaWriter, index_type
from staticgraph.compiler.codegen.cuda.function import C_TYPES
from staticgraph.compiler.codegen.cuda.scalar import stored
from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, substitute
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.schedule_gpu.strides import aligned, reached
from staticgraph.compiler.kernel.stmt import Let, Loop, Stmt, Store, Update, updated

# Iterations that the compiler may unroll altogether, and how many at a time it unrolls of more. It would load
# for all of 64 before the first sum, and run out of registers.
_UNROLLED, _AT_ONCE = 16, 8
NOWHERE: Mapping[str, str] = MappingProxyType({})


def write_columns(
    writer: CudaWriter,
    body: tuple[Stmt, ...],
    lane: Index,
    first: Callable[[], None] = lambda: None,
    known: Set[Expr] = frozenset(),
    registers: Mapping[str, str] = NOWHERE,
    condition: str = "",
    early: Sequence[Expr] = (),
) -> None:
    """Write `body` for all values of `lane`.

    `first` is called before it, where `lane` has a value, to make more known, such as all of `known`.
    `registers` are local buffers by name: where the element of this column is. Results are stored only under
    the `condition`, an `if` if there is one. `early` is loaded as well, for later.
    """
    missing = [e for e in (*reached(body, known), *early) if e not in known]
    loads = [e for e in missing if isinstance(e, Load) and e.buffer not in registers and aligned(e, lane)]
    stores = [s for s in body if isinstance(s, Store) and s.buffer not in registers and aligned(s, lane)]
    operands = {load: _operand(writer, load, lane) for load in loads}
    results = {store: _result(writer, store, lane) for store in stores}
    if lane.extent > 1:
        writer.line("#pragma unroll")
    with writer.block(f"for (int v = 0; v < {lane.extent}; ++v)") if lane.extent > 1 else nullcontext():
        writer.bind_index(lane, "v")
        for load, name in operands.items():
            writer.bind(load, f"to_register({name}.at[v])")
        first()
        _Column(writer, results, registers, condition).write(body)
    for store, name in results.items():
        kind, place = _vector(store.value.dtype, lane), _first(writer, store, lane)
        writer.line(f"{condition}*reinterpret_cast<{kind}*>({store.buffer} + {place}) = {name};")


def _vector(dtype: DType, lane: Index) -> str:
    return f"Vector<{C_TYPES[dtype.name]}, {lane.extent}>"


def _first(writer: CudaWriter, access: Load | Store, lane: Index) -> str:
    """The place of the first element of a vector."""
    first = simplify_index(substitute(access.at[0], {lane: Const(0, int64)}))
    if isinstance(writer.buffers[access.buffer].size, Size):
        return writer.place(access.buffer, (first,))
    return writer.value(first)


def _operand(writer: CudaWriter, load: Load, lane: Index) -> str:
    kind, name = f"const {_vector(load.dtype, lane)}", writer.name("x")
    place = _first(writer, load, lane)
    writer.line(f"{kind} {name} = *reinterpret_cast<{kind}*>({load.buffer} + {place});")
    return name


def _result(writer: CudaWriter, store: Store, lane: Index) -> str:
    name = writer.name("y")
    writer.line(f"{_vector(store.value.dtype, lane)} {name};")
    return name


class _Column:
    """Writes statements for one column; those in `results` store to a vector."""

    def __init__(
        self, writer: CudaWriter, results: Mapping[Store, str], registers: Mapping[str, str], condition: str
    ) -> None:
        self.writer, self.results, self.registers, self.condition = writer, results, registers, condition

    def write(self, body: tuple[Stmt, ...]) -> None:
        writer = self.writer
        changed = updated(body)
        for stmt in body:
            match stmt:
                case Let(local, value):
                    writer.define(local, value, constant=local not in changed)
                case Update(local, value):
                    writer.assign(local, value)
                case Store():
                    self.store(stmt)
                case Loop(index, inside):
                    n = writer.name("n")
                    if not isinstance(index.extent, int) or index.extent > _UNROLLED:
                        writer.line(f"#pragma unroll {_AT_ONCE}")
                    with writer.block(f"for ({index_type(index)} {n} = 0; {n} < {index.extent}; ++{n})"):
                        writer.bind_index(index, n)
                        self.write(inside)
                    writer.forget(updated(inside))

    def store(self, store: Store) -> None:
        """Write a store. Later loads of the same element in this column use the stored value."""
        writer, dtype = self.writer, store.value.dtype
        text = writer.wide(store.value)
        if store in self.results:
            writer.line(f"{self.results[store]}.at[v] = {stored(dtype, text)};")
        elif store.buffer in self.registers:
            writer.line(f"{self.condition}{self.registers[store.buffer]} = {text};")
        else:
            place = writer.place(store.buffer, store.at)
            writer.line(f"{self.condition}{store.buffer}[{place}] = {stored(dtype, text)};")
        writer.forget((store.buffer,))
        writer.bind(Load(store.buffer, store.at, dtype), text)
