"""Positions of the largest elements in the windows of max pooling, and the gradient, which goes there.

The first of equal elements wins. Small windows find the position and pass the gradient on in one step. Large
windows take two steps: `max_pool_first` finds the tap, and in `max_unpool` each element of the input asks the
windows that cover it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import REAL, bool_, int32, int64, uint8
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import Shape, TensorType, merge, operand_shape
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Local, substitute
from staticgraph.compiler.kernel.expr import number as whole_number
from staticgraph.compiler.kernel.form import StagedForm
from staticgraph.compiler.kernel.stmt import Buffer, Let, LoopKind, Stmt, Store
from staticgraph.compiler.ops.arrays.movement import raveled
from staticgraph.compiler.ops.kinds import Described, Out, View, routine, windowed
from staticgraph.compiler.ops.neural.pooling_windows import (
    TRUE,
    Ints,
    add_at_tap,
    at_tap,
    both,
    combined,
    look_back,
    look_in,
    numpy_max,
    numpy_taps,
    pool_windows,
    tap_number,
    tap_place,
    when,
)
from staticgraph.compiler.ops.neural.windows import Window, pooled_shape
from staticgraph.compiler.ops.samples import Draw, Sample, distinct, real
from staticgraph.compiler.ops.statements.loops import counters, nested

UNROLLED = 16  # taps of a window that are written out one by one
_FORMATS = {4: "NHWC", 5: "NDHWC"}


def _numpy_first(x: np.ndarray, y: np.ndarray, ksize: Ints, strides: Ints, padding: str) -> np.ndarray:
    first = np.full(y.shape, math.prod(ksize), np.int32)
    for number, places in reversed(list(numpy_taps(x.shape, ksize, strides, padding))):
        first[at_tap(x, places, np.nan) == y] = number
    return first


def _numpy_unpool(
    first: np.ndarray, g: np.ndarray, shape: Ints, ksize: Ints, strides: Ints, padding: str
) -> np.ndarray:
    out = np.zeros(shape)
    for number, places in numpy_taps(shape, ksize, strides, padding):
        add_at_tap(out, places, np.where(first == number, g, 0))
    return out.astype(g.dtype)


def _numpy_pick(first: np.ndarray, x: np.ndarray, ksize: Ints, strides: Ints, padding: str) -> np.ndarray:
    out = np.zeros(first.shape, x.dtype)
    for number, places in numpy_taps(x.shape, ksize, strides, padding):
        out += np.where(first == number, at_tap(x, places, 0), 0).astype(x.dtype)
    return out


def numpy_number(
    x: np.ndarray, y: np.ndarray, ksize: Ints, strides: Ints, padding: str, include_batch: bool
) -> np.ndarray:
    """The meaning of `max_pool_number`."""
    first = _numpy_first(x, y, ksize, strides, padding)
    numbers = np.arange(math.prod(x.shape), dtype=np.int64).reshape(x.shape)
    picked = _numpy_pick(first, numbers, ksize, strides, padding)
    return picked if include_batch else picked % max(math.prod(x.shape[1:]), 1)


def _first_sample(shape: Ints, ksize: Ints, strides: Ints) -> tuple[Draw, dict[str, Any]]:
    counts = tuple(w.count for w in pool_windows(shape, ksize, strides, "VALID"))
    first = Draw(counts, 0, math.prod(ksize) - 1, dtype="int32")
    return first, {"ksize": ksize, "strides": strides, "padding": "VALID"}


def _pooled(x: Shape | None, y: Shape | None, ksize: Ints, strides: Ints, padding: str) -> Shape | None:
    """The shape of the result of pooling. RuleError if `x` and `y` are not an input and its result."""
    require(len(ksize) in _FORMATS, f"ksize {ksize} has {len(ksize)} entries, 4 or 5 are needed")
    given = pooled_shape((None,) * len(ksize) if x is None else x, ksize, strides, padding)
    return merge(given, y, "the result of pooling and what is given for it,")


def _first_type(x: TensorType, y: TensorType, **attrs: Any) -> TensorType:
    return TensorType(int32, _pooled(x.shape, y.shape, **attrs))


def _unpool_type(first: TensorType, g: TensorType, shape: Ints, **attrs: Any) -> TensorType:
    whole = operand_shape(shape, "shape")
    _pooled(whole, merge(first.shape, g.shape, "first and g"), **attrs)
    return TensorType(g.dtype, whole)


def _pick_type(first: TensorType, x: TensorType, **attrs: Any) -> TensorType:
    return TensorType(x.dtype, _pooled(x.shape, first.shape, **attrs))


def _number_type(x: TensorType, y: TensorType, include_batch: bool, **attrs: Any) -> TensorType:
    return TensorType(int64, _pooled(x.shape, y.shape, **attrs))


def _max_grad_type(x: TensorType, g: TensorType, ksize: Ints, **attrs: Any) -> TensorType:
    _pooled(x.shape, g.shape, ksize, **attrs)
    require(
        math.prod(ksize) <= UNROLLED,
        f"the windows have {math.prod(ksize)} taps, and at most {UNROLLED} can be written out",
    )
    return TensorType(g.dtype, x.shape)


def _few(*shape: int) -> Draw:
    """Numbers of which many are equal."""
    return Draw(shape, 0, 3, dtype="int32")


_first_valid, _valid = _first_sample((1, 4, 6, 2), (1, 2, 2, 1), (1, 2, 2, 1))
_first_over, _over = _first_sample((2, 5, 6, 1), (1, 3, 2, 1), (1, 2, 1, 1))
_first_whole, _whole = _first_sample((3, 2, 3, 1), (1, 2, 3, 1), (1, 1, 1, 1))


@windowed(
    type=_first_type, numpy=_numpy_first, dtypes=REAL, differentiable=False,
    samples=[
        Sample(_few(1, 4, 6, 2), _few(1, 2, 3, 2), **_valid),
        Sample(_few(1, 5, 4, 1), _few(1, 3, 2, 1), ksize=(1, 3, 2, 1), strides=(1, 2, 2, 1), padding="SAME"),
        Sample(_few(3, 2, 3, 1), _few(3, 1, 1, 1), **_whole),
    ],
)
def max_pool_first(
    at: tuple[Expr, ...], x: View, y: View, *, ksize: Ints, strides: Ints, padding: str
) -> Expr:
    """The tap of each window that sees its largest element `y`, the first if several do; none for NaN."""
    windows = pool_windows(x.shape, ksize, strides, padding)
    taps, places, inside = look_in(at, windows)
    by_axis = iter(taps)
    number = tap_number([next(by_axis) if w.size > 1 else 0 for w in windows], windows)
    found = both(inside, scalar.eq(x[tuple(places)], y[at]))
    first = scalar.select(found, scalar.cast(number, int32), Const(math.prod(ksize), int32))
    return combined(taps, "minimum", first)


@windowed(
    type=_unpool_type, numpy=_numpy_unpool, dtypes=REAL, vars={"first": "int32"}, differentiable=(1,),
    grad=lambda h, y, first, g, shape, **attrs: (None, ops.max_pool_pick(first, h, **attrs)),
    samples=[Sample(_first_valid, real(1, 2, 3, 2), shape=(1, 4, 6, 2), **_valid),
             Sample(_first_over, real(2, 2, 5, 1), shape=(2, 5, 6, 1), **_over),
             Sample(_first_whole, real(3, 1, 1, 1), shape=(3, 2, 3, 1), **_whole)],
)
def max_unpool(
    at: tuple[Expr, ...], first: View, g: View, *, shape: Ints, ksize: Ints, strides: Ints, padding: str
) -> Expr:
    """Gradient of max pooling: each element of `g` goes back to the tap `first` of its window."""
    windows = pool_windows(shape, ksize, strides, padding)
    steps, places, taps, covers = look_back(at, windows)
    chosen = scalar.eq(first[tuple(places)], scalar.cast(tap_number(taps, windows), int32))
    return combined(steps, "add", when(both(covers, chosen), g[tuple(places)]))


@windowed(
    type=_pick_type, numpy=_numpy_pick, dtypes=REAL, vars={"first": "int32"}, differentiable=(1,),
    grad=lambda g, y, first, x, **attrs: (None, max_unpool(first, g, shape=x.shape, **attrs)),
    samples=[Sample(_first_valid, real(1, 4, 6, 2), **_valid), Sample(_first_over, real(2, 5, 6, 1), **_over),
             Sample(_first_whole, real(3, 2, 3, 1), **_whole)],
)
def max_pool_pick(
    at: tuple[Expr, ...], first: View, x: View, *, ksize: Ints, strides: Ints, padding: str
) -> Expr:
    """The element of each window of `x` that tap `first` sees."""
    windows = pool_windows(x.shape, ksize, strides, padding)
    taps, places, inside = look_in(at, windows)
    by_axis = iter(taps)
    number = tap_number([next(by_axis) if w.size > 1 else 0 for w in windows], windows)
    chosen = both(inside, scalar.eq(first[at], scalar.cast(number, int32)))
    return combined(taps, "add", when(chosen, x[tuple(places)]))


@windowed(
    type=_number_type, numpy=numpy_number, dtypes=REAL, differentiable=False,
    samples=[Sample(_few(1, 4, 6, 2), _few(1, 2, 3, 2), include_batch=False, **_valid),
             Sample(_few(2, 5, 6, 1), _few(2, 2, 5, 1), include_batch=True, **_over),
             Sample(_few(3, 2, 3, 1), _few(3, 1, 1, 1), include_batch=True, **_whole)],
)
def max_pool_number(
    at: tuple[Expr, ...], x: View, y: View, *, ksize: Ints, strides: Ints, padding: str, include_batch: bool
) -> Expr:
    """The number, in row-major order, of the first element of each window that is `y`; 0 if there is none.

    Elements are counted within their image, or with `include_batch` within the batch.
    """
    windows = pool_windows(x.shape, ksize, strides, padding)
    taps, places, inside = look_in(at, windows)
    counted = places if include_batch else [Const(0, int64), *places[1:]]
    size = math.prod(x.shape)
    # Narrow where they fit: as many lanes as the elements have.
    dtype = int32 if size <= int32.max else int64
    none = whole_number(size, dtype)
    found = both(inside, scalar.eq(x[tuple(places)], y[at]))
    first = combined(
        taps, "minimum", scalar.select(found, scalar.cast(raveled(counted, x.shape), dtype), none)
    )
    return scalar.cast(scalar.select(scalar.eq(first, none), Const(0, dtype), first), int64)


def numpy_max_grad(x: np.ndarray, g: np.ndarray, ksize: Ints, strides: Ints, padding: str) -> np.ndarray:
    """The meaning of `max_pool_grad`."""
    first = _numpy_first(x, numpy_max(x, ksize, strides, padding, ""), ksize, strides, padding)
    return _numpy_unpool(first, g, x.shape, ksize, strides, padding)


def _max_grad_grad(h: Any, y: Any, x: Any, g: Any, **attrs: Any) -> tuple[None, Any]:
    first = max_pool_first(x, ops.max_pool(x, data_format=_FORMATS[x.rank], **attrs), **attrs)
    return None, max_pool_pick(first, h, **attrs)


def _tile(windows: list[Window]) -> bool:
    """Return True if each element of the input is in exactly one window."""
    return all(
        w.size == w.stride and same(w.count * w.size, w.length) and same(w.before, 0) for w in windows
    )


def _lie_apart(windows: list[Window]) -> bool:
    """Return True if windows lie side by side from the first element on; some elements may be left over."""
    return all(w.size == w.stride and not w.is_padded for w in windows)


@routine(
    type=_max_grad_type, numpy=numpy_max_grad, dtypes=REAL, differentiable=(1,), grad=_max_grad_grad,
    samples=[
        Sample(distinct(1, 4, 6, 2), real(1, 2, 3, 2), **_valid),
        Sample(distinct(2, 5, 6, 1), real(2, 2, 5, 1), **_over),
        Sample(
            distinct(1, 5, 4, 1), real(1, 3, 2, 1), ksize=(1, 3, 2, 1), strides=(1, 2, 2, 1), padding="SAME"
        ),
        Sample(distinct(3, 2, 3, 1), real(3, 1, 1, 1), **_whole),
    ],
)
def max_pool_grad(
    outs: tuple[Out, ...], x: View, g: View, *, ksize: Ints, strides: Ints, padding: str
) -> tuple[Stmt, ...] | Described:
    """Gradient of max pooling: each element of `g` goes to the first of the largest of its window."""
    (out,), windows = outs, pool_windows(x.shape, ksize, strides, padding)
    tiles, apart = _tile(windows), _lie_apart(windows)
    at = counters(g.shape, "w")
    zero, share, best = Const(0, g.dtype), Local("share", g.dtype), Local("best", x.dtype)
    lets: list[Stmt] = [Let(share, g[at])]
    stores: list[Stmt] = []
    largest, free = None, TRUE
    for number, taps in enumerate(product(*(range(w.size) for w in windows))):
        place, inside = tap_place(at, taps, windows)
        element, hit = Local(f"x{number}", x.dtype), Local(f"hit{number}", bool_)
        lets.append(Let(element, x[place]))
        largest = element if largest is None else scalar.maximum(largest, element)
        stores.append(Let(hit, both(inside, scalar.eq(element, best))))
        value = scalar.select(both(free, hit), share, zero)
        stores.append(Store(out.buffer, place, value if apart else out[place] + value))
        free = both(free, ~hit)
    assert largest is not None
    # Images are independent of each other, and one at a time stays in the cache.
    lead = next((d for d, w in enumerate(windows) if w.size > 1 or w.stride > 1), len(windows))
    body = nested(at[lead:], (*lets, Let(best, largest), *stores))
    body = *(_cleared(out, zero, at[:lead], windows, apart) if not tiles else ()), *body
    whole = nested(at[:lead], body)
    return whole if tiles else Described(whole, _in_two(out, x, g, windows))


def _cleared(
    out: Out, zero: Expr, lead: tuple[Index, ...], windows: list[Window], apart: bool
) -> tuple[Stmt, ...]:
    """Statements that write zeros: where windows add something, or behind the last ones if they are apart."""
    own = range(len(lead), len(windows))
    if not apart:
        rest = counters(out.shape[len(lead) :], "z")
        return nested(rest, (Store(out.buffer, lead + rest, zero),))
    cleared: tuple[Stmt, ...] = ()
    for axis in own:
        seen = windows[axis].count * windows[axis].size
        if not same(seen, windows[axis].length):
            behind = [w.length - seen if d == axis else w.length for d, w in enumerate(windows)]
            rest = counters(behind[len(lead) :], f"z{axis}_")
            place = [i + seen if d == axis else i for d, i in zip(own, rest, strict=True)]
            cleared += nested(rest, (Store(out.buffer, (*lead, *place), zero),))
    return cleared


def _in_two(out: Out, x: View, g: View, windows: list[Window]) -> StagedForm:
    """The tap of each window that sees its largest element, then what each element gets from its windows.

    Nothing is added to what another window may add to, as the loops do it.
    """
    at, none = counters(g.shape, "w"), math.prod(w.size for w in windows)
    looks = [tap_place(at, taps, windows) for taps in product(*(range(w.size) for w in windows))]
    elements = [(x[place], inside) for place, inside in looks]
    best = reduce(scalar.maximum, (element for element, _ in elements))
    tap: Expr = Const(none, uint8)
    for number, (element, inside) in reversed(list(enumerate(elements))):
        tap = scalar.select(both(inside, scalar.eq(element, best)), Const(number, uint8), tap)
    chosen = Out("window_first", g.shape, uint8)
    find = nested(at, (Store(chosen.buffer, at, tap),), LoopKind.PARALLEL)

    here = counters(out.shape)
    steps, places, taps, covers = look_back(here, windows)
    hit = both(covers, scalar.eq(chosen[tuple(places)], scalar.cast(tap_number(taps, windows), uint8)))
    given = when(hit, g[tuple(places)])
    windows_back = product(*(range(step.extent) for step in steps))
    total = reduce(operator.add, (substitute(given, _numbers(steps, back)) for back in windows_back))
    collect = nested(here, (Store(out.buffer, here, total),), LoopKind.PARALLEL)
    return StagedForm((find, collect), {chosen.buffer: Buffer(uint8, g.shape, written=True)})


def _numbers(indices: Sequence[Index], numbers: Sequence[int]) -> dict[Expr, Expr]:
    return {index: Const(n, int64) for index, n in zip(indices, numbers, strict=True)}


def max_pool_gradient(g: Any, y: Any, x: Any, data_format: str, **attrs: Any) -> tuple[Any]:
    """Gradient rule of max pooling."""
    if math.prod(attrs["ksize"]) <= UNROLLED:
        return (max_pool_grad(x, g, **attrs),)
    return (max_unpool(max_pool_first(x, y, **attrs), g, shape=x.shape, **attrs),)
