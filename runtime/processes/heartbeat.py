"""Signs of life: what tells a process that hangs from one that computes for long.

Each process answers questions by UDP, in a thread of its own: how much time its main thread has spent
computing, if it waits for others, and at which line it is. A process that has waited for a second asks all
others once a second. While all goes well, nothing is sent.

Any program on the network can send a datagram to this port. So each process makes a secret word, which MPI
carries to the others, and hears only what begins with it. Answers go to the address that MPI told, never to
where a question seems to come from.
"""

from __future__ import annotations

import ctypes
import json
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.graph.provenance import line_of_thread

Word = Sequence[int] | ctypes.Array[ctypes.c_int64]
_EVERY = 1.0  # seconds between questions
_LEAST = 0.002  # of a second of computing since the last answer: a thread that sleeps needs less
_MOST_BYTES = 4096
_MOST_TEXT = 250  # characters of a line or a collective: six bytes of JSON each, at most


class Heartbeat:
    """Answers of this process, and what others have answered.

    Attributes:
        address: The host and port at which this process answers, and the word that it hears.

    Args:
        rank: The number of this process.
        completed: One word that counts the collectives that are complete here.
        runs: One word that counts runs, the same in all processes.
    """

    def __init__(self, rank: int, completed: Word, runs: Word) -> None:
        self._rank, self._completed, self._runs = rank, completed, runs
        self._waits = ("", "", -1)  # the collective and the step in which it waited last, and the count then
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("", 0))
        self.address = (_own_host(), self._socket.getsockname()[1], secrets.token_hex(8))
        self._clock = time.pthread_getcpuclockid(threading.main_thread().ident or 0) if _HAS_CLOCK else None
        self._others: dict[int, tuple[str, int, str]] = {}
        self._lives: dict[int, dict[str, Any]] = {}
        self._asked = 0.0
        threading.Thread(target=self._serve, name="staticgraph heartbeat", daemon=True).start()

    @property
    def waits_in(self) -> str:
        """The collective in which this process waits; an empty text if it does not."""
        what, _, count = self._waits
        return what if count == self._completed[0] else ""

    def wait(self, what: str, step: str = "") -> None:
        """Note that this process waits in a collective of a step, until that is complete."""
        self._waits = (what, step, self._completed[0])

    @property
    def steps(self) -> dict[int, str]:
        """The names of the steps in which others have waited in this same run."""
        lives = [*self._lives.items()]
        return {r: life["step"] for r, life in lives if life["waits"] and life["run"] == self._runs[0]}

    @property
    def waiting(self) -> dict[int, tuple[str, str]]:
        """The collective and the step in which each other process waits, if it has told so just now."""
        recent = time.monotonic() - 3 * _EVERY
        lives = [(r, life) for r, life in self._lives.items() if life["waits"] and life["heard"] > recent]
        return {rank: (life["waits"], life["step"]) for rank, life in lives}

    def know(self, addresses: list[tuple[str, int, str]]) -> None:
        """Note the address of each process, in the order of ranks."""
        self._others = {rank: address for rank, address in enumerate(addresses) if rank != self._rank}

    def idle(self, since: float) -> tuple[float, str]:
        """Return for how long another process has done nothing, and tell which one it is, and where.

        `since`: the time at which this process began to wait. A process that computes, or waits for others by
        itself, is not idle.
        """
        now = time.monotonic()
        if now - self._asked > _EVERY:
            self._asked = now
            for rank in self._others:
                self._send({"ask": self._rank}, rank)
        longest, who = 0.0, ""
        for rank in self._others:
            life = self._lives.get(rank, {})
            if life.get("waits"):
                continue
            silent = now - max(since, life.get("alive", since))
            if silent >= longest:
                at = f" at {life['at']}" if life.get("at") else ""
                answers = "heard" in life and now - life["heard"] < 5 * _EVERY
                longest, who = silent, f"process {rank} {'hangs' + at if answers else 'does not answer'}"
        return longest, who

    @property
    def is_answered(self) -> bool:
        """True if any other process has ever answered."""
        return bool(self._lives)

    def _serve(self) -> None:
        while True:
            try:
                data = self._socket.recv(_MOST_BYTES)
            except OSError:
                if self._socket.fileno() < 0:  # the end of the program
                    return
                continue
            word = self.address[2].encode()
            if not secrets.compare_digest(data[: len(word)], word):  # not one of ours
                continue
            try:
                news = json.loads(data[len(word) :])
            except (ValueError, RecursionError):  # damaged on its way
                continue
            match news:
                case {"ask": int(rank)}:
                    self._send(self._life(), rank)
                case _ if _is_life(news):
                    self._hear(news)

    def _life(self) -> dict[str, Any]:
        at = line_of_thread(threading.main_thread().ident or 0)
        spent = time.process_time() if self._clock is None else time.clock_gettime(self._clock)
        _, step, _ = self._waits
        run = self._runs[0]
        return {
            "rank": self._rank,
            "spent": spent,
            "waits": self.waits_in[:_MOST_TEXT],
            "step": step,
            "run": run,
            "at": at[-_MOST_TEXT:],
        }

    def _hear(self, news: dict[str, Any]) -> None:
        now = time.monotonic()
        before = self._lives.get(news["rank"])
        alive = before["alive"] if before else now
        if before is None or news["spent"] - before["spent"] > _LEAST:
            alive = now
        self._lives[news["rank"]] = {**news, "alive": alive, "heard": now}

    def _send(self, news: dict[str, Any], rank: int) -> None:
        if rank not in self._others:  # it asks before this process knows it, and will ask again
            return
        host, port, word = self._others[rank]
        try:
            self._socket.sendto(word.encode() + json.dumps(news).encode(), (host, port))
        except OSError:  # no way to it: it is as if it did not answer
            return


# What a process tells of itself.
_LIFE = {"rank": int, "spent": (int, float), "waits": str, "step": str, "run": int, "at": str}


def _is_life(news: Any) -> bool:
    """Return True if a message is what another process tells of itself."""
    if not isinstance(news, dict) or news.keys() != _LIFE.keys():
        return False
    return all(isinstance(news[name], kind) for name, kind in _LIFE.items())


_HAS_CLOCK = hasattr(time, "pthread_getcpuclockid")


def _own_host() -> str:
    """The address of this machine that others can reach."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # an address of documentation; nothing is sent
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1"
