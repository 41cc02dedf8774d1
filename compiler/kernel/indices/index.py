"""Index arithmetic: positions as integer combinations of loop variables, simplified by what ranges tell.

Building a kernel composes positions: a reshape divides a flat position, the next one multiplies it back.
Every loop variable has a known range, so nearly all of that falls away:

    (i0*6 + i1) // 6                 ->  i0                            for i1 < 6
    (i0*6 + i1) % 6                  ->  i1
    (i // 4) // 3                    ->  i // 12
    (i // 12)*12 + (i // 4 % 3)*4 + i % 4   ->  i
    minimum(maximum(i, 0), 9)        ->  i                             for i < 10
    int64(int32(i) + int32(j))       ->  i + j                         for i + j < 2**31
    select(i < 10, a, b)             ->  a                             for i < 10

The extent of a loop may be an open size. Then a range has the greatest extent that a program can have, and
`extremes` has its ends as sizes. A stride may be one, too:

    (i0*n + i1) // n                 ->  i0                            for i1 < n
"""

from __future__ import annotations

import math
import operator
from operator import attrgetter, itemgetter

from staticgraph.compiler.graph.dtypes import bool_, int64
from staticgraph.compiler.graph.sizes import Size, content, proven, quotient, same, several
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Index, Scalar, rebuild, unknown, walk
from staticgraph.compiler.kernel.indices.affine import Affine, bounds, floor, linear, wrapped
from staticgraph.compiler.kernel.indices.extremes import (
    Extremes,
    extremes,
    form_extremes,
    is_open,
    may_overflow,
)
from staticgraph.compiler.kernel.stmt import Buffer

_DECIDE = {
    "lt": lambda a, b: True if a[1] < b[0] else False if a[0] >= b[1] else None,
    "le": lambda a, b: True if a[1] <= b[0] else False if a[0] > b[1] else None,
    "gt": lambda a, b: True if a[0] > b[1] else False if a[1] <= b[0] else None,
    "ge": lambda a, b: True if a[0] >= b[1] else False if a[1] < b[0] else None,
    "eq": lambda a, b: (
        False if a[1] < b[0] or a[0] > b[1] else True if a[0] == a[1] == b[0] == b[1] else None
    ),
    "ne": lambda a, b: (
        True if a[1] < b[0] or a[0] > b[1] else False if a[0] == a[1] == b[0] == b[1] else None
    ),
}


def offset(buffer: Buffer, at: tuple[Expr, ...]) -> Affine:
    """The place of an element in its row-major buffer, counted in elements."""
    if len(buffer.shape) == 1:
        return linear(simplify_index(at[0]))
    flat = Affine({}, 0)
    for position, stride in zip(at, buffer.strides, strict=True):
        flat += linear(position).times(stride)
    if all(isinstance(term, Index) and several(term.extent) for term in flat.terms):
        return flat  # nothing in it can be simpler
    return linear(simplify_index(flat.expr))


_known, _simple = attrgetter("known"), itemgetter("simple")

_LARGE_DIVISOR = 1 << 32  # a lesser one is nowhere near the end of 64 bits


def simplify_index(expr: Expr) -> Expr:
    """`expr` with the index arithmetic in it, also below loads and comparisons, in its simplest form."""
    if "simple" not in expr.known:
        for node in unknown("simple", expr):
            same = node
            if node.children:
                children = tuple(map(_simple, map(_known, node.children)))  # in C: it is done all the time
                same = node if children == node.children else rebuild(node, children)
            node.known["simple"] = _simplest(same) if isinstance(same, (Scalar, Index)) else same
    simple: Expr = expr.known["simple"]
    return simple


