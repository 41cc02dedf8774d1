"""Faults that are planted in kernels, rules and memory, and what a bisection says of them."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import compile as compiling
from staticgraph.compiler import kernel_codes, ops
from staticgraph.compiler.codegen.llvm import scalar as llvm_scalar
from staticgraph.compiler.graph.dtypes import float32, int32
from staticgraph.compiler.kernel.stmt import Loop, Store
from staticgraph.compiler.lower import lower as lowering
from staticgraph.compiler.passes import simplify
from staticgraph.compiler.rewrite import RuleSet, rule, variables
from staticgraph.runtime.debug.bisect import Bisection, backend_of, bisect, calls_of, how
from staticgraph.runtime.debug.bisect_text import as_dict, dump, text
from staticgraph.runtime.debug.compare import ROUNDING, Tolerance, differing

PLAIN = how(backend_of())


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    """Code that is made wrong on purpose must not be there for other tests."""
    monkeypatch.setattr(kernel_codes, "_emitted", OrderedDict())


def bisected(fetches, feeds=None, found=PLAIN) -> Bisection:
    """Return the findings in the one step of a run."""
    with sg.Session() as sess:
        if sess.graph.get_collection("variables"):
            sess.run(sg.global_variables_initializer())
        values = {t: np.asarray(a, t.dtype.numpy) for t, a in (feeds or {}).items()}
        [call] = calls_of(sess.graph, fetches, values, sess.variables)
    return bisect(call, found)


def plant(monkeypatch, name: str, wrong) -> None:
    """Make the code of a scalar primitive wrong for floating numbers."""
    right = llvm_scalar.unrounded

    def one_wrong(site, op, *operands):
        made = right(site, op, *operands)
        return wrong(site, made) if op == name and site.dtype is float32 else made

    monkeypatch.setattr(llvm_scalar, "unrounded", one_wrong)


def slightly(site, value):
    return site.op("fmul", value, site.const(1.001))


# What is right


def model(steps: int = 3):
    """A net with a loop in it, and its training step."""
    x = sg.placeholder(sg.float32, [None, 6], name="x")
    hidden = sg.layers.dense(x, 8, activation=sg.tanh)
    mixed = sg.ones([8, 8]) * 0.1
    deep = sg.while_loop(
        lambda i, h: i < steps, lambda i, h: (i + 1, sg.sigmoid(h) + sg.matmul(h, mixed)), [0, hidden]
    )[1]
    logits = sg.layers.dense(deep, 3)
    loss = sg.losses.sparse_softmax_cross_entropy(sg.zeros([5], sg.int32), logits)
    return x, loss, sg.train.AdamOptimizer(0.01).minimize(loss)


def test_a_training_step_agrees(rng):
    x, loss, step = model()
    found = bisected([loss, step], {x: rng.standard_normal((5, 6))})
    assert found.agrees and found.fault is None and found.kernels > 3
    assert found.without == {} and set(found.results.values()) == {None}
    assert f"{loss.op.name}" in found.results and "new value of dense/kernel" in found.results
    assert text(found).endswith("kernels and the whole program do what NumPy does")


OPS = {
    "sums that cancel": lambda x: sg.reduce_sum(x * 1e6 - x * 1e6 + x, 1),
    "a mean and a variance": lambda x: sg.nn.moments(x, [0])[1],
    "softmax": lambda x: sg.nn.softmax(x * 30.0),
    "comparisons": lambda x: sg.cast(x * 0.1 > 0.1 * x, sg.int32),
    "argmax": lambda x: sg.argmax(x, 1),
    "a product": lambda x: sg.matmul(x, x, transpose_b=True),
    "bfloat16": lambda x: sg.cast(x, sg.bfloat16) * sg.cast(x, sg.bfloat16),
    "float16": lambda x: sg.reduce_sum(sg.cast(x, sg.float16), 0),
    "complex": lambda x: sg.abs(sg.spectral.fft(sg.cast(x, sg.complex64))),
    "random": lambda x: x + sg.random_normal([64, 96], seed=1),
    "strings": lambda x: sg.strings.length(sg.strings.as_string(x * 2.0)),
    "a branch": lambda x: sg.cond(sg.reduce_sum(x) > 0, lambda: sg.exp(x), lambda: sg.exp(-x)),
    "sorting": lambda x: sg.nn.top_k(x, 3)[0],
    "an inverse": lambda x: sg.matrix_inverse(sg.matmul(x, x, transpose_a=True) + sg.eye(96)),
}


@pytest.mark.parametrize("make", OPS.values(), ids=OPS)
def test_rounding_is_no_fault(make, rng):
    x = sg.placeholder(sg.float32, [64, 96], name="x")
    value = rng.standard_normal((64, 96)).astype(np.float32)
    with sg.Session() as sess:
        calls = calls_of(sess.graph, make(x), {x: value}, sess.variables)
    assert calls
    for call in calls:
        found = bisect(call, PLAIN)
        assert found.agrees, text(found)


def test_assertions_and_prints_are_passed_over(capfd):
    x = sg.placeholder(sg.float32, [2], name="x")
    with sg.control_dependencies([sg.Assert(sg.reduce_all(x > 0.0), [x]), sg.print("printed", x)]):
        y = sg.sqrt(x)
    assert bisected(y, {x: [1, -1]}).agrees
    assert "printed" not in "".join(capfd.readouterr())


# What is wrong


def halved_body(body):
    """Statements whose stores store the half."""

    def half(stmt):
        match stmt:
            case Store(_, _, value) if value.dtype is float32:
                return replace(stmt, value=value * 0.5)
            case Loop(_, inside):
                return replace(stmt, body=halved_body(inside))
        return stmt

    return tuple(map(half, body))


def halved(kernel):
    return replace(kernel, body=halved_body(kernel.body))


@pytest.mark.parametrize("stage", ["row_schedule", "unroll_and_jam", "peel"])
def test_a_wrong_stage_is_named(stage, monkeypatch, rng):
    place, wrong = {
        "row_schedule": ("staticgraph.compiler.generate._placed", lambda made: halved(made)),
        "unroll_and_jam": ("staticgraph.compiler.kernel.schedule_cpu.unroll_and_jam.jam", halved_body),
        "peel": ("staticgraph.compiler.generate.align", halved_body),
    }[stage]
    monkeypatch.setattr("staticgraph.compiler.kernel.schedule_cpu.schedule._WIDE", 1 << 10)  # wide or not
    module, _, name = place.rpartition(".")
    right = getattr(importlib.import_module(module), name)
    monkeypatch.setattr(place, lambda *given: wrong(right(*given)))
    x = sg.placeholder(sg.float32, [4, 5], name="x")
    found = bisected(sg.reduce_sum(sg.sigmoid(x), 1) + 1.0, {x: rng.standard_normal((4, 5))})
    assert found.kernel.stage == stage
    assert found.fault == f"the stage {stage}, in the kernel {found.kernel.name}"
    assert f"by the stage {stage} of the compiler" in text(found)
    assert as_dict(found)["kernel"]["stage"] == stage


def test_a_kernel_too_large_to_interpret_has_no_stage(monkeypatch, rng):
    x = sg.placeholder(sg.float32, [500, 600], name="x")
    plant(monkeypatch, "maximum", slightly)
    found = bisected(sg.maximum(x, 1.0), {x: rng.standard_normal((500, 600))})
    assert found.kernel.stage is None and found.fault.startswith("the code of the kernel")


def test_a_wrong_kernel_is_named(monkeypatch, rng, tmp_path):
    x = sg.placeholder(sg.float32, [4, 5], name="x")
    first = sg.matmul(sg.exp(x), sg.ones([5, 3]), name="first")
    second = sg.reduce_max(sg.maximum(first, 1.0) * 2.0, 1)
    third = sg.reduce_sum(second)
    plant(monkeypatch, "maximum", slightly)
    found = bisected([first, third], {x: rng.standard_normal((4, 5))})
    assert not found.agrees and "maximum" in found.kernel.ops
    assert found.fault == f"the code of the kernel {found.kernel.name}" and found.kernel.stage == "print_llvm"
    assert found.wrong_pass is None
    assert {line.short for line in found.kernel.lines} >= {f"{Path(__file__).name}:{second_line()}"}
    worst = found.kernel.difference
    assert worst.found == pytest.approx(worst.expected * 1.001, rel=0.01) and worst.ulps > 1000
    assert found.results["first"] is None and found.results["Sum"] is not None
    folder = dump(found.kernel, tmp_path / "fault")
    assert sorted(p.name for p in folder.iterdir()) == ["code.ll", "graph.txt", "kernel.txt", "values.npz"]
    assert "maximum" in (folder / "kernel.txt").read_text() and "define" in (folder / "code.ll").read_text()
    values = np.load(folder / "values.npz")
    assert {"input 0", "expected 0", "found 0"} <= set(values.files)
    told = as_dict(found)
    assert told["kernel"]["name"] == found.kernel.name and told["kernel"]["difference"]["ulps"] > 1000
    assert f"the first kernel that differs is {found.kernel.name}" in text(found, folder)


def second_line() -> int:
    return test_a_wrong_kernel_is_named.__code__.co_firstlineno + 3


def test_errors_do_not_add_up(monkeypatch, rng):
    """A kernel after the wrong one is right on the right inputs: only the first is named."""
    x = sg.placeholder(sg.float32, [8], name="x")
    wrong = sg.reduce_sum(sg.maximum(x, 3.0))
    after = sg.reduce_sum(sg.exp(x * wrong))
    plant(monkeypatch, "maximum", slightly)
    found = bisected([wrong, after], {x: rng.standard_normal(8)})
    assert "maximum" in found.kernel.ops and "exp" not in found.kernel.ops


def test_a_wrong_kernel_in_a_loop(monkeypatch, rng):
    x, loss, step = model()
    right = bisected([loss, step], {x: rng.standard_normal((5, 6))})
    assert right.agrees
    y = sg.while_loop(
        lambda i, h: i < 4, lambda i, h: (i + 1, sg.where(i > 1, sg.maximum(h, 0.5), sg.exp(h))), [0, x]
    )[1]
    plant(monkeypatch, "maximum", slightly)
    found = bisected(y, {x: rng.standard_normal((5, 6))})
    assert found.kernel.rounds == (3,) and "maximum" in found.kernel.ops


def test_a_wrong_rule_is_named(monkeypatch, rng):
    (v,) = variables("v")
    wrong = RuleSet(rule("tanh is sine", ops.tanh(v), ops.sin(v)))
    rules = wrong + simplify.every_rule()
    monkeypatch.setattr(simplify, "rules_for", lambda *_: rules)
    x = sg.placeholder(sg.float32, [4], name="x")
    y = sg.exp(sg.tanh(x))
    found = bisected(y, {x: rng.standard_normal(4)})
    assert found.kernel is None and found.fault == "the rule 'tanh is sine'"
    assert (found.wrong_pass.name, found.wrong_pass.result) == ("simplify", "Exp")
    assert found.wrong_pass.where.line == test_a_wrong_rule_is_named.__code__.co_firstlineno + 6
    assert found.without == {
        "fewer_products": False,
        "simplify": True,
        "sink_reshapes": False,
        "side_by_side": False,
        "fuse": False,
        "join": False,
        "size_classes": False,
    }


def test_a_wrong_rule_in_a_loop(monkeypatch):
    (v,) = variables("v")
    wrong = RuleSet(rule("tanh is sine", ops.tanh(v), ops.sin(v)))
    rules = wrong + simplify.every_rule()
    monkeypatch.setattr(simplify, "rules_for", lambda *_: rules)
    x = sg.placeholder(sg.float32, [4], name="x")
    y = sg.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, sg.tanh(h) * 2.0), [0, x])[1]
    found = bisected(y, {x: [1, 2, 3, 4]})
    assert found.fault == "the rule 'tanh is sine'" and found.wrong_pass.name == "loops"


def test_a_checked_step_whose_last_update_is_zero():
    """Its checks are left out, and no other result is taken for them."""
    w = sg.Variable(np.ones([3], np.float32), name="w")
    b = sg.Variable(np.zeros([], np.float32), name="b")
    at = sg.placeholder(sg.int32, [2], name="at")
    with sg.control_dependencies([sg.gather(w, at)]):
        step = sg.group(w.assign_add(sg.gather(w, at)[0] + w), b.assign(b * 2.0))
    found = bisected(step, {at: [0, 2]})
    assert found.agrees and len(found.results) == 2


def test_kernels_in_a_wrong_order(monkeypatch, rng):
    """Each is right by itself, and the program is not."""
    x = sg.placeholder(sg.float32, [4, 300], name="x")
    y = sg.exp(sg.reduce_sum(sg.sin(x), 1))
    fused = lowering.lower

    def exchanged(fusion, *rest, **named):
        program = fused(fusion, *rest, **named)
        if len(program.instructions) > 2:
            object.__setattr__(program, "instructions", program.instructions[::-1])
        return program

    monkeypatch.setattr(compiling, "lower", exchanged)
    assert bisected(y, {x: rng.standard_normal((4, 300))}).agrees  # it is one kernel
    apart = how(backend_of(), frozenset({"fuse", "join"}))
    found = bisected(y, {x: rng.standard_normal((4, 300))}, apart)
    assert found.kernel is None and found.wrong_pass is None and not found.agrees
    assert found.without == dict.fromkeys(
        ("fewer_products", "simplify", "sink_reshapes", "side_by_side", "size_classes"), False
    )
    assert found.fault.startswith("the order of the kernels, or their memory")


# How results are compared


def compared(expected, found, tolerance=ROUNDING, compute=None, terms=1, dtype=float32):
    expected, found = np.asarray(expected, dtype.numpy), np.asarray(found, dtype.numpy)
    return differing(compute or (lambda nudge: [expected]), [expected], [found], [dtype], terms, tolerance)


def test_what_differs():
    assert compared([1, 2], [1, 2]) == []
    assert compared([1, np.nan, np.inf], [1 + 1e-7, np.nan, np.inf]) == []
    [one] = compared([1, 2, 3], [1, 2.1, 3])
    assert (one.count, one.size, one.index) == (1, 3, (1,))
    assert one.ulps == pytest.approx(0.1 / 2**-22, rel=1e-3)
    assert compared([1.0], [np.nan])[0].ulps is None
    assert compared([np.inf], [-np.inf])[0].count == 1
    assert compared([[1, 2]], [[1, 3]], dtype=int32)[0].index == (0, 1)


def test_a_chosen_tolerance():
    assert compared([100.0], [101.0], Tolerance(rtol=0.02)) == []
    assert len(compared([100.0], [101.0], Tolerance(rtol=0.005))) == 1
    assert compared([100.0], [101.0], Tolerance(atol=2)) == []
    assert len(compared([1.0], [1.0 + 1e-6], Tolerance(rtol=0.0))) == 1


def cancelled(nudge):
    """1e7 * (a - 0.99999) for an a near one: its last digits decide."""
    return [np.float32(1e7) * (nudge(np.ones(1, np.float32)) - np.float32(0.99999))]


def test_more_may_differ_where_last_digits_matter_more():
    [expected] = cancelled(lambda array: array)
    assert len(compared(expected, expected * 1.01)) == 1
    assert compared(expected, expected * 1.01, compute=cancelled) == []
    assert len(compared(expected, expected * 2, compute=cancelled)) == 1


def rounded(nudge):
    return [np.int32(nudge(np.float32([3.0, 3.5])))]


def test_whole_numbers_may_be_what_other_last_digits_give():
    assert compared([3, 3], [2, 3], dtype=int32, compute=rounded) == []
    assert compared([3, 3], [4, 3], dtype=int32, compute=rounded)[0].index == (0,)
    assert compared([3, 3], [3, 2], dtype=int32, compute=rounded)[0].index == (1,)


def test_what_cancels_in_a_training_step_is_no_fault(rng):
    """The derivative by the bias of keys is zero: what is left of it is rounding."""
    x = sg.placeholder(sg.float32, [6, 8], name="x")
    queries, keys = sg.layers.dense(x, 8), sg.layers.dense(x, 8)
    weights = sg.nn.softmax(sg.matmul(queries, keys, transpose_b=True))
    loss = sg.reduce_mean(sg.square(sg.matmul(weights, x)))
    step = sg.train.GradientDescentOptimizer(0.1).minimize(loss)
    found = bisected([loss, step], {x: rng.standard_normal((6, 8))})
    assert found.agrees, text(found)


def test_a_run_that_fails_by_numpy_too():
    x = sg.placeholder(sg.int32, [2], name="x")
    y = sg.broadcast_dynamic_shape(x * 2, [3, 1]) + 1
    found = bisected(y, {x: [1, 1]})
    assert found.agrees and "cannot be broadcast" in found.stopped
    assert "until an op fails" in text(found)


def test_values_without_elements():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    y = sg.concat([sg.exp(x), sg.ones([1, 3])], 0) * 2.0
    assert bisected(y, {x: np.ones((0, 3))}).agrees


def test_what_a_kernel_names_and_never_reads():
    """Of what is cut off again after padding, nothing is needed: no kernel stores it."""
    x = sg.placeholder(sg.float32, [2], name="x")
    padded = sg.pad(sg.reduce_sum(sg.exp(x), keepdims=True), [[3, 0]], constant_values=2.0)
    assert bisected(sg.sqrt(padded[:2]) + x, {x: [1, 2]}).agrees
