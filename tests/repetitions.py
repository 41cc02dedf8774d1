"""Turns of the tests that take long: each run has its share of them, and leaves the others to the next ones.

@pytest.mark.by_turns("dtype")       each case of the other parameters with one dtype, the dtypes by turns
@pytest.mark.takes_long              each twelfth case; and a test that has no cases in each twelfth turn
@pytest.mark.takes_long(of=key)      each twelfth of those cases whose parameters have the same key, or one
@pytest.mark.takes_long(2)           each second case

The turn of a run is the number of commits behind it: one commit after the other runs other cases, and as many
commits as there are shares run all. `--turn` repeats the run of another commit, and `--turn all` leaves out
nothing. A test that is named (`file.py::test`) runs all its cases. So do the tiers `-m fast` and `-m slow`.
"""

import os
import subprocess
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

ALL = "all"
SHARES = 12  # of what takes long a run has one
VARIABLE = "TEST_TURN"  # a turn for trees without commits, such as the copy that .ci/run tests
_ROOT = Path(__file__).resolve().parent.parent
_Case = TypeVar("_Case")
_turn: int | None = 0  # None: all cases


def of_tree(root: Path = _ROOT) -> str:
    """Return the turn of a tree of files, which is the same in each run: how many commits led to it.

    A tree without commits has turn 0.
    """
    if VARIABLE in os.environ or not (root / ".git").exists():
        return os.environ.get(VARIABLE) or "0"
    command = ["git", "-C", str(root), "rev-list", "--count", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):  # no git, or no commit
        return "0"


def begin(turn: str) -> None:
    """Give this process the turn of its run, a number or `all`, before files of tests are imported."""
    global _turn
    _turn = None if turn == ALL else int(turn)


def share(cases: Iterable[_Case], one_in: int, start: int = 0, turns: int = 1) -> list[_Case]:
    """Return the cases that this run has of some: each `one_in`-th, and one of them at least.

    `start` is the turn that turn 0 has; the cases change after so many `turns`.
    """
    cases = list(cases)
    if _turn is None or not cases:
        return cases
    return cases[(_turn // turns + start) % min(one_in, len(cases)) :: one_in]


def has_turn(name: str, one_in: int = SHARES) -> bool:
    """Return True if it is the turn of what has a name: one in so many names."""
    return _turn is None or (zlib.crc32(name.encode()) + _turn) % one_in == 0


def repeated(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """The tests that have no turn in this run."""
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("by_turns") or item.get_closest_marker("takes_long"):
            functions[_function(item)].append(item)
    for cases in functions.values():
        kept = set(map(id, _chosen(cases)))
        yield from (case for case in cases if id(case) not in kept)


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _chosen(cases: list[pytest.Item]) -> list[pytest.Item]:
    by_turns, takes_long = (cases[0].get_closest_marker(name) for name in ("by_turns", "takes_long"))
    turns = 1
    if _turn is None:
        return cases
    if by_turns:
        cases, turns = _by_turns(cases, by_turns.args)
    if not takes_long:
        return cases
    if not hasattr(cases[0], "callspec"):
        return [case for case in cases if has_turn(case.nodeid, *takes_long.args)]
    return _share_of_alike(cases, turns, *takes_long.args, **takes_long.kwargs)


def _share_of_alike(
    cases: list[pytest.Item], turns: int, n: int = SHARES, of: Callable[[dict[str, Any]], object] = len
) -> list[pytest.Item]:
    alike: dict[object, list[pytest.Item]] = defaultdict(list)
    for case in cases:
        alike[of(case.callspec.params)].append(case)
    start = zlib.crc32(_function(cases[0]).encode())  # or one turn would have the first case of all tests
    return [case for k, each in enumerate(alike.values()) for case in share(each, n, start + k, turns)]


def _by_turns(cases: list[pytest.Item], names: Sequence[str]) -> tuple[list[pytest.Item], int]:
    """The cases of this turn, and after how many turns they come again."""
    assert _turn is not None
    turns: dict[object, int] = {}
    values: dict[object, int] = {}
    places = []
    for case in cases:  # parameters are the same objects in all cases, and need not be hashable
        given = {name: id(value) for name, value in case.callspec.params.items()}
        value = tuple(given.pop(name) for name in names)
        turn = turns.setdefault(tuple(sorted(given.items())), len(turns))
        places.append((turn, values.setdefault(value, len(values))))
    chosen = [
        case
        for case, (turn, value) in zip(cases, places, strict=True)
        if (turn + _turn) % len(values) == value
    ]
    return chosen, len(values)
