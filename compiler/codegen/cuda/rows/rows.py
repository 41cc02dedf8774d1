"""Reductions along rows: a group of threads does a row, and keeps what it has read of it in registers.

A group is a warp, or a part of one, where rows are short, otherwise a block. Each of its threads takes the
same columns in every sweep over the row, so a softmax reads its operand once and writes its result once. Rows
that are too long for registers are read again, which is from the cache.

Sums over all rows are taken on the way, each thread those of its columns; what the blocks have summed is
added up by other functions, always in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from staticgraph.compiler.codegen.cuda.expr import CudaWriter, counter
from staticgraph.compiler.codegen.cuda.function import FunctionCall, Parameter, call_of, parameters
from staticgraph.compiler.codegen.cuda.prelude import combiner, register_type
from staticgraph.compiler.codegen.cuda.scalar import constant, stored
from staticgraph.compiler.codegen.cuda.vectors import write_columns
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel.expr import Const, Expr, Load, identity, walk
from staticgraph.compiler.kernel.schedule_gpu.rows.by_row import RowSchedule
from staticgraph.compiler.kernel.schedule_gpu.rows.group import Sharing, loads_ahead, of_row, stmts_of
from staticgraph.compiler.kernel.schedule_gpu.rows.parts import RowPart, meet
from staticgraph.compiler.kernel.schedule_gpu.rows.program import RowProgram, Sweep
from staticgraph.compiler.kernel.schedule_gpu.strides import reached
from staticgraph.compiler.kernel.schedule_gpu.target import WARP
from staticgraph.compiler.kernel.stmt import Let, Stmt, Store, Update, expressions, statements


def rows(made: RowSchedule) -> FunctionCall:
    """The function that does a program, and writes the sums of its parts."""
    writer = RowWriter(made.program, made.sharing, made.parts)
    arguments = writer.write()
    return call_of(made, arguments, writer.writer.text)


class RowWriter:
    """Writes the function of a program."""

    def __init__(self, program: RowProgram, sharing: Sharing, parts: Sequence[RowPart]) -> None:
        self.program, self.sharing, self.parts = program, sharing, parts
        self.uneven, self.once = sharing.is_uneven(program), sharing.goes_once(program)
        self.condition = "if (live) " if self.uneven else ""
        self.overwritten = _overwritten(program)
        self.arrays: dict[str, str] = {}  # registers with the columns of local buffers
        self.slots: dict[Expr, str] = {}  # and with those of what is kept
        self.filled: set[Expr] = set()
        self.lane = "lane"  # what the number of the thread in its group is called
        self.here = ""  # the place of the present column in them
        self.writer = CudaWriter(program.buffers, self.element)

    def element(self, writer: CudaWriter, load: Load) -> str | None:
        return f"{self.arrays[load.buffer]}[{self.here}]" if load.buffer in self.arrays else None

    def write(self) -> list[Parameter]:
        """Write the body of the function. Return its parameters."""
        writer, sharing, program = self.writer, self.sharing, self.program
        alone = sharing.lanes == sharing.threads
        writer.line(f"const int lane = threadIdx.x{'' if alone else f' % {sharing.lanes}'};")
        self.rows()
        numbers = {local.name: local for local in program.numbers}
        for part in self.parts:
            with writer.block(""):
                if part.buffer in numbers:
                    finish_number(writer, part, writer.value(numbers[part.buffer]), sharing)
                else:
                    sweep = program.sweep_over(part.size)
                    finish(writer, part, self.arrays[part.buffer], sweep, self.parts, sharing)
        stmts = [s for item in program.items for s in statements(stmts_of(item))]
        written = {s.buffer for s in stmts if isinstance(s, Store)}
        arguments = parameters(program.buffers, written, writer.text)
        return arguments + [Parameter(p.total, p.dtype, written=True) for p in self.parts]

    def rows(self) -> None:
        """All rows of a thread."""
        self.declare()
        with self.row():
            for load in of_row(self.program):
                self.writer.value(load)
            for item in self.program.items:
                if isinstance(item, Sweep):
                    self.sweep(item)
                else:
                    self.statement(item)

    def places(self, sweep: Sweep) -> dict[str, str]:
        """The buffers that lie elsewhere than in memory, by name: where the present column of a sweep is."""
        return {name: f"{array}[{self.here}]" for name, array in self.arrays.items()}

    def declare(self) -> None:
        """Declare the registers that live from row to row and from sweep to sweep."""
        writer, program = self.writer, self.program
        starts = {p.buffer: identity(p.combine, p.dtype) for p in self.parts}
        for local in program.numbers:
            writer.define(local, starts.get(local.name, Const(0, local.dtype)))
        for name, buffer in program.buffers.items():
            if buffer.local:
                array, count = self.registers(name, buffer.dtype, program.sweep_over(buffer.size))
                self.arrays[name] = array
                if name in starts:
                    start = constant(starts[name].value, buffer.dtype)
                    writer.line(f"#pragma unroll\nfor (int k = 0; k < {count}; ++k) {array}[k] = {start};")
        for expr in self.sharing.kept:
            sweep = next(s for s in program.sweeps if expr in reached(s.body))
            self.slots[expr], _ = self.registers("kept", expr.dtype, sweep)

    def registers(self, name: str, dtype: DType, sweep: Sweep) -> tuple[str, int]:
        """An array for a thread's columns of a sweep: its name, and how many these are."""
        name, count = self.writer.name(name), self.sharing.rounds(sweep) * sweep.width
        self.writer.line(f"{register_type(dtype)} {name}[{count}];")
        return name, count

    @contextmanager
    def row(self) -> Iterator[None]:
        """The loop over the rows of a group. All threads of a warp go round as often."""
        writer, sharing, row = self.writer, self.sharing, self.program.row
        lanes, step = sharing.lanes, sharing.blocks * sharing.groups
        kind = counter(row.extent + step)
        name = "row" if lanes >= WARP else "first"
        if lanes >= WARP:
            first = f"{kind}(blockIdx.x)"
            first += f" * {sharing.groups} + threadIdx.x / {WARP}" if sharing.groups > 1 else ""
        else:
            first = f"({kind}(blockIdx.x) * {sharing.warps} + threadIdx.x / {WARP}) * {WARP // lanes}"
        if self.once:  # no loop that the compiler could load scales for before it, which takes registers
            writer.line(f"const {kind} {name} = {first};")
            head = f"if ({name} < {row.extent})" if row.extent % step else ""
        else:
            head = f"for ({kind} {name} = {first}; {name} < {row.extent}; {name} += {step})"
        with writer.block(head):
            if lanes < WARP:
                mine = f"first + int(threadIdx.x % {WARP} / {lanes})"
                if self.uneven:
                    writer.line(f"const bool live = {mine} < {row.extent};")
                    mine = f"live ? {mine} : {row.extent - 1}"
                writer.line(f"const {kind} row = {mine};")
            writer.bind_index(row, "row")
            if not self.once:
                self.lane_anew("anew_in_warp" if sharing.spills_scales(self.program) else "anew")
            yield

    def lane_anew(self, function: str = "anew") -> None:
        """From here on, what is computed from columns is not what was computed before."""
        self.lane = self.writer.name("lane")
        self.writer.line(f"const int {self.lane} = {function}(lane);")

    def statement(self, stmt: Stmt) -> None:
        """Write a statement that runs once per row: in all threads, but a store only in the first one."""
        writer = self.writer
        match stmt:
            case Let(local, value):
                writer.define(local, value)
            case Update(local, value) if self.uneven:
                writer.line(f"{self.condition}{writer.value(local)} = {writer.wide(value)};")
                writer.forget((local,))
            case Update(local, value):
                writer.assign(local, value)
            case Store(buffer, at, value):
                condition = f"if (lane == 0{' && live' if self.uneven else ''})"
                if buffer in self.overwritten:
                    self.overwrite(stmt, condition)
                    return
                text, place = stored(value.dtype, writer.wide(value)), writer.place(buffer, at)
                writer.line(f"{condition} {buffer}[{place}] = {text};")
                writer.forget((buffer,))

    def overwrite(self, store: Store, condition: str) -> None:
        """Write a store, once per row, to a buffer that is also read: between the reads of the old value and
        those of the new one.
        """
        writer, buffer = self.writer, store.buffer
        others = [s for item in self.program.items for s in statements(stmts_of(item)) if s is not store]
        meets = self.sharing.lanes > 1 and any(buffer in _loaded(s) for s in others)
        wait = "__syncwarp();" if self.sharing.lanes <= WARP else "__syncthreads();"
        if meets:
            writer.line(wait)
        with writer.block(condition):  # only here is the old value read for the new one
            text = stored(store.value.dtype, writer.wide(store.value))
            writer.line(f"{buffer}[{writer.place(buffer, store.at)}] = {text};")
        if meets:
            writer.line(wait)
        writer.forget((buffer,))

    def sweep(self, sweep: Sweep) -> None:
        writer = self.writer
        parts = set(reached(sweep.body, self.filled))
        known = self.filled & parts
        new = [e for e in self.sharing.kept if e in parts - known]
        early = [e for e in self.sharing.early_loads(self.program, sweep, self.filled) if e not in new]
        new += early
        with ExitStack() as blocks:
            reads = {name for stmt in statements(sweep.body) for name in _loaded(stmt)}
            if self.uneven and reads & self.overwritten:  # by others, for whom these stand in
                blocks.enter_context(writer.block("if (live)"))
            k = blocks.enter_context(self.vectors(sweep, bool(known or new or self.arrays)))
            writer.bind_index(sweep.vectors, "q")
            self.here = f"{k} * {sweep.width} + v" if sweep.width > 1 else k

            def inside() -> None:
                for expr in known:
                    writer.bind(expr, f"{self.slots[expr]}[{self.here}]")
                for expr in new:
                    writer.line(f"{self.slots[expr]}[{self.here}] = {writer.wide(expr)};")

            places = self.places(sweep)
            write_columns(writer, sweep.body, sweep.lane, inside, known, places, self.condition, early)
        self.filled |= set(new)
        writer.forget({step.local for step in sweep.steps})
        self.combine(sweep.steps)

    @contextmanager
    def vectors(self, sweep: Sweep, registers: bool) -> Iterator[str]:
        """The loop over the vectors of a thread; yields the number of the vector."""
        writer, lanes, extent = self.writer, self.sharing.lanes, sweep.vectors.extent
        rounds = self.sharing.rounds(sweep)
        with ExitStack() as blocks:
            ahead = loads_ahead(sweep)
            if not registers and rounds > ahead:
                writer.line(f"#pragma unroll {ahead}")
                blocks.enter_context(writer.block(f"for (int q = lane; q < {extent}; q += {lanes})"))
                yield "0"
                return
            if self.filled and _uses_column(sweep):
                self.lane_anew()
            if rounds > 1:
                writer.line("#pragma unroll")
            blocks.enter_context(writer.block(f"for (int k = 0; k < {rounds}; ++k)" if rounds > 1 else ""))
            writer.line(f"const int q = {f'k * {lanes} + ' if rounds > 1 else ''}{self.lane};")
            if extent % lanes:
                whole = f"k < {extent // lanes} || " if rounds > 1 else ""
                blocks.enter_context(writer.block(f"if ({whole}q < {extent})"))
            yield "k" if rounds > 1 else "0"

    def combine(self, steps: Sequence[Update]) -> None:
        """Every thread of the group gets the results of reductions."""
        writer, lanes = self.writer, self.sharing.lanes
        names = [writer.value(step.local) for step in steps]
        kinds = [combiner(step.combine or "", step.local.dtype) for step in steps]
        if 1 < lanes <= WARP:
            for name, how in zip(names, kinds, strict=True):
                writer.line(f"{name} = warp_reduce<{how}, {lanes}>({name});")
        elif lanes > WARP and steps:
            pools = [writer.name("warps") for _ in steps]
            for step, pool in zip(steps, pools, strict=True):
                writer.line(f"SG_SHARED({register_type(step.local.dtype)}, {pool}, {lanes // WARP});")
            if not self.once and sum(bool(sweep.steps) for sweep in self.program.sweeps) == 1:
                writer.line("__syncthreads();")  # those before may still read the pools
            for name, how, pool in zip(names, kinds, pools, strict=True):
                writer.line(f"warp_part<{how}>({name}, {pool});")
            writer.line("__syncthreads();")
            for name, how, pool in zip(names, kinds, pools, strict=True):
                writer.line(f"{name} = of_warps<{how}, {lanes}>({pool});")
        writer.forget(step.local for step in steps)


