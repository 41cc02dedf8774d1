"""Elements in order without their positions: the bits of a stable sort, by networks and by digits of keys."""

from dataclasses import replace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.generate import generate
from staticgraph.compiler.graph.dtypes import REAL, as_dtype, bfloat16, float32
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.ops.ordering.networks import exchanges
from staticgraph.compiler.ops.ordering.ordered_values import top_values
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import GUARD, each_width, guarded, inside, launch
from tests.gpu.routines import Case
from tests.ops.test_sorting import numbers, stable

# For networks of one block, of several, and of far ones; by digits of one row, and in chunks.
SHAPES = [((9, 7), 7), ((17, 33), 33), ((3, 300), 299), ((40_000,), 40_000)]
MORE = [((8, 16), 16), ((3, 11, 64), 64), ((16, 257), 200), ((9, 700), 700), ((2, 2500), 2500), ((20, 2), 2)]
DTYPES = sorted(REAL, key=lambda dtype: dtype.name)


@pytest.mark.parametrize("count", range(13))
def test_exchanges_sort_all_zeros_and_ones(count):
    """A network that sorts those sorts everything."""
    for bits in range(1 << count):
        keys = [bits >> i & 1 for i in range(count)]
        for i, j in exchanges(count):
            keys[i], keys[j] = min(keys[i], keys[j]), max(keys[i], keys[j])
        assert keys == sorted(keys)


@pytest.mark.takes_long
@pytest.mark.parametrize(
    ("shape", "k", "dtype"),
    [*((*case, dtype) for case in SHAPES for dtype in DTYPES), *((*case, float32) for case in MORE)],
    ids=str,
)
def test_the_same_as_a_stable_sort(shape, k, dtype, rng):
    x = numbers(shape, dtype, rng)
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(dtype, shape)
        made = sg.nn.top_k(given, k)[0]
        assert "top_values" in str(sess.plan(made))
        fed = sess.run(given, {given: x}) if dtype is bfloat16 else x
        values = sess.run(made, {given: fed})
    wanted, _ = stable(x, k)
    if dtype is bfloat16:
        np.testing.assert_array_equal(values.astype(np.float32), wanted)
    else:
        assert values.tobytes() == wanted.tobytes()


@pytest.mark.takes_long
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("shape", [(12, 40), (70_000,), (3, 100)])
def test_ascending_order_needs_no_opposites(shape, dtype, rng):
    x = numbers(shape, as_dtype(dtype), rng)
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(dtype, shape)
        made = sg.sort(given)
        assert len(sess.plan(made).kernels) == 1
        values = sess.run(made, {given: x})
    opposite = (lambda a: -a) if x.dtype.kind == "f" else np.invert
    wanted = opposite(stable(opposite(x), shape[-1])[0])
    assert values.tobytes() == wanted.tobytes()
    if x.dtype.kind != "f":  # where NaN and infinity are equal, and in the order of the input
        np.testing.assert_array_equal(values, np.sort(x))


@pytest.mark.parametrize(("length", "k"), [(50, 50), (300, 300), (300, 200)])
def test_any_number_of_rows(length, k, rng):
    """One program, whatever the number of rows is: longer ones are sorted by digits if they are few."""
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(sg.float32, [None, length])
        best = sg.nn.top_k(given, k)[0]
        for rows in (0, 1, 7, 8, 40):
            x = numbers((rows, length), float32, rng)
            values = sess.run(best, {given: x})
            assert values.shape == (rows, k)
            if rows:
                assert values.tobytes() == stable(x, k)[0].tobytes()
        assert len(sess.compiles) == 1


def test_positions_that_are_read_are_there(rng):
    x = rng.standard_normal((20, 30)).astype(np.float32)
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(sg.float32, x.shape)
        up, order = sess.run([sg.sort(given), sg.argsort(given)], {given: x})
    np.testing.assert_array_equal(np.take_along_axis(x, order, -1), up)


