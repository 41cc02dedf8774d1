"""Orders in which values are computed again, compared with all sets of values that could be kept instead."""

from __future__ import annotations

from itertools import chain, combinations
from random import Random
from typing import Any

import pytest

from staticgraph.compiler.lower import rematerialize
from staticgraph.compiler.lower.buffer_assignment import Candidate, fullest, lifetimes
from staticgraph.compiler.lower.rematerialize import recompute

Items = list[Candidate]


def drawn(chance: Random) -> tuple[Items, dict[Any, int]]:
    """Some kernels, each with a value made of values before it; the last one reads several, far back."""
    items: list[Any] = []
    count = chance.choice([4, 5, 6, 7])
    for n in range(count):
        before = [f"v{m}" for m in range(n)]
        reads = chance.sample(before, min(len(before), chance.choice([1, 1, 2, 3]))) or ["fed"]
        if n == count - 1:
            reads = chance.sample(before, chance.choice([2, 3]))
        items.append(Candidate(None, tuple(reads), (f"v{n}",), chance.random() < 0.7))  # type: ignore[arg-type]
    return items, {f"v{n}": 64 * chance.choice([1, 2, 3, 8, 20]) for n in range(count)}


def kept_across(order: Items, at: int, sizes: dict[Any, int]) -> int:
    """The bytes of values that wait while an item runs, besides what it reads for the last time or writes."""
    spans = lifetimes(order, sizes).values()
    return sum(size for size, born, last in spans if born < at < last)


def fewest(items: Items, at: int, sizes: dict[Any, int]) -> int:
    """The fewest bytes of values to keep so that all that follows can be computed, by trying all sets."""
    by_value: dict[Any, Candidate] = {item.writes[0]: item for item in items[:at]}
    wanted = {v for item in items[at + 1 :] for v in item.reads if v in by_value}

    def can(value: Any, kept: set[Any]) -> bool:
        if value in kept or value not in by_value:
            return True
        item = by_value[value]
        return item.again and all(can(source, kept) for source in item.reads)

    sets = chain.from_iterable(combinations(by_value, n) for n in range(len(by_value) + 1))
    return min(sum(map(sizes.__getitem__, kept)) for kept in sets if all(can(v, {*kept}) for v in wanted))


def check(items: Items, order: Items, sizes: dict[Any, int]) -> None:
    """Fail unless an order computes what `items` do: each reads what is there, and only some come again."""
    there = {"fed"}
    for item in order:
        assert there.issuperset(item.reads)
        there.update(item.writes)
    first = list(dict.fromkeys(order))
    assert first == items
    again = [item for n, item in enumerate(order) if item in order[:n]]
    assert all(item.again for item in again) and order[-1] is items[-1]
    assert fullest(lifetimes(order, sizes))[1] <= fullest(lifetimes(items, sizes))[1]


@pytest.mark.parametrize("seed", range(4))
def test_as_few_bytes_are_kept_at_the_fullest_moment_as_can_be(seed: int):
    chance, relieved, less = Random(seed), 0, 0  # less: where all memory is less
    for _ in range(60):
        items, sizes = drawn(chance)
        at, most = fullest(lifetimes(items, sizes))
        assert recompute(items, sizes, most) is items
        best = fewest(items, at, sizes)
        now = kept_across(items, at, sizes)
        order = rematerialize._relieved(items, at, sizes)
        if order is None:
            assert best == now
            continue
        relieved += 1
        assert kept_across(order, at, sizes) == best < now
        made = [*recompute(items, sizes, 0)]
        check(items, made, sizes)
        once, often = (fullest(lifetimes(each, sizes))[1] for each in (order, made))
        assert often <= min(once, most)
        less += once < most
    assert relieved > 10 and less


def test_what_fits_is_not_computed_again():
    """A limit between two orders is kept by the one with fewer repeats."""
    names = ["a", "b", "c", "d"]
    items: Items = [Candidate(None, ("fed",), (name,), True) for name in names]  # type: ignore[arg-type]
    items.append(Candidate(None, tuple(reversed(names)), ("last",), False))  # type: ignore[arg-type]
    sizes: dict[Any, int] = dict.fromkeys([*names, "last"], 64)
    assert recompute(items, sizes, 5 * 64) is items
    assert [*recompute(items, sizes, 0)] == items  # the last kernel reads all of them at once
