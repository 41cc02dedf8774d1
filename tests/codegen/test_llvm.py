"""Loops, lanes, masks, gathers and control flow: compiled kernels do what the kernel interpreter does."""

from dataclasses import replace

import numpy as np
import pytest

from staticgraph.compiler.codegen.llvm.kernel import emit
from staticgraph.compiler.codegen.target import CpuTarget, register_bytes
from staticgraph.compiler.graph.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local, Scalar, identity
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Stmt,
    Store,
    Update,
    While,
)
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.state.memory import empty
from tests.codegen.native import Arrays, launch, run

SERIAL, SIMD, PARALLEL = LoopKind.SERIAL, LoopKind.SIMD, LoopKind.PARALLEL
WIDTHS = [16, 32, 64]


def check(kernel: Kernel, arrays: Arrays, vector_bytes: int | None = None, rtol: float = 0.0) -> Arrays:
    expected = {name: a.copy() for name, a in arrays.items()}
    interpret(kernel, expected)
    found = run(kernel, arrays, vector_bytes)
    for name in found:
        np.testing.assert_allclose(found[name], expected[name], rtol=rtol, atol=rtol, err_msg=name)
    return found


def numbers(dtype: DType, *shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_floating:
        return dtype.round(rng.normal(size=shape))
    return rng.integers(0, 5, shape).astype(dtype.numpy)


def step(combine: str, local: Local, value: Expr) -> Update:
    return Update(local, Scalar(combine, (local, value), local.dtype), combine)


def reduction(dtype: DType, combine: str, n: int, kind: LoopKind = SIMD) -> Kernel:
    i, acc = Index("i", n), Local("acc", dtype)
    body: tuple[Stmt, ...] = (
        Let(acc, identity(combine, dtype)),
        Loop(i, (step(combine, acc, Load("x", (i,), dtype)),), kind),
        Store("y", (), acc),
    )
    return Kernel("reduction", {"x": Buffer(dtype, (n,)), "y": Buffer(dtype, (), True)}, body)


@pytest.mark.takes_long
@pytest.mark.parametrize("dtype", [float32, float64, int8, int16, bool_, float16, bfloat16], ids=str)
def test_every_length_of_tail(dtype: DType):
    lanes = 64 // register_bytes(dtype)
    for n in range(2 * lanes + 2):
        i = Index("i", n)
        value = Scalar("maximum", (Load("x", (i,), dtype), Load("y", (i,), dtype)), dtype)
        buffers = {"x": Buffer(dtype, (n,)), "y": Buffer(dtype, (n,)), "z": Buffer(dtype, (n,), True)}
        arrays = {name: numbers(dtype, n, seed=k) for k, name in enumerate(buffers)}
        check(Kernel("tail", buffers, (Loop(i, (Store("z", (i,), value),), SIMD),)), arrays, 64)


@pytest.mark.takes_long
@pytest.mark.parametrize("n", [1, 2, 3, 15, 16, 17, 63, 64, 65, 200, 1000])
@pytest.mark.parametrize("combine", ["add", "mul", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", [float32, float64, int8, uint8, int32, int64], ids=str)
def test_reduction(dtype: DType, combine: str, n: int):
    x = numbers(dtype, n)
    if dtype.is_floating and combine == "mul":
        x = 1 + x / 100
    x = x.astype(dtype.numpy)
    start = np.zeros((), dtype.numpy)
    check(reduction(dtype, combine, n), {"x": x, "y": start}, rtol=1e-4 if dtype is float32 else 1e-10)


@pytest.mark.parametrize("combine", ["and", "or"])
@pytest.mark.parametrize("dtype", [bool_, int32], ids=str)
@pytest.mark.parametrize("n", [1, 70])
def test_reduction_of_bits(dtype: DType, combine: str, n: int):
    for x in (np.ones(n, dtype.numpy), np.zeros(n, dtype.numpy), numbers(dtype, n)):
        check(reduction(dtype, combine, n), {"x": x, "y": np.zeros((), dtype.numpy)})


@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=str)
def test_reduction_of_narrow_floats(dtype: DType):
    x = dtype.round(np.ones(90, np.float32))  # sums of ones are exact in any order
    assert run(reduction(dtype, "add", 90), {"x": x, "y": np.zeros((), dtype.numpy)})["y"] == 90


@pytest.mark.parametrize("combine", ["maximum", "minimum"])
def test_reduction_keeps_nan(combine: str):
    x = numbers(float32, 100)
    for place in (0, 37, 99):
        with_nan = x.copy()
        with_nan[place] = np.nan
        assert np.isnan(run(reduction(float32, combine, 100), {"x": with_nan, "y": np.zeros((), "f")})["y"])


@pytest.mark.parametrize("vector_bytes", WIDTHS)
@pytest.mark.parametrize("columns", [1, 5, 16, 64, 70, 100])
def test_column_sums(columns: int, vector_bytes: int):
    rows = 30
    i, k, acc = Index("i", columns), Index("k", rows), Local("acc", float32)
    body = (
        Let(acc, Const(0, float32)),
        Loop(k, (step("add", acc, Load("x", (k, i), float32)),)),
        Store("y", (i,), acc),
    )
    buffers = {"x": Buffer(float32, (rows, columns)), "y": Buffer(float32, (columns,), True)}
    arrays = {"x": numbers(float32, rows, columns), "y": np.zeros(columns, "f")}
    check(Kernel("columns", buffers, (Loop(i, body, SIMD),)), arrays, vector_bytes, rtol=1e-5)


def softmax(rows: int, columns: int) -> Kernel:
    i, j = Index("i", rows), [Index(f"j{k}", columns) for k in range(3)]
    most, total = Local("acc0", float32), Local("acc1", float32)
    weight = [scalar.exp(Load("x", (i, j), float32) - most) for j in j]
    body = (
        Let(most, identity("maximum", float32)),
        Loop(j[0], (step("maximum", most, Load("x", (i, j[0]), float32)),), SIMD),
        Let(total, Const(0, float32)),
        Loop(j[1], (step("add", total, weight[1]),), SIMD),
        Loop(j[2], (Store("y", (i, j[2]), weight[2] / total),), SIMD),
    )
    shape = (rows, columns)
    return Kernel(
        "softmax",
        {"x": Buffer(float32, shape), "y": Buffer(float32, shape, True)},
        (Loop(i, body, PARALLEL),),
    )


@pytest.mark.parametrize("vector_bytes", WIDTHS)
@pytest.mark.parametrize("columns", [1, 2, 10, 100])
def test_softmax(columns: int, vector_bytes: int):
    arrays = {"x": numbers(float32, 7, columns), "y": np.zeros((7, columns), "f")}
    check(softmax(7, columns), arrays, vector_bytes, rtol=1e-6)


@pytest.mark.parametrize("stride", [-1, 0, 2, 3])
def test_strided_loads_and_stores(stride: int):
    n = 37
    i = Index("i", n)
    at = i * stride + (n - 1 if stride < 0 else 0)
    size = (n - 1) * abs(stride) + 1
    buffers = {
        "x": Buffer(float32, (size,)),
        "y": Buffer(float32, (n,), True),
        "z": Buffer(float32, (size,), True),
    }
    body: tuple[Stmt, ...] = (Store("y", (i,), Load("x", (at,), float32) * 2.0),)
    if stride:
        body += (Store("z", (at,), Load("x", (at,), float32) + 1.0),)
    arrays = {"x": numbers(float32, size), "y": np.zeros(n, "f"), "z": np.zeros(size, "f")}
    check(Kernel("strided", buffers, (Loop(i, body, SIMD),)), arrays)


@pytest.mark.parametrize("index_dtype", [int32, int64, uint8], ids=str)
@pytest.mark.parametrize("dtype", [float32, float64, int8, bool_, float16], ids=str)
def test_gather_rows(dtype: DType, index_dtype: DType):
    rows, wide, n = 9, 3, 41
    i, j = Index("i", n), Index("j", wide)
    row = scalar.cast(Load("at", (i,), index_dtype), int64)
    buffers = {
        "at": Buffer(index_dtype, (n,)),
        "x": Buffer(dtype, (rows, wide)),
        "y": Buffer(dtype, (n, wide), True),
    }
    arrays = {
        "at": np.random.default_rng(0).integers(0, rows, n).astype(index_dtype.numpy),
        "x": numbers(dtype, rows, wide),
        "y": np.zeros((n, wide), dtype.numpy),
    }
    store = Store("y", (i, j), Load("x", (row, j), dtype))
    check(Kernel("gather", buffers, (Loop(j, (Loop(i, (store,), SIMD),)),)), arrays)
    check(Kernel("gather", buffers, (Loop(i, (Loop(j, (store,), SIMD),)),)), arrays)


def test_positions_divided_in_lanes():
    n = 60
    i = Index("i", n)
    position = (i // 12) * 12 + (i % 4) * 3 + (i // 4) % 3
    value = Load("x", (position,), float32) + scalar.cast(i % 7, float32)
    buffers = {"x": Buffer(float32, (n,)), "y": Buffer(float32, (n,), True)}
    check(
        Kernel("transposes", buffers, (Loop(i, (Store("y", (i,), value),), SIMD),)),
        {"x": numbers(float32, n), "y": np.zeros(n, "f")},
    )


@pytest.mark.parametrize("dtype", [float32, int32, int64, int8], ids=str)
def test_lane_index_as_value(dtype: DType):
    i = Index("i", 100)
    buffers = {"y": Buffer(dtype, (100,), True)}
    body = (Loop(i, (Store("y", (i,), scalar.cast(i * 3 - 50, dtype)),), SIMD),)
    value = run(Kernel("range", buffers, body), {"y": np.zeros(100, dtype.numpy)})["y"]
    np.testing.assert_array_equal(value, (np.arange(100) * 3 - 50).astype(dtype.numpy))


def test_small_loops_written_out():
    i, a, b = Index("i", 20), Index("a", 2), Index("b", 3)
    acc = Local("acc", float32)
    body = (
        Let(acc, identity("maximum", float32)),
        Loop(a, (Loop(b, (step("maximum", acc, Load("x", (i * 2 + a, b), float32)),)),)),
        Store("y", (i,), acc),
    )
    buffers = {"x": Buffer(float32, (40, 3)), "y": Buffer(float32, (20,), True)}
    arrays = {"x": numbers(float32, 40, 3), "y": np.zeros(20, "f")}
    for kind in (SERIAL, SIMD):
        check(Kernel("pool", buffers, (Loop(i, body, kind),)), arrays)


@pytest.mark.parametrize("extent", [20, 64, 100])
def test_a_serial_loop_over_the_index_of_lanes_before(extent: int):
    """Its numbers were those of lanes that there are no more, which was a KeyError."""
    row, i, inner = Index("row", 3), Index("i", extent), Index("inner", 16)
    number = scalar.cast(scalar.cast(i, int32), float32)
    lanes = Loop(i, (Store("x", (row, i), number * 2.0),), SIMD)
    total = Local("total", float32)
    columns = Loop(inner, (Store("y", (row, i, inner), total),), SIMD)
    serial = Loop(i, (Let(total, number + Load("x", (row, i), float32)), columns), SERIAL)
    buffers = {"x": Buffer(float32, (3, extent), True), "y": Buffer(float32, (3, extent, 16), True)}
    arrays = {"x": np.zeros((3, extent), "f"), "y": np.zeros((3, extent, 16), "f")}
    check(Kernel("numbers", buffers, (Loop(row, (lanes, serial), SERIAL),)), arrays)


def newton(kind: LoopKind) -> Kernel:
    """Square roots to 1e-3 by Newton's method: each lane needs another number of rounds."""
    i = Index("i", 45)
    x, root, rounds = Local("x", float64), Local("root", float64), Local("rounds", int32)
    body = (
        Let(x, Load("x", (i,), float64)),
        Let(root, x),
        Let(rounds, Const(0, int32)),
        While(
            scalar.abs(root * root - x) > 1e-3,
            (Update(root, (root + x / root) * 0.5), Update(rounds, rounds + 1)),
        ),
        Store("root", (i,), root),
        Store("rounds", (i,), rounds),
    )
    buffers = {
        "x": Buffer(float64, (45,)),
        "root": Buffer(float64, (45,), True),
        "rounds": Buffer(int32, (45,), True),
    }
    return Kernel("newton", buffers, (Loop(i, body, kind),))


@pytest.mark.parametrize("kind", [SERIAL, SIMD])
def test_while(kind: LoopKind):
    arrays = {"x": np.abs(numbers(float64, 45)) * 100, "root": np.zeros(45), "rounds": np.zeros(45, np.int32)}
    found = check(newton(kind), arrays, rtol=1e-12)
    assert len(set(found["rounds"])) > 3


@pytest.mark.parametrize("kind", [SERIAL, SIMD])
def test_if_guards_loads_and_stores(kind: LoopKind):
    n = 45
    i, value = Index("i", n), Local("value", float32)
    body = (
        Let(value, Const(0, float32)),
        If(
            i >= 3,
            (Update(value, Load("x", (i - 3,), float32)), If(value > 0.0, (Store("z", (i - 3,), value),))),
        ),
        Store("y", (i,), value * 2.0),
    )
    buffers = {
        "x": Buffer(float32, (n - 3,)),
        "y": Buffer(float32, (n,), True),
        "z": Buffer(float32, (n - 3,), True),
    }
    arrays = {"x": numbers(float32, n - 3), "y": np.zeros(n, "f"), "z": np.full(n - 3, 7, "f")}
    check(Kernel("guards", buffers, (Loop(i, body, kind),)), arrays)


def test_if_on_an_outer_index():
    i, j, acc = Index("i", 6), Index("j", 20), Local("acc", float32)
    body = (
        Let(acc, Const(0, float32)),
        If(scalar.eq(i % 2, 0), (Loop(j, (step("add", acc, Load("x", (i, j), float32)),), SIMD),)),
        Store("y", (i,), acc),
    )
    buffers = {"x": Buffer(float32, (6, 20)), "y": Buffer(float32, (6,), True)}
    arrays = {"x": numbers(float32, 6, 20), "y": np.zeros(6, "f")}
    check(Kernel("some", buffers, (Loop(i, body),)), arrays, rtol=1e-5)


def test_stored_elements_are_loaded_again():
    i, k = Index("i", 10), Index("k", 5)
    running = Store("y", (i,), Load("y", (i,), float32) + Load("x", (k, i), float32))
    buffers = {"x": Buffer(float32, (5, 10)), "y": Buffer(float32, (10,), True)}
    arrays = {"x": numbers(float32, 5, 10), "y": numbers(float32, 10, seed=1)}
    for body in (
        (Loop(k, (Loop(i, (running, running), SIMD),)),),
        (Loop(i, (Loop(k, (running,)),), SIMD),),
        (Loop(i, (Loop(k, (running,)),)),),
    ):
        check(Kernel("running", buffers, body), arrays)


def test_serial_kernel_may_alias():
    i = Index("i", 9)
    prefix = Store("y", (i + 1,), Load("x", (i,), float32) + Load("x", (i + 1,), float32))
    kernel = Kernel(
        "prefix", {"x": Buffer(float32, (10,)), "y": Buffer(float32, (10,), True)}, (Loop(i, (prefix,)),)
    )
    target = CpuTarget("", "", "", "", 64)
    assert "noalias" not in emit(kernel, target).phases[0].code.text


def test_locals_of_two_loops_may_share_a_name():
    i, j, t = Index("i", 20), Index("j", 20), Local("t", float32)

    def loop(index: Index, name: str, factor: float) -> Loop:
        return Loop(
            index, (Let(t, Load("x", (index,), float32) * factor), Store(name, (index,), t * t)), SIMD
        )

    buffers = {
        "x": Buffer(float32, (20,)),
        "y": Buffer(float32, (20,), True),
        "z": Buffer(float32, (20,), True),
    }
    arrays = {"x": numbers(float32, 20), "y": np.zeros(20, "f"), "z": np.zeros(20, "f")}
    check(Kernel("names", buffers, (loop(i, "y", 2.0), loop(i, "z", 3.0), loop(j, "y", 5.0))), arrays)


def test_rare_branch_of_sin_leaves_a_loop():
    i, j = Index("i", 3), Index("j", 20)
    value = scalar.sin(Load("x", (i,), float32)) * Load("w", (j,), float32) + scalar.cos(
        Load("w", (j,), float32)
    )
    buffers = {"x": Buffer(float32, (3,)), "w": Buffer(float32, (20,)), "y": Buffer(float32, (3, 20), True)}
    arrays = {"x": np.array([1, 1e20, -2], "f"), "w": numbers(float32, 20) * 1e6, "y": np.zeros((3, 20), "f")}
    check(
        Kernel("rare", buffers, (Loop(i, (Loop(j, (Store("y", (i, j), value),), SIMD),)),)), arrays, rtol=1e-6
    )


def test_equal_kernels_have_one_symbol():
    target = CpuTarget("", "", "", "", 32)

    def kernel(names: str, n: int) -> Kernel:
        x, y, i = names
        index = Index(i, n)
        store = Store(y, (index,), Load(x, (index,), float32) + 1.0)
        return Kernel(
            names, {x: Buffer(float32, (n,)), y: Buffer(float32, (n,), True)}, (Loop(index, (store,), SIMD),)
        )

    assert emit(kernel("xyi", 40), target) == emit(kernel("abj", 40), target)
    assert emit(kernel("xyi", 40), target) != emit(kernel("xyi", 41), target)


def test_invariant_code_leaves_the_loop():
    i, j = Index("i", 8), Index("j", 64)
    value = Load("x", (i, j), float32) * scalar.sqrt(Load("s", (i,), float32))
    buffers = {"x": Buffer(float32, (8, 64)), "s": Buffer(float32, (8,)), "y": Buffer(float32, (8, 64), True)}
    kernel = Kernel("scaled", buffers, (Loop(i, (Loop(j, (Store("y", (i, j), value),), SIMD),)),))
    text = emit(kernel, CpuTarget("", "", "", "", 64)).phases[0].code.text
    inner = text[text.rindex("phi i64") :]
    assert "sqrt" in text and "sqrt" not in inner and "shufflevector" not in inner


@pytest.mark.parametrize("vector_bytes", [32, 64])
@pytest.mark.parametrize("columns", [1600, 1601], ids=["aligned", "unaligned"])
def test_large_results_are_written_past_the_caches(columns: int, vector_bytes: int):
    """Rows of vectors at aligned addresses are written past the caches; others are written as ever."""
    i, j, shape = Index("i", 2048), Index("j", columns), (2048, columns)
    store = Store("y", (i, j), Load("x", (j,), float32) + scalar.cast(i, float32))
    buffers = {"x": Buffer(float32, (columns,)), "y": Buffer(float32, shape, True)}
    kernel = Kernel("sum", buffers, (Loop(i, (Loop(j, (store,), SIMD),)),))
    code = emit(kernel, replace(cpu_jit.host(), vector_bytes=vector_bytes))
    assert ("!nontemporal" in code.phases[0].code.text) == (columns == 1600)
    x, y = numbers(float32, columns), empty(TensorType(float32, shape))
    launch(code, [x.ctypes.data, y.ctypes.data])
    np.testing.assert_array_equal(y, x + np.arange(2048, dtype=np.float32)[:, None])


@pytest.mark.parametrize("function", ["sqrt", "exp", "tanh"])
def test_what_takes_long_to_compute_is_written_through_the_caches(function: str):
    """Two results some pages apart, written past the caches, took Black-Scholes three times as long."""
    i = Index("i", 4 << 20)
    x = Load("x", (i,), float32)
    y = getattr(scalar, function)(x)
    stores = Store("y", (i,), y), Store("z", (i,), y * x)
    buffers = {name: Buffer(float32, (i.extent,), name != "x") for name in "xyz"}
    text = emit(Kernel("two", buffers, (Loop(i, stores, SIMD),)), cpu_jit.host()).phases[0].code.text
    assert ("!nontemporal" in text) == ("fence" in text) == (function == "sqrt")


def test_without_contraction():
    i = Index("i", 32)
    store = Store("y", (i,), Load("x", (i,), float32) * 3.0 + 1.0)
    kernel = Kernel(
        "exact", {"x": Buffer(float32, (32,)), "y": Buffer(float32, (32,), True)}, (Loop(i, (store,), SIMD),)
    )
    x = numbers(float32, 32)
    found = run(kernel, {"x": x, "y": np.zeros(32, "f")}, contract=False)["y"]
    np.testing.assert_array_equal(found, x * np.float32(3) + np.float32(1))


def test_lanes_cannot_assign_to_an_outer_local():
    i, last = Index("i", 32), Local("last", float32)
    body = (
        Let(last, Const(0, float32)),
        Loop(i, (Update(last, Load("x", (i,), float32)),), SIMD),
        Store("y", (), last),
    )
    kernel = Kernel("last", {"x": Buffer(float32, (32,)), "y": Buffer(float32, (), True)}, body)
    with pytest.raises(ValueError, match="lanes cannot share last"):
        emit(kernel, CpuTarget("", "", "", "", 64))


@pytest.mark.parametrize("n", [2, 3, 40])
def test_what_is_computed_of_a_copy_of_a_changing_local_changes_in_each_iteration(n: int):
    """Short loops are unrolled: the second iteration must not take over what the first one computed."""
    i, total, copy, inverse = Index("i", n), *(Local(name, float32) for name in ("total", "copy", "inverse"))
    body = (
        Let(total, Load("x", (Const(0, int64),), float32)),
        Loop(
            i,
            (
                Let(copy, total),
                Let(inverse, 1.0 / copy),
                Store("y", (i,), inverse),
                Update(total, Load("x", (i,), float32) + inverse),
            ),
        ),
    )
    kernel = Kernel("copies", {"x": Buffer(float32, (n,)), "y": Buffer(float32, (n,), True)}, body)
    check(kernel, {"x": numbers(float32, n) + 3, "y": np.zeros(n, "f")}, rtol=1e-6)
