"""Compiles the steps of a session on its backend, and tells observers of each compile."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from staticgraph.compiler.capture.step import Needs, Step
from staticgraph.compiler.graph.errors import NoCompileError, misuse
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.runtime.executable import Checks, Executable
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.reports.compile_log import CompileEvent
from staticgraph.runtime.reports.recompile_reason import Reason
from staticgraph.runtime.switches import Settings

if TYPE_CHECKING:
    from staticgraph.runtime.backend import Backend

# An op that was called in Python, what gives the values of its inputs, and its results; None if it failed.
HostObserver = Callable[[Operation, Callable[[Tensor], Any], Sequence[Any] | None], None]
Statics = Sequence[tuple[int, bytes]]  # values of feeds by their numbers
# Gives the program for values of open sizes and of feeds; captures the step for them if a run is refused.
Bind = Callable[[Mapping[str, int], Statics, Callable[[], Step | Needs]], Executable]
# The same of a device, with what checks runs.
Bound = Callable[[Mapping[str, int], Statics, Checks | None], Executable]


class StepCompiler:
    """The one place where a session compiles, so that compiles can be forbidden and observed.

    Attributes:
        backend: The device that compiles and runs.
        settings: The switches of the session.
        no_compile: True if compiling is an error.
        observers: Called with each compile.
        program_observers: Called with each program, and the text of what it fetches. A compile with open
            sizes gives one for each size that is run.
        host_observers: Called with each op that is called in Python.
        programs: The programs so far, and what they fetch.
    """

    def __init__(self, backend: Backend, settings: Settings | None = None) -> None:
        self.backend = backend
        self.settings = Settings() if settings is None else settings
        self.no_compile = self.settings.no_compile
        self.observers: list[Callable[[CompileEvent], None]] = []
        self.program_observers: list[Callable[[Executable, str], None]] = []
        self.host_observers: list[HostObserver] = []
        self.programs: WeakKeyDictionary[Executable, str] = WeakKeyDictionary()

    def allow(self, fetches: Fetches, reason: Reason) -> None:
        """Raise NoCompileError if compiling is forbidden."""
        if self.no_compile:
            text = f"this session may not compile, and {fetches.text} would have to be: {reason.text}"
            hint = "run it so once before you set no_compile, or feed what it was compiled for"
            raise misuse(NoCompileError, text, hint)

    def compile(
        self,
        step: Step,
        static: Statics,
        fetches: Fetches,
        reason: Reason,
        started: float,
    ) -> Executable:
        """Compile a step.

        Args:
            step: The step, as it was captured.
            static: The feeds by number whose values it is captured for, with these values.
            fetches: What it computes.
            reason: Why it is compiled.
            started: The time of `perf_counter` when its capture began.
        """
        last, step = step.may_overwrite, self._guarded(step)
        checks = self._checks(step, fetches, lambda: step, last)
        made = self.backend.compile(step, static, checks, fetches)
        self._made(made, fetches)
        self.tell(made, fetches, reason, started)
        return made

    @property
    def may_be_open(self) -> bool:
        """True if a step may be compiled for all values of the sizes that its graph leaves open."""
        return self.backend.compile_open is not None and self.settings.open_sizes

    def compile_open(self, step: Step, fetches: Fetches) -> Bind:
        """Compile a step with open sizes; return a function that gives the program for values of these.

        Raises:
            Undecided: If the step cannot be compiled without knowing a size.
        """
        assert self.backend.compile_open is not None
        last, step = step.may_overwrite, self._guarded(step)
        return self.binding(self.backend.compile_open(step, fetches), step, fetches, last)

    def binding(self, bound: Bound, step: Step, fetches: Fetches, last: bool = True) -> Bind:
        """Return a function that gives the program of an open step for values of its sizes.

        `last`: False if something that may fail comes after the step.
        """

        def bind(
            values: Mapping[str, int], static: Statics, capture: Callable[[], Step | Needs]
        ) -> Executable:
            def closed() -> Step:
                found = capture()
                assert isinstance(found, Step), found
                return self._guarded(found)

            checks = self._checks(step, fetches, closed, last)
            program = bound(values, static, checks)
            self._made(program, fetches)
            return program

        return bind

    def _checks(self, step: Step, fetches: Fetches, closed: Callable[[], Step], last: bool) -> Checks | None:
        """Return the checks of a step, None if it has none. `closed` gives the step with all sizes known."""
        if not step.checked:
            return None
        from staticgraph.runtime.failures.checked_step import CheckedStep

        return CheckedStep(fetches.graph, closed, last, self.settings.check_nan)

    def _guarded(self, step: Step) -> Step:
        """Return the step with the checks for NaN that the session asks for."""
        if not self.settings.check_nan:
            return step
        from staticgraph.compiler.capture.nan_guard import checked  # what few programs ask for

        return checked(step)

    def tell(
        self,
        made: Executable,
        fetches: Fetches,
        reason: Reason,
        started: float,
        symbols: str = "",
        guards: tuple[str, ...] = (),
    ) -> None:
        """Tell observers of a compile. The arguments are those of `CompileEvent`."""
        event = CompileEvent(made, fetches.text, reason, time.perf_counter() - started, symbols, guards)
        for observe in self.observers:
            observe(event)

    def _made(self, program: Executable, fetches: Fetches) -> None:
        self.programs[program] = fetches.text
        for observe in self.program_observers:
            observe(program, fetches.text)
