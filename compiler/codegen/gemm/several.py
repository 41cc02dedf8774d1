"""Whole numbers that differ between products with one text: what they compute with takes all of them at once.

    width = Several((96, 160, 576))
    width // 48 is Several((2, 3, 12)),  width % 16 == 0 is True,  width > 100 raises Apart

A comparison has an answer if it is the same for all products. So code that decides by numbers is never wrong
about one of them: if a decision would differ, the products have no common text. In the text, such a number is
a parameter (`GemmWriter.number`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any


class Apart(Exception):
    """Products cannot have one text: they would be done in different ways.

    Attributes:
        ways: What differs, of each product. Those with the same may have one text. None if that is not known.
    """

    def __init__(self, text: str, ways: Sequence[Hashable] | None = None) -> None:
        super().__init__(text)
        self.ways = ways


class Several:
    """A whole number of each of several products.

    Attributes:
        values: The numbers, at least two of which differ, in the order of the products.
    """

    __slots__ = ("values",)

    def __init__(self, values: tuple[int, ...]) -> None:
        self.values = values

    def __hash__(self) -> int:
        return hash(self.values)

    def __neg__(self) -> Any:
        return common([-value for value in self.values])

    def __bool__(self) -> bool:
        return self._agreed([bool(value) for value in self.values])

    def __index__(self) -> int:
        raise Apart(f"one of {self.values}", self.values)

    def __format__(self, form: str) -> str:
        raise Apart(f"{self.values} in a text", self.values)

    if TYPE_CHECKING:  # what is made below

        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __rfloordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __rmod__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> bool: ...
        def __le__(self, other: Any) -> bool: ...
        def __gt__(self, other: Any) -> bool: ...
        def __ge__(self, other: Any) -> bool: ...

    def _agreed(self, answers: list[bool]) -> bool:
        if len({*answers}) > 1:
            raise Apart(f"decided by one of {self.values}", answers)
        return answers[0]


def common(values: list[int]) -> Any:
    """Return the number that all of `values` are, or else a `Several`.

    >>> common([4, 4]), common([4, 5]).values
    (4, (4, 5))
    """
    return Several(tuple(values)) if len({*values}) > 1 else values[0]


def one_of(number: Any, n: int) -> int:
    """Return a number as the `n`-th product has it."""
    return int(number.values[n]) if isinstance(number, Several) else number


def _operation(function: Callable[[int, int], int]) -> tuple[Any, Any]:
    """Return the methods of an operation: with another number on the right, and on the left."""

    def right(a: Several, b: Any) -> Any:
        if isinstance(b, Several):
            return common([*map(function, a.values, b.values)])
        return common([function(value, b) for value in a.values]) if isinstance(b, int) else NotImplemented

    def left(b: Several, a: Any) -> Any:
        return common([function(a, value) for value in b.values]) if isinstance(a, int) else NotImplemented

    return right, left


def _comparison(function: Callable[[int, int], bool]) -> Any:
    def compare(a: Several, b: Any) -> bool:
        if isinstance(b, Several):
            return a._agreed([*map(function, a.values, b.values)])
        return a._agreed([function(value, b) for value in a.values]) if isinstance(b, int) else NotImplemented

    return compare


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    _right, _left = _operation(getattr(operator, _name))
    setattr(Several, f"__{_name}__", _right)
    setattr(Several, f"__r{_name}__", _left)
for _name in ("eq", "lt", "le", "gt", "ge"):
    setattr(Several, f"__{_name}__", _comparison(getattr(operator, _name)))
