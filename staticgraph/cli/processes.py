"""Processes of a launcher such as mpiexec: their output, and which of them was killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

_EVERY = 0.2  # seconds between looks at which processes there are
_MOST = 1 << 16  # bytes of the end of the output, in which the launcher tells why it ends
# MPICH tells the number of a process to the system, Open MPI its rank.
_KILLED = re.compile(rb"PID (\d+) RUNNING AT (\S+)\s+=\s+EXIT CODE: (\d+)")
_RANK_KILLED = re.compile(rb"process rank (\d+) with PID \d+ on node (\S+) exited on signal (\d+)")
_RANK = re.compile(rb"\0(?:PMI_RANK|OMPI_COMM_WORLD_RANK)=(\d+)\0")


def run_all(line: Sequence[str]) -> int:
    """Run a launcher to its end, and say which process was killed, if one was. Returns its status."""
    launcher = subprocess.Popen(line, stdout=subprocess.PIPE)
    assert launcher.stdout is not None
    ranks = Ranks(launcher.pid)
    tail = _shown(launcher.stdout)
    status = launcher.wait()
    ranks.stop()
    if status and (told := killed(tail, ranks.known)):
        print(f"staticgraph: {told}", file=sys.stderr)
    return status


def killed(tail: bytes, ranks: dict[int, int]) -> str:
    """Return which process a launcher says was killed, empty if none. `ranks`: by the system's numbers."""
    if found := _RANK_KILLED.search(tail):
        return _told(f"process {int(found[1])}", found[2], int(found[3]))
    if (found := _KILLED.search(tail)) and int(found[3]) in {*signal.valid_signals()}:
        pid = int(found[1])
        who = f"process {ranks[pid]}" if pid in ranks else f"the process with PID {pid}"
        return _told(who, found[2], int(found[3]))
    return ""


def _told(who: str, host: bytes, number: int) -> str:
    return f"{who} on {host.decode()} was killed by signal {number} ({signal.strsignal(number)})"


def _shown(stream: IO[bytes]) -> bytes:
    """Write all that comes to the standard output, and return its end."""
    tail = b""
    while True:
        try:
            if not (piece := os.read(stream.fileno(), _MOST)):
                return tail
        except KeyboardInterrupt:  # the launcher has it, too, and ends all
            continue
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        tail = (tail + piece)[-_MOST:]


class Ranks:
    """The ranks of the processes that a launcher has started, by their numbers. Linux tells them."""

    def __init__(self, launcher: int) -> None:
        self.known: dict[int, int] = {}
        self._launcher = launcher
        self._over = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def _look(self) -> None:
        while not self._over.wait(_EVERY):
            for pid in descendants(self._launcher):
                if pid not in self.known and (found := _RANK.search(_environment(pid))):
                    self.known[pid] = int(found[1])


def descendants(ancestor: int) -> list[int]:
    """Return the numbers of the processes that a process has started, and those that they have."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):  # it has ended
            continue
    found, waiting = [], [ancestor]
    while waiting:
        at = waiting.pop()
        children = [pid for pid, parent in parents.items() if parent == at]
        found += children
        waiting += children
    return found


def _environment(pid: int) -> bytes:
    try:
        return b"\0" + Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
    except OSError:
        return b""
