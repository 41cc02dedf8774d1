"""The best elements of rows without their positions: no order among equal keys can be seen.

The compiler puts `top_values` in the place of a `top_k` whose positions nothing reads. Many short rows go
through a sorting network, one in each vector lane; others are sorted by the digits of keys. If the length of
rows is open, a run does one or the other.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import REAL, UNSIGNED, DType, int32, int64
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, Size, is_open, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, number
from staticgraph.compiler.kernel.form import Selection, StagedForm
from staticgraph.compiler.kernel.stmt import Buffer, If, Loop, LoopKind, Stmt, Store
from staticgraph.compiler.ops.arrays.movement import unraveled
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.ordering import bucket_sort
from staticgraph.compiler.ops.ordering.bucket_sort import BucketSort
from staticgraph.compiler.ops.ordering.digits import RadixSort
from staticgraph.compiler.ops.ordering.networks import LANES, Network
from staticgraph.compiler.ops.ordering.rank_keys import descending, is_twin, of_descending, twins_restored
from staticgraph.compiler.ops.ordering.sorting import best, top_k_type
from staticgraph.compiler.ops.ordering.whole_rows import Row, in_parts
from staticgraph.compiler.ops.samples import Sample, distinct
from staticgraph.compiler.ops.statements.loops import counters, first_of, nested
from staticgraph.compiler.ops.statements.strips import Body, Fresh
from staticgraph.compiler.support.dataclass import dataclass, replace

_FEW_ROWS = 8  # that are worth the vector lanes of a network
_LONGEST = 8192  # bytes of keys of one row in a network: those of all lanes stay in the second cache
_LONGEST_OPEN = 1024  # the same if there may be few rows
_LONGEST_OF_ALL = 2048  # the same if a run says how long rows are: there is code for the longest ones
_SCARCE = 8  # elements for each one of the best: then most need not be brought in order


def is_worth(shape: tuple[AnySize, ...], k: AnySize) -> bool:
    """Return True if it pays to leave the positions out."""
    n = shape[-1]
    if is_open((n, k)):
        return same(n, k)
    return k * _SCARCE > n and n > 1


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
    type=_type, numpy=_top_values, operands=("k",), partial=("k",), dtypes=REAL, differentiable=False,
    samples=[Sample(distinct(7), k=3), Sample(distinct(2, 6), k=6), Sample(distinct(3, 3, 4), k=1),
             Sample(distinct(3, 4), k=0), Sample(distinct(9, 33), k=32),
             Sample(distinct(9, 4), k=4, ascending=True)],
)
def top_values(
    outs: tuple[Out, ...], input: View, *, k: int, ascending: bool = False
) -> tuple[Stmt, ...] | Described:
    """The k largest elements of each row, greatest first. If `ascending`, the smallest, least first.

    NaN comes last: it counts as the lowest value, or as the greatest if `ascending`.
    """
    if same(k, 0) or same(math.prod(input.shape), 0):
        return ()
    if not same(k, input.shape[-1]):
        k, _ = operator.index(k), operator.index(input.shape[-1])  # undecided if it is open
    data = _Rows(input, outs[0], k, ascending)
    row, column = counters(input.shape[:-1], "row"), Index("column", input.shape[-1])
    places = Out("value_places", (*input.shape[:-1], k), int32)
    key, item = data.key(row, column), data.element(row, column)
    stage = Selection(outs[0].buffer, places.buffer, row, column, item, key, k)
    form = StagedForm((stage,), {places.buffer: _written(places)})
    made = data.in_order()
    return Described(made.body, form, made.scratch)


def _written(out: Out) -> Buffer:
    return Buffer(out.dtype, out.shape, written=True)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of `input`, of which the first `count` elements in order become the rows of `out`."""

    input: View
    out: Out
    count: AnySize
    ascending: bool

    def in_order(self) -> Described:
        """The statements of the sort that fits the sizes."""
        if self.are_many is None:
            return self.by_either()
        if self.are_many:
            return self.by_network(Fresh())
        if isinstance(self.length, Size) or not self.are_long:
            return self.by_digits()
        return self.by_buckets()

    @property
    def unsigned(self) -> DType:
        """The dtype of keys."""
        return UNSIGNED[self.input.dtype.size]

    @property
    def length(self) -> AnySize:
        """The number of elements of a row."""
        return self.input.shape[-1]

    @property
    def longest_open(self) -> int:
        """The number of elements of a row of open length, up to which there is a network."""
        return _LONGEST_OF_ALL // self.input.dtype.size

    @property
    def are_many(self) -> bool | None:
        """True if there are so many rows that each vector lane can take one, and they are not long; None if
        that is not known.
        """
        rows, size = math.prod(self.input.shape[:-1]), self.length * self.input.dtype.size
        if not isinstance(rows, Size) and rows < _FEW_ROWS:
            return False
        if isinstance(size, Size):
            return None
        if size > 2 * _LONGEST:
            return False
        return True if not isinstance(rows, Size) or size <= _LONGEST_OPEN else None

    @property
    def are_long(self) -> bool:
        """True if all threads should work at each row."""
        rows = math.prod(self.input.shape[:-1])
        return self.unsigned.size > 1 and bucket_sort.is_worth(rows, self.length)

    def element(self, row: Row, column: Expr) -> Expr:
        """An element of the input."""
        return self.input[(*row, column)]

    def key(self, row: Row, column: Expr) -> Expr:
        """The key of an element."""
        x = self.element(row, column)
        if not self.ascending:
            return descending(x)
        return descending(scalar.neg(x) if x.dtype.is_floating else scalar.invert(x))

    def put(self, row: Row, place: Expr, key: Expr) -> Store:
        """The statement that writes an element of such a key. Zeros are positive."""
        x = of_descending(key, self.out.dtype)
        if self.ascending:
            x = Const(0, x.dtype) - x if x.dtype.is_floating else scalar.invert(x)
        return Store(self.out.buffer, (*row, place), x)

    def put_all(self, row: Row) -> Callable[[Expr, Expr, Expr], Body]:
        """`put(place, key, column)`: statements that write an element to its place if it is wanted."""

        def put(place: Expr, key: Expr, column: Expr) -> Body:
            store = self.put(row, place, key)
            return (store,) if same(self.count, self.length) else (If(place < self.count, (store,)),)

        return put

    def restored(self, row: Row, found: Expr | None = None) -> Body:
        """Statements that write those elements which `put` does not give back."""
        return twins_restored(
            (partial(self.element, row), self.length, self.input.dtype),
            self.count,
            lambda place, x: Store(self.out.buffer, (*row, place), x),
            partial(self.key, row),
            found,
        )

    def by_network(self, fresh: Fresh) -> Described:
        """The statements that sort `LANES` rows at a time; rows of open length, if they are not too long."""
        batch = self.input.shape[:-1]
        rows, most = math.prod(batch), self.longest_open if isinstance(self.length, Size) else 0
        network = Network("network_keys", self.length, self.unsigned, fresh, most)
        group, lane = Index("group", (rows + (LANES - 1)) // LANES), Index("lane", LANES)
        number_of_row = group * LANES + lane
        last = number(rows - 1, int64)
        row = unraveled(number_of_row, batch)

        def make(column: Expr) -> Expr:
            return self.key(unraveled(scalar.minimum(number_of_row, last), batch), column)

        inside = number_of_row <= last
        count = network.length if isinstance(self.count, Size) else self.count
        out = network.emptied(lane, count, partial(self.put, row), inside)
        restored = self.restored(row)
        mend = (Loop(lane, (If(inside, restored),)),) if restored else ()
        body = (*network.filled(lane, make), *network.sorted(), *out, *mend)
        return Described((Loop(group, body, LoopKind.PARALLEL),), scratch=network.scratch)

    def by_either(self) -> Described:
        """The statements of a network, and of radix sorts for few rows or long ones, if a run tells which."""
        batch, bits = self.input.shape[:-1], 8 * self.unsigned.size
        rows, length = (number(n, int64) for n in (math.prod(batch), self.length))
        most = self.longest_open if isinstance(self.length, Size) else self.length
        in_network = (rows >= _FEW_ROWS) & (length <= most)
        others = (rows < _FEW_ROWS) | (length > most)

        def sort(row: Row) -> RadixSort:
            key, put = partial(self.key, row), self.put_all(row)
            return RadixSort((), self.length, self.unsigned, bits, key, put, columns=False)

        def one(row: Row) -> Body:
            return (If(others, (*sort(row).one_by_one(), *self.restored(row))),)

        digits, scratch = in_parts(batch, one), sort(()).scratch((), sort(()).passes, shared=False)
        network = self.by_network(Fresh())
        (groups,) = network.body
        assert isinstance(groups, Loop) and network.scratch is not None
        _, some = first_of(self.length)
        body = (replace(groups, body=nested(some, (If(in_network, groups.body),))), *digits)
        return Described(body, scratch={**network.scratch, **scratch})

    def by_buckets(self) -> Described:
        """The statements of a sort of few long rows."""
        row = counters(self.input.shape[:-1], "row")
        sort = BucketSort(
            row, self.length, self.count, self.unsigned, partial(self.key, row), partial(self.put, row),
            lambda column: is_twin(self.element(row, column)),
        )  # fmt: skip
        return self._mended(row, sort.described(), sort.any_unusual)

    def by_digits(self) -> Described:
        """The statements of a radix sort of keys."""
        row = counters(self.input.shape[:-1], "row")
        bits, key = 8 * self.unsigned.size, partial(self.key, row)
        sort = RadixSort(row, self.length, self.unsigned, bits, key, self.put_all(row), columns=False)
        return self._mended(row, sort.described())

    def _mended(self, row: tuple[Index, ...], sort: Described, found: Expr | None = None) -> Described:
        restored = self.restored(row, found)
        if not restored:
            return sort
        if not row:
            restored = (Loop(Index("once", 1), restored),)
        return Described((*sort.body, *nested(row, restored, LoopKind.PARALLEL)), scratch=sort.scratch)
