"""Sizes that ask for more memory than the system has: an error before any of it is taken."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.support import system_memory

LEFT = 1 << 30  # bytes that the system is said to have left
n = 2**31 - 1


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    monkeypatch.setattr(system_memory, "memory", lambda: (2 * LEFT, LEFT))


def sizes():
    """Graphs with a size that is fed, which is more than there is memory for."""
    size = sg.placeholder(sg.int64, [], name="size")
    row, narrow = sg.reshape(size, [1]), sg.cast(size, sg.int32)
    return size, {
        "fill": sg.fill([size], 1.0),
        "range": sg.range(size),
        "one_hot": sg.one_hot([1, 2], narrow),
        "tile": sg.tile([1.0, 2.0], row),
        "scatter_nd": sg.scatter_nd([[1]], [1.0], row),
        "linspace": sg.linspace(0.0, 1.0, size),
        "sequence_mask": sg.sequence_mask([1, 2], size),
        "lengths of sequence_mask": sg.sequence_mask(row),
        "eye": sg.eye(3, size),
        "sparse_to_dense": sg.sparse_to_dense([[0]], row, [1.0]),
        "broadcast_to": sg.broadcast_to(1.0, row),
        "random_normal": sg.random_normal(row),
        "unsorted_segment_sum": sg.unsorted_segment_sum([1.0], [0], size),
        "segment_max": sg.segment_max([1.0], row),
        "bincount": sg.bincount([1, 2], minlength=narrow),
        "pad": sg.pad([1.0], [[size, 0]]),
        "repeat": sg.repeat([1.0], row),
        "temporary": sg.reduce_sum(sg.cumsum(sg.range(size))),
    }


@pytest.mark.compiled
@pytest.mark.takes_long
def test_a_size_is_refused_before_memory_is_taken():
    size, made = sizes()
    with sg.Session(device="cpu") as sess:
        for name, fetch in made.items():
            with pytest.raises(
                sg.errors.ResourceExhaustedError, match="more than the system gives"
            ) as caught:
                sess.run(fetch, {size: n})
            assert "size" in str(caught.value), name
            sess.run(fetch, {size: 3})  # the session goes on


@pytest.mark.compiled
@pytest.mark.takes_long
def test_any_number_as_a_size_is_an_error_or_empty():
    size, made = sizes()
    with sg.Session(device="cpu") as sess:
        for name in ("one_hot", "bincount"):  # their sizes are of int32, which the cast has wrapped
            del made[name]
        for name, fetch in made.items():
            for number in (2**31, 2**40, 2**62, 2**63 - 1, -1, -(2**62)):
                try:
                    found = sess.run(fetch, {size: number})
                except (sg.errors.ResourceExhaustedError, sg.errors.InvalidArgumentError):
                    continue
                assert number < 0 and found.size == 0, (name, number)


@pytest.mark.compiled
def test_ids_that_ask_for_too_many_segments_are_named_with_their_line():
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    ids = sg.placeholder(sg.int64, [None], name="ids")
    sums = sg.segment_sum(x, ids)
    with sg.Session(device="cpu") as sess:
        feeds = {x: np.ones((2, 2)), ids: [0, n]}
        with pytest.raises(sg.errors.ResourceExhaustedError) as caught:
            sess.run(sums, feeds)
        told = str(caught.value)
        assert "2147483648  the value of SegmentSum/segment_count (test_large_sizes.py:" in told
        assert "), of ids (test_large_sizes.py:" in told
        for number in (2**62, 2**63 - 1):
            with pytest.raises(
                sg.errors.ResourceExhaustedError, match="more memory than there are addresses"
            ):
                sess.run(sums, feeds | {ids: [0, number]})


def test_what_python_does_asks_for_memory_before_it_is_taken():
    """Strings by fed sizes: each element is a reference, whatever its text."""
    size = sg.placeholder(sg.int64, [], name="size")
    row = sg.reshape(size, [1])
    made = {
        "fill": sg.fill([size], "a"),
        "tile": sg.tile(["a", "b"], row),
        "broadcast_to": sg.broadcast_to("a", row),
        "pad": sg.pad(["a"], [[0, size]]),
        "unsorted_segment_join": sg.strings.unsorted_segment_join(["a"], [0], size),
    }
    with sg.Session() as sess:
        for name, fetch in made.items():
            assert sess.run(fetch, {size: 3}).shape, name
            for number in (n, 2**31, 2**40):
                with pytest.raises(sg.errors.ResourceExhaustedError, match="bytes of memory left") as caught:
                    sess.run(fetch, {size: number})
                assert "test_large_sizes.py" in str(caught.value), name
            for number in (2**62, 2**63 - 1, -1, -(2**62)):
                with pytest.raises((sg.errors.ResourceExhaustedError, sg.errors.InvalidArgumentError)):
                    sess.run(fetch, {size: number})


def test_the_greatest_index_of_a_stitch_is_no_negative_size():
    index = sg.placeholder(sg.int32, [None], name="index")
    made = sg.dynamic_stitch([index], [sg.cast(index, sg.float32)])
    with sg.Session() as sess, pytest.raises(sg.errors.ResourceExhaustedError, match="memory"):
        sess.run(made, {index: [0, n]})


def test_what_a_group_of_processes_may_use_counts(monkeypatch, tmp_path):
    monkeypatch.undo()
    (tmp_path / "max").write_text("1048576\n")
    (tmp_path / "current").write_text("900000\n")
    (tmp_path / "memory.stat").write_text("anon 1\nactive_file 4096\ninactive_file 8192\n")
    pattern = r"^(?:in)?active_file (\d+)$"
    monkeypatch.setattr(system_memory, "_GROUPS", [(tmp_path / "max", tmp_path / "current", pattern)])
    found = system_memory.memory()
    if found is None:
        pytest.skip("the system does not tell")
    assert found == (2**20, 2**20 - 900000 + 4096 + 8192)
    (tmp_path / "max").write_text("max\n")
    there = system_memory.memory()
    assert there is not None and there[0] > 2**20
