"""Attention whose rows of scores fit into shared memory: a block of threads does all of it for a few queries.

It makes the scores tile by tile, does to each row what is done to rows, a warp at a time, and multiplies the
weights that it finds there then by the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from staticgraph.compiler.codegen.cuda.attention.parts import Blocks, for_columns
from staticgraph.compiler.codegen.cuda.expr import CudaWriter, counter
from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.codegen.cuda.products.epilogue import indented
from staticgraph.compiler.codegen.cuda.products.tiles import steps
from staticgraph.compiler.codegen.cuda.rows.rows import RowWriter
from staticgraph.compiler.kernel.expr import Load
from staticgraph.compiler.kernel.schedule_gpu.attention.attention import IN_SHARED, WholeAttention, column
from staticgraph.compiler.kernel.schedule_gpu.attention.form import SCORES, WEIGHTS
from staticgraph.compiler.kernel.schedule_gpu.rows.group import stmts_of
from staticgraph.compiler.kernel.schedule_gpu.rows.program import Sweep
from staticgraph.compiler.kernel.schedule_gpu.strides import accessed
from staticgraph.compiler.kernel.schedule_gpu.target import WARP
from staticgraph.compiler.kernel.stmt import Store


def whole(made: WholeAttention) -> FunctionCall:
    """The function of a schedule."""
    blocks, form, tile, keys = Blocks(made), made.form, made.tile, made.form.keys.extent
    rows = _Rows(made)
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
    stmts = [s for item in made.program.items for s in stmts_of(item)]
    return blocks.function(lines, {s.buffer for s in accessed(stmts) if isinstance(s, Store)})


def _results(blocks: Blocks) -> list[str]:
    """Statements for the second product, from the weights that are there."""
    form, values = blocks.made.form, blocks.values
    product, shape, right, work = blocks.second(rounded=form.buffers[WEIGHTS].dtype.size == 2)
    body = [
        "float* right_kept = pool;",
        *right.start("first_column", values),
        *work.before,
        *steps([right], work, shape.depth, "0", str(product.depth)),
        "__syncthreads();",
        *work.after(product, form.along(product), shape, values),
    ]
    return for_columns(product.lanes.extent, shape.columns, body)


class _Rows(RowWriter):
    """Writes what is done to rows that wait in shared memory."""

    def __init__(self, made: WholeAttention) -> None:
        super().__init__(made.program, made.sharing, ())
        self.made, self.tile = made, made.tile

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
        writer, row, queries = self.writer, self.program.row, self.made.form.query.extent
        kind = counter(row.extent)
        writer.line("#pragma unroll 1")
        head = f"int line = threadIdx.x / {WARP}; line < {self.tile.queries}; line += {self.sharing.groups}"
        with writer.block(f"for ({head})"):
            if queries % self.tile.queries:
                writer.line(f"if (first_row + line >= {queries}) break;")
            batch = Blocks(self.made).batch
            writer.line(f"const {kind} row = {kind}({batch}) * {queries} + first_row + line;")
            writer.bind_index(row, "row")
            yield
