"""Feeds on their way to the GPU: small ones in one packet, large ones alone, before the rest of a run."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.gpu import staging
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.gpu.simulator.queue import SimulatedGraph
from staticgraph.runtime.gpu.staging import HUGE, LARGE
from tests.gpu.sessions import draws, on

MANY = LARGE // 4  # float32 that make a large value


@pytest.fixture(params=[MANY, HUGE // 4], ids=["large", "huge"])
def sums(request, one_driver):
    """A session on a card that keeps sums of two feeds, a large one and a small one."""
    with sg.Graph().as_default(), on(one_driver):
        x, y = sg.placeholder(sg.float32, [request.param]), sg.placeholder(sg.float32, [])
        total = sg.Variable(np.zeros(x.shape, np.float32))
        add = sg.assign_add(total, x * y)
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            yield session, x, y, total, add


def copies(session, fetches, feeds, driver) -> int:
    driver.synchronize()
    before = driver.counts.copies
    session.run(fetches, feeds)
    driver.synchronize()
    return driver.counts.copies - before


def test_large_feeds_are_copied_by_themselves(sums, one_driver):
    session, x, y, _, add = sums
    session.run(add.op, {x: np.ones(x.shape), y: 1})
    for number in range(4):
        assert copies(session, add.op, {x: draws(number, *x.shape)[0], y: number}, one_driver) == 2


@pytest.mark.parametrize("pinned", [False, True])
def test_what_is_fed_may_be_changed_when_a_run_returns(sums, one_driver, pinned):
    session, x, y, total, add = sums
    fed = np.zeros(x.shape, np.float32)
    if pinned:
        fed = session.pinned(fed)
    meant = np.zeros(x.shape)
    for values, factor in zip(draws(1, *x.shape, runs=6), range(6), strict=True):
        fed[:] = values
        session.run(add.op, {x: fed, y: factor})
        fed[:] = np.nan
        meant += values.astype(np.float64) * factor
    np.testing.assert_allclose(session.run(total), meant, rtol=1e-5, atol=1e-5)


def test_pinned_arrays_are_read_where_they_lie(sums, one_driver, monkeypatch):
    session, x, y, total, add = sums
    with monkeypatch.context() as patch:
        patch.setattr(staging, "pieces", lambda *arrays: pytest.fail("the host copied a pinned array"))
        for values in draws(2, *x.shape):
            session.run(add.op, {x: session.pinned(values), y: 1})
    np.testing.assert_allclose(session.run(total), draws(2, *x.shape).sum(0), rtol=1e-5, atol=1e-5)


def test_what_does_without_the_largest_feeds_does_not_wait_for_them(host):
    """They come when something reads them; until then, the card does the rest."""

    class Looking(Simulator):
        def end_capture(self) -> SimulatedGraph:
            graph = super().end_capture()
            names = [work.name for work in graph.work]
            (arrival,) = (n for n, name in enumerate(names) if name == "a wait for copies")
            waiting = [n for n, waits in enumerate(graph.waits) if arrival in waits]
            seen.append((graph.waits[arrival], len(waiting), len(names)))
            return graph

    seen = []
    with sg.Graph().as_default(), on(Looking(3)), sg.Session() as session:
        x, y = sg.placeholder(sg.float32, [HUGE // 4]), sg.placeholder(sg.float32, [8, 8])
        fetches = [sg.reduce_sum(sg.exp(y), 0), sg.reduce_sum(x) * 2.0]
        for number, values in enumerate(draws(6, HUGE // 4)):
            found = session.run(fetches, {x: values, y: np.full((8, 8), number)})
            np.testing.assert_allclose(found[0], 8 * np.exp(np.full(8, number)), rtol=1e-5)
            np.testing.assert_allclose(found[1], 2 * values.sum(dtype=np.float64), rtol=1e-3)
    assert len(seen) == 2
    for waits, waiting, names in seen:
        assert waits == () and 0 < waiting < names - 2


def test_a_copy_that_fails_leaves_the_session_usable(sums, one_driver):
    session, x, y, total, add = sums
    values = draws(7, *x.shape)
    for number in range(3):
        session.run(add.op, {x: values[number], y: 1})
    before = session.run(total)
    one_driver.fail("copy")
    with pytest.raises(RuntimeError, match="a fault that was asked for"):
        session.run([total, add], {x: values[3], y: 1})
    session.run(add.op, {x: values[3], y: 1})
    np.testing.assert_allclose(session.run(total), before + values[3], rtol=1e-5, atol=1e-6)


def test_parts_of_pinned_arrays_and_other_layouts_are_fed_alike(one_driver):
    values = draws(3, 8, MANY)[0]
    with sg.Graph().as_default(), on(one_driver):
        x = sg.placeholder(sg.float32, [None, MANY])
        result = sg.reduce_sum(x, 1)
        with sg.Session() as session:
            whole = session.pinned(values)
            for part in (whole[2:5], whole[::2], whole[::-1], whole.astype(np.float64)):
                found = session.run(result, {x: part})
                np.testing.assert_allclose(found, np.sum(part, 1, np.float64), rtol=1e-4, atol=1e-3)


def test_a_pinned_array_is_the_same_array_on_a_processor():
    values, names = np.ones(3), np.array(["a", "b"], object)
    with sg.Session(device="cpu") as session:
        assert session.pinned(values) is values and session.pinned(names) is names
        assert session.pinned([1, 2]).tolist() == [1, 2]
        with pytest.raises(ValueError, match=r"its rows differ in length\n\n  test_feeds\.py"):
            session.pinned([[1], [1, 2]])


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.bool_])
def test_pinned_arrays_keep_type_and_shape(one_driver, dtype):
    values = np.arange(6).reshape(2, 3).astype(dtype)
    with on(one_driver), sg.Session() as session:
        made = session.pinned(values)
        assert one_driver.is_pinned(made.ctypes.data, made.nbytes)
        assert made.dtype == values.dtype
        np.testing.assert_array_equal(made, values)
        assert session.pinned(values[:0]).shape == (0, 3)


def test_times_of_feeds_are_those_of_large_ones_too(sums, one_driver):
    session, x, y, total, add = sums
    values = draws(4, *x.shape)
    for number in range(3):
        session.run(add.op, {x: values[number], y: 1})
    with session.profile() as profile:
        for number in range(3):
            session.run(add.op, {x: session.pinned(values[number]), y: 1})
    (step,) = profile.steps
    assert "feeds to the GPU" in {each.name for each in step.kernels}
    session.run(add.op, {x: values[3], y: 1})
    meant = 2 * values[:3].sum(0, np.float64) + values[3]
    np.testing.assert_allclose(session.run(total), meant, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [1, staging.PIECE, staging.PIECE + 1, 5 * staging.PIECE // 2])
def test_copies_tell_each_piece_when_it_is_there(size):
    source = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    target, end = np.zeros_like(source), 0
    for start, stop in staging.pieces(target, source):
        assert start == end
        np.testing.assert_array_equal(target[start:stop], source[start:stop])
        end = stop
    assert end == size


@pytest.mark.takes_long
@pytest.mark.parametrize("step", [1, -1, 2])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies_of_any_layout(step, order, dtype):
    source = np.asarray(draws(5, 700, 2000)[0], dtype, order=order)[::step]
    target = np.zeros(source.shape, np.float32)
    staging.copy(target, source)
    np.testing.assert_array_equal(target, source.astype(np.float32))
