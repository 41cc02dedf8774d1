"""Schedule of attention: one function, if that pays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.kernel.expr import Const, Expr, Index, substitute
from staticgraph.compiler.kernel.indices.affine import linear
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.lower_expressions import Nest, Placer
from staticgraph.compiler.kernel.schedule_gpu.attention.cost import is_sooner
from staticgraph.compiler.kernel.schedule_gpu.attention.form import SCORES, WEIGHTS, AttentionForm, form
from staticgraph.compiler.kernel.schedule_gpu.attention.softmax import Softmax, softmax
from staticgraph.compiler.kernel.schedule_gpu.attention.tile import AttentionTile, some_keys, whole_rows
from staticgraph.compiler.kernel.schedule_gpu.function import Extents, FunctionSchedule, GpuSchedule
from staticgraph.compiler.kernel.schedule_gpu.products.axes import Axis
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.kernel.schedule_gpu.rows.group import Sharing, of_tile, stmts_of
from staticgraph.compiler.kernel.schedule_gpu.rows.inlined import Inlined
from staticgraph.compiler.kernel.schedule_gpu.rows.program import RowProgram, Sweep, row_program
from staticgraph.compiler.kernel.schedule_gpu.strides import accessed
from staticgraph.compiler.kernel.schedule_gpu.target import WARP
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, Stmt, Store
from staticgraph.compiler.machine import GpuMachine
from staticgraph.compiler.support.dataclass import dataclass

IN_SHARED = (SCORES, WEIGHTS)  # in the same place: a weight replaces its score
_BESIDES = 4 << 10  # bytes of shared memory for sums over a row
_COUNTED = 2**30  # rows or columns, of which tiles count fewer


@dataclass(frozen=True, slots=True, eq=False)
class AttentionSchedule(FunctionSchedule):
    """One function: a block for each of a batch and each tile of queries."""

    form: AttentionForm
    tile: AttentionTile

    @property
    def about(self) -> str:
        """The tile of a block."""
        return f"{self.tile.queries} queries a block, {self.tile.shared} bytes of shared memory"

    @property
    def tiles(self) -> Index:
        """The number of a tile of queries."""
        return Index("tiles of queries", -(-self.form.query.extent // self.tile.queries))

    @property
    def blocks(self) -> Axis:
        """The number of a block."""
        return Axis("block", (*self.form.batch.indices, self.tiles))

    @property
    def grid(self) -> Extents:
        return self.blocks.extent, 1, 1

    @property
    def threads(self) -> int:
        return self.tile.first.threads

    @property
    def blocks_per_core(self) -> int | None:
        return 1


@dataclass(frozen=True, slots=True, eq=False)
class WholeAttention(AttentionSchedule):
    """Rows of scores fit into shared memory; `program` is what is done to them, a warp at a time."""

    program: RowProgram
    sharing: Sharing

    kind = "attention"


@dataclass(frozen=True, slots=True, eq=False)
class OnlineAttention(AttentionSchedule):
    """Some keys after others, which only a softmax allows."""

    softmax: Softmax

    kind = "online_attention"


ATTENTION = frozenset({WholeAttention.kind, OnlineAttention.kind})  # the kinds of such functions


def attention(
    nests: Sequence[Nest],
    buffers: Mapping[str, Buffer],
    rows: Sequence[Index],
    sums: Sequence[Nest],
    precision: Precision,
    machine: GpuMachine,
) -> GpuSchedule | None:
    """The schedule of a kernel of rows that is attention; None for others, and where it does not pay."""
    made = form(nests, buffers, rows, sums)
    if made is None or max(i.extent for i in (*made.rows, made.keys)) >= _COUNTED:
        return None
    tensor = made.is_short or precision is not Precision.FLOAT32
    inlined = Inlined.of(made.nests, made.buffers, made.rows, ())
    cut = whole_rows(made, tensor)
    if cut is None or not cut.is_enough(made):
        powers, part = softmax(inlined.nests, made.rows, made.keys), some_keys(made, tensor)
        if powers is not None and part is not None and is_sooner(made, part, precision, machine):
            return GpuSchedule((OnlineAttention(made, part, powers),))
        cut = whole_rows(made, tensor, machine.block_shared_bytes - _BESIDES)
    if cut is None or not is_sooner(made, cut, precision, machine):
        return None
    program = _program(made, inlined)
    if program is None or not _keeps_to_columns(program, made.keys.extent):
        return None
    shared = of_tile(program, cut.first.threads // WARP)
    return None if shared is None else GpuSchedule((WholeAttention(made, cut, program, shared),))


def _program(made: AttentionForm, inlined: Inlined) -> RowProgram | None:
    """Return the row program: the nests that are applied to each row of the scores."""
    around = tuple(i for i in made.rows if i.extent != 1)
    placer = Placer()
    body: tuple[Stmt, ...] = tuple(s for nest in inlined.nests for s in placer.nest(nest, around))
    for index in reversed(around):
        body = (Loop(index, body),)
    return row_program(Kernel("rows", inlined.buffers, body), len(around))


def column(place: Expr, row: Index) -> Expr:
    """The column of a place in a buffer with all rows."""
    return simplify_index(substitute(place, {row: Const(0, int64)}))


def _keeps_to_columns(program: RowProgram, keys: int) -> bool:
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
