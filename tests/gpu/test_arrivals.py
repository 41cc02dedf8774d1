"""Sends beside the stream of a GPU: requests to CUDA, in a capture and outside of one."""

import sys
from types import SimpleNamespace

import pytest

from staticgraph.compiler.graph.errors import OpError, UnavailableError
from staticgraph.runtime.gpu.cuda import moments
from staticgraph.runtime.gpu.cuda.cupy_driver import CupyDriver
from tests.gpu.fake_cupy import STREAM, CUDARuntimeError, FakeCupy


@pytest.fixture
def cupy(monkeypatch):
    fake = FakeCupy()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    return fake


@pytest.fixture
def waits(monkeypatch):
    """Waits that libcuda is asked for, and its answers."""
    told = SimpleNamespace(status=0, calls=[])

    def wait(*arguments):
        told.calls.append(arguments)
        return told.status

    monkeypatch.setattr(moments, "libcuda", lambda: SimpleNamespace(cuStreamWaitEvent=wait))
    moments._function.cache_clear()
    yield told
    moments._function.cache_clear()


def test_copies_go_to_a_stream_of_their_own(cupy):
    card = CupyDriver()
    arrival = card.arrival()
    cupy.calls.clear()
    arrival.send(0x1000, 0x2000, 64)
    other = cupy.given("memcpyAsync")[0][-1]
    assert cupy.given("memcpyAsync") == [(0x1000, 0x2000, 64, 1, other)]
    assert cupy.given("record") == [(other,)] and other != STREAM == card.stream.ptr
    arrival.awaited()
    assert cupy.given("wait_event") == [(STREAM,)]
    arrival.wait()
    assert cupy.names[-1] == "event.synchronize"
    assert card.arrival()._stream is arrival._stream
    card.close()
    assert cupy.names.count("synchronize") == 2, "both streams are waited for"


def test_in_a_capture_waiting_is_a_node(cupy, waits):
    card = CupyDriver()
    arrival = card.arrival()
    card.begin_capture()
    arrival.awaited()
    card.end_capture()
    assert waits.calls == [(STREAM, arrival._event.ptr, 1)]
    assert not cupy.given("wait_event")


def test_what_cuda_refuses_is_an_error_of_ours(cupy, waits):
    card = CupyDriver()
    arrival = card.arrival()
    cupy.fail("memcpyAsync", CUDARuntimeError(700))
    with pytest.raises(UnavailableError, match="to send 64 B to the GPU: a kernel reached outside"):
        arrival.send(0x1000, 0x2000, 64)
    cupy.fail("event.synchronize", CUDARuntimeError(719))
    with pytest.raises(UnavailableError, match="waiting for what is sent to the GPU: a kernel failed"):
        arrival.wait()
    waits.status = 1
    card.begin_capture()
    with pytest.raises(OpError, match="cuStreamWaitEvent: 1"):
        arrival.awaited()
    card.abandon_capture()
