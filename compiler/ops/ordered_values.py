"""The best elements of rows without their positions: no order among equal keys can be seen.

The compiler puts `top_values` in the place of a `top_k` whose positions nothing reads. Many short rows go
through a sorting network, one in each vector lane; others are sorted by the digits of keys.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import REAL, UNSIGNED, int32, int64
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, Size, is_open, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr, Index, number
from staticgraph.compiler.kernel.form import Selection, StagedForm
from staticgraph.compiler.kernel.stmt import Buffer, If, Loop, LoopKind, Stmt, Store
from staticgraph.compiler.ops.digits import RadixSort
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.loops import counters, nested
from staticgraph.compiler.ops.movement import unraveled
from staticgraph.compiler.ops.networks import LANES, Network
from staticgraph.compiler.ops.rank_keys import Put, descending, of_descending, twins_restored
from staticgraph.compiler.ops.samples import Sample, distinct
from staticgraph.compiler.ops.sorting import best, top_k_type
from staticgraph.compiler.ops.strips import Body, Fresh

_FEW_ROWS = 8  # that are worth the vector lanes of a network
_LONGEST = 8192  # bytes of keys of one row in a network: those of all lanes stay in the second cache
_LONGEST_OPEN = 1024  # the same if there may be few rows
_SCARCE = 8  # elements for each one of the best: then most need not be brought in order


def is_worth(shape: tuple[AnySize, ...], k: AnySize) -> bool:
    """Return True if it pays to leave the positions out."""
    n = shape[-1]
    return not is_open((n, k)) and k * _SCARCE > n and n > 1


def _type(input: TensorType, k: Any, ascending: bool = False) -> TensorType:
    return top_k_type(input, k)[0]


def _opposite(x: Any) -> Any:
    """The number whose order among such numbers is that of `x`, reversed."""
    return -x if x.dtype.kind == "f" else ~x


def _top_values(input: np.ndarray, k: int, ascending: bool = False) -> np.ndarray:
    if ascending:
        return _opposite(_top_values(_opposite(input), k))
    return best(input, k)[0]


@routine(
    type=_type,
    numpy=_top_values,
    operands=("k",),
    partial=("k",),
    dtypes=REAL,
    differentiable=False,
    samples=[
        Sample(distinct(7), k=3),
        Sample(distinct(2, 6), k=6),
        Sample(distinct(3, 3, 4), k=1),
        Sample(distinct(3, 4), k=0),
        Sample(distinct(9, 33), k=32),
        Sample(distinct(9, 4), k=4, ascending=True),
    ],
)
def top_values(
    outs: tuple[Out, ...], input: View, *, k: int, ascending: bool = False
) -> tuple[Stmt, ...] | Described:
    """The k largest elements of each row, greatest first. If `ascending`, the smallest, least first.

    NaN comes last: it counts as the lowest value, or as the greatest if `ascending`.
    """
    if same(k, 0) or same(math.prod(input.shape), 0):
        return ()
    k, _ = operator.index(k), operator.index(input.shape[-1])  # undecided if it is open

    def opposite(x: Expr) -> Expr:
        return x if not ascending else scalar.neg(x) if x.dtype.is_floating else scalar.invert(x)

    given = View(input.shape, input.dtype, lambda at: opposite(input[at]))

    def put(at: tuple[Expr, ...], value: Expr) -> Store:
        return Store(outs[0].buffer, at, opposite(value))

    row, column = counters(input.shape[:-1], "row"), Index("column", input.shape[-1])
    item = input[(*row, column)]
    places = Out("value_places", (*input.shape[:-1], k), int32)
    stage = Selection(
        outs[0].buffer, places.buffer, row, column, item, descending(given[(*row, column)]), k
    )
    form = StagedForm((stage,), {places.buffer: _written(places)})
    rows, size = math.prod(input.shape[:-1]), input.shape[-1] * input.dtype.size
    many = size <= _LONGEST_OPEN if isinstance(rows, Size) else rows >= _FEW_ROWS and size <= 2 * _LONGEST
    made = _by_network(given, k, put) if many else _by_digits(given, k, put)
    return Described(made.body, form, made.scratch)


def _written(out: Out) -> Buffer:
    return Buffer(out.dtype, out.shape, written=True)


def _by_network(input: View, k: int, write: Put) -> Described:
    """The statements that sort `LANES` rows at a time."""
    *batch, length = input.shape
    rows, fresh = math.prod(batch), Fresh()
    network = Network("network_keys", length, UNSIGNED[input.dtype.size], fresh)
    group, lane = Index("group", (rows + (LANES - 1)) // LANES), Index("lane", LANES)
    number_of_row = group * LANES + lane
    last = number(rows - 1, int64)

    def at(row: Expr) -> tuple[Expr, ...]:
        return unraveled(row, batch)

    def make(column: Expr) -> Expr:
        return descending(input[(*at(scalar.minimum(number_of_row, last)), column)])

    def put(column: Expr, key: Expr) -> Stmt:
        return write((*at(number_of_row), column), of_descending(key, input.dtype))

    inside = number_of_row <= last
    out = network.emptied(lane, k, put, inside)
    restored = twins_restored(write, input, at(number_of_row), k)
    mend = (Loop(lane, (If(inside, restored),)),) if restored else ()
    body = (*network.filled(lane, make), *network.sorted(), *out, *mend)
    return Described((Loop(group, body, LoopKind.PARALLEL),), scratch=network.scratch)


def _by_digits(input: View, k: int, write: Put) -> Described:
    """The statements of a radix sort of keys."""
    row, length = counters(input.shape[:-1], "row"), input.shape[-1]
    unsigned = UNSIGNED[input.dtype.size]

    def put(place: Expr, key: Expr, column: Expr) -> Body:
        store = write((*row, place), of_descending(key, input.dtype))
        return (store,) if k == length else (If(place < k, (store,)),)

    def key(column: Expr) -> Expr:
        return descending(input[(*row, column)])

    sort = RadixSort(row, length, unsigned, 8 * unsigned.size, key, put, columns=False).described()
    restored = twins_restored(write, input, row, k)
    if not restored:
        return sort
    if not row:
        restored = (Loop(Index("once", 1), restored),)
    return Described((*sort.body, *nested(row, restored, LoopKind.PARALLEL)), scratch=sort.scratch)
