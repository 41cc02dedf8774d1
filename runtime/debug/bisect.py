"""Search for the kernel, pass or rule at fault if compiled code does not do what the ops mean.

Each kernel runs beside the NumPy meaning of its ops. Both get the same inputs, so errors do not add up and
the first kernel that differs is wrong itself. Passes are checked the same way: the output of each pass must
mean the same as its input. Last, the step is compiled again with one optional pass left out at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.errors import OpError
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.stages import NAMES
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.cached_run import CachedRun
from staticgraph.runtime.cpu.backend import CpuBackend
from staticgraph.runtime.debug.compare import ROUNDING, Difference, Tolerance, compared
from staticgraph.runtime.debug.device_under_test import CpuUnderTest, DeviceUnderTest
from staticgraph.runtime.debug.wrong_kernel import BrokenKernel, How, KernelChecks, WrongKernel
from staticgraph.runtime.debug.wrong_pass import WrongPass, wrong_pass
from staticgraph.runtime.feeds import in_order
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.gpu.placement import open_backend
from staticgraph.runtime.interpreter import Interpreter, InterpreterBackend
from staticgraph.runtime.profiling.kernels import kernels_of
from staticgraph.runtime.program_cache import ProgramCache
from staticgraph.runtime.state.variables import VariableStore
from staticgraph.runtime.step_compiler import StepCompiler
from staticgraph.runtime.switches import OPTIONAL_PASSES, settings

_CALLS = 3  # of one step that are looked at: rounds of a loop that Python does are calls


@dataclass(slots=True)
class Bisection:
    """Findings for one compiled step.

    Attributes:
        what: The text of the fetches.
        kernels: The number of kernels that were compared.
        kernel: The first kernel that differs, or None.
        wrong_pass: The first pass that changes the meaning of the step, or None.
        results: The difference of each result of the whole compiled program, by name; None if it agrees.
        without: For each optional pass, True if the program is right without it. Empty if nothing differs
            or `stopped` is set.
        stopped: The text of the error if the program did not finish, else None.
        broken: The name of the kernel that failed although NumPy does not, or None.
    """

    what: str
    kernels: int = 0
    kernel: WrongKernel | None = None
    wrong_pass: WrongPass | None = None
    results: dict[str, Difference | None] = field(default_factory=dict)
    without: dict[str, bool] = field(default_factory=dict)
    stopped: str | None = None
    broken: str | None = None

    @property
    def agrees(self) -> bool:
        """True if nothing differs."""
        wrong = self.kernel or self.wrong_pass or self.broken or any(self.results.values())
        return not wrong

    @property
    def fault(self) -> str | None:
        """The part at fault, in a few words; None if nothing differs."""
        if self.agrees:
            return None
        if self.wrong_pass is not None:
            rule = self.wrong_pass.rule
            return f"the pass {self.wrong_pass.name}" if rule is None else f"the rule {rule.name!r}"
        if self.kernel is not None:
            stage = self.kernel.stage
            if stage is not None and NAMES[stage].makes != "text":
                return f"the stage {stage}, in the kernel {self.kernel.name}"
            return f"the code of the kernel {self.kernel.name}"
        if self.broken is not None:
            return f"the code of the kernel {self.broken}"
        if cures := [name for name, right in self.without.items() if right]:
            return f"the pass {' or '.join(cures)}"
        return "the order of the kernels, or their memory: each does the right thing by itself"


@dataclass(frozen=True, slots=True)
class StepCall:
    """A step that a run does, for these values of its params."""

    step: Step
    fetches: Fetches
    arguments: list[np.ndarray]


def calls_of(
    graph: Graph, fetches: Any, feeds: Mapping[Tensor, np.ndarray], store: VariableStore
) -> list[StepCall]:
    """The steps that a run does, up to the op that fails, if one does: each a few times at most. The run
    takes place, by NumPy.
    """
    found: list[StepCall] = []
    quiet = Interpreter(effects=False)

    def execute(step: Step, fetched: Fetches, arguments: list[np.ndarray]) -> list[np.ndarray]:
        if sum(each.step is step for each in found) < _CALLS:
            found.append(StepCall(step, fetched, [np.array(a) for a in arguments]))
        return quiet.results(step.function, arguments)

    ordered = in_order(feeds)
    compiler = StepCompiler(InterpreterBackend(execute))
    again = CachedRun(ProgramCache(graph, Fetches(graph, fetches), ordered, compiler, store))
    with store, suppress(Exception):
        again.run([feeds[t] for t in ordered])
    return found


def backend_of(
    device: str = "cpu", math: str = "precise", precision: str = "float32", cudnn: bool = True
) -> DeviceUnderTest:
    """Return the back end that compiles the steps of sessions with these switches.

    Raises FailedPreconditionError if the device does not exist.
    """
    opened = open_backend(settings(device=device), None)
    if isinstance(opened, CpuBackend):
        return CpuUnderTest.of(math)
    from staticgraph.runtime.debug.gpu_under_test import GpuUnderTest, Precision  # what few machines have
    from staticgraph.runtime.gpu.backend import GpuBackend

    assert isinstance(opened, GpuBackend)
    return GpuUnderTest(opened.device, Precision(precision), cudnn)


def how(
    backend: DeviceUnderTest, without: frozenset[str] = frozenset(), tolerance: Tolerance = ROUNDING
) -> How:
    """Describe a way to run a step: on this back end, without these optional passes."""
    return How(backend, replace(tolerance, loose=backend.loose), without)


def bisect(call: StepCall, how: How) -> Bisection:
    """Look for what is at fault in a step."""
    step, arguments, backend = _silent(call.step), call.arguments, how.backend
    names, found = _names(step, call.fetches), Bisection(call.fetches.text)

    def differences(expected: Sequence[np.ndarray], without: frozenset[str]) -> list[Difference]:
        results = backend.called(backend.step(step, without), arguments)
        return compared(step.function, arguments, expected, results, how.tolerance)

    try:
        compiled = backend.step(step, how.without)
        kernels = KernelChecks({tuple(each.nodes): each.name for each in reversed(kernels_of(compiled))}, how)
        found.kernel = kernels.first_wrong(compiled.fusion, arguments)
        found.kernels = kernels.count
        expected = Interpreter(effects=False).results(step.function, arguments)
        found.wrong_pass = wrong_pass(step.function, names, arguments, how.without, how.tolerance)
        wrong = differences(expected, how.without)
    except OpError as error:  # of an op that fails, such as the inverse of a singular matrix
        found.stopped = str(error)
        return found
    except BrokenKernel as broken:
        found.broken, found.stopped = broken.name, str(broken.error)
        return found
    found.results = dict.fromkeys(names) | {names[each.output]: each for each in wrong}
    if not found.agrees:
        left = [name for name in OPTIONAL_PASSES if name not in how.without]
        found.without = {name: not differences(expected, how.without | {name}) for name in left}
    return found


def _silent(step: Step) -> Step:
    """The step without its checks, assertions and prints, as far as they are not in loops."""
    count = step.fetches + len(step.writes) + len(step.draws)
    kept = step.function.with_results(step.function.results[:count])
    return replace(step, function=kept, losses=0, checked=False)


def _names(step: Step, fetches: Fetches) -> list[str]:
    """The names of the results of a step, each once."""
    names = [name.removesuffix(":0") for name in (*(t.name for t in fetches.tensors), *step.captured_names)]
    names = names[: step.fetches]
    names += [f"result {i}" for i in range(len(names), step.fetches)]
    names += [f"new value of {op.name}" for op in step.writes]
    names += [f"random state of {op.name}" for op in step.draws]
    return names
