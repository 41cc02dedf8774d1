"""A GPU as a backend: its steps are CUDA functions, captured as graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from staticgraph.compiler.capture.feed_checks import beforehand
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.compile_gpu import GpuCompiled, compile_gpu
from staticgraph.compiler.graph.errors import OpError, ResourceExhaustedError
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.runtime.backend import Programs
from staticgraph.runtime.cpu.compile import Watching
from staticgraph.runtime.cpu.compile import compiled as compiled_for_host
from staticgraph.runtime.cpu.executable import CpuExecutable
from staticgraph.runtime.executable import Checks
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.gpu import disk_cache
from staticgraph.runtime.gpu.cuda.failure import with_line, with_plan
from staticgraph.runtime.gpu.cuda.source import source
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.executable import GpuExecutable
from staticgraph.runtime.gpu.feed_checks import FeedChecks
from staticgraph.runtime.gpu.graphs.replays import Replays
from staticgraph.runtime.gpu.meter import GpuMeter
from staticgraph.runtime.gpu.store import DeviceStore
from staticgraph.runtime.switches.table import Settings
from staticgraph.runtime.variables import VariableStore


class GpuBackend:
    """Implements `Backend` on a device that is open."""

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
        early = beforehand(step) if checks is not None and not checks.finite else None
        feed_checks = None
        if early is not None:
            on_host = CpuExecutable(compiled_for_host(early.checks, Settings(), "checks of feeds"))
            feed_checks = FeedChecks(on_host, early.feeds)
            step = early.rest
        settings, device = self._settings, self.device
        limit, without = settings.memory_limit, settings.left_out
        refused = device.refused if settings.cudnn else None
        target = GpuTarget(Precision(settings.matmul_precision), refused, device.machine)

        def sound(made: GpuCompiled) -> GpuCompiled:
            """The same without convolutions that the library refuses: functions of our own do these."""
            with _told(made):
                refuses = device.refuses(made.convolutions)
            less = replace(target, refused=device.refused)
            return compile_gpu(step, (), limit, without, None, less) if refuses else made

        def whole() -> GpuCompiled:
            watching = Watching(settings, fetches.text, step)
            made = sound(compile_gpu(step, watching.observers, limit, without, watching.trace, target))
            watching.finish(made, "cu", lambda: source(made.functions))
            return made

        key = disk_cache.key_of(step, settings, target)
        found = disk_cache.recall(key, step) if key is not None else None
        again = None if found is None or sound(found) is not found else whole
        compiled = whole() if found is None or again is None else found
        if key is not None and again is None:
            disk_cache.remember(key, step, compiled)
        with _told(compiled):
            return GpuExecutable(compiled, device, static, checks, settings.overlap, feed_checks, again)

    compile_open = None

    def fast_path(self, programs: Programs, order: Sequence[int], store: VariableStore) -> Replays:
        assert isinstance(store, DeviceStore)
        return Replays(programs, order, store)

    def meter(self) -> GpuMeter:
        return GpuMeter(self.device)


@contextmanager
def _told(compiled: GpuCompiled) -> Iterator[None]:
    """Context in which errors tell what the step needs, or the user's line."""
    try:
        yield
    except ResourceExhaustedError as error:
        raise with_plan(error, compiled.memory) from None
    except OpError as error:
        raise with_line(error) from None
