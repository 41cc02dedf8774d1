"""Every scalar primitive in every dtype, compiled in vectors and one by one, gives what NumPy gives.

Formulas of many dtypes are one kernel, which is sooner compiled than many; an error names the wrong one.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from staticgraph.compiler.codegen.llvm.scalar import SEQUENCES
from staticgraph.compiler.graph.dtypes import DTYPES, DType, bfloat16, bool_, float16, float32, float64
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Scalar
from staticgraph.compiler.kernel.primitives.functions import FUNCTIONS, PRIMITIVES
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, LoopKind, Store
from tests.codegen.native import run, ulps

REAL = [d for d in DTYPES.values() if d.kind in ("float", "int", "uint")]
FLOATING = [d for d in REAL if d.is_floating]
INTEGER = [d for d in REAL if d.is_integer]
N = 101  # no multiple of a vector

INEXACT = set(FUNCTIONS)


def dtypes_of(op: str) -> list[DType]:
    return [d for d in (*REAL, bool_) if d.kind in PRIMITIVES[op].takes]


def sample(dtype: DType, seed: int) -> np.ndarray:
    """Ordinary numbers, and all that is special about a dtype."""
    rng = np.random.default_rng(seed)
    if dtype.is_bool:
        return rng.integers(0, 2, N).astype(bool)
    if dtype.is_integer:
        special = [dtype.min, dtype.max, 0, 1, dtype.max - 1] + ([-1, -2] if dtype.kind == "int" else [2, 3])
        low = -12 if dtype.kind == "int" else 0
        values = np.concatenate([np.array(special * 4, object), rng.integers(low, 40, N).astype(object)])[:N]
        return rng.permutation(values).astype(dtype.numpy)
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.5, 3.5, float(dtype.max)])
    values = np.concatenate([np.repeat(special, 3), rng.normal(size=N) * np.exp(rng.normal(size=N))])[:N]
    with np.errstate(over="ignore"):
        return dtype.round(rng.permutation(values))


@dataclass(frozen=True)
class Formula:
    """`make(elements)` of arrays of these dtypes, element by element."""

    dtypes: list[DType]
    result: DType
    make: Callable[..., Expr]
    arrays: list[np.ndarray]


def apply_all(formulas: Mapping[str, Formula]) -> dict[str, np.ndarray]:
    """Return results in vector lanes, by name; asserts that single elements give the same."""
    buffers, memory, loops = {}, {}, []
    for label, f in formulas.items():
        names = [f"{label}_{k}" for k in range(len(f.dtypes))]
        buffers |= {name: Buffer(d, (N,)) for name, d in zip(names, f.dtypes, strict=True)}
        memory |= dict(zip(names, f.arrays, strict=True))
        for way, kind in (("lanes", LoopKind.SIMD), ("single", LoopKind.SERIAL)):
            out = f"{way}_{label}"
            buffers[out], memory[out] = Buffer(f.result, (N,), written=True), np.zeros(N, f.result.numpy)
            i = Index(f"i_{out}", N)
            value = f.make(*[Load(name, (i,), d) for name, d in zip(names, f.dtypes, strict=True)])
            loops.append(Loop(i, (Store(out, (i,), value),), kind))
    outputs = run(Kernel("scalars", buffers, tuple(loops)), memory)
    for label in formulas:
        lanes, single = outputs[f"lanes_{label}"], outputs[f"single_{label}"]
        np.testing.assert_array_equal(lanes, single, f"{label}: elements of vectors and single ones")
    return {label: outputs[f"lanes_{label}"] for label in formulas}


def apply_native(
    dtypes: list[DType], result: DType, make: Callable[..., Expr], arrays: list[np.ndarray]
) -> np.ndarray:
    return apply_all({"x": Formula(dtypes, result, make, arrays)})["x"]


def exact(op: str, dtype: DType, arrays: list[np.ndarray]) -> np.ndarray:
    """Return NumPy's result, in more precision if the dtype has rounding to be judged."""
    wide = {float16: np.float32, bfloat16: np.float64, float32: np.float64}.get(dtype)
    with np.errstate(all="ignore"):
        if op in INEXACT and wide is not None:
            return PRIMITIVES[op].numpy(*[a.astype(wide) for a in arrays])
        return np.asarray(PRIMITIVES[op].numpy(*arrays))


@pytest.mark.parametrize("op", PRIMITIVES)
def test_each_primitive_has_an_instruction_or_a_sequence_or_a_formula(op: str):
    primitive = PRIMITIVES[op]
    for dtype in dtypes_of(op):
        formula = dtype.is_floating and primitive.approximation is not None
        assert formula or primitive.llvm.of(dtype) is not None or op in SEQUENCES, dtype


@pytest.mark.takes_long
@pytest.mark.parametrize("op", PRIMITIVES)
def test_primitive(op: str):
    """In all dtypes that it takes."""
    formulas = {}
    for dtype in dtypes_of(op):
        dtypes = [bool_, dtype, dtype] if op == "select" else [dtype] * PRIMITIVES[op].arity
        result = bool_ if PRIMITIVES[op].predicate else dtype
        arrays = [sample(d, seed) for seed, d in enumerate(dtypes)]
        formulas[dtype.name] = Formula(dtypes, result, lambda *args, r=result: Scalar(op, args, r), arrays)
    for name, found in apply_all(formulas).items():
        check(op, DTYPES[name], found, formulas[name])


