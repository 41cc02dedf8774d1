"""The line on a terminal that tells how far a long compile is."""

import os
import pty
import select
from types import SimpleNamespace

import pytest

import staticgraph as sg
from staticgraph.compiler.graph import world
from staticgraph.runtime.reports import compile_log as progress


@pytest.fixture
def terminal(monkeypatch):
    """Standard error is a pseudo-terminal of 60 columns. Returns what was written on it."""
    leader, follower = pty.openpty()
    monkeypatch.setenv("COLUMNS", "60")
    with open(follower, "w", closefd=False) as stream:
        monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))  # pytest sets sys.stderr itself

        def text() -> str:
            stream.write("\0")  # a terminal hands on what it gets when it likes: this is the end of it
            stream.flush()
            found = b""
            while not found.endswith(b"\0") and select.select([leader], [], [], 60)[0]:
                found += os.read(leader, 1 << 16)
            return found.decode().rstrip("\0")

        yield text
    os.close(leader)
    os.close(follower)


@pytest.fixture
def slow(monkeypatch):
    """Each look at the clock is a second after the one before."""
    seconds = iter(range(10_000))
    monkeypatch.setattr(progress, "clock", lambda: float(next(seconds)))


def net():
    """A step of several kernels, of which some are in a loop."""
    x = sg.placeholder(sg.float32, [4, 4], name="x")
    y = sg.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, sg.matmul(y, y) / 9.0), [0, x])[1]
    return x, sg.identity(sg.cumsum(sg.sort(y)), name="found")


def run(**options):
    x, y = net()
    with sg.Session(device="cpu") as session, sg.options(**options):
        session.run(y, {x: [[1.0] * 4] * 4})


def test_a_terminal_is_told_and_the_line_goes_away(terminal, slow, monkeypatch):
    monkeypatch.setenv("SG_CACHE_DIR", "")
    run()
    *lines, blank, last = [line.rstrip() for line in terminal().split("\r")[1:]]
    assert blank == last == "" and lines
    told = [line.removeprefix("compiling found: kernel ").split(" of ") for line in lines]
    numbers, totals = ([int(number) for number in part] for part in zip(*told, strict=True))
    assert numbers == sorted(set(numbers)) and numbers[0] >= 2
    assert totals == sorted(totals)  # those of a loop are counted when it is lowered
    assert all(number <= total for number, total in zip(numbers, totals, strict=True))


def test_all_kernels_are_counted():
    x, y = net()
    told = []
    with sg.Session(device="cpu") as session:
        step = session.executable(y, {x: [[1.0] * 4] * 4}).prepared.step
    from staticgraph.compiler.compile import compile
    from staticgraph.runtime.cpu import jit

    made = compile(step, jit.host(), told=lambda *numbers: told.append(numbers))
    launches = sum(code is not None for _, code, _ in made.walk())
    assert launches >= 3 and [number for number, _ in told] == [*range(1, launches + 1)]
    totals = [total for _, total in told]
    assert totals == sorted(totals) and totals[-1] == launches


def test_a_quick_compile_is_silent(terminal, monkeypatch):
    monkeypatch.setattr(progress, "clock", lambda: 0.0)
    run()
    assert terminal() == ""


def test_silence_can_be_asked_for(terminal, slow):
    run(progress=False)
    assert terminal() == ""


def test_what_is_no_terminal_is_told_nothing(slow, capsys):
    run()
    assert capsys.readouterr().err == ""


def test_a_long_name_is_cut(terminal, slow):
    with progress.Progress("compiling " + "loss, " * 30) as told:
        for number in range(1, 5):
            told(number, 4, "kernel")
    text = terminal()
    assert "loss, l...: kernel 4 of 4" in text
    assert all(len(line) < 60 for line in text.split("\r"))


@pytest.mark.parametrize("rank", [0, 1])
def test_of_several_processes_the_first_one_tells(rank: int, terminal, slow, monkeypatch):
    monkeypatch.setattr(world.MEMBERSHIP, "world", SimpleNamespace(size=2, rank=rank))
    with progress.Progress("compiling loss") as told:
        for number in range(1, 5):
            told(number, 4, "kernel")
    assert ("compiling loss" in terminal()) is (rank == 0)
