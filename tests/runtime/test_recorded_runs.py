"""Segmented runs that are repeated as they were recorded, against runs that are planned each time."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.host_ops import segmented_run
from staticgraph.runtime.host_ops.recorded_run import RecordedRun, Unfinished

RUNS = 8


def masked(x):
    w = sg.Variable(2.0)
    kept = sg.boolean_mask(x * w, x > 0.0)
    step = w.assign_sub(0.01 * sg.gradients(sg.reduce_mean(kept * kept), w)[0])
    return [kept, sg.where(x > 0.0), step]


def drawn(x):
    """Random numbers of one stage decide how many there are for the next, and both are drawn again."""
    first = sg.random_uniform(sg.shape(x), seed=3)
    kept = sg.boolean_mask(first, x + first > 0.5)
    return [first, kept + sg.random_normal(sg.shape(kept), seed=4)]


def grouped(x):
    which = sg.cast(sg.floormod(x * 7.0, 3.0), sg.int32)
    places = sg.dynamic_partition(sg.range(sg.size(x)), which, 3)
    parts = [part * float(i + 1) for i, part in enumerate(sg.dynamic_partition(x, which, 3))]
    return [sg.dynamic_stitch(places, parts), parts]


def counted(x):
    values, places, counts = sg.unique_with_counts(sg.cast(x * 4.0, sg.int32))
    rest, _ = sg.setdiff1d(values, [0, 1])
    return {
        "values": values,
        "sums": sg.unsorted_segment_sum(x, places, sg.size(values)),
        "rest": (rest, counts),
    }


def a_size_that_is_computed(x):
    return sg.range(sg.reduce_sum(sg.cast(x > 0.0, sg.int32))) * 2


def in_a_loop(x):
    def shorter(i, y):
        return i + 1, sg.boolean_mask(y, y > sg.reduce_min(y))

    shapes = [sg.TensorShape([]), sg.TensorShape([None])]
    return sg.while_loop(lambda i, y: i < 3, shorter, (0, x), shape_invariants=shapes)[1]


def results(build, monkeypatch, warm: int) -> list[str]:
    """The results of runs on batches of several sizes."""
    monkeypatch.setattr(segmented_run, "WARM", warm)
    rng = np.random.default_rng(0)
    batches = [rng.normal(size=n).astype(np.float32) for n in (9, 9, 9, 9, 9, 4, 9, 17)]
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.placeholder(sg.float32, [None])
        fetches = build(x)
        session.run(sg.global_variables_initializer())
        with np.printoptions(precision=17):
            return [repr(session.run(fetches, {x: batch})) for batch in batches]


@pytest.mark.parametrize(
    "build", [masked, drawn, grouped, counted, a_size_that_is_computed, in_a_loop], ids=lambda f: f.__name__
)
def test_a_recorded_run_gives_what_a_planned_one_does(build, monkeypatch):
    assert results(build, monkeypatch, 2) == results(build, monkeypatch, 1 << 30)


def spelled(session, warm: int, monkeypatch) -> list[str]:
    """The results of runs on lines of text."""
    monkeypatch.setattr(segmented_run, "WARM", warm)
    lines, colon = sg.placeholder(sg.string, [None]), sg.constant(":")
    numbers = sg.io.decode_csv(lines, [[0.0], ["none"]])
    fetches = [sg.strings.join([numbers[1], colon]), numbers[0] * 2.0, sg.strings.length(lines), colon, lines]
    return [
        repr(session.run(fetches, {lines: ["1.5,a", f"{i},", "-3,ccc"][:i]})) for i in (3, 1, 2, 3, 0, 2, 1)
    ]


def test_runs_on_strings_are_recorded(monkeypatch):
    with sg.Graph().as_default(), sg.Session() as session:
        planned = spelled(session, 1 << 30, monkeypatch)
        made = []
        monkeypatch.setattr(segmented_run, "RecordedRun", lambda *a: made.append(a) or RecordedRun(*a))
        assert spelled(session, 2, monkeypatch) == planned
        assert len(made) == 1


def test_strings_of_variables_are_read_anew_in_each_run():
    with sg.Session() as session:
        name, line = sg.Variable(["none"], dtype=sg.string), sg.placeholder(sg.string, [1])
        greeting = sg.strings.join([line, name])
        for i in range(6):
            session.run(name.assign([f"n{i}"]))
            assert session.run([greeting, name], {line: ["a"]}) == [[f"an{i}".encode()], [f"n{i}".encode()]]


def test_a_size_of_real_numbers_is_no_program_for_each_of_them():
    rng = np.random.default_rng(0)
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.placeholder(sg.float32, [None])
        y = a_size_that_is_computed(x)
        for _ in range(6):
            batch = rng.normal(size=9)
            assert session.run(y, {x: batch}).tolist() == [*range(0, 2 * (batch > 0).sum(), 2)]
        assert len(session.compiles) == 2


def test_a_run_that_fails_changes_nothing_and_the_next_goes_on():
    with sg.Session() as session:
        x, which = sg.placeholder(sg.float32, [None]), sg.placeholder(sg.int32, [None])
        w = sg.Variable(0.0)
        parts = sg.dynamic_partition(x, which, 2)
        step = w.assign_add(sg.reduce_sum(parts[0] * 1.0))
        session.run(w.initializer)
        for _ in range(4):
            session.run(step, {x: [1, 2, 3], which: [0, 1, 0]})
            with pytest.raises(
                sg.errors.InvalidArgumentError, match=r"partitions must be in 0\.\.1"
            ) as caught:
                session.run(step, {x: [1, 2, 3], which: [0, 2, 0]})
            assert "test_recorded_runs.py" in str(caught.value)
        assert session.run(w) == 16


def test_a_variable_that_gets_another_shape():
    with sg.Session() as session:
        v = sg.Variable([1.0, -2.0, 3.0], validate_shape=False)
        mask = v > 0.0
        mask.set_shape([None])
        y = sg.reduce_sum(sg.boolean_mask(v, mask))
        session.run(v.initializer)
        for _ in range(4):
            assert session.run(y) == 4
        session.run(sg.assign(v, [5.0, 6.0], validate_shape=False))
        assert session.run(y) == 11


def test_results_are_not_overwritten_by_the_next_run():
    with sg.Session() as session:
        x = sg.placeholder(sg.float32, [None])
        fetches = [sg.where(x > 0.0), sg.unique(x)[1], sg.boolean_mask(x, x > 0.0)]
        batch = np.arange(-40_000, 40_000, dtype=np.float32)
        held = [session.run(fetches, {x: batch * sign}) for sign in (1, -1) * 3]
        assert all(np.array_equal(a, b) for a, b in zip(held[0], held[4], strict=True))
        assert not np.array_equal(held[0][0], held[1][0])
        held[5][1][:] = 0
        assert held[3][1].any()


def test_what_a_function_of_python_does_is_never_done_twice():
    seen: list[float] = []
    with sg.Session() as session:
        x = sg.placeholder(sg.float32, [None])
        total = sg.py_func(lambda a: seen.append(float(a.sum())) or np.float32(1), [x * 2.0], sg.float32)
        y = sg.reduce_sum(sg.boolean_mask(x, x > 0.0)) * total
        for n in range(1, 6):
            assert session.run(y, {x: np.ones(n, np.float32)}) == n
    assert seen == [2, 4, 6, 8, 10]


def test_a_run_that_cannot_go_on_as_recorded_calls_no_function_of_python_again(monkeypatch):
    seen: list[float] = []
    with sg.Session() as session:
        x = sg.placeholder(sg.float32, [None])
        first = sg.py_func(lambda a: seen.append(a.sum()) or a + 1, [x], sg.float32)
        kept = sg.boolean_mask(x, x > 0.0)
        y = [sg.reduce_sum(first) + sg.reduce_sum(kept), first]
        for n in range(1, 5):
            assert session.run(y, {x: np.ones(n, np.float32)})[0] == 3 * n
        whole, calls = RecordedRun.__call__, []

        def interrupted(self, arrays):
            monkeypatch.setattr(self._parts[-1], "perform", lambda *_: False)
            calls.append(whole(self, arrays))
            return calls[-1]

        monkeypatch.setattr(RecordedRun, "__call__", interrupted)
        assert session.run(y, {x: np.ones(9, np.float32)})[0] == 27
        assert isinstance(calls[0], Unfinished) and len(calls[0].made) == 1
    assert seen == [1, 2, 3, 4, 9]


def test_a_function_of_python_may_run_the_session_in_a_recorded_run():
    with sg.Session() as session:
        w = sg.Variable(0.0)
        more, x = w.assign_add(1.0), sg.placeholder(sg.float32, [])
        y = sg.py_func(lambda a: a + session.run(more), [x], sg.float32)
        session.run(w.initializer)
        assert [session.run(y, {x: 10.0}) for _ in range(5)] == [11, 12, 13, 14, 15]


def test_a_queue_that_is_filled_after_a_change_is_planned_each_time(monkeypatch):
    """Whoever waits for the queue sees the change."""
    monkeypatch.setattr(segmented_run, "RecordedRun", None)
    with sg.Session() as session:
        w, queue = sg.Variable(0.0), sg.queue.FIFOQueue(9, sg.float32)
        with sg.control_dependencies([w.assign_add(1.0)]):
            add = queue.enqueue(sg.constant(2.0) * 3.0)
        session.run(w.initializer)
        for n in range(1, 6):
            session.run(add)
            assert session.run([w, queue.size()]) == [n, n]


def test_a_recorded_run_calls_few_functions():
    """A planned run of a mask calls about 300 functions of Python, a recorded one a tenth of that."""
    count = 0

    def counts(frame, event, argument):
        nonlocal count
        count += event == "call"

    with sg.Session(device="cpu") as session:
        x = sg.placeholder(sg.float32, [None])
        y = sg.reduce_sum(sg.boolean_mask(x, x > 0.0))
        batch = np.array([1, -2, 3], np.float32)
        for _ in range(RUNS):
            session.run(y, {x: batch})
        sys.setprofile(counts)
        try:
            session.run(y, {x: batch})
        finally:
            sys.setprofile(None)
    assert count < 34
