"""The list of stages: what really runs reports, in the order of the list."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import stages
from staticgraph.compiler.capture.capture import capture
from staticgraph.compiler.capture.feed_checks import beforehand
from staticgraph.compiler.capture.nan_guard import checked
from staticgraph.compiler.capture.step import CaptureRequest, Step
from staticgraph.compiler.compile import compile, optimize
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.stages import NAMES, NUMBERS, STAGES, describe, observing, unchanged, unobserved
from staticgraph.draw.sample import sample_step
from staticgraph.runtime.cpu.jit import host
from staticgraph.runtime.fetches import Fetches

ROOT = Path(__file__).resolve().parent.parent
Seen = list[tuple[str, Any, Any]]


def net() -> list[Any]:
    """A trained net: a product, a row kernel, column sums, an update in place and a loop."""
    x = sg.constant(np.linspace(-1, 1, 60 * 300).reshape(60, 300), sg.float32)
    w = sg.Variable(np.zeros((300, 40)), dtype=sg.float32)
    y = sg.nn.softmax(sg.tanh(sg.matmul(x, w)))
    _, looped = sg.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, sg.tanh(s) * 2.0), [0, y])
    loss = sg.reduce_sum(y**2) + sg.reduce_sum(looped)
    return [loss, sg.train.GradientDescentOptimizer(0.1).minimize(loss)]


def seen_on(device: str, what: Any, graph: sg.Graph) -> Seen:
    found: Seen = []
    with observing(lambda *each: found.append(each)):
        step, _ = sample_step(graph, Fetches(graph, what), {}, None)
        compile(step, host(), may_interpret=False) if device == "cpu" else compile_gpu(step)
    return found


def order(names: list[str]) -> list[str]:
    """`names` in the order of the list."""
    place = {stage.name: i for i, stage in enumerate(STAGES)}
    return sorted(names, key=place.__getitem__)


@pytest.fixture(scope="module")
def on_cpu() -> Seen:
    with sg.Graph().as_default() as graph:
        return seen_on("cpu", net(), graph)


def test_names_are_unique():
    assert len(NAMES) == len(STAGES)


def test_every_stage_that_must_run_is_seen(on_cpu: Seen):
    names = {name for name, _, _ in on_cpu}
    assert names <= NAMES.keys()
    assert {stage.name for stage in STAGES if not stage.when} <= names
    assert {"fewer_products", "control_flow", "product", "print_gemm", "parallel_schedule"} <= names


def test_stages_of_a_step_run_once_in_the_order_of_the_list(on_cpu: Seen):
    names = [name for name, _, _ in on_cpu if NAMES[name].part not in ("kernel", "step")]
    assert names == order(names)
    assert len(names) == len(set(names))
    assert on_cpu[-1][0] == "emit_step"


def test_stages_of_a_kernel_run_in_the_order_of_the_list(on_cpu: Seen):
    names = [name for name, _, _ in on_cpu if NAMES[name].part == "kernel" and name != "build_kernel"]
    ends = [i for i, name in enumerate(names, 1) if name.startswith("print_")]
    kernels = [names[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    assert len(kernels) > 3 and ends[-1] == len(names)
    assert all(kernel == order(kernel) and len(kernel) == len(set(kernel)) for kernel in kernels)
    loops = [stage.name for stage in stages.part("kernel") if not stage.when and stage.name != "build_kernel"]
    assert loops in kernels and ["product", "print_gemm"] in kernels


def test_each_stage_takes_what_the_one_before_it_made(on_cpu: Seen):
    functions = [each for each in on_cpu if NAMES[each[0]].makes == "Function"]
    assert [name for name, _, _ in functions][:2] == ["capture", "merge_loops"]
    for (_, _, made), (_, taken, _) in itertools.pairwise(functions):
        assert made is taken
    assert all(isinstance(made, Function) for _, _, made in functions)


def test_a_stage_that_changes_nothing_says_so(on_cpu: Seen):
    same = {name for name, before, after in on_cpu if unchanged(before, after)}
    assert {"defined", "rematerialize"} <= same
    assert same.isdisjoint({"expand", "fuse", "row_schedule", "program", "update_in_place"})


def test_the_stages_of_a_gpu():
    with sg.Graph().as_default() as graph:
        found = seen_on("gpu", net(), graph)
    names = [name for name, _, _ in found if NAMES[name].part != "kernel"]
    assert names == order(names)
    assert "attention" in names and "fewer_products" not in names
    assert {name for name, _, _ in found if NAMES[name].part == "kernel"} == {
        "build_kernel",
        "schedule_gpu",
        "print_cuda",
    }


def test_stages_of_a_checked_step_report():
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float32, [5], name="x")
        i = sg.placeholder(sg.int32, [3], name="i")
        y = sg.gather(x, i)
    found: Seen = []
    with observing(lambda *each: found.append(each)):
        types = {t: t.type for t in (x, i)}
        step = capture(CaptureRequest(graph, [y], [], types, checks=True))
        assert isinstance(step, Step)
        rest = beforehand(step)
        guarded = checked(step)
    assert [name for name, _, _ in found][3:] == ["prove_requirements", "feed_checks", "nan_guard"]
    assert rest is not None and found[4][2] is rest.rest.function and found[5][2] is guarded.function


def test_a_cached_kernel_is_shown_once_more_and_once_only():
    with sg.Graph().as_default() as graph:
        what = net()
        counts = [
            [name for name, _, _ in seen_on(device, what, graph)].count(last)
            for device, last in (("cpu", "print_llvm"), ("gpu", "print_cuda"))
            for _ in range(2)
        ]
    assert counts[0] == counts[1] > 0 and counts[2] == counts[3] > 0


def test_initializers_are_left_to_numpy():
    with sg.Graph().as_default() as graph:
        sg.Variable([1.0, 2.0])
        found: Seen = []
        step, _ = sample_step(graph, Fetches(graph, sg.global_variables_initializer()), {}, None)
        compile(step, host(), (lambda *each: found.append(each),))
    assert found[0][0] == "interpret_initializers"
    assert "fuse" not in {name for name, _, _ in found}


def test_observers_end_with_their_context():
    with sg.Graph().as_default() as graph:
        y = sg.tanh(sg.constant([1.0, 2.0]) + sg.Variable([1.0, 2.0]))
        step, _ = sample_step(graph, Fetches(graph, y), {}, None)
    outer: Seen = []
    inner: Seen = []
    with observing(lambda *each: outer.append(each)):
        optimize(step.function, (lambda *each: inner.append(each),))
        count = len(outer)
        with unobserved():
            optimize(step.function)
        assert len(outer) == len(inner) == count > 0
    optimize(step.function)
    assert len(outer) == count and stages.observation() is None


def test_modules_exist_and_names_are_those_that_report():
    assert all((ROOT / "compiler" / f"{s.module.replace('.', '/')}.py").exists() for s in STAGES)
    calls = (
        call
        for path in (ROOT / "compiler").rglob("*.py")
        if any(f"{name}(" in (text := path.read_text()) for name in REPORTING)  # to parse all takes seconds
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in REPORTING
    )
    named = {c.args[0].value for c in calls if c.args and isinstance(c.args[0], ast.Constant)}
    passes = {
        stage.name for stage in stages.part("passes")
    }  # these report under the names of their functions
    assert named == NAMES.keys() - passes


REPORTING = {"report", "stages.report", "_reported", "_printed"}


def test_the_list_is_a_table():
    lines = describe().splitlines()
    assert [line.split()[1] for line in lines] == [stage.name for stage in STAGES]
    assert all(" -> " in line for line in lines)
    assert [int(line.split()[0]) for line in lines] == [*NUMBERS.values()]
