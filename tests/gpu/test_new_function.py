"""A new scalar function is one record: interpreted, compiled and written for a GPU, nothing else knows it."""

from collections.abc import Callable

import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16, float32, float64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.cost import operation_cost
from staticgraph.compiler.kernel.expr import Expr, Index, Load
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.primitives import instructions
from staticgraph.compiler.kernel.primitives.functions import FUNCTIONS
from staticgraph.compiler.kernel.primitives.instructions import FUNCTION, Approximation, Primitive, Texts
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, LoopKind, Store
from staticgraph.compiler.kernel.verify import verify
from tests.codegen.native import loaded, run, stored
from tests.gpu.printing import statements
from tests.gpu.running import compiled
from tests.gpu.running import run as run_on_gpu

N = 37


def squashed(w, x: Expr, y: Expr) -> Expr:
    """x / (1 + |y|)."""
    return x / (instructions.abs(y) + 1.0)


@pytest.fixture(params=["formula", "function"])
def squash(request, monkeypatch) -> Callable[..., Expr]:
    """The function; for GPUs as the formula, or as text of its own."""
    text = Texts() if request.param == "formula" else Texts("({0} / (1 + fabs{f}({1})))")
    record = Primitive(
        "squash",
        2,
        lambda x, y: x / (1 + np.abs(y)),
        cost=FUNCTION,
        cuda=text,
        approximation=Approximation(squashed),
    )
    monkeypatch.setitem(FUNCTIONS, record.name, record)
    return lambda x, y: scalar.squash(x, y)


def kernel_and_memory(squash, dtype: DType, rng) -> tuple[Kernel, dict[str, np.ndarray]]:
    i = Index("i", N)
    value = squash(Load("x", (i,), dtype), Load("y", (i,), dtype))
    buffers = {"x": Buffer(dtype, (N,)), "y": Buffer(dtype, (N,)), "z": Buffer(dtype, (N,), written=True)}
    kernel = Kernel("new", buffers, (Loop(i, (Store("z", (i,), value),), LoopKind.SIMD),))
    verify(kernel)
    memory = {name: dtype.round(rng.normal(size=N)) for name in "xy"}
    return kernel, memory | {"z": np.zeros(N, dtype.numpy)}


def check(kernel: Kernel, memory: dict[str, np.ndarray], found: np.ndarray) -> None:
    dtype = kernel.buffers["z"].dtype
    interpret(kernel, memory)
    eps = 2.0**-7 if dtype is bfloat16 else float(np.finfo(dtype.numpy).eps)
    np.testing.assert_allclose(found, memory["z"], rtol=2 * eps)


@pytest.mark.parametrize("dtype", [float16, bfloat16, float32, float64], ids=str)
def test_a_processor_runs_it(squash, dtype: DType, rng):
    kernel, memory = kernel_and_memory(squash, dtype, rng)
    check(kernel, memory, run(kernel, memory)["z"])


@pytest.mark.takes_long
@pytest.mark.parametrize("dtype", [float16, bfloat16, float32, float64], ids=str)
def test_a_gpu_runs_it(squash, dtype: DType, rng):
    kernel, memory = kernel_and_memory(squash, dtype, rng)
    work, arrays = statements(kernel), {name: stored(dtype, array) for name, array in memory.items()}
    check(kernel, memory, loaded(dtype, run_on_gpu(work, arrays, compiled([work]))["z"]))


def test_its_cost_is_that_of_the_record(squash):
    assert operation_cost("squash") == FUNCTION
