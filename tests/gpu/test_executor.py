"""Runs on a card: what is captured and when, where variables are, and what is left after a failure."""

import gc

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.gpu.simulator.queue import DeviceError
from tests.gpu.sessions import on

pytestmark = pytest.mark.takes_long


@pytest.fixture
def net(one_driver):
    """A session on a card with a small net: its feed, its loss, its training step."""
    with sg.Graph().as_default(), on(one_driver):
        sg.set_random_seed(1)
        x = sg.placeholder(sg.float32, [None, 6], name="x")
        loss = sg.reduce_mean(sg.square(sg.layers.dense(x, 5, activation=sg.nn.tanh, name="layer")))
        step = sg.train.GradientDescentOptimizer(0.1).minimize(loss)
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            yield session, x, loss, step


def batch(number: int, rows: int = 4) -> np.ndarray:
    return np.random.default_rng(number).standard_normal((rows, 6)).astype(np.float32)


def test_the_second_run_is_captured_and_the_others_are_one_launch(net, one_driver):
    session, x, loss, step = net
    counts = one_driver.counts
    session.run([loss, step], {x: batch(0)})
    assert counts.captures == 0
    for number in range(1, 20):
        session.run([loss, step], {x: batch(number)})
    assert counts.captures == 2  # the host fills two slots by turns
    assert counts.replays == 19


def test_a_replay_allocates_nothing(net, one_driver):
    session, x, loss, step = net
    for number in range(3):
        session.run([loss, step], {x: batch(number)})
    allocated, used = one_driver.counts.allocations, one_driver.memory.used
    for number in range(10):
        session.run([loss, step], {x: batch(number)})
    assert (one_driver.counts.allocations, one_driver.memory.used) == (allocated, used)


def test_runs_that_fetch_nothing_are_not_waited_for(net, one_driver):
    session, x, loss, step = net
    launches = []  # that are done when a loss is there
    for steps in (1, 1, 0, 1, 0, 1):  # the first runs of both are not captured, which may take more launches
        for number in range(steps):
            session.run(step, {x: batch(number)})
        before = one_driver.counts.launches
        session.run(loss, {x: batch(9)})
        launches.append(one_driver.counts.launches - before)
    assert launches[2] == launches[4]
    assert launches[3] == launches[5] > launches[2]  # the step waited in the queue


def test_feeds_of_runs_that_are_not_waited_for_are_not_mixed_up(net):
    session, x, _, step = net
    values = {"cpu": [], "card": []}
    for number in range(8):
        session.run(step, {x: batch(number)})
    (kernel,) = (v for v in sg.global_variables() if "kernel" in v.name)
    values["card"] = session.run(kernel)
    with on(None), sg.Session() as other:
        other.run(sg.global_variables_initializer())
        for number in range(8):
            other.run(step, {x: batch(number)})
        values["cpu"] = other.run(kernel)
    np.testing.assert_allclose(values["card"], values["cpu"], rtol=1e-5)


def test_another_batch_size_is_another_graph(net, one_driver):
    session, x, loss, step = net
    for rows in (4, 7, 4, 7, 4, 7):
        session.run([loss, step], {x: batch(1, rows)})
    assert len(session.compiles) == 2  # with the initializers
    assert one_driver.counts.captures == 4


def test_larger_memory_makes_graphs_anew(net, one_driver):
    """The programs of a session share the arena, which moves when it grows."""
    session, x, loss, step = net
    for number in range(4):
        session.run([loss, step], {x: batch(number)})
    before = session.run(loss, {x: batch(0)})
    big = sg.random_normal([300, 300])
    session.run(sg.reduce_sum(sg.matmul(big, sg.sort(big)), axis=0))
    assert session.run(loss, {x: batch(0)}) == before
    assert np.isfinite(session.run([loss, step], {x: batch(0)})[0])


def test_values_that_the_host_sets_are_seen(net):
    session, x, loss, step = net
    kernel, bias = sg.global_variables()
    for _ in range(3):
        session.run([loss, step], {x: batch(0)})
    kernel.load(np.zeros((6, 5), np.float32), session)
    bias.load(np.ones(5, np.float32), session)
    assert session.run(loss, {x: batch(0)}) == pytest.approx(np.tanh(1.0) ** 2, rel=1e-6)


def test_a_variable_may_get_another_shape(one_driver):
    with sg.Graph().as_default(), on(one_driver), sg.Session() as session:
        v = sg.Variable(np.zeros(3, np.float32), validate_shape=False)
        x = sg.placeholder(sg.float32, [None])
        more = sg.assign(v, sg.concat([v, x], 0), validate_shape=False)
        session.run(v.initializer)
        for size in range(1, 4):
            session.run(more, {x: np.full(size, size, np.float32)})
        np.testing.assert_array_equal(session.run(v), [0, 0, 0, 1, 2, 2, 3, 3, 3])


