"""Runs on a GPU that fail: the error that a user sees, and the file that tells of the run."""

from collections.abc import Callable

import pytest

import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.compiler.graph.errors import InvalidArgumentError, ResourceExhaustedError, UnavailableError
from staticgraph.runtime.gpu.cuda.failure import failure
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.gpu.simulator.queue import DeviceError
from tests.gpu.sessions import check_alike, draws, on

pytestmark = pytest.mark.takes_long

ILLEGAL = failure(700, "cudaErrorIllegalAddress", "waiting for the GPU")


@pytest.fixture
def net(host, tmp_path):
    """A session that keeps its failures, its driver, a feed, and a sum of checked roots."""
    driver = Simulator()
    with sg.Graph().as_default(), on(driver), sg.Session(failures=str(tmp_path)) as session:
        x = sg.placeholder(sg.float32, [None], name="x")
        w = sg.Variable([2.0, 3.0], name="w")
        total = sg.reduce_sum(sg.check_numerics(sg.sqrt(x * w), "no root"), name="total")
        session.run(w.initializer)
        yield session, driver, x, total


def test_an_op_that_fails_names_its_line_and_is_replayed(net, tmp_path, capsys):
    session, _, x, total = net
    assert session.run(total, {x: [2, 3]}) == 5
    with pytest.raises(InvalidArgumentError, match=r"no root(?s:.*)test_failed_runs\.py:(?s:.*)replay"):
        session.run(total, {x: [2, -3]})
    assert main(["replay", str(tmp_path / "failure.sg")]) == 0
    told = capsys.readouterr().out
    assert "variable w" in told and "NaN or Inf begins in sqrt" in told and "the run fails as it did" in told


@pytest.mark.parametrize("captured", [False, True])
def test_an_error_of_the_card_names_the_line_of_the_run_and_the_cure(net, captured):
    session, driver, x, total = net
    for _ in range(4 * captured):
        session.run(total, {x: [2, 3]})
    driver.fail("launch", error=ILLEGAL)
    with pytest.raises(UnavailableError) as caught:
        session.run(total, {x: [2, 3]})
    head, _, rest = str(caught.value).partition("\n\n")
    assert head == "waiting for the GPU: a kernel reached outside of its memory (cudaErrorIllegalAddress)"
    assert "test_failed_runs.py:" in rest and "session.run(total, {x: [2, 3]})" in rest
    assert "hint: no work can be given to the GPU any more in this process" in rest
    assert "replay" not in rest  # nothing is wrong with the graph


def test_memory_that_a_program_lacks(net, tmp_path):
    session, driver, x, total = net
    driver.fail("allocation")
    with pytest.raises(ResourceExhaustedError, match=r"no memory left(?s:.*)test_failed_runs\.py:"):
        session.run(total, {x: [2, 3]})
    assert (tmp_path / "failure.sg").exists()
    assert session.run(total, {x: [2, 3]}) == 5


def test_a_failed_run_of_a_card_can_be_bisected(net, tmp_path, capsys):
    """By the code for the processor: passes and kernels are the same."""
    session, _, x, total = net
    with pytest.raises(InvalidArgumentError):
        session.run(total, {x: [2, -3]})
    assert main(["bisect", str(tmp_path / "failure.sg")]) == 0
    assert "do what NumPy does" in capsys.readouterr().out


def everything():
    """A product, a loop that the data end, rows of a table, and updates."""
    x, ids = sg.placeholder(sg.float32, [None, 40]), sg.placeholder(sg.int32, [3])
    w, table = sg.get_variable("w", [40, 48]), sg.get_variable("table", [10, 48])
    y = sg.while_loop(lambda a: sg.reduce_max(a) < 9.0, lambda a: a * 1.5 + 0.1, [sg.tanh(x @ w)[:2]])
    loss = sg.reduce_mean(sg.square(x @ w)) + sg.reduce_sum(sg.nn.embedding_lookup(table, ids)) * 0.01
    step = sg.train.GradientDescentOptimizer(0.01).minimize(loss)
    return [loss, y, sg.matmul(x, x, transpose_a=True), step], lambda n: {
        x: draws(n, 64, 40)[0],
        ids: [1, 2, n],
    }


