"""News of a failure reaches the run that failed, and not the run before it, completed by other processes."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from staticgraph.runtime.processes import peers as module
from staticgraph.runtime.processes.peers import PeerError, Peers


class Post:
    """A communicator of two processes: this is the first one, and a test writes what the other one sends."""

    def __init__(self) -> None:
        self.letters: list[bytes] = []

    def Get_size(self) -> int:
        return 2

    def Get_rank(self) -> int:
        return 0

    def Allgather(self, given, taken) -> None:
        taken[0][:] = given[0]

    def Iprobe(self, source, tag, status) -> bool:
        if self.letters:
            status.letter = self.letters[0]
        return bool(self.letters)

    def Recv(self, message, rank, tag) -> None:
        message[0][:] = self.letters.pop(0)


class Status:
    """Description of a message by MPI."""

    letter = b""

    def Get_count(self, kind) -> int:
        return len(self.letter)

    def Get_source(self) -> int:
        return 1


@pytest.fixture
def here():
    """The peers of a process in its run 3, and the post."""
    post = Post()
    made = Peers(post, SimpleNamespace(BYTE=None, ANY_SOURCE=-1, Status=Status), timeout=20)
    made.runs[0] = 3
    return made, post


def failed(post: Post, run: int, final: bool = False) -> None:
    news = {"kind": "failed", "run": run, "final": final, "text": "FeedError", "stuck": False}
    post.letters.append(json.dumps(news).encode())


@pytest.mark.parametrize("final", [False, True])
def test_a_failure_of_the_next_run_waits_for_it(here, final: bool):
    mine, post = here
    failed(post, 4, final)
    mine.look("all_reduce", 0.1)
    mine.runs[0] += 1
    with pytest.raises(PeerError, match="process 1 failed, and with it this run"):
        mine.look("all_reduce", 0.0)


def test_a_failure_of_this_run_ends_it(here):
    mine, post = here
    failed(post, 3)
    with pytest.raises(PeerError, match="process 1 failed, and with it this run"):
        mine.look("all_reduce", 0.0)


def test_a_failure_is_told_at_last_if_processes_count_differently(here):
    mine, post = here
    failed(post, 5)
    mine.look("all_reduce", 0.1)
    with pytest.raises(PeerError, match="process 1 failed"):
        mine.look("all_reduce", module._GRACE + 0.1)


def test_failures_before_an_agreement_are_old(here):
    mine, post = here
    failed(post, 3)
    failed(post, 5)
    mine.settle(5)
    with pytest.raises(PeerError, match="process 1 failed"):
        mine.look("all_reduce", 0.0)
    mine.look("all_reduce", 0.0)
