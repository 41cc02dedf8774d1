"""Open sizes: whole numbers that are known when a program runs, not when it is compiled.

A symbol stands for the size of an axis of a feed. Arithmetic gives a `Size`, a polynomial in symbols with
whole coefficients, or an `int` if no symbol is left:

    rows = symbol("rows")
    rows * 784 // 784 is rows,  rows - rows == 0

A comparison is answered if the answer is the same for all values of the symbols. Otherwise it raises
`Undecided`, and so does every use as a plain number. Then a step is compiled with some sizes known: code that
knows nothing of open sizes is never wrong about them. Inside of `answering`, a comparison is answered by what
is given there instead, such as by the sizes at hand (`capture/guards.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from operator import mul
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.graph.size_contexts import Undecided, answered, answering, current_answer, name_of

MOST = (1 << 31) - 1  # the greatest value of a symbol
OPEN_TEXT = "open<"  # how the text of a size begins: generated code that holds it takes it for a number
NOMINAL = 64  # the value of a symbol in estimates, which must not depend on the sizes that come first
MANY = 1024  # its value in estimates of work that several threads may share
BOUNDED = "case"  # how names begin that end in the greatest value of their symbol
_DOUBLED = 15  # how often it is doubled in the estimate of what would be zero or negative


class _NoSymbol(tuple[str]):
    """A factor of monomials that is no symbol: a tuple of its text, which C code hashes and compares."""

    def __str__(self) -> str:
        return self[0]


class Quotient(_NoSymbol):
    """A size divided by a number and rounded down, if that is no polynomial."""

    dividend: Size
    divisor: int
    parts: dict[Monomial, int] | None = None  # canonical terms of the same size, but for this one

    def __new__(cls, dividend: Size, divisor: int) -> Quotient:
        made = cls.of_text(_text(dividend.key), dividend, divisor)
        plain = all(0 < 2 * f <= divisor or f > 1000 for m, f in dividend.key.items() if m)  # or a cost
        if not plain or dividend.key is not dividend.terms or dividend.terms.get((), 0) == divisor - 1 <= 2:
            from staticgraph.compiler.graph.size_algebra.canonical import divided  # few graphs need it

            found = divided(dividend.key, divisor, Size, Quotient)
            made.parts = None if found == {(made,): 1} else found
        return made

    @classmethod
    def of_text(cls, text: str, dividend: Size, divisor: int) -> Quotient:
        """Return the quotient of a dividend that is known by its text, without a look at its parts."""
        made = tuple.__new__(cls, (f"(({text}) // {divisor})",))
        made.dividend, made.divisor = dividend, divisor
        return made


class AtLeastOne(_NoSymbol):
    """A size, or 1 where that is less."""

    size: Size

    def __new__(cls, size: Size) -> AtLeastOne:
        made = tuple.__new__(cls, (f"max({_text(size.key)}, 1)",))
        made.size = size
        return made


class AtMost(_NoSymbol):
    """A size, or a number where that is less."""

    size: Size
    most: int

    def __new__(cls, size: Size, most: int) -> AtMost:
        made = tuple.__new__(cls, (f"min({_text(size.key)}, {most})",))
        made.size, made.most = size, most
        return made


Atom = str | Quotient | AtLeastOne | AtMost  # the name of a symbol, or what is no polynomial
Monomial = tuple[Atom, ...]


class Size:
    """A polynomial in symbols. Never constant: arithmetic that leaves no symbol gives an `int`.

    Attributes:
        terms: The coefficient of each monomial, none of them 0, in a fixed order; the empty monomial is the
            constant.
        key: The same of all sizes that are equal to it, such as `n - n // 2` and `(n + 1) // 2`.
    """

    __slots__ = ("terms", "key", "_hash", "_bounds", "_multiples", "_quotients", "_nominal")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = self.key = _in_order(terms)
        if any(map(_has_parts, terms)):
            from staticgraph.compiler.graph.size_algebra.canonical import canonical

            self.key = _in_order(canonical(terms))
        # Python has one hash for -1 and -2. Sizes of equal hashes are compared, which may be undecided.
        self._bounds: tuple[int, int] | None = None
        self._nominal: int | None = None
        self._multiples: dict[int, Any] = {}  # shapes and strides ask for the same ones all the time
        self._quotients: dict[int, Any] = {}
        self._hash = hash(tuple([(monomial, 2 * factor + 1) for monomial, factor in self.key.items()]))

    # Arithmetic

    def __add__(self, other: Any) -> Any:
        if type(other) is int and not other:
            return self
        if not isinstance(other, (Size, int)):
            return NotImplemented
        terms = dict(self.terms)
        for monomial, factor in terms_of(other).items():
            terms[monomial] = terms.get(monomial, 0) + factor
        return made(terms)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, (Size, int)) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if type(other) is int:
            if other == 1:
                return self
            if other not in self._multiples:
                self._multiples[other] = made({m: factor * other for m, factor in self.terms.items()})
            return self._multiples[other]
        if not isinstance(other, (Size, int)):
            return NotImplemented
        terms: dict[Monomial, int] = {}
        for mine, factor in self.terms.items():
            for its, times in terms_of(other).items():
                monomial = tuple(sorted((*mine, *its), key=str))
                terms[monomial] = terms.get(monomial, 0) + factor * times
        return made(terms)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        if isinstance(other, Size):  # n0*n1 // (8*n1) is n0 // 8
            return _quotient(self, other // (times := content(other))) // times
        if not isinstance(other, int):
            return NotImplemented
        if other < 1:
            raise Undecided(f"{self!r} // {other!r}", sizes=(self,))
        if (known := self._quotients.get(other)) is None:
            known = self._quotients[other] = self._divided(other)
        return known

    def _divided(self, other: int) -> Any:
        whole = made({m: f // other for m, f in self.terms.items() if f % other == 0 or not m})
        rest = made({m: f for m, f in self.terms.items() if f % other and m})
        constant = self.terms.get((), 0) % other
        if isinstance(rest, int):
            return whole
        if (common := math.gcd(content(rest), other)) > 1:  # 6*n0 // 48 is n0 // 8
            return whole + (rest // common + constant // common) // (other // common)
        if next(iter(rest.terms.values())) > 0:
            return whole + made({(Quotient(rest + constant, other),): 1})
        # One form for each quotient: -(-n0 // 2) is (n0 + 1) // 2.
        return whole - (other - 1 - constant - rest) // other

    def __rfloordiv__(self, other: Any) -> Any:
        if other == 0 and bounds(self)[0] > 0:
            return 0
        raise Undecided(f"{other!r} // {self!r}", sizes=(self,))

    def __mod__(self, other: Any) -> Any:
        return self - self // other * other

    def __rmod__(self, other: Any) -> Any:
        return other - other // self * self

    # Comparisons

    def __eq__(self, other: Any) -> bool:
        if self is other:
            return True
        if not isinstance(other, (Size, int)):
            return False
        if isinstance(other, Size) and self.key == other.key:
            return True
        apart = self - other
        if isinstance(apart, int):
            return apart == 0
        least, most = bounds(apart)
        if least > 0 or most < 0:
            return False
        if apart.terms.get((), 0) % math.gcd(*(factor for m, factor in apart.terms.items() if m)):
            return False
        return answered(Undecided(f"{self!r} == {other!r}", (self, other), (), (apart, "==")))

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Any) -> bool:
        return _less(self, other) if isinstance(other, (Size, int)) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return _less(other, self) if isinstance(other, (Size, int)) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return not _less(other, self) if isinstance(other, (Size, int)) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return not _less(self, other) if isinstance(other, (Size, int)) else NotImplemented

    def __bool__(self) -> bool:
        return self != 0

    # As a number

    def __index__(self) -> int:
        raise Undecided(f"the value of {self!r}", sizes=(self,))

    __int__ = __index__

    def __float__(self) -> float:
        raise Undecided(f"the value of {self!r}", sizes=(self,))

    def __format__(self, form: str) -> str:
        return name_of(self) or f"{OPEN_TEXT}{self!r}>"

    def __repr__(self) -> str:
        return _text(self.terms)


# For type checkers no more is said: code computes with a size as with a number, and takes one for the other.
if TYPE_CHECKING:
    AnySize = Any
else:
    AnySize = int | Size


def symbol(name: str) -> Any:
    """Return the size that a name stands for: 0 to `MOST`."""
    return made({(name,): 1})


def bounds(size: AnySize) -> tuple[int, int]:
    """Return a number that a size is never less than, and one that it is never greater than."""
    if not isinstance(size, Size):
        return int(size), int(size)
    if size._bounds is None:
        size._bounds = _bounds(size)
    return size._bounds


def _bounds(size: Size) -> tuple[int, int]:
    low, high = _bounds_of_terms(size)
    quotients = [(m[0], f) for m, f in size.terms.items() if len(m) == 1 and isinstance(m[0], Quotient)]
    if not quotients:
        return low, high
    # A quotient is its dividend less a rest, divided: what is left of `(n0 + 1) // 2 - n0 // 2` are rests.
    times = math.lcm(*(q.divisor // math.gcd(f, q.divisor) for q, f in quotients))
    whole, below, above = size * times, 0, 0
    for q, factor in quotients:
        count = factor * times // q.divisor
        whole = whole - made({(q,): factor * times}) + q.dividend * count
        below, above = below + max(count, 0) * (q.divisor - 1), above + max(-count, 0) * (q.divisor - 1)
    least, most = bounds(whole)
    return max(low, -((below - least) // times)), min(high, (most + above) // times)


def _bounds_of_terms(size: Size) -> tuple[int, int]:
    low = high = 0
    for monomial, factor in terms_of(size).items():
        ends = (1, 1)
        for atom in monomial:
            least, most = _atom_bounds(atom)
            products = [a * b for a in ends for b in (least, most)]
            ends = min(products), max(products)
        ends = ends[0] * factor, ends[1] * factor
        low, high = low + min(ends), high + max(ends)
    return low, high


def evaluate(size: AnySize, values: Mapping[str, int]) -> int:
    """Return the value of a size, given those of the symbols."""
    value = _atom_value
    return sum([math.prod([value(atom, values) for atom in m], start=f) for m, f in terms_of(size).items()])


def positive(size: AnySize) -> AnySize:
    """Return a size, or 1 where it is less: to divide by."""
    if not isinstance(size, Size):
        return max(size, 1)
    return size if bounds(size)[0] > 0 else made({(AtLeastOne(size),): 1})


def at_most(size: AnySize, most: int) -> AnySize:
    """Return the lesser one of a size and a number."""
    if not isinstance(size, Size):
        return min(size, most)
    least, greatest = bounds(size)
    return size if greatest <= most else most if least >= most else made({(AtMost(size, most),): 1})


def at_least(size: AnySize, least: int) -> AnySize:
    """Return the greater one of a size and a number."""
    if not isinstance(size, Size):
        return max(size, least)
    low, high = bounds(size)
    return size if low >= least else least if high <= least else positive(size + (1 - least)) - (1 - least)


class _Same(dict[str, int]):
    def __init__(self, value: int) -> None:
        super().__init__()
        self.value = value

    def __missing__(self, name: str) -> int:
        return self.value


def estimate(size: AnySize, symbol: int = NOMINAL) -> int:
    """Return a size as a number for estimates of cost, in which every symbol is `symbol`.

    If it would not be positive, as n0 - 100, symbols are doubled until it is.
    """
    if not isinstance(size, Size):
        known: int = size
        return known
    if symbol == NOMINAL and size._nominal is not None:
        return size._nominal
    values = (evaluate(size, _Same(symbol << n)) for n in range(_DOUBLED))
    value = next(values)
    value = value if value > 0 else next((n for n in values if n > 0), value)
    size._nominal = value if symbol == NOMINAL else size._nominal
    return value


NOMINALS = _Same(NOMINAL)  # the values of all symbols in estimates


def same(a: AnySize, b: AnySize) -> bool:
    """Return True if two sizes are equal whatever the symbols are. False tells nothing of open sizes."""
    if isinstance(a, Size):
        return isinstance(b, Size) and a.key == b.key  # no number is a polynomial with a symbol
    return a is b or (isinstance(a, int) and isinstance(b, int) and a == b)  # another kind: itself alone


def several(size: AnySize) -> bool:
    """Return True if a size is more than one. One that is open counts as such."""
    return isinstance(size, Size) or size > 1


def content(size: AnySize) -> int:
    """Return the greatest number by which all coefficients of a size can be divided."""
    return math.gcd(*size.terms.values()) if isinstance(size, Size) else abs(size)


def quotient(size: AnySize, divisor: AnySize) -> AnySize | None:
    """Return the size that is one size divided by another, None if there is none without a rest."""
    if not isinstance(divisor, Size):
        return size // divisor if divisor and content(size) % divisor == 0 else None
    if not isinstance(size, Size):
        return None if size else 0
    try:
        return _quotient(size, divisor)
    except Undecided:
        return None


def same_shape(a: Sequence[AnySize], b: Sequence[AnySize]) -> bool:
    """Return True if two shapes are equal whatever the symbols are."""
    return len(a) == len(b) and all(map(same, a, b))


def proven(compare: Callable[[Any, Any], bool], a: AnySize, b: AnySize) -> bool:
    """Return True if a comparison, such as `operator.le`, holds for all values of the symbols."""
    try:
        if current_answer() is None:
            return compare(a, b)
        with answering(None):
            return compare(a, b)
    except Undecided:
        return False


def product(shape: Sequence[AnySize]) -> AnySize:
    """Return the number of elements of a shape: the numbers in it are multiplied first."""
    if Size not in map(type, shape):
        return math.prod(shape)
    known = math.prod([n for n in shape if not isinstance(n, Size)])
    return reduce(mul, [n for n in shape if isinstance(n, Size)]) * known


def is_open(shape: Any) -> bool:
    """Return True if a size of a shape is open."""
    return Size in map(type, shape)  # in C: it is asked for every node


def terms_of(size: AnySize) -> Mapping[Monomial, int]:
    """Return the terms of a size, of a number also."""
    return size.terms if isinstance(size, Size) else {(): int(size)} if size else {}


def made(terms: Mapping[Monomial, int]) -> AnySize:
    """Return the size of these terms, as a number if no symbol is left."""
    kept = {monomial: factor for monomial, factor in terms.items() if factor}
    return _one(tuple(kept.items())) if len(kept) > (() in kept) else kept.get((), 0)


@lru_cache(1 << 13)  # most sizes of a step are made many times: one object knows its bounds and products
def _one(terms: tuple[tuple[Monomial, int], ...]) -> AnySize:
    size = Size(dict(terms))
    return size if len(size.key) > (() in size.key) else size.key.get((), 0)


def _in_order(terms: Mapping[Monomial, int]) -> dict[Monomial, int]:
    return {m: terms[m] for m in sorted(terms, key=_order)} if len(terms) > 1 else dict(terms)


@lru_cache(1 << 12)  # sizes of the same few monomials are made again and again
def _order(monomial: Monomial) -> tuple[int, str]:
    """Monomials of high degree first, the constant last."""
    return -len(monomial), "*".join(map(str, monomial))


@lru_cache(1 << 12)
def _has_parts(monomial: Monomial) -> bool:
    return any(isinstance(atom, Quotient) and atom.parts is not None for atom in monomial)


def _text(terms: Mapping[Monomial, int]) -> str:
    texts = []
    for monomial, factor in terms.items():
        atoms = "*".join(map(str, monomial))
        texts.append(str(factor) if not monomial else atoms if factor == 1 else f"{factor}*{atoms}")
    return " + ".join(texts).replace("+ -", "- ")


def inner(atom: Quotient | AtLeastOne | AtMost) -> Size:
    """Return the size in a factor that is no symbol."""
    return atom.dividend if isinstance(atom, Quotient) else atom.size


def _atom_value(atom: Atom, values: Mapping[str, int]) -> int:
    match atom:
        case Quotient():
            return evaluate(atom.dividend, values) // atom.divisor
        case AtLeastOne():
            return max(evaluate(atom.size, values), 1)
        case AtMost():
            return min(evaluate(atom.size, values), atom.most)
    return values[atom]


def _atom_bounds(atom: Atom) -> tuple[int, int]:
    if isinstance(atom, str):
        return 0, _most_of(atom)
    least, most = bounds(inner(atom))
    if isinstance(atom, AtLeastOne):
        return max(least, 1), max(most, 1)
    if isinstance(atom, AtMost):
        return min(least, atom.most), min(most, atom.most)
    return least // atom.divisor, most // atom.divisor


def _most_of(name: str) -> int:
    most = name.rpartition("_")[2] if name.startswith(BOUNDED) else ""
    return min(int(most), MOST) if most.isdecimal() and len(most) <= 10 else MOST  # a file may lie


def _less(a: AnySize, b: AnySize) -> bool:
    apart = b - a
    least, most = bounds(apart)
    if least > 0:
        return True
    if most <= 0:
        return False
    return answered(Undecided(f"{a!r} < {b!r}", None, (apart,), (apart - 1, ">=")))


def _quotient(size: Size, divisor: Size) -> AnySize:
    from staticgraph.compiler.graph.size_algebra.polynomials import divided_by  # few graphs need it

    whole, left = divided_by(size, divisor, made)
    if isinstance(left, int) and left == 0:
        return whole
    raise Undecided(f"{size!r} // {divisor!r}", sizes=(divisor,))  # a known one divides any size
