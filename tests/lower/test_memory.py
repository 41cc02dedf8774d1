"""The arena: live buffers never overlap, and dead ones are used again."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from staticgraph.compiler.graph.open_sizes import replaced
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.compiler.kernel.stmt import ALIGNMENT, padded
from staticgraph.compiler.lower.buffer_assignment import (
    Candidate,
    fullest,
    lifetimes,
    plan_arena,
    plan_open,
)
from staticgraph.compiler.lower.program import OpenPlace

drawn_lifetimes = st.lists(
    st.tuples(st.integers(0, 3000), st.integers(0, 30), st.integers(0, 12)), max_size=40
).map(lambda items: {i: (size, born, born + length) for i, (size, born, length) in enumerate(items)})


@settings(max_examples=300)
@given(drawn_lifetimes)
def test_live_buffers_do_not_overlap(buffers: dict[int, tuple[int, int, int]]):
    offsets, size = plan_arena(buffers)
    assert offsets.keys() == buffers.keys()
    for a, (a_size, a_born, a_last) in buffers.items():
        assert offsets[a] % ALIGNMENT == 0
        assert offsets[a] + padded(max(a_size, 1)) <= size
        for b, (b_size, b_born, b_last) in buffers.items():
            if a < b and a_born <= b_last and b_born <= a_last:
                apart = offsets[a] + padded(max(a_size, 1)) <= offsets[b]
                assert apart or offsets[b] + padded(max(b_size, 1)) <= offsets[a]


@settings(max_examples=100)
@given(drawn_lifetimes)
def test_no_larger_than_all_buffers_together(buffers: dict[int, tuple[int, int, int]]):
    _, size = plan_arena(buffers)
    assert size <= sum(padded(max(s, 1)) for s, _, _ in buffers.values())


@settings(max_examples=100)
@given(drawn_lifetimes, st.integers(0, 100))
def test_live_buffers_of_open_sizes_do_not_overlap(buffers: dict[int, tuple[int, int, int]], n: int):
    places, total = plan_open(
        {key: (symbol("n") * size, born, last) for key, (size, born, last) in buffers.items() if size}
    )
    spans = {}
    for key, place in places.items():
        start = place.offset if isinstance(place, OpenPlace) else place
        start, size = replaced(start, {"n": n}), buffers[key][0] * n
        assert start % ALIGNMENT == 0 and start + size <= replaced(total, {"n": n})
        if isinstance(place, OpenPlace):  # what may run at the same time is found by these numbers
            assert size <= replaced(place.unit, {"n": n}) * (place.stop - place.start)
        spans[key] = start, start + size
    for a, (low, high) in spans.items():
        for b, (start, stop) in spans.items():
            live = buffers[a][1] <= buffers[b][2] and buffers[b][1] <= buffers[a][2]
            assert a >= b or not live or high <= start or stop <= low


def test_vectors_of_open_length_take_what_they_need():
    """A cache line for each element would be 16 times as much."""
    n = symbol("n")
    _, total = plan_open({"one": (4 * n, 0, 1), "other": (4 * n, 1, 2), "pairs": (24 * n, 1, 2)})
    assert replaced(total, {"n": 1_000_000}) <= 1.01 * 32_000_000


def test_a_value_that_is_computed_again_lives_twice():
    """Each time until it is read last; what no kernel writes, and what has no memory of its own, never."""
    kernels: Any = [
        (["x"], ["a", "other"]),
        (["a"], ["b"]),
        (["b", "other"], ["a"]),
        (["a", "b"], []),
        ([], []),
    ]
    items = [Candidate(None, tuple(reads), tuple(writes), False) for reads, writes in kernels]  # type: ignore[arg-type]
    sizes: Any = {"a": 4, "b": 8}
    assert lifetimes(items, sizes) == {("a", 0): (4, 0, 1), ("b", 1): (8, 1, 3), ("a", 2): (4, 2, 3)}


def test_a_chain_needs_two_buffers():
    _, size = plan_arena({i: (1000, i, i + 1) for i in range(50)})
    assert size == 2 * padded(1000)


def test_a_buffer_is_not_reused_by_the_instruction_that_reads_it_last():
    offsets, _ = plan_arena({"read": (64, 0, 1), "written": (64, 1, 2)})
    assert offsets["read"] != offsets["written"]


def test_gaps_join():
    """Two small neighbours that died make room for a large one."""
    offsets, size = plan_arena({"a": (64, 0, 1), "b": (64, 0, 1), "after": (64, 0, 9), "large": (128, 2, 3)})
    assert offsets["large"] == 0
    assert size == 192


def test_order_of_the_table_does_not_matter():
    buffers = {"a": (64, 0, 2), "b": (128, 1, 3), "c": (64, 3, 4)}
    assert plan_arena(buffers)[1] == plan_arena(dict(reversed(buffers.items())))[1]


def test_small_buffers_do_not_get_in_the_way_of_large_ones():
    """In order of birth the small one takes the place that the large one could have had."""
    buffers = {"a": (256, 0, 1), "b": (64, 1, 9), "c": (320, 2, 3), "d": (64, 3, 4), "e": (256, 4, 5)}
    assert plan_arena(buffers)[1] == fullest(buffers)[1]


def test_small_buffers_that_live_long_do_not_get_in_the_way_either():
    """By size times life `b` would come before `c`, and take the place beside `d`."""
    buffers = {"a": (192, 5, 5), "b": (128, 4, 9), "c": (384, 5, 5), "d": (256, 1, 4)}
    assert plan_arena(buffers)[1] == fullest(buffers)[1]


@settings(max_examples=200)
@given(drawn_lifetimes)
def test_the_fullest_moment_bounds_the_arena_from_below(buffers: dict[int, tuple[int, int, int]]):
    at, most = fullest(buffers)
    assert most <= plan_arena(buffers)[1]
    live = [padded(max(size, 1)) for size, born, last in buffers.values() if born <= at <= last]
    assert most == sum(live)
