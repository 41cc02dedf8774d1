"""Tests of the GPU back end run its functions by the stand-in, which needs a C++ compiler.

What was compiled is kept for the session, in a folder of its own: nothing comes from the user's cache.
"""

import os
from collections.abc import Iterator

import pytest

from staticgraph.runtime.gpu.simulator import build
from staticgraph.runtime.gpu.simulator.build import BuildError
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.running import SCHEDULES


@pytest.fixture(scope="session")
def _objects(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("objects"))


@pytest.fixture(autouse=True)
def _own_cache_on_disk(monkeypatch: pytest.MonkeyPatch, _objects: str) -> None:
    monkeypatch.setenv("SG_CACHE_DIR", _objects)


@pytest.fixture(autouse=True, scope="session")
def _compiler() -> Iterator[None]:
    """What needs the C++ compiler is skipped where there is none. Where the environment says so, the compiler
    checks what functions do: see test_sanitized.py.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "OPTIONS", (*build.OPTIONS, *os.environ.get("TEST_SANITIZERS", "").split()))
        try:
            build.host_compiler()
        except BuildError as error:
            reason = str(error)
            patch.setattr(build, "host_compiler", lambda: pytest.skip(reason))
        yield


@pytest.fixture(scope="session")
def host(_compiler: None) -> str:
    """The path of the C++ compiler."""
    return build.host_compiler()


@pytest.fixture(params=SCHEDULES, ids=lambda schedule: f"schedule{schedule}")
def driver(request: pytest.FixtureRequest, host: str) -> Simulator:
    """A stand-in for a card, in each of the three schedules. In the last one no work is put off."""
    return Simulator(request.param, deferred=request.param != SCHEDULES[-1])


@pytest.fixture
def one_driver(host: str) -> Simulator:
    """A stand-in for a card, once: for tests in which threads do not matter."""
    return Simulator(SCHEDULES[1])
