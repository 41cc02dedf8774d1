"""A GPU as a backend: its steps are CUDA functions, captured as graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from staticgraph.compiler.capture.guards import asking, with_answers_of_now
from staticgraph.compiler.gpu.step_open import Sealed
from staticgraph.compiler.graph.size_contexts import Undecided
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.runtime.gpu.cuda.failure import told
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.disk import programs as disk_cache
from staticgraph.runtime.gpu.disk.programs import OpenEntry
from staticgraph.runtime.gpu.executable import GpuExecutable
from staticgraph.runtime.gpu.feed_checks import FeedChecks
from staticgraph.runtime.gpu.graphs.replays import Replays
from staticgraph.runtime.gpu.open_programs import OpenProgram
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
