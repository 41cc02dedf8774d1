"""The compile_log of a session on a card: it compiles steps for that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from staticgraph.compiler.capture.feed_checks import beforehand
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.codegen.cuda.product import Precision
from staticgraph.compiler.compile_gpu import compile_gpu
from staticgraph.compiler.graph.errors import OpError, ResourceExhaustedError
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.runtime.cached_run import CachedRun
from staticgraph.runtime.compile_log import CompileLog
from staticgraph.runtime.cpu.compile import Watching
from staticgraph.runtime.cpu.compile import compiled as compiled_for_host
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.failures.checked_step import CheckedStep
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.gpu.cuda.failure import with_line, with_plan
from staticgraph.runtime.gpu.cuda.source import source
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.executable import GpuExecutable
from staticgraph.runtime.gpu.feed_checks import FeedChecks
from staticgraph.runtime.gpu.graphs.replays import Replays
from staticgraph.runtime.gpu.store import DeviceStore
from staticgraph.runtime.switches.table import Settings


class GpuCompileLog(CompileLog):
    """Compiles for a card what a session on it runs."""

    def __init__(self, device: Device, settings: Settings | None = None) -> None:
        super().__init__(settings)
        self._device = device

    def on_host(self, op: Operation) -> bool:
        return "/device:CPU:" in op.device

    def fast_path(self, plan: CachedRun, order: Sequence[int], store: DeviceStore) -> Replays:
        return Replays(plan, order, store)

    def executable(
        self, step: Step, statics: Iterable[tuple[int, bytes]], fetches: Fetches, guard: CheckedStep | None
    ) -> Executable:
        """A step as functions that are loaded on the card."""
        with self.capturing():
            early = beforehand(step) if guard is not None and not guard.finite else None
        checks = None
        if early is not None:
            on_host = Executable(compiled_for_host(early.checks, Settings(), "checks of feeds"))
            checks = FeedChecks(on_host, early.feeds)
            step = early.rest
        limit, without = self.settings.memory_limit, self.settings.left_out
        precision = Precision(self.settings.matmul_precision)
        watching = Watching(self.settings, fetches.text, self._captured)
        device = self._device
        refused = device.refused if self.settings.cudnn else None
        compiled = compile_gpu(step, watching.observers, limit, without, watching.trace, precision, refused)
        try:
            if device.refuses(compiled.convolutions):  # which functions of our own do then
                compiled = compile_gpu(step, (), limit, without, None, precision, device.refused)
            watching.finish(compiled, "cu", lambda: source(compiled.functions))
            return GpuExecutable(compiled, device, statics, guard, self.settings.overlap, checks)
        except ResourceExhaustedError as error:
            raise with_plan(error, compiled.memory) from None
        except OpError as error:
            raise with_line(error) from None
