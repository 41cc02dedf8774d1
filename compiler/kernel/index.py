"""Index arithmetic: positions as integer combinations of loop variables, simplified by what ranges tell.

Building a kernel composes positions: a reshape divides a flat position, the next one multiplies it back.
Every loop variable has a known range, so nearly all of that falls away:

    (i0*6 + i1) // 6                 ->  i0                            for i1 < 6
    (i0*6 + i1) % 6                  ->  i1
    (i // 4) // 3                    ->  i // 12
    (i // 12)*12 + (i // 4 % 3)*4 + i % 4   ->  i
    minimum(maximum(i, 0), 9)        ->  i                             for i < 10
    select(i < 10, a, b)             ->  a                             for i < 10

The extent of a loop may be an open size. Then a range has the greatest extent that a program can have, and
`extremes` has its ends as sizes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import field
from itertools import chain

from staticgraph.compiler.graph.dtypes import DType, bool_, int64
from staticgraph.compiler.graph.sizes import AnySize, Size, Undecided, proven, same
from staticgraph.compiler.graph.sizes import bounds as size_bounds
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Extent,
    Index,
    Reduce,
    Scalar,
    rebuild,
    unknown,
    walk,
)
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.support.dataclass import dataclass

Range = tuple[int | float, int | float]
Extremes = tuple[AnySize | None, AnySize | None]
UNKNOWN: Range = (-math.inf, math.inf)
_MOST = 1 << 56  # no loop runs over more elements than an address space has bytes
_OVERFLOWING = frozenset({"add", "sub", "mul", "neg"})  # may wrap around where a range has no end
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


@dataclass(frozen=True, slots=True)
class Affine:
    """`constant` plus a sum of terms, each an integer times an expression that is not such a sum itself.

    The expressions are mostly loop variables; anything else
    (`i // 3`, a loaded index, a local) is kept as a whole.
    """

    terms: dict[Expr, int] = field(default_factory=dict)
    constant: int = 0

    def __add__(self, other: Affine) -> Affine:
        terms = dict(self.terms)
        for term, factor in other.terms.items():
            terms[term] = terms.get(term, 0) + factor
        return Affine({t: f for t, f in terms.items() if f}, self.constant + other.constant)

    def times(self, factor: AnySize) -> Affine:
        """This form multiplied by an integer. Undecided for an open size: factors are numbers."""
        if isinstance(factor, Size):
            if not self.terms and not self.constant:
                return self
            raise Undecided(f"the stride {factor!r}")
        return Affine({t: f * factor for t, f in self.terms.items() if factor}, self.constant * factor)

    def stride(self, index: Index, varying: Container[Expr] = ()) -> int | None:
        """Return how far the value moves when `index` grows by one, or None if this varies.

        `varying` are the locals whose values depend on `index`.
        """
        for term in self.terms:
            if term is not index and any(e is index or e in varying for e in walk(term)):
                return None
        return self.terms.get(index, 0)

    @property
    def range(self) -> Range:
        """The least and the greatest value."""
        low: int | float = self.constant
        high: int | float = self.constant
        for term, factor in self.terms.items():
            ends = [_times(end, factor) for end in bounds(term)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    @property
    def expr(self) -> Expr:
        """The form as an expression, the same object for equal forms: greater factors first."""
        order = list(self.terms.items())
        if len(order) > 1:
            order.sort(key=lambda t: (t[1] < 0, -abs(t[1]), getattr(t[0], "name", "~")))
        added = [_multiple(term, factor) for term, factor in order if factor > 0]
        taken = [_multiple(term, -factor) for term, factor in order if factor < 0]
        if self.constant > 0 or not self.terms:
            added.append(Const(self.constant, int64))
        elif self.constant < 0:
            taken.append(Const(-self.constant, int64))
        out = added.pop(0) if added else -taken.pop(0)
        for term in added:
            out = Scalar("add", (out, term), int64)
        for term in taken:
            out = Scalar("sub", (out, term), int64)
        return out


def _multiple(term: Expr, factor: int) -> Expr:
    return term if factor == 1 else Scalar("mul", (term, Const(factor, int64)), int64)


def linear(expr: Expr) -> Affine:
    """An int64 expression as an affine form over whatever terms it has."""
    if "linear" not in expr.known:
        for node in unknown("linear", expr):
            node.known["linear"] = _form(node)
    form: Affine = expr.known["linear"]
    return form


def affine(expr: Expr) -> Affine | None:
    """An int64 expression as an affine form over loop variables alone, or None if it is not one."""
    form = linear(expr)
    return form if all(isinstance(term, Index) for term in form.terms) else None


def offset(buffer: Buffer, at: tuple[Expr, ...]) -> Affine:
    """The place of an element in its row-major buffer, counted in elements."""
    if len(buffer.shape) == 1:
        return linear(simplify_index(at[0]))
    flat = Affine()
    for position, stride in zip(at, buffer.strides, strict=True):
        flat += linear(position).times(stride)
    return linear(simplify_index(flat.expr))


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


def bounds_given(expr: Expr, ranges: Mapping[Expr, Range], narrowed: Callable[[Expr, Range], Range]) -> Range:
    """The same where the `ranges` of some expressions are known. `narrowed` is what else is known of any."""
    found: dict[Expr, Range] = {}
    for node in walk(expr):
        if node in ranges:
            found[node] = narrowed(node, ranges[node])
        else:
            ends = _range(node, [found[c] for c in node.children])
            found[node] = narrowed(node, _within(node.dtype, ends))
    return found[expr]


def simplify_index(expr: Expr) -> Expr:
    """`expr` with the index arithmetic in it, also below loads and comparisons, in its simplest form."""
    if "simple" not in expr.known:
        for node in unknown("simple", expr):
            children = tuple([c.known["simple"] for c in node.children])
            same = node if children == node.children else rebuild(node, children)
            node.known["simple"] = _simplest(same) if isinstance(same, Scalar | Index) else same
    simple: Expr = expr.known["simple"]
    return simple


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
        least, most = extremes(term) if factor > 0 else extremes(term)[::-1]
        low = None if low is None or least is None else low + least * factor
        high = None if high is None or most is None else high + most * factor
    return low, high


def is_within(place: Expr, extent: AnySize) -> bool:
    """Return True if a position is proven to lie in 0..extent - 1 wherever it is evaluated."""
    low, high = bounds(place)
    if low >= 0 and high < size_bounds(extent)[0]:
        return True
    if not isinstance(extent, Size) and not is_open(place):
        return False
    least, most = form_extremes(linear(place))
    return (
        least is not None
        and most is not None
        and proven(operator.ge, least, 0)
        and proven(operator.lt, most, extent)
    )


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
        case Scalar("floormod", (dividend, Extent(size))) if any(
            isinstance(e, Index) and proven(_divides, size, e.extent) for e in walk(dividend)
        ):
            return 0, size - 1  # which is not negative, as a loop runs whose extent is a multiple
    least, most = bounds(node)
    return None if least == -math.inf else int(least), None if most == math.inf else int(most)


def _lesser(a: Extremes, b: Extremes) -> Extremes:
    """The extremes of the lesser one of two values."""
    low = None
    if a[0] is not None and b[0] is not None:
        low = a[0] if proven(operator.le, a[0], b[0]) else b[0] if proven(operator.le, b[0], a[0]) else None
    highs = [high for high in (a[1], b[1]) if high is not None]  # it is greater than none of them
    return low, next((n for n in highs if isinstance(n, Size)), min(highs, default=None))


def _negative(ends: Extremes) -> Extremes:
    low, high = ends
    return None if high is None else -high, None if low is None else -low


def _divides(divisor: AnySize, size: AnySize) -> bool:
    return isinstance(size, Size) and same(size // divisor * divisor, size)


def _form(node: Expr) -> Affine:
    match node:
        case Const(value) if not isinstance(value, float):
            return Affine({}, int(value))
        case Extent(size):
            parts = {Size({monomial: 1}): factor for monomial, factor in size.terms.items() if monomial}
            return Affine({Extent(part): f for part, f in parts.items()}, size.terms.get((), 0))
        case Index(_, int(1)):
            return Affine()
        case Scalar("add", (a, b)):
            return linear(a) + linear(b)
        case Scalar("sub", (a, b)):
            return linear(a) + linear(b).times(-1)
        case Scalar("neg", (a,)):
            return linear(a).times(-1)
        case Scalar("mul", (a, b)) if not linear(b).terms:
            return linear(a).times(linear(b).constant)
        case Scalar("mul", (a, b)) if not linear(a).terms:
            return linear(b).times(linear(a).constant)
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
            return 0, max(min(size_bounds(extent)[1], _MOST) - 1, 0)
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
            return _floor(a[0], divisor), _floor(a[1], divisor)
        case "floormod", [a, (divisor, same)] if divisor == same and divisor > 0:
            return a if a[0] >= 0 and a[1] < divisor else (0, divisor - 1)
        case "floormod", [_, (low, high)] if low > 0:
            return 0, high - 1
        case "minimum", [a, b]:
            return min(a[0], b[0]), min(a[1], b[1])
        case "maximum", [a, b]:
            return max(a[0], b[0]), max(a[1], b[1])
        case "select", [_, a, b]:
            return min(a[0], b[0]), max(a[1], b[1])
        case "cast", [a] if args[0].dtype.is_integer or args[0].dtype.is_bool:
            return a
    return UNKNOWN


def _floor(value: int | float, divisor: int | float) -> int | float:
    return value if math.isinf(value) else value // divisor


def _simplest(node: Expr) -> Expr:
    match node:
        case Index(_, int(1)):
            return Const(0, int64)
        case Scalar("add" | "sub" | "mul" | "neg", _, dtype) if dtype is int64:
            return _sum(node)
        case Scalar("floordiv" | "truncdiv" as op, (a, Const(int(n))), dtype) if dtype is int64 and n > 0:
            return _quotient(linear(a), n) if _divisible(op, a) else node
        case Scalar("floormod" | "truncmod" as op, (a, Const(int(n))), dtype) if dtype is int64 and n > 0:
            return _remainder(linear(a), n) if _divisible(op, a) else node
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
    return node


def _apart(a: Expr, b: Expr) -> Extremes | None:
    """The extremes of a difference of positions, if it depends on open sizes."""
    if a.dtype is not int64 or not (is_open(a) or is_open(b)):
        return None
    return form_extremes(linear(a) + linear(b).times(-1))


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


def _sum(node: Expr) -> Expr:
    """A sum in canonical order. Sums of loaded data are left
    alone: spelled out, they would be computed repeatedly.
    """
    form = linear(node)
    if form.terms and not any(map(_has_index, form.terms)):
        return node
    return _recombined(form).expr


def _has_index(term: Expr) -> bool:
    return isinstance(term, Index) or any(isinstance(e, Index) for e in walk(term))


def _recombined(form: Affine) -> Affine:
    """`form` with every `c*n*(x // n) + c*(x % n)` written `c*x`."""
    for term, factor in form.terms.items():
        if isinstance(term, Scalar) and term.op == "floormod" and isinstance(term.args[1], Const):
            x, n = term.args[0], int(term.args[1].value)
            quotient = linear(_simplest(x // n))
            if quotient.terms and all(form.terms.get(t) == f * n * factor for t, f in quotient.terms.items()):
                rest = form + Affine({term: -factor}) + quotient.times(-n * factor)
                return _recombined(rest + linear(x).times(factor))
    return form


def _divisible(op: str, dividend: Expr) -> bool:
    low, high = bounds(dividend)
    return low >= (0 if op.startswith("trunc") else int64.min) and high <= int64.max


def _split(form: Affine, n: int) -> tuple[Affine, Affine]:
    """`form` as `n*whole + rest`, with the constant of `rest` in 0..n-1."""
    whole = Affine({t: f // n for t, f in form.terms.items() if f % n == 0}, form.constant // n)
    return whole, Affine({t: f for t, f in form.terms.items() if f % n}, form.constant % n)


def _unit(form: Affine, n: int) -> int:
    """The greatest divisor of `n` in whose multiples `form` counts, but for a rest that is always less.

    Only the multiples count in a division by `n`: (i*64 + j) // 1280 is i // 20 for j < 64.
    """
    units = {math.gcd(n, factor) for factor in form.terms.values()}
    for unit in sorted(units, reverse=True):
        low, high = _split(form, unit)[1].range
        if low >= 0 and high < unit:
            return unit
    return math.gcd(*units)


def _quotient(form: Affine, n: int) -> Expr:
    whole, rest = _split(form, n)
    low, high = rest.range
    if _floor(low, n) == _floor(high, n):
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
    if _floor(low, n) == _floor(high, n):
        return (rest + Affine({}, -n * int(low // n))).expr
    match rest.expr:
        case Scalar("floormod", (x, Const(m))) if m % n == 0:
            return _remainder(linear(x), n)
    unit = _unit(rest, n)
    rest, left = _split(rest, unit)
    return (linear(rest.expr % (n // unit)).times(unit) + left).expr
