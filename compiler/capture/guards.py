"""Answers to comparisons of open sizes by the sizes at hand, and guards that keep them.

    x = placeholder(float32, [None, 784]);  y = slice(x, [0, 0], [3, -1])

asks if x has three rows. If it has 64 in the run at hand, the answer is yes, and the program takes every run
in which that is so: its guard is `n0 >= 3`. A run with two rows needs another program.

Answers depend on the graph and on the sizes of the run alone, and a run gets a program only if it would give
all answers that the program was made with. So the program of a run does not depend on the runs before it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from staticgraph.compiler.graph.open_sizes import linear, of_data, replaced, symbols, to_data
from staticgraph.compiler.graph.size_contexts import Undecided, answering, current_answer
from staticgraph.compiler.graph.sizes import (
    MOST,
    AnySize,
    Quotient,
    Size,
    bounds,
    content,
    evaluate,
    quotient,
    symbol,
)
from staticgraph.compiler.support.dataclass import dataclass

Made = TypeVar("Made")

_HOLDS = {
    "==": lambda n: n == 0,
    "!=": lambda n: n != 0,
    ">=": lambda n: n >= 0,
}
_TURNED = {"==": "==", "!=": "!=", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Guard:
    """Condition on the sizes of a run: `size` compared with 0."""

    size: Size
    relation: str

    def holds(self, values: Mapping[str, int]) -> bool:
        """Return True for the values of the symbols in a run."""
        return bool(_HOLDS[self.relation](evaluate(self.size, values)))

    def replaced(self, by: Mapping[str, AnySize]) -> Guard | None:
        """Return the guard with other sizes in place of symbols; None if it then always holds."""
        size = replaced(self.size, by)
        if not isinstance(size, Size):
            assert _HOLDS[self.relation](size), self
            return None
        least, most = bounds(size)
        always = {"==": False, "!=": least > 0 or most < 0, ">=": least >= 0}
        return None if always[self.relation] else Guard(size, self.relation)

    def __str__(self) -> str:
        left: Any = sum(Size({m: f}) if m else f for m, f in self.size.terms.items() if f > 0)
        right, relation = left - self.size, self.relation
        if not isinstance(left, Size):
            left, right, relation = right, left, _TURNED[relation]
        return f"{left!r} {relation} {right!r}"

    def to_data(self) -> Any:
        """Return the guard as plain numbers, lists and strings, for a file."""
        return [to_data(self.size), self.relation]


def guard_of_data(data: Any) -> Guard:
    """Return the guard that `to_data` told of. Raises ValueError if it is none."""
    if isinstance(data, list) and len(data) == 2 and data[1] in _HOLDS:
        size = of_data(data[0])
        if isinstance(size, Size):
            return Guard(size, data[1])
    raise ValueError("a guard is a size that is compared with 0")


class Answers:
    """Answers to comparisons by the values of the symbols at hand.

    Args:
        values: The values of the symbols.
        puts_off: If equal symbols are noted and taken for equal, until `settle` is called.

    Attributes:
        guards: What holds if the answers are to be the same in another run, in the order of the questions.
        put_off: The questions about equal symbols that were put off; None if none is any more.
    """

    def __init__(self, values: Mapping[str, int], puts_off: bool = False) -> None:
        self.values = dict(values)
        self.put_off: list[Undecided] | None = [] if puts_off else None
        self._guards: dict[Guard, None] = {}

    @property
    def guards(self) -> tuple[Guard, ...]:
        return tuple(self._guards)

    def keep(self, guards: Iterable[Guard]) -> None:
        """Add guards, of which each holds."""
        self._guards.update(dict.fromkeys(guards))

    def __call__(self, comparison: Undecided) -> bool:
        """Answer a comparison of a size with 0.

        Raises:
            Undecided: If they are equal. The program is then made with what that tells of symbols. If that
                is put off, once the first questions have given one name to all symbols.
        """
        answer = self.ask(comparison)
        if answer and comparison.equal is not None:
            if self.put_off is None or not all(map(_is_symbol, comparison.equal)):
                raise comparison
            self.put_off.append(comparison)
            others = len(self.values) - 1
            if len(self.put_off) == others == len(with_one_name(self.put_off)):  # nothing is left to learn
                raise comparison
        return answer

    def ask(self, question: Undecided) -> bool:
        """Return the answer to a comparison, and keep it as a guard; False if it is none."""
        if question.comparison is None:
            return False
        apart, relation = question.comparison
        answer = bool(_HOLDS[relation](evaluate(apart, self.values)))
        if relation == "==":
            guard = Guard(apart, "==" if answer else "!=")
        else:
            guard = Guard(apart if answer else -1 - apart, ">=")
        self._guards[guard] = None
        return answer


def _is_symbol(size: AnySize) -> bool:
    return isinstance(size, Size) and linear(size) == (*symbols(size), 1, 0)


def settle() -> None:
    """Raise the first of the questions that the answers have put off. From here on they put off none.

    Many feeds have the same number of rows, and each pair of them is a question. It would take long to begin
    again at each of them.
    """
    answers = current_answer()
    if isinstance(answers, Answers) and answers.put_off is not None:
        for question in answers.put_off:
            raise question
        answers.put_off = None


@contextmanager
def asking() -> Iterator[Callable[[], tuple[Guard, ...]]]:
    """Give a function that returns the guards of what is asked inside the `with`, asked before or not."""
    outer = current_answer()
    if not isinstance(outer, Answers):
        yield tuple
        return
    inner = Answers(outer.values)
    inner.put_off = outer.put_off
    try:
        with answering(inner):
            yield lambda: inner.guards
    finally:
        outer.keep(inner.guards)


def with_answers_of_now(make: Callable[[], Made]) -> Callable[[], Made]:
    """Return a function that calls `make` later, with the answers that comparisons have here."""
    outer = current_answer()
    if not isinstance(outer, Answers):
        return make

    def made() -> Made:
        with answering(Answers(outer.values)):
            return make()

    return made


def strongest(guards: Iterable[Guard]) -> tuple[Guard, ...]:
    """Return those guards that no other one implies: of `n0 >= 2` and `n0 >= 6` the second one."""
    kept = list(dict.fromkeys(guards))
    for guard in tuple(kept):
        if any(other is not guard and _implies(other, guard) for other in kept):
            kept = [other for other in kept if other is not guard]  # whose sizes it would take to compare
    return tuple(kept)


def _implies(one: Guard, other: Guard) -> bool:
    """Return True if the second guard holds wherever the first one does: a lower bound that is no lower."""
    if one.relation != ">=" or other.relation not in (">=", "!="):
        return False
    ways = (
        (other.size - one.size,)
        if other.relation == ">="
        else (other.size - one.size, -other.size - one.size)
    )
    least = 0 if other.relation == ">=" else 1
    return any(not isinstance(more, Size) and more >= least for more in ways)


def known_from(guards: Iterable[Guard]) -> dict[str, AnySize]:
    """Return what guards tell of symbols: `n0 + 3` for one of at least 3, 2 for one that can only be 2."""
    least: dict[str, int] = defaultdict(int)
    most: dict[str, int] = defaultdict(lambda: MOST)
    excluded: set[tuple[str, int]] = set()
    for guard in guards:
        found = linear(guard.size)
        if found is None:
            continue
        name, factor, constant = found
        if guard.relation == "!=":
            excluded |= {(name, -constant // factor)} if constant % factor == 0 else set()
            continue
        if factor > 0:
            least[name] = max(least[name], -(constant // factor))
        else:
            most[name] = min(most[name], constant // -factor)
    known: dict[str, AnySize] = {}
    for name in {*least, *most, *(name for name, _ in excluded)}:
        low, high = least[name], most[name]
        while (name, low) in excluded:
            low += 1
        if low == high:
            known[name] = low
        elif low > 0:
            known[name] = symbol(name) + low
    return known


def as_one(undecided: Undecided, values: Mapping[str, int]) -> dict[str, AnySize]:
    """Return what is put in place of symbols if two sizes were asked to be equal, which they are.

    So `16*n0 == 16*n1 + 32` makes `n1 + 2` of n0, `n0*n1 == n2*n3` makes two symbols of four if they are
    equal in pairs, `4*(n0//4) == n0` makes `4*n0` of n0, `n1//2 + 1 == n2` the left side of n2, and
    `6*n0 == 3*n1*n2` makes n0 of n1 and 2 of n2. Empty if something else was asked, or the two are not of
    such a kind.
    """
    apart = undecided.equal[0] - undecided.equal[1] if undecided.equal is not None else 0
    if not isinstance(apart, Size) or evaluate(apart, values) != 0:
        return {}
    apart = apart // content(apart)
    ways = (_equal_in_pairs, _multiple, lambda apart, _: _other_side(apart), _pairs_and_a_number)
    return next(filter(None, (way(apart, values) for way in ways)), {})


def with_one_name(questions: Iterable[Undecided]) -> dict[str, AnySize]:
    """Return what is put in place of symbols that were asked to be equal: the first of their names."""
    other: dict[str, str] = {}

    def first(name: str) -> str:
        while name in other:
            name = other[name]
        return name

    for question in questions:
        one, *rest = sorted({first(name) for size in question.equal or () for name in symbols(size)})
        other |= dict.fromkeys(rest, one)
    return {name: symbol(first(name)) for name in other}


def _equal_in_pairs(apart: Size, values: Mapping[str, int]) -> dict[str, AnySize]:
    terms = [(monomial, factor) for monomial, factor in apart.terms.items() if monomial]
    constant = apart.terms.get((), 0)
    if len(terms) != 2 or terms[0][1] != -terms[1][1] or constant % terms[0][1]:
        return {}
    ((one, factor), (other, _)) = terms
    apart_from = [Counter(one) - Counter(other), Counter(other) - Counter(one)]
    alike = [[atom for atom in atoms.elements() if isinstance(atom, str)] for atoms in apart_from]
    if len(alike[0]) != len(alike[1]) or any(
        len(n) != a.total() for n, a in zip(alike, apart_from, strict=True)
    ):
        return {}
    for names in alike:
        names.sort(key=lambda name: (values[name], name))
    if len(alike[0]) == 1 and not (set(one) & set(other)):
        return _shifted(alike[0][0], alike[1][0], constant // factor)
    if constant or any(values[a] != values[b] for a, b in zip(*alike, strict=True)):
        return {}
    pairs = (sorted(pair) for pair in zip(*alike, strict=True))
    return {second: symbol(first) for first, second in pairs if first != second}


def _pairs_and_a_number(apart: Size, values: Mapping[str, int]) -> dict[str, AnySize]:
    """Return what symbols are if those of two products are equal in pairs, but for one, which is a number."""
    terms = sorted(apart.terms.items(), key=lambda term: len(term[0]))
    names = [atom for monomial in apart.terms for atom in monomial]
    if len(terms) != 2 or len({*names}) < len(names) or not all(isinstance(name, str) for name in names):
        return {}
    (fewer, factor), (more, times) = terms
    left, found = sorted(map(str, more)), dict[str, AnySize]()
    for name in sorted(map(str, fewer)):
        match = next((other for other in left if values[other] == values[name]), None)
        if match is None:
            return {}
        left.remove(match)
        first, second = sorted((name, match))
        found[second] = symbol(first)
    if len(left) != 1 or factor + times * values[left[0]]:
        return {}
    return found | {left[0]: values[left[0]]}


def _shifted(one: str, other: str, more: int) -> dict[str, AnySize]:
    """The size in place of one of two symbols, of which `one + more` is equal to `other`."""
    if more == 0:
        first, second = sorted((one, other))
        return {second: symbol(first)}
    return {other: symbol(one) + more} if more > 0 else {one: symbol(other) - more}


def _multiple(apart: Size, values: Mapping[str, int]) -> dict[str, AnySize]:
    """Return what a symbol is if `apart` is a remainder, such as that of `n0 + 1` after a division by 4."""
    atoms = (atom for monomial in apart.terms for atom in monomial if isinstance(atom, Quotient))
    for atom in atoms:
        form = linear(atom.dividend)
        rest = atom.dividend - Size({(atom,): atom.divisor})
        if form is None or quotient(apart, rest) is None or evaluate(rest, values):
            continue
        name, factor, _ = form
        step = atom.divisor // math.gcd(factor, atom.divisor)
        if step > 1:
            return {name: symbol(name) * step + values[name] % step}
    return {}


def _other_side(apart: Size) -> dict[str, AnySize]:
    """Return what a symbol is if the others tell it, and are free to have any values."""
    for name in sorted(symbols(apart), key=lambda name: (len(name), name), reverse=True):
        factor = apart.terms.get((name,), 0)
        if abs(factor) != 1:
            continue
        others = symbol(name) - apart * factor
        if not isinstance(others, Size) or (name not in symbols(others) and bounds(others)[0] >= 0):
            return {name: others}
    return {}


def known_after(undecided: Undecided, values: Mapping[str, int]) -> dict[str, AnySize]:
    """Return the values of the symbols that a question is about; of all if it does not say.

    One value is enough if it answers the question: `n0*n1` is a multiple of 6 for all n1 if n0 is 6.
    """
    names: frozenset[str] = frozenset().union(*map(symbols, undecided.sizes))
    apart = undecided.equal[0] - undecided.equal[1] if undecided.equal is not None else 0
    if isinstance(apart, Size):
        for name in sorted(names, key=lambda name: (len(name), name)):
            if not isinstance(replaced(apart, {name: values[name]}), Size):
                return {name: values[name]}
    return {name: values[name] for name in names or values}
