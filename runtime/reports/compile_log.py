"""Log of a session's compiles, each with its cause, its time, and where the code came from.

A compile that takes long also tells on the terminal how far it is.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Self, TextIO, overload

from staticgraph.compiler.graph.provenance import Provenance, user_frame
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.reports.recompile_reason import Cause, Reason
from staticgraph.runtime.switches import current

if TYPE_CHECKING:
    from staticgraph.runtime.reports.table import Table

LIMIT = 10_000  # compiles that are remembered


@dataclass(frozen=True, slots=True)
class CompileEvent:
    """One compile, as observers are told of it.

    Attributes:
        program: The new executable.
        what: What it fetches.
        reason: Why an older one does not do.
        seconds: The time from the capture of the step on.
        symbols: Where the open sizes of the program are, as text.
        guards: The guards of the program.
    """

    program: Executable
    what: str
    reason: Reason
    seconds: float
    symbols: str = ""
    guards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compile:
    """One compile: what was compiled and why, how long it took, and how many of its functions were compiled,
    found in memory, or found on disk. `where` is the line of the user's program that had it done.

    `symbols` says where the [open sizes](sizes.md) of the program are, such as `n0: axis 0 of x`. `guards`
    are the conditions on them, and `failed` is the guard that keeps the run from an older program.
    """

    what: str
    cause: Cause
    why: str
    seconds: float
    compiled: int
    from_memory: int
    from_disk: int
    where: Provenance | None
    symbols: str = ""
    guards: tuple[str, ...] = ()
    failed: str = ""

    @property
    def functions(self) -> int:
        """The number of machine functions of the program: one or more per kernel, plus the step itself."""
        return self.compiled + self.from_memory + self.from_disk

    def __str__(self) -> str:
        from staticgraph.runtime.reports.table import duration  # most logs are never printed

        place = f", {self.where.short}" if self.where is not None else ""
        made = f"{self.compiled} compiled, {self.from_memory} from memory, {self.from_disk} from disk"
        opened = f", open sizes {self.symbols}" if self.symbols else ""
        guards = f" with guards {', '.join(self.guards)}" if self.guards else ""
        time = duration(1e9 * self.seconds)
        return f"compiled {self.what} in {time} ({made}{opened}{guards}): {self.why}{place}"


class CompileLog(Sequence[Compile]):
    """The compiles of a session, in order; printed, it is a table.

    >>> import staticgraph as sg
    >>> n = sg.placeholder(sg.int32, [], name="n")
    >>> zeros = sg.zeros([n])
    >>> with sg.Session(open_sizes=False) as sess:
    ...     made = [sess.run(zeros, {n: size}) for size in (2, 2, 3)]
    ...     [each.why for each in sess.compiles]
    ['first run of these fetches with these feeds', 'n is 3, was 2']
    """

    def __init__(self, tells: bool = False) -> None:
        self._tells = tells  # on the standard error stream, too
        self._entries: deque[Compile] = deque(maxlen=LIMIT)

    def __call__(self, event: CompileEvent) -> None:
        """Write down a compile: the log is an observer of the session's `StepCompiler`."""
        reason, origins = event.reason, event.program.origins
        entry = Compile(
            event.what, reason.cause, reason.text, event.seconds, *origins, user_frame(),
            event.symbols, event.guards, reason.guard,
        )  # fmt: skip
        self._entries.append(entry)
        if self._tells:
            print(entry, file=sys.stderr)

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

    @property
    def table(self) -> Table:
        """The compiles, one in each row."""
        from staticgraph.runtime.reports.table import Table, duration  # most logs are never printed

        head = ("", "time", "functions", "compiled", "memory", "disk", "what", "why")
        rows = tuple(
            (
                str(number),
                duration(1e9 * each.seconds),
                str(each.functions),
                str(each.compiled),
                str(each.from_memory),
                str(each.from_disk),
                each.what,
                each.why,
            )
            for number, each in enumerate(self, 1)
        )
        title = f"{len(rows)} compiles in {duration(1e9 * self.seconds)}"
        return Table(title, head, rows, left=(6, 7))

    def __repr__(self) -> str:
        return f"<CompileLog of {self.table.title}>"

    def __str__(self) -> str:
        return str(self.table) if self._entries else "0 compiles"


PATIENCE = 2.0  # seconds of silence; after that a terminal is told how far it is
_PAUSE = 0.5  # seconds between two lines
clock = time.monotonic


def overwrites(stream: TextIO) -> bool:
    """Return True if a line of `stream` can be written over: on a terminal, and in a notebook."""
    if type(stream).__module__.partition(".")[0] == "ipykernel":
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class StatusLine:
    """Context with a line of standard error, which is written over and erased at the end."""

    def __init__(self) -> None:
        self._shown = 0  # signs of the line

    def __enter__(self) -> Self:
        return self

    def show(self, line: str) -> None:
        """Write over the line."""
        print(f"\r{line.ljust(self._shown)}", end="", file=sys.stderr, flush=True)
        self._shown = len(line)

    def __exit__(self, *_: object) -> None:
        if self._shown:
            print(f"\r{' ' * self._shown}\r", end="", file=sys.stderr, flush=True)


class Progress(StatusLine):
    """Context that is called with each step of `what`.

    Nothing is written unless standard error is a terminal or a notebook, nor with `SG_PROGRESS=0`; of several
    processes that train together, the first one writes. The line is erased at the end.
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what
        self._count = 0
        self._next = clock() + PATIENCE

    def __call__(self, done: int | None = None, total: int | None = None, noun: str = "step") -> None:
        """Tell that a step is done, or that step `done` of `total` begins."""
        self._count += 1
        if clock() < self._next:
            return
        self._next = clock() + _PAUSE
        if overwrites(sys.stderr) and current("progress") and _is_first_process():
            far = f", {self._count} done" if total is None else f": {noun} {done} of {total}"
            room = shutil.get_terminal_size().columns - len(far) - 1
            what = self._what if len(self._what) <= room else f"{self._what[: max(room - 3, 0)]}..."
            self.show(what + far)


def _is_first_process() -> bool:
    from staticgraph.compiler.graph.world import MEMBERSHIP  # few programs tell how far they are

    return MEMBERSHIP.world.rank == 0
