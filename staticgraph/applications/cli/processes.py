"""Processes of a launcher such as mpiexec: their output, and which of them was killed."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

INTERRUPTED = 130  # the status of a program that Ctrl-C has ended
_EVERY = 0.2  # seconds between looks at which processes there are
_SELDOM = 3.0  # and once all are known
_STARTING = 30.0  # seconds in which they start; those on other machines are never seen
_SOON = 5.0  # seconds in which a launcher, on a busy machine too, ends all others after one has failed
_MOST = 1 << 16  # bytes of the end of the output, in which the launcher tells why it ends
# MPICH tells the number of a process to the system, Open MPI its rank.
_KILLED = re.compile(rb"PID (\d+) RUNNING AT (\S+)\s+=\s+EXIT CODE: (\d+)")
_RANK_KILLED = re.compile(rb"process rank (\d+) with PID \d+ on node (\S+) exited\s+on\s+signal (\d+)")
# Which signal ended the first process; the launcher may tell it of one that it has ended itself.
_FIRST_SIGNAL = re.compile(rb"EXIT STRING: [^\n]*\(signal (\d+)\)")
_BY_LAUNCHER = (signal.SIGKILL, signal.SIGTERM)  # how MPICH and Open MPI end those that are left
_EXITING = 0x4  # among the flags of a process (PF_EXITING of Linux): it ends or has ended
_RANK = re.compile(rb"\0(?:PMI_RANK|OMPI_COMM_WORLD_RANK)=(\d+)\0")


def run_all(line: Sequence[str], count: int) -> int:
    """Run a launcher of so many processes to its end, and say which one was killed, if one was.

    Returns its status; INTERRUPTED after Ctrl-C, which ends all.
    """
    launcher = subprocess.Popen(line, stdout=subprocess.PIPE)
    assert launcher.stdout is not None
    ranks = Ranks(launcher.pid, count)
    tail, is_interrupted = _shown(launcher.stdout)
    status = launcher.wait()
    ranks.stop()
    if is_interrupted:
        return INTERRUPTED
    if status and (told := how_it_ended(tail, ranks, status)):
        print(f"staticgraph: {told}", file=sys.stderr)
    return status


def killed(tail: bytes, ranks: dict[int, int]) -> tuple[str, int | None]:
    """Return which process a launcher says was killed, and by which signal; empty if none was.

    `ranks`: by the system's numbers of processes.
    """
    if found := _RANK_KILLED.search(tail):
        number = int(found[3])
        return _told(f"process {int(found[1])}", found[2].decode(), number), number
    if (found := _KILLED.search(tail)) and (number := int(found[3])) in {*signal.valid_signals()}:
        pid = int(found[1])
        who = f"process {ranks[pid]}" if pid in ranks else f"the process with PID {pid}"
        return _told(who, found[2].decode(), number), number
    return "", None


def ended_first(ranks: Ranks) -> tuple[list[int], int | None]:
    """Return the ranks of which one ended first without success, and its status, if these are known.

    The launcher ends all others then, and what it tells may be one of them. There are several if they were
    seen to end in the same moment and the launcher has asked for the status of one of them before.
    """
    for end in ranks.ends:
        if end.status and end.status not in _BY_LAUNCHER:
            return [ranks.known[end.pid]], end.status
    for first in ranks.ends:
        if first.status != 0 and ranks.ends[-1].moment - first.moment < _SOON:
            found = {first, *(end for end in ranks.ends if end.moment == first.moment and end.status is None)}
            return sorted(ranks.known[end.pid] for end in found), None if len(found) > 1 else first.status
    return [], None


def how_it_ended(tail: bytes, ranks: Ranks, launcher: int) -> str:
    """Return how the process ended that was the first one to do so; empty if it has told that itself.

    `tail` is the end of the output, `launcher` the status of the launcher: 1 after an error of Python.
    """
    told, number = killed(tail, ranks.known)
    if told and number not in _BY_LAUNCHER:
        return told
    if (found := _FIRST_SIGNAL.search(tail)) and (first_signal := int(found[1])) not in _BY_LAUNCHER:
        ended = {ranks.known[end.pid] for end in ranks.ends if end.status in (None, first_signal)}
        if ended:
            return _told(_one_of(sorted(ended)), socket.gethostname(), first_signal)
    first, status = ended_first(ranks)
    if not first:
        return told
    who = _one_of(first)
    if f"{who} " in told:
        return told
    if status is None:
        return f"{who} was the first to end" if told or launcher != 1 else ""
    if os.WIFSIGNALED(status):
        return _told(who, socket.gethostname(), os.WTERMSIG(status))
    code = os.WEXITSTATUS(status)
    return f"{who} has ended with status {code}" if code != 1 else ""


def _one_of(ranks: Iterable[int]) -> str:
    return "process " + " or ".join(map(str, ranks))


def _told(who: str, host: str, number: int) -> str:
    return f"{who} on {host} was killed by signal {number} ({signal.strsignal(number)})"


def _shown(stream: IO[bytes]) -> tuple[bytes, bool]:
    """Write all that comes to the standard output. Return its end, and True after Ctrl-C."""
    tail, is_interrupted = b"", False
    while True:
        try:
            if not (piece := os.read(stream.fileno(), _MOST)):
                return tail, is_interrupted
        except KeyboardInterrupt:  # the launcher has it, too, and ends all
            is_interrupted = True
            continue
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        tail = (tail + piece)[-_MOST:]


class End(NamedTuple):
    """A process that has ended: when that was seen, and its status as `os.wait` has it.

    The status is None if the launcher has asked for it before.
    """

    moment: float
    pid: int
    status: int | None


class Ranks:
    """The ranks of the processes that a launcher has started, by their numbers. Linux tells them.

    Args:
        launcher: The number of the launcher.
        count: How many processes it starts.

    Attributes:
        known: The rank of each process whose end will be seen.
        ends: The processes that have ended, in this order. Those with the same moment may be in another one.
    """

    def __init__(self, launcher: int, count: int) -> None:
        self.known: dict[int, int] = {}
        self.ends: list[End] = []
        self._launcher, self._count = launcher, count
        self._over = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def _look(self) -> None:
        # It reports in the order in which they ended, if several have since the last look, too.
        ends = select.epoll() if hasattr(os, "pidfd_open") else None
        opened: dict[int, int] = {}  # processes by the descriptors that tell of their ends
        looked, began = 0.0, time.monotonic()
        while not self._over.is_set():
            # An end is seen at once only between looks, so there are few of them once all are known.
            now = time.monotonic()
            starting = len(self.known) < self._count and now - began < _STARTING
            if now - looked > (_EVERY if starting else _SELDOM):
                looked = now
                for pid, rank in self._new().items():
                    with suppress(OSError):
                        if ends is not None:
                            opened[descriptor := os.pidfd_open(pid)] = pid
                            ends.register(descriptor, select.EPOLLIN)
                    self.known[pid] = rank
            if ends is None or not opened:
                self._over.wait(_EVERY)
                continue
            ended = [descriptor for descriptor, _ in ends.poll(_EVERY)]
            # The launcher sees the files of a process close, and may have ended others before that one's end.
            ended += [other for other in opened if ended and other not in ended and _status(opened[other])]
            now = time.monotonic()
            for descriptor in ended:
                ends.unregister(descriptor)
                pid = opened.pop(descriptor)
                self.ends.append(End(now, pid, _status(pid)))
                os.close(descriptor)
        for descriptor in opened:
            os.close(descriptor)
        if ends is not None:
            ends.close()

    def _new(self) -> dict[int, int]:
        """Find the processes with a rank that are not known yet, and their ranks.

        What these have started has their environment, and is none.
        """
        found: dict[int, int] = {}
        children = _children()
        waiting = [self._launcher]
        while waiting:
            for pid in children.get(waiting.pop(), ()):
                if pid in self.known:
                    continue
                if rank := _RANK.search(_environment(pid)):
                    found[pid] = int(rank[1])
                else:
                    waiting.append(pid)
        return found


def _status(pid: int) -> int | None:
    """The status of a process that has ended or is about to; None if the launcher has asked for it."""
    try:
        words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return int(words[-1]) if int(words[6]) & _EXITING else None
    except (OSError, ValueError, IndexError):
        return None


def _children() -> dict[int, list[int]]:
    """List the processes that each process has started."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):  # it has ended
            parent = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(folder.name))
    return children


def _environment(pid: int) -> bytes:
    try:
        return b"\0" + Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
    except OSError:
        return b""
