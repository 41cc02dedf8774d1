"""The compile_log of a session: every compile, with its cause, its time, and where the code came from.

All plans of a session make their programs here, so that it can also forbid to make any.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, overload
from weakref import WeakKeyDictionary

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.errors import NoCompileError, layout
from staticgraph.compiler.graph.provenance import Provenance, user_frame
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.stages import Report, observing
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.failures.checked_step import CheckedStep
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.reports.recompile_reason import Cause, Reason
from staticgraph.runtime.reports.table import duration, table
from staticgraph.runtime.switches.table import Settings

if TYPE_CHECKING:
    from staticgraph.compiler.compile import Compiled

# An op that was called in Python, what gives the values of its inputs, and its results; None if it failed.
HostObserver = Callable[[Operation, Callable[[Tensor], Any], Sequence[Any] | None], None]
LIMIT = 10_000  # compiles that are remembered


@dataclass(frozen=True, slots=True)
class Compile:
    """One compile: what was compiled and why, how long it took, and how many of its functions were compiled,
    found in memory, or found on disk. `where` is the line of the user's program that had it done.
    """

    what: str
    cause: Cause
    why: str
    seconds: float
    compiled: int
    from_memory: int
    from_disk: int
    where: Provenance | None

    @property
    def functions(self) -> int:
        """The number of machine functions of the program: one or more per kernel, plus the step itself."""
        return self.compiled + self.from_memory + self.from_disk

    def __str__(self) -> str:
        place = f", {self.where.short}" if self.where is not None else ""
        made = f"{self.compiled} compiled, {self.from_memory} from memory, {self.from_disk} from disk"
        return f"compiled {self.what} in {duration(1e9 * self.seconds)} ({made}): {self.why}{place}"


class CompileLog(Sequence[Compile]):
    """The compiles of a session, in order; printed, it is a table.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None], name="x")
    >>> total = sg.reduce_sum(x)
    >>> with sg.Session() as sess:
    ...     sums = [sess.run(total, {x: values}) for values in ([1, 2], [3, 4], [5, 6, 7])]
    ...     [each.why for each in sess.compiles]
    ['first run of these fetches with these feeds', 'x is float32[3], was float32[2]']
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = Settings() if settings is None else settings
        self.no_compile = self.settings.no_compile
        self.programs: WeakKeyDictionary[Executable, str] = WeakKeyDictionary()  # and what they fetch
        self.observers: list[Callable[[Executable, str], None]] = []  # called with each new program
        self.profiled = False  # whether a profile is being taken
        self.host_observers: list[HostObserver] = []  # called with each op that is called in Python
        self._entries: deque[Compile] = deque(maxlen=LIMIT)
        self._captured: list[Report] = []  # what the stages of the present capture have reported

    @overload
    def __getitem__(self, index: int) -> Compile: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Compile]: ...
    def __getitem__(self, index: int | slice) -> Compile | Sequence[Compile]:
        return [*self._entries][index]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Compile]:
        return iter([*self._entries])

    @property
    def seconds(self) -> float:
        """The time that all of them took."""
        return sum(each.seconds for each in self)

    def capturing(self) -> AbstractContextManager[None]:
        """Return the context of a capture, whose stages a dump shows with those of the compile."""
        return observing(*([self._note] if self.settings.dump is not None else []))

    def _note(self, name: str, before: Any, after: Any) -> None:
        if name == "prune":  # a capture begins
            self._captured = []
        self._captured.append((name, before, after))

    def on_host(self, op: Operation) -> bool:
        """Return True if NumPy computes an operation, because the user has pinned it to another device."""
        return False

    def fast_path(self, plan: Any, order: Sequence[int], store: Any) -> Any:
        """Return the device's own fast path, used in place of an `InlineCache`; None if the device has none.

        The interface is `runtime.fast_path.inline_cache.FastPath`.
        """
        return None

    def begin(self, fetches: Fetches, reason: Reason) -> int:
        """Be about to compile. NoCompileError where that is forbidden; else a number for `program`."""
        if self.no_compile:
            text = f"this session may not compile, and {fetches.text} would have to be: {reason.text}"
            hint = "run it so once before you set no_compile, or feed what it was compiled for"
            raise NoCompileError(layout(text, user_frame(), hint=hint))
        return cpu_jit.mark()

    def program(
        self,
        step: Step,
        statics: Iterable[tuple[int, bytes]],
        fetches: Fetches,
        reason: Reason,
        begun: tuple[int, float],
    ) -> Executable:
        """The program of `step`, whose making began at a number from `begin` and a time."""
        made = self.guarded(step, statics, fetches)
        for observe in self.observers:
            observe(made, fetches.text)
        number, started = begun
        origins = made.origins(number)
        seconds = time.perf_counter() - started
        entry = Compile(fetches.text, reason.cause, reason.text, seconds, *origins, user_frame())
        self._entries.append(entry)
        if "compiles" in self.settings.trace:
            print(entry, file=sys.stderr)
        return made

    def guarded(self, step: Step, statics: Iterable[tuple[int, bytes]], fetches: Fetches) -> Executable:
        """The program of `step`, with a guard if it is checked; also for NaN if the settings ask for it."""
        last, finite = step.may_overwrite, self.settings.check_nan
        if finite:
            from staticgraph.compiler.capture.nan_guard import checked  # what few programs ask for

            with self.capturing():
                step = checked(step)
        watch = CheckedStep(fetches.graph, lambda: step, last, finite) if step.checked else None
        made = self.executable(step, statics, fetches, watch)
        self.programs[made] = fetches.text
        return made

    def executable(
        self, step: Step, statics: Iterable[tuple[int, bytes]], fetches: Fetches, guard: CheckedStep | None
    ) -> Executable:
        """A step as the machine code that it is compiled to, now or before."""
        from staticgraph.runtime.cpu import disk_cache as remembered

        captured = self._captured

        def whole() -> Compiled:
            # Importing the compiler takes as long as all the rest.
            from staticgraph.runtime.cpu.compile import compiled

            return compiled(step, self.settings, fetches.text, captured)

        key = remembered.key_of(step, self.settings)
        prepared = remembered.recall(key, step) if key is not None else None
        if prepared is not None:
            with suppress(cpu_jit.MissingCode):
                return Executable(prepared, statics, guard, again=whole)
        made = whole()
        if key is not None:
            remembered.remember(key, step, made)
        return Executable(made, statics, guard)

    def __str__(self) -> str:
        head = ("", "time", "functions", "compiled", "memory", "disk", "what", "why")
        rows = [
            (
                str(number), duration(1e9 * each.seconds), str(each.functions), str(each.compiled),
                str(each.from_memory), str(each.from_disk), each.what, each.why,
            )
            for number, each in enumerate(self, 1)
        ]  # fmt: skip
        title = f"{len(self)} compiles in {duration(1e9 * self.seconds)}"
        return f"{title}\n{table(head, rows, left=(6, 7))}" if rows else "0 compiles"
