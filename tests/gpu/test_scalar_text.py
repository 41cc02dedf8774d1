"""Every scalar primitive in every dtype, in CUDA C, gives what NumPy gives."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.codegen.cuda.scalar import apply, has_text
from staticgraph.compiler.graph.dtypes import DType, bfloat16, bool_, float16, float32, float64, int32
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Scalar
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.primitives.functions import PRIMITIVES
from staticgraph.compiler.kernel.scalar import cast
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Loop, Store
from staticgraph.runtime.gpu.cuda import nvrtc
from tests.codegen.native import loaded, stored, ulps
from tests.codegen.test_llvm_scalar import INEXACT, INTEGER, REAL, N, dtypes_of, exact, sample
from tests.gpu.printing import pointwise, statements
from tests.gpu.running import compiled, run, unset

pytestmark = pytest.mark.takes_long

EVERY = [*REAL, bool_]
Arrays = dict[str, np.ndarray]
Formula = Callable[[dict[str, Expr]], Expr]
Sources = dict[str, tuple[DType, np.ndarray]]
Results = dict[str, tuple[DType, Formula]]


def computed(problems: Sequence[tuple[Sources, Results]]) -> list[Arrays]:
    """Expressions of the elements of some arrays, those of a problem by one function, compiled at once."""
    works = [_work(*problem) for problem in problems]
    unit = compiled(works)
    answers = []
    for (sources, results), work in zip(problems, works, strict=True):
        memory = {name: stored(dtype, array) for name, (dtype, array) in sources.items()}
        memory |= {name: unset((N,), memory_type(dtype)) for name, (dtype, _) in results.items()}
        found = run(work, memory, unit, schedules=(0,))
        answers.append({name: loaded(dtype, found[name]) for name, (dtype, _) in results.items()})
    return answers


def _work(sources: Sources, results: Results) -> KernelWork:
    i = Index("i", N)
    loads: dict[str, Expr] = {name: Load(name, (i,), dtype) for name, (dtype, _) in sources.items()}
    buffers = {name: Buffer(dtype, (N,)) for name, (dtype, _) in sources.items()}
    buffers |= {name: Buffer(dtype, (N,), written=True) for name, (dtype, _) in results.items()}
    stores = [Store(name, (i,), make(loads)) for name, (_, make) in results.items()]
    return statements(Kernel("scalars", buffers, (Loop(i, tuple(stores)),)))


def memory_type(dtype: DType) -> np.dtype:
    return np.dtype(np.uint16) if dtype is bfloat16 else dtype.numpy


def of(op: str, *names: str, to: DType) -> Formula:
    return lambda loads: Scalar(op, tuple(loads[name] for name in names), to)


def test_each_primitive_has_a_text_or_a_formula():
    for op, primitive in PRIMITIVES.items():
        for dtype in dtypes_of(op):
            assert has_text(op, dtype) or (dtype.is_floating and primitive.approximation), f"{op} of {dtype}"


def test_primitives():
    operands = {1: ("x0",), 2: ("x0", "x1"), 3: ("x0", "x1", "x2")}
    problems, questions = [], []
    for dtype in EVERY:
        sources = {f"x{seed}": (dtype, sample(dtype, seed)) for seed in range(3)}
        sources["truth"] = (bool_, sample(bool_, 0))
        ops = [op for op in PRIMITIVES if dtype in dtypes_of(op)]
        names = {op: operands[PRIMITIVES[op].arity] for op in ops} | {"select": ("truth", "x1", "x2")}
        types = {op: bool_ if PRIMITIVES[op].predicate else dtype for op in ops}
        results = {f"y_{op}": (types[op], of(op, *names[op], to=types[op])) for op in ops}
        problems.append((sources, results))
        questions.append({op: [sources[name][1] for name in names[op]] for op in ops})
    for dtype, asked, found in zip(EVERY, questions, computed(problems), strict=True):
        for op, arrays in asked.items():
            compare(op, dtype, found[f"y_{op}"], exact(op, dtype, arrays))


def compare(op: str, dtype: DType, found: np.ndarray, expected: np.ndarray) -> None:
    what, result = f"{op} of {dtype}", bool_ if PRIMITIVES[op].predicate else dtype
    with np.errstate(all="ignore"):
        rounded = result.round(expected).astype(result.numpy)
    if op in ("lgamma", "digamma", "bessel_i0e", "bessel_i1e") or (op == "fma" and dtype.is_floating):
        # Differences of what may be nearly equal.
        epsilon = 2.0**-7 if dtype is bfloat16 else float(np.finfo(dtype.numpy).eps)
        np.testing.assert_allclose(found, rounded, rtol=100 * epsilon, atol=4 * epsilon, err_msg=what)
    elif op in INEXACT and dtype.is_floating:
        most = 1.01 if dtype.size == 2 else 2 if dtype is float32 else 4
        assert ulps(found, expected, dtype) <= most, what
        assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all(), what
    else:
        np.testing.assert_array_equal(found, rounded, err_msg=what)


def test_casts():
    sources = [(dtype, sample(dtype, 0)) for dtype in EVERY]
    targets = [{f"y_{to}": (to, of("cast", "x", to=to)) for to in EVERY if to is not d} for d, _ in sources]
    found = computed([({"x": source}, results) for source, results in zip(sources, targets, strict=True)])
    for (source, x), results, answers in zip(sources, targets, found, strict=True):
        for name, (to, _) in results.items():
            expected = casted(x, to)
            np.testing.assert_array_equal(answers[name], expected, err_msg=f"{source} to {to}")


def casted(x: np.ndarray, to: DType) -> np.ndarray:
    """Return the meaning of a cast: NumPy leaves open what becomes of floats that do not fit an integer."""
    if to.is_bool:
        return x.astype(bool)
    if x.dtype.kind == "f" and to.is_integer:
        ends = {np.inf: to.max, -np.inf: to.min}
        whole = [0 if np.isnan(v) else ends[float(v)] if np.isinf(v) else int(v) for v in x]
        return np.array([max(min(v, int(to.max)), int(to.min)) for v in whole], object).astype(to.numpy)
    with np.errstate(all="ignore"):
        return to.round(x)


def test_cast_to_float16_rounds_once():
    # Just above the middle of two float16 numbers: through float32 it would become the middle, and then even.
    x = np.resize(np.array([1 + 2**-11 + 2**-40, 1 + 2**-11, 1 + 3 * 2**-11 - 2**-40, 1e300, 6e-8, -1e-8]), N)
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    (found,) = computed([({"x": (float64, x)}, {"y": (float16, of("cast", "x", to=float16))})])
    np.testing.assert_array_equal(found["y"], expected)


@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=str)
def test_all_numbers_of_16_bits(dtype: DType):
    """Each of them, and what lies between it and the next, to float32 and back."""
    count, i = 1 << 16, Index("i", 1 << 16)
    buffers = {"x": Buffer(float32, (count,)), "half": Buffer(dtype, (count,))}
    buffers |= {"wide": Buffer(float32, (count,), True), "narrow": Buffer(dtype, (count,), True)}
    wider = Store("wide", (i,), cast(Load("half", (i,), dtype), float32))
    narrower = Store("narrow", (i,), cast(Load("x", (i,), float32), dtype))
    work = statements(Kernel("halves", buffers, (Loop(i, (wider, narrower)),)))
    unit = compiled([work])
    halves = np.arange(count, dtype=np.uint16).view(memory_type(dtype))
    wide = loaded(dtype, halves).astype(np.float32)
    with np.errstate(all="ignore"):
        after = np.nextafter(wide, np.float32(np.inf))
        middle = ((wide.astype(np.float64) + np.roll(wide, -1)) / 2).astype(np.float32)
        for numbers in (wide, after, middle):
            memory = {"x": numbers, "half": halves, "wide": wide * 0, "narrow": halves.copy()}
            found = run(work, memory, unit, schedules=(0,))
            np.testing.assert_array_equal(found["wide"], wide)
            np.testing.assert_array_equal(loaded(dtype, found["narrow"]), dtype.round(numbers))


def test_bitcasts():
    problems = []
    for source in REAL:
        x = sample(source, 0)
        if source.size == 2:  # a signalling NaN does not survive the way through float
            exponent = stored(source, x).view(np.uint16) & 0x7C00
            x = np.where(exponent == 0x7C00, 1, x).astype(x.dtype)
        alike = [to for to in REAL if to.size == source.size and to is not source]
        problems.append(({"x": (source, x)}, {f"y_{to}": (to, of("bitcast", "x", to=to)) for to in alike}))
    for (sources, results), found in zip(problems, computed(problems), strict=True):
        source, x = sources["x"]
        for name, (to, _) in results.items():
            raw, meant = stored(to, found[name]).view(np.uint8), stored(source, x).view(np.uint8)
            np.testing.assert_array_equal(raw, meant, err_msg=f"{source} to {to}")


def test_division_by_constants():
    ops = ("floordiv", "floormod", "truncdiv", "truncmod")
    problems, questions = [], []
    for dtype in INTEGER:
        divisors = [1, 7, 0, 8, int(dtype.max)] + ([-1, -7, int(dtype.min)] if dtype.kind == "int" else [])
        asked = {f"y{n}": case for n, case in enumerate(itertools.product(ops, divisors))}
        results: Results = {
            name: (dtype, lambda x, op=op, by=by, d=dtype: Scalar(op, (x["x"], Const(by, d)), d))
            for name, (op, by) in asked.items()
        }
        problems.append(({"x": (dtype, sample(dtype, 3))}, results))
        questions.append(asked)
    for (sources, _), asked, found in zip(problems, questions, computed(problems), strict=True):
        dtype, x = sources["x"]
        for name, (op, by) in asked.items():
            with np.errstate(all="ignore"):
                expected = PRIMITIVES[op].numpy(x, np.full_like(x, by))
            np.testing.assert_array_equal(found[name], expected, err_msg=f"{op} of {dtype} by {by}")


def test_constants():
    problems, questions = [], []
    for dtype in EVERY:
        special = [0.0, -0.0, np.inf, -np.inf, np.nan] if dtype.is_floating else [dtype.min, dtype.max]
        numbers = [*special, *dict.fromkeys(sample(dtype, 1)[:30].tolist())]
        values = {f"y{n}": Const(number, dtype) for n, number in enumerate(numbers)}
        problems.append(({}, {name: (dtype, lambda _, v=v: v) for name, v in values.items()}))
        questions.append(values)
    for values, found in zip(questions, computed(problems), strict=True):
        for name, value in values.items():
            expected = value.dtype.round(value.value)
            np.testing.assert_array_equal(found[name], np.full(N, expected))
            if value.dtype.is_floating:
                assert (np.signbit(found[name]) == np.signbit(expected)).all()


def test_unknown_operation_of_a_dtype():
    with pytest.raises(TypeError, match="no such operation on bool"):
        apply("sub", bool_, "a", "b")
    with pytest.raises(TypeError, match="no such operation on int32"):
        apply("div", int32, "a", "b")


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not here: pip install nvidia-cuda-nvrtc")
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_no_function_spills_registers(architecture: str):
    """Not even in vectors, where several elements are computed together."""
    i, functions = Index("i", 1000), {}
    for op, dtype in itertools.product(PRIMITIVES, (float32, int32)):
        if dtype in dtypes_of(op):
            result = bool_ if PRIMITIVES[op].predicate else dtype
            dtypes = [bool_, dtype, dtype] if op == "select" else [dtype] * PRIMITIVES[op].arity
            value = Scalar(op, tuple(Load(f"x{k}", (i,), d) for k, d in enumerate(dtypes)), result)
            buffers = {f"x{k}": Buffer(d, (1000,)) for k, d in enumerate(dtypes)}
            buffers["y"] = Buffer(result, (1000,), written=True)
            for call in pointwise([Nest((i,), (Store("y", (i,), value),))], buffers):
                functions[call.function.name] = call.function
    usage = nvrtc.inspect(list(functions.values()), architecture).usage
    assert usage.keys() == functions.keys()
    assert not [name for name, used in usage.items() if used.spilled or used.registers > 64]
