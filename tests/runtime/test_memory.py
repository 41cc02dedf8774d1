"""Memory that goes back to the system."""

import mmap
import sys
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.cpu import open_step
from staticgraph.runtime.state.memory import address_of, give_back_unused


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_freed_memory_goes_back():
    if "libc_malloc_debug" in Path("/proc/self/maps").read_text():
        pytest.skip("the C library's checked heap, with MALLOC_CHECK_, gives nothing back")
    give_back_unused()
    pieces = [bytearray(100_000) for _ in range(600)]
    above = bytearray(100_000)  # the C library cannot shrink its memory below this
    before = resident()
    del pieces
    give_back_unused()
    assert before - resident() > 40e6
    assert len(above) == 100_000


def test_addresses_are_those_that_numpy_tells():
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    fixed = np.frombuffer(b"abcd", np.uint8)
    for array in (whole, whole[1:], whole.T, whole[::2, 3], whole[2:2], np.array(3.0), fixed):
        assert address_of(array) == array.ctypes.data


def test_a_size_that_grows_step_by_step_seldom_needs_a_new_arena(monkeypatch):
    """To touch new memory takes longer than a small step. The results are those of other orders of sizes."""
    made = []

    def counted(size, made=open_step.aligned_bytes, sizes=made):
        sizes.append(size)
        return made(size)

    monkeypatch.setattr(open_step, "aligned_bytes", counted)
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, [None, 40])
        w = sg.constant(np.ones((40, 40), np.float32))
        total = sg.reduce_sum(sg.tanh(sg.matmul(sg.tanh(sg.matmul(x, w)), w)), 1)
        arrays = [np.full((n, 40), 0.01 * n, np.float32) for n in range(1, 101)]
        with sg.Session(device="cpu") as session:
            growing = [session.run(total, {x: array}) for array in arrays]
            assert len(session.compiles) == 1
        count = len(made)
        with sg.Session(device="cpu") as session:
            shrinking = [session.run(total, {x: array}) for array in arrays[::-1]]
    assert count < 16
    assert [r.tobytes() for r in growing] == [r.tobytes() for r in shrinking[::-1]]


def test_memory_is_given_back_beside_large_steps_alone(monkeypatch):
    """It takes a millisecond, which small steps are compiled in."""
    given: list[bool] = []
    monkeypatch.setattr(open_step, "give_back_unused", lambda: given.append(True))
    x = sg.placeholder(sg.float32, [None])
    with sg.Session(device="cpu", open_sizes=False) as session:
        for size, times in ((8, 0), (1 << 18, 1)):
            session.run(sg.tanh(x), {x: np.ones(size, np.float32)})
            assert len(given) == times