def _simplest(node: Expr) -> Expr:
    if node.dtype.is_floating and node.op != "select":  # type: ignore[attr-defined]
        return node
    match node:
        case Index(_, int(1)):
            return Const(0, int64)
        case Scalar("add" | "sub" | "mul" | "neg", _, dtype) if dtype is int64:
            return _sum(node)
        case Scalar("floordiv" | "truncdiv" as op, (a, Const(int(n))), dtype) if dtype is int64 and n > 0:
            return _quotient(linear(a), n) if _divisible(op, a, n) else node
        case Scalar("floormod" | "truncmod" as op, (a, Const(int(n))), dtype) if dtype is int64 and n > 0:
            return _remainder(linear(a), n) if _divisible(op, a, n) else node
        case Scalar("floordiv" | "floormod" as op, (a, b), dtype) if dtype is int64:
            form = linear(b)
            if form.is_size and isinstance(form.size, Size):
                return _open_quotient(node, linear(a), form.size, op == "floordiv")
        case Scalar("minimum" | "maximum" as op, (a, b), dtype) if dtype.is_integer:
            x, y = bounds(a), bounds(b)
            if x[1] <= y[0]:
                return a if op == "minimum" else b
            if y[1] <= x[0]:
                return b if op == "minimum" else a
            apart = _apart(a, b)
            if apart is not None and apart[1] is not None and proven(operator.le, apart[1], 0):
                return a if op == "minimum" else b
            if apart is not None and apart[0] is not None and proven(operator.ge, apart[0], 0):
                return b if op == "minimum" else a
            return node
        case Scalar("lt" | "le" | "gt" | "ge" | "eq" | "ne" as op, (a, b)) if a.dtype.is_integer:
            decided = _DECIDE[op](bounds(a), bounds(b))
            if decided is None and (apart := _apart(a, b)) is not None:
                decided = _decided(op, apart)
            return node if decided is None else Const(decided, bool_)
        case Scalar("and" | "or" as op, (a, b), dtype) if dtype is bool_:
            for known, other in ((a, b), (b, a)):
                if isinstance(known, Const):
                    return other if known.value == (op == "and") else known
        case Scalar("invert", (Const(value),), dtype) if dtype is bool_:
            return Const(not value, bool_)
        case Scalar("select", (Const(condition), a, b)):
            return a if condition else b
        case Scalar("select", (_, a, b)) if a is b:
            return a
        case Scalar("cast", (Const(value, source),), dtype) if source.is_integer and dtype is int64:
            return Const(value, int64)
        case Scalar("cast", (Scalar("cast", (a,), middle),), dtype) if dtype is int64 and a.dtype is int64:
            # There and back through a narrower type, as for positions that were computed in int32.
            if middle.is_integer and middle.min <= bounds(a)[0] and bounds(a)[1] <= middle.max:
                return a
        case Scalar("cast", (Scalar("add" | "sub" | "mul" as op, args, narrow),), dtype) if dtype is int64:
            # A position that was summed in int32 is one of int64 if nothing wrapped around.
            if narrow.is_integer and all(map(_has_index, filter(_varies, args))):
                wide = Scalar(op, tuple(_simplest(Scalar("cast", (a,), int64)) for a in args), int64)
                low, high = bounds(wide)
                if narrow.min <= low and high <= narrow.max:
                    return _simplest(wide)
    return node


def _varies(expr: Expr) -> bool:
    return not isinstance(expr, (Const, Extent))


def _apart(a: Expr, b: Expr) -> Extremes | None:
    """The extremes of a difference of positions, if it depends on open sizes."""
    if a.dtype is not int64 or not (is_open(a) or is_open(b)):
        return None
    forms = linear(a), linear(b)
    return None if any(map(may_overflow, forms)) else form_extremes(forms[0] + forms[1].times(-1))


def _decided(op: str, apart: Extremes) -> bool | None:
    """Return the result of a comparison of two positions that are so far apart, or None if it varies."""
    low, high = apart
    less = high is not None and proven(operator.lt, high, 0)
    least = low is not None and proven(operator.ge, low, 0)
    greater = low is not None and proven(operator.gt, low, 0)
    most = high is not None and proven(operator.le, high, 0)
    holds, fails = {
        "lt": (less, least),
        "ge": (least, less),
        "gt": (greater, most),
        "le": (most, greater),
        "eq": (least and most, less or greater),
        "ne": (less or greater, least and most),
    }[op]
    return True if holds else False if fails else None


def _sum(node: Scalar) -> Expr:
    """A sum in canonical order. Sums of loaded data are left
    alone: spelled out, they would be computed repeatedly.
    """
    if len(node.args) == 2 and (folded := _folded(node.op, *node.args)) is not None:
        return folded
    form = linear(node)
    if form.terms and not any(map(_has_index, form.terms)):
        return node
    return _recombined(form).expr


def _folded(op: str, a: Expr, b: Expr) -> Expr | None:
    """The simplest form of a sum such as `1*i` or `i + 0`, as most are; None of others."""
    x = a.value if type(a) is Const else None
    y = b.value if type(b) is Const else None
    if op == "mul" and 0 in (x, y):
        return Const(0, int64)
    if x is not None and y is not None:
        known = wrapped(x + y if op == "add" else x - y if op == "sub" else x * y)
        return Const(known, int64) if known >= 0 else None
    neutral = 1 if op == "mul" else 0
    other = a if y == neutral else b if x == neutral and op != "sub" else None
    return other if other is not None and _has_index(other) else None


