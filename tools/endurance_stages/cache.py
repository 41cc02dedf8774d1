"""A cache that 8 processes write and read, of which some are killed: entries are right, or not there."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import staticgraph as sg
from staticgraph.runtime.disk import object_cache

PROCESSES = 8


def run(count: int, seed: int, folder: Path) -> str:
    """Write so many entries, then read them all."""
    where = folder / "cache"
    share = -(-count // PROCESSES)
    chance = random.Random(seed)
    with sg.options(cache_dir=str(where)):
        killed = 0
        first = [_process(where, range(n * share, (n + 1) * share), seed + n) for n in range(PROCESSES)]
        victims = chance.sample(range(PROCESSES), 3)
        for n in victims:
            time.sleep(chance.uniform(0.01, 0.1))
            os.kill(first[n], signal.SIGKILL)
        for child in first:
            killed += _ended(child) != 0
        again = [_process(where, range(n * share, (n + 1) * share), seed - n) for n in victims]
        assert [_ended(child) for child in again] == [0] * len(again)
        object_cache._keys.clear()
        wrong = [n for n in range(share * PROCESSES) if object_cache.read(f"{n:032x}") != _content(n)]
        assert not wrong, (len(wrong), wrong[:5])
        object_cache.write(f"{share * PROCESSES:032x}", b"one more")
        names = os.listdir(where)
    left = [name for name in names if name.endswith(".part")]
    assert not left and len(names) == share * PROCESSES + 2, (left, len(names))
    return f"{share * PROCESSES} entries of {PROCESSES} processes, {killed} of them killed: all exact"


def _content(number: int) -> bytes:
    return random.Random(number).randbytes(number % 3000 + 1)


def _process(where: Path, numbers: range, seed: int) -> int:
    """A process that writes entries, and reads some of all processes."""
    if child := os.fork():
        return child
    code = 1
    try:
        object_cache._keys.clear()
        chance = random.Random(seed)
        for number in numbers:
            object_cache.write(f"{number:032x}", _content(number))
            other = chance.randrange(numbers.stop)
            assert object_cache.read(f"{other:032x}") in (None, _content(other))
        code = 0
    finally:
        os._exit(code)


def _ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