def _overwritten(program: RowProgram) -> set[str]:
    """The buffers that a program both reads and stores to."""
    stmts = [stmt for item in program.items for stmt in statements(stmts_of(item))]
    stores = {stmt.buffer for stmt in stmts if isinstance(stmt, Store)}
    return stores & {name for stmt in stmts for name in _loaded(stmt) if not program.buffers[name].local}


def _loaded(stmt: Stmt) -> set[str]:
    return {e.buffer for e in walk(*expressions(stmt)) if isinstance(e, Load)}


def _uses_column(sweep: Sweep) -> bool:
    """True if a value is computed from the number of the column, apart from positions in memory."""
    stack = [s.value for s in statements(sweep.body) if isinstance(s, Let | Update | Store)]
    found: set[Expr] = set()
    while stack:
        node = stack.pop()
        if node not in found and not isinstance(node, Load):
            found.add(node)
            stack += node.children
    return not found.isdisjoint({sweep.vectors, sweep.lane})


def finish_number(writer: CudaWriter, part: RowPart, name: str, sharing: Sharing) -> None:
    """Write a sum that is one number, which all threads of a group have as `name`."""
    how = combiner(part.combine, part.dtype)
    if sharing.lanes < WARP:
        writer.line(f"{name} = stride_reduce<{how}, {sharing.lanes}>({name});")
    if sharing.lanes <= WARP and sharing.warps > 1:
        pool = writer.name("pool")
        writer.line(f"SG_SHARED({register_type(part.dtype)}, {pool}, {sharing.warps});")
        writer.line(f"if (threadIdx.x % {WARP} == 0) {pool}[threadIdx.x / {WARP}] = {name};")
        writer.line("__syncthreads();")
        writer.line(f"{name} = {pool}[0];")
        writer.line(f"for (int w = 1; w < {sharing.warps}; ++w) {name} = {how}::of({name}, {pool}[w]);")
    writer.line(f"if (threadIdx.x == 0) {part.total}[blockIdx.x] = {stored(part.dtype, name)};")


