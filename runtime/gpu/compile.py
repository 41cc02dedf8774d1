"""Calls from the runtime of a GPU to the compiler.

Importing the compiler takes as long as importing all the rest of the runtime. A backend therefore imports
this module only when it compiles: programs from the disk do without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.gpu.compile_open import compile_gpu_open
from staticgraph.compiler.gpu.step import GpuCompiled
from staticgraph.compiler.gpu.step_open import OpenGpuCompiled
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.stages import observing
from staticgraph.runtime.cpu.compile import Watching
from staticgraph.runtime.gpu.cuda.nvrtc import source
from staticgraph.runtime.switches import Settings

# What its library does of a program, or the program that is compiled for another target because of that.
Sound = Callable[[GpuCompiled, Callable[[GpuTarget], GpuCompiled]], GpuCompiled]


def compiled(step: Step, settings: Settings, target: GpuTarget, what: str, sound: Sound) -> GpuCompiled:
    """The step for a GPU. `what` names it in a dump; `sound` asks libraries if they do their part."""
    watching = Watching(settings, what, step)
    limit, without = settings.memory_limit, settings.left_out
    made = compile_gpu(step, watching.observers, limit, without, watching.trace, target)
    made = sound(made, lambda other: compile_gpu(step, (), limit, without, None, other))
    watching.finish(made, "cu", lambda: source(made.functions))
    return made


def compiled_with_less(step: Step, settings: Settings, target: GpuTarget) -> GpuCompiled:
    """The step for a GPU whose libraries have no memory."""
    return compile_gpu(step, (), settings.memory_limit, settings.left_out, None, target)


class OpenCompile:
    """Compile of a step whose sizes are open, observed as requested by the settings."""

    def __init__(self, step: Step, settings: Settings, target: GpuTarget, what: str) -> None:
        self._step, self._settings, self._target = step, settings, target
        self._watching = Watching(settings, what, step)
        self._shown = False

    def __call__(self) -> OpenGpuCompiled:
        """The program, but for kernels that have to know a size. `Undecided` if all of it has to."""
        watching = self._watching
        return compile_gpu_open(
            self._step, watching.observers, self._settings.left_out, watching.trace, self._target
        )

    def closed(
        self,
        opened: OpenGpuCompiled,
        values: Mapping[str, int],
        target: GpuTarget,
        bare: bool,
        sound: Sound,
    ) -> GpuCompiled:
        """A program for values of its sizes. What was observed is shown for the first."""
        observers = () if self._shown else self._watching.observers
        limit = self._settings.memory_limit

        def at(target: GpuTarget) -> GpuCompiled:
            return opened.at(values, target, limit, bare and not observers)

        with observing(*observers):
            made = sound(at(target), at)
        if not self._shown:
            self._watching.finish(made, "cu", lambda: source(made.functions))
            self._shown = True
        return made
