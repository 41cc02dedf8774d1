"""Signs of life are told to the other processes of a program, and to nobody else."""

from __future__ import annotations

import json
import socket
import time

import pytest

from staticgraph.runtime.processes import heartbeat
from staticgraph.runtime.processes.heartbeat import Heartbeat

LIMIT = 30  # seconds: an answer that takes longer is a failure


@pytest.fixture
def pair():
    first, second = Heartbeat(0, [0], [7]), Heartbeat(1, [0], [7])
    addresses = [first.address, second.address]
    first.know(addresses)
    second.know(addresses)
    return first, second


@pytest.fixture
def stranger():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.setblocking(False)
        yield own


def ask(first):
    """Ask until the other has answered."""
    began = time.monotonic()
    while not first.is_answered:
        first.idle(began)
        assert time.monotonic() - began < LIMIT, "no answer"


def test_a_process_that_waits_itself_is_not_idle(pair):
    first, second = pair
    second.wait("a sum")
    ask(first)
    assert first.idle(0.0) == (0.0, "")


def test_a_process_that_does_nothing_is_named(pair):
    first, _ = pair
    ask(first)
    idle, who = first.idle(0.0)
    assert idle >= 0 and who.startswith("process 1 hangs")


def test_a_damaged_word_of_a_peer_ends_nothing(pair, stranger):
    first, second = pair
    for data in (b"", b"{", b"\xff", b"[" * 3000):
        stranger.sendto(second.address[2].encode() + data, second.address[:2])
    ask(first)


def test_a_word_of_another_form_ends_nothing(pair, stranger):
    first, second = pair
    life = second._life()
    lives = [{**life, "spent": "x"}, {**life, "rank": [1]}, {**life, "waits": 7, "rank": 5}, {"rank": 5}]
    for news in (5, [], {}, "ask", {"ask": [1]}, {"ask": None}, *lives):
        for each in pair:
            stranger.sendto(each.address[2].encode() + json.dumps(news).encode(), each.address[:2])
    ask(first)
    ask(second)
    assert [*first._lives] == [1] and first.steps == second.steps == first.waiting == {}


def test_a_line_in_a_file_of_a_long_name_fits_into_a_datagram(pair, monkeypatch):
    """One that is cut off is no JSON, and ended the thread that hears it."""
    first, second = pair
    monkeypatch.setattr(heartbeat, "line_of_thread", lambda thread: "\u4e00" * 1300 + ".py:7")
    second.wait("\u4e00" * 900)
    ask(first)
    second.wait("")
    [life] = first._lives.values()
    assert life["at"].endswith(".py:7")


@pytest.mark.parametrize(
    "datagram",
    [b"", b"[" * 4096, b"{", b"\xff" * 40, json.dumps({"ask": 0}).encode(), b"0" * 16 + b'{"ask": 0}'],
    ids=["empty", "deep", "torn", "not text", "no word", "wrong word"],
)
def test_a_stranger_is_neither_heard_nor_answered(pair, stranger, datagram):
    first, second = pair
    stranger.sendto(datagram, second.address[:2])
    stranger.sendto(json.dumps({"rank": 1, "spent": 1e9, "waits": "", "at": ""}).encode(), first.address[:2])
    ask(first)  # the thread still stands
    assert first.idle(0.0)[1].startswith("process 1 hangs")
    with pytest.raises(BlockingIOError):
        stranger.recv(4096)
