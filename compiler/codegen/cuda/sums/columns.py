"""Sums of columns: neighbours in memory belong to different results, and a thread has a few of these.

A block does up to 32 vectors of columns; its threads take rows in turn, and meet in shared memory. Where
there are few columns, blocks take parts of the rows, and a second function adds up what they have found. The
order in which threads run changes nothing: whatever is added, is added in the order of the text.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import FunctionCall, KernelWork, call
from staticgraph.compiler.codegen.cuda.limits import THREADS, WARP
from staticgraph.compiler.codegen.cuda.prelude import combiner, register_type
from staticgraph.compiler.codegen.cuda.scalar import constant
from staticgraph.compiler.codegen.cuda.strides import counter
from staticgraph.compiler.codegen.cuda.sums.sums import Sums, in_parts
from staticgraph.compiler.codegen.cuda.vectors import parameters, write_columns
from staticgraph.compiler.kernel.expr import Index, Local, identity
from staticgraph.compiler.machine import GpuMachine

WORTH = 4  # parts that are worth another function
_ROWS = 16  # of a thread at least, where rows are divided among blocks
_WARPS = THREADS // WARP


def columns(sums: Sums, machine: GpuMachine) -> KernelWork:
    """The calls that do `sums`."""
    tile = _Columns(sums, 1).tile
    rows = sums.height // (THREADS * sums.width_across // tile)
    parts = min(machine.busy_blocks // -(-sums.count // tile), rows // _ROWS)
    if parts < WORTH:
        return KernelWork((_Columns(sums, 1).call(),))
    first, then, scratch = in_parts(sums, parts)
    return KernelWork((_Columns(first, parts).call(), _Columns(then, 1).call()), scratch)


class _Columns:
    """Writes the function that does `sums`, or each of `parts` of them."""

    def __init__(self, sums: Sums, parts: int) -> None:
        self.sums, self.parts = sums, parts
        self.width = sums.width_across
        self.vectors, self.lane, self.body = sums.across(self.width)
        self.lanes = min(WARP, 1 << (self.vectors.extent - 1).bit_length())
        self.tile = self.lanes * self.width  # columns of a block
        self.counter = counter(sums.count + self.tile)
        self.writer = CudaWriter(sums.flat)
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
        grid = (-(-sums.count // self.tile), self.parts, 1)
        arguments = parameters(sums.buffers, {s.buffer for s in sums.stores}, writer.text)
        return call("columns", arguments, writer.text, grid, (THREADS, 1, 1), meets=True)

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
        strips = THREADS // self.lanes
        kind = counter(height + self.parts * strips)
        first = f"{kind}(blockIdx.y) * {strips} + int(threadIdx.x / {self.lanes})"
        writer.line("#pragma unroll 4")
        with writer.block(f"for ({kind} row = {first}; row < {height}; row += {self.parts * strips})"):
            writer.bind_index(Index("row", height), "row")

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
