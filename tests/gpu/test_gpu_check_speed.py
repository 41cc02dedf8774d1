"""Stages of the tool for machines with a GPU that take times which were never measured, without one."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_stages import changing, generated, halves, loops, nets, peer, peers, starts
from gpu_stages.findings import Finding, Findings, read
from gpu_stages.setting import Setting
from gpu_stages.sizes import STEPS


@pytest.fixture
def setting(tmp_path: Path, host: str) -> Setting:
    return Setting("standin", 300, tmp_path, Findings("test", tmp_path / "test.jsonl"), time.monotonic())


def told(setting: Setting) -> dict[str, Finding]:
    """The findings by name, all of which hold."""
    found = read(setting.folder / "test.jsonl")
    assert not [finding for finding in found if finding.ok is False]
    return {finding.name: finding for finding in found}


def test_rounds_of_loops_are_timed(setting):
    loops.run(setting)
    found = told(setting)
    assert len(found) == 8 and all(f.value > 0 for f in found.values() if f.ok is None)


def test_tokens_are_made(setting):
    generated.run(setting)
    found = told(setting)
    assert {"a token of GPT-2 small, float32", "a token of GPT-2 small, bfloat16"} <= found.keys()


def test_sizes_change(setting):
    changing.run(setting)
    found = told(setting)
    assert found["dense layers: one program"].ok and found["a recurrent layer: one program"].ok
    assert found["dense layers: two runs of a new size"].unit == "ms"


def test_a_second_process_finds_what_the_first_has_left(setting, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    starts.run(setting)
    found = told(setting)
    assert found["lenet: losses are the same"].ok
    cold, warm = (
        found[f"lenet: first step after import, {how}"].value for how in ("cold", "programs on disk")
    )
    assert 0 < warm < cold


def test_rounded_rows_are_rows_of_both(setting, monkeypatch):
    asked: dict[str, Any] = {}
    monkeypatch.setattr(peers, "several", lambda setting, work: asked.update(work))
    monkeypatch.setattr(halves.importlib.util, "find_spec", lambda name: name)
    halves.run(setting)
    assert asked.keys() == {"transformer", "resnet18"} <= STEPS.keys()
    rows = asked["transformer"]
    assert [peer.parts(row) for row in rows] == [(name, "bfloat16") for name in (peers.OURS, *halves.OTHERS)]


def test_our_rounded_row_trains(monkeypatch):
    made: list[Any] = []
    monkeypatch.setattr("gpu_stages.training.ours", lambda *given, **switches: made.append(switches))
    peer.made("staticgraph, bfloat16", "small_mlp", "standin")
    peer.made("staticgraph", "small_mlp", "standin")
    assert made == [{"matmul_precision": "bfloat16"}, {"matmul_precision": "float32"}]


def test_nets_share_the_time_and_are_compared(setting, monkeypatch):
    """By a group that says what the benchmark's says."""

    def measured(rows, names, results, seconds, patience, progress):
        assert 0 < patience <= 300 and results["size"] == "small"
        results["work"] = {names[0]: {row.name: {"median": 2e-6, "agrees": True} for row in rows}}
        yield results

    rows = [SimpleNamespace(name="staticgraph"), SimpleNamespace(name="JAX")]
    group = SimpleNamespace(OURS="staticgraph", installed=lambda folder, device: rows, measured=measured)
    modules = {"benchmarks.nets.group": group, "benchmarks.nets.table": SimpleNamespace(NETS={"gpt": 1})}
    monkeypatch.setattr(nets.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(nets.importlib, "import_module", modules.__getitem__)
    nets.run(setting)
    found = told(setting)
    assert found["gpt: staticgraph"].value == pytest.approx(2.0) and found["gpt: staticgraph agrees"].ok


def test_without_the_group_there_is_a_note(setting, monkeypatch):
    monkeypatch.setattr(nets.importlib.util, "find_spec", lambda name: None)
    nets.run(setting)
    assert "does not have the group" in told(setting)["nets"].text
