"""Programs of a GPU on the disk: a second process only loads them, and they do what the compiled ones did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import compile_gpu as compiler
from staticgraph.compiler.kernel.schedule_gpu.products import convolved
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.machine import H200
from staticgraph.runtime.cpu import disk_cache as on_processor
from staticgraph.runtime.gpu import backend
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.sessions import on

KEY_OF = on_processor.key_of  # the suite has a way of its own, which remembers nothing


@pytest.fixture(autouse=True)
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """An empty folder, and a compiler that nobody changes meanwhile."""
    monkeypatch.setattr(on_processor, "key_of", KEY_OF)
    monkeypatch.setattr(on_processor, "compiler_version", lambda: "of today")
    monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The steps that are compiled."""
    seen: list[Any] = []
    real = compiler.compile_gpu

    def compile_gpu(step: Any, *rest: Any, **named: Any) -> Any:
        seen.append(step)
        return real(step, *rest, **named)

    monkeypatch.setattr(backend, "compile_gpu", compile_gpu)
    return seen


def training() -> tuple[Any, dict[Any, Any]]:
    """Variables that are updated in place, dropout, a product, rows, and a number by chance."""
    x = sg.placeholder(sg.float32, [12, 16], name="x")
    hidden = sg.nn.dropout(sg.layers.dense(x, 8, sg.nn.relu), keep_prob=0.5, seed=3)
    loss = sg.reduce_mean(sg.nn.softmax(sg.layers.dense(hidden, 40)) * sg.range(40.0))
    step = sg.train.AdamOptimizer(0.01).minimize(loss)
    return [loss, step, sg.random_normal([2], seed=5)], {x: np.linspace(-1, 1, 192).reshape(12, 16)}


def products() -> tuple[Any, dict[Any, Any]]:
    """Products by the library, one with pointers, constants, and a result of 16 bits."""
    a, b = sg.placeholder(sg.float32, [2, 3, 64, 64]), sg.placeholder(sg.float16, [64, 64])
    rows = np.random.default_rng(0).standard_normal((2, 3, 64, 64)).astype(np.float32)
    found = [sg.matmul(a, a, transpose_b=True), sg.matmul(b, b), a + sg.constant(np.arange(64.0), sg.float32)]
    return found, {a: rows, b: rows[0, 0].astype(np.float16)}


def results(build: Any, driver: Any = Simulator, **options: Any) -> list[Any]:
    """Return the fetched values of three runs, and the variables after them."""
    with sg.Graph().as_default(), on(driver()), sg.Session(**options) as session:
        sg.set_random_seed(7)
        fetches, feeds = build()
        if variables := sg.global_variables():
            session.run(sg.variables_initializer(variables))
        made = [session.run(fetches, feeds) for _ in range(3)]
        return sg.nest.flatten([made, session.run(variables)] if variables else made)


@pytest.mark.parametrize("build", [training, products])
def test_what_was_compiled_once_is_only_loaded(build: Any, compiles: list[Any]):
    first = results(build)
    assert compiles
    compiles.clear()
    again = results(build)
    assert not compiles
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)


def test_calls_of_libraries_are_what_they_were(compiles: list[Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(convolved, "_LEAST", 1)
    monkeypatch.setattr(convolved, "_TENSOR_CORES_ALONE", False)

    def calls() -> list[Any]:
        with sg.Graph().as_default(), on(Simulator(convolutions=True)), sg.Session() as session:
            x = sg.placeholder(sg.float32, [2, 9, 9, 8])
            w = sg.placeholder(sg.float32, [3, 3, 8, 8])
            a = sg.placeholder(sg.float32, [2, 4, 3, 64, 64])
            y = [sg.nn.conv2d(x, w, 1, "SAME"), sg.matmul(a, a)]
            feeds = {t: np.ones(t.shape.as_list()) for t in (x, w, a)}
            session.run(y, feeds)
            works = session.executable(y, feeds).prepared.works.values()
            return [call for work in works for call in work.calls]

    first = calls()
    assert {Product, Convolution} <= {type(call) for call in first} and compiles
    compiles.clear()
    assert calls() == first and not compiles


def test_other_options_and_cards_are_other_programs(compiles: list[Any], monkeypatch: pytest.MonkeyPatch):
    results(products)
    compiles.clear()
    results(products, matmul_precision="tf32")
    assert compiles
    compiles.clear()
    monkeypatch.setattr(Device, "machine", replace(H200, multiprocessors=7))
    results(products)
    assert compiles


def test_loops_are_compiled_each_time(compiles: list[Any]):
    def loop() -> tuple[Any, dict[Any, Any]]:
        x = sg.placeholder(sg.float32, [4])
        return sg.while_loop(lambda y: sg.reduce_sum(y) < 90.0, lambda y: y * 2.0, [x]), {x: np.ones(4)}

    first = results(loop)
    compiles.clear()
    np.testing.assert_array_equal(results(loop), first)
    assert compiles


def test_a_loaded_program_is_compiled_when_it_is_looked_at(compiles: list[Any]):
    first = results(training)
    compiles.clear()
    with sg.Graph().as_default(), on(Simulator()), sg.Session() as session:
        sg.set_random_seed(7)
        fetches, feeds = training()
        session.run(sg.global_variables_initializer())
        made = [session.run(fetches, feeds)]
        assert not compiles
        plan = session.plan(fetches, feeds)
        assert compiles and ("matmul",) in [kernel.ops[:1] for kernel in plan.kernels]
        with session.profile() as profile:
            made.append(session.run(fetches, feeds))
        assert "matmul" in str(profile)
        made.append(session.run(fetches, feeds))
    losses = [loss for loss, *_ in made]
    np.testing.assert_array_equal(losses, [first[0], first[3], first[6]])