class Captures(Simulator):
    """A stand-in of which a capture may end with an error, after `left` more."""

    left, error = -1, None

    def end_capture(self):
        self.left -= 1
        if self.left == -1:
            raise self.error
        return super().end_capture()


PLACES = {"allocation": (0, 9), "product": (0, 1, 3), "replay": (0, 1, 3), "capture": (0, 2)}


@pytest.mark.parametrize("interrupt", [False, True], ids=["a fault", "Ctrl-C"])
@pytest.mark.parametrize("kind", PLACES)
def test_wherever_a_run_ends_nothing_has_changed_and_the_next_one_succeeds(host, kind, interrupt):
    """In a first run, in a capture, between the parts of a captured step, and in a loop."""

    def ran(driver, after=None):
        with sg.Graph().as_default(), on(driver), sg.Session() as session:
            sg.set_random_seed(5)
            fetches, feeds = everything()
            session.run(sg.global_variables_initializer())
            session.run(sg.global_variables())
            if after is not None and kind == "capture":
                driver.left = after
                driver.error = KeyboardInterrupt() if interrupt else DeviceError("a fault: capture")
            elif after is not None:
                driver.fail(kind, after, KeyboardInterrupt() if interrupt else None)
            found, failures = [], []
            while len(found) < 4:
                try:
                    found.append(session.run(fetches, feeds(len(found)))[:3])
                except (KeyboardInterrupt, ResourceExhaustedError, DeviceError) as error:
                    failures.append(error)
            return found, failures

    expected, _ = ran(None)
    for after in PLACES[kind]:
        found, failures = ran(Captures(3), after)
        if kind == "allocation" and not interrupt:  # cuBLAS may do with less, and a loop go round by round
            assert len(failures) <= 1
        else:
            assert [isinstance(error, KeyboardInterrupt) for error in failures] == [interrupt], after
        check_alike(found, expected, 1e-5)


def adam() -> tuple[list, Callable[[int], dict]]:
    """Updates in place, one after the other, which the host does not interrupt."""
    x = sg.placeholder(sg.float32, [16, 12])
    loss = sg.reduce_mean(sg.square(sg.layers.dense(sg.layers.dense(x, 8, sg.tanh), 5)))
    step = sg.train.AdamOptimizer(0.1).minimize(loss)
    return [loss, step], lambda n: {x: draws(n, 16, 12)[0]}


@pytest.mark.parametrize("interrupt", [False, True], ids=["a fault", "Ctrl-C"])
def test_a_first_run_that_ends_between_two_updates_has_changed_nothing(host, interrupt):
    """It asks for kernel after kernel, so that the first update is done when a later kernel fails."""

    def ran(driver, after=None):
        with sg.Graph().as_default(), on(driver), sg.Session() as session:
            sg.set_random_seed(5)
            fetches, feeds = adam()
            session.run(sg.global_variables_initializer())
            before = session.run(sg.global_variables())
            if after is None:
                return session.run(fetches, feeds(0))[0]
            driver.fail("launch", after, KeyboardInterrupt() if interrupt else None)
            with pytest.raises(KeyboardInterrupt if interrupt else DeviceError):
                session.run(fetches, feeds(0))
            check_alike(session.run(sg.global_variables()), before, 0)
            return session.run(fetches, feeds(0))[0]

    expected = ran(None)
    launches = 0
    while True:
        try:
            found = ran(Simulator(3), launches)
        except pytest.fail.Exception:  # as many launches are not in a run
            break
        check_alike(found, expected, 1e-5)
        launches += 3
    assert launches > 6
