"""The formulas are within 2 units in the last place everywhere, and exact at zeros, infinities and NaN."""

import math

import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16, float32, float64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.approximate import approximate
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Local, Scalar, walk
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, LoopKind, Store
from tests.codegen.native import run, ulps

SPECIAL = np.array([
    0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1e-45, -1e-45, 1e-40, 1e-38, 3e38, -3e38,
    88.72, 88.73, -87.4, -103.9, -104.1, 709.7, 709.8, -745.1, -745.2, 1e-8, -1e-8, 1e-20, 99999.0, 100001.0,
    1e10, -1e10, 1e22, 1e30, -1e30, 0.625, 0.9277, 4.0, -4.0, 20.0, 40.0, 2e9,
])  # fmt: skip
REFERENCE = {
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "tanh": np.tanh, "sin": np.sin,
    "cos": np.cos,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_cache_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SG_CACHE_DIR", "")


def arguments(rng: np.random.Generator, dtype: DType) -> np.ndarray:
    """Of every size and sign, dense where the functions do most."""
    n = 20_000
    sizes = np.exp(rng.uniform(-103, 88, n) if dtype is float32 else rng.uniform(-745, 709, n))
    parts = [rng.normal(size=n), rng.uniform(-110, 110, n), rng.uniform(-1e5, 1e5, n), sizes, -sizes, SPECIAL]
    with np.errstate(over="ignore"):
        return np.concatenate(parts).astype(dtype.numpy)


def native(op: str, dtype: DType, *arrays: np.ndarray) -> np.ndarray:
    n = arrays[0].size
    i = Index("i", n)
    buffers = {f"x{k}": Buffer(dtype, (n,)) for k in range(len(arrays))} | {
        "y": Buffer(dtype, (n,), written=True)
    }
    value = Scalar(op, tuple(Load(f"x{k}", (i,), dtype) for k in range(len(arrays))), dtype)
    kernel = Kernel(op, buffers, (Loop(i, (Store("y", (i,), value),), LoopKind.SIMD),))
    memory = {f"x{k}": a for k, a in enumerate(arrays)} | {"y": np.zeros_like(arrays[0])}
    return run(kernel, memory)["y"]


def assert_close(found: np.ndarray, exact: np.ndarray, dtype: DType) -> None:
    assert ulps(found, exact, dtype) <= 2
    with np.errstate(all="ignore"):
        rounded = dtype.round(exact)
    assert (np.signbit(found) == np.signbit(rounded))[~np.isnan(rounded)].all()


@pytest.mark.parametrize("op", REFERENCE)
def test_float32(op: str, rng: np.random.Generator):
    x = arguments(rng, float32)
    with np.errstate(all="ignore"):
        assert_close(native(op, float32, x), REFERENCE[op](x.astype(np.float64)), float32)


@pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= 52, reason="long double is no more precise than float64 here"
)
@pytest.mark.parametrize("op", REFERENCE)
def test_float64(op: str, rng: np.random.Generator):
    x = arguments(rng, float64)
    with np.errstate(all="ignore"):
        assert_close(native(op, float64, x), REFERENCE[op](x.astype(np.longdouble)), float64)


def test_erf(rng: np.random.Generator):
    x = np.concatenate([rng.uniform(-5, 5, 20_000), rng.normal(size=20_000) * 1e-3, SPECIAL]).astype(
        np.float32
    )
    exact = np.array([math.erf(v) for v in x.astype(np.float64)])
    assert_close(native("erf", float32, x), exact, float32)


def test_pow(rng: np.random.Generator):
    n = 40_000
    a = np.exp(rng.normal(size=n) * 5) * rng.choice([1, 1, -1], n)
    b = np.where(rng.random(n) < 0.5, rng.normal(size=n) * 10, rng.integers(-20, 20, n))
    special = np.array(
        [
            0.0,
            -0.0,
            1.0,
            -1.0,
            np.inf,
            -np.inf,
            np.nan,
            2.0,
            -2.0,
            0.5,
            -0.5,
            3.0,
            -3.0,
            1e-45,
            3e38,
            2.0**24,
            1e30,
        ]
    )
    a = np.concatenate([a, np.repeat(special, len(special))]).astype(np.float32)
    b = np.concatenate([b, np.tile(special, len(special))]).astype(np.float32)
    with np.errstate(all="ignore"):
        assert_close(
            native("pow", float32, a, b), np.power(a.astype(np.float64), b.astype(np.float64)), float32
        )


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_digamma(dtype: DType, rng: np.random.Generator):
    x = np.concatenate([rng.uniform(-20, 30, 3000), np.exp(rng.uniform(-50, 50, 1000)), np.arange(-5, 6)])
    x = np.concatenate([x, [np.inf, -np.inf, np.nan]]).astype(dtype.numpy)
    exact = np.array([scalar.digamma(float(v)) for v in x.astype(np.float64)])
    epsilon = np.finfo(dtype.numpy).eps
    # Near a pole the last digit of the argument moves the result by more than its own last digit.
    with np.errstate(invalid="ignore"):
        near = np.abs(x - np.rint(x)) < 1e-3
    np.testing.assert_allclose(
        native("digamma", dtype, x)[~near], exact[~near], rtol=4e3 * 2.0**-52 + epsilon, atol=1e-12
    )


@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=str)
def test_narrow_types_are_computed_in_float32(dtype: DType):
    x = Local("x", dtype)
    formula = approximate(scalar.exp(x))
    assert formula.dtype is dtype
    assert all(e.op not in REFERENCE for e in walk(formula) if isinstance(e, Scalar))


def test_functions_of_one_argument_share_its_reduction():
    x = Local("x", float32)

    def size(*roots: Expr) -> int:
        return len(walk(*(approximate(r) for r in roots)))

    assert size(scalar.sin(x), scalar.cos(x)) < 1.5 * size(scalar.sin(x))


def test_other_functions_are_left_alone():
    x = Local("x", float64)
    for expr in (scalar.asin(x), scalar.erf(x), scalar.pow(x, x), x * x + 1.0):
        assert approximate(expr) is expr
