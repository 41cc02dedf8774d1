"""The times of one step: of each kernel, and of what each thread did when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from staticgraph.compiler.compiled_step import CompiledStep
from staticgraph.compiler.fusion.group import is_collective
from staticgraph.compiler.lower.program import Branch, Complete, Copy, Instruction, LoopInstruction, Require
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.profiling.kernels import KernelView, kernels_of
from staticgraph.runtime.profiling.times import Limits, Stamp, Times
from staticgraph.runtime.reports.table import Table, counted, duration, table, wrapped

_SPARE = (8, 3, 6, 5, 4, 7)  # columns that a narrow table does without, the first one first
COLLECTIVE = "a collective"
OTHER, COPIES, TESTS = "waiting, and between kernels", "copies", "tests of inputs"


@dataclass(frozen=True, slots=True)
class KernelTime:
    """The time of one kernel, or of something else that a step does: `kernel` is then None.

    Attributes:
        nanoseconds: Of all runs and threads together.
        launches: Of all runs.
        waited: For an exchange with other processes, the nanoseconds of waiting until it was complete.
    """

    name: str
    nanoseconds: float
    launches: int
    kernel: KernelView | None = None
    waited: float = 0.0

    @property
    def is_exchange(self) -> bool:
        """True if it is an exchange with other processes."""
        return self.kernel is not None and is_collective(self.kernel.nodes[-1])

    @property
    def flops_per_second(self) -> float:
        """Floating operations per second of a core, or of a GPU; 0 where nobody knows."""
        return self._per_second(
            0 if self.kernel is None or self.kernel.effort is None else self.kernel.effort.flops
        )

    @property
    def bytes_per_second(self) -> float:
        """Bytes read and written per second of a core, or of a GPU; 0 where nobody knows."""
        return self._per_second(
            0 if self.kernel is None or self.kernel.effort is None else self.kernel.effort.bytes
        )

    def _per_second(self, amount: int) -> float:
        return 1e9 * amount * self.launches / self.nanoseconds if self.nanoseconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """Time of a part of the last run: start in nanoseconds since 1970, duration in nanoseconds, and the
    number of the thread, 0 for the one that called `run`.
    """

    name: str
    start: int
    nanoseconds: float
    thread: int
    kernel: KernelView | None = None


@dataclass(frozen=True, slots=True)
class StepTimes:
    """The runs of one program. `nanoseconds`: of its native function, all runs together, by the wall clock.

    The times of `kernels`, one for each kernel and one for what else there is, add up to `threads` times
    that: threads work, or they wait. `events` are of the last run. `device`: what ran it, as in "CPU:0".
    `note`: what one has to know of these runs.
    """

    what: str
    runs: int
    nanoseconds: float
    threads: int
    kernels: tuple[KernelTime, ...]
    events: tuple[TimedEvent, ...]
    device: str = "CPU:0"
    note: str = ""

    @property
    def waited(self) -> float:
        """The nanoseconds of all runs in which the step waited for other processes."""
        return sum(k.waited for k in self.kernels)

    def seconds(self, kernels: Iterable[KernelTime]) -> dict[str, float]:
        """The time of these in a run, by name."""
        return {k.name: 1e-9 * k.nanoseconds / self.runs for k in kernels}

    def share(self, time: KernelTime) -> float:
        """Share of the time of all threads."""
        return time.nanoseconds / max(self.nanoseconds * self.threads, 1e-9)

    def reached(self, time: KernelTime, measured: Limits) -> tuple[float, str]:
        """Share of a core's peak that a kernel of known work reaches, and what limits it."""
        assert time.kernel is not None, time
        bound = measured.bound(time.kernel)
        part = bound.nanoseconds * time.launches / time.nanoseconds if time.nanoseconds > 0 else 0.0
        return part, bound.by

    def listing(self, measured: Limits) -> Table:
        """The kernels, one in each row, those that take longest first."""
        head = ("kernel", "time", "share", "launches", "FLOP/s", "bytes/s", "limit", "of limit", "lines")
        rows = sorted(self.kernels, key=lambda k: -k.nanoseconds)
        cells = tuple(self._row(time, measured) for time in rows)
        each = "run" if self.runs == 1 else f"each of {counted(self.runs)} runs"
        together = f" on {self.threads} threads" if self.threads > 1 else ""
        note = f" ({self.note})" if self.note else ""
        if self.waited:
            share = self.waited / max(self.nanoseconds, 1e-9)
            note += f", {duration(self.waited / self.runs)} of it waiting for other processes ({share:.1%})"
        title = f"{self.what}: {duration(self.nanoseconds / self.runs)} for {each}{together}{note}"
        return Table(title, head, cells, left=(0, 6, 8))

    def table(self, measured: Limits, width: int | None = None) -> str:
        """The kernels as text, in lines that fit into `width`."""
        shown = self.listing(measured)
        title = "\n".join(wrapped(shown.title, width))
        return f"{title}\n{table(shown.head, shown.rows, shown.left, width, _SPARE)}"

    def _row(self, time: KernelTime, measured: Limits) -> tuple[str, ...]:
        launches = f"{time.launches / self.runs:.4g}" if time.launches else ""
        start = (time.name, duration(time.nanoseconds / self.runs), f"{self.share(time):.1%}", launches)
        if time.kernel is None or time.kernel.effort is None:
            return (*start, "", "", "", "", time.kernel.places if time.kernel is not None else "")
        reached, limit = self.reached(time, measured)
        rates = (counted(time.flops_per_second), counted(time.bytes_per_second))
        return (*start, *rates, limit, f"{reached:.0%}", time.kernel.places)


