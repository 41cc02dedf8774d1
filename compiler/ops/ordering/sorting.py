"""Order: top_k and what is made of it, and the positions of extreme elements.

`top_k` finds the last one of the best (`cutoffs.py`) and sorts those that are better by the digits of
their keys (`digits.py`). If most are wanted, all are sorted (`whole_rows.py`). If few are wanted, each is
looked for by itself (`partial_selection_sort.py`). If sizes are open and not all are wanted, a heap keeps the
best, with the worst of them as its root. NaN counts as the lowest value, and of equal elements the first is
better.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING, REAL, UNSIGNED, DType, bool_, int32, int64
from staticgraph.compiler.graph.errors import OperandError, require
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, normalize_axis, shape_text
from staticgraph.compiler.graph.sizes import AnySize, Size, bounds, is_open, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr, Index, Local, number
from staticgraph.compiler.kernel.form import Selection
from staticgraph.compiler.kernel.stmt import If, Let, Loop, LoopKind, Stmt, Store, Update, While
from staticgraph.compiler.ops.arrays.creation import positions
from staticgraph.compiler.ops.arrays.movement import INDEX, check_index
from staticgraph.compiler.ops.kinds import Described, Out, View, composite, routine
from staticgraph.compiler.ops.ordering.cutoffs import Cutoff
from staticgraph.compiler.ops.ordering.digits import RadixSort
from staticgraph.compiler.ops.ordering.partial_selection_sort import by_selection, first_of_best
from staticgraph.compiler.ops.ordering.rank_keys import descending, lowest_if_nan
from staticgraph.compiler.ops.ordering.whole_rows import COUNTED, WholeRows
from staticgraph.compiler.ops.samples import Sample, distinct, indices, real
from staticgraph.compiler.ops.statements.loops import counters, first_of, nested
from staticgraph.compiler.ops.statements.strips import Fresh

_FEW = 2  # elements for each one of the best at least, where a cut-off comes before the sort
_RARE = 4  # elements for each one of the best at least, where each is looked for by itself
_LOOKED_AT = 4096  # elements that this looks at, at most
_LANES = 16  # elements that are worth vector lanes, and scratch memory for keys


def top_k_type(input: TensorType, k: Any, sorted: bool = True) -> tuple[TensorType, TensorType]:
    """The types of the values and the positions that `top_k` gives."""
    if input.shape is None:
        return input, TensorType(int32, None)
    require(input.shape, "the input must have at least one axis")
    n = input.shape[-1]
    require(k is None or k >= 0, f"Need k >= 0, got {k}")
    require(
        k is None or n is None or k <= n,
        f"input must have last dimension >= k = {k}, and has shape {shape_text(input.shape)}",
    )
    shape = (*input.shape[:-1], k)
    return TensorType(input.dtype, shape), TensorType(int32, shape)


def _rank_key(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), -np.inf, x).astype(x.dtype) if x.dtype.kind == "f" else x


def best(input: np.ndarray, k: int, sorted: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The meaning of `top_k`."""
    n = input.shape[-1]
    # Of the reversed sequence, the ascending stable order read backwards is descending with ties in order.
    order = (n - 1 - np.argsort(_rank_key(input)[..., ::-1], axis=-1, kind="stable")[..., ::-1])[..., :k]
    return np.take_along_axis(input, order, -1), order.astype(np.int32)


def _interval_of_positions(y: Value, *_: Any) -> tuple[float, float]:
    """Return the interval of positions along an axis of the first input, by default the last one."""
    length = y.node.inputs[0].shape[y.node.attrs.get("axis", -1)]
    return 0, max(bounds(length)[1], 1) - 1


def _top_k_grad(g: Any, y: Any, input: Any, k: int, sorted: bool = True) -> tuple[Any]:
    if g[0] is None:
        return (None,)
    last = len(input.shape) - 1
    return (ops.gather_grad(g[0], y[1], shape=input.shape, axis=last, batch_dims=last),)


