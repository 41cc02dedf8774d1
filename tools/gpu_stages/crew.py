"""Tasks that are shared out among processes, any of which a task may break.

An error on a card leaves its process without one, and a kernel that never ends keeps it forever. So a process
whose task fails is replaced by a fresh one, and the others go on meanwhile.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

MOST = 12  # processes; each has a share of the card
# Seconds for a task, which for the first one of a process include its start. Those in which a busy machine
# had no core for it do not count.
PATIENCE = 40.0
_PROCESSES = multiprocessing.get_context("spawn")  # one that is forked could not use the card


def processes() -> int:
    """Return the number of processes for this machine, which has other stages to run beside them."""
    return min(MOST, -(-3 * (os.cpu_count() or 1) // 4))


def waited_for_a_core(process: int) -> float:
    """Return the seconds that a process was ready to run and did not, as Linux tells them; elsewhere 0."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):  # another system, or the process has ended
        return 0.0


@dataclass(frozen=True, slots=True)
class Broken:
    """Placeholder of an answer of a task that failed."""

    why: str


@dataclass(slots=True, eq=False)
class _Member:
    """A process, and what it is busy with."""

    process: Any
    connection: Connection
    task: Any = None
    since: float = 0.0

    def give(self, task: Any) -> None:
        self.task, self.since = task, self._time()
        with suppress(OSError):  # of a process that has ended, which shows when its answer is looked for
            self.connection.send(task)

    def taken(self) -> float:
        """Return the seconds since it was given its task, without those in which it waited for a core."""
        return self._time() - self.since

    def _time(self) -> float:
        return time.monotonic() - waited_for_a_core(self.process.pid)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


class Crew:
    """Processes that call `work` with tasks; both must be picklable."""

    def __init__(self, work: Callable[[Any], Any], count: int, patience: float) -> None:
        self._work, self._count, self._patience = work, count, patience
        self._waiting: deque[Any] = deque()
        self._busy: list[_Member] = []
        self._idle: list[_Member] = []

    def ask(self, tasks: Iterable[Any], first: bool = False) -> None:
        """More tasks, after those that wait or before them."""
        if first:
            self._waiting.extendleft(reversed(list(tasks)))
        else:
            self._waiting.extend(tasks)

    def answers(self, until: float) -> Iterator[tuple[Any, Any]]:
        """Tasks with their answers, as they come, until all are done or `time.monotonic()` is as late as
        that. What is asked for meanwhile is done as well.
        """
        while (self._waiting or self._busy) and time.monotonic() < until:
            while self._waiting and len(self._busy) < self._count:
                member = self._idle.pop() if self._idle else self._started()
                self._busy.append(member)
                member.give(self._waiting.popleft())
            left = min(self._patience - member.taken() for member in self._busy)
            seconds = min(left, until - time.monotonic())
            ready = set(wait([m.connection for m in self._busy], max(0.0, seconds)))
            for member in list(self._busy):
                if (answer := self._answer(member, member.connection in ready)) is not None:
                    self._busy.remove(member)
                    if isinstance(answer, Broken):
                        member.end()
                    else:
                        self._idle.append(member)
                    yield member.task, answer

    @property
    def unfinished(self) -> list[Any]:
        """Tasks that were given to a process and have no answer."""
        return [member.task for member in self._busy]

    def close(self) -> None:
        """End all processes."""
        for member in (*self._busy, *self._idle):
            member.end()
        self._busy, self._idle = [], []

    def _started(self) -> _Member:
        ours, theirs = _PROCESSES.Pipe()
        process = _PROCESSES.Process(target=_serve, args=(self._work, theirs), daemon=True)
        process.start()
        theirs.close()  # so that its end is seen at ours
        return _Member(process, ours)

    def _answer(self, member: _Member, ready: bool) -> Any:
        """Return the answer of a process, or why it never will give one; None as long as that is open."""
        if not ready:
            late = member.taken() > self._patience
            return Broken(f"not done after {self._patience:.0f} s") if late else None
        try:
            return member.connection.recv()
        except (EOFError, OSError):
            member.process.join(1)
            return Broken(f"its process ended with status {member.process.exitcode}")


def _serve(work: Callable[[Any], Any], connection: Connection) -> None:
    """A process of a crew."""
    while True:
        task = connection.recv()
        try:
            answer = work(task)
        except Exception as error:  # whatever it is, the task is broken, and maybe the card for this process
            answer = Broken(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
        connection.send(answer)


@contextmanager
def crew(work: Callable[[Any], Any], count: int, patience: float = PATIENCE) -> Iterator[Crew]:
    """A crew, whose processes are ended afterwards."""
    made = Crew(work, max(1, count), patience)
    try:
        yield made
    finally:
        made.close()
