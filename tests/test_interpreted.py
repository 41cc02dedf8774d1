"""Most tests of what users call interpret their steps; the others, and all in the slow tier, compile."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import staticgraph as sg
from staticgraph.runtime.cpu.backend import CpuBackend
from staticgraph.runtime.interpreter import InterpreterBackend
from tests import interpreted, repetitions


def items(folder: str, tier: str = "not slow", mark: str | None = None) -> list[Any]:
    config = SimpleNamespace(option=SimpleNamespace(markexpr=tier))
    return [
        SimpleNamespace(
            nodeid=f"tests/{folder}/test_it.py::test_it[{case}]",
            config=config,
            get_closest_marker=lambda name: mark if name == mark else None,
        )
        for case in range(300)
    ]


def test_folders_are_there():
    assert all((Path(__file__).parent / folder).is_dir() for folder in interpreted.FOLDERS)


@pytest.mark.parametrize("tier", ["not slow", "fast", "not slow and not page"])
def test_four_of_five_are_interpreted(tier: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(repetitions, "_turn", 0)
    assert 220 < sum(map(interpreted.is_now, items("api", tier))) < 260
    assert not list(interpreted.compiled_in(tier, items("api", tier)))


def test_five_turns_compile_each_once(monkeypatch: pytest.MonkeyPatch):
    compiled = []
    for turn in range(interpreted.ONE_IN):
        monkeypatch.setattr(repetitions, "_turn", turn)
        compiled += [item.nodeid for item in items("api") if not interpreted.is_now(item)]
    assert sorted(compiled) == sorted(item.nodeid for item in items("api"))
    monkeypatch.setattr(repetitions, "_turn", None)
    assert not any(map(interpreted.is_now, items("api")))


def test_what_looks_at_machine_code_is_compiled():
    assert not any(map(interpreted.is_now, items("codegen")))
    assert not any(map(interpreted.is_now, items("api", mark="compiled")))


def test_the_slow_tier_compiles_all():
    assert not any(map(interpreted.is_now, items("api", "slow")))
    assert len(list(interpreted.compiled_in("slow", items("api", "slow")))) == 300
    assert not list(interpreted.compiled_in("slow", items("codegen", "slow")))
    assert not list(interpreted.compiled_in("slow", items("api", "slow", mark="compiled")))


def test_sessions_interpret_until_they_compile_again():
    with interpreted.interpreting():
        assert isinstance(sg.Session().backend, InterpreterBackend)
        with interpreted.compiling():
            assert isinstance(sg.Session().backend, CpuBackend)
        assert isinstance(sg.Session().backend, InterpreterBackend)
    assert isinstance(sg.Session().backend, CpuBackend)