@routine(
    tf="TopKV2", type=top_k_type, numpy=best, operands=("k",), partial=("k",), dtypes=REAL, grad=_top_k_grad,
    decides_by=0,
    samples=[Sample(distinct(7), k=3), Sample(distinct(2, 6), k=6), Sample(distinct(2, 3, 4), k=1),
             Sample(distinct(3, 4), k=0), Sample(distinct(1), k=1), Sample(distinct(33), k=32)],
    interval=lambda y, *_: _interval_of_positions(y) if y.index else None,
)
def top_k(outs: tuple[Out, ...], input: View, *, k: int, sorted: bool = True) -> tuple[Stmt, ...] | Described:
    """The k largest elements of each row along the last axis, greatest first, and their positions.

    `sorted=False` allows any order in TF1; here it changes nothing.
    """
    if same(k, 0) or same(math.prod(input.shape), 0):
        return ()
    row, column = counters(input.shape[:-1], "row"), Index("column", input.shape[-1])
    item = input[(*row, column)]
    form = Selection(outs[0].buffer, outs[1].buffer, row, column, item, descending(item), k)
    n, whole = input.shape[-1], WholeRows(outs[0], outs[1], input, k)
    if isinstance(n, Size) and same(k, n):
        made = whole.of_open_length()
    elif is_open((n, k)):
        made = Described(nested(row, _Heap(outs[0], outs[1], row, k).select(input), LoopKind.PARALLEL))
    elif same(k, 1):
        made = first_of_best(outs, input, row)
    elif n >= _LANES and k * _RARE <= n and k * n <= _LOOKED_AT:
        made = by_selection(outs, input, row, k)
    elif n <= COUNTED:
        made = whole.by_counting(row)
    elif k * _FEW <= n:
        made = _by_cutoff(whole, row)
    else:
        made = whole.by_digits(row)
    return Described(made.body, form, made.scratch)


def _by_cutoff(rows: WholeRows, row: tuple[Index, ...]) -> Described:
    """The statements that sort those elements that are as good as the last one of the best."""
    input, unsigned = rows.input, UNSIGNED[rows.input.dtype.size]
    put = partial(rows.put_first, row)
    cut = Cutoff(rows.length, rows.count, unsigned, Fresh())
    sort = RadixSort(
        (),
        rows.length,
        unsigned,
        8 * unsigned.size,
        key=lambda i: cut.key(scalar.cast(cut.column(i), int64)),
        put=lambda place, key, i: put(place, key, cut.column(scalar.cast(i, int64))),
        present=cut.found,
    ).described()
    keys = cut.filled(lambda column: descending(input[(*row, column)]))
    steps = (*keys, *cut.bound(), *cut.candidates(), *sort.body, *cut.equal(put))
    body = nested(row, steps, LoopKind.PARALLEL)
    return Described(body, scratch={**cut.scratch, **(sort.scratch or {})})


