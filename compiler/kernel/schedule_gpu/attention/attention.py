"""Schedule of attention: one function, if that pays.

One function keeps scores and weights on the chip, and needs one launch instead of three. The library
multiplies much faster. So one function is for short products, and for scores that would take much memory.

Weights that are a softmax of scores are recognised by their expressions:

    weights[k] = exp(x[k] - maximum(x)) / sum(exp(x - maximum(x)))          x[k] is made of scores[k]

Such weights can be made from the first keys before the others are known, and corrected later. What is done to
them afterwards may scale each, or set it to 0, as a dropout does: then it may be done before the division.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, Reduce, Scalar, substitute, walk
from staticgraph.compiler.kernel.indices.affine import linear
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.lower_expressions import Nest, Placer
from staticgraph.compiler.kernel.schedule_gpu.attention.form import (
    SCORES,
    WEIGHTS,
    AttentionForm,
    form,
    position,
)
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


@dataclass(frozen=True, slots=True)
class Softmax:
    """`x` is what the softmax is of, in terms of the indices of rows and keys. `weight` is made of `part`,
    which is the softmax, or any multiple of it.
    """

    x: Expr
    part: Local
    weight: Expr


def softmax(nests: Sequence[Nest], rows: Sequence[Index], keys: Index) -> Softmax | None:
    """Return the softmax that the nests compute; None if they compute anything else.

    The nests must not use local rows. They may store numbers for each row, and the weights once.
    """
    numbers: dict[Expr, Expr] = {}
    stores = []
    for nest in nests:
        for store in nest.stores:
            if store.at == () and nest.domain == tuple(rows):
                numbers[Load(store.buffer, (), store.value.dtype)] = substitute(store.value, numbers)
            else:
                stores.append(store)
    if len(stores) != 1 or stores[0].buffer != WEIGHTS or stores[0].at != position((*rows, keys)):
        return None
    value = substitute(stores[0].value, numbers)
    for quotient in walk(value):
        x = _operand(quotient, keys)
        if x is not None:
            part = Local("part", quotient.dtype)
            weight = substitute(value, {quotient: part})
            plain = all(map(partial(_is_plain, at=position((*rows, keys))), walk(x, weight)))
            return Softmax(x, part, weight) if plain and _scales(weight, part) else None
    return None


def _is_plain(e: Expr, at: tuple[Expr, ...]) -> bool:
    """True if an expression reads no score other than the one at position `at`, and reduces nothing."""
    return not isinstance(e, Reduce) and not (isinstance(e, Load) and e.buffer == SCORES and e.at != at)


def _operand(e: Expr, keys: Index) -> Expr | None:
    """Return the expression that `e` is the softmax of; None if `e` is no softmax over `keys`."""
    match e:
        case Scalar("div", (Scalar("exp", (Scalar("sub", (x, most)),)) as power, total)):
            largest, summed = _combined(most, "maximum", keys), _combined(total, "add", keys)
            return x if largest is _uncast(x) and summed is power else None
    return None


def _combined(e: Expr, combine: str, keys: Index) -> Expr | None:
    """Return the value at one of the `keys` that `e` reduces over all of them with `combine`, else None.

    The dtype of the reduction does not matter.
    """
    match _uncast(e):
        case Reduce((axis,), how, value) if how == combine and axis.extent == keys.extent:
            return _uncast(simplify_index(substitute(value, {axis: keys})))
    return None


def _uncast(e: Expr) -> Expr:
    while isinstance(e, Scalar) and e.op == "cast" and e.dtype.is_floating and e.args[0].dtype.is_floating:
        e = e.args[0]
    return e


def _scales(e: Expr, part: Local) -> bool:
    """True if an expression is a multiple of `part`, or 0."""
    if part not in walk(e):
        return isinstance(e, Const) and e.value == 0
    match e:
        case Scalar("mul", (x, y)):
            return _scales(x, part) if part not in walk(y) else part not in walk(x) and _scales(y, part)
        case Scalar("div", (x, y)):
            return part not in walk(y) and _scales(x, part)
        case Scalar("neg" | "cast", (x,)):
            return e.dtype.is_floating and _scales(x, part)
        case Scalar("select", (condition, x, y)):
            return part not in walk(condition) and _scales(x, part) and _scales(y, part)
    return e is part


_QUERIES = 32  # of a block without tensor cores: with fewer, operands are read so much more often
_MUCH = 1 << 30  # bytes of scores: what does not fit is not done sooner


def is_sooner(form: AttentionForm, tile: AttentionTile, precision: Precision, machine: GpuMachine) -> bool:
    """True if one function with this tile is estimated to be as fast as the library, or faster."""
    queries, keys, batch = form.query.extent, form.keys.extent, form.batch.extent
    scores = batch * queries * keys
    if 4 * scores >= _MUCH:
        return True
    depth = form.first.depth + (form.second.lanes.extent if form.second is not None else 0)
    own = machine.own_products * min(1.0, tile.queries / _QUERIES)
    own = machine.own_tensor_products if tile.first.tensor else own
    if 2 * tile.shared > machine.shared_bytes:  # then a block is alone on its multiprocessor: an estimate
        own /= 2
    idle = max(1.0, machine.multiprocessors / (batch * -(-queries // tile.queries)))
    together = machine.launch_us + idle * scores * depth / own
    rounded = precision is not Precision.FLOAT32
    library = machine.library_rounded_products if rounded else machine.library_products
    library = machine.library_short_products if form.is_short else library
    size = form.first.a.dtype.size
    # Scores are written and read, and weights are, which may be written in any case.
    kept = sum(s.buffer != WEIGHTS for nest in form.nests for s in nest.stores if len(s.at) > 1)
    passes = 2 + (2 if form.second is not None else 1) - min(kept, 1)
    launches = 2 if form.second is None else 3
    multiplied, moved = scores * depth / library, passes * scores * size / machine.bytes_per_us
    return together <= launches * machine.launch_us + multiplied + moved
