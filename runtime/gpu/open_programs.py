"""Programs with open sizes on a GPU: their functions are loaded once, and captured as a graph for each size.

Executables for different sizes share functions, constants and the arena. Each has graphs and packets of its
own. Those of the least recently run are given back if there are too many, and made anew when it runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from weakref import ReferenceType, ref

from staticgraph.compiler.gpu.step import GpuCompiled
from staticgraph.compiler.lower.program import Constants
from staticgraph.runtime.executable import Checks
from staticgraph.runtime.gpu.cuda.failure import told
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.executable import GpuExecutable
from staticgraph.runtime.gpu.feed_checks import FeedChecks
from staticgraph.runtime.gpu.staging import CardConstants

CAPTURED_LIMIT = 16  # executables of one program that have graphs and packets


class RecentlyRun:
    """Executables in the order of their last runs, the last `limit` of which keep what they have captured."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._order: list[ReferenceType[GpuExecutable]] = []

    def __call__(self, executable: GpuExecutable) -> None:
        """An executable is about to run."""
        mine = ref(executable)
        if self._order and self._order[-1] == mine:
            return
        self._order = [*(each for each in self._order if each != mine and each() is not None), mine]
        while len(self._order) > self._limit:
            if (oldest := self._order.pop(0)()) is not None:
                oldest.drop()


class FirstCaptured:
    """Tells the executable that was captured first from the others, which get no merged functions of their
    own: another size compiles nothing.
    """

    def __init__(self) -> None:
        self._first: ReferenceType[GpuExecutable] | None = None

    def __call__(self, executable: GpuExecutable) -> bool:
        """Return True for the first executable that this is asked of."""
        if self._first is None:
            self._first = ref(executable)
        return self._first() is executable


class OpenProgram:
    """Gives the executable of a program for values of its open sizes.

    Args:
        device: The GPU.
        closed: Gives the program for such values: if told so, only what a run needs of it.
        overlap: True if work that does not depend on each other may be done at the same time.
        feed_checks: Gives the checks of feeds for such values, if there are any.
        less: Gives a program for such values that does not ask cuDNN, nor, if told so by False, cuBLAS.
    """

    def __init__(
        self,
        device: Device,
        closed: Callable[[Mapping[str, int], bool], GpuCompiled],
        overlap: bool,
        feed_checks: Callable[[Mapping[str, int]], FeedChecks] | None = None,
        less: Callable[[Mapping[str, int], bool], GpuCompiled] | None = None,
    ) -> None:
        self._less = less
        self._device, self._closed, self._overlap, self._feed_checks = device, closed, overlap, feed_checks
        self._constants: dict[int, tuple[Constants, CardConstants]] = {}  # by identity: a step has one or two
        self._recently = RecentlyRun(CAPTURED_LIMIT)
        self._first_captured = FirstCaptured()

    def __call__(
        self, values: Mapping[str, int], static: Sequence[tuple[int, bytes]], checks: Checks | None
    ) -> GpuExecutable:
        made = self._closed(values, True)
        early = None if self._feed_checks is None else self._feed_checks(values)
        device, recently = self._device, self._recently
        with told(made):
            constants = made.program.constants
            if id(constants) not in self._constants:
                self._constants[id(constants)] = constants, CardConstants(device, constants)
            _, sent = self._constants[id(constants)]
            again = partial(self._closed, values, False)
            less = None if self._less is None else partial(self._less, values)
            first = self._first_captured
            how = (self._overlap, early, again, sent, recently, first, less)
            return GpuExecutable(made, device, static, checks, *how)
