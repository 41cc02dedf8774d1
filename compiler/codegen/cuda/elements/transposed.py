"""Stores that read operands across their order in memory, as transposes do: tiles turn in shared memory.

A block does a tile of y[i, j] = x[j, i] * z[i, j]. Its threads read squares of x, each line of a square as
one vector along i; they keep them in shared memory as vectors along j, and read these back in the order of y,
which they write as they read z, along j. So all that comes from memory and goes there is whole lines, and a
thread asks for all of its elements before it waits for one.

    x in memory     what a thread reads     in shared memory     y in memory
    a b c d ..      a b                     a e  ..              a e i m ..
    e f g h ..      e f                     b f  ..              b f j n ..
    i j k l ..                              :                    :
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext

from staticgraph.compiler.codegen.cuda.elements.lanes import Lanes
from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import C_TYPES, FunctionCall, call_of, parameters
from staticgraph.compiler.codegen.cuda.places import split_count
from staticgraph.compiler.kernel.expr import Index, Load, substitute
from staticgraph.compiler.kernel.schedule_gpu.elements.transpose import TransposeSchedule
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS


def transposed(plan: TransposeSchedule) -> FunctionCall:
    """The function of a schedule."""
    return _TransposeFunction(plan).call()


class _TransposeFunction:
    """Writes the function."""

    def __init__(self, plan: TransposeSchedule) -> None:
        self.plan, self.pack = plan, plan.pack
        self.writer = writer = CudaWriter(plan.buffers)
        self.read = {x: writer.name(x.buffer) for x in plan.turned}  # the squares of a thread, in registers
        self.kept = {x: writer.name("tile") for x in plan.turned}
        self.lanes = Lanes(writer, plan.stores, plan.tables)

    def call(self) -> FunctionCall:
        """The call of it."""
        self.find_tile()
        self.read_squares()
        early = self.read_early()
        self.keep_squares()
        self.writer.line("__syncthreads();")
        self.store(early)
        written = {s.buffer for s in self.plan.stores}
        return call_of(self.plan, parameters(self.plan.buffers, written, self.plan.uses), self.writer.text)

    def find_tile(self) -> None:
        """Find the tile and the matrix of the block: blocks next to each other write along."""
        plan, line = self.plan, self.writer.line
        line(f"const int tile = int(blockIdx.x % {plan.of_matrix}u);")
        line(f"const int high = tile / {plan.tiles[1]}, wide = tile % {plan.tiles[1]};")
        for text in split_count(plan.batch, f"(blockIdx.x / {plan.of_matrix}u)"):
            line(text)
        for index, name in plan.batch.values.items():
            self.writer.bind_index(index, name)

    def read_squares(self) -> None:
        """Print the reads of a thread: its squares of all operands, line by line."""
        plan, writer = self.plan, self.writer
        pack = Index("pack", plan.across.extent // plan.width)
        for load, name in self.read.items():
            writer.line(f"{self.lanes.kind(load.dtype)} {name}[{plan.squares}][{plan.width}] = {{}};")
        with self.each_square():
            writer.line(f"const int pack = high * {plan.lines} + line;")
            writer.line("#pragma unroll")
            with writer.block(f"for (int k = 0; k < {plan.width}; ++k)"):
                writer.line(f"const int place = wide * {plan.wide} + column * {plan.width} + k;")
                with self.inside(("pack", pack.extent, plan.lines), ("place", plan.along.extent, plan.wide)):
                    writer.bind_index(pack, "pack")
                    writer.bind_index(plan.along, "place")
                    for load, name in self.read.items():
                        at = tuple(substitute(a, {plan.across: pack * plan.width}) for a in load.at)
                        vector = self.lanes.read(Load(load.buffer, at, load.dtype))
                        writer.line(f"{name}[turn][k] = {vector};")

    def keep_squares(self) -> None:
        """Print how a thread turns its squares and puts them into shared memory.

        The first lines of all squares come together, then the second ones, and so on.
        """
        plan, writer = self.plan, self.writer
        for load, name in self.kept.items():
            writer.line(f"SG_SHARED({C_TYPES[load.dtype.name]}, {name}, {plan.high * plan.pitch(load)});")
        with self.each_square():
            writer.line("#pragma unroll")
            with writer.block(f"for (int j = 0; j < {plan.width}; ++j)"):
                for load, name in self.kept.items():
                    kind, turned = self.lanes.kind(load.dtype), writer.name("turned")
                    writer.line(f"{kind} {turned};")
                    writer.line("#pragma unroll")
                    each = f"{turned}.at[k] = {self.read[load]}[turn][k].at[j];"
                    writer.line(f"for (int k = 0; k < {plan.width}; ++k) {each}")
                    place = f"(j * {plan.lines} + line) * {plan.pitch(load)} + column * {plan.width}"
                    writer.line(f"*reinterpret_cast<{kind}*>({name} + {place}) = {turned};")

    def read_early(self) -> dict[Load, str]:
        """Print the reads of a thread's vectors of other operands, as far as there is room for them."""
        plan, writer, lanes = self.plan, self.writer, self.lanes
        early = {load: writer.name(load.buffer) for load in plan.early}
        for load, name in early.items():
            writer.line(f"{lanes.kind(load.dtype)} {name}[{plan.vectors}];")
        if early:
            with self.each_vector():
                for load, name in early.items():
                    writer.line(f"{name}[turn] = {lanes.read(lanes.loads[load][0])};")
        return early

    def store(self, early: Mapping[Load, str]) -> None:
        """Print how a thread computes its vectors of results."""
        plan, writer, lanes = self.plan, self.writer, self.lanes
        with self.each_vector():
            for load, tile in self.kept.items():
                kind, name = f"const {lanes.kind(load.dtype)}", writer.name(load.buffer)
                line = f"line % {plan.width} * {plan.lines} + line / {plan.width}"
                place = f"({line}) * {plan.pitch(load)} + column * {plan.width}"
                writer.line(f"{kind} {name} = *reinterpret_cast<{kind}*>({tile} + {place});")
                lanes.bind(lanes.loads[load], name)
            for load, name in early.items():
                lanes.bind(lanes.loads[load], f"{name}[turn]")
            lanes.load(besides={*self.read, *early})
            for line in list(lanes.stored()):
                writer.line(line)

    @contextmanager
    def each_square(self) -> Iterator[None]:
        """For each square of a thread, number `turn`: it is in the tile the square of this `line`, which
        counts squares across, and this `column`.
        """
        with self.each(self.plan.squares, ("line", self.plan.lines), ("column", self.plan.columns)):
            yield

    @contextmanager
    def each_vector(self) -> Iterator[None]:
        """For each vector of a thread, number `turn`, that has a place in the results: it is in the tile the
        vector of this `line`, which counts elements across, and this `column`.
        """
        plan, writer = self.plan, self.writer
        with self.each(plan.vectors, ("column", plan.columns), ("line", plan.high)):
            writer.line(f"const int row = high * {plan.high} + line;")
            writer.line(f"const int pack = wide * {plan.columns} + column;")
            edges = ("row", plan.across.extent, plan.high), ("pack", self.pack.extent, plan.columns)
            with self.inside(*edges):
                writer.bind_index(plan.across, "row")
                writer.bind_index(self.pack, "pack")
                yield

    @contextmanager
    def each(self, turns: int, fast: tuple[str, int], slow: tuple[str, int]) -> Iterator[None]:
        """Open a loop of `turns` iterations in which the threads of a block visit all pairs of two counts.

        Args:
            turns: Iterations of the loop.
            fast: Name and extent of the count in which neighbouring threads differ.
            slow: Name and extent of the other count, divided among groups of threads and among iterations.
        """
        (name, count), (other, end), writer = fast, slow, self.writer
        writer.line("#pragma unroll")
        with writer.block(f"for (int turn = 0; turn < {turns}; ++turn)"):
            writer.line(f"const int {name} = int(threadIdx.x % {count}u);")
            writer.line(f"const int {other} = int(threadIdx.x / {count}u) + turn * {THREADS // count};")
            ends = end % (THREADS // count) != 0
            with writer.block(f"if ({other} < {end})") if ends else nullcontext():
                yield

    @contextmanager
    def inside(self, *edges: tuple[str, int, int]) -> Iterator[None]:
        """Guard the statements written inside, so that they run only if every variable is below its end.

        Each edge is the name of a variable, its end, and a step. A variable can pass its end only if the end
        is not a multiple of the step, so other edges need no test.
        """
        tests = [f"{name} < {end}" for name, end, step in edges if end % step]
        with self.writer.block(f"if ({' && '.join(tests)})") if tests else nullcontext():
            yield
