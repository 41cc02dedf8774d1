"""The callables of a session by what its script says, for machine code to find."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.native.dispatch_layout import Known as Word
from staticgraph.compiler.codegen.native.dispatch_layout import Run
from staticgraph.runtime.cpu.fast_path.dispatch import Words, native, words
from staticgraph.runtime.fetches import not_found

MOST = 64  # runs that are looked through one after the other; the oldest gives way


class KnownRuns:
    """Calls what was added for the same fetches and keys of feeds, the very same objects, and else returns
    NotImplemented; always, where machine code does not know how objects are laid out. `recorded` is a list.

    >>> found = KnownRuns([])
    >>> found.size = 0
    >>> found.add(("a", "b"), ("x",), lambda x: x + 1)
    >>> found.call(("a", "b"), {"x": 2}), found.call(["a", "b"], {"x": 2}), found.call(("a", "b"), None)
    (3, NotImplemented, NotImplemented)
    """

    def __init__(self, recorded: Sequence[Any]) -> None:
        self._runs: list[tuple[Words, tuple[Any, ...]]] = []  # newest first; and what their words refer to
        found = native()
        self._words = np.zeros(len(Word), np.int64)
        self._words[Word.RECORDED], self._words[Word.SIZE] = id(recorded), -1
        self.call = not_found if found is None else found.find(self._words)
        self._recorded = recorded

    @property
    def size(self) -> int:
        """For how many operations in `recorded` this is good: with more of them, nothing is found."""
        return int(self._words[Word.SIZE])

    @size.setter
    def size(self, count: int) -> None:
        self._words[Word.SIZE] = count

    def add(self, fetches: Any, keys: tuple[Any, ...], call: Callable[..., Any]) -> None:
        """Have `call` called for these fetches, one object or a list or tuple, and feeds with these keys."""
        kind = type(fetches)
        several = kind is list or kind is tuple
        what = tuple(fetches) if several else (fetches,)
        ids, names = words(*map(id, what)), words(*map(id, keys))
        values = {
            Run.NEXT: int(self._words[Word.FIRST]),
            Run.KIND: id(kind) if several else 0,
            Run.FETCHES: ctypes.addressof(ids),
            Run.FETCH_COUNT: len(what),
            Run.KEYS: ctypes.addressof(names),
            Run.KEY_COUNT: len(keys),
            Run.CALL: id(call),
        }
        run = words(*(values[word] for word in Run))
        self._runs.insert(0, (run, (what, keys, call, ids, names)))
        self._words[Word.MOST_KEYS] = max(self._words[Word.MOST_KEYS], len(keys))
        self._words[Word.FIRST] = ctypes.addressof(run)
        if len(self._runs) > MOST:
            self._runs[-2][0][Run.NEXT] = 0
            del self._runs[-1]

    def clear(self) -> None:
        """Forget all of them."""
        self._words[Word.FIRST] = 0
        self._runs.clear()
