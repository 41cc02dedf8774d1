"""Attention whose rows of scores fit into shared memory: a block of threads does all of it for a few queries.

It makes the scores tile by tile, does to each row what is done to rows, a warp at a time, and multiplies the
weights that it finds there then by the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from staticgraph.compiler.codegen.cuda.attention.form import SCORES, WEIGHTS, AttentionForm
from staticgraph.compiler.codegen.cuda.attention.parts import IN_SHARED, Blocks, for_columns
from staticgraph.compiler.codegen.cuda.attention.tile import AttentionTile
from staticgraph.compiler.codegen.cuda.expr import CudaWriter
from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.codegen.cuda.limits import WARP
from staticgraph.compiler.codegen.cuda.products.block import steps
from staticgraph.compiler.codegen.cuda.products.epilogue import indented
from staticgraph.compiler.codegen.cuda.rows.group import Sharing, stmts_of
from staticgraph.compiler.codegen.cuda.rows.program import RowProgram, Sweep
from staticgraph.compiler.codegen.cuda.rows.rows import RowWriter
from staticgraph.compiler.codegen.cuda.strides import accessed, counter
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, substitute
from staticgraph.compiler.kernel.index import linear, simplify_index
from staticgraph.compiler.kernel.stmt import Store


def whole(form: AttentionForm, program: RowProgram, sharing: Sharing, tile: AttentionTile) -> FunctionCall:
    """The function. `program` is what is done to rows."""
    blocks, keys = Blocks(form, tile), form.keys.extent
    rows = _Rows(program, sharing, blocks)
    rows.rows()
    beyond = tile.pitch - keys
    lines = [
        *for_columns(keys, tile.first.columns, blocks.scores("0")),
        # The second product goes in whole steps.
        f"for (int i = threadIdx.x; i < {tile.queries * beyond}; i += {tile.first.threads})",
        f"  {SCORES}[i / {beyond} * {tile.pitch} + {keys} + i % {beyond}] = 0.0f;",
        "__syncthreads();",
        "{",
        *indented(rows.writer.text.split("\n")),
        "}",
    ]
    if form.second is not None:
        lines += _results(blocks)
    stmts = [s for item in program.items for s in stmts_of(item)]
    return blocks.function("attention", lines, {s.buffer for s in accessed(stmts) if isinstance(s, Store)})


def _results(blocks: Blocks) -> list[str]:
    """Statements for the second product, from the weights that are there."""
    product, shape, right, work = blocks.second(rounded=blocks.form.buffers[WEIGHTS].dtype.size == 2)
    values = blocks.axis.values
    body = [
        "float* right_kept = pool;",
        *right.start("first_column", values),
        *work.before,
        *steps([right], work, shape.depth, "0", str(product.depth)),
        "__syncthreads();",
        *work.after(product, blocks.form.along(product), shape, values),
    ]
    return for_columns(product.lanes.extent, shape.columns, body)


class _Rows(RowWriter):
    """Writes what is done to rows that wait in shared memory."""

    def __init__(self, program: RowProgram, sharing: Sharing, blocks: Blocks) -> None:
        super().__init__(program, sharing, [])
        self.blocks, self.tile = blocks, blocks.tile

    def rows(self) -> None:
        self.writer.line(f"const int lane = threadIdx.x % {WARP};")
        super().rows()

    def element(self, writer: CudaWriter, load: Load) -> str | None:
        if load.buffer not in IN_SHARED:
            return super().element(writer, load)
        name = writer.name("score")
        place = writer.value(column(load.at[0], self.program.row))
        writer.line(f"const float {name} = {SCORES}[line * {self.tile.pitch} + {place}];")
        return name

    def places(self, sweep: Sweep) -> dict[str, str]:
        at = f"q * {sweep.width} + v" if sweep.width > 1 else "q"
        shared = dict.fromkeys(IN_SHARED, f"{SCORES}[line * {self.tile.pitch} + {at}]")
        return super().places(sweep) | shared

    @contextmanager
    def row(self) -> Iterator[None]:
        writer, row, queries = self.writer, self.program.row, self.blocks.form.query.extent
        kind = counter(row.extent)
        writer.line("#pragma unroll 1")
        head = f"int line = threadIdx.x / {WARP}; line < {self.tile.queries}; line += {self.sharing.groups}"
        with writer.block(f"for ({head})"):
            if queries % self.tile.queries:
                writer.line(f"if (first_row + line >= {queries}) break;")
            writer.line(f"const {kind} row = {kind}({self.blocks.batch}) * {queries} + first_row + line;")
            writer.bind_index(row, "row")
            yield


def column(place: Expr, row: Index) -> Expr:
    """The column of a place in a buffer with all rows."""
    return simplify_index(substitute(place, {row: Const(0, int64)}))


def keeps_to_columns(program: RowProgram, keys: int) -> bool:
    """True if threads access scores and weights only in their own column.

    Furthermore, no score may be accessed after a weight has taken its place.
    """
    written = False
    for item in program.items:
        for access in accessed(stmts_of(item)):
            if access.buffer not in IN_SHARED:
                continue
            if not isinstance(item, Sweep) or item.columns != keys:
                return False
            if linear(access.at[0]).stride(program.row) != keys:
                return False
            if column(access.at[0], program.row) is not item.column:
                return False
            if access.buffer == SCORES and written:
                return False
            written |= isinstance(access, Store)
    return True