def test_a_checkpoint_goes_there_and_back(net, tmp_path):
    session, x, loss, step = net
    saver = sg.train.Saver()
    for number in range(3):
        session.run(step, {x: batch(number)})
    path, before = saver.save(session, str(tmp_path / "net")), session.run(loss, {x: batch(0)})
    for number in range(3):
        session.run(step, {x: batch(number)})
    assert session.run(loss, {x: batch(0)}) != before
    saver.restore(session, path)
    assert session.run(loss, {x: batch(0)}) == before


def test_a_run_that_fails_in_numpy_changes_nothing(one_driver):
    with sg.Graph().as_default(), on(one_driver), sg.Session() as session:
        v = sg.Variable(np.eye(2, dtype=np.float32))
        x = sg.placeholder(sg.float32, [2, 2])
        more = sg.assign_add(v, x)
        with sg.control_dependencies([more]):
            inverse = sg.linalg.inv(x)
        session.run(v.initializer)
        for _ in range(3):
            session.run([inverse, more], {x: np.eye(2)})
        with pytest.raises(sg.errors.InvalidArgumentError, match="not invertible"):
            session.run([inverse, more], {x: np.zeros((2, 2))})
        np.testing.assert_array_equal(session.run(v), 4 * np.eye(2))


def test_a_guarded_run_that_makes_nan_changes_nothing(one_driver):
    with sg.Graph().as_default(), on(one_driver), sg.Session(check_nan=True) as session:
        v = sg.Variable(np.ones(3, np.float32))
        x = sg.placeholder(sg.float32, [3], name="x")
        more = sg.assign_add(v, sg.log(x))
        session.run(v.initializer)
        for _ in range(3):
            session.run(more, {x: [1, 1, 1]})
        with pytest.raises(sg.errors.InvalidArgumentError, match="log"):
            session.run(more, {x: [1, -1, 1]})
        np.testing.assert_array_equal(session.run(v), np.ones(3))


def test_no_memory_left_is_an_error_that_leaves_the_variables(host):
    driver = Simulator(limit=1 << 20)
    with sg.Graph().as_default(), on(driver), sg.Session() as session:
        v = sg.Variable(np.ones(100, np.float32))
        rows = sg.placeholder(sg.float32, [None, 100])
        total = sg.assign_add(v, sg.reduce_sum(sg.sort(rows * v), 0))
        session.run(v.initializer)
        small, large = np.ones((10, 100), np.float32), np.ones((10_000, 100), np.float32)
        session.run(total, {rows: small})
        with pytest.raises(sg.errors.ResourceExhaustedError) as caught:
            session.run(total, {rows: large})
        told = str(caught.value)
        assert "session.run(total, {rows: large})" in told and "hint: run it on a smaller batch" in told
        with on(Simulator()), sg.Session() as roomy:
            use = str(roomy.plan(total, {rows: large}).memory)
        assert all(f"\n{' ' * 8}{line}" in told for line in use.splitlines())
        np.testing.assert_array_equal(session.run(v), np.full(100, 11))
        session.run(total, {rows: small})
        np.testing.assert_array_equal(session.run(v), np.full(100, 121))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), None], ids=["Ctrl-C", "a fault"])
def test_a_replay_that_fails_leaves_the_session_usable(net, one_driver, error):
    session, x, loss, step = net
    for number in range(3):
        session.run([loss, step], {x: batch(number)})
    before = session.run(loss, {x: batch(0)})
    one_driver.fail("replay", error=error)
    with pytest.raises(BaseException, match="asked for" if error is None else "^$"):
        session.run([loss, step], {x: batch(3)})
    assert session.run(loss, {x: batch(0)}) == before
    assert session.run([loss, step], {x: batch(0)})[0] == before


def test_closing_gives_all_memory_back(one_driver):
    with sg.Graph().as_default(), on(one_driver), sg.Session() as session:
        v = sg.Variable(np.ones(100, np.float32))
        session.run(v.initializer)
        session.run(sg.assign_add(v, v))
    gc.collect()
    assert one_driver.memory.used == 0
    with pytest.raises(sg.errors.OpError, match="closed"):
        session.run(v)


def test_a_session_that_is_dropped_gives_all_memory_back(one_driver):
    with sg.Graph().as_default(), on(one_driver):
        v = sg.Variable(np.ones(100, np.float32))
        session = sg.Session()
        session.run(v.initializer)
        for _ in range(3):
            session.run(sg.assign_add(v, v))
        del session
    gc.collect()
    assert one_driver.memory.used == 0
    with pytest.raises(DeviceError, match="closed"):
        one_driver.allocate(1)


def test_programs_that_are_dropped_give_their_memory_back(one_driver, monkeypatch):
    monkeypatch.setattr("staticgraph.runtime.program_cache.PROGRAM_LIMIT", 2)
    with sg.Graph().as_default(), on(one_driver), sg.Session() as session:
        x = sg.placeholder(sg.float32, [None])
        double = x * 2
        used = []
        for size in range(1, 8):
            for _ in range(3):
                session.run(double, {x: np.ones(size, np.float32)})
            gc.collect()
            used.append(one_driver.memory.used)
        assert used[1] > used[0]
        assert used[2:] == used[1:-1]
