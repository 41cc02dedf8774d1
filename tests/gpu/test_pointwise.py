"""Nests without reductions: random ones do what they mean, and the text has vectors where it should."""

import numpy as np
import pytest

from staticgraph.compiler.codegen.cuda.function import KernelWork
from staticgraph.compiler.graph.dtypes import DTYPES, bool_, float32, float64, int64, uint64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Reduce, walk
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.compiler.ops.random_numbers import philox
from tests.codegen.native import loaded, stored
from tests.gpu.printing import pointwise
from tests.gpu.random_kernels import drawn, without_reductions
from tests.gpu.running import compiled, run, unset
from tests.gpu.test_statements import meant
from tests.kernel.cases import CASES, Arrays, array, filled, result, unplaced

x, y = (lambda *at: Load("x", at, float32)), (lambda *at: Load("y", at, float32))


def plain(stores: tuple[Store, ...]) -> bool:
    return not any(isinstance(e, Reduce) for s in stores for e in walk(s.value))


def of(domain: tuple[Index, ...], stores: tuple[Store, ...], buffers: dict[str, Buffer]) -> KernelWork:
    return KernelWork(tuple(pointwise([Nest(domain, stores)], buffers)))


@pytest.mark.takes_long
def test_random_nests():
    programs = [without_reductions(program) for program in drawn(100)]
    works = [of(domain, stores, buffers) for buffers, domain, stores in programs]
    unit = compiled(works)
    for (buffers, domain, stores), work in zip(programs, works, strict=True):
        arrays = filled(buffers)
        kernel = unplaced("meaning", buffers, domain, stores)
        expected, found = meant(kernel, arrays), run(work, arrays, unit)
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, err_msg=kernel_text(kernel))


def test_cases():
    chosen = [c for c in CASES if plain(c.stores)]
    works = [of(c.domain, c.stores, c.buffers) for c in chosen]
    unit = compiled(works)
    for case, work in zip(chosen, works, strict=True):
        arrays = {name: np.abs(a) for name, a in filled(case.buffers, 1).items()}
        found = run(work, arrays, unit)
        for name, expected in case.expected(arrays).items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.takes_long
def test_every_length_and_dtype():
    """Vectors, and what is left over, for each size of elements."""
    lengths = [*range(1, 10), 16, 17, 1030]
    dtypes = [d for d in DTYPES.values() if d.kind in ("float", "int", "uint", "bool")]
    cases = [(n, dtype) for n in lengths for dtype in dtypes if n < 10 or dtype.size in (1, 4)]
    works = []
    for n, dtype in cases:
        i = Index("i", n)
        buffers = {"a": Buffer(dtype, (n,)), "z": Buffer(dtype, (n,), written=True)}
        works.append(of((i,), (Store("z", (i,), scalar.maximum(Load("a", (i,), dtype), 0)),), buffers))
    unit = compiled(works)
    for (n, dtype), work in zip(cases, works, strict=True):
        a = filled({"a": Buffer(dtype, (n,))}, n)["a"]
        a = a > 0 if dtype.is_bool else a
        memory = stored(dtype, a)
        found = run(work, {"a": memory, "z": unset((n,), memory.dtype)}, unit)
        np.testing.assert_array_equal(loaded(dtype, found["z"]), np.maximum(a, 0))