class _Heap:
    """The statements of a heap in two rows of the results: the values, and their positions in the input."""

    def __init__(self, values: Out, places: Out, row: tuple[Index, ...], size: AnySize) -> None:
        self.values, self.places, self.row, self.size = values, places, row, size
        self.numbers: Iterator[int] = itertools.count()
        self.root, self.begun = first_of(size)

    def select(self, x: View) -> tuple[Stmt, ...]:
        """Put the best elements of a row of `x` into the heap, then take them out again, worst first."""
        k, n = self.size, x.shape[-1]
        first, half, later, end = (
            Index("first", k),
            Index("half", k // 2),
            Index("later", n - k),
            Index("end", k - 1),
        )
        fill = self.put(first, x[(*self.row, first)], scalar.cast(first, int32))
        node = (k // 2 - 1) - half
        order = self.sift(node, number(k, int64), self.value(node), self.place(node))
        item = (x[(*self.row, later + k)], scalar.cast(later + k, int32))
        root = self.root
        replace = If(
            self.worse((self.value(root), self.place(root)), item), self.sift(root, number(k, int64), *item)
        )
        last = (k - 1) - end
        rounds = Loop(first, fill), Loop(half, order), Loop(later, (replace,)), Loop(end, self.take(last))
        return nested(self.begun, rounds)

    def take(self, last: Expr) -> tuple[Stmt, ...]:
        """Move the worst element to the place `last`, where the heap then ends."""
        value, place = self.local("taken", self.values.dtype), self.local("taken_from", int32)
        root = self.root
        keep = (Let(value, self.value(last)), Let(place, self.place(last)))
        return (
            *keep,
            *self.put(last, self.value(root), self.place(root)),
            *self.sift(root, last, value, place),
        )

    def sift(self, hole: Expr, size: Expr, value: Expr, place: Expr) -> tuple[Stmt, ...]:
        """Let an element sink from `hole` until nothing below it, in a heap of `size`, is worse."""
        at, child = self.local("at", int64), self.local("child", int64)
        held, origin = self.local("held", self.values.dtype), self.local("origin", int32)
        left, sinks = self.local("left", int64), self.local("sinks", bool_)
        right = scalar.minimum(left + 1, size - 1)
        better_child = self.worse(self.item(right), self.item(left))
        step = (
            Let(left, child),
            Update(child, scalar.select(better_child, right, left)),
            Let(sinks, self.worse(self.item(child), (held, origin))),
            If(sinks, (*self.put(at, *self.item(child)), Update(at, child))),
            Update(child, scalar.select(sinks, child * 2 + 1, size)),
        )
        return (
            Let(held, value), Let(origin, place), Let(at, hole), Let(child, hole * 2 + 1),
            While(child < size, step), *self.put(at, held, origin),
        )

    def item(self, i: Expr) -> tuple[Expr, Expr]:
        return self.value(i), self.place(i)

    def value(self, i: Expr) -> Expr:
        return self.values[(*self.row, i)]

    def place(self, i: Expr) -> Expr:
        return self.places[(*self.row, i)]

    def put(self, i: Expr, value: Expr, place: Expr) -> tuple[Stmt, ...]:
        at = (*self.row, i)
        return Store(self.values.buffer, at, value), Store(self.places.buffer, at, place)

    def local(self, name: str, dtype: DType) -> Local:
        return Local(f"{name}{next(self.numbers)}", dtype)

    def worse(self, a: tuple[Expr, Expr], b: tuple[Expr, Expr]) -> Expr:
        """Return the condition that element `a` comes after `b`."""
        x, y = lowest_if_nan(a[0]), lowest_if_nan(b[0])
        return (x < y) | (scalar.eq(x, y) & (a[1] > b[1]))


def _nth_type(input: TensorType, n: Any, reverse: bool = False) -> TensorType:
    if input.shape is None:
        return input
    require(input.shape, "the input must have at least one axis")
    size = input.shape[-1]
    require(n is None or size is None or 0 <= n < size, f"n is {n}, and the last axis has {size} elements")
    return TensorType(input.dtype, input.shape[:-1])


def _nth(input: np.ndarray, n: int, reverse: bool = False) -> np.ndarray:
    return np.sort(input, -1)[..., input.shape[-1] - 1 - n if reverse else n]


def _nth_grad(g: Any, y: Any, input: Any, n: int, reverse: bool = False) -> tuple[Any]:
    """Equal elements share the cotangent."""
    chosen = ops.cast(ops.equal(input, ops.expand_dims(y, axis=-1)), dtype=input.dtype)
    shares = ops.reduce_sum(chosen, axis=-1, keepdims=True)
    return (chosen * (ops.expand_dims(g, axis=-1) / shares),)


@composite(
    tf="NthElement", type=_nth_type, numpy=_nth, grad=_nth_grad, operands=("n",), partial=("n",), dtypes=REAL,
    samples=[Sample(distinct(7), n=3), Sample(distinct(2, 6), n=1, reverse=True),
             Sample(distinct(2, 3, 4), n=3)],
)
def nth_element(input: Any, *, n: int, reverse: bool = False) -> Any:
    """The element that has n smaller ones in its row; with `reverse`, n greater ones."""
    k = n + 1 if reverse else input.shape[-1] - n
    best, _ = top_k(input, k=k)
    *rows, _ = input.shape
    last = ops.slice(best, begin=[*(0 for _ in rows), k - 1], size=[*rows, 1])
    return ops.reshape(last, shape=rows)


def _intop_k_type(predictions: TensorType, targets: TensorType, k: Any) -> TensorType:
    require(
        predictions.rank in (None, 2),
        f"predictions must have shape [batch, classes], not {shape_text(predictions.shape)}",
    )
    require(targets.rank in (None, 1), f"targets must have shape [batch], not {shape_text(targets.shape)}")
    if targets.shape is None:
        return TensorType(bool_, None if predictions.shape is None else predictions.shape[:1])
    batch = (
        targets.shape if targets.shape[0] is not None or predictions.shape is None else predictions.shape[:1]
    )
    if predictions.shape is not None and predictions.shape[0] is not None:
        require(
            batch[0] == predictions.shape[0], f"{batch[0]} targets for {predictions.shape[0]} predictions"
        )
    return TensorType(bool_, batch)


def _in_top_k(predictions: np.ndarray, targets: np.ndarray, k: int) -> np.ndarray:
    inside = (targets >= 0) & (targets < predictions.shape[1])
    if not predictions.shape[1]:
        return inside
    rows = np.arange(len(targets))
    own = predictions[rows, np.where(inside, targets, 0)]
    greater = (predictions > own[:, None]).sum(1)
    return np.isfinite(predictions).all(1) & inside & (greater < k)


@composite(
    tf="InTopKV2", type=_intop_k_type, numpy=_in_top_k, operands=("k",), partial=("k",),
    vars={"targets": "I"}, dtypes={"T": FLOATING, "I": INDEX}, differentiable=False, decides_by=0,
    samples=[Sample(real(5, 4), indices(5, below=4), k=2),
             Sample(real(3, 3), indices(3, below=5, dtype="int64"), k=1),
             Sample(real(0, 3), indices(0, below=3), k=1), Sample(real(2, 0), indices(2, below=3), k=1)],
)
def in_top_k(predictions: Any, targets: Any, *, k: int) -> Any:
    """Test if fewer than k classes score higher than the target.

    The result is False if the target is not a class, or if a score is not finite.
    """
    if same(predictions.shape[1], 0):
        return ops.not_equal(targets, targets)
    own = ops.reshape(ops.gather(predictions, targets, axis=1, batch_dims=1), shape=(-1, 1))
    greater = ops.reduce_sum(ops.cast(ops.greater(predictions, own), dtype=int32), axis=(1,))
    finite = ops.reduce_all(ops.equal(predictions - predictions, 0), axis=(1,))
    inside = ops.logical_and(ops.greater_equal(targets, 0), ops.less(targets, predictions.shape[1]))
    return ops.logical_and(ops.logical_and(finite, inside), ops.less(greater, k))


def _arg_type(input: TensorType, axis: int, output_type: DType = int64) -> TensorType:
    check_index("output_type", output_type)
    if input.shape is None:
        return TensorType(output_type, None)
    axis = normalize_axis(axis, len(input.shape))
    require(
        input.shape and input.shape[axis] != 0,
        f"Reduction axis {axis} is empty in shape {shape_text(input.shape)}",
        kind=OperandError,
    )
    return TensorType(output_type, input.shape[:axis] + input.shape[axis + 1 :])


def _arg(find: Any, worst: float) -> Any:
    def reference(input: np.ndarray, axis: int, output_type: DType = int64) -> np.ndarray:
        x = np.where(np.isnan(input), worst, input) if input.dtype.kind == "f" else input
        return find(x, axis=axis).astype(output_type.numpy)

    return reference


def _first_hit(input: Any, axis: int, output_type: DType, extreme: Any, worst: float) -> Any:
    """The first position whose element is the extreme one; NaN never is, unless there is nothing else."""
    axis = normalize_axis(axis, len(input.shape))
    if input.dtype.is_floating:
        input = ops.select(ops.equal(input, input), input, worst)
    n = input.shape[axis]
    places = ops.reshape(positions(input, n), shape=(n,) + (1,) * (len(input.shape) - 1 - axis))
    hit = ops.equal(input, extreme(input, axis=(axis,), keepdims=True))
    return ops.cast(ops.reduce_min(ops.select(hit, places, n), axis=(axis,)), dtype=output_type)


_ARG_SAMPLES = [
    Sample(distinct(7), axis=0),
    Sample(distinct(2, 6), axis=1),
    Sample(distinct(2, 3, 4), axis=-2, output_type=int32),
]


@composite(
    tf="ArgMax", type=_arg_type, numpy=_arg(np.argmax, -math.inf), operands={"axis": "dimension"},
    dtypes=REAL, differentiable=False, decides_by=0, samples=_ARG_SAMPLES, interval=_interval_of_positions,
)
def argmax(input: Any, *, axis: int, output_type: DType = int64) -> Any:
    """The position of the largest element along `axis`; of equal ones the first."""
    return _first_hit(input, axis, output_type, ops.reduce_max, -math.inf)


@composite(
    tf="ArgMin", type=_arg_type, numpy=_arg(np.argmin, math.inf), operands={"axis": "dimension"}, dtypes=REAL,
    differentiable=False, decides_by=0, samples=_ARG_SAMPLES, interval=_interval_of_positions,
)
def argmin(input: Any, *, axis: int, output_type: DType = int64) -> Any:
    """The position of the smallest element along `axis`; of equal ones the first."""
    return _first_hit(input, axis, output_type, ops.reduce_min, math.inf)