def _has_index(term: Expr) -> bool:
    return isinstance(term, Index) or any(isinstance(e, Index) for e in walk(term))


def _recombined(form: Affine) -> Affine:
    """`form` with every `c*n*(x // n) + c*(x % n)` written `c*x`."""
    for term, factor in form.terms.items():
        if isinstance(term, Scalar) and term.op == "floormod" and isinstance(term.args[1], (Const, Extent)):
            x, by = term.args
            n = linear(by).size
            whole = linear(_simplest(x // by))
            steps = ((form.terms.get(t, 0), f * n * factor) for t, f in whole.terms.items())
            if whole.terms and all(same(has, needs) for has, needs in steps):
                rest = form + Affine({term: -factor}) + whole.times(-n * factor)
                return _recombined(rest + linear(x).times(factor))
    return form


def _divisible(op: str, dividend: Expr, n: int) -> bool:
    """Return True if a division by `n` may be done term by term, and nothing overflows."""
    if n > _LARGE_DIVISOR and _split(linear(dividend), n)[1].range[1] > int64.max:
        return False  # the constant of the rest is less than `n`, but may be more than that of the dividend
    low, high = bounds(dividend)
    if low >= (0 if op.startswith("trunc") else int64.min) and high <= int64.max:
        return True
    if not is_open(dividend) or not all(isinstance(t, (Index, Extent)) for t in linear(dividend).terms):
        return False
    least, _ = extremes(dividend)  # no loop comes to a position that overflows
    return least is not None and proven(operator.ge, least, 0)


def _split(form: Affine, n: int) -> tuple[Affine, Affine]:
    """`form` as `n*whole + rest`, with the constant of `rest` in 0..n-1."""
    whole = {t: f // n for t, f in form.terms.items() if content(f) % n == 0}
    rest = {t: f for t, f in form.terms.items() if t not in whole}
    return Affine(whole, form.constant // n), Affine(rest, form.constant % n)


def _unit(form: Affine, n: int) -> int:
    """The greatest divisor of `n` in whose multiples `form` counts, but for a rest that is always less.

    Only the multiples count in a division by `n`: (i*64 + j) // 1280 is i // 20 for j < 64.
    """
    units = {math.gcd(n, content(factor)) for factor in form.terms.values()}
    for unit in sorted(units, reverse=True):
        low, high = _split(form, unit)[1].range
        if low >= 0 and high < unit:
            return unit
    return math.gcd(*units)


def _open_quotient(node: Expr, form: Affine, n: Size, whole: bool) -> Expr:
    """A position divided by an open size, or what is left, if it is `n*whole + rest` and the rest is less.

    A loop over the rest proves that `n` is not 0 where that is evaluated. Only multiples of `unit` count:
    (f*4 + j) // (n*4) is f // n for j < 4.
    """
    unit = content(n)
    multiple, small = _split(form, unit)
    low, high = form_extremes(small)
    if unit > 1 and low is not None and proven(operator.ge, low, 0) and high is not None:
        if proven(operator.lt, high, unit):
            by = Extent(n // unit)
            if whole:
                return _simplest(multiple.expr // by)
            return (linear(_simplest(multiple.expr % by)).times(unit) + small).expr
    divided = {t: q for t, f in form.terms.items() if (q := quotient(f, n)) is not None}
    rest = Affine({t: f for t, f in form.terms.items() if t not in divided}, form.constant)
    low, high = form_extremes(rest)
    if low is None or high is None or not (proven(operator.ge, low, 0) and proven(operator.lt, high, n)):
        return node
    return (Affine(divided) if whole else rest).expr


def _quotient(form: Affine, n: int) -> Expr:
    whole, rest = _split(form, n)
    low, high = rest.range
    if floor(low, n) == floor(high, n):
        return (whole + Affine({}, int(low // n))).expr
    unit = _unit(rest, n)
    rest, n = _split(rest, unit)[0], n // unit
    match rest.expr:
        case Scalar("floordiv", (x, Const(m))) if m > 0:
            return (whole + linear(_quotient(linear(x), int(m) * n))).expr
        case x:
            return (whole + linear(x // n)).expr


def _remainder(form: Affine, n: int) -> Expr:
    _, rest = _split(form, n)
    low, high = rest.range
    if floor(low, n) == floor(high, n):
        return (rest + Affine({}, -n * int(low // n))).expr
    match rest.expr:
        case Scalar("floormod", (x, Const(m))) if m % n == 0:
            return _remainder(linear(x), n)
    unit = _unit(rest, n)
    rest, left = _split(rest, unit)
    return (linear(rest.expr % (n // unit)).times(unit) + left).expr
