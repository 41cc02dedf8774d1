"""The watched borders: writes beyond a block are seen, and to look for them disturbs nothing."""

import ctypes
import gc
from contextvars import ContextVar

import numpy as np
import pytest

from tests import bounds


@pytest.mark.parametrize("size", [0, 1, 64, 1000])
@pytest.mark.parametrize("offset", ["before", "after"])
def test_a_write_beyond_is_seen(size, offset):
    filled = bounds.aligned_bytes(size)
    filled[:] = 0
    assert bounds.violations() == []
    block = bounds.aligned_bytes(size)
    place = block.ctypes.data + (-1 if offset == "before" else size)
    ctypes.c_uint8.from_address(place).value ^= 1
    assert bounds.violations() == [f"{size} bytes for test_a_write_beyond_is_seen"]
    assert bounds.violations() == []


@pytest.mark.parametrize("offset", ["before", "after"])
def test_a_write_beyond_an_older_block_is_seen_when_the_file_ends(offset):
    block = bounds.aligned_bytes(64)
    assert bounds.violations() == []
    ctypes.c_uint8.from_address(block.ctypes.data + (-1 if offset == "before" else 64)).value ^= 1
    assert bounds.violations() == []
    assert bounds.violations(everywhere=True) == [
        "64 bytes for test_a_write_beyond_an_older_block_is_seen_when_the_file_ends"
    ]


def test_a_write_beyond_an_older_block_is_seen_when_it_is_freed():
    block = bounds.aligned_bytes(64)
    assert bounds.violations() == []
    ctypes.c_uint8.from_address(block.ctypes.data + 64).value ^= 1
    del block
    assert len(bounds.violations()) == 1


def test_blocks_may_be_freed_while_numpy_changes_its_settings():
    others = [ContextVar(name) for name in ("first", "second", "third")]
    tokens = [(other, other.set(True)) for other in others]  # with several, a change may collect
    before, usual = np.geterr(), gc.get_threshold()
    try:
        for threshold in range(1, 50):  # one of them collects just then
            gc.collect(0)
            gc.set_threshold(threshold)
            with np.errstate(all="raise"):
                garbage = [bounds.aligned_bytes(8)]
                garbage.append(garbage)
                del garbage
            assert np.geterr() == before, threshold
    finally:
        gc.set_threshold(*usual)
        for other, token in tokens:
            other.reset(token)
