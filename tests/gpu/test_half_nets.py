"""Nets of float16 and bfloat16, and of float32 whose products may round: tensor cores do every product, no
kernel only converts, and losses are those of float64 within a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.gpu.step import GpuCompiled
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision, Product
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.sessions import on
from tests.passes.steps import step_of

pytestmark = pytest.mark.takes_long

CONTRACTIONS = {"einsum", "matmul", "batch_matmul", "conv_windows", "conv_filter", "conv_spread"}
# Parts of a contraction that multiply nothing: what is done with its results, or brings operands into a form.
BESIDE = {"after_product", "pointers", "pointwise", "add_slices"}
CONVERSIONS = {"cast", "reshape", "transpose", "broadcast_to"}
Net = tuple[list[Any], list[sg.Tensor]]  # what is fetched, and placeholders


class Weights:
    """Makes variables of one dtype, whose first values are of 16 bits or those rounded to `rounded`."""

    def __init__(self, dtype: DType, rounded: DType) -> None:
        self.dtype, self._rounded = dtype, rounded
        self._rng = np.random.default_rng(0)
        self._count = 0

    def __call__(self, shape: tuple[int, ...], scale: float, dtype: DType | None = None) -> Any:
        values = self._rounded.round(self._rng.standard_normal(shape) * scale)
        self._count += 1
        value = sg.cast(np.asarray(values, np.float64), dtype or self.dtype)
        return sg.get_variable(f"w{self._count}", initializer=value)


def transformer(weights: Weights, batch: int = 2, time: int = 16, width: int = 32, heads: int = 4) -> Net:
    """A block with attention, layer norms and GELU."""
    x, y = (sg.placeholder(weights.dtype, [batch, time, width]) for _ in range(2))

    def dense(h: Any, units: int) -> Any:
        return sg.tensordot(h, weights((int(h.shape[-1]), units), 0.05), 1) + weights((units,), 0.01)

    def norm(h: Any) -> Any:
        centred = h - sg.reduce_mean(h, -1, keepdims=True)
        scale = sg.rsqrt(sg.reduce_mean(sg.square(centred), -1, keepdims=True) + 1e-3)
        return centred * scale * weights((width,), 0.1) + weights((width,), 0.1)

    parts = sg.reshape(dense(norm(x), 3 * width), [batch, time, 3, heads, width // heads])
    q, k, v = sg.unstack(sg.transpose(parts, [2, 0, 3, 1, 4]))
    scores = sg.nn.softmax(sg.matmul(q, k, transpose_b=True) * (1 / math.sqrt(width // heads)))
    mixed = sg.transpose(sg.matmul(scores, v), [0, 2, 1, 3])
    h = x + dense(sg.reshape(mixed, [batch, time, width]), width)
    inner = dense(norm(h), 4 * width)
    inner = 0.5 * inner * (1 + sg.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner * inner * inner)))
    error = sg.square(h + dense(inner, width) - y)
    return _trained(
        sg.reduce_mean(error if error.dtype is sg.float64 else sg.cast(error, sg.float32)), [x, y]
    )


def residual(weights: Weights, batch: int = 4, size: int = 8, channels: int = 16) -> Net:
    """Two blocks of ResNet-18: the second has half the rows and columns and twice the channels."""
    wide = sg.float64 if weights.dtype is sg.float64 else sg.float32
    x, labels = (
        sg.placeholder(weights.dtype, [batch, size, size, channels]),
        sg.placeholder(sg.int32, [batch]),
    )

    def conv(h: Any, count: int, window: int, stride: int) -> Any:
        return sg.nn.conv2d(h, weights((window, window, int(h.shape[-1]), count), 0.06), stride, "SAME")

    def norm(h: Any) -> Any:
        count = int(h.shape[-1])
        return sg.nn.fused_batch_norm(h, weights((count,), 0.1, wide) + 1.0, weights((count,), 0.1, wide))[0]

    def block(h: Any, count: int, stride: int) -> Any:
        made = norm(conv(sg.nn.relu(norm(conv(h, count, 3, stride))), count, 3, 1))
        return sg.nn.relu(made + (norm(conv(h, count, 1, stride)) if stride > 1 else h))

    h = block(block(x, channels, 1), 2 * channels, 2)
    logits = sg.cast(sg.matmul(sg.reduce_mean(h, [1, 2]), weights((2 * channels, 10), 0.1)), wide)
    losses = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return _trained(sg.reduce_mean(losses), [x, labels])


def _trained(loss: Any, placeholders: list[sg.Tensor]) -> Net:
    return [loss, sg.train.GradientDescentOptimizer(0.1).minimize(loss)], placeholders


NETS: list[Callable[..., Net]] = [transformer, residual]
# At these sizes products and convolutions are worth those of NVIDIA's libraries.
LARGE = {"transformer": (4, 128, 256, 8), "residual": (8, 16, 32)}
CASES = [
    pytest.param((sg.bfloat16, Precision.FLOAT32), id="bfloat16"),
    pytest.param((sg.float16, Precision.FLOAT32), id="float16"),
    pytest.param((sg.float32, Precision.TF32), id="float32 by tf32"),
    pytest.param((sg.float32, Precision.BFLOAT16), id="float32 by bfloat16"),
]


def every_net(test: Any) -> Any:
    """Try each net in one of the cases, in turn; `pytest -m slow` tries it in the others."""
    test = pytest.mark.by_turns("case")(test)
    test = pytest.mark.parametrize("net", NETS, ids=lambda net: net.__name__)(test)
    return pytest.mark.parametrize("case", CASES)(test)


def planned(net: Callable[..., Net], dtype: DType, precision: Precision) -> GpuCompiled:
    """Return the program of a step for a GPU that has cuDNN."""
    with sg.Graph().as_default():
        fetches, placeholders = net(Weights(dtype, sg.bfloat16), *LARGE[net.__name__])
        step = step_of(fetches, feeds(placeholders, sg.bfloat16, 0))
    return compile_gpu(step, target=GpuTarget(precision, refused=frozenset()))


def feeds(placeholders: list[sg.Tensor], rounded: DType, number: int) -> dict[sg.Tensor, np.ndarray]:
    rng = np.random.default_rng(number)
    shapes = [(p, p.shape.as_list()) for p in placeholders]
    return {
        p: rounded.round(rng.standard_normal(shape)) if p.dtype.is_floating else rng.integers(0, 10, shape)
        for p, shape in shapes
    }


def multiplications(made: GpuCompiled) -> Iterator[FunctionCall | Product | Convolution]:
    """Yield what multiplies, of all contractions."""
    for launch, work, _ in made.walk():
        if work is not None and CONTRACTIONS.intersection(node.op.name for node in launch.nodes):
            calls = work.calls
            yield from (c for c in calls if not isinstance(c, FunctionCall) or c.function.kind not in BESIDE)


@every_net
def test_tensor_cores_do_all_products_and_nothing_only_converts(
    net: Callable[..., Net], case: tuple[DType, Precision]
):
    dtype, precision = case
    made = planned(net, dtype, precision)
    kinds = set()
    for each in multiplications(made):
        kinds.add(type(each))
        if isinstance(each, FunctionCall):
            assert "multiply_in_warp" in each.function.text, each.function.name
        else:
            assert each.dtype is dtype
            assert dtype.size == 2 or each.precision is not Precision.FLOAT32
    assert kinds >= {Product} | ({Convolution} if net is residual else set())
    converting = [
        [node.op.name for node in launch.nodes]
        for launch, work, _ in made.walk()
        if work is not None and "cast" in {node.op.name for node in launch.nodes} <= CONVERSIONS
    ]
    assert converting == []


def test_products_of_float32_with_all_their_bits_take_no_tensor_cores():
    """So the test above tells one from the other."""
    made = planned(transformer, sg.float32, Precision.FLOAT32)
    for each in multiplications(made):
        if isinstance(each, FunctionCall):
            assert "multiply_in_warp" not in each.function.text
        else:
            assert each.precision is Precision.FLOAT32


def losses(
    net: Callable[..., Net], dtype: DType, rounded: DType, driver: Simulator | None, precision: Precision
) -> np.ndarray:
    """Return those of four steps, whose weights and batches are numbers of the dtype `rounded`."""
    with sg.Graph().as_default(), on(driver), sg.Session(matmul_precision=precision.value) as session:
        fetches, placeholders = net(Weights(dtype, rounded))
        session.run(sg.global_variables_initializer())
        found = [session.run(fetches, feeds(placeholders, rounded, n))[0] for n in range(4)]
        return np.array(found, np.float64)


# Of a loss, relative to it. A number of bfloat16 is off by up to 2e-3, one of float16 by up to 2.5e-4; losses
# are means of many.
BOUNDS = {"bfloat16": 2e-3, "float16": 1.5e-3, "float32": 1e-3}


@every_net
def test_losses_are_those_of_float64(host: str, net: Callable[..., Net], case: tuple[DType, Precision]):
    dtype, precision = case
    rounded = dtype if dtype.size == 2 else sg.bfloat16
    found = losses(net, dtype, rounded, Simulator(3, convolutions=True), precision)
    expected = losses(net, sg.float64, rounded, None, Precision.FLOAT32)
    np.testing.assert_allclose(found, expected, rtol=BOUNDS[dtype.name])
    assert expected[0] != expected[1]
