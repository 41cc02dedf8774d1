"""News of the other processes: that one has failed or ended, and which step each one runs.

A process that fails tells all others. Those that wait for it look for such messages every few milliseconds,
and fail too, with its number and its error. Runs are numbered, by the same count in every process: the news
of a run that failed everywhere is old in the next one. A run may also fail in one process alone, after it has
sent all that the others need: these fail in their next one. The news of a run that is still to come waits for
it: the process that failed in it has completed this one.
"""

from __future__ import annotations

import ctypes
import json
import time
from itertools import zip_longest
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    misuse,
)
from staticgraph.runtime.processes.heartbeat import Heartbeat

_TAG = 1
_FIRST = "its first run of this step"
_FAILED, _ENDED, _STEP = "failed", "ended", "step"
_GRACE = 5.0  # seconds in which a run is over for which a process that has gone on has done its part
_PAUSE = 0.0005
_ASK = 1.0  # seconds of waiting before the others are asked if they are alive
_REPLY = 1.0  # and seconds in which they answer
_ADDRESS = 64  # bytes of a host, a port and a word
_MOST_TEXT = 4000  # characters of an error that are told


class Peers:
    """The other processes, as this one knows them.

    Attributes:
        timeout: The seconds after which waiting for the others is an error.
        runs: One word, the number of this run. Native code counts it, too.
        completed: One word that counts the collectives that are complete. Native code counts it, too.
        is_stuck: True if a process hangs, as far as anyone knows: then MPI cannot end in peace.
    """

    def __init__(self, comm: Any, mpi: Any, timeout: float) -> None:
        self._comm, self._mpi = comm, mpi
        self.size, self.rank = comm.Get_size(), comm.Get_rank()
        self.timeout = timeout
        self.runs, self.completed = (ctypes.c_int64 * 1)(), (ctypes.c_int64 * 1)()
        self._steps: dict[int, list[dict[str, Any]]] = {}  # what others are about to run, by rank
        self._agreed: dict[str, str] = {}  # descriptions of the steps that all run alike, by their names
        self._failures: list[dict[str, Any]] = []
        self._ended: dict[int, None] = {}  # in the order in which this process has heard of it
        self.is_stuck = False
        self._sent: list[Any] = []
        self._settled = 0  # failures of runs before this one are old
        self.heartbeat = Heartbeat(self.rank, self.completed, self.runs)
        self.heartbeat.know(self._addresses())

    # What others are told

    def fail(self, error: BaseException, final: bool = False) -> None:
        """Tell the others of an error, and count the run. `final`: this process ends with it."""
        if not isinstance(error, PeerError):
            text = f"{type(error).__name__}: {error}"[:_MOST_TEXT]
            news = {"kind": _FAILED, "run": self.runs[0], "final": final}
            self._tell({**news, "text": text, "stuck": self.is_stuck})
        self.runs[0] += 1
        self._settled = self.runs[0]

    def end(self) -> None:
        """Tell the others that this process runs no more."""
        self._tell({"kind": _ENDED})

    def agree(self, what: str, digest: str, version: str) -> int:
        """Compare a step that is new with what is new in the others. Return its number in all processes.

        Args:
            what: A description of the step for messages, a line for each collective.
            digest: A name of all that must be the same.
            version: A name of the version of this package, which must be the same, too.

        Raises:
            FailedPreconditionError: Another process runs something else.
        """
        if digest in self._agreed:  # one process may know it, and does not ask again
            return [*self._agreed].index(digest)
        mine = {"kind": _STEP, "digest": digest, "what": what, "version": version}
        self._tell(mine)
        since = time.monotonic()
        for rank in range(self.size):
            while rank != self.rank and not self._steps.get(rank):
                self.look(_FIRST, time.monotonic() - since)
                time.sleep(_PAUSE)
        others = {rank: self._steps[rank].pop(0) for rank in range(self.size) if rank != self.rank}
        for rank, theirs in others.items():
            if theirs["version"] != version:
                text = f"process {rank} has another version of staticgraph than process {self.rank}"
                hint = "install the same one on all machines"
                raise misuse(FailedPreconditionError, text, hint)
            if theirs["digest"] != digest:
                raise misuse(*_differ(rank, theirs["what"], self.rank, what))
        self._agreed[digest] = what
        return len(self._agreed) - 1

    def forget(self) -> None:
        """Have no step compared: one process may have failed in between."""
        self._agreed.clear()

    # What others have told

    def look(self, what: str, waited: float, step: str = "") -> None:
        """Raise an error if another process has failed, or if `what` takes too long: `waited` seconds.

        `step`: the name of the step that waits, as for `agree`.
        """
        self._receive()
        self._failures = [news for news in self._failures if news["final"] or news["run"] >= self._settled]
        for news in self._failures:
            if news["run"] <= self.runs[0] or waited > _GRACE:
                self._failures.remove(news)
                raise self._failed_by(news)
        if waited > _GRACE and self._ended:
            rank = next(iter(self._ended))
            text = f"process {rank} has ended, and this one waits for it in {what}"
            raise misuse(PeerError, text, "each process must take the same number of steps")
        if waited > _GRACE and (ahead := [rank for rank, steps in self._steps.items() if steps]):
            theirs = self._steps[ahead[0]][0]
            if step and theirs["digest"] != step:
                raise misuse(*_differ(ahead[0], theirs["what"], self.rank, self._agreed[step]))
            if what != _FIRST:
                text = f"process {ahead[0]} is about to run another step, while this one waits in {what}"
                raise misuse(
                    FailedPreconditionError, text, "all processes must run the same steps in the same order"
                )
        if waited > _ASK:
            self._ask(what, waited, step)

    def settle(self, runs: int) -> None:
        """Count runs from a number on that all processes have agreed on. Failures before it are old."""
        self.runs[0] = self._settled = runs
        self.is_stuck = False  # all have taken part in this

    def _failed_by(self, news: dict[str, Any]) -> Exception:
        """Return the error of this process for the failure of another one."""
        rank, text = news["rank"], news["text"]
        if news["final"] or news["run"] >= self.runs[0]:
            return misuse(PeerError, f"process {rank} failed, and with it this run: {text}")
        text = f"process {rank} failed in a run that went well here, so that variables differ: {text}"
        hint = "restore a checkpoint in all processes, or run broadcast_variables()"
        return misuse(FailedPreconditionError, text, hint)  # which the others are told, to fail as well

    def _ask(self, what: str, waited: float, step: str) -> None:
        """Raise an error if another process hangs or runs something else, or if none says why it waits."""
        self.heartbeat.wait(what, step)
        idle, who = self.heartbeat.idle(time.monotonic() - waited)
        for rank, other in self.heartbeat.steps.items() if step else ():
            if other != step and other in self._agreed:
                raise misuse(*_differ(rank, self._agreed[other], self.rank, self._agreed[step]))
        others = self.heartbeat.waiting
        if waited > _GRACE and what != _FIRST and len(others) == self.size - 1:  # nobody goes on
            here = _place(what, step)
            for rank, there in ((rank, _place(*other)) for rank, other in others.items()):
                if there != here:
                    text = f"process {rank} waits in {there}, and this one in {here}"
                    hint = "all processes must make the same calls, in the same order"
                    raise misuse(FailedPreconditionError, text, hint)
        if min(waited, idle if who else waited) <= max(self.timeout, _ASK + _REPLY):
            return
        text = f"the other processes did not come to {what} in {self.timeout:g} seconds"
        hint = "they wait in another exchange or cannot be asked; init(timeout=...) allows more time"
        if who and (self.heartbeat.is_answered or self.size == 2):
            text = f"{who}, and this process has waited {self.timeout:g} seconds for it in {what}"
            hint = "it computes nothing; init(timeout=...) allows more time"
        self.is_stuck = True
        raise misuse(DeadlineExceededError, text, hint)

    def _addresses(self) -> list[tuple[str, int, str]]:
        """The addresses at which all processes answer questions."""
        mine = np.zeros(_ADDRESS, np.uint8)
        told = " ".join(map(str, self.heartbeat.address)).encode()
        mine[: len(told)] = list(told)
        every = np.zeros((self.size, _ADDRESS), np.uint8)
        self._comm.Allgather([mine, self._mpi.BYTE], [every, self._mpi.BYTE])
        texts = [bytes(row).rstrip(b"\0").decode().split() for row in every]
        return [(host, int(port), word) for host, port, word in texts]

    def _tell(self, news: dict[str, Any]) -> None:
        data = json.dumps(news).encode()
        self._sent = [request for request in self._sent if not request[0].Test()]
        for rank in range(self.size):
            if rank != self.rank:
                message = bytearray(data)
                self._sent.append((self._comm.Isend([message, self._mpi.BYTE], rank, _TAG), message))

    def _receive(self) -> None:
        status = self._mpi.Status()
        while self._comm.Iprobe(self._mpi.ANY_SOURCE, _TAG, status):
            message = bytearray(status.Get_count(self._mpi.BYTE))
            rank = status.Get_source()
            self._comm.Recv([message, self._mpi.BYTE], rank, _TAG)
            news = json.loads(bytes(message))
            match news["kind"]:
                case "failed":
                    self._failures.append({**news, "rank": rank})
                    self.is_stuck |= news["stuck"]
                case "ended":
                    self._ended[rank] = None
                case "step":
                    self._steps.setdefault(rank, []).append(news)


class PeerError(CancelledError):
    """An error of another process, which ends the run of this one."""


def _place(what: str, step: str) -> str:
    """Return where a process waits; of steps, those that differ have been told apart."""
    return "a step" if step else f"{what} outside of steps"


def _differ(rank: int, theirs: str, mine_rank: int, mine: str) -> tuple[type[Exception], str, str]:
    pairs = zip_longest(theirs.splitlines(), mine.splitlines(), fillvalue="nothing more")
    there, here = next(((a, b) for a, b in pairs if a != b), ("", ""))
    if here == there:
        here, there = "other numbers of the same kind", "what differs in attributes or constants"
    text = (
        f"process {rank} runs another step than process {mine_rank}, and all must run the same: there "
        f"{there}; here {here}"
    )
    return (
        FailedPreconditionError,
        text,
        "build the same graph in all processes, run the same steps in the same order, and feed equal shapes",
    )
