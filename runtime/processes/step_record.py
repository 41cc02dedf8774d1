"""Record by which the code of one step calls MPI: see `Collectives`.

A step has a communicator, which another one only shares if there are many. So processes that run different
steps wait, and find out, where one's values would else be taken for the other's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from staticgraph.compiler.codegen.native.layouts import Collectives


class StepRecord:
    """The record of a step.

    Attributes:
        connected: One word: 0 if Python must take part in the next run: the step is new, or a run failed.

    Args:
        words: What all steps have.
    """

    def __init__(self, words: Sequence[int]) -> None:
        self._words = (ctypes.c_int64 * len(words))(*words)
        self.connected = (ctypes.c_int64 * 1)(0)

    @property
    def address(self) -> int:
        """The address for native code."""
        return ctypes.addressof(self._words)

    @property
    def error(self) -> int:
        """Code that a function of MPI returned when it failed, else 0."""
        return self._words[Collectives.ERROR]

    def request_by(self, requests: int, notes: int) -> None:
        """Have the requests of the step, and what is noted of them, at two addresses."""
        self._words[Collectives.REQUESTS], self._words[Collectives.NOTES] = requests, notes

    def connect(self, handle: int, begun: int) -> None:
        """Exchange by a communicator from now on, without Python, and count what is begun at an address."""
        self._words[Collectives.COMM], self._words[Collectives.BEGUN] = handle, begun
        self.connected[0] = 1

    def disconnect(self) -> None:
        """Ask Python before the next run, after a failure."""
        self._words[Collectives.ERROR] = self.connected[0] = 0