@pytest.mark.takes_long
@pytest.mark.by_turns("vector_bytes")
@each_width
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
@pytest.mark.parametrize(
    ("shape", "k"), [((19, 12), 12), ((9, 300), 300), ((3, 200), 200), ((40_000,), 40_000)]
)
def test_chunks_in_any_order_and_vectors_of_any_width(shape, k, dtype, vector_bytes, rng):
    """As machine code whose chunks run in an order of no meaning, and interpreted number by number."""
    target = cpu_jit.host()
    x = numbers(shape, as_dtype(dtype), rng)
    kernel = Case(top_values, ((as_dtype(dtype), x),), {"k": k}).kernel
    code = generate(kernel, replace(target, vector_bytes=vector_bytes))
    values, _ = stable(x, k)
    for order in range(3):
        memory = [guarded(a) for a in (np.zeros_like(values), x)]
        launch(code, [m.ctypes.data + GUARD for m in memory], order=order)
        assert inside(memory[0]).view(x.dtype).reshape(values.shape).tobytes() == values.tobytes()
    if x.size < 1000 and vector_bytes == 16:  # no vector takes part in what the kernel means
        arrays = {"x0": x, "y0": np.zeros_like(values)}
        interpret(kernel, arrays, backwards=True)
        assert arrays["y0"].tobytes() == values.tobytes()


def test_the_same_bits_in_any_number_of_threads(rng):
    found, before = set(), sg.get_num_threads()
    x = [numbers(shape, float32, rng) for shape in ((60_000,), (200, 500))]
    with sg.Graph().as_default(), sg.Session() as sess:
        given = [sg.placeholder(sg.float32, a.shape) for a in x]
        made = [sg.sort(a) for a in given]
        for threads in (1, 2, 3, 7):
            sg.set_num_threads(threads)
            found.add(tuple(a.tobytes() for a in sess.run(made, dict(zip(given, x, strict=True)))))
    sg.set_num_threads(before)
    assert len(found) == 1


@pytest.mark.takes_long
@pytest.mark.parametrize("places", [False, True], ids=["values", "places"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_rows_of_any_number_and_length(dtype, places, rng):
    """One program has the network, the counts and the digits, for lengths around each border between them."""
    shapes = [(0, 5), (3, 0), (1, 1), (9, 1), (8, 16), (8, 17), (40, 33), (7, 64), (9, 65), (20, 200)]
    shapes += [(10, 2048 // as_dtype(dtype).size + extra) for extra in (-1, 0, 1)] + [(1, 3000), (33, 2100)]
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(dtype, [None, None])
        made = sg.nn.top_k(given, sg.shape(given)[1])
        for shape in shapes:
            x = numbers(shape, as_dtype(dtype), rng)
            found = sess.run(list(made) if places else [made[0]], {given: x})
            for one, wanted in zip(found, stable(x, shape[1]) if x.size else (x, x), strict=False):
                assert one.tobytes() == wanted.astype(one.dtype).tobytes(), shape
        assert len(sess.compiles) == 1


@pytest.mark.takes_long
def test_a_vector_of_any_length_in_ascending_order(rng):
    with sg.Graph().as_default(), sg.Session() as sess:
        given, few = sg.placeholder(sg.float32, [None]), sg.placeholder(sg.float32, [3, None])
        made, of_few = sg.sort(given), sg.nn.top_k(few, sg.shape(few)[1])[0]
        for length in (0, 1, 2, 63, 64, 65, 5000):
            x = numbers((length,), float32, rng)
            wanted = -stable(-x, length)[0] if length else x
            assert sess.run(made, {given: x}).tobytes() == wanted.tobytes(), length
            x = numbers((3, length), float32, rng)
            wanted = stable(x, length)[0] if length else x
            assert sess.run(of_few, {few: x}).tobytes() == wanted.tobytes(), length
        assert len(sess.compiles) == 2
