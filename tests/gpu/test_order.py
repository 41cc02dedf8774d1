"""Order of work: what each piece waits for, against every pair of accesses, one by one."""

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from staticgraph.runtime.gpu.graphs import order
from staticgraph.runtime.gpu.graphs.order import Order, Ring, Span, depth
from staticgraph.runtime.gpu.simulator import queue

Access = tuple[Sequence[Span], Sequence[Span]]  # what a piece of work reads, and what it writes


def waits(accesses: Sequence[Access]) -> list[list[int]]:
    found = Order()
    return [found.add(reads, writes) for reads, writes in accesses]


def before(waits: Sequence[Sequence[int]]) -> list[set[int]]:
    """All that each piece of work comes after."""
    found: list[set[int]] = []
    for each in waits:
        found.append(set(each).union(*(found[n] for n in each)))
    return found


def conflict(one: Access, other: Access) -> bool:
    """Return True if two pieces of work touch a byte in common, and one of them writes it."""

    def meet(some: Sequence[Span], others: Sequence[Span]) -> bool:
        return any(max(a, c) < min(b, d) for a, b in some for c, d in others)

    return meet(one[1], [*other[0], *other[1]]) or meet(one[0], other[1])


def pairs(accesses: Sequence[Access]) -> list[list[int]]:
    """Return the pieces that each has to wait for, found by looking at all earlier ones."""
    return [[m for m in range(n) if conflict(accesses[m], each)] for n, each in enumerate(accesses)]


def drawn(seed: int, count: int = 40) -> list[Access]:
    """Reads and writes on a short line, some of them empty."""
    rng = random.Random(seed)
    line = rng.choice([6, 30, 200])

    def spans() -> list[Span]:
        starts = [rng.randrange(line) for _ in range(rng.randrange(3))]
        return [(start, start + rng.randrange(1 + line // 3)) for start in starts]

    return [(spans(), spans()) for _ in range(count)]


A, B, C = (0, 8), (8, 16), (16, 24)


@pytest.mark.parametrize(
    ("accesses", "wanted"),
    [
        ([([], [A]), ([A], [B])], [[], [0]]),
        ([([A], [B]), ([], [A])], [[], [0]]),
        ([([], [A]), ([], [A])], [[], [0]]),
        ([([A], [B]), ([A], [C])], [[], []]),
        ([([A], [A]), ([A], [A])], [[], [0]]),
        ([([], [A]), ([], [B]), ([(7, 9)], [C])], [[], [], [0, 1]]),
        ([([], [(0, 24)]), ([A], []), ([B], []), ([], [(4, 12)])], [[], [0], [0], [1, 2]]),
        ([([], [A]), ([A], [B]), ([A, B], [C])], [[], [0], [1]]),
        ([([], [A]), ([(4, 4)], [(2, 2)])], [[], []]),
    ],
    ids=[
        "written, read",
        "read, written",
        "written twice",
        "read twice",
        "in place",
        "two of them",
        "parts",
        "what follows from others",
        "nothing",
    ],
)
def test_a_piece_of_work_waits_for(accesses, wanted):
    assert waits(accesses) == wanted


@pytest.mark.parametrize("seed", range(60))
def test_all_that_must_come_before_does_and_nothing_else(seed):
    accesses = drawn(seed)
    found = waits(accesses)
    assert before(found) == before(pairs(accesses))
    reached = before(found)
    for each in found:
        assert each == sorted(each)
        assert not any(one in reached[other] for one in each for other in each), "one wait implies another"


@pytest.mark.parametrize("seed", range(20))
def test_what_is_long_ago_is_waited_for_all_the_same(seed, monkeypatch):
    monkeypatch.setattr(order, "_KNOWN", (1 << 3) - 1)
    accesses = drawn(seed)
    assert before(waits(accesses)) == before(pairs(accesses))


@pytest.mark.parametrize("seed", range(20))
def test_a_read_of_many_parts_may_only_make_others_wait_longer(seed, monkeypatch):
    monkeypatch.setattr(order, "MOST_SEGMENTS", 2)
    accesses = drawn(seed)
    for found, needed in zip(before(waits(accesses)), before(pairs(accesses)), strict=True):
        assert found >= needed


def test_what_is_known_of_memory_does_not_grow_with_the_work():
    found = Order()
    for n in range(3000):
        found.add([(8 * (n % 500), 8 * (n % 500) + 8)], [(5000, 5008)])
        found.add([(0, 4000)], [(8 * (n % 500), 8 * (n % 500) + 8)])
    assert len(found._starts) == len(found._segments) < 1100
    assert all(low < high for low, high in pairwise(found._starts))
    assert max(len(segment.readers) for segment in found._segments) < 3000


def test_the_longest_chain():
    assert depth([]) == 0
    assert depth([[], [0], [1], []]) == 3
    assert depth([[], [], []]) == 1


def test_memory_is_handed_out_in_turn():
    ring = Ring(1000, 100)
    assert [ring.take(40) for _ in range(3)] == [1000, 1040, 1000]
    assert [ring.take(100), ring.take(0), ring.take(60)] == [1000, 1100, 1000]


@pytest.mark.parametrize("schedule", range(8))
def test_every_order_keeps_what_waits_behind_what_it_waits_for(schedule):
    for seed in range(10):
        found = waits(drawn(seed))
        orders = [queue.order(found, schedule, replay) for replay in range(2)]
        for each in orders:
            assert sorted(each) == list(range(len(found)))
            place = {node: n for n, node in enumerate(each)}
            assert all(place[m] < place[n] for n in place for m in found[n])
        assert orders == [queue.order(found, schedule, replay) for replay in range(2)]


def test_random_orders_differ_from_replay_to_replay():
    found: list[list[int]] = [[] for _ in range(10)]
    assert queue.order(found, 2, 0) != queue.order(found, 2, 1) != queue.order(found, 4, 1)
    assert queue.order(found, 1) == queue.order(found, 3) == list(range(10))[::-1]
