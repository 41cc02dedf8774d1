"""A session, and a record of what is compiled."""

import pytest

import staticgraph as sg
from staticgraph.runtime import plan as plan_module


@pytest.fixture
def sess():
    with sg.Session() as session:
        yield session


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list:
    """The steps that were compiled, in order."""
    steps: list = []
    compile_ = plan_module.compile

    def record(step, *args, **kwargs):
        steps.append(step)
        return compile_(step, *args, **kwargs)

    monkeypatch.setattr(plan_module, "compile", record)
    return steps
