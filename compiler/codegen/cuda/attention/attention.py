"""The work of attention: one function, if that pays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.codegen.cuda.attention.cost import is_sooner
from staticgraph.compiler.codegen.cuda.attention.form import AttentionForm, form
from staticgraph.compiler.codegen.cuda.attention.online import online
from staticgraph.compiler.codegen.cuda.attention.softmax import softmax
from staticgraph.compiler.codegen.cuda.attention.tile import some_keys, whole_rows
from staticgraph.compiler.codegen.cuda.attention.whole import keeps_to_columns, whole
from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.codegen.cuda.limits import WARP
from staticgraph.compiler.codegen.cuda.product import Precision
from staticgraph.compiler.codegen.cuda.rows.group import of_tile
from staticgraph.compiler.codegen.cuda.rows.inlined import Inlined
from staticgraph.compiler.codegen.cuda.rows.program import RowProgram, row_program
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.lower_reductions import Nest, Placer
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, Stmt
from staticgraph.compiler.machine import GpuMachine

_COUNTED = 2**30  # rows or columns, of which tiles count fewer


def attention(
    nests: Sequence[Nest],
    buffers: Mapping[str, Buffer],
    rows: Sequence[Index],
    sums: Sequence[Nest],
    precision: Precision,
    machine: GpuMachine,
) -> KernelWork | None:
    """The work of a kernel of rows that is attention; None for others, and where it does not pay."""
    made = form(nests, buffers, rows, sums)
    if made is None or max(i.extent for i in (*made.rows, made.keys)) >= _COUNTED:
        return None
    tensor = made.is_short or precision is not Precision.FLOAT32
    inlined = Inlined.of(made.nests, made.buffers, made.rows, ())
    cut = whole_rows(made, tensor)
    if cut is None or not cut.is_enough(made):
        powers, part = softmax(inlined.nests, made.rows, made.keys), some_keys(made, tensor)
        if powers is not None and part is not None and is_sooner(made, part, precision, machine):
            return KernelWork((online(made, powers, part),))
    if cut is None or not is_sooner(made, cut, precision, machine):
        return None
    program = _program(made, inlined)
    if program is None or not keeps_to_columns(program, made.keys.extent):
        return None
    shared = of_tile(program, cut.first.threads // WARP)
    return None if shared is None else KernelWork((whole(made, program, shared, cut),))


def _program(made: AttentionForm, inlined: Inlined) -> RowProgram | None:
    """Return the row program: the nests that are applied to each row of the scores."""
    around = tuple(i for i in made.rows if i.extent != 1)
    placer = Placer()
    body: tuple[Stmt, ...] = tuple(s for nest in inlined.nests for s in placer.nest(nest, around))
    for index in reversed(around):
        body = (Loop(index, body),)
    return row_program(Kernel("rows", inlined.buffers, body), len(around))