def step_times(program: Executable, what: str, times: Times, whole: Stamp, device: str) -> StepTimes:
    """Return the times of a program, `what` by name, from its stamps and that of the whole run."""
    compiled = program.compiled
    assert isinstance(compiled, CompiledStep), compiled
    parts = [s for s in times.stamps if s.what is not None]
    views = {id(view.instruction): view for view in kernels_of(compiled)}
    threads = {whole.thread: 0}
    for part in parts:
        threads.setdefault(part.thread, len(threads))
    kernels = [*_kernel_times(compiled, parts, views)]
    # Of earlier runs nobody knows which threads took part: all that were allowed to.
    count = max(len(threads), times.threads)
    left = whole.total * count - sum(k.nanoseconds for k in kernels)
    kernels.append(KernelTime(OTHER, max(left, 0.0), 0))
    events = (TimedEvent(what, whole.start, whole.end - whole.start, 0), *_events(parts, views, threads))
    return StepTimes(what, times.runs, whole.total, count, tuple(kernels), events, device, times.note)


def _kernel_times(
    compiled: CompiledStep, parts: Iterable[Stamp], views: dict[int, KernelView]
) -> Iterator[KernelTime]:
    """The time of each instruction, that of loops and branches without what is in them."""
    total: dict[int, float] = {}
    calls: dict[int, int] = {}
    others: dict[str, float] = {}
    waited: dict[int, float] = {}
    for part in parts:
        if isinstance(part.what, str):
            others[part.what] = others.get(part.what, 0.0) + part.total
            continue
        if isinstance(part.what, Complete):
            key = id(part.what.begin.call)
            total[key] = total.get(key, 0.0) + part.total
            waited[key] = waited.get(key, 0.0) + part.total
            continue
        total[id(part.what)] = total.get(id(part.what), 0.0) + part.total
        calls[id(part.what)] = max(calls.get(id(part.what), 0), part.calls)
    order = [(i, outer) for i, _, outer in compiled.walk()]
    for instruction, outer in reversed(order):
        if outer is not None and id(outer) not in calls:  # what is in it was timed, and it was not
            total[id(outer)] = total.get(id(outer), 0.0) + total.get(id(instruction), 0.0)
    own = dict(total)
    for instruction, outer in order:
        if outer is not None:
            own[id(outer)] = own.get(id(outer), 0.0) - total.get(id(instruction), 0.0)
    for instruction, _ in order:
        key = id(instruction)
        if isinstance(instruction, Copy):
            others[COPIES] = others.get(COPIES, 0.0) + own.get(key, 0.0)
        elif isinstance(instruction, Require):
            others[TESTS] = others.get(TESTS, 0.0) + own.get(key, 0.0)
        elif key in calls:
            view = views.get(key)
            name = _control_name(instruction) if view is None else view.name
            yield KernelTime(name, max(own[key], 0.0), calls[key], view, waited.get(key, 0.0))
    yield from (KernelTime(name, nanoseconds, 0) for name, nanoseconds in others.items() if nanoseconds)


def _control_name(instruction: Instruction) -> str:
    assert isinstance(instruction, LoopInstruction | Branch), instruction
    where = instruction.node.where
    kind = "rounds of the loop" if isinstance(instruction, LoopInstruction) else "branch"
    return kind + (f" at {where.short}" if where is not None else "")


def _events(
    parts: Sequence[Stamp], views: dict[int, KernelView], threads: dict[int, int]
) -> Iterator[TimedEvent]:
    """Yield the events of each thread: consecutive chunks of one instruction are one event."""

    def of_thread(stamp: Stamp) -> tuple[int, int]:
        return id(stamp.what), threads[stamp.thread]

    for (key, thread), group in groupby(parts, of_thread):
        chunks: list[Any] = list(group)
        start, end = min(c.start for c in chunks), max(c.end for c in chunks)
        view = views.get(key)
        what = chunks[0].what
        if isinstance(what, Complete):
            view = views.get(id(what.begin.call))
            name = f"wait for {view.name if view else COLLECTIVE}"
        else:
            name = view.name if view else _name(what)
        yield TimedEvent(name, start, end - start, thread, view)


def _name(what: Instruction | str) -> str:
    if isinstance(what, str):
        return what
    if isinstance(what, Require):
        return TESTS
    return "copy" if isinstance(what, Copy) else _control_name(what)
