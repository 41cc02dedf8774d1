"""The number of threads that work on a step. The threads are in cpu/pool.py, imported with the first step."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from staticgraph.compiler.graph.errors import misuse
from staticgraph.runtime.switches import MOST_THREADS, from_environment

_chosen: int | None = None  # by the program
_usual: int | None = None  # without that
_followers: list[Callable[[int], None]] = []


def set_num_threads(number: int) -> None:
    """Let `number` threads work on a step: the one that calls `Session.run`, and helpers.

    Default: `SG_THREADS` if the environment has it, else the processors that this process may use, divided
    among the processes on them if several were started together. Results do not depend on it. It takes effect
    at the next step, in all sessions.

    >>> import staticgraph as sg
    >>> before = sg.get_num_threads()
    >>> sg.set_num_threads(2)
    >>> sg.get_num_threads()
    2
    >>> sg.set_num_threads(before)
    """
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise misuse(TypeError, f"set_num_threads(number): expected an integer, not {type(number).__name__}")
    if not 1 <= number <= MOST_THREADS:
        raise misuse(
            ValueError,
            f"set_num_threads({number}): expected 1 (only the thread that runs a step) to {MOST_THREADS}",
        )
    global _chosen
    _chosen = int(number)
    _tell(_chosen)


def get_num_threads() -> int:
    """Return the number of threads that work on a step, including the one that calls `Session.run`.

    See `set_num_threads`.
    """
    global _usual
    if _usual is None:
        _usual = _default()
    return _chosen or _usual


def share_processors(number: int) -> None:
    """Note that `number` processors are for this process: others use the rest of those that it may use.

    So many threads work on a step, if neither the program nor the environment says how many. More would take
    processors from the processes that this one waits for.
    """
    global _usual
    _usual = from_environment("threads") or min(number, _default())
    if _chosen is None:
        _tell(_usual)


def follow(resize: Callable[[int], None]) -> None:
    """Call `resize` with every number that is set from now on."""
    _followers.append(resize)


def _tell(number: int) -> None:
    for resize in _followers:
        resize(number)


def _default() -> int:
    """Return the value of `SG_THREADS` if set, else the number of processors that this process may use."""
    if hasattr(os, "process_cpu_count"):
        usable = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        usable = len(os.sched_getaffinity(0))
    else:
        usable = os.cpu_count() or 1
    return from_environment("threads") or min(usable, MOST_THREADS)
