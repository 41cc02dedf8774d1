"""A session, a record of what is compiled, and the ways that runs may take."""

import pytest

import staticgraph as sg
from staticgraph.runtime.cpu import compile as compiling
from staticgraph.runtime.cpu.fast_path import call_record as binding
from staticgraph.runtime.cpu.fast_path import dispatch
from staticgraph.runtime.cpu.fast_path import inline_cache as chain

WHY = "objects are laid out in another way here"
native_only = pytest.mark.skipif(dispatch.unsupported() is not None, reason=WHY)


@pytest.fixture
def sess():
    with sg.Session() as session:
        yield session


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list:
    """The steps that were compiled, in order."""
    steps: list = []
    compile_ = compiling.compile

    def record(step, *args, **kwargs):
        steps.append(step)
        return compile_(step, *args, **kwargs)

    monkeypatch.setattr(compiling, "compile", record)
    return steps


@pytest.fixture(
    params=[pytest.param("native", marks=native_only), pytest.param("long", marks=native_only), "python"]
)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Way of runs after the first ones, which always go through Python.

    `native`: machine code that Python calls. `long`: the same for long runs, without Python's lock.
    """
    if request.param == "python":
        monkeypatch.setattr(chain, "native", lambda: None)
    else:
        monkeypatch.setattr(binding, "SHORT", -1 if request.param == "long" else 10**9)
    return request.param
