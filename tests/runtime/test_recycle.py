"""Memory of large results is used again, but never while anyone can see it."""

from __future__ import annotations

import ctypes
import gc
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import staticgraph as sg

RUNS = 5


@pytest.fixture
def large(sess) -> Callable[[float], np.ndarray]:
    """A run whose result is worth to be recycled: 128 KiB of one number."""
    x = sg.placeholder(sg.float32, [])
    y = sg.fill([128, 256], x)
    call = sess.make_callable(y, [x])
    for _ in range(RUNS):
        call(np.float32(0))
    return lambda number: call(np.float32(number))


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_memory_of_dropped_results_is_used_again(large, way):
    seen = {address(large(i)) for i in range(20)}
    assert len(seen) <= 2
    assert all(place % 64 == 0 for place in seen)
    kept = None
    for i in range(20):  # a loop that holds the last result while it makes the next
        kept = large(i)
        seen.add(address(kept))
    assert len(seen) <= 2


VIEWS: dict[str, Callable] = {
    "array": lambda a: a,
    "list": lambda a: [a],
    "slice": lambda a: a[3:5],
    "strided": lambda a: a[::2].T,
    "view of view": lambda a: a.reshape(-1)[7:9][1:],
    "other dtype": lambda a: a.view(np.int32),
    "subclass": lambda a: a.view(np.recarray),
    "iterator": lambda a: a.flat,
    "base": lambda a: a.base,
    "memoryview": memoryview,
    "part of memoryview": lambda a: memoryview(a)[4:5],
    "array of memoryview": lambda a: np.asarray(memoryview(a)),
    "frombuffer": lambda a: np.frombuffer(a, np.float32),
    "as_strided": lambda a: np.lib.stride_tricks.as_strided(a, (2, 2), (4, 4)),
    "pointer": lambda a: a.ctypes.data_as(ctypes.c_void_p),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_memory_that_can_be_seen_is_not_used_again(view: Callable, large, way):
    first = large(1)
    place = address(first)
    held = view(first)
    del first
    others = [large(2) for _ in range(4)]
    assert all(address(other) != place for other in others)
    assert {float(other[0, 0]) for other in others} == {2}
    del held, others
    gc.collect()


def test_results_keep_their_values(large, way):
    kept = [large(i) for i in range(6)]
    for i in range(6, 12):
        large(i)
    assert [float(array.min()) for array in kept] == list(range(6)) == [float(array.max()) for array in kept]


def test_results_can_be_changed(large, way):
    for i in range(RUNS):
        made = large(i)
        with warnings.catch_warnings(action="ignore"):  # NumPy 2.5 advises against it, and still does it
            made.shape = (256, 128)
        made += 1
        made.flags.writeable = False
    assert large(3).shape == (128, 256)
    assert large(3).flags.writeable
    assert float(large(3)[5, 5]) == 3


def test_large_results_of_several_shapes(sess, way):
    x = sg.placeholder(sg.float32, [None])
    y = x + 1.0
    values = [np.full(size, size, np.float32) for size in (20_000, 40_000, 20_000, 30_000)]
    kept = []
    for value in values * RUNS:
        kept.append(sess.run(y, {x: value}))
        dropped = sess.run(y, {x: value})
        assert np.all(dropped == value.size + 1)
        assert dropped.base.nbytes >= dropped.nbytes  # the memory that it lies in
        del dropped
    assert all(np.all(made == made.size + 1) for made in kept)
