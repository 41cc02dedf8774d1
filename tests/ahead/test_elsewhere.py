"""Programs for other processors and systems, run by emulators, against NumPy and sessions here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import UnimplementedError
from staticgraph.compiler.graph.opdef import Effect, OpDef
from staticgraph.runtime.aot.build import Built, build
from staticgraph.runtime.aot.steps import Shapes
from staticgraph.runtime.files.graph_json import refusal
from staticgraph.runtime.files.loaded import LoadedGraph
from tests.ahead.digits import draw, lenet
from tests.ahead.elsewhere import SYSTEMS, Elsewhere, System
from tests.ahead.native import saved
from tests.ahead.test_program import THREADS, wide
from tests.ops.harness import TESTED, Use, assert_same, dtype_choices, uses

TOGETHER = 40  # ops in one program, since an emulator takes its time to start
COMPUTED = [op for op in TESTED if op.effect is Effect.PURE and refusal(op, {}) is None]
BATCHES = [COMPUTED[n : n + TOGETHER] for n in range(0, len(COMPUTED), TOGETHER)]


@pytest.fixture(params=SYSTEMS, ids=lambda system: system.triple)
def system(request: pytest.FixtureRequest) -> System:
    if missing := request.param.missing:
        pytest.skip(f"{missing} is not installed")
    return request.param


def start(system: System, net: LoadedGraph, folder: Path, batch: int | None = None) -> Elsewhere:
    return Elsewhere(system, build(net, "net", system.target, Shapes({}, batch)), folder)


def test_digits_are_learned_and_told_apart(system: System, tmp_path: Path, rng: np.random.Generator):
    net = saved(tmp_path / "digits.sg", lenet(8))
    with start(system, net, tmp_path, 20) as there:
        for _ in range(150):
            images, labels = draw(rng, 20, 8)
            [loss] = there("train", images, labels)
            wanted = net.signatures["train"](images=images, labels=labels)["loss"]
            np.testing.assert_allclose(loss, wanted, rtol=0 if system.alike else 1e-2)
        digit, probabilities = there("predict", images)
    wanted = net.signatures["predict"](images=images)
    np.testing.assert_array_equal(digit, wanted["digit"])
    np.testing.assert_allclose(probabilities, wanted["probabilities"], atol=0 if system.alike else 1e-3)
    assert np.mean(digit == labels) > 0.8


def test_loops_branches_and_random_streams(system: System, tmp_path: Path, rng: np.random.Generator):
    x = sg.placeholder(sg.float32, [4, 16], name="x")
    w = sg.get_variable("w", [16, 16], initializer=sg.glorot_uniform_initializer(seed=1))
    _, h = sg.while_loop(lambda i, h: i < 10, lambda i, h: (i + 1, sg.tanh(sg.matmul(h, w))), (0, x))
    h = sg.cond(sg.reduce_sum(x) > 0.0, lambda: h, lambda: 2.0 * h) + sg.random_normal([4, 16], seed=3)
    slope = sg.gradients(sg.reduce_sum(h), [w])[0]
    train = sg.Signature({"h": h, "slope": slope}, step=w.assign_sub(0.01 * slope).op)
    net = saved(tmp_path / "loop.sg", {"train": train})
    with start(system, net, tmp_path) as there:
        for _ in range(6):
            given = rng.normal(size=(4, 16)).astype(np.float32)
            wanted = net(x=given)
            for found, array in zip(there("train", given), wanted.values(), strict=True):
                np.testing.assert_allclose(found, array, rtol=1e-3, atol=1e-3)


def test_threads_of_the_program_help(system: System, tmp_path: Path, rng: np.random.Generator):
    made = build(wide(tmp_path / "wide.sg", rng), "wide", system.target, Shapes({}), threads=3)
    (tmp_path / "main.c").write_text(THREADS)
    made.write(tmp_path / "wide")
    system.link("-std=c99", "-pthread", "main.c", "wide.o", "-lm", "-o", "threads.exe", cwd=tmp_path)
    assert system.start(tmp_path / "threads.exe").wait() == 0


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: f"{batch[0].name}..{batch[-1].name}")
def test_every_op(system: System, batch: Sequence[OpDef], tmp_path: Path):
    """For the usual dtypes, and others by turns."""
    used: dict[str, list[Use]] = {}
    for number, op in enumerate(batch):
        usual, *others = dtype_choices(op)
        for choice in (usual, *others[number % max(len(others), 1) :][:1]):
            used[f"{op.name}_{len(used)}"] = uses(op, choice)
    net = saved(tmp_path / "ops.sg", {label: _signature(told) for label, told in used.items()})
    with Elsewhere(system, _built(system, net, list(used)), tmp_path) as there:
        for label, (_, compiled) in there.functions.items():
            arrays = [array for use in used[label] for array in use.arrays]
            function = net.signatures[label]
            wanted = function(dict(zip(function.required, arrays, strict=True)))
            pairs = zip(there(label, *arrays), wanted.values(), strict=True)
            for (found, result), array in zip(pairs, compiled.outputs, strict=True):
                assert_same(found, result, array.type.dtype, str(used[label]))


def _signature(told: Sequence[Use]) -> sg.Signature:
    inputs, outputs = {}, {}
    for use in told:
        given = [ops.placeholder(d, a.shape) for a, d in zip(use.arrays, use.dtypes, strict=True)]
        inputs |= {f"x{len(inputs) + n}": tensor for n, tensor in enumerate(given)}
        outputs |= {f"y{len(outputs) + n}": tensor for n, tensor in enumerate(use.call(given))}
    return sg.Signature(outputs, inputs)


def _built(system: System, net: LoadedGraph, functions: list[str]) -> Built:
    """All functions but those that NumPy carries out."""
    while True:
        try:
            return build(net, "net", system.target, Shapes({}), functions)
        except UnimplementedError as error:
            [name] = re.findall(r"^(\w+) cannot be compiled ahead", str(error))
            functions.remove(name)
