"""All ways of saving, each of some numbers over what was there: for the tests of what may go wrong meanwhile.

As a program it has its children killed while they save, and looks at what they leave:

    python -m tests.saving.saves WAY FOLDER          before and after each call of the system, in turn
    python -m tests.saving.saves WAY FOLDER 1000     so many times, at any time

It is a program of its own because children are forked: a process with threads cannot do that.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg

CALLS = ("open", "write", "fsync", "replace", "close", "unlink", "mkdir")  # of the module os
SIZE = 3000  # numbers: three pages of memory


@dataclass(frozen=True, slots=True)
class Way:
    """`save(folder, number)` writes an array of that number; `load(folder)` returns the array."""

    save: Callable[[Path, int], Any]
    load: Callable[[Path], np.ndarray]


@cache
def _parts(**options: Any) -> tuple[Any, Any, Any, Any]:
    """A variable, an output, the Saver and the session: made once, since that takes longer than saving."""
    with sg.Graph().as_default() as graph:
        w = sg.Variable(np.zeros(SIZE, np.int32), name="w")
        return w, sg.identity(w), sg.train.Saver([w], **options), sg.Session(graph=graph)


def _save_graph(folder: Path, number: int) -> None:
    w, output, _, session = _parts()
    w.load(np.full(SIZE, number, np.int32), session)
    sg.save(folder / "net.sg", {"w": output}, session=session)


def _save_checkpoint(folder: Path, number: int, **options: Any) -> None:
    w, _, saver, session = _parts(**options)
    w.load(np.full(SIZE, number, np.int32), session)
    saver.save(session, str(folder / "model"), write_meta_graph=not options)


def _load_checkpoint(folder: Path) -> np.ndarray:
    return sg.train.load_variable(str(folder), "w")


def _weights(suffix: str) -> Way:
    return Way(
        lambda folder, n: sg.save_weights(folder / f"w.{suffix}", {"w": np.full(SIZE, n, np.int32)}),
        lambda folder: sg.read_weights(folder / f"w.{suffix}")["w"],
    )


WAYS = {
    "graph": Way(_save_graph, lambda folder: sg.load(folder / "net.sg").variables["w"]),
    "checkpoint": Way(_save_checkpoint, _load_checkpoint),
    "tensorflow": Way(lambda f, n: _save_checkpoint(f, n, write_version=2), _load_checkpoint),
    "safetensors": _weights("safetensors"),
    "npz": _weights("npz"),
}


def number(way: Way, folder: Path) -> int:
    """The number of the array that is there now, which must be one of those that were saved, and whole."""
    found = way.load(folder)
    assert found.shape == (SIZE,) and (found == found[0]).all()
    return int(found[0])


def left_over(folder: Path) -> list[str]:
    """The temporary files in a folder."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def _begin(way: Way, folder: Path) -> None:
    """Save until all is compiled that saving needs: a child that died would leave it to the next one."""
    for _ in range(3):
        way.save(folder, 0)


def _child(work: Callable[..., Any], *given: Any) -> int:
    """A process that does the work and ends."""
    if child := os.fork():
        return child
    code = 1
    try:
        work(*given)
        code = 0
    finally:
        os._exit(code)


def _ended(child: int) -> int:
    """Return the end of a child: 0, the signal that killed it as a negative number, or else 1."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _die_at(count: int) -> None:
    """Kill this process at the `count`-th time that it is before or after a call that changes files."""
    passed = itertools.count(1)

    def step() -> None:
        if next(passed) == count:
            os.kill(os.getpid(), signal.SIGKILL)

    def between(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            step()
            made = real(*arguments, **options)
            step()
            return made

        return call

    for name in CALLS:
        setattr(os, name, between(getattr(os, name)))


def _dying(way: Way, folder: Path, count: int) -> None:
    _die_at(count)
    way.save(folder, count)


def _saving(way: Way, folder: Path, begin: int) -> None:
    for new in itertools.count(begin):
        way.save(folder, new)


def _survived(way: Way, folder: Path, at_least: int) -> None:
    """Check that the file is whole, not older than it may be, and can be saved over, which cleans up."""
    assert number(way, folder) >= at_least, (number(way, folder), at_least)
    way.save(folder, at_least + 1)
    assert number(way, folder) == at_least + 1 and not left_over(folder)


def kill_at_each_call(way: Way, folder: Path) -> int:
    """Return the number of children that were killed until one came through."""
    _begin(way, folder)
    for count in itertools.count(1):
        code = _ended(_child(_dying, way, folder, count))
        assert code in (0, -signal.SIGKILL)
        assert _ended(_child(_survived, way, folder, count - 1)) == 0, f"killed at step {count}"
        if code == 0:
            return count - 1
    raise AssertionError


def kill_at_any_time(way: Way, folder: Path, times: int) -> int:
    """Have a child that saves again and again killed so many times."""
    chance = random.Random(times)
    _begin(way, folder)
    for done in range(times):
        child = _child(_saving, way, folder, 0)
        time.sleep(chance.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        assert _ended(child) == -signal.SIGKILL
        assert _ended(_child(_survived, way, folder, 0)) == 0, f"killed for the {done}-th time"
    return times


if __name__ == "__main__":
    chosen, place, *often = sys.argv[1:]
    if often:
        print(kill_at_any_time(WAYS[chosen], Path(place), int(often[0])))
    else:
        print(kill_at_each_call(WAYS[chosen], Path(place)))
