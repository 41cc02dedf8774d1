"""The growth guard: which lines it warns of, and which it leaves alone."""

import threading
import warnings

import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import GraphGrowthWarning
from staticgraph.runtime.reports.growth import MANY

pytestmark = pytest.mark.takes_long


def warned(work) -> list[warnings.WarningMessage]:
    """The warnings of growth that `work` gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    return [each for each in found if issubclass(each.category, GraphGrowthWarning)]


@pytest.fixture
def v() -> sg.Variable:
    return sg.Variable(0.0, name="v")


def opened() -> sg.Session:
    sess = sg.Session()
    sess.run(sg.global_variables_initializer())
    return sess


def test_an_assignment_in_the_loop_is_told_once_with_its_line(v):
    sess = opened()

    def train():
        for step in range(2 * MANY):
            sess.run(v.assign(step))

    [warning] = warned(train)
    assert warning.filename == __file__
    assert warning.lineno == train.__code__.co_firstlineno + 2
    told = str(warning.message)
    assert f"between {MANY} pairs of runs" in told
    assert "before the loop" in told and "placeholder" in told and "variable.load" in told
    assert sess.run(v) == 2 * MANY - 1


def test_how_many_operations_is_told(v):
    sess = opened()

    def train():
        for _ in range(MANY + 1):
            v + 1.0  # two operations: the constant, and the sum
            sess.run(v)

    [warning] = warned(train)
    assert f"added {2 * MANY} operations" in str(warning.message)


def test_each_line_is_told_by_itself(v):
    sess = opened()

    def train():
        for step in range(MANY + 5):
            sess.run(v.assign(step))
            sess.run(-v)

    found = warned(train)
    first = train.__code__.co_firstlineno
    assert [each.lineno for each in found] == [first + 2, first + 3]


def test_operations_that_nobody_runs_count_too(v):
    sess = opened()
    double = v * 2.0

    def train():
        for _ in range(MANY + 1):
            sess.run(double)
            sg.reduce_sum(v)

    [warning] = warned(train)
    assert warning.lineno == train.__code__.co_firstlineno + 3


def test_nothing_is_said_of_a_graph_that_is_built_once(v):
    sess = opened()
    step = v.assign_add(1.0)

    def train():
        for _ in range(3 * MANY):
            sess.run(step)

    assert warned(train) == []
    assert sess.run(v) == 3 * MANY


def test_nothing_is_said_of_what_is_built_late_but_once(v):
    sess = opened()
    step = v.assign_add(1.0)

    def train():
        for number in range(3 * MANY):
            sess.run(step)
            if number == 50:
                many = [sg.sqrt(v + float(k)) for k in range(3 * MANY)]
                sess.run(many)
            if number in (60, 120):
                sg.train.Saver()

    assert warned(train) == []


def test_building_between_runs_below_the_bound(v):
    sess = opened()

    def train():
        for step in range(MANY - 1):
            sess.run(v.assign(step))
        for _ in range(MANY):
            sess.run(v)

    assert warned(train) == []


def test_a_load_adds_nothing(v):
    sess = opened()

    def train():
        for step in range(2 * MANY):
            v.load(step, sess)

    assert warned(train) == []
    assert sess.run(v) == 2 * MANY - 1


def test_what_is_built_before_the_first_run_is_the_graph():
    x = sg.constant(1.0)
    for _ in range(3 * MANY):
        x = x + 1.0
    with sg.Session() as sess:
        assert warned(lambda: sess.run(x)) == []


def test_sessions_count_for_themselves(v):
    def train():
        for step in range(2 * MANY):
            with sg.Session() as sess:
                sess.run(v.assign(step))

    assert warned(train) == []


def test_several_threads_count_together(v):
    sess = opened()

    def work():
        for step in range(MANY):
            sess.run(v.assign(step))

    def train():
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(warned(train)) == 1


def test_it_can_be_made_an_error(v):
    sess = opened()
    with warnings.catch_warnings():
        warnings.simplefilter("error", sg.errors.GraphGrowthWarning)
        with pytest.raises(sg.errors.GraphGrowthWarning, match="has added"):
            for step in range(2 * MANY):
                sess.run(v.assign(step))
