"""Marks of a card: what CUDA is asked for, in a capture and outside of one."""

import sys
from types import SimpleNamespace

import pytest

from staticgraph.compiler.graph.errors import FailedPreconditionError, OpError
from staticgraph.runtime.gpu.cuda import moments
from staticgraph.runtime.gpu.cuda.cupy_driver import CupyDriver
from staticgraph.runtime.gpu.cuda.moments import Mark
from tests.gpu.fake_cupy import FakeCupy


class Event:
    """cupy.cuda.Event, of which each takes its time a millisecond after the one before."""

    made = 0

    def __init__(self) -> None:
        Event.made += 1
        self.ptr = 0xE0 + Event.made
        self.time = float(Event.made)
        self.recorded = []

    def record(self, stream):
        self.recorded.append(stream.ptr)


CUPY = SimpleNamespace(cuda=SimpleNamespace(Event=Event, get_elapsed_time=lambda a, b: b.time - a.time))


def card(capturing):
    """A connection to one."""
    return SimpleNamespace(cupy=CUPY, stream=SimpleNamespace(ptr=0x57), capturing=capturing)


@pytest.fixture
def system(monkeypatch):
    """Calls that libcuda gets, and its answers."""
    calls = []
    told = SimpleNamespace(status=0, calls=calls)

    def record(*arguments):
        calls.append(arguments)
        return told.status

    monkeypatch.setattr(moments, "libcuda", lambda: SimpleNamespace(cuEventRecordWithFlags=record))
    moments._function.cache_clear()
    yield told
    moments._function.cache_clear()


def test_a_mark_outside_of_a_capture_is_an_event(system):
    mark = Mark(card(capturing=False))
    assert mark._event.recorded == [0x57] and system.calls == []


def test_a_mark_in_a_capture_is_an_external_event(system):
    mark = Mark(card(capturing=True))
    assert mark._event.recorded == [] and system.calls == [(mark._event.ptr, 0x57, 1)]


def test_times_are_nanoseconds(system):
    first, second = Mark(card(False)), Mark(card(True))
    assert second.since(first) == 1e6


def test_what_cuda_refuses_is_an_error_of_ours(system, monkeypatch):
    system.status = 1
    with pytest.raises(OpError, match=r"to take the time in a step: .*cuEventRecordWithFlags: 1"):
        Mark(card(capturing=True))
    moments._function.cache_clear()
    monkeypatch.setattr(moments, "libcuda", lambda: None)
    with pytest.raises(FailedPreconditionError, match="no libcuda"):
        Mark(card(capturing=True))


def test_the_driver_knows_whether_it_captures(system, monkeypatch):
    fake = FakeCupy()
    fake.cuda.Event, fake.cuda.get_elapsed_time = Event, CUPY.cuda.get_elapsed_time
    monkeypatch.setitem(sys.modules, "cupy", fake)
    driver = CupyDriver(1)
    before = driver.mark()
    driver.begin_capture()
    inside = driver.mark()
    driver.end_capture()
    after = driver.another().mark()
    assert [len(mark._event.recorded) for mark in (before, inside, after)] == [1, 0, 1]
    assert len(system.calls) == 1 and after.since(before) == 2e6
    assert fake.given("setDevice")[-1] == (1,)
