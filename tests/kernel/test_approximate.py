"""The formulas keep what docs/accuracy.md promises of them, at samples; tools/accuracy/ulp.py has all."""

import math

import numpy as np
import pytest

from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16, float32, float64, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, Lookup, Scalar, walk
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.lower_expressions import approximate, approximation_of
from staticgraph.compiler.kernel.primitives.functions import FUNCTIONS
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, LoopKind, Store
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import run
from tools.accuracy.exact import HAS_LONG_DOUBLE, exact
from tools.accuracy.ulp import BOUNDS, near_special, random, units

N = 30_000
TYPES = [
    float32,
    pytest.param(
        float64, marks=pytest.mark.skipif(not HAS_LONG_DOUBLE, reason="no reference for float64 here")
    ),
]


@pytest.fixture(autouse=True)
def _no_cache_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SG_CACHE_DIR", "")


def native(
    op: str, dtype: DType, *arrays: np.ndarray, fast_math: bool = False, numbers: int = 0
) -> np.ndarray:
    n = arrays[0].size
    i = Index("i", n)
    buffers = {f"x{k}": Buffer(dtype, (n,)) for k in range(len(arrays))}
    buffers |= {"y": Buffer(dtype, (n,), written=True)}
    value = Scalar(op, tuple(Load(f"x{k}", (i,), dtype) for k in range(len(arrays))), dtype)
    store = Store("y", (i,), approximate(value, fast_math, numbers))
    kernel = Kernel(op, buffers, (Loop(i, (store,), LoopKind.SIMD),))
    memory = {f"x{k}": a for k, a in enumerate(arrays)} | {"y": np.zeros_like(arrays[0])}
    return run(kernel, memory)["y"]


def arguments(op: str, dtype: np.dtype, rng: np.random.Generator) -> list[np.ndarray]:
    special = near_special(dtype)
    if BOUNDS[op].arity == 1:
        return [np.concatenate([special, random(dtype, rng, N)])]
    few = special[::97]
    pairs = np.repeat(few, few.size), np.tile(few, few.size)
    return [np.concatenate([s, random(dtype, rng, N)]) for s in pairs]


@pytest.mark.takes_long
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_errors_are_within_bounds(op: str, dtype: DType, rng: np.random.Generator):
    x = arguments(op, dtype.numpy, rng)
    error = units(native(op, dtype, *x), exact(op, *x), BOUNDS[op].scale(x[0]))
    worst = int(np.argmax(error))
    bound = BOUNDS[op].of(dtype.numpy)
    assert error[worst] <= bound, f"{error[worst]} units at {[float(a[worst]) for a in x]}"


@pytest.mark.parametrize("numbers", [8, 16])
@pytest.mark.parametrize("op", ["tanh", "erf", "bessel_i0e", "bessel_i1e"])
class TestTables:
    def test_are_within_one_unit(self, op: str, numbers: int, rng: np.random.Generator):
        if numbers > cpu_jit.host().table:
            pytest.skip("this processor has no such instruction")
        (x,) = arguments(op, np.dtype(np.float32), rng)
        found = native(op, float32, x, numbers=numbers)
        assert units(found, exact(op, x)).max() <= 1.01
        limit = 0 if op.startswith("bessel") else 1
        assert found[np.isinf(x)].tolist() == (limit * np.sign(x[np.isinf(x)])).tolist()

    @pytest.mark.takes_long
    @pytest.mark.parametrize("count", [1, 3, 8, 16, 77])
    def test_all_numbers_of_lanes(self, op: str, numbers: int, count: int, rng: np.random.Generator):
        """Beside float64, where fewer lanes fit in a register than a table has numbers, as well."""
        if numbers > cpu_jit.host().table:
            pytest.skip("this processor has no such instruction")
        i = Index("i", count)
        value = approximate(Scalar(op, (Load("x", (i,), float32),), float32), numbers=numbers)
        wide = scalar.cast(value, float64) + Load("z", (i,), float64)
        x, z = rng.normal(size=count).astype(np.float32), rng.normal(size=count)
        for stored, dtype in ((value, float32), (wide, float64)):
            buffers = {"x": Buffer(float32, (count,)), "z": Buffer(float64, (count,))}
            buffers |= {"y": Buffer(dtype, (count,), written=True)}
            kernel = Kernel(op, buffers, (Loop(i, (Store("y", (i,), stored),), LoopKind.SIMD),))
            memory = {"x": x, "z": z, "y": np.zeros(count, dtype.numpy)}
            compiled = run(kernel, memory)["y"]
            interpret(kernel, memory)
            np.testing.assert_allclose(compiled, memory["y"], rtol=1e-6)

    def test_hold_for_narrow_types_as_well(self, op: str, numbers: int):
        x = Local("x", float16)
        formula = approximate(Scalar(op, (x,), float16), numbers=numbers)
        tables = {node.table for node in walk(formula) if isinstance(node, Lookup)}
        assert tables and {len(table) for table in tables} == {numbers}


