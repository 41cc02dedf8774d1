"""Positions as affine forms: sums of loop variables and other terms, each times a size; and their ranges.

The extent of a loop may be an open size. Then a range has the greatest extent that a program can have, and
`extremes.py` has its ends as sizes. A factor may be one, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import chain

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.sizes import AnySize, Size, estimate, several
from staticgraph.compiler.graph.sizes import bounds as size_bounds
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Index, Reduce, Scalar, unknown, walk
from staticgraph.compiler.support.dataclass import dataclass

Range = tuple[int | float, int | float]
UNKNOWN: Range = (-math.inf, math.inf)
MOST = 1 << 56  # no loop runs over more elements than an address space has bytes
_HALF = 1 << 63  # numbers of int64 lie between its opposite and what is below it
_OVERFLOWING = frozenset({"add", "sub", "mul", "neg"})  # may wrap around where a range has no end


@dataclass(frozen=True, slots=True)
class Affine:
    """`constant` plus a sum of terms, each a size times an expression that is not such a sum itself.

    The expressions are mostly loop variables; anything else (`i // 3`, a loaded index, a local) is kept as a
    whole. An open size that is added is a number times an `Extent` for each of its monomials.
    """

    terms: dict[Expr, AnySize]
    constant: int = 0

    def __add__(self, other: Affine) -> Affine:
        terms = dict(self.terms)
        for term, factor in other.terms.items():
            terms[term] = terms.get(term, 0) + factor
        kept = {t: f for t, f in terms.items() if isinstance(f, Size) or f}
        return Affine(kept, self.constant + other.constant)

    def times(self, factor: AnySize) -> Affine:
        """This form multiplied by a size."""
        if isinstance(factor, Size):
            moving = {t: f * factor for t, f in self.terms.items() if not isinstance(t, Extent)}
            return Affine(moving) + _of_size(self.size * factor)
        return Affine({t: f * factor for t, f in self.terms.items() if factor}, self.constant * factor)

    @property
    def size(self) -> AnySize:
        """The sum of what does not vary: the constant and open sizes."""
        total: AnySize = self.constant
        for term, factor in self.terms.items():
            if isinstance(term, Extent):
                total = total + term.size * factor
        return total

    @property
    def is_size(self) -> bool:
        """True if nothing varies."""
        return all(isinstance(term, Extent) for term in self.terms)

    def stride(self, index: Index, varying: Container[Expr] = ()) -> AnySize | None:
        """Return how far the value moves when `index` grows by one, or None if this varies.

        `varying` are the locals whose values depend on `index`.
        """
        for term in self.terms:
            if not term.children:  # as nearly all are
                varies = term in varying
            else:
                varies = any(e is index or e in varying for e in walk(term))
            if varies and term is not index:
                return None
        return self.terms.get(index, 0)

    @property
    def range(self) -> Range:
        """The least and the greatest value."""
        low: int | float = self.constant
        high: int | float = self.constant
        for term, factor in self.terms.items():
            least, most = bounds(term)
            if factor.__class__ is int and factor:  # as nearly all are
                ends = [least * factor, most * factor]
            else:
                ends = [_times(end, f) for end in (least, most) for f in size_bounds(factor)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    @property
    def expr(self) -> Expr:
        """The form as an expression, the same object for equal forms: greater factors first."""
        for number in (self.constant, *self.terms.values()):
            if not isinstance(number, Size) and not -_HALF < number < _HALF:
                return self._in_64_bits()
        order = [
            (factor if factor.__class__ is int else estimate(factor), term, factor)
            for term, factor in self.terms.items()
        ]
        if len(order) > 1:
            order.sort(key=lambda t: (t[0] < 0, -abs(t[0]), getattr(t[1], "name", "~")))
        added = [_scaled(term, factor) for about, term, factor in order if about >= 0]
        taken = [_scaled(term, -factor) for about, term, factor in order if about < 0]
        if self.constant > 0 or not self.terms:
            added.append(Const(self.constant, int64))
        elif self.constant < 0:
            taken.append(Const(-self.constant, int64))
        out = added.pop(0) if added else -taken.pop(0)
        for term in added:
            out = Scalar("add", (out, term), int64)
        for term in taken:
            out = Scalar("sub", (out, term), int64)
        if "linear" not in out.known and all(_is_varying(t) and f.__class__ is int for _, t, f in order):
            # What `linear` and `simplify_index` would find again, expression by expression.
            out.known["linear"] = Affine({term: factor for _, term, factor in order}, self.constant)
            out.known["simple"] = out
        return out

    def _in_64_bits(self) -> Expr:
        """The form as a plain sum, whose numbers wrap around."""
        out: Expr = Const(wrapped(self.constant), int64)
        for term, factor in self.terms.items():
            out = Scalar("add", (out, _scaled(term, wrapped(factor))), int64)
        return out


def wrapped(number: AnySize) -> AnySize:
    """A number as one of int64, whose arithmetic wraps around; an open size as it is.

    >>> wrapped(2**63), wrapped(-3)
    (-9223372036854775808, -3)
    """
    if isinstance(number, Size) or -_HALF <= number < _HALF:
        return number
    return (number + _HALF) % (2 * _HALF) - _HALF


def _is_varying(term: Expr) -> bool:
    """Return True for a loop variable that has several values."""
    return term.__class__ is Index and several(term.extent)


def _scaled(term: Expr, factor: AnySize) -> Expr:
    if isinstance(factor, Size):
        return term * Extent(factor)
    return term if factor == 1 else Scalar("mul", (term, Const(factor, int64)), int64)


def _of_size(size: AnySize) -> Affine:
    """A size as an affine form: a term for each monomial."""
    if not isinstance(size, Size):
        return Affine({}, size)
    parts = {Size({monomial: 1}): factor for monomial, factor in size.terms.items() if monomial}
    return Affine({Extent(part): f for part, f in parts.items()}, size.terms.get((), 0))


def linear(expr: Expr) -> Affine:
    """An int64 expression as an affine form over whatever terms it has."""
    if "linear" not in expr.known:
        for node in unknown("linear", expr):
            node.known["linear"] = _form(node)
    form: Affine = expr.known["linear"]
    return form


_INDEX = frozenset((Index,))


def affine(expr: Expr) -> Affine | None:
    """An int64 expression as an affine form over loop variables alone, or None if it is not one."""
    form = linear(expr)
    return form if _INDEX.issuperset(map(type, form.terms)) else None


def bounds(expr: Expr) -> Range:
    """The least and the greatest value of an integer or bool expression, infinite where unknown.

    Arithmetic on positions is taken not to overflow int64;
    other integers wrap, and a range that could is unknown.
    """
    if "bounds" not in expr.known:
        for node in unknown("bounds", expr):
            ends = _range(node, [c.known["bounds"] for c in node.children])
            node.known["bounds"] = _within(node.dtype, ends)
    found: Range = expr.known["bounds"]
    return found


def bounds_given(
    expr: Expr,
    ranges: Mapping[Expr, Range],
    narrowed: Callable[[Expr, Range], Range],
    found: dict[Expr, Range],
) -> Range:
    """The same where the `ranges` of some expressions are known. `narrowed` is what else is known of any.

    `found` has what was found before with the same knowledge, and gets what is found now.
    """
    for node in walk(expr):
        if node in found:
            pass
        elif node in ranges:
            found[node] = narrowed(node, ranges[node])
        else:
            ends = _range(node, [found[c] for c in node.children])
            found[node] = narrowed(node, _within(node.dtype, ends))
    return found[expr]


def _form(node: Expr) -> Affine:
    match node:
        case Const(value) if not isinstance(value, float):
            return Affine({}, int(value))
        case Extent(size):
            return _of_size(size)
        case Index(_, int(1)):
            return Affine({})
        case Scalar("add", (a, b)):
            return linear(a) + linear(b)
        case Scalar("sub", (a, b)):
            return linear(a) + linear(b).times(-1)
        case Scalar("neg", (a,)):
            return linear(a).times(-1)
        case Scalar("mul", (a, b)) if linear(b).is_size:
            return linear(a).times(linear(b).size)
        case Scalar("mul", (a, b)) if linear(a).is_size:
            return linear(b).times(linear(a).size)
    return Affine({node: 1})


def _times(end: int | float, factor: int | float) -> int | float:
    return 0 if factor == 0 or end == 0 else end * factor


def _within(dtype: DType, found: Range) -> Range:
    if dtype.is_bool:
        return max(found[0], 0), min(found[1], 1)
    if not dtype.is_integer:
        return UNKNOWN
    low, high = int(dtype.min), int(dtype.max)
    if low <= found[0] and found[1] <= high:
        return found
    # Half a range is still worth having for positions, as between the two steps of a clamp.
    return (found if math.inf in found or -math.inf in found else UNKNOWN) if dtype is int64 else (low, high)


def _range(node: Expr, ranges: Sequence[Range]) -> Range:
    match node:
        case Const(value) if not isinstance(value, float):
            return int(value), int(value)
        case Index(_, extent):
            return 0, max(min(size_bounds(extent)[1], MOST) - 1, 0)
        case Extent(size):
            return size_bounds(size)
        case Reduce():
            return UNKNOWN
        case Scalar(op, args):
            pass
        case _:
            return UNKNOWN
    if op in _OVERFLOWING and any(map(math.isinf, chain(*ranges))):
        return UNKNOWN
    match op, ranges:
        case "add", [a, b]:
            return a[0] + b[0], a[1] + b[1]
        case "sub", [a, b]:
            return a[0] - b[1], a[1] - b[0]
        case "neg", [a]:
            return -a[1], -a[0]
        case "mul", [a, b]:
            ends = [_times(x, y) for x in a for y in b]
            return min(ends), max(ends)
        case "floordiv", [a, (divisor, same)] if divisor == same and divisor > 0:
            return floor(a[0], divisor), floor(a[1], divisor)
        case "floormod", [a, (divisor, same)] if divisor == same and divisor > 0:
            return a if a[0] >= 0 and a[1] < divisor else (0, divisor - 1)
        case "floormod", [_, (low, high)] if low > 0:
            return 0, high - 1
        case "and", [a, b] if max(a[0], b[0]) >= 0:
            return 0, min(end for low, end in (a, b) if low >= 0)
        case "minimum", [a, b]:
            return min(a[0], b[0]), min(a[1], b[1])
        case "maximum", [a, b]:
            return max(a[0], b[0]), max(a[1], b[1])
        case "select", [_, a, b]:
            return min(a[0], b[0]), max(a[1], b[1])
        case "cast", [a] if args[0].dtype.is_integer or args[0].dtype.is_bool:
            return a
    return UNKNOWN


def floor(value: int | float, divisor: int | float) -> int | float:
    """Return a quotient rounded down; an infinite number stays what it is."""
    return value if math.isinf(value) else value // divisor
