"""A session, a record of what is compiled, and the ways that runs may take."""

import pytest

from staticgraph.runtime.cpu.fast_path import call_record as binding
from staticgraph.runtime.cpu.fast_path import dispatch
from staticgraph.runtime.cpu.fast_path import inline_cache as chain

WHY = "objects are laid out in another way here"
native_only = pytest.mark.skipif(dispatch.unsupported() is not None, reason=WHY)


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
