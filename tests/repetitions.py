"""Turns of the cases that repeat a check: those that are not run always are slow, for `pytest -m slow`.

@pytest.mark.by_turns("dtype")    each case of the other parameters with one dtype, the dtypes by turns
@pytest.mark.one_in(3)            each third case
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import pytest


def repeated(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """The tests that only repeat what others check."""
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("by_turns") or item.get_closest_marker("one_in"):
            functions[item.nodeid.partition("[")[0]].append(item)
    for cases in functions.values():
        yield from _repeated(cases)


def _repeated(cases: list[pytest.Item]) -> Iterator[pytest.Item]:
    by_turns, one_in = (cases[0].get_closest_marker(name) for name in ("by_turns", "one_in"))
    if one_in:
        yield from (case for number, case in enumerate(cases) if number % one_in.args[0])
        return
    turns: dict[object, int] = {}
    values: dict[object, int] = {}
    places = []
    for case in cases:  # parameters are the same objects in all cases, and need not be hashable
        given = {name: id(value) for name, value in case.callspec.params.items()}
        value = tuple(given.pop(name) for name in by_turns.args)
        turn = turns.setdefault(tuple(sorted(given.items())), len(turns))
        places.append((turn, values.setdefault(value, len(values))))
    yield from (
        case for case, (turn, value) in zip(cases, places, strict=True) if turn % len(values) != value
    )
