"""Sums at places that are data, by parts of the updates: the same bits in any number of threads."""

from dataclasses import replace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.generate import generate
from staticgraph.compiler.graph.dtypes import as_dtype, int32
from staticgraph.compiler.ops.reductions.segment import unsorted_segment_max, unsorted_segment_sum
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import GUARD, each_width, guarded, inside, launch
from tests.gpu.routines import Case

# Updates, places, and columns of an update; the last two are not done in copies.
SIZES = [
    (40_000, 1000, ()),
    (40_000, 5000, ()),
    (20_000, 1, ()),
    (20_000, 100, (3,)),
    (5000, 7, (17,)),
    (900, 40_000, ()),
    (2000, 3, (256,)),
]
PLACES = ["any", "sorted", "equal", "dropped"]


def places(kind, count, below, rng):
    """Places, of which some are to be dropped."""
    found = rng.integers(-1, below, count)
    match kind:
        case "sorted":
            found.sort()
        case "equal":
            found[:] = below - 1
        case "dropped":
            found[:] = -1
    return found.astype(np.int32)


def numbers(shape, dtype, rng):
    """Numbers whose sums are exact, so that their order does not matter."""
    return rng.integers(-8, 8, shape).astype(dtype)


@pytest.mark.takes_long
@pytest.mark.parametrize(("count", "below", "columns"), SIZES)
def test_segment_sums(count, below, columns, rng):
    """Of all dtypes in one step."""
    dtypes = ["float32", "float64", "int32", "uint8", "complex64"]
    given = {dtype: numbers((count, *columns), dtype, rng) for dtype in dtypes}
    with sg.Graph().as_default(), sg.Session() as sess:
        ids = sg.placeholder(sg.int32, [count])
        feed = {sg.placeholder(dtype, data.shape): data for dtype, data in given.items()}
        sums = [sg.unsorted_segment_sum(x, ids, below) for x in feed]
        for kind in PLACES:
            found = places(kind, count, below, rng)
            made = sess.run(sums, feed | {ids: found})
            for (dtype, data), total in zip(given.items(), made, strict=True):
                wanted = np.zeros((below + 1, *columns), dtype)
                np.add.at(wanted, found, data)
                np.testing.assert_array_equal(total, wanted[:below], f"{dtype}, {kind}")


@pytest.mark.takes_long
@pytest.mark.parametrize(("count", "below", "columns"), SIZES)
def test_the_same_bits_in_any_number_of_threads(count, below, columns, rng):
    """At places of all kinds, by one program."""
    data, before = rng.normal(size=(count, *columns)).astype(np.float32), sg.get_num_threads()
    with sg.Graph().as_default(), sg.Session() as sess:
        x, p = sg.placeholder(sg.float32, data.shape), sg.placeholder(sg.int32, [count])
        made = [
            sg.unsorted_segment_sum(x, p, below),
            sg.unsorted_segment_max(x, p, below),
            sg.unsorted_segment_min(x, p, below),
        ]
        for kind in PLACES:
            ids, found = places(kind, count, below, rng), []
            for threads in (1, 2, 3, 7):
                sg.set_num_threads(threads)
                found.append(sess.run(made, {x: data, p: ids}))
            sg.set_num_threads(before)
            assert len({tuple(y.tobytes() for y in each) for each in found}) == 1, kind
            check_reduced(*found[0], data, ids, kind)


def check_reduced(total, most, least, data, ids, kind):
    below, columns = len(total), data.shape[1:]
    wanted = np.zeros((below + 1, *columns))
    np.add.at(wanted, ids, data)
    np.testing.assert_allclose(total, wanted[:below], rtol=1e-5, atol=1e-3, err_msg=kind)
    for y, ufunc, start in ((most, np.maximum, np.finfo("f4").min), (least, np.minimum, np.finfo("f4").max)):
        wanted = np.full((below + 1, *columns), start, np.float32)
        ufunc.at(wanted, ids, data)
        np.testing.assert_array_equal(y, wanted[:below], kind)


@pytest.mark.by_turns("vector_bytes")
@each_width
@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("op", [unsorted_segment_sum, unsorted_segment_max], ids=lambda op: op.name)
@pytest.mark.parametrize(("count", "below", "columns"), [SIZES[0], SIZES[3]])
def test_chunks_in_any_order_and_vectors_of_any_width(count, below, columns, op, dtype, vector_bytes, rng):
    target = cpu_jit.host()
    data, ids = numbers((count, *columns), dtype, rng), places("any", count, below, rng)
    case = Case(op, ((as_dtype(dtype), data), (int32, ids)), {"num_segments": below})
    code = generate(case.kernel, replace(target, vector_bytes=vector_bytes))
    assert max(phase.chunks for phase in code.phases) > 1
    wanted = case.expected()["y0"]
    for order in range(3):
        memory = [guarded(a) for a in (np.zeros_like(wanted), data, ids)]
        launch(code, [m.ctypes.data + GUARD for m in memory], order=order)
        np.testing.assert_array_equal(inside(memory[0]).view(dtype).reshape(wanted.shape), wanted)


def test_what_no_update_changes_keeps_its_sign(rng):
    """Also where the result takes the place of the tensor: then there is nothing to begin with."""
    start = np.full(100, -0.0, np.float32)
    at, change = rng.integers(0, 90, (20_000, 1)).astype(np.int32), numbers(20_000, "f4", rng)
    wanted = start.copy()
    np.subtract.at(wanted, at[:, 0], change)
    with sg.Graph().as_default(), sg.Session() as sess:
        v = sg.Variable(start)
        fresh = sg.tensor_scatter_sub(v, at, change)
        sess.run(v.initializer)
        assert (sess.run(fresh) == wanted).all()
        assert np.signbit(sess.run(fresh)[90:]).all()
        sess.run(sg.scatter_nd_sub(v, at, change))
        assert (sess.run(v) == wanted).all()
        assert np.signbit(sess.run(v)[90:]).all()


def test_a_place_out_of_range_is_an_error_still(rng):
    ids = places("any", 40_000, 1000, rng)
    ids[31_234] = 1000
    with sg.Graph().as_default(), sg.Session() as sess:
        p = sg.placeholder(sg.int32, ids.shape)
        made = sg.unsorted_segment_sum(sg.ones([40_000]), p, 1000)
        with pytest.raises(sg.errors.InvalidArgumentError, match=r"31234.*1000"):
            sess.run(made, {p: ids})