def check(op: str, dtype: DType, found: np.ndarray, formula: Formula) -> None:
    expected, result, what = exact(op, dtype, formula.arrays), formula.result, f"{op} of {dtype.name}"
    if op in ("lgamma", "digamma", "bessel_i0e", "bessel_i1e") or (
        op == "fma" and dtype.is_floating
    ):  # differences of what may be nearly equal
        epsilon = 2.0**-7 if dtype is bfloat16 else float(np.finfo(dtype.numpy).eps)
        with np.errstate(all="ignore"):
            wanted = result.round(expected)
            np.testing.assert_allclose(found, wanted, rtol=100 * epsilon, atol=4 * epsilon, err_msg=what)
    elif op in INEXACT and dtype.is_floating:
        # Two roundings for the 16-bit types; in float64 NumPy's own error is added.
        most = 1.01 if dtype.size == 2 else 2 if dtype is float32 else 4
        assert ulps(found, expected, dtype) <= most, what
        assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all(), what
    else:
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found, result.round(expected).astype(result.numpy), what)


@pytest.mark.parametrize("to", [*REAL, bool_], ids=str)
def test_cast(to: DType):
    """From all dtypes."""
    formulas = {}
    for source in (*REAL, bool_):
        x = sample(source, 0)
        if source.is_floating and to.is_integer:
            x = np.where(np.isfinite(x) & (np.abs(x) < 127), x, 3).astype(source.numpy)
            x = np.abs(x) if to.is_unsigned else x
        formulas[source.name] = Formula([source], to, lambda x: Scalar("cast", (x,), to), [x])
    for name, found in apply_all(formulas).items():
        [x] = formulas[name].arrays
        with np.errstate(all="ignore"):
            # float64 reaches float16 in one rounding, which NumPy's own conversion does as well.
            expected = x.astype(bool) if to.is_bool else to.round(x)
        np.testing.assert_array_equal(found, expected, f"from {name}")


@pytest.mark.parametrize("to", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_cast_from_float_saturates(to: str):
    dtype = DTYPES[to]
    x = np.resize(np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 2.9, -2.9], np.float32), N)
    found = apply_native([float32], dtype, lambda x: Scalar("cast", (x,), dtype), [x])
    low, high = dtype.min, dtype.max
    expected = np.resize(np.array([0, high, low, high, low, 2, max(low, -2)], object), N).astype(dtype.numpy)
    np.testing.assert_array_equal(found, expected)


def test_cast_to_float16_rounds_once():
    # Just above the middle of two float16 numbers: through float32 it would become the middle, and then even.
    x = np.resize(np.array([1 + 2**-11 + 2**-40, 1 + 2**-11, 1 + 3 * 2**-11 - 2**-40, 1e300, 6e-8, -1e-8]), N)
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    np.testing.assert_array_equal(
        apply_native([float64], float16, lambda x: Scalar("cast", (x,), float16), [x]), expected
    )


def test_bitcast():
    """Between all dtypes of a size."""
    formulas = {}
    for source, to in itertools.permutations([d for d in REAL if d is not bfloat16], 2):
        if source.size == to.size:
            x = sample(source, 0)
            if float16 in (source, to):  # a signalling NaN does not survive the way through float32
                x = np.where(np.isfinite(x.view(np.float16)), x.view(source.numpy), source.numpy.type(1))
            label = f"{source.name}_{to.name}"
            formulas[label] = Formula([source], to, lambda x, to=to: Scalar("bitcast", (x,), to), [x])
    for label, found in apply_all(formulas).items():
        [x] = formulas[label].arrays
        np.testing.assert_array_equal(found.view(np.uint8), x.view(np.uint8), label)


def test_bfloat16_bits():
    x = sample(bfloat16, 0)
    found = apply_native(
        [bfloat16], DTYPES["uint16"], lambda x: Scalar("bitcast", (x,), DTYPES["uint16"]), [x]
    )
    np.testing.assert_array_equal(found, x.view(np.uint32) >> 16)


@pytest.mark.parametrize("op", ["floordiv", "floormod", "truncdiv", "truncmod"])
def test_division_by_constant(op: str):
    formulas, wanted = {}, {}
    for dtype in (d for d in INTEGER if d.kind == "int"):
        x = sample(dtype, 3)
        for n, divisor in enumerate((1, -1, 7, -7, 0, 8)):
            by = Const(divisor, dtype)
            formulas[f"{dtype.name}_{n}"] = Formula(
                [dtype], dtype, lambda x, by=by: Scalar(op, (x, by), by.dtype), [x]
            )
            with np.errstate(all="ignore"):
                wanted[f"{dtype.name}_{n}"] = PRIMITIVES[op].numpy(x, np.full_like(x, divisor))
    for label, found in apply_all(formulas).items():
        np.testing.assert_array_equal(found, wanted[label], label)


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize("op", ["truncmod", "floormod"])
def test_remainder_of_floats_is_exact(op: str, dtype: DType):
    """Quotients of hundreds of digits, denormal numbers, and either sign."""
    info, rng = np.finfo(dtype.numpy), np.random.default_rng(5)
    special = np.array([info.max, info.tiny, info.smallest_subnormal, 3 * info.smallest_subnormal, 1, 3, 0.1])
    sizes = np.exp2(rng.uniform(info.minexp, info.maxexp - 1, N))
    a = np.concatenate([np.repeat(special, special.size), sizes])[:N] * rng.choice([-1, 1], N)
    b = np.concatenate([np.tile(special, special.size), rng.permutation(sizes)])[:N] * rng.choice([-1, 1], N)
    a, b = a.astype(dtype.numpy), b.astype(dtype.numpy)
    found = apply_native([dtype, dtype], dtype, lambda *args: Scalar(op, args, dtype), [a, b])
    wanted = PRIMITIVES[op].numpy(a, b)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def test_unknown_operation_of_a_dtype():
    with pytest.raises(TypeError, match="no such operation on bool"):
        apply_native([bool_], bool_, lambda x: Scalar("sub", (x, x), bool_), [sample(bool_, 0)])
