"""Functions for sums: of columns, or of numbers that lie along memory.

Neighbours in memory are of different columns: a thread has a few of them, threads add up their rows, and then
meet in shared memory. Neighbours are of the same sum: a block adds up a column, or a part of one.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.expr import CudaWriter, counter
from staticgraph.compiler.codegen.cuda.function import FunctionCall, call_of, parameters
from staticgraph.compiler.codegen.cuda.prelude import combiner, register_type
from staticgraph.compiler.codegen.cuda.scalar import constant
from staticgraph.compiler.codegen.cuda.vectors import write_columns
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.expr import Index, Local, identity
from staticgraph.compiler.kernel.schedule_gpu.strides import counting
from staticgraph.compiler.kernel.schedule_gpu.sums import SumSchedule
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS, WARP

_WARPS = THREADS // WARP


def sums(made: SumSchedule) -> FunctionCall:
    """The function of sums, by how they lie in memory."""
    return full(made) if made.along else columns(made)


def columns(made: SumSchedule) -> FunctionCall:
    """The call of a function with a block for each tile of columns, or for each part of its rows."""
    return _Columns(made).call()


class _Columns:
    """Writes the function."""

    def __init__(self, made: SumSchedule) -> None:
        self.made, self.sums, self.parts = made, made.sums, made.parts
        self.width, self.lanes, self.tile = made.width, made.lanes, made.tile
        self.vectors, self.lane, self.body = made.sums.across(made.width)
        self.counter = counter(made.sums.count + made.tile)
        self.writer = CudaWriter(made.sums.flat)
        self.partial: dict[Local, str] = {}  # arrays with the sums of a thread, then with those of warps

    def call(self) -> FunctionCall:
        writer, sums = self.writer, self.sums
        writer.line(f"const int lane = threadIdx.x % {self.lanes};")
        writer.line(f"const {self.counter} q = {self.counter}(blockIdx.x) * {self.lanes} + lane;")
        self.declare()
        with writer.block(f"if (q < {self.vectors.extent})"):
            writer.bind_index(self.vectors, "q")
            self.add_rows()
        for local in sums.reduces:
            self.share(local)
        writer.line("__syncthreads();")
        with writer.block(f"for (int t = threadIdx.x; t < {self.tile}; t += {THREADS})"):
            writer.line(f"const {self.counter} column = {self.counter}(blockIdx.x) * {self.tile} + t;")
            with writer.block(f"if (column < {sums.count})"):
                self.finish()
        arguments = parameters(sums.buffers, {s.buffer for s in sums.stores}, writer.text)
        return call_of(self.made, arguments, writer.text)

    def declare(self) -> None:
        """A sum for each column of a thread."""
        for local, reduce in self.sums.reduces.items():
            self.partial[local] = array = self.writer.name(local.name)
            start = constant(identity(reduce.combine, local.dtype).value, local.dtype)
            self.writer.line(f"{register_type(local.dtype)} {array}[{self.width}];")
            self.writer.line(f"for (int v = 0; v < {self.width}; ++v) {array}[v] = {start};")

    def add_rows(self) -> None:
        """A thread adds up its rows."""
        writer, height = self.writer, self.sums.height
        strips = self.made.strips
        kind = counter(height + self.parts * strips)
        first = f"{kind}(blockIdx.y) * {strips} + int(threadIdx.x / {self.lanes})"
        writer.line("#pragma unroll 4")
        with writer.block(f"for ({kind} row = {first}; row < {height}; row += {self.parts * strips})"):
            writer.bind_index(counting("row", height), "row")

            def sums() -> None:
                for local, array in self.partial.items():
                    writer.bind(local, f"{array}[{'v' if self.width > 1 else 0}]")

            write_columns(writer, self.body, self.lane, sums)

    def share(self, local: Local) -> None:
        """The sums of a warp go to shared memory."""
        writer, array = self.writer, self.partial[local]
        how = combiner(self.sums.reduces[local].combine, local.dtype)
        self.partial[local] = pool = writer.name("pool")
        writer.line(f"SG_SHARED({register_type(local.dtype)}, {pool}, {_WARPS * self.tile});")
        writer.line("#pragma unroll")
        with writer.block(f"for (int v = 0; v < {self.width}; ++v)"):
            only = ""
            if self.lanes < WARP:
                only = f"if (threadIdx.x % {WARP} < {self.lanes}) "
                writer.line(f"{array}[v] = stride_reduce<{how}, {self.lanes}>({array}[v]);")
            place = f"threadIdx.x / {WARP} * {self.tile} + lane * {self.width} + v"
            writer.line(f"{only}{pool}[{place}] = {array}[v];")

    def finish(self) -> None:
        """A thread adds up what the warps have of a column, and stores what is made of it."""
        writer = self.writer
        for local, pool in self.partial.items():
            total, how = writer.name("total"), combiner(self.sums.reduces[local].combine, local.dtype)
            writer.line(f"{register_type(local.dtype)} {total} = {pool}[t];")
            writer.line("#pragma unroll")
            more = f"{total} = {how}::of({total}, {pool}[w * {self.tile} + t]);"
            writer.line(f"for (int w = 1; w < {_WARPS}; ++w) {more}")
            writer.bind(local, total)
        column, stores = self.sums.results()
        writer.bind_index(column, "column")
        writer.bind_index(Index("part", self.parts), "int(blockIdx.y)")
        writer.store_all(stores)  # an update in place reads what another one of them writes


def full(made: SumSchedule) -> FunctionCall:
    """The call of a function with a block for each result, or for each part of it."""
    sums, parts = made.sums, made.parts
    vectors, lane, body = sums.along(made.width)
    writer = CudaWriter(sums.flat)
    column, stores = sums.results()
    if isinstance(sums.count, Size):  # there is a block, at least
        writer.line(f"if (blockIdx.x >= {sums.count}) return;")
    writer.bind_index(column, "int(blockIdx.x)")
    for local, reduce in sums.reduces.items():
        writer.define(local, identity(reduce.combine, local.dtype))
    kind = counter(vectors.extent + parts * THREADS)
    first = f"{kind}(blockIdx.y) * {THREADS} + int(threadIdx.x)"
    writer.line("#pragma unroll 4")
    with writer.block(f"for ({kind} q = {first}; q < {vectors.extent}; q += {parts * THREADS})"):
        writer.bind_index(vectors, "q")
        write_columns(writer, body, lane)
    for local, reduce in sums.reduces.items():
        name, pool, how = writer.value(local), writer.name("warps"), combiner(reduce.combine, local.dtype)
        writer.line(f"SG_SHARED({register_type(local.dtype)}, {pool}, {THREADS // WARP});")
        writer.line(f"{name} = block_reduce<{how}, {THREADS}>({name}, {pool});")
    writer.forget(sums.reduces)
    with writer.block("if (threadIdx.x == 0)"):
        writer.bind_index(Index("part", parts), "int(blockIdx.y)")
        writer.store_all(stores)  # an update in place reads what another one of them writes
    arguments = parameters(sums.buffers, {s.buffer for s in stores}, writer.text)
    return call_of(made, arguments, writer.text)
