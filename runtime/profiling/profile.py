"""`Session.profile`: where the time of runs goes, kernel by kernel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from staticgraph.compiler.graph.errors import FailedPreconditionError, misuse
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.profiling.step_times import StepTimes, step_times
from staticgraph.runtime.profiling.times import Limits, Meter, Timed

if TYPE_CHECKING:
    from staticgraph.runtime.profiling.ranks import AllTimes
    from staticgraph.runtime.state.variables import VariableStore


class Profile:
    """Times of a session's runs, by program and kernel: a context, and after it the result.

    Printed, it is a table.

    `steps` has one entry for each program that ran. Rates are those of one core, or of the GPU. They are
    compared with the `limits` of the same device, measured when they are first asked for.
    """

    def __init__(
        self,
        programs: Mapping[Executable, str],
        observers: list[Callable[[Executable, str], None]],
        store: VariableStore,
        meter: Meter,
    ) -> None:
        self.steps: tuple[StepTimes, ...] = ()
        self._programs, self._observers = programs, observers
        self._store = store
        self._meter = meter
        self._timed: dict[Executable, tuple[str, Timed]] = {}

    def __enter__(self) -> Profile:
        with self._store:
            if any(isinstance(observer, Profile) for observer in self._observers):
                text = "a profile of this session is being taken already"
                raise misuse(FailedPreconditionError, text, "end it first")
            for program, name in list(self._programs.items()):
                self._add(program, name)
            self._observers.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        with self._store:
            self._observers.remove(self)
            for program, entry in self._timed.items():
                entry[1].stop(program)
            self.steps = tuple(self._read())
            self._timed.clear()

    def __call__(self, program: Executable, what: str) -> None:
        """Take the time of a program that was just made, too."""
        self._add(program, what)

    def _read(self) -> Iterator[StepTimes]:
        for program, (what, timed) in self._timed.items():
            times = timed.read(program)
            whole = next((s for s in times.stamps if s.what is None), None) if times is not None else None
            if times is not None and whole is not None:  # a run that was stopped has no end
                yield step_times(program, what, times, whole, self._meter.device)

    def _add(self, program: Executable, what: str) -> None:
        timed = self._meter.timed(program)
        if timed is not None:
            self._timed[program] = what, timed
            timed.run(program)

    @property
    def limits(self) -> Limits:
        """The peak rates of a core of this machine, or of the GPU."""
        return self._meter.limits()

    @property
    def longest(self) -> StepTimes | None:
        """The program with the most time in it."""
        return max(self.steps, key=lambda step: step.nanoseconds, default=None)

    @property
    def seconds(self) -> dict[str, float]:
        """The time of each kernel in a run, by name; of several programs, that with the most time in it."""
        longest = self.longest
        return {} if longest is None else longest.seconds(longest.kernels)

    def of_all_processes(self) -> AllTimes:
        """Return the times of all processes for each step that exchanges something with them.

        All processes must call this. Printed, a result tells how long each process waited, and in which
        exchange; a process by itself has none.

        >>> import staticgraph as sg
        >>> with sg.Session() as sess:
        ...     with sess.profile() as profile:
        ...         total = sess.run(sg.distribute.all_reduce(sg.constant(1.0)))
        >>> profile.of_all_processes()
        []
        """
        from staticgraph.runtime.profiling.ranks import merged  # few programs have several processes

        return merged(self.steps)

    def chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the last run of each program as a file for chrome://tracing or ui.perfetto.dev."""
        from staticgraph.runtime.profiling.trace import write_trace  # it is made of what is defined here

        write_trace(path, self.steps)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the roofline of this machine with a dot for each kernel, as SVG."""
        from staticgraph.runtime.profiling.roofline import write_roofline

        write_roofline(path, self.steps, self.limits)

    def __str__(self) -> str:
        if not self.steps:
            return "nothing ran that can be timed"
        measured = self.limits
        longest_first = sorted(self.steps, key=lambda step: -step.nanoseconds)
        return "\n\n".join([*(step.table(measured) for step in longest_first), str(measured)])