@pytest.mark.parametrize(("name", "lanes"), [("float64", 2), ("float32", 4), ("bfloat16", 8), ("int8", 8)])
def test_vectors_of_16_bytes(name: str, lanes: int):
    dtype, i = DTYPES[name], Index("i", 1024)
    buffers = {"a": Buffer(dtype, (1024,)), "z": Buffer(dtype, (1024,), written=True)}
    (call,) = of((i,), (Store("z", (i,), -Load("a", (i,), dtype)),), buffers).calls
    assert call.function.text.count("reinterpret_cast<const Vector") == 1
    assert f", {lanes}>*>(z + " in call.function.text
    assert call.function.grid == (1024 // lanes // 256 or 1, 1, 1)


def test_operands_that_are_alike_for_neighbours():
    """Rows are read as vectors where they are long enough, what is one for the whole row is read once."""
    i, j = Index("i", 6), Index("j", 8)
    gain, shift, number = Load("g", (j,), float32), Load("s", (i,), float32), Load("n", (), float32)
    buffers = {"x": array(6, 8), "g": array(8), "s": array(6), "n": array(), "z": result(6, 8)}
    value = x(i, j) * gain + shift * number
    work = of((i, j), (Store("z", (i, j), value),), buffers)
    text = work.calls[0].function.text
    assert text.count("reinterpret_cast<const Vector<float, 4>*>") == 2
    assert text.count("= s[") == text.count("= n[") == 1
    a = filled(buffers, 2)
    expected = a["x"] * a["g"] + a["s"][:, None] * a["n"]
    np.testing.assert_allclose(run(work, a)["z"], expected, rtol=1e-5, atol=1e-6)


def dropout(n: int) -> tuple[Expr, dict[str, Buffer]]:
    i = Index("i", n)
    state = [Load("state", (Const(k, int64),), uint64) for k in range(3)]
    words = philox.words(state[0] + scalar.cast(i // 4, uint64), state[1], state[2])
    number = philox.pick(philox.uniform(words, float32), i % 4)
    return scalar.select(number < 0.5, x(i), 0.0), {
        "state": Buffer(uint64, (3,)),
        "x": array(n),
        "z": result(n),
    }


def test_neighbours_share_a_block_of_random_bits():
    value, buffers = dropout(1002)
    work = of((Index("i", 1002),), (Store("z", (Index("i", 1002),), value),), buffers)
    state = np.array([5, 2**40 + 3, 2**33 + 1], np.uint64)
    data = np.arange(1002, dtype=np.float32) + 1
    found = run(work, {"state": state, "x": data, "z": unset((1002,), np.float32)})
    words = philox.numpy_words(5 + np.arange(251), 2**40 + 3, 2**33 + 1)
    uniform = philox.numpy_uniform(words, float32).reshape(-1)[:1002]
    np.testing.assert_array_equal(found["z"], np.where(uniform < 0.5, data, 0))
    vectors, rest = work.calls[0].function.text.split("if (blockIdx.x == 0")
    assert vectors.count("wide_mul(") <= 20  # two in each of ten rounds, for four numbers
    assert rest.count("wide_mul(") <= 20


def updates(sizes: list[int]) -> tuple[list[Nest], dict[str, Buffer], Arrays]:
    """An update with momentum for each of some variables."""
    nests, buffers = [], {"rate": array()}
    for n, size in enumerate(sizes):
        i = Index("i", size)
        w, m, g = (Load(f"{kind}{n}", (i,), float32) for kind in "wmg")
        moved = m * 0.5 + g
        stores = (Store(f"m{n}", (i,), moved), Store(f"w{n}", (i,), w - moved * Load("rate", (), float32)))
        nests.append(Nest((i,), stores))
        buffers |= {f"w{n}": result(size), f"m{n}": result(size), f"g{n}": array(size)}
    return nests, buffers, filled(buffers, 4)


def test_many_nests_are_one_function():
    sizes = [3, 1024, 17, 5000, 1, 260]
    nests, buffers, arrays = updates(sizes)
    calls = pointwise(nests, buffers)
    assert len(calls) == 1
    found = run(KernelWork(tuple(calls)), arrays)
    for n in range(len(sizes)):
        m = arrays[f"m{n}"] * np.float32(0.5) + arrays[f"g{n}"]
        np.testing.assert_allclose(found[f"m{n}"], m, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found[f"w{n}"], arrays[f"w{n}"] - m * arrays["rate"], rtol=1e-5, atol=1e-6)


def test_more_buffers_than_a_function_takes():
    nests, buffers, _ = updates([2] * 170)
    calls = pointwise(nests, buffers)
    assert len(calls) == 2
    assert sorted(a for c in calls for a in c.arguments if a.startswith("m")) == sorted(
        name for name in buffers if name.startswith("m")
    )


def test_nests_that_need_each_other_come_in_order():
    i, j = Index("i", 40), Index("j", 40)
    first = Nest((i,), (Store("y", (i,), x(i) + 1.0),))
    second = Nest((j,), (Store("z", (j,), y(Const(39, int64) - j) * 2.0),))
    buffers = {"x": array(40), "y": result(40), "z": result(40)}
    calls = pointwise([first, second], buffers)
    assert len(calls) == 2
    arrays = filled(buffers)
    np.testing.assert_array_equal(run(KernelWork(tuple(calls)), arrays)["z"], (arrays["x"][::-1] + 1) * 2)


def test_what_is_read_by_all_is_written_after():
    """A number in place, as the power of a decay, that every element of another store reads."""
    i = Index("i", 700)
    power = Load("p", (), float32)
    stores = (Store("p", (), power * 0.5), Store("y", (i,), y(i) * power))
    buffers = {"p": result(), "y": result(700)}
    work = of((i,), stores, buffers)
    arrays = filled(buffers, 5)
    found = run(work, arrays)
    assert len(work.calls) == 2
    np.testing.assert_array_equal(found["y"], arrays["y"] * arrays["p"])
    np.testing.assert_array_equal(found["p"], arrays["p"] * np.float32(0.5))


def test_loops_without_iterations():
    i, j = Index("i", 0), Index("j", 3)
    stores = (Store("z", (j, i), Const(1.0, float32)), Store("y", (j,), Const(2.0, float32)))
    work = of((j, i), stores, {"z": result(3, 0), "y": result(3)})
    assert len(work.calls) == 1
    np.testing.assert_array_equal(run(work, {"z": np.zeros((3, 0)), "y": np.zeros(3, np.float32)})["y"], 2)


def test_positions_beyond_int32():
    n = 3 << 30
    i = Index("i", n)
    buffers = {"a": Buffer(bool_, (n,)), "z": Buffer(float64, (n,), written=True)}
    value = scalar.cast(Load("a", (i,), bool_), float64)
    (call,) = of((i,), (Store("z", (i,), value),), buffers).calls
    assert "int64_t(vector) * 2" in call.function.text
    assert call.function.grid == (n // 2 // 512, 1, 1)


def test_two_vectors_for_a_thread():
    """Of a large array, whose last block is not full."""
    n = (1 << 19) + 4 * 100 + 3
    i = Index("i", n)
    buffers = {"x": array(n), "z": result(n)}
    work = of((i,), (Store("z", (i,), x(i) + 1.0),), buffers)
    assert work.calls[0].function.grid == (257, 1, 1)
    data = np.arange(n, dtype=np.float32)
    np.testing.assert_array_equal(run(work, {"x": data, "z": unset((n,), np.float32)})["z"], data + 1)
