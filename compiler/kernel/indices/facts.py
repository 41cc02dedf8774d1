"""Facts that hold at a place in a kernel, and narrow what positions there can be.

for i in 0..(n + 7) // 8:
  if i < n // 8:              here i is one of n // 8 numbers, and n is at least 8
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Set

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.open_sizes import replaced
from staticgraph.compiler.graph.sizes import AnySize, Size, proven, symbol
from staticgraph.compiler.graph.sizes import bounds as size_bounds
from staticgraph.compiler.kernel.expr import (
    Expr,
    Extent,
    Index,
    Load,
    Local,
    Scalar,
    number,
    substitute,
    walk,
)
from staticgraph.compiler.kernel.indices.affine import Affine, Range, bounds_given, linear
from staticgraph.compiler.kernel.indices.extremes import extremes, is_open, when_positive

Key = frozenset[tuple[Expr, int]]  # the terms of a sum, and their factors

_SUMMED = 2  # conditions that are added up
_TESTED = {"minimum": any, "maximum": all}  # which operands must be small, so that the result is
_EXACT = 1 << 62  # sums of positions below it do not overflow
_COMPARED = {"ge": (0, 1, 0), "gt": (0, 1, 1), "le": (1, 0, 0), "lt": (1, 0, 1)}  # greater, less, by how much
_OPPOSITE = {"ge": "lt", "gt": "le", "le": "gt", "lt": "ge"}


class Facts:
    """Facts that hold at a place in a kernel.

    Attributes:
        ranges: The least and the greatest values of expressions.
        least: The least values of sums, by their terms.
        meaning: What locals stand for.
        extents: Lesser extents of loops, those that conditions let reach the place.
        least_sizes: The least values of symbols, which loops that run tell.
        inside: Positions that have been proven to lie in an extent: those of real parts are those of others.
    """

    def __init__(self, other: Facts | None = None) -> None:
        self.ranges: dict[Expr, Range] = dict(other.ranges) if other else {}
        self.least: dict[Key, int] = dict(other.least) if other else {}
        self.meaning: dict[Expr, Expr] = dict(other.meaning) if other else {}
        self.extents: dict[Index, AnySize] = dict(other.extents) if other else {}
        self.least_sizes: dict[str, int] = dict(other.least_sizes) if other else {}
        self.inside: dict[Expr, AnySize] = dict(other.inside) if other else {}
        self._read: set[Local | DType] = set(other._read) if other else set()  # by any fact, perhaps before
        # What `range` has found. Facts that are equal have one in common, and one that changes begins anew.
        self._found: dict[Expr, Range] = other._found if other else {}

    def range(self, expr: Expr) -> Range:
        """The least and the greatest value of an integer expression."""
        known = self._found.get(expr)
        return bounds_given(expr, self.ranges, self._narrowed, self._found) if known is None else known

    def _narrowed(self, expr: Expr, found: Range) -> Range:
        if expr.dtype is not int64:
            return found
        match expr:
            case Scalar("minimum" | "maximum" as op, (a, b)) if (
                twice := self._constant_sum(a, b)
            ) is not None:
                if op == "minimum":  # as minimum(i, 6 - i), which is at most 3
                    return found[0], min(found[1], twice // 2)
                return max(found[0], -(-twice // 2)), found[1]
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

    def _constant_sum(self, a: Expr, b: Expr) -> int | None:
        """The sum of two positions if it is always the same, and neither of them overflows."""
        one, other = linear(a), linear(b)
        both = one + other
        if both.terms or not self._is_exact(one) or not self._is_exact(other):
            return None
        return both.constant

    def forget(self, *changed: Local | DType) -> None:
        """Drop what depends on locals that have changed, or on elements of dtypes that were stored."""
        if self._read.isdisjoint(changed):
            return

        def stays(*roots: Expr) -> bool:
            return all(_read(root).isdisjoint(changed) for root in roots)

        self._found = {}
        self.ranges = {e: r for e, r in self.ranges.items() if stays(e)}
        self.least = {k: n for k, n in self.least.items() if stays(*(term for term, _ in k))}
        self.meaning = {m: e for m, e in self.meaning.items() if stays(m, e)}
        self.inside = {e: n for e, n in self.inside.items() if stays(e)}

    def note_inside(self, place: Expr, extent: AnySize) -> None:
        """Note that a position lies in an extent."""
        self.inside[place] = extent
        self._read.update(_read(place))

    def note(self, ranges: Mapping[Expr, Range], meaning: Mapping[Expr, Expr] | None = None) -> None:
        """Add the ranges of expressions, and what locals stand for."""
        if ranges:
            self._found = {}
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
        form = self._sum(greater) + self._sum(less).times(-1)  # at least `by`
        self._read.update(*map(_read, form.terms))
        self._found = {}
        key = frozenset(form.terms.items())
        least = max(by - form.constant, self.least.get(key, by - form.constant))
        self.least[key] = least
        for term, factor in form.terms.items():
            if isinstance(factor, Size):
                continue
            # What the condition leaves for this term, with all others as large as they may be.
            others = Affine({t: f for t, f in form.terms.items() if t is not term})
            most = sum(
                max(end * bound for end in self.range(other) for bound in size_bounds(times))
                for other, times in others.terms.items()
            )
            low, high = self.range(term)
            if factor == 1:
                self.ranges[term] = max(low, least - most), high
            elif factor == -1:
                self.ranges[term] = low, min(high, most - least)
            self._found = {}

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
        return self._is_at_least(left, 1, _SUMMED)

    def _is_at_least(self, form: Affine, bound: int, depth: int) -> bool:
        """Return True if a form is at least `bound`: by ranges, less multiples of `depth` sums at most."""
        total, falls = float(form.constant), set()
        for term, factor in form.terms.items():
            if isinstance(factor, Size):
                total = -math.inf
                break
            low, high = self.range(term)
            part = low * factor if factor > 0 else high * factor
            total += part
            if part < 0:
                falls.add(term)
        if total >= bound:
            return True
        if not depth:
            return False
        for key, least, times in self._alike(form, falls):
            rest = form + Affine({term: -by * times for term, by in key})
            if self._is_at_least(rest, bound - least * times, depth - 1):
                return True
        return any(self._at_operands(form, term, bound, depth - 1) for term in form.terms)

    def _alike(self, form: Affine, falls: Set[Expr]) -> list[tuple[Key, int, int]]:
        """The sums that a multiple of may be in a form, their least values and the multiples.

        First come those of the terms that `falls` has.
        """
        likely, others = dict[tuple[Key, int, int], None](), dict[tuple[Key, int, int], None]()
        for key, least in self.least.items():
            for term, by in key:
                have = form.terms.get(term, 0)
                if not (isinstance(have, Size) or isinstance(by, Size) or have % by) and have // by > 0:
                    (likely if term in falls else others)[key, least, have // by] = None
        return [*(likely | others)]

    def _at_operands(self, form: Affine, term: Expr, bound: int, depth: int) -> bool:
        """Return True if a form is at least `bound` with bounds of a term in its place."""
        factor, meaning = form.terms[term], self.meaning.get(term)
        if isinstance(factor, Size) or factor > 0 or not isinstance(meaning, Scalar):
            return False

        def holds(operand: Expr) -> bool:
            if isinstance(operand, Scalar) and operand.op in _TESTED:
                return _TESTED[operand.op](map(holds, operand.args))
            rest = form + Affine({term: -factor}) + self._sum(operand).times(factor)
            return self._is_at_least(rest, bound, depth)

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