def test_fast_math_chooses_what_is_shorter():
    """An erf that is looked up takes no longer than the fast one, which is less precise."""
    for op, chosen in {"tanh": False, "erf": True}.items():
        formula = approximate(Scalar(op, (Local("x", float32),), float32), fast_math=True, numbers=8)
        assert any(isinstance(node, Lookup) for node in walk(formula)) == chosen


@pytest.mark.parametrize("op", ["tanh", "erf"])
def test_fast_forms_are_within_6_units(op: str, rng: np.random.Generator):
    (x,) = arguments(op, np.dtype(np.float32), rng)
    fast, wanted = native(op, float32, x, fast_math=True), exact(op, x)
    assert 2 < units(fast, wanted).max() <= 6


def test_an_error_of_one_unit_is_seen():
    x = np.linspace(0.5, 3, 1000, dtype=np.float32)
    wanted = np.sqrt(x.astype(np.float64))
    nearest = wanted.astype(np.float32)
    assert units(nearest, wanted).max() <= 0.5
    assert units(np.nextafter(nearest, np.float32(9)), wanted).min() >= 0.5
    assert units(np.nextafter(nearest, np.float32(9)), wanted).max() >= 1
    assert np.isinf(units(np.array([-0.0, np.nan, 1.0], np.float32), np.array([0.0, 1.0, np.nan]))).all()


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_powers_that_are_numbers_are_exact(dtype: DType):
    base, exponent = (a.ravel().astype(dtype.numpy) for a in np.meshgrid(np.arange(-40, 41), np.arange(10)))
    wanted = base.astype(object) ** exponent.astype(int)
    fits = np.array([float(dtype.numpy.type(float(w))) == w for w in wanted])
    found = native("pow", dtype, base, exponent)
    np.testing.assert_array_equal(found[fits], wanted[fits].astype(dtype.numpy))


def test_special_cases_of_pow():
    """Special cases of C99's annex F, as NumPy has them."""
    special = np.array([0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 5e-324, 1e308, np.inf, -np.inf, np.nan])
    base, exponent = np.repeat(special, special.size), np.tile(special, special.size)
    with np.errstate(all="ignore"):
        wanted = np.power(base, exponent)
    found = native("pow", float64, base, exponent)
    np.testing.assert_array_equal(found, wanted)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(wanted)[number])


@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=str)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_narrow_types_are_computed_in_float32(op: str, dtype: DType):
    operands = tuple(Local(name, dtype) for name in "xy"[: BOUNDS[op].arity])
    formula = approximate(Scalar(op, operands, dtype))
    assert isinstance(formula, Scalar) and formula.op == "cast" and formula.dtype is dtype
    inside = {e.dtype for e in walk(formula.args[0]) if isinstance(e, Scalar)}
    assert dtype not in inside


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_what_is_left_is_what_processors_have(op: str, dtype: DType):
    """But for huge arguments of the trigonometric functions, which have a form of their own."""
    x = Local("x", dtype)
    operands = (x, Local("y", dtype))[: BOUNDS[op].arity]
    formula = approximate(Scalar(op, operands, dtype))
    left = {e.op for e in walk(formula) if isinstance(e, Scalar) and e.op in FUNCTIONS}
    far = approximation_of(op).far
    assert left == ({op} if op in ("sin", "cos", "tan") else set()) and bool(left) == bool(far)
    if far:
        assert not any(isinstance(e, Scalar) and e.op in FUNCTIONS for e in walk(far(x)))


def test_functions_of_one_argument_share_its_reduction():
    x = Local("x", float32)

    def size(*roots: Expr) -> int:
        return len(walk(*(approximate(r) for r in roots)))

    assert size(scalar.sin(x), scalar.cos(x)) < 1.5 * size(scalar.sin(x))


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_exponentials_of_masked_scores_are_zero_without_underflow(dtype: DType):
    """A product that is too small for a number takes a processor several times as long."""
    masked = np.array([-1e9, -1e30, -np.inf], dtype.numpy)
    i = Index("i", masked.size)
    formula = approximate(Scalar("exp", (Load("x", (i,), dtype),), dtype))
    products = [e for e in walk(formula) if isinstance(e, Scalar) and e.op == "mul" and e.dtype is dtype]
    assert products
    values = [part for e in products for part in (e, *e.children)]
    buffers = {"x": Buffer(dtype, (masked.size,))}
    buffers["y"] = Buffer(dtype, (len(values), masked.size), written=True)
    stores = tuple(Store("y", (Const(n, int64), i), value) for n, value in enumerate(values))
    memory = {"x": masked, "y": np.ones((len(values), masked.size), dtype.numpy)}
    interpret(Kernel("exp", buffers, (Loop(i, stores),)), memory)
    for product, left, right in memory["y"].reshape(-1, 3, masked.size):
        assert ((abs(product) >= np.finfo(dtype.numpy).tiny) | (left == 0) | (right == 0)).all()
    assert native("exp", dtype, masked).tobytes() == np.zeros_like(masked).tobytes()


def test_other_expressions_are_left_alone():
    x = Local("x", float64)
    for expr in (scalar.sqrt(x), x * x + 1.0, scalar.floor(x) / math.pi):
        assert approximate(expr) is expr
