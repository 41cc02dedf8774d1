"""Copies from array to array in the host's memory. A GPU takes several times what one thread copies, so
large ones are shared out among threads, and what is there already can be sent while the rest is on its way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from staticgraph.compiler.support import forks

PIECE = 2 << 20  # bytes that a thread copies at a time
_MOST_THREADS = 8  # which together copy as fast as memory is


def copy(target: np.ndarray, source: np.ndarray) -> None:
    """Make the elements of `target` those of `source`."""
    for _ in pieces(target, source):
        pass


def pieces(target: np.ndarray, source: np.ndarray) -> Iterator[tuple[int, int]]:
    """Copy, and tell which bytes of `target` are there, as (start, end), as soon as they are.

    >>> there = np.zeros(3, np.float32)
    >>> list(pieces(there, np.ones(3, np.float32))), there.tolist()
    ([(0, 12)], [1.0, 1.0, 1.0])
    """
    alike = source.dtype == target.dtype and source.shape == target.shape
    if target.nbytes <= PIECE or not (alike and _is_whole(source) and _is_whole(target)):
        target[...] = source
        yield 0, target.nbytes
        return
    to, of = (array.reshape(-1).view(np.uint8) for array in (target, source))
    spans = [(start, min(start + PIECE, len(to))) for start in range(0, len(to), PIECE)]
    asked = [_threads().submit(np.copyto, to[start:end], of[start:end]) for start, end in spans]
    for span, each in zip(spans, asked, strict=True):
        each.result()
        yield span


def _is_whole(array: np.ndarray) -> bool:
    """Return True if the bytes of an array are contiguous, in the order of its indices."""
    return array.flags.c_contiguous


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1), "copying")


forks.in_child(lambda: _threads.cache_clear())  # a child has the threads of its parent in name only