def finish(
    writer: CudaWriter, part: RowPart, array: str, sweep: Sweep, parts: Sequence[RowPart], sharing: Sharing
) -> None:
    """Write a row of sums, of which each thread has those of its columns of `sweep` in `array`."""
    how, size, lanes, width = combiner(part.combine, part.dtype), part.size, sharing.lanes, sweep.width
    rounds = sharing.rounds(sweep)
    together, alone = meet(part, parts, sharing), lanes > WARP or sharing.warps == 1
    warp = "0" if alone else f"threadIdx.x / {WARP}"
    if lanes < WARP:
        writer.line("#pragma unroll")
        more = f"{array}[k] = stride_reduce<{how}, {lanes}>({array}[k]);"
        writer.line(f"for (int k = 0; k < {rounds * width}; ++k) {more}")
    element = f"{array}[k * {width} + v]"
    if together and not alone:
        pool = writer.name("pool")
        writer.line(f"SG_SHARED({register_type(part.dtype)}, {pool}, {sharing.warps * size});")
        target, start = pool, f"{warp} * {size}"
    else:
        count = 1 if alone else sharing.warps
        target, start = part.total, f"(int64_t(blockIdx.x) * {count} + {warp}) * {size}"
        element = stored(part.dtype, element)
    only = f" && threadIdx.x % {WARP} < {lanes}" if lanes < WARP else ""
    writer.line("#pragma unroll")
    with writer.block(f"for (int k = 0; k < {rounds}; ++k)"):
        writer.line(f"const int q = k * {lanes} + lane;")
        with writer.block(f"if (q < {sweep.vectors.extent}{only})"):
            writer.line("#pragma unroll")
            writer.line(f"for (int v = 0; v < {width}; ++v) {target}[{start} + q * {width} + v] = {element};")
    if together and not alone:
        writer.line("__syncthreads();")
        with writer.block(f"for (int c = threadIdx.x; c < {size}; c += {sharing.threads})"):
            writer.line(f"{register_type(part.dtype)} sum = {target}[c];")
            add = f"sum = {how}::of(sum, {target}[w * {size} + c]);"
            writer.line(f"for (int w = 1; w < {sharing.warps}; ++w) {add}")
            writer.line(f"{part.total}[int64_t(blockIdx.x) * {size} + c] = {stored(part.dtype, 'sum')};")
