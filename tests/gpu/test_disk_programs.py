"""Programs of a GPU on the disk: a second process only loads them, and they do what the compiled ones did."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.kernel.schedule_gpu.products import convolved
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.machine import H200
from staticgraph.runtime.cpu.disk import disk_cache as on_processor
from staticgraph.runtime.disk import write_behind
from staticgraph.runtime.gpu import compile as compiling
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu import test_open_sizes as open_sizes
from tests.gpu.sessions import on

pytestmark = pytest.mark.takes_long

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

    def watched(real: Any) -> Any:
        return lambda step, *rest, **named: seen.append(step) or real(step, *rest, **named)

    for name in ("compile_gpu", "compile_gpu_open"):
        monkeypatch.setattr(compiling, name, watched(getattr(compiling, name)))
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


def loops() -> tuple[Any, dict[Any, Any]]:
    """Loops of known and of unknown length, one in the other, rows of tensors, and a branch."""
    x = sg.placeholder(sg.float32, [4, 3])
    doubled = sg.while_loop(lambda y: sg.reduce_sum(y) < 90.0, lambda y: y * 2.0, [x])
    sums = sg.scan(lambda total, row: total * 0.5 + row, x)
    taken = sg.cond(sg.reduce_sum(x) > 3.0, lambda: sg.tanh(x), lambda: x - 1.0)

    def body(i: Any, y: Any) -> Any:
        return i + 1, sg.while_loop(lambda z: sg.reduce_max(z) < 5.0, lambda z: z + 0.75, [y]) - 2.0

    _, nested = sg.while_loop(lambda i, y: i < 3, body, [0, x])
    return [doubled, sums, taken, nested], {x: np.linspace(0.1, 1, 12).reshape(4, 3)}


def test_loops_and_branches_are_loaded(compiles: list[Any]):
    first = results(loops)
    assert compiles
    compiles.clear()
    again = results(loops)
    assert not compiles
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)


def test_calls_of_the_host_are_compiled_each_time(compiles: list[Any]):
    def call() -> tuple[Any, dict[Any, Any]]:
        x = sg.placeholder(sg.float32, [4, 3])
        with sg.device("/cpu:0"):
            y = sg.tanh(x)
        return y * 2.0, {x: np.full((4, 3), 0.1)}

    first = results(call)
    compiles.clear()
    np.testing.assert_array_equal(results(call), first)
    assert compiles


def opened(build: Any, sizes: Any, driver: Any = Simulator, **options: Any) -> dict[int, list[Any]]:
    """Return the fetched values by size, of one session."""
    with sg.Graph().as_default(), on(driver()), sg.Session(**options) as session:
        fetches, feeds = build()
        return {size: sg.nest.flatten(session.run(fetches, feeds(size))) for size in sizes}


def check_bits(one: dict[int, list[Any]], other: dict[int, list[Any]]) -> None:
    for size in one.keys() & other.keys():
        for a, b in zip(one[size], other[size], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", open_sizes.MODELS)
def test_programs_with_open_sizes_are_loaded_for_each_size(name: str, compiles: list[Any]):
    build = open_sizes.MODELS[name]
    expected = opened(build, (7, 3, 33, 1))
    compiles.clear()
    check_bits(opened(build, (3, 33, 7)), expected)
    assert not compiles


def attended() -> tuple[Any, Any]:
    """Attention that is one kernel for short rows only."""
    q, k, v = (sg.placeholder(sg.float32, [2, None, 16]) for _ in range(3))
    y = sg.matmul(sg.nn.softmax(sg.matmul(q, k, transpose_b=True)), v)
    return [y], lambda n: {x: open_sizes.numbers(2, n, 16) + i for i, x in enumerate((q, k, v))}


def convolved_image() -> tuple[Any, Any]:
    """A convolution that a library does, if it is asked for each size anew."""
    x = sg.placeholder(sg.float32, [None, 9, 9, 8])
    y = sg.nn.relu(sg.nn.conv2d(x, sg.constant(open_sizes.numbers(3, 3, 8, 8)), 1, "SAME"))
    return [y], lambda n: {x: open_sizes.numbers(n, 9, 9, 8)}


def with_library() -> Simulator:
    return Simulator(convolutions=True)


@pytest.mark.parametrize("build", [attended, convolved_image])
def test_what_a_size_alone_decides_is_added(build: Any, compiles: list[Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(convolved, "_LEAST", 1)
    monkeypatch.setattr(convolved, "_TENSOR_CORES_ALONE", False)
    expected = opened(build, (5, 40, 900), with_library)
    compiles.clear()
    check_bits(opened(build, (40, 5), with_library), expected)
    assert not compiles
    check_bits(opened(build, (5, 6), with_library), expected)
    compiles.clear()
    more = opened(build, (6, 900, 40), with_library)
    check_bits(more, expected)
    assert not compiles
    check_bits(opened(build, (6,), with_library, open_sizes=False), more)


def test_a_size_that_must_be_known_is_remembered_as_such(compiles: list[Any]):
    def build() -> tuple[Any, Any]:
        x = sg.placeholder(sg.float32, [None, None])
        return [sg.cumsum(x, 1), sg.nn.top_k(x, 1)[0]], lambda n: {x: open_sizes.numbers(n, 4)}

    expected = opened(build, (3, 5))
    compiles.clear()
    check_bits(opened(build, (3, 5)), expected)
    assert not compiles


def test_an_entry_that_is_not_whole_is_compiled_again(compiles: list[Any], tmp_path: Path):
    expected = opened(attended, (5,))
    write_behind.flush()
    for path in (tmp_path / "cache").glob("*.entry"):
        path.write_bytes(path.read_bytes()[:-40])
    compiles.clear()
    check_bits(opened(attended, (5,)), expected)
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


PROCESS = """
import sys
import numpy as np
import staticgraph as sg
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.sessions import on
x = sg.placeholder(sg.float32, [None, 16])
y = sg.while_loop(lambda a: sg.reduce_max(a) < 9.0, lambda a: sg.nn.softmax(a) + a * 1.5, [x])
with on(Simulator()), sg.Session() as session:
    for n in (2, 3, 2):
        found = session.run(y, {x: np.full((n, 16), 0.5, np.float32)})
print(float(found.sum()))
print(*(name in sys.modules for name in ("staticgraph.compiler.gpu.compile", "staticgraph.compiler.compile")))
"""


def test_a_process_that_only_loads_does_not_import_the_compiler(tmp_path: Path):
    environment = {**os.environ, "SG_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", PROCESS], env=environment, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert said[0][0] == said[1][0]
    assert said[0][-2:] == ["True", "True"] and said[1][-2:] == ["False", "False"]
