"""Memory that goes back to the system."""

import mmap
import sys
from pathlib import Path

import pytest

from staticgraph.runtime.memory.aligned import give_back_unused


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_freed_memory_goes_back():
    give_back_unused()
    pieces = [bytearray(100_000) for _ in range(600)]
    above = bytearray(100_000)  # the C library cannot shrink its memory below this
    before = resident()
    del pieces
    give_back_unused()
    assert before - resident() > 40e6
    assert len(above) == 100_000
