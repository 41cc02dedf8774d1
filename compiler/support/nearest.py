"""Suggestions for a misspelled name: the known names that its writer may have meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any


def nearest(
    name: str,
    known: Iterable[str],
    order: Callable[[str], Any],
    *,
    separator: str = ".",
    count: int = 1,
    whole: float = 1.0,
) -> list[str]:
    """Return the known names that are nearest to one that is not known.

    The same last part comes first, then one of the same area that differs by a letter, then the same one with
    other capital letters, then a similar one: in the same area, also one that begins in the same way, and
    last in other areas, if it is very similar.

    Args:
        name: The name; its areas or scopes stand before it, each with a separator.
        known: Known names, with areas or scopes in the same way.
        order: Sort key of names that are equally near.
        separator: Text between an area and what is in it.
        count: Most names to return.
        whole: Likeness from 0 to 1 from which a name is similar as a whole, if its last part is not. 1 for
            never: areas make names alike that have nothing to do with each other.

    >>> nearest("contrib.layers.dens", ["layers.dense", "nn.dens_loss", "nn.relu"], len)
    ['layers.dense']
    """
    import difflib  # only for mistakes

    listed = list(dict.fromkeys(known))
    area, _, last = name.rpartition(separator)

    def close(names: Iterable[str], cutoff: float) -> list[str]:
        by_last = defaultdict(list)
        for other in names:
            by_last[other.rpartition(separator)[2].lower()].append(other)
        alike = difflib.get_close_matches(last.lower(), by_last, n=count, cutoff=cutoff)
        return [other for each in alike for other in sorted(by_last[each], key=order)]

    here = [other for other in listed if other.rpartition(separator)[0] == area]
    same = sorted((other for other in listed if other.rpartition(separator)[2] == last), key=order)
    found = close(here, 1.0) or same or close(here, 0.9) or close(listed, 1.0) or close(here, 0.7)
    if not found:
        parts = (
            (other, sorted((other.rpartition(separator)[2].lower(), last.lower()), key=len)) for other in here
        )
        fits = (other for other, (short, long) in parts if len(short) > 2 and long.startswith(short))
        found = sorted(fits, key=order)
    found = found or close(listed, 0.85)
    if not found and whole < 1.0:
        found = difflib.get_close_matches(name, listed, n=count, cutoff=whole)
    return found[:count]


def nearest_name(name: object, known: Iterable[str]) -> str | None:
    """Return the known name, with scopes before a slash, that is most like another one.

    None if none is, or if the other one is no text at all.
    """
    from difflib import SequenceMatcher

    if not isinstance(name, str):
        return None

    found = nearest(
        name, known, lambda other: -SequenceMatcher(None, other, name).ratio(), separator="/", whole=0.6
    )
    return found[0] if found else None
