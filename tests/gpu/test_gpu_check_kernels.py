"""Ops are compared with their meaning by many processes, and one that breaks a process is found."""

import multiprocessing
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from gpu_stages import crew as crews
from gpu_stages import golden, kernels
from gpu_stages.crew import Broken, crew, processes
from gpu_stages.findings import Finding, read
from gpu_stages.setting import Setting
from tests.golden import store
from tests.ops.harness import TESTED

pytestmark = pytest.mark.takes_long


def found(setting: Setting) -> list[Finding]:
    return read(setting.folder / "test.jsonl")


def doing(marks: str, task: str) -> str:
    """Work of a process of a crew, as its task says."""
    if task == "ends":
        os._exit(3)
    if task == "fails":
        raise ValueError("this is\nwhy")
    if task == "hangs":
        time.sleep(1000)
    if task == "short":
        time.sleep(1.5)
    if task == "once" and not Path(marks, "once").exists():
        Path(marks, "once").touch()
        os._exit(1)
    return f"{task} by {os.getpid()}"


def test_tasks_are_shared_out_and_what_breaks_a_process_is_told(tmp_path):
    tasks = ["a", "ends", "b", "fails", "c", "hangs", "d"]
    with crew(partial(doing, str(tmp_path)), 2, patience=10) as workers:
        workers.ask(tasks)
        answers = dict(workers.answers(time.monotonic() + 120))
    assert sorted(answers) == sorted(tasks)
    broken = {task: answer.why for task, answer in answers.items() if isinstance(answer, Broken)}
    assert broken == {
        "ends": "its process ended with status 3",
        "fails": "ValueError: this is why",
        "hangs": "not done after 10 s",
    }
    assert not multiprocessing.active_children()


def test_patience_does_not_count_the_time_without_a_core(tmp_path, monkeypatch):
    """As on a machine with more to do than cores: here, one on which processes wait most of the time."""
    monkeypatch.setattr(crews, "waited_for_a_core", lambda process: 0.99 * time.monotonic())
    with crew(partial(doing, str(tmp_path)), 1, patience=1.0) as workers:
        workers.ask(["short", "a"])
        answers = dict(workers.answers(time.monotonic() + 120))
    assert not any(isinstance(answer, Broken) for answer in answers.values()), answers


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="Linux tells it, as far as it is built to"
)
def test_the_time_without_a_core_is_that_of_the_process():
    assert 0 <= crews.waited_for_a_core(os.getpid()) < time.monotonic()
    assert crews.waited_for_a_core(1 << 30) == 0


def test_what_is_asked_for_meanwhile_comes_first(tmp_path):
    with crew(partial(doing, str(tmp_path)), 1) as workers:
        workers.ask(["once", "a"])
        order = []
        for task, answer in workers.answers(time.monotonic() + 60):
            order.append((task, isinstance(answer, Broken)))
            if isinstance(answer, Broken):
                workers.ask([task], first=True)
    assert order == [("once", True), ("once", False), ("a", False)]


def test_what_has_no_answer_in_time_is_known(tmp_path):
    with crew(partial(doing, str(tmp_path)), 1) as workers:
        workers.ask(["hangs", "a"])
        assert not list(workers.answers(time.monotonic() + 1))
        assert workers.unfinished == ["hangs"]


@pytest.mark.parametrize(("cores", "count"), [(1, 1), (2, 2), (8, 6), (16, 12), (128, 12)])
def test_a_crew_leaves_cores_to_others(monkeypatch, cores, count):
    monkeypatch.setattr(crews.os, "cpu_count", lambda: cores)
    assert processes() == count


def pairs(*names: str) -> list[kernels.Pair]:
    """These ops, at their usual dtypes."""
    of = [op for op in TESTED if op.name in names]
    return list(kernels.choices(of))[: len(names)]


def test_ops_are_compared_with_their_meaning(setting):
    some = pairs("tanh", "reduce_sum", "matmul")
    assert len(some) == 3 and not kernels.differing("standin", some)


def test_an_op_that_is_wrong_is_told(setting, monkeypatch):
    monkeypatch.setattr(kernels, "_meaning", lambda use: [2 * np.tanh(use.arrays[0])])
    ((name, text),) = kernels.differing("standin", pairs("tanh")).items()
    assert name == "tanh-float32" and "tanh(float32" in text


def test_processes_compare_ops(setting, monkeypatch):
    monkeypatch.setattr(kernels, "TOGETHER", 2)
    kernels.compare(setting, pairs("tanh", "exp", "negative"))
    (whole,) = found(setting)
    assert whole.ok and whole.text.startswith("3 of 3 pairs of op and dtype")


def breaking(device: str, group: list[kernels.Pair]) -> dict[str, str]:
    """In place of `differing`: one op ends the process, one is wrong."""
    if any(name == "exp" for name, _ in group):
        os._exit(9)
    return {kernels.named(pair): "is wrong" for pair in group if pair[0] == "tanh"}


def test_the_op_that_breaks_a_process_is_found(setting, monkeypatch):
    monkeypatch.setattr(kernels, "differing", breaking)
    kernels.compare(setting, pairs("tanh", "exp", "negative"))
    told = {finding.name: (finding.ok, finding.text) for finding in found(setting)}
    whole = told.pop("ops equal their meaning")
    assert told == {
        "exp-float32": (False, "its process ended with status 9"),
        "tanh-float32": (False, "is wrong"),
    }
    assert whole[0] is False and whole[1].startswith("1 of 3 pairs")


def test_where_much_is_wrong_the_rest_is_left_out(setting, monkeypatch):
    monkeypatch.setattr(kernels, "differing", breaking)
    monkeypatch.setattr(kernels, "processes", lambda: 1)
    monkeypatch.setattr(kernels, "TOGETHER", 1)
    monkeypatch.setattr(kernels, "MOST_WRONG", 1)
    kernels.compare(setting, [*pairs("tan"), *pairs("tanh"), *pairs("negative")])
    assert found(setting)[-1].text.startswith("1 pairs were left out")


def test_answers_of_tensorflow_are_asked_of_a_card(setting, monkeypatch):
    (subject, names), *_ = (group for group in golden.groups() if group[0] == "arithmetic")
    monkeypatch.setattr(golden, "groups", lambda: [(subject, names[:2])])
    golden.run(setting)
    assert [(f.name, f.ok, f.text) for f in found(setting)] == [
        ("answers of TensorFlow", True, "2 of 2 cases")
    ]
    recorded = store.load(subject)
    wrong = {**recorded[names[0]], "value 0": recorded[names[0]]["value 0"] + 1}
    monkeypatch.setattr(store, "load", lambda _: recorded | {names[0]: wrong})
    ((name, text),) = golden.differing("standin", (subject, names[:2])).items()
    assert name == names[0] and text.startswith("value 0: ")
