"""The measured search finds the fastest way, once, and never one with another result."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.abi import KernelCode
from staticgraph.compiler.codegen.gemm.choice import NO_CHOICE
from staticgraph.compiler.codegen.gemm.gemm import emit
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.measurements import autotune as search
from tests.codegen.contraction_cases import matmul

PRODUCT = matmul(64, 100, 300)


@pytest.fixture
def target():
    return replace(cpu_jit.host(), tuned=True)


@pytest.fixture
def folder(tmp_path: Path):
    with sg.options(cache_dir=tmp_path):
        yield tmp_path


def chooses(wanted: KernelCode, faster: float, asked: list | None = None):
    """Times by which one way is `faster` than all others."""

    def times(codes: Sequence[KernelCode]) -> list[float]:
        if asked is not None:
            asked.append(len(codes))
        return [faster if code == wanted else 1.0 for code in codes]

    return times


def test_the_fastest_way_is_found(target):
    wanted = replace(NO_CHOICE, pack_b=not emit(PRODUCT, target).phases[0].reads)
    assert search.search(PRODUCT, target, chooses(emit(PRODUCT, target, wanted), 0.5)) == wanted


def test_what_is_hardly_faster_is_not_taken(target):
    wanted = replace(NO_CHOICE, depth=128)
    assert emit(PRODUCT, target, wanted) != emit(PRODUCT, target)
    assert search.search(PRODUCT, target, chooses(emit(PRODUCT, target, wanted), 0.99)) == NO_CHOICE


def test_where_there_is_nothing_to_decide_nothing_is_measured(target):
    asked: list = []
    assert search.search(matmul(1, 30, 50, turn_b=True), target, chooses(None, 1.0, asked)) == NO_CHOICE
    assert not asked


def test_ways_are_measured_on_the_same_data(target):
    usual = emit(PRODUCT, target)
    times = search.ProductTimer(PRODUCT)([usual, emit(PRODUCT, target, replace(NO_CHOICE, depth=128))])
    assert all(0 < t < float("inf") for t in times)


def test_a_way_with_another_result_is_not_used(target):
    other = emit(matmul(64, 100, 300, c=lambda x, at: x * 2.0), target)
    first, wrong, again = search.ProductTimer(PRODUCT)([emit(PRODUCT, target), other, emit(PRODUCT, target)])
    assert first < float("inf") and again < float("inf") and wrong == float("inf")


def test_a_product_is_measured_once(target, folder, monkeypatch: pytest.MonkeyPatch):
    wanted = replace(NO_CHOICE, depth=128)
    times = chooses(emit(PRODUCT, target, wanted), 0.5)
    monkeypatch.setattr(search, "ProductTimer", lambda product: times)
    assert search.best(PRODUCT, target) == wanted
    monkeypatch.setattr(search, "ProductTimer", lambda product: pytest.fail("measured again"))
    assert search.best(PRODUCT, target) == wanted


@pytest.mark.parametrize("entry", [b"", b"{", b'{"rows": 0}', b"[]", b"\xff\xfe"])
def test_an_entry_that_makes_no_sense_is_a_miss(target, folder, monkeypatch: pytest.MonkeyPatch, entry):
    monkeypatch.setattr(search.object_cache, "read", lambda key: entry)
    monkeypatch.setattr(search, "ProductTimer", lambda product: chooses(None, 1.0))
    assert search.best(PRODUCT, target) == NO_CHOICE


def test_a_product_that_fills_the_memory_is_left_to_the_plan(target, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search, "MOST_BYTES", 1000)
    monkeypatch.setattr(search, "ProductTimer", lambda product: pytest.fail("measured"))
    assert search.best(PRODUCT, target) == NO_CHOICE


@pytest.mark.takes_long
def test_a_session_that_is_tuned_gives_the_same_bits(folder, monkeypatch: pytest.MonkeyPatch):
    measured: list = []
    made = search.ProductTimer
    monkeypatch.setattr(search, "ProductTimer", lambda product: measured.append(product) or made(product))
    x = sg.placeholder(sg.float32, [33, 70])
    w = sg.get_variable("w", [70, 50], initializer=sg.random_normal_initializer(seed=1))
    loss = sg.reduce_sum(sg.tanh(sg.matmul(x, w)))
    step = sg.train.GradientDescentOptimizer(0.1).minimize(loss)
    value = np.random.default_rng(0).normal(size=(33, 70))

    def trained(**options) -> tuple[float, bytes]:
        with sg.Session(**options) as sess:
            sess.run(sg.global_variables_initializer())
            losses = [sess.run([loss, step], {x: value})[0] for _ in range(5)]
            return losses[-1], sess.run(w).tobytes()

    usual = trained()
    assert not measured
    assert trained(tune=True) == usual
    assert len(measured) == 2  # the product, and the gradient of its weights
    assert trained(tune=True) == usual and len(measured) == 2


def test_what_is_measured_is_told_on_a_terminal(target, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    search.search(PRODUCT, target, chooses(None, 1.0))
    told = capsys.readouterr().err
    assert "measuring a product of 64 x 100 x 300" in told
    assert told.endswith("\r")
