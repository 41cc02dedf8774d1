"""Order: every algorithm of `top_k` finds the same as a stable sort, bit by bit, for inputs of any kind."""

from dataclasses import replace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.generate import generate
from staticgraph.compiler.graph.dtypes import REAL, as_dtype, bfloat16, float32
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.ops.ordering.sorting import top_k
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import GUARD, each_width, guarded, inside, launch
from tests.gpu.routines import Case

pytestmark = pytest.mark.takes_long

# Rows for a selection of few, for counting, for digits one row at a time and in chunks, and by parts.
SHAPES = [
    ((3, 200), 3),
    ((3, 90), 30),
    ((3, 7), 7),
    ((3, 50), 20),
    ((2, 64), 64),
    ((4, 65), 65),
    ((5, 300), 40),
    ((40_000,), 40_000),
]
SHAPES += [((2, 20_000), 15_000), ((70, 2), 2), ((3, 1000), 30), ((2, 10_000), 7)]
SHAPES += [((4, 1), 1), ((70, 60), 1), ((3, 3000), 1)]  # one is the first of the best
SHAPES += [((5, 16), 4), ((4, 60), 2), ((3, 500), 8)]  # few, one by one
DTYPES = sorted(REAL, key=lambda dtype: dtype.name)


def numbers(shape, dtype, rng):
    """Numbers of which many are equal; zeros of both signs, infinities, NaN and both ends of the range."""
    if not dtype.is_floating:
        x = rng.integers(max(dtype.min, -1000), min(dtype.max, 1000), shape).astype(dtype.numpy)
        x.reshape(-1)[::50], x.reshape(-1)[1::50] = dtype.min, dtype.max
        return x
    x = np.asarray(dtype.round(rng.integers(-400, 400, shape) / 4))
    for n, special in enumerate((np.nan, -np.inf, np.inf, -0.0, 0.0, -np.nan, dtype.max, dtype.min)):
        x.reshape(-1)[n :: 30 + n] = special
    return x


def stable(x, k):
    """The best k, without any sort of a library: Python's, of pairs."""
    flat = x.reshape(-1, x.shape[-1])
    keys = np.where(np.isnan(flat), -np.inf, flat) if flat.dtype.kind == "f" else flat
    order = np.array([sorted(range(len(row)), key=lambda i: (-row[i], i)) for row in keys.tolist()])
    order = order[:, :k].reshape(*x.shape[:-1], k)
    return np.take_along_axis(x, order, -1), order


@pytest.mark.parametrize(("shape", "k"), SHAPES)
def test_the_same_as_a_stable_sort(shape, k, rng):
    """Of all dtypes in one step."""
    arrays = {dtype: numbers(shape, dtype, rng) for dtype in DTYPES}
    with sg.Graph().as_default(), sg.Session() as sess:
        given = {dtype: sg.placeholder(dtype, shape) for dtype in DTYPES}
        feeds = {
            given[d]: sess.run(given[d], {given[d]: x}) if d is bfloat16 else x for d, x in arrays.items()
        }
        made = sess.run([list(sg.nn.top_k(x, k)) for x in given.values()], feeds)
    for (dtype, x), (values, places) in zip(arrays.items(), made, strict=True):
        wanted, order = stable(x, k)
        np.testing.assert_array_equal(places, order, str(dtype))
        if dtype is bfloat16:
            np.testing.assert_array_equal(values.astype(np.float32), wanted)
        else:
            assert values.tobytes() == wanted.tobytes(), dtype


@pytest.mark.parametrize("shape", [(33,), (200,), (30_000,)])
def test_rows_that_are_in_order_already(shape, rng):
    """Of every kind, by one program."""
    n = shape[-1]
    rows = {
        "ascending": np.arange(n) / 7,
        "descending": -np.arange(n) / 7,
        "equal": np.full(n, 3.5),
        "nan": np.full(n, np.nan),
        "zeros": np.where(np.arange(n) % 3, 0.0, -0.0),
        "ends": np.where(rng.random(n) < 0.5, np.inf, -np.inf),
        "two": rng.integers(0, 2, n),
    }
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(sg.float32, shape)
        made = [
            sg.sort(given),
            sg.sort(given, direction="DESCENDING"),
            sg.argsort(given),
            sg.argsort(given, direction="DESCENDING"),
        ]
        for kind, row in rows.items():
            x = row.astype(np.float32)
            up, down, order, back = sess.run(made, {given: x})
            np.testing.assert_array_equal(up, np.sort(x), kind)
            np.testing.assert_array_equal(order, np.argsort(x, kind="stable"), kind)
            values, places = stable(x, n)
            assert down.tobytes() == values.tobytes(), kind
            np.testing.assert_array_equal(back, places, kind)


@pytest.mark.parametrize(("n", "k"), [(4096, 20), (3000, 1), (700, 350)])
def test_rows_whose_best_are_in_few_parts(n, k, rng):
    """A cut-off by parts lets too many through if one part has all of the best."""
    x = rng.standard_normal((2, n)).astype(np.float32)
    first = np.arange(n)
    rows = {
        "one part": x + np.float32(100) * (first % 128 == 0),
        "in order": np.sort(x),
        "equal": np.broadcast_to(np.where(first % 3, np.float32(-0.0), np.float32(0.0)), x.shape).copy(),
        "few": np.where(first < 5, x, np.float32(np.nan)),
    }
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(sg.float32, x.shape)
        made = list(sg.nn.top_k(given, k))
        for kind, row in rows.items():
            values, places = sess.run(made, {given: row})
            wanted, order = stable(row, k)
            assert values.tobytes() == wanted.tobytes(), kind
            np.testing.assert_array_equal(places, order, kind)


