"""Contractions by functions of our own, with tiles of every shape and without, mean what NumPy says."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import FunctionCall, KernelWork
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.kernel.schedule_gpu.products.axes import axes
from staticgraph.compiler.kernel.schedule_gpu.products.contraction import has_tiles
from staticgraph.compiler.kernel.schedule_gpu.products.direct import outputs_of
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.kernel.schedule_gpu.products.shape import SHAPES, TENSOR_SHAPES, Cut, Shape
from staticgraph.runtime.gpu.simulator.build import Unit
from tests.gpu.contractions import Case, every
from tests.gpu.printing import by_tiles, own
from tests.gpu.running import compiled

Build = Callable[[], tuple[list[Any], dict[Any, Any]]]
ODD = (1, 7, 33, 100, 129)


def zeros(*shape: int, dtype: Any = sg.float32) -> tuple[Any, np.ndarray]:
    """A placeholder, and something of its shape to feed."""
    return sg.placeholder(dtype, shape), np.zeros(shape, np.float32)


def product(
    m: int, n: int, k: int, turn_a: bool = False, turn_b: bool = False, dtype: Any = sg.float32
) -> Build:
    def build() -> Any:
        a, of_a = zeros(*((k, m) if turn_a else (m, k)), dtype=dtype)
        b, of_b = zeros(*((n, k) if turn_b else (k, n)), dtype=dtype)
        return [sg.matmul(a, b, turn_a, turn_b)], {a: of_a, b: of_b}

    return build


def dense(m: int, n: int, k: int, after: Callable[..., Any], dtype: Any = sg.float32) -> Build:
    """`after(product, bias, mask)`."""

    def build() -> Any:
        a, of_a = zeros(m, k, dtype=dtype)
        b, of_b = zeros(k, n, dtype=dtype)
        bias, of_bias = zeros(n, dtype=dtype)
        mask, of_mask = zeros(m, n, dtype=dtype)
        made = after(sg.matmul(a, b), bias, mask)
        made = made if isinstance(made, list) else [made]
        feeds = {a: of_a, b: of_b, bias: of_bias, mask: of_mask}
        return made, feeds

    return build


def einsum(equation: str, *shapes: tuple[int, ...]) -> Build:
    def build() -> Any:
        fed = [zeros(*shape) for shape in shapes]
        return [sg.einsum(equation, *(x for x, _ in fed))], dict(fed)

    return build


def convolution(
    image: tuple[int, ...],
    window: tuple[int, ...],
    stride: int,
    padding: str,
    dilation: int = 1,
    dtype: Any = sg.float32,
    kind: str = "conv2d",
) -> Build:
    """The convolution, and its gradients by the image and by the weights."""

    def build() -> Any:
        x, of_x = zeros(*image, dtype=dtype)
        w, of_w = zeros(*window, dtype=dtype)
        if kind == "conv2d":
            y = sg.nn.conv2d(x, w, [1, stride, stride, 1], padding, dilations=[1, dilation, dilation, 1])
        else:
            y = sg.nn.depthwise_conv2d(x, w, [1, stride, stride, 1], padding)
        g, of_g = zeros(*y.shape.as_list(), dtype=dtype)
        return [y, *sg.gradients(y, [x, w], [g])], {x: of_x, w: of_w, g: of_g}

    return build


def transposed() -> Any:
    x, of_x = zeros(2, 5, 6, 4)
    w, of_w = zeros(3, 3, 8, 4)
    return [sg.nn.conv2d_transpose(x, w, [2, 10, 12, 8], [1, 2, 2, 1])], {x: of_x, w: of_w}


def descent(rows: int) -> Build:
    def build() -> Any:
        x, of_x = zeros(rows, 40)
        y, of_y = zeros(rows, 32)
        w = sg.get_variable("w", [40, 32])
        loss = sg.reduce_sum(sg.matmul(x, w) * y)
        return [sg.train.GradientDescentOptimizer(0.1).minimize(loss)], {x: of_x, y: of_y}

    return build


def long_sum(k: int, n: int) -> Build:
    return einsum("kzn,kzn->zn", (k, 3, n), (k, 3, n))


GRAPHS: dict[str, Build] = {
    **{
        f"{m}x{n}x{k}{'t' * turn_a}{'T' * turn_b}": product(m, n, k, turn_a, turn_b)
        for number, (m, n, k) in enumerate(zip(ODD, ODD[2:] + ODD[:2], ODD[3:] + ODD[:3], strict=True))
        for turn_a in (False, True)
        for turn_b in (False, True)
        if (turn_a + turn_b + number) % 2 == 0
    },
    "packs": product(64, 128, 32),
    "float64": product(36, 40, 50, dtype=sg.float64),
    "odd float64": product(33, 35, 19, dtype=sg.float64),
    "float16": product(40, 24, 50, dtype=sg.float16),
    "bfloat16": product(33, 40, 36, True, dtype=sg.bfloat16),
    "long": product(20, 36, 3000, True),
    "vector": product(1, 200, 300),
    "vector of rows": product(129, 1, 300, dtype=sg.float64),
    "half vector": product(129, 1, 320, dtype=sg.bfloat16),
    "long vector": product(40, 1, 20000, True),
    "batch": einsum("bmk,bkn->bmn", (3, 20, 17), (3, 17, 12)),
    "tiny batch": einsum("bmk,bkn->bmn", (50, 3, 4), (50, 4, 5)),
    "heads": einsum("bqhd,bkhd->bhqk", (2, 9, 3, 8), (2, 12, 3, 8)),
    "values": einsum("bhqk,bkhd->bqhd", (2, 3, 9, 12), (2, 12, 3, 8)),
    "two sums": einsum("amck,kcn->amn", (2, 20, 5, 7), (7, 5, 24)),
    "three sums": einsum("kmlc,clnk->nm", (4, 12, 3, 5), (5, 3, 13, 4)),
    "weighted sums": long_sum(700, 20),
    "bias": dense(40, 64, 50, lambda y, bias, _: sg.nn.relu(y + bias)),
    "odd bias": dense(33, 35, 50, lambda y, bias, _: sg.nn.relu(y + bias)),
    "masked": dense(40, 64, 50, lambda y, bias, mask: sg.where(mask > 0, y, sg.zeros_like(y))),
    "gelu": dense(40, 64, 50, lambda y, bias, _: 0.5 * (y + bias) * (1 + sg.erf((y + bias) * 0.7))),
    "several": dense(40, 64, 50, lambda y, bias, mask: [y + bias, sg.tanh(y + bias) * mask, y]),
    "half bias": dense(40, 24, 50, lambda y, bias, _: sg.nn.relu(y + bias), sg.bfloat16),
    "cast": dense(40, 24, 50, lambda y, bias, _: sg.cast(y, sg.float64) + 1, sg.float16),
    "descent": descent(50),
    "same": convolution((2, 9, 10, 6), (3, 3, 6, 8), 1, "SAME"),
    "valid": convolution((2, 9, 10, 5), (3, 2, 5, 7), 1, "VALID"),
    "strided": convolution((2, 9, 11, 8), (3, 3, 8, 12), 2, "SAME"),
    "dilated": convolution((2, 11, 12, 4), (3, 3, 4, 8), 1, "SAME", 2),
    "dilated valid": convolution((2, 11, 12, 4), (3, 3, 4, 5), 1, "VALID", 2),
    "pixels": convolution((2, 6, 7, 12), (1, 1, 12, 16), 1, "SAME"),
    "first": convolution((1, 20, 20, 3), (7, 7, 3, 8), 2, "SAME"),
    "one channel": convolution((1, 9, 9, 40), (3, 3, 40, 1), 1, "SAME"),
    "half": convolution((2, 9, 10, 8), (3, 3, 8, 8), 1, "SAME", dtype=sg.bfloat16),
    "double": convolution((2, 9, 10, 3), (3, 3, 3, 4), 1, "SAME", dtype=sg.float64),
    "depthwise": convolution((2, 9, 10, 8), (3, 3, 8, 1), 1, "SAME", kind="depthwise"),
    "odd depthwise": convolution((2, 9, 11, 5), (3, 3, 5, 1), 2, "SAME", kind="depthwise"),
    "edges": convolution((2, 7, 9, 32), (3, 3, 32, 8), 1, "SAME"),
    "strided edges": convolution((1, 9, 8, 32), (3, 2, 32, 5), 2, "SAME"),
    "dilated edges": convolution((1, 9, 8, 32), (3, 3, 32, 4), 1, "SAME", 2),
    "half edges": convolution((1, 7, 9, 32), (5, 3, 32, 12), 1, "SAME", dtype=sg.bfloat16),
    "depthwise edges": convolution((2, 7, 9, 32), (3, 3, 32, 1), 1, "SAME", kind="depthwise"),
    "long depthwise": convolution((8, 17, 18, 4), (2, 2, 4, 1), 1, "VALID", kind="depthwise"),
    "transposed": transposed,
}
FORCED: dict[str, Build] = {
    "packs": product(132, 136, 40),
    "turned packs": product(68, 72, 36, True, True),
    "odd": product(33, 35, 19),
    "bias": dense(20, 36, 24, lambda y, bias, _: sg.nn.relu(y + bias)),
    "same": convolution((1, 6, 7, 4), (3, 3, 4, 8), 1, "SAME"),
    "double": product(30, 36, 18, dtype=sg.float64),
    "whole tiles": convolution((1, 16, 16, 16), (3, 3, 16, 32), 1, "SAME"),
}
TENSOR: dict[str, Build] = {
    "packs": product(132, 136, 40, dtype=sg.bfloat16),
    "turned packs": product(68, 72, 36, True, True, sg.float16),
    "odd": product(33, 35, 19, dtype=sg.bfloat16),
    "float32": product(40, 36, 50),
    "bias": dense(20, 36, 24, lambda y, bias, _: sg.nn.relu(y + bias)),
    "same": convolution((1, 6, 7, 8), (3, 3, 8, 8), 1, "SAME", dtype=sg.bfloat16),
}
TF32 = 2e-3  # of the greatest result: what eleven bits of the operands make of it


@cache
def graph(name: str) -> list[Case]:
    return every(GRAPHS[name])


@cache
def forced_graph(name: str, tensor: bool) -> list[Case]:
    return every((TENSOR if tensor else FORCED)[name])


def cut_by(c: Contraction, shape: Shape, slices: int) -> KernelWork | None:
    """The work by tiles of a shape; None if the shape is not for this dtype."""
    if not shape.suits(c.dtype.size):
        return None
    steps = -(-c.depth // shape.depth)
    products = -(-steps // min(slices, steps)) * shape.depth
    cut = Cut(shape, -(-c.depth // products), products)
    return by_tiles(c, axes(c), outputs_of(c), cut)


@cache
def works() -> dict[tuple[str, int], KernelWork]:
    return {(name, n): own(case.product) for name in GRAPHS for n, case in enumerate(graph(name))}


@cache
def forced() -> dict[Shape, list[tuple[Case, KernelWork]]]:
    """For each shape, a third of the contractions cut by it, into one to three slices. All have whole tiles
    of rows: there, a thread copies lines at equal distances.
    """
    made: dict[Shape, list[tuple[Case, KernelWork]]] = {}
    for number, shape in enumerate((*SHAPES, *TENSOR_SHAPES)):
        names = TENSOR if shape.tensor else FORCED
        cases = [case for name in names for case in forced_graph(name, shape.tensor)]
        cases = [case for case in cases if has_tiles(case.product, axes(case.product))]
        some = [case for n, case in enumerate(cases) if n % 3 == number % 3 or case.product.limits]
        pairs = [(case, cut_by(case.product, shape, 1 + number % 3)) for case in some]
        made[shape] = [(case, work) for case, work in pairs if work is not None]
    return made


@cache
def unit() -> Unit:
    return compiled([*works().values(), *(work for pairs in forced().values() for _, work in pairs)])


@pytest.mark.takes_long
@pytest.mark.parametrize("name", GRAPHS)
def test_contractions_of_graphs(name, host):
    assert graph(name)
    for number, case in enumerate(graph(name)):
        case.check(works()[name, number], unit())


@pytest.mark.takes_long
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.rows}x{s.columns}")
def test_every_shape_of_tiles(shape, host):
    assert len(forced()[shape]) >= 2
    for case, work in forced()[shape]:
        case.check(work, unit())


@pytest.mark.takes_long
@pytest.mark.parametrize("shape", TENSOR_SHAPES, ids=lambda s: f"{s.rows}x{s.columns}")
def test_tensor_cores(shape, host):
    assert len(forced()[shape]) >= 2
    for case, work in forced()[shape]:
        case.check(work, unit(), TF32 if case.product.a.dtype is float32 else 0.0)


def test_who_uses_tensor_cores():
    def uses(case: Case, *precision: Precision) -> bool:
        (call, *_) = own(case.product, *precision).calls
        assert isinstance(call, FunctionCall)
        return "multiply_in_warp" in call.function.text

    (single,), (half,), (double,) = graph("packs"), graph("bfloat16"), graph("float64")
    assert [uses(case) for case in (single, half, double)] == [False, True, False]
    assert [uses(case, Precision.TF32) for case in (single, half, double)] == [True, True, False]
