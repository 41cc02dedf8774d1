"""Kinds of values in a description, such as a number, a share, sizes, or a name out of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """`words` say what fits, as in "units must be a whole number above 0". `names`: of a name out of a list.

    `made` makes of a value that fits what the program takes: TOML tells 1 from 1.0. `makers`: what the names
    stand for, where a table may say more of it.
    """

    words: str
    fits: Callable[[Any], bool]
    names: tuple[str, ...] = ()
    made: Callable[[Any], Any] = lambda value: value
    makers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


def is_whole(value: Any) -> bool:
    """Return True if a value is an integer. True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return True if a value is a finite number. True and False are not, and neither are NaN and infinity."""
    return is_whole(value) or (isinstance(value, float) and abs(value) < float("inf"))


def one_of(names: Iterable[str]) -> Kind:
    """A name out of a list.

    >>> one_of(["adam", "momentum"]).words
    "one of 'adam', 'momentum'"
    """
    listed = tuple(names)
    return Kind(f"one of {', '.join(map(repr, listed))}", lambda v: v in listed, listed)


def _listed(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _or_listed(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    several = _listed(fits)
    return lambda value: fits(value) or (bool(value) and several(value))


COUNT = Kind("a whole number above 0", lambda v: is_whole(v) and v > 0)
FROM_ZERO = Kind("a whole number from 0 on", lambda v: is_whole(v) and v >= 0)
WHOLE = Kind("a whole number", is_whole)
NUMBER = Kind("a number", is_number, made=float)
POSITIVE = Kind("a number above 0", lambda v: is_number(v) and v > 0, made=float)
NOT_NEGATIVE = Kind("a number from 0 on", lambda v: is_number(v) and v >= 0, made=float)
SHARE = Kind("a number from 0 to below 1", lambda v: is_number(v) and 0 <= v < 1, made=float)
FLAG = Kind("true or false", lambda v: isinstance(v, bool))
TEXT = Kind("a text", lambda v: isinstance(v, str) and v.isprintable() and v != "")
TEXTS = Kind("a list of texts", _listed(TEXT.fits))
NAMES = Kind("a name or a list of names", _or_listed(TEXT.fits))
FILE = Kind("a path", TEXT.fits)
SHARE_OR_FILE = Kind(
    "a share of the examples, above 0 and below 1, or a path",
    lambda v: TEXT.fits(v) or (is_number(v) and 0 < v < 1),
)
SIZE = Kind("a whole number above 0 or a list of them", _or_listed(COUNT.fits))
MARGIN = Kind("whole numbers from 0 on, or pairs of them", _or_listed(_or_listed(FROM_ZERO.fits)))
SHAPE = Kind("a list of whole numbers above 0", lambda v: bool(v) and _listed(COUNT.fits)(v))
CHANNELS = Kind("1 or 3", lambda v: v in (1, 3) and is_whole(v))
PAIR = Kind("two whole numbers above 0", lambda v: _listed(COUNT.fits)(v) and len(v) == 2)
WHOLES = Kind("a list of whole numbers", _listed(is_whole))
AXES = Kind("a whole number or a list of them", _or_listed(is_whole))
NUMBERS = Kind("a list of numbers", _listed(is_number), made=lambda values: [float(v) for v in values])
