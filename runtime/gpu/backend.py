"""A GPU as a backend: its steps are CUDA functions, captured as graphs.

If sizes are open, functions are loaded once, and captured as a graph for each size. Executables for different
sizes share functions, constants and the arena. Each has graphs and packets of its own. Those of the least
recently run are given back if there are too many, and made anew when it runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING
from weakref import ReferenceType, ref

import numpy as np

from staticgraph.compiler.capture.guards import asking, with_answers_of_now
from staticgraph.compiler.gpu.step import GpuCompiled
from staticgraph.compiler.gpu.step_open import Sealed
from staticgraph.compiler.graph.size_contexts import Undecided
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.lower.program import Constants
from staticgraph.runtime.executable import Checks
from staticgraph.runtime.gpu.cuda.failure import told
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.disk import programs as disk_cache
from staticgraph.runtime.gpu.disk.programs import OpenEntry
from staticgraph.runtime.gpu.executable import GpuExecutable
from staticgraph.runtime.gpu.feed_checks import FeedChecks
from staticgraph.runtime.gpu.graphs.replays import Replays
from staticgraph.runtime.gpu.staging import CardConstants
from staticgraph.runtime.gpu.store import DeviceStore
from staticgraph.runtime.state.variables import VariableStore
from staticgraph.runtime.switches import Settings

if TYPE_CHECKING:
    from staticgraph.compiler.capture.step import Step
    from staticgraph.compiler.gpu.step import GpuCompiled
    from staticgraph.compiler.gpu.step_open import OpenGpuCompiled
    from staticgraph.compiler.graph.tensor import Operation
    from staticgraph.runtime.backend import Programs
    from staticgraph.runtime.executable import Checks
    from staticgraph.runtime.fetches import Fetches
    from staticgraph.runtime.gpu.compile import OpenCompile
    from staticgraph.runtime.gpu.meter import GpuMeter


class GpuBackend:
    """Implements `Backend` on a device that is open."""

    pads = False  # the results are sent back anyway, and few threads would compute them

    def __init__(self, device: Device, settings: Settings) -> None:
        self.device = device
        self._settings = settings

    @property
    def name(self) -> str:
        return self.device.name

    def store(self) -> DeviceStore:
        return DeviceStore(self.device)

    def pinned(self, array: np.ndarray) -> np.ndarray:
        if not array.nbytes or array.dtype.hasobject:
            return array
        made = self.device.driver.pinned(array.nbytes).view(array.dtype).reshape(array.shape)
        made[...] = array
        return made

    def on_host(self, op: Operation) -> bool:
        return "/device:CPU:" in op.device

    def compile(
        self, step: Step, static: Sequence[tuple[int, bytes]], checks: Checks | None, fetches: Fetches
    ) -> GpuExecutable:
        step, checks_of = self._checked(step, fetches)
        feed_checks = None if checks_of is None else checks_of({})
        settings, target = self._settings, self._target()

        def whole() -> GpuCompiled:
            from staticgraph.runtime.gpu.compile import compiled  # slow to import; the disk may have it

            return compiled(step, settings, target, fetches.text, self._sound)

        def less(cublas: bool) -> GpuCompiled:
            from staticgraph.runtime.gpu.compile import compiled_with_less  # where memory is short

            return compiled_with_less(step, settings, self._target_with_less(cublas))

        key = disk_cache.key_of(step, settings, target)
        found = disk_cache.recall(key, step) if key is not None else None
        again = None if found is None or self._refuses(found) else whole
        made = whole() if found is None or again is None else found
        if key is not None and again is None:
            disk_cache.remember(key, step, made)
        with told(made):
            return GpuExecutable(
                made, self.device, static, checks, settings.overlap, feed_checks, again, less=less
            )

    def compile_open(self, step: Step, fetches: Fetches) -> OpenProgram:
        step, checks_of = self._checked(step, fetches)
        settings, target = self._settings, self._target()

        @cache
        def compiling() -> OpenCompile:
            from staticgraph.runtime.gpu.compile import OpenCompile  # slow to import; the disk may have it

            return OpenCompile(step, settings, target, fetches.text)

        entry, again = self._entry(step, target, lambda: compiling()())

        def closed(values: Mapping[str, int], bare: bool) -> GpuCompiled:
            if entry.opened.sealed:
                if bare:
                    with suppress(Sealed):
                        made = entry.opened.at(values, self._target(), settings.memory_limit, True)
                        if not self._refuses(made):
                            return made
                entry.compiled(again())
            made = compiling().closed(entry.opened, values, self._target(), bare, self._sound)
            entry.keep()
            return made

        def less(values: Mapping[str, int], cublas: bool) -> GpuCompiled:
            if entry.opened.sealed:
                entry.compiled(again())
            return entry.opened.at(values, self._target_with_less(cublas), settings.memory_limit, True)

        return OpenProgram(self.device, closed, settings.overlap, checks_of, less)

    def _entry(
        self, step: Step, target: GpuTarget, whole: Callable[[], OpenGpuCompiled]
    ) -> tuple[OpenEntry, Callable[[], OpenGpuCompiled]]:
        """Return the program of a step with open sizes, from the disk or made by `whole`; and what makes it
        later with the same answers.
        """
        key = disk_cache.key_of(step, self._settings, target)
        again = with_answers_of_now(whole)
        if key is not None and (found := disk_cache.recall_open(key, step)) is not None:
            return found, again
        with asking() as guards:
            try:
                made = whole()
            except Undecided as undecided:
                if key is not None:
                    from staticgraph.runtime.cpu.disk.disk_cache import (
                        remember_undecided,  # when it was compiled
                    )

                    remember_undecided(key, undecided, guards())
                raise
        return OpenEntry(made, step, key, guards()), again

    def _target(self) -> GpuTarget:
        refused = self.device.refused if self._settings.cudnn else None
        return GpuTarget(Precision(self._settings.matmul_precision), refused, self.device.machine)

    def _target_with_less(self, cublas: bool) -> GpuTarget:
        """The target without cuDNN, and without cuBLAS unless that is to be asked: for want of memory."""
        return replace(self._target(), refused=None, cublas=cublas)

    def _sound(self, made: GpuCompiled, again: Callable[[GpuTarget], GpuCompiled]) -> GpuCompiled:
        """Compile again without the convolutions that the library refuses: functions of our own do these."""
        if self._refuses(made):
            return again(replace(self._target(), refused=self.device.refused))
        return made

    def _refuses(self, made: GpuCompiled) -> bool:
        with told(made):
            return self.device.refuses(made.convolutions)

    def _checked(
        self, step: Step, fetches: Fetches
    ) -> tuple[Step, Callable[[Mapping[str, int]], FeedChecks] | None]:
        """Return a step without checks of feeds, and what gives these for values of its open sizes."""
        if not step.checked or self._settings.check_nan:
            return step, None
        from staticgraph.compiler.capture.feed_checks import beforehand  # few steps have checks
        from staticgraph.runtime.cpu.backend import CpuBackend

        early = beforehand(step)
        if early is None:
            return step, None
        on_host = CpuBackend().compile_open(early.checks, fetches)
        return early.rest, lambda values: FeedChecks(on_host(values, (), None), early.feeds)

    def fast_path(self, programs: Programs, order: Sequence[int], store: VariableStore) -> Replays:
        assert isinstance(store, DeviceStore)
        return Replays(programs, order, store)

    def meter(self) -> GpuMeter:
        from staticgraph.runtime.gpu.meter import GpuMeter  # for profiles

        return GpuMeter(self.device)


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
