"""Several replicas of a model: in one process, and one in each of several processes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import DeadlineExceededError
from staticgraph.tf1.distribute import turns
from tests.processes.launching import LIMIT, ROOT

pytestmark = pytest.mark.takes_long

dist = sg.distribute
SCRIPT = Path(__file__).parent / "scripts" / "mirrored.py"
DEVICES = ["/cpu:0", "/cpu:1"]
# What the script finds with TensorFlow 1.15.5, with two devices of the processor.
WITNESS = json.loads((Path(__file__).parent / "mirrored_tf1.json").read_text())


@pytest.mark.parametrize("processes", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_numbers_are_those_of_tensorflow(processes: int, tmp_path: Path):
    """Gradients, batch normalization, variables of all kinds, input, reductions, estimators and Keras."""
    line = [sys.executable, "-m", "staticgraph", "launch", "-n", str(processes), "--tensorflow"]
    done = subprocess.run(
        [*line, str(SCRIPT), ",".join(DEVICES), str(tmp_path)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    found = [json.loads(path.read_text()) for path in tmp_path.glob("found_*.json")]
    assert len(found) == processes
    found.sort(key=lambda each: each["parts"][0])
    parts = [list(zip(*(each.pop("parts") for each in found), strict=True))]
    of_each = [[value for one in values for value in one] for values in parts[0]]
    _check({**found[0], "parts": of_each}, WITNESS)
    assert all(each == found[0] for each in found)


def _check(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted)
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            _check(found[name], value)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def replicated(function: Callable[[], Any], count: int = 2) -> Any:
    strategy = dist.MirroredStrategy([f"/cpu:{n}" for n in range(count)])
    with strategy.scope():
        return strategy.experimental_run_v2(function)


def number() -> int:
    return dist.get_replica_context().replica_id_in_sync_group


def test_replicas_share_variables_however_they_are_made():
    made = []

    def function() -> None:
        with sg.variable_scope("net", reuse=sg.AUTO_REUSE):
            found = [sg.get_variable("w", [2]), sg.Variable(0.0), sg.Variable(1.0)]
        layer = sg.keras.layers.Dense(3)
        layer(sg.ones([2, 2]))
        made.append([*found, *layer.weights, *sg.layers.Dense(2).apply(sg.ones([1, 1])).op.graph.variables])

    replicated(function, 3)
    assert all(a is b for other in made[1:] for a, b in zip(made[0][:5], other[:5], strict=True))
    assert len(sg.trainable_variables()) == 3 + 2 + 2


def test_what_differs_between_replicas_is_an_error():
    context = dist.get_replica_context
    w = sg.Variable(1.0, name="w")
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: w.assign(2.0), ValueError, "w:0 is changed by each replica, and has no aggregation"),
        (lambda: number() or context().merge_call(lambda s: None), RuntimeError, "more often than others"),
        (lambda: number() and sg.Variable(0.0), RuntimeError, "makes more variables than the first one"),
        (lambda: 1 // number(), ZeroDivisionError, "by zero"),
        (
            lambda: sg.cond(w > 0, lambda: context().all_reduce("sum", w * 1.0), lambda: w * 1.0),
            RuntimeError,
            "in a loop or a branch",
        ),
    ]
    for function, kind, text in cases:
        with pytest.raises(kind, match=text):
            replicated(function)
    assert replicated(lambda: number() + 1).values == (1, 2)  # and all goes on


def test_names_and_scopes_afterwards_are_as_before():
    strategy = dist.MirroredStrategy(DEVICES)
    with sg.Graph().as_default(), sg.name_scope("outer"), sg.variable_scope("scope"):
        made = strategy.experimental_run_v2(lambda: sg.identity(sg.layers.dense(sg.ones([1, 1]), 1)))
        assert [part.op.name.split("/")[2] for part in made.values] == ["Identity", "replica_1"]
        assert sg.identity(1.0).op.name == "outer/scope/Identity_1"
        assert sg.layers.dense(sg.ones([1, 1]), 1).op.name.startswith("outer/scope/dense_1")


def test_an_optimizer_of_keras_adds_gradients():
    w = sg.Variable(1.0)
    optimizer = sg.keras.optimizers.SGD(0.5)

    def function() -> Any:
        gradient = sg.gradients(w * (1.0 + number()), w)[0]
        return optimizer.apply_gradients([(gradient, w)])

    step = replicated(function)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sess.run(step)
        assert sess.run(w) == 1.0 - 0.5 * 3.0


def test_sparse_gradients_of_all_replicas():
    table = sg.Variable(np.zeros((4, 2), np.float32))

    def function() -> Any:
        rows = sg.gather(table, [number(), 3])
        return sg.train.GradientDescentOptimizer(1.0).minimize(sg.reduce_sum(rows), var_list=[table])

    step = replicated(function)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sess.run(step)
        assert sess.run(table)[:, 0].tolist() == [-1.0, -1.0, 0.0, -2.0]


def test_several_gpus_are_computed_by_one_with_a_word_about_it(caplog: pytest.LogCaptureFixture):
    assert dist.MirroredStrategy(["/gpu:0", "/gpu:1"]).num_replicas_in_sync == 2
    assert "launch -n 2" in caplog.text


def test_a_batch_that_cannot_be_split_is_an_error():
    strategy = dist.MirroredStrategy(DEVICES)
    with pytest.raises(ValueError, match="a batch of 3 cannot be split evenly by 2 replicas"):
        strategy.make_dataset_iterator(sg.data.Dataset.from_tensors(np.zeros(3))).get_next()


def test_a_replica_that_hangs_is_told(monkeypatch: pytest.MonkeyPatch):
    """The first one waits for what the second one does, which waits for its turn."""
    monkeypatch.setattr(turns, "LIMIT", 0.5)
    second = threading.Event()

    def function() -> None:
        if number() == 0:
            second.wait(20)
        else:
            second.set()

    text = r"replica 0 hangs at test_mirrored.py:\d+: replica 1, the program have waited for it for 0\.5 sec"
    with pytest.raises(DeadlineExceededError, match=text):
        replicated(function)
    second.set()


def test_a_replica_that_computes_does_not_hang(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "LIMIT", 0.5)
    monkeypatch.setattr(turns, "_LOOK", 0.1)

    def function() -> int:
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            pass
        return number()

    assert replicated(function).values == (0, 1)


def test_a_replica_finds_its_own_losses_in_the_collection():
    """Else what the first one has made would count twice. Penalties of variables are of all."""
    w = sg.get_variable("w", [], initializer=sg.ones_initializer(), regularizer=lambda v: v * 0.5)

    def function() -> Any:
        sg.losses.add_loss(w * (2.0 + number()))
        assert len(sg.losses.get_losses()) == 1
        sg.summary.scalar("w", w * 1.0)
        sg.train.GradientDescentOptimizer(1.0).minimize(sg.losses.get_total_loss())

    replicated(function)
    assert len(sg.losses.get_losses()) == 2 and len(sg.get_collection(sg.GraphKeys.SUMMARIES)) == 1
    step = sg.get_default_graph().get_operation_by_name("GradientDescent")
    with sg.Session() as sess:
        sess.run(w.initializer)
        sess.run(step)
        assert sess.run(w) == 1.0 - (2.0 + 3.0 + 2 * 0.5)