def test_a_heap_takes_any_size(rng):
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(sg.float32, [None, None])
        made = list(sg.nn.top_k(given, 5))
        for shape in ((3, 5), (2, 40), (7, 900)):
            x = numbers(shape, float32, rng)
            values, places = sess.run(made, {given: x})
            wanted, order = stable(x, 5)
            assert values.tobytes() == wanted.tobytes()
            np.testing.assert_array_equal(places, order)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64"])
def test_bytes_and_the_widest_numbers(dtype, rng):
    x = rng.integers(0, 2, 5000).astype(dtype)
    if dtype == "uint64":
        x = rng.integers(0, 1 << 64, 20_000, dtype=np.uint64)
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(dtype, x.shape)
        keys = sg.cast(given, sg.int32) if dtype == "bool" else given
        assert (sess.run(sg.argsort(keys), {given: x}) == np.argsort(x, kind="stable")).all()


@pytest.mark.by_turns("vector_bytes")
@each_width
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
@pytest.mark.parametrize(
    ("shape", "k"),
    [
        ((9, 200), 3),
        ((2, 900), 50),
        ((2, 9000), 3),
        ((4, 40), 40),
        ((5, 9), 4),
        ((3, 200), 150),
        ((40_000,), 40_000),
    ],
)
def test_chunks_in_any_order_and_vectors_of_any_width(shape, k, dtype, vector_bytes, rng):
    """As machine code whose chunks run in an order of no meaning, and interpreted number by number."""
    target = cpu_jit.host()
    x = numbers(shape, as_dtype(dtype), rng)
    kernel = Case(top_k, ((as_dtype(dtype), x),), {"k": k}).kernel
    code = generate(kernel, replace(target, vector_bytes=vector_bytes))
    if x.size == 40_000:
        assert max(phase.chunks for phase in code.phases) > 1
    values, places = stable(x, k)
    for order in range(3):
        memory = [guarded(a) for a in (np.zeros_like(values), np.zeros(places.shape, np.int32), x)]
        launch(code, [m.ctypes.data + GUARD for m in memory], order=order)
        assert inside(memory[0]).view(x.dtype).reshape(values.shape).tobytes() == values.tobytes()
        assert (inside(memory[1]).view(np.int32).reshape(places.shape) == places).all()
    if x.size < 40_000 and vector_bytes == 16:  # no vector takes part in what the kernel means
        arrays = {"x0": x, "y0": np.zeros_like(values), "y1": np.zeros(places.shape, np.int32)}
        interpret(kernel, arrays, backwards=True)
        assert arrays["y0"].tobytes() == values.tobytes()
        assert (arrays["y1"] == places).all()


def test_the_same_bits_in_any_number_of_threads(rng):
    x, found, before = numbers((50_000,), float32, rng), set(), sg.get_num_threads()
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(sg.float32, x.shape)
        made = list(sg.nn.top_k(given, 40_000))
        for threads in (1, 2, 3, 7):
            sg.set_num_threads(threads)
            values, order = sess.run(made, {given: x})
            found.add((values.tobytes(), order.tobytes()))
    sg.set_num_threads(before)
    assert len(found) == 1


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "uint64"])
def test_different_integers(dtype, rng):
    """By a table where they are close together, by a sort where they are not; at both ends of the range."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    spans = {
        "lowest": (low, min(high, low + 900)),
        "middle": (max(low, -450), min(high, 450)),
        "highest": (max(low, high - 900), high),
        "all": (low, high),
    }
    with sg.Graph().as_default(), sg.Session() as sess:
        for kind in (dtype, "float32"):
            given = sg.placeholder(kind, [3000])
            made = list(sg.unique_with_counts(given))
            for span in spans if kind == dtype else ["middle"]:
                x = rng.integers(*spans[span], 3000, dtype=dtype, endpoint=True).astype(kind)
                check_different(x, *sess.run(made, {given: x}), span)


def check_different(x, different, places, counts, span):
    wanted = list(dict.fromkeys(x.tolist()))  # in order of first appearance
    assert different.tolist() == wanted, span
    assert different.dtype == x.dtype
    assert (different[places] == x).all(), span
    assert (counts == [(x == value).sum() for value in different]).all(), span


@pytest.mark.parametrize("low", [0, -7, 1 << 20])
def test_integers_that_appear_late_or_once_are_found(low, rng):
    x = rng.integers(low, low + 50, 60_000)
    x[[4095, 4096, 20_479, 20_480, 59_999]] = low + np.arange(60, 65)
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(x.dtype, x.shape)
        different, places = sess.run(list(sg.unique(given)), {given: x})
    assert different.tolist() == list(dict.fromkeys(x.tolist()))
    assert places.dtype == np.int32
    np.testing.assert_array_equal(different[places], x)
