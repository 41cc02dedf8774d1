"""Scans of which neighbours in memory belong to others: a thread for each part of each row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from staticgraph.compiler.codegen.cuda.expr import CudaWriter, counter, index_type
from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.codegen.cuda.prelude import register_type
from staticgraph.compiler.codegen.cuda.scalar import constant, loaded, stored
from staticgraph.compiler.codegen.cuda.scans.items import begun, beyond, ended
from staticgraph.compiler.kernel.schedule_gpu.limits import THREADS
from staticgraph.compiler.kernel.schedule_gpu.scans.line import PARTIAL, Line
from staticgraph.compiler.kernel.schedule_gpu.scans.scan import ScanSchedule


def across(made: ScanSchedule) -> FunctionCall:
    """The totals of all items of a part, or that of the part."""
    line = made.line
    writer, number = begun(line), register_type(line.dtype)
    _thread(writer, line, made.parts)
    writer.line(f"{number} total = {constant(0, line.dtype)};\nbool begun = false;")
    if line.parts > 1 and not made.totals:
        partial = loaded(line.dtype, f"{PARTIAL}[p * {line.scan.rows} + row]")
        writer.line("#pragma unroll 8")
        with writer.block("for (int p = 0; p < part; ++p)"):
            writer.line(f"const {number} before = {partial};")
            writer.line("total = begun ? Combine::of(total, before) : before;\nbegun = true;")
    with _items(writer, line):
        value = writer.wide(line.item())
        writer.line(f"total = begun ? Combine::of(total, {value}) : {value};\nbegun = true;")
        if not made.totals:
            place = writer.place(line.scan.target, line.result())
            writer.line(f"{line.scan.target}[{place}] = {stored(line.dtype, 'total')};")
    if made.totals:
        writer.line(f"{PARTIAL}[part * {line.scan.rows} + row] = {stored(line.dtype, 'total')};")
    return ended(made, writer)


def _thread(writer: CudaWriter, line: Line, parts: int) -> None:
    """The row and the part of a thread."""
    rows, kind = line.scan.rows, counter(line.scan.rows * parts + THREADS)
    writer.line(f"const {kind} thread = {kind}(blockIdx.x) * {THREADS} + threadIdx.x;")
    writer.line(f"if (thread >= {rows * parts}) return;")
    writer.line(f"const int part = thread / {rows};")
    writer.line(f"const {index_type(line.row)} row = thread - {index_type(line.row)}(part) * {rows};")
    writer.bind_index(line.row, "row")


@contextmanager
def _items(writer: CudaWriter, line: Line) -> Iterator[None]:
    """For each item of the thread's part."""
    count = line.scan.length
    kind = beyond(line, line.length)
    first, end = "0", str(count)
    if line.parts > 1:
        writer.line(f"const {kind} first = {kind}(part) * {line.length};")
        writer.line(f"const {kind} end = min({kind}({count}), {kind}(first + {line.length}));")
        first, end = "first", "end"
    writer.line("#pragma unroll 8")
    with writer.block(f"for ({kind} k = {first}; k < {end}; ++k)"):
        writer.bind_index(line.k, "k")
        yield
