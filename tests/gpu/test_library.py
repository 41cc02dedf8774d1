"""Contractions as products of the library: which they are, and what becomes of the rest of the formula."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import FunctionCall, KernelWork
from staticgraph.compiler.kernel.schedule_gpu.products.axes import axes
from staticgraph.compiler.kernel.schedule_gpu.products.direct import outputs_of
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.runtime.gpu.simulator.build import Unit
from tests.gpu.contractions import Case, every
from tests.gpu.printing import library, tile
from tests.gpu.running import compiled
from tests.gpu.test_tile import convolution, dense, descent, einsum, product, zeros

Build = Callable[[], tuple[list[Any], dict[Any, Any]]]
LARGE = (48, 64, 56)  # so much work that the library pays, whatever the formula: see `works`


def momentum() -> Any:
    """Momentum: the value before, in a formula that the library has no form of."""
    x, of_x = zeros(96, 64)
    y, of_y = zeros(96, 40)
    w = sg.get_variable("w", [64, 40])
    return [w.assign(sg.tanh(w) + sg.matmul(x, y, True))], {x: of_x, y: of_y}


def grown() -> Any:
    x, of_x = zeros(96, 64)
    y, of_y = zeros(96, 40)
    w = sg.get_variable("w", [64, 40])
    return [w.assign_add(sg.matmul(x, y, True))], {x: of_x, y: of_y}


# Each with what is to come of it: products, and calls after them.
GRAPHS: dict[str, tuple[Build, int, int]] = {
    "plain": (product(33, 100, 129), 1, 0),
    "turned": (product(100, 33, 129, True, True), 1, 0),
    "a turned": (product(40, 64, 50, True), 1, 0),
    "b turned": (product(40, 64, 50, False, True), 1, 0),
    "float64": (product(36, 40, 50, dtype=sg.float64), 1, 0),
    "float16": (product(40, 24, 50, dtype=sg.float16), 1, 0),
    "bfloat16": (product(40, 24, 50, dtype=sg.bfloat16), 1, 0),
    "batch": (einsum("bmk,bkn->bmn", (3, 40, 37), (3, 37, 32)), 1, 0),
    "shared b": (einsum("bmk,kn->bmn", (3, 40, 37), (37, 32)), 1, 0),
    "shared a": (einsum("mk,bkn->bmn", (40, 37), (3, 37, 32)), 1, 0),
    "turned result": (einsum("mk,kn->nm", (40, 37), (37, 32)), 1, 0),
    "heads": (einsum("bqhd,bkhd->bhqk", (2, 40, 3, 32), (2, 36, 3, 32)), 2, 0),
    "values": (einsum("bhqk,bkhd->bqhd", (2, 3, 40, 36), (2, 36, 3, 32)), 2, 0),
    "many heads": (einsum("bqhd,bkhd->bhqk", (9, 40, 5, 32), (9, 36, 5, 32)), 1, 0),
    "many values": (einsum("bhqk,bkhd->bqhd", (3, 3, 40, 36), (3, 36, 3, 32)), 1, 0),
    "heads apart": (einsum("btc,chd->bhtd", (2, 40, 24), (24, 3, 40)), 2, 0),
    "scaled": (dense(40, 64, 50, lambda y, bias, _: y * 0.125), 1, 0),
    "negative": (dense(40, 64, 50, lambda y, bias, _: -y), 1, 0),
    "descent": (descent(50), 1, 0),
    "added to": (grown, 1, 0),
    "pixels": (convolution((2, 12, 13, 40), (1, 1, 40, 48), 1, "VALID"), 1, 0),
    "half bias": (dense(40, 24, 50, lambda y, bias, _: sg.nn.relu(y + bias), sg.bfloat16), 1, 1),
    "half results": (dense(40, 24, 50, lambda y, bias, mask: [sg.tanh(y) * mask, y], sg.float16), 1, 1),
    "half widened": (dense(40, 24, 50, lambda y, bias, _: sg.cast(y, sg.float64) + 1, sg.float16), 1, 1),
    "half scaled": (dense(40, 24, 50, lambda y, bias, _: y * 0.125, sg.float16), 1, 1),
    "bias": (dense(*LARGE, lambda y, bias, _: sg.nn.relu(y + bias)), 1, 1),
    "several": (dense(*LARGE, lambda y, bias, mask: [y, sg.tanh(y + bias) * mask]), 1, 1),
    "old formula": (momentum, 1, 1),
}
OTHERS: dict[str, Build] = {
    "few rows": product(4, 500, 500),
    "short sum": product(500, 500, 4),
    "little": product(20, 20, 20),
    "little, and a bias": dense(64, 128, 256, lambda y, bias, _: sg.nn.relu(y + bias)),
    "window": convolution((2, 12, 13, 40), (3, 3, 40, 48), 1, "SAME"),
    "many little ones": einsum("bqhd,bkhd->bhqk", (9, 40, 5, 32), (9, 36, 5, 32)),
    "two sums": einsum("amck,kcn->amn", (2, 40, 5, 7), (7, 5, 48)),
}


@cache
def graph(name: str) -> list[Case]:
    return every(GRAPHS[name][0] if name in GRAPHS else OTHERS[name])


@cache
def works() -> dict[tuple[str, int], KernelWork]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("staticgraph.compiler.kernel.schedule_gpu.products.library._MUCH", 48 * 64 * 56)
        patch.setattr("staticgraph.compiler.kernel.schedule_gpu.products.library._LONG", 56)
        patch.setattr("staticgraph.compiler.kernel.schedule_gpu.products.library._WORTH_POINTERS", 0)
        return {(name, n): tile(case.product) for name in GRAPHS for n, case in enumerate(graph(name))}


@cache
def unit() -> Unit:
    return compiled(works().values())


@pytest.mark.parametrize("name", GRAPHS)
def test_products(name, host):
    _, products, calls = GRAPHS[name]
    for number, case in enumerate(graph(name)):
        work = works()[name, number]
        kinds = [type(call) for call in work.calls]
        pointers = [FunctionCall] * name.startswith("many")
        assert kinds == pointers + [Product] * products + [FunctionCall] * calls
        case.check(work, unit())


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_sooner_done_without(name):
    for case in graph(name):
        assert library(case.product, axes(case.product), outputs_of(case.product)) is None


def test_a_step_of_descent_is_one_product():
    (case,) = graph("descent")
    (call,) = works()["descent", 0].calls
    assert isinstance(call, Product)
    assert (call.alpha, call.accumulate) == (pytest.approx(-0.1), True)
    assert call.out.buffer == case.product.targets[0].buffer


def test_no_scratch_memory_where_the_result_has_room():
    assert not works()["bias", 0].scratch
    assert not works()["several", 0].scratch
    ((_, size),) = works()["half widened", 0].scratch
    assert size == 2 * 40 * 24
