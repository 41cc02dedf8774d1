"""Extremes of positions: the least and the greatest value as sizes, and facts that narrow them.

for i in 0..(n + 7) // 8:
  if i < n // 8:              here i is one of n // 8 numbers, and n is at least 8
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.open_sizes.symbols import replaced
from staticgraph.compiler.graph.sizes import AnySize, AtMost, Quotient, Size, proven, quotient, symbol
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
from staticgraph.compiler.kernel.indices.affine import Affine, Range, bounds, bounds_given, linear

_SUMMED = 2  # conditions that are added up
_TESTED = {"minimum": any, "maximum": all}  # which operands must be small, so that the result is
_EXACT = 1 << 62  # sums of positions below it do not overflow
_COMPARED = {"ge": (0, 1, 0), "gt": (0, 1, 1), "le": (1, 0, 0), "lt": (1, 0, 1)}  # greater, less, by how much
_OPPOSITE = {"ge": "lt", "gt": "le", "le": "gt", "lt": "ge"}

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
    """The least and the greatest value of an affine form as sizes: see `extremes`."""
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
    if low >= 0 and high < size_bounds(extent)[0]:
        return True
    if not isinstance(extent, Size) and not is_open(place):
        return False
    if _is_between(place, extent):
        return True
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
    found = []
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


class Facts:
    """Facts that hold at a place in a kernel.

    Attributes:
        ranges: The least and the greatest values of expressions.
        least: The least values of sums, by their terms.
        meaning: What locals stand for.
        extents: Lesser extents of loops, those that conditions let reach the place.
        least_sizes: The least values of symbols, which loops that run tell.
    """

    def __init__(self, other: Facts | None = None) -> None:
        self.ranges: dict[Expr, Range] = dict(other.ranges) if other else {}
        self.least: dict[frozenset[tuple[Expr, int]], int] = dict(other.least) if other else {}
        self.meaning: dict[Expr, Expr] = dict(other.meaning) if other else {}
        self.extents: dict[Index, AnySize] = dict(other.extents) if other else {}
        self.least_sizes: dict[str, int] = dict(other.least_sizes) if other else {}
        self._read: set[Local | DType] = set(other._read) if other else set()  # by any fact, perhaps before

    def range(self, expr: Expr) -> Range:
        """The least and the greatest value of an integer expression."""
        return bounds_given(expr, self.ranges, self._narrowed)

    def _narrowed(self, expr: Expr, found: Range) -> Range:
        if expr.dtype is not int64:
            return found
        match expr:
            case Scalar("minimum" | "maximum" as op, (a, b)) if not (both := linear(a) + linear(b)).terms:
                middle = both.constant // 2  # as in minimum(i, 6 - i), which is at most 3
                return (
                    (max(found[0], -(-both.constant // 2)), found[1])
                    if op == "maximum"
                    else (found[0], min(found[1], middle))
                )
        if not self.least:
            return found
        form = linear(expr)
        above, below = frozenset(form.terms.items()), frozenset(form.times(-1).terms.items())
        if (above not in self.least and below not in self.least) or (
            expr not in form.terms and not self._is_exact(form)
        ):
            return found
        low, high = self.least.get(above, -math.inf), -self.least.get(below, -math.inf)
        return max(found[0], low + form.constant), min(found[1], high + form.constant)

    def forget(self, *changed: Local | DType) -> None:
        """Drop what depends on locals that have changed, or on elements of dtypes that were stored."""
        if self._read.isdisjoint(changed):
            return

        def stays(*roots: Expr) -> bool:
            return all(_read(root).isdisjoint(changed) for root in roots)

        self.ranges = {e: r for e, r in self.ranges.items() if stays(e)}
        self.least = {k: n for k, n in self.least.items() if stays(*(term for term, _ in k))}
        self.meaning = {m: e for m, e in self.meaning.items() if stays(m, e)}

    def note(self, ranges: Mapping[Expr, Range], meaning: Mapping[Expr, Expr] | None = None) -> None:
        """Add the ranges of expressions, and what locals stand for."""
        self.ranges.update(ranges)
        self._read.update(*map(_read, ranges))
        if meaning:
            self.meaning.update(meaning)
            self._read.update(*map(_read, (*meaning, *meaning.values())))

    def given(self, condition: Expr, holds: bool = True) -> Facts:
        """Return the facts that hold if `condition` does, or if it does not."""
        known = Facts(self)
        stack = [condition]
        while stack:
            match stack.pop():
                case Local() as local if local in known.meaning:
                    stack.append(known.meaning[local])
                case Scalar("and" | "or" as op, (a, b)) if holds == (op == "and"):
                    stack += a, b
                case Scalar(op, args) if op in _COMPARED and args[0].dtype is int64:
                    greater, less, by = _COMPARED[op if holds else _OPPOSITE[op]]
                    for high in _parts(args[greater], "minimum"):
                        for low in _parts(args[less], "maximum"):
                            known._at_least(high, low, by)
        return known

    def inside_of(self, extent: AnySize) -> Facts:
        """Return the facts that hold in a loop of so many iterations."""
        known = Facts(self)
        known._positive(extent)
        return known

    def _positive(self, size: AnySize) -> None:
        """Note that a size is at least 1."""
        for name, n in when_positive(size).items():
            self.least_sizes[name] = max(n, self.least_sizes.get(name, 0))

    def is_some(self, extent: AnySize) -> bool:
        """Return True if an axis is known to have an element."""
        return proven(operator.gt, replaced(extent, self.at_hand), 0)

    @property
    def at_hand(self) -> dict[str, AnySize]:
        """Symbols as sizes that are no less than loops that run let them be."""
        return {name: symbol(name) + n for name, n in self.least_sizes.items()}

    def narrowed(self, place: Expr) -> Expr:
        """Return a position with loops that do no more iterations than conditions let reach it."""
        table: dict[Expr, Expr] = {
            index: Index(index.name, self.extents[index])
            for index in walk(place)
            if isinstance(index, Index) and index in self.extents
        }
        return substitute(place, table) if table else place

    def _at_least(self, greater: Expr, less: Expr, by: int) -> None:
        """Note that `greater - less >= by`."""
        if isinstance(greater, Extent) and (low := self.range(less)[0] + by) >= 1:
            self._positive(greater.size - (int(low) - 1))
        if isinstance(less, Index) and is_open(greater):
            most = extremes(greater)[1]
            extent = less.extent if most is None else most - (by - 1)
            if proven(operator.le, extent, self.extents.get(less, less.extent)):
                self.extents[less] = extent
        form = self._sum(greater) + self._sum(less).times(-1)
        self._read.update(*map(_read, form.terms))
        key = frozenset(form.terms.items())
        least = max(by - form.constant, self.least.get(key, by - form.constant))
        self.least[key] = least
        for term, factor in form.terms.items():
            if isinstance(factor, Size):
                continue
            others = Affine({t: f for t, f in form.terms.items() if t is not term})
            most = sum(
                max(end * f for end in self.range(t) for f in size_bounds(by))
                for t, by in others.terms.items()
            )
            low, high = self.range(term)
            if factor == 1:
                self.ranges[term] = max(low, least - most), high
            elif factor == -1:
                self.ranges[term] = low, min(high, most - least)

    def is_less(self, place: Expr, extent: Size) -> bool:
        """Return True if a condition tells that a position is less than an open extent."""
        form = self._sum(Extent(extent)) + self._sum(place).times(-1)
        if self.least.get(frozenset(form.terms.items()), -math.inf) + form.constant >= 1:
            return True
        below = self._sum(place).times(-1)
        for key, least in self.least.items():  # of another size that is not greater than this one
            sizes = {term: factor for term, factor in key if isinstance(term, Extent)}
            if sizes and dict(key).items() - sizes.items() == below.terms.items():
                most = sum((term.size * factor for term, factor in sizes.items()), -least) - below.constant
                if proven(operator.lt, most, extent):
                    return True
        return False

    def is_told(self, place: Expr) -> bool:
        """Return True if conditions are about a local of a position."""
        return not self._read.isdisjoint(_read(place))

    def is_less_by_sum(self, place: Expr, extent: AnySize) -> bool:
        """Return True if a few conditions together tell that a position is less than an extent.

        As `at + width <= n` and `i < width` tell that `at + i < n`.
        """
        left = self._sum(number(extent, int64)) + self._sum(place).times(-1)
        return self._is_at_least(left, 1, _SUMMED, {})

    def _is_at_least(self, form: Affine, bound: int, depth: int, ranges: dict[Expr, Range]) -> bool:
        """Return True if a form is at least `bound`: by ranges, less multiples of `depth` sums at most.

        The ranges of terms are looked up once for the whole search.
        """
        total: float = form.constant
        for term, factor in form.terms.items():
            if isinstance(factor, Size):
                total = -math.inf
                break
            if term not in ranges:
                ranges[term] = self.range(term)
            total += min(ranges[term][0] * factor, ranges[term][1] * factor)
        if total >= bound:
            return True
        for key, least in self.least.items() if depth else ():
            factors = dict(key)
            for term, by in key:
                have = form.terms.get(term, 0)
                if isinstance(have, Size) or isinstance(by, Size) or have % by or have // by < 1:
                    continue
                rest = form + Affine(factors).times(-(have // by))
                if self._is_at_least(rest, bound - least * (have // by), depth - 1, ranges):
                    return True
        by_operands = (self._at_operands(form, term, bound, depth - 1, ranges) for term in form.terms)
        return depth > 0 and any(by_operands)

    def _at_operands(
        self, form: Affine, term: Expr, bound: int, depth: int, ranges: dict[Expr, Range]
    ) -> bool:
        """Return True if a form is at least `bound` with bounds of a term in its place."""
        factor, meaning = form.terms[term], self.meaning.get(term)
        if isinstance(factor, Size) or factor > 0 or not isinstance(meaning, Scalar):
            return False

        def holds(operand: Expr) -> bool:
            if isinstance(operand, Scalar) and operand.op in _TESTED:
                return _TESTED[operand.op](map(holds, operand.args))
            rest = form + Affine({term: -factor}) + self._sum(operand).times(factor)
            return self._is_at_least(rest, bound, depth, ranges)

        return meaning.op in _TESTED and holds(meaning)

    def _sum(self, expr: Expr) -> Affine:
        """`expr` as a sum if that does not overflow, else as one term."""
        form = linear(expr)
        return form if self._is_exact(form) else Affine({expr: 1})

    def _is_exact(self, form: Affine) -> bool:
        """Return True if no part of a sum overflows."""
        terms = (
            max(map(abs, self.range(term))) * max(map(abs, size_bounds(factor)))
            for term, factor in form.terms.items()
        )
        return abs(form.constant) + sum(terms) < _EXACT


def _read(expr: Expr) -> frozenset[Local | DType]:
    """The locals that an expression reads, and the dtypes of the elements."""
    if "read" not in expr.known:
        nodes = walk(expr)
        loaded = (e.dtype for e in nodes if isinstance(e, Load))
        expr.known["read"] = frozenset([*(e for e in nodes if isinstance(e, Local)), *loaded])
    found: frozenset[Local | DType] = expr.known["read"]
    return found


def _parts(expr: Expr, op: str) -> tuple[Expr, ...]:
    """An expression, and the operands of nested operations of one kind that it is made of."""
    if isinstance(expr, Scalar) and expr.op == op:
        return expr, *(part for operand in expr.args for part in _parts(operand, op))
    return (expr,)
