"""Loops of which a GPU does several iterations before anyone knows how many there are: those after the end
have no effect, and the host waits seldom.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import FunctionCall, Parameter, call
from staticgraph.compiler.codegen.cuda.merged import merged
from staticgraph.compiler.codegen.cuda.predicated import ADVANCE, DONE, ENDED, ROWS, choose, copy, predicated
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.graphs import control_flow
from staticgraph.runtime.gpu.graphs.predicated_loop import PredicatedLoop
from staticgraph.runtime.gpu.simulator.build import Unit
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.sessions import draws, on

pytestmark = pytest.mark.takes_long

X, Y = Parameter("x", float32), Parameter("y", float32, written=True)
DOUBLE = call("double", [X, Y], "y[threadIdx.x] = x[threadIdx.x] * 2.0f;", (1, 1, 1), (32, 1, 1))


def test_a_predicated_function_does_nothing_after_the_end(host: str):
    function = predicated(DOUBLE.function, (True, False))
    assert [p.name for p in function.parameters] == ["y", "sg_loop"]
    assert function.sizes == ("x_row", "x_from")
    x, y = np.arange(64, dtype=np.float32), np.zeros(32, np.float32)
    state = np.array([1, 0, 0, x.ctypes.data], np.int64)
    unit = Unit([function, predicated(merged(((DOUBLE.function, DOUBLE.function),)), (False,) * 4)])
    unit.run(function.name, [y.ctypes.data, state.ctypes.data], sizes=[1, 128])
    np.testing.assert_array_equal(y, 2 * x[32:])
    state[ENDED] = 1
    unit.run(function.name, [y.ctypes.data, state.ctypes.data], sizes=[1, 0])
    np.testing.assert_array_equal(y, 2 * x[32:])


@pytest.mark.parametrize(
    ("size", "alignment", "width"), [(64, 16, 16), (60, 256, 4), (61, 64, 1), (64, 4, 4)]
)
def test_copies_are_made_of_the_largest_words_that_fit(host: str, size: int, alignment: int, width: int):
    source, target = np.arange(size, dtype=np.uint8), np.full(size + 16, 255, np.uint8)
    made = copy(size, alignment)
    assert isinstance(made, FunctionCall) and made.function.name == f"copy_{width}"
    addresses = [source.ctypes.data, target.ctypes.data]
    Unit([made.function]).run(made.function.name, addresses, 0, made.blocks, sizes=made.sizes)
    np.testing.assert_array_equal(target, [*range(size), *[255] * 16])


@pytest.mark.parametrize("schedule", [0, 3, 6])
def test_the_state_of_a_loop_advances_until_its_end(host: str, schedule: int):
    flags = np.array([1, 1], np.uint8)
    counters = np.array([5, 7], np.int32)
    ends = [flags[k:].ctypes.data for k in range(2)]
    counted = [1000, 8, 4, -1, 99, 0, 0, 0, 2, 1]  # row 2 + number - 1 of four
    read = [2000, 8, 7, 0, 99, *(counters[k:].ctypes.data for k in range(2)), 4, 0, 0]
    state, about = np.zeros(ROWS + 2, np.int64), np.array([*ends, -1, 2, *counted, *read], np.int64)
    unit = Unit([ADVANCE.function])

    def advance() -> list[int]:
        unit.run(ADVANCE.function.name, [state.ctypes.data, about.ctypes.data], schedule)
        return state.tolist()

    assert advance() == [1, 0, 1008, 2040]
    assert advance() == [2, 0, 1016, 99]  # there is no row 7
    assert advance()[ROWS:] == [1024, 2040]
    assert advance()[ROWS:] == [99, 99]
    flags[0] = 0  # which counts before the first iteration only
    assert advance()[:ROWS] == [5, 0]
    flags[1] = 0
    assert advance()[:ROWS] == [5, 1]
    flags[:] = 1
    assert advance()[:ROWS] == [5, 1]  # the end is the end
    state[:], about[2] = 0, 2
    flags[1] = 0  # a known trip count does not ask again
    assert [advance()[:ROWS] for _ in range(3)] == [[1, 0], [2, 0], [2, 1]]
    state[:], flags[0] = 0, 0
    assert advance()[:ROWS] == [0, 1]
    assert (DONE, ENDED) == (0, 1)


@pytest.mark.parametrize(("index", "ended", "taken"), [(1, 0, 1), (-1, 0, 2), (7, 0, 2), (0, 1, None)])
def test_one_branch_is_taken_unless_the_loop_has_ended(host: str, index: int, ended: int, taken: int | None):
    states, loop = np.full((3, 8), -1, np.int64), np.array([5, ended, 100, 200], np.int64)
    numbers, made = np.array([index], np.int32), choose(3, 4, 8)
    addresses = [array.ctypes.data for array in (states, loop, numbers)]
    Unit([made.function]).run(made.function.name, addresses, 0, made.blocks, sizes=made.sizes)
    assert [state[ENDED] for state in states] == [int(branch != taken) for branch in range(3)]
    np.testing.assert_array_equal(states[:, [0, 2, 3]], [[5, 100, 200]] * 3)
    np.testing.assert_array_equal(states[:, 4:], -1)


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not here: pip install nvidia-cuda-nvrtc")
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_predicated_functions_compile(architecture: str):
    lanes = merged(((DOUBLE.function, DOUBLE.function), (DOUBLE.function,)))
    functions = [
        predicated(DOUBLE.function, (True, False)),
        predicated(lanes, (False, True, False, False, False, False)),
        predicated(lanes, (False,) * 6),  # which calls the same parts
        predicated(copy(64, 64).function),
        ADVANCE.function,
        choose(3, 4, 8).function,
    ]
    usage = nvrtc.inspect(functions, architecture).usage
    assert all(usage[f.name].spilled == 0 and usage[f.name].registers < 48 for f in functions)


# Loops

Model = Callable[[], tuple[Any, Callable[[int], dict[Any, Any]]]]


def scalar() -> Any:
    return sg.placeholder(sg.float32, [], name="limit")


def grows():
    """Carried values that lie in one of two places by turns."""
    limit = scalar()
    x = sg.constant(draws(1, 3, 5)[0])
    found = sg.while_loop(
        lambda i, a: sg.cast(i, sg.float32) < limit,
        lambda i, a: (i + 1, sg.nn.softmax(a) + sg.reverse(a, [1]) * 0.5),
        [sg.constant(0), x],
    )
    return found, lambda n: {limit: float(n)}


def rows():
    """Rows that are read and written, at a counter that counts and at one that the data decide."""
    limit = scalar()
    x = sg.constant(draws(2, 90, 16)[0])
    steps = sg.constant(np.array([1, 2, 0, 1], np.int32))

    def body(i, j, total, out, far):
        row = sg.gather(x, i) + sg.gather(x, j + 1)
        return i + 1, j + sg.gather(steps, i % 4), total + row, out.write(i, total), far.write(j, row)

    arrays = [sg.TensorArray(sg.float32, 90).unstack(sg.zeros([90, 16])) for _ in range(2)]
    i, j, total, out, far = sg.while_loop(
        lambda i, *rest: sg.cast(i, sg.float32) < limit,
        body,
        [sg.constant(0), sg.constant(3), sg.zeros([16]), *arrays],
    )
    return [i, j, total, out.stack(), far.stack()], lambda n: {limit: float(n)}


def nested():
    """A loop of a known length inside, which has rows of its own, and a product whose result nobody keeps."""
    limit = scalar()
    w = sg.constant(draws(3, 16, 16)[0] * 0.3)

    def body(i, h):
        inner = sg.scan(lambda a, row: sg.tanh(a + row), sg.reshape(h, [3, 16]), sg.zeros([16]))
        return i + 1, sg.tanh(inner @ w) + h * 0.25

    found = sg.while_loop(
        lambda i, h: sg.cast(i, sg.float32) < limit, body, [0, sg.constant(draws(4, 3, 16)[0])]
    )
    return found, lambda n: {limit: float(n)}


def random():
    """Random numbers, of which each iteration takes some."""
    limit = scalar()

    def body(i, total):
        return i + 1, sg.nn.dropout(total + sg.random_normal([40], seed=3), 0.3, seed=4)

    found = sg.while_loop(lambda i, total: sg.cast(i, sg.float32) < limit, body, [0, sg.zeros([40])])
    return [found, sg.random_uniform([4], seed=5)], lambda n: {limit: float(n)}


def variables():
    """A variable that each iteration changes, and a bound."""
    limit, v = scalar(), sg.Variable(np.ones((4, 6), np.float32))

    def body(i, total):
        with sg.control_dependencies([sg.assign(v, v * 0.5 + total[:, None])]):
            return [i + 1, total + sg.reduce_sum(v.read_value(), 1)]

    found = sg.while_loop(
        lambda i, t: sg.cast(i, sg.float32) < limit, body, [0, sg.zeros([4])], maximum_iterations=70
    )
    return [found, v.read_value()], lambda n: {limit: float(n)}


def gradient():
    """Backpropagation, whose loop goes back as often as the first one went on."""
    limit, w = scalar(), sg.Variable(np.full((6,), 0.9, np.float32))
    _, y = sg.while_loop(
        lambda i, y: sg.cast(i, sg.float32) < limit,
        lambda i, y: [i + 1, sg.sin(y * w)],
        [0, sg.constant(draws(5, 6)[0])],
        maximum_iterations=100,
    )
    step = sg.train.GradientDescentOptimizer(0.1).minimize(sg.reduce_sum(y))
    return [y, step, sg.gradients(y, w)], lambda n: {limit: float(n)}


def branches():
    """Branches, some of them in others, that write rows and variables, or do nothing at all."""
    limit, v = scalar(), sg.Variable(np.ones((5,), np.float32))
    x = sg.constant(draws(6, 90, 5)[0])

    def assigned(i):
        with sg.control_dependencies([sg.assign_add(v, sg.gather(x, i))]):
            return sg.nn.softmax(v.read_value())

    def body(i, total, out):
        inner = lambda: sg.cond(i % 2 < 1, lambda: sg.cumsum(total), lambda: assigned(i))  # noqa: E731
        row = sg.cond(i % 3 < 1, lambda: sg.gather(x, i) + total, inner)
        third = sg.case(
            [(i % 5 < 1, lambda: sg.reverse(row, [0])), (i % 5 < 2, lambda: sg.tanh(row))], lambda: row
        )
        return i + 1, third * 0.5, out.write(i, row)

    out = sg.TensorArray(sg.float32, 90).unstack(sg.zeros([90, 5]))
    found = sg.while_loop(
        lambda i, *rest: sg.cast(i, sg.float32) < limit, body, [sg.constant(0), sg.zeros([5]), out]
    )
    return [*found[:2], found[2].stack(), v.read_value()], lambda n: {limit: float(n)}


MODELS: list[Model] = [grows, rows, nested, random, variables, gradient, branches]


def ran(model: Model, counts: list[int], driver: Simulator, overlap: bool) -> list[Any]:
    """Return the results of runs with these trip counts, and the values of all variables at last."""
    with sg.Graph().as_default(), on(driver), sg.Session(overlap=overlap) as session:
        sg.set_random_seed(5)
        fetches, feeds = model()
        session.run(sg.global_variables_initializer())
        found = [session.run(fetches, feeds(n)) for n in counts]
        return sg.nest.flatten([found, session.run(sg.global_variables())])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_iterations_after_the_end_have_no_effect(host: str, model: Model, monkeypatch: pytest.MonkeyPatch):
    counts = [4, 2, 0, 1, 2, 3, 5, 6, 7, 14, 15, 64, 1]
    expected = ran(model, counts, Simulator(3), overlap=False)
    done: list[int] = []
    run = PredicatedLoop.run
    monkeypatch.setattr(
        PredicatedLoop, "run", lambda loop, number: done.append(run(loop, number)) or done[-1]
    )
    for schedule in (0, 3, 6):
        found = ran(model, counts, Simulator(schedule, deferred=schedule != 6), overlap=True)
        for one, other in zip(found, expected, strict=True):
            if other is not None:
                np.testing.assert_array_equal(one, other)
        assert set(done) == set(counts[1:])  # the first run has other functions
        assert len(done) % (len(counts) - 1) == 0
        done.clear()


def decided(limit: float) -> Callable[[], Any]:
    def build() -> Any:
        return sg.while_loop(lambda y: sg.reduce_max(y) < limit, lambda y: y + 1.0, [sg.zeros([8])])

    return build


def counted(build: Callable[[], Any], driver: Simulator, overlap: bool = True) -> tuple[Any, dict[str, int]]:
    """Return what a third run gives, and what it asks of the driver."""
    with sg.Graph().as_default(), on(driver), sg.Session(overlap=overlap) as session:
        found = build()
        for _ in range(2):
            session.run(found)
        kinds = ("launches", "replays", "waits", "compilations")
        before = [getattr(driver.counts, kind) for kind in kinds]
        made = session.run(found)
        return made, {k: getattr(driver.counts, k) - n for k, n in zip(kinds, before, strict=True)}


def test_the_host_waits_seldom(host: str):
    made, found = counted(decided(1000.0), Simulator(3))
    np.testing.assert_array_equal(made, np.full(8, 1000.0, np.float32))
    assert found["waits"] <= 40 and found["replays"] <= 140 and found["compilations"] == 0
    assert found["launches"] <= 3 * 1000 + 3 * 64  # `advance` and two of the body, for an iteration
    made, each = counted(decided(1000.0), Simulator(3), overlap=False)
    np.testing.assert_array_equal(made, np.full(8, 1000.0, np.float32))
    assert each["waits"] >= 1000 and each["replays"] >= 1000


def test_a_short_loop_asks_for_little_in_vain(host: str):
    for count in (1, 2, 5):
        _, found = counted(decided(float(count)), Simulator(3))
        assert found["launches"] <= 1 + 3 * (2 if count < 3 else 6), count


def test_a_first_run_that_goes_on_is_done_in_the_same_way(host: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(control_flow, "_LATE", 8)
    waits, expected = [], []
    for overlap in (False, True):
        driver = Simulator(3)
        with sg.Graph().as_default(), on(driver), sg.Session(overlap=overlap) as session:
            fetches, feeds = rows()
            made = session.run(fetches, feeds(75))
            waits.append(driver.counts.waits)
            for one, other in zip(made, expected or made, strict=True):
                np.testing.assert_array_equal(one, other)
            expected = made
    assert waits[1] < waits[0] // 3


def large_product():
    w = sg.constant(np.eye(48, dtype=np.float32) * 1.5)
    return sg.while_loop(lambda a: sg.reduce_sum(a) < 1e4, lambda a: a @ w, [sg.ones([48, 48])])


def call_of_numpy():
    return sg.while_loop(
        lambda a: sg.reduce_sum(a) < 50.0,
        lambda a: sg.reshape(sg.py_func(lambda v: v + np.float32(1), [a], sg.float32), [3]),
        [sg.zeros([3])],
    )


def loop_in_a_branch():
    """A loop inside, of which the host would have to know if it goes on."""
    return sg.while_loop(
        lambda a: sg.reduce_sum(a) < 50.0,
        lambda a: sg.cond(
            a[0] > 4.0, lambda: sg.while_loop(lambda b: b[1] < 30.0, lambda b: b * 2.0, [a]), lambda: a + 1.0
        ),
        [sg.zeros([3])],
    )


@pytest.mark.parametrize("build", [large_product, call_of_numpy], ids=lambda build: build.__name__)
def test_what_cannot_be_predicated_is_done_one_by_one(
    host: str, build: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
):
    """cuBLAS writes what is carried; the host takes part in an iteration."""
    monkeypatch.setattr(PredicatedLoop, "run", lambda *args: pytest.fail("it is predicated"))
    driver = Simulator(3)
    made, _ = counted(build, driver)
    with sg.Graph().as_default(), sg.Session(device="cpu") as session:
        np.testing.assert_allclose(made, session.run(build()), rtol=1e-6)


def test_a_loop_in_a_branch_of_a_loop(host: str):
    made, _ = counted(loop_in_a_branch, Simulator(3))
    with sg.Graph().as_default(), sg.Session(device="cpu") as session:
        np.testing.assert_array_equal(made, session.run(loop_in_a_branch()))


def test_another_size_compiles_nothing(host: str):
    driver = Simulator(3)
    with sg.Graph().as_default(), on(driver), sg.Session() as session:
        x = sg.placeholder(sg.float32, [None, 4])
        y = sg.while_loop(lambda y: sg.reduce_max(y) < 50.0, lambda y: y * 1.25 + 0.5, [x])
        for _ in range(3):
            session.run(y, {x: np.zeros((5, 4), np.float32)})
        before, waits = driver.counts.compilations, driver.counts.waits
        for size in (9, 2):
            for _ in range(3):
                found = session.run(y, {x: np.ones((size, 4), np.float32)})
            expected = np.float32(1.0)
            while expected < 50.0:
                expected = expected * np.float32(1.25) + np.float32(0.5)
            np.testing.assert_array_equal(found, np.full((size, 4), expected))
        assert driver.counts.compilations == before
        assert driver.counts.waits - waits < 6 * 10  # of 14 iterations each


def test_an_interrupt_between_two_looks_changes_nothing(host: str, monkeypatch: pytest.MonkeyPatch):
    driver = Simulator(3)
    with sg.Graph().as_default(), on(driver), sg.Session() as session:
        v = sg.Variable(np.zeros(3, np.float32))
        fetches = sg.assign(v, sg.while_loop(lambda a: a[0] < 100.0, lambda a: a + 1.0, [v.read_value()]))
        session.run(sg.global_variables_initializer())
        for _ in range(2):
            session.run(fetches)
            session.run(v.initializer)

        def interrupted(*args: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("staticgraph.runtime.gpu.graphs.predicated_loop.within_deadline", interrupted)
            with pytest.raises(KeyboardInterrupt):
                session.run(fetches)
        np.testing.assert_array_equal(session.run(v), 0.0)
        np.testing.assert_array_equal(session.run(fetches), np.full(3, 100.0, np.float32))
        with pytest.raises(sg.errors.DeadlineExceededError):
            endless = sg.while_loop(lambda a: a[0] >= 0.0, lambda a: a + 1.0, [v.read_value()])
            session.run(endless, options=sg.RunOptions(timeout_in_ms=300))


# Branches outside of such loops


def skips():
    """An update that is left out unless all gradients are finite, as with a scale of the loss."""
    x = sg.placeholder(sg.float32, [3])
    w = sg.Variable(np.linspace(0.5, 1.0, 3, dtype=np.float32))
    steps = sg.Variable(0)
    (g,) = sg.gradients(sg.reduce_sum(sg.log(w) * x * x), [w])
    optimizer = sg.train.AdamOptimizer(0.1)

    def update():
        with sg.control_dependencies([optimizer.apply_gradients([(g, w)]), sg.assign_add(steps, 1)]):
            return sg.nn.softmax(w.read_value())

    made = sg.cond(sg.reduce_all(sg.is_finite(g)), update, lambda: sg.cumsum(w.read_value()))
    values = [
        np.array(v, np.float32) for v in ([1, 2, 3], [1, np.inf, 3], [4, 5, 6], [np.nan, 1, 1], [1, 1, 1])
    ]
    return [made, steps.read_value()], lambda n: {x: values[n]}


def selects():
    """A branch by number, the last for numbers that there are not, inside of a loop of known length."""
    index = sg.placeholder(sg.int32, [])
    x = sg.constant(draws(7, 4, 6)[0])
    kinds = [lambda: sg.nn.softmax(x), lambda: sg.cumsum(x, 1), lambda: sg.reverse(x, [0])]
    once = sg.switch_case(index, kinds)
    more = sg.scan(
        lambda total, row: sg.cond(
            sg.reduce_sum(row) > 0.0, lambda: sg.cumsum(total + row), lambda: sg.reverse(row, [0])
        ),
        once,
        sg.zeros([6]),
    )
    return [once, more], lambda n: {index: n - 1}


@pytest.mark.parametrize("model", [skips, selects], ids=lambda model: model.__name__)
def test_a_branch_does_not_wait_for_the_host(host: str, model: Model):
    counts = [0, 1, 2, 3, 4, 1, 0, 2]
    expected = ran(model, counts, Simulator(3), overlap=False)
    for schedule in (0, 6):
        driver = Simulator(schedule, deferred=schedule != 6)
        for one, other in zip(ran(model, counts, driver, overlap=True), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("model", [skips, selects], ids=lambda model: model.__name__)
def test_a_step_with_branches_is_one_graph(host: str, model: Model):
    with sg.Graph().as_default(), on(driver := Simulator(3)), sg.Session(overlap=True) as session:
        fetches, feeds = model()
        session.run(sg.global_variables_initializer())
        for n in (0, 1, 2):
            session.run(fetches, feeds(n))
        waits, replays = driver.counts.waits, driver.counts.replays
        session.run(fetches, feeds(3))
        assert (driver.counts.waits - waits, driver.counts.replays - replays) == (1, 1)
