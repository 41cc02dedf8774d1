"""Extremes of positions: the least and the greatest value as sizes, whatever these are."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from itertools import starmap

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.open_sizes import replaced
from staticgraph.compiler.graph.sizes import (
    AnySize,
    AtLeastOne,
    AtMost,
    Quotient,
    Size,
    proven,
    quotient,
    symbol,
    terms_of,
)
from staticgraph.compiler.graph.sizes import bounds as size_bounds
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Extent,
    Index,
    Load,
    Local,
    Scalar,
    number,
    substitute,
    unknown,
    walk,
)
from staticgraph.compiler.kernel.indices.affine import MOST, Affine, Range, bounds, linear

_MOST_FACTOR = 1 << 32  # a symbol times a greater one may be beyond 64 bits
Extremes = tuple[AnySize | None, AnySize | None]
Span = tuple[Range, Extremes]


def extremes(expr: Expr) -> Extremes:
    """The least and the greatest value of a position as sizes, None if unknown.

    They are right if every loop runs whose index the position reads.
    """
    for node in unknown("extremes", expr):
        node.known["extremes"] = _extremes(node, [c.known["extremes"] for c in node.children])
    ends: Extremes = expr.known["extremes"]
    return ends


def form_extremes(form: Affine) -> Extremes:
    """The least and the greatest value of an affine form as sizes: see `extremes`. None if unknown."""
    if may_overflow(form):
        return None, None
    low: AnySize | None = form.constant
    high: AnySize | None = form.constant
    for term, factor in form.terms.items():
        least, most = extremes(term)
        if isinstance(factor, Size) and not proven(operator.ge, factor, 0):
            if not proven(operator.le, factor, 0):
                return None, None
            least, most = most, least
        elif not isinstance(factor, Size) and factor < 0:
            least, most = most, least
        low = None if low is None or least is None else low + least * factor
        high = None if high is None or most is None else high + most * factor
    return low, high


def may_overflow(form: Affine) -> bool:
    """Return True if a sum may be beyond 64 bits, as `maximum(x[i], 0) + 1` and `i * 2**40` may."""
    if (
        len(form.terms) == 1
        and not form.constant
        and all(type(f) is int and f == 1 for f in form.terms.values())
    ):
        return False
    return abs(form.constant) > MOST or any(starmap(_is_far, form.terms.items()))


def _is_far(term: Expr, factor: AnySize) -> bool:
    """Return True if a term of a sum may be so large that sums with it overflow."""
    ends = extremes(term)
    if None in ends or _is_data(term):
        return max(map(abs, bounds(term))) * max(map(abs, terms_of(factor).values())) > MOST
    return any(_is_large(end * factor) for end in ends)


def _is_large(end: AnySize) -> bool:
    terms = terms_of(end).items()
    return any(abs(factor) > (_MOST_FACTOR if monomial else MOST) for monomial, factor in terms)


def _is_data(expr: Expr) -> bool:
    """Return True if elements of buffers or locals are in an expression."""
    for node in unknown("data", expr):
        node.known["data"] = isinstance(node, (Load, Local)) or any(c.known["data"] for c in node.children)
    found: bool = expr.known["data"]
    return found


def span(form: Affine) -> Span:
    """The least and the greatest value of an affine form: as numbers, and as sizes if it is open."""
    opened = any(isinstance(factor, Size) or is_open(term) for term, factor in form.terms.items())
    return form.range, form_extremes(form) if opened else (None, None)


def apart(a: Span, b: Span) -> bool:
    """Return True if all values of one form are proven to be less than those of the other one."""
    return _is_before(a, b) or _is_before(b, a)


def _is_before(a: Span, b: Span) -> bool:
    if a[0][1] < b[0][0]:
        return True
    most, least = a[1][1], b[1][0]
    return most is not None and least is not None and proven(operator.lt, most, least)


def is_within(place: Expr, extent: AnySize) -> bool:
    """Return True if a position is proven to lie in 0..extent - 1 wherever it is evaluated."""
    low, high = bounds(place)
    is_size = isinstance(extent, Size)
    if low >= 0 and high < (size_bounds(extent)[0] if is_size else extent):
        return True
    if not is_size and not is_open(place):
        return False
    found: dict[AnySize, bool] = place.known.setdefault("within", {})
    if extent not in found:
        found[extent] = _is_between(place, extent) or _is_between_if_loops_run(place, extent)
    return found[extent]


def _is_between_if_loops_run(place: Expr, extent: AnySize) -> bool:
    known = _of_running_loops(place)
    return bool(known) and _is_between(at_sizes(place, known), replaced(extent, known))


def _is_between(place: Expr, extent: AnySize) -> bool:
    return _is_from_0(place) and _is_below(place, extent)


def _is_from_0(place: Expr) -> bool:
    match place:
        case Scalar("minimum", (a, b)):
            return _is_from_0(a) and _is_from_0(b)
        case Scalar("maximum", (a, b)):
            return _is_from_0(a) or _is_from_0(b)
    form = linear(place)
    least = form_extremes(form)[0]
    if least is not None and proven(operator.ge, least, 0):
        return True
    return any(map(_is_from_0, _bounding(place, form, "minimum", "maximum")))


def _is_below(place: Expr, extent: AnySize) -> bool:
    match place:
        case Scalar("minimum", (a, b)):
            return _is_below(a, extent) or _is_below(b, extent)
        case Scalar("maximum", (a, b)):
            return _is_below(a, extent) and _is_below(b, extent)
    form = linear(place)
    most = form_extremes(form)[1]
    if most is not None and proven(operator.lt, most, extent):
        return True
    return any(_is_below(other, extent) for other in _bounding(place, form, "maximum", "minimum"))


def _bounding(place: Expr, form: Affine, taken: str, added: str) -> list[Expr]:
    """Positions that bound one from the same side: an operand in place of an extreme that is a term of it."""
    found: list[Expr] = []
    if may_overflow(form):
        return found
    for term, factor in form.terms.items():
        if (
            isinstance(term, Scalar)
            and isinstance(factor, int)
            and term.op == (added if factor > 0 else taken)
        ):
            found += [substitute(place, {term: operand}) for operand in term.args]
    return found


def _of_running_loops(place: Expr) -> dict[str, AnySize]:
    """Symbols as the loops of a position bound them: n0 is at least 3 if one of `n0 - 2` iterations runs."""
    least: dict[str, int] = {}
    for loop in walk(place):
        for name, n in when_positive(loop.extent).items() if isinstance(loop, Index) else ():
            least[name] = max(n, least.get(name, n))
    return {name: symbol(name) + n for name, n in least.items()}


def when_positive(size: AnySize) -> dict[str, int]:
    """Least values of the symbols of a size that is at least 1: 3 for `(n0 + 1) // 2 - 1`."""
    if not isinstance(size, Size):
        return {}
    constant = size.terms.get((), 0)
    (monomial, factor), *others = ((m, f) for m, f in size.terms.items() if m)
    if others or factor < 0:
        return {}
    least = -((constant - 1) // factor)  # of the monomial
    if len(monomial) > 1:
        return {atom: 1 for atom in monomial if isinstance(atom, str)} if least > 0 else {}
    match monomial[0]:
        case str() as name:
            return {name: least} if least > 0 else {}
        case AtMost(size=inner, most=most) if 0 < least <= most:
            return when_positive(inner - (least - 1))
        case AtLeastOne(size=inner) if least > 1:
            return when_positive(inner - (least - 1))
        case Quotient(dividend=inner, divisor=divisor):
            return when_positive(inner - (least * divisor - 1))
    return {}


def at_sizes(place: Expr, known: Mapping[str, AnySize]) -> Expr:
    """A position with other sizes in place of symbols."""
    table: dict[Expr, Expr] = {}
    for node in walk(place):
        match node:
            case Index(name, Size() as extent):
                table[node] = Index(name, replaced(extent, known))
            case Extent(size):
                table[node] = number(replaced(size, known), int64)
    return substitute(place, table)


def is_open(expr: Expr) -> bool:
    """Return True if an open size is in an expression."""
    for node in unknown("open", expr):
        size = node.extent if isinstance(node, Index) else node.size if isinstance(node, Extent) else 0
        node.known["open"] = isinstance(size, Size) or any(c.known["open"] for c in node.children)
    found: bool = expr.known["open"]
    return found


def _extremes(node: Expr, ends: Sequence[Extremes]) -> Extremes:
    match node:
        case Index(_, extent):
            return 0, extent - 1 if isinstance(extent, Size) else max(extent - 1, 0)
        case Extent(size):
            return size, size
        case Scalar("add" | "sub" | "neg" | "mul", _, dtype) if dtype is int64:
            form = linear(node)
            if node not in form.terms:
                return form_extremes(form)
        case Scalar("floordiv", (_, Const(int(n)))) if n > 0:
            low, high = ends[0]
            return None if low is None else low // n, None if high is None else high // n
        case Scalar("minimum", _):
            return _lesser(*ends)
        case Scalar("maximum", _):
            return _negative(_lesser(*map(_negative, ends)))
        case Scalar("floordiv", (dividend, Extent(size))) if _is_multiple(dividend, size):
            low, high = ends[0]
            most = None if high is None else quotient(high + 1, size)
            least = 0 if low is not None and proven(operator.ge, low, 0) else None
            return least, None if most is None else most - 1
        case Scalar("floormod", (dividend, Extent(size))) if _is_multiple(dividend, size):
            return 0, size - 1  # which is not negative
    low, high = bounds(node)
    return None if low == -math.inf else int(low), None if high == math.inf else int(high)


def _lesser(a: Extremes, b: Extremes) -> Extremes:
    """The extremes of the lesser one of two values."""
    low = None
    if a[0] is not None and b[0] is not None:
        low = a[0] if proven(operator.le, a[0], b[0]) else b[0] if proven(operator.le, b[0], a[0]) else None
    return low, _least(a[1], b[1])  # it is greater than none of them


def _least(a: AnySize | None, b: AnySize | None) -> AnySize | None:
    """One of two sizes that is not greater than the other; an open one if that is not known."""
    if a is None or b is None:
        return b if a is None else a
    if proven(operator.le, a, b) or proven(operator.le, b, a):
        return a if proven(operator.le, a, b) else b
    return a if isinstance(a, Size) else b


def _negative(ends: Extremes) -> Extremes:
    low, high = ends
    return None if high is None else -high, None if low is None else -low


def _is_multiple(position: Expr, size: Size) -> bool:
    """Return True if a loop of a position runs over a multiple of a size, which then is not 0."""
    loops = (e for e in walk(position) if isinstance(e, Index) and isinstance(e.extent, Size))
    return proven(operator.ge, size, 0) and any(quotient(e.extent, size) is not None for e in loops)
