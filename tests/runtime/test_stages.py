"""Runs of several stages: compiled steps, and host ops before and after them."""

from __future__ import annotations

import queue
import re
import threading

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.kinds import host
from staticgraph.runtime import program_cache


@pytest.fixture
def take():
    """A stateful op that takes the next item of a queue."""
    yield host(type=lambda source: TensorType(sg.float32, (None,)), stateful=True, name="take")(_take)
    del OPS["take"]


def _take(*, source):
    """The next item of `source`."""
    return source.get()


@pytest.fixture
def keep():
    """A stateful op that keeps the arrays that it gets."""
    yield host(type=lambda *xs, to: (), stateful=True, name="keep")(_keep)
    del OPS["keep"]


def _keep(*xs, to):
    """Hands `xs` over `to` someone."""
    to(xs)
    return ()


def rows(n: int) -> np.ndarray:
    return np.arange(3 * n, dtype=np.float32).reshape(n, 3)


class Counted:
    """A function with what it was called with."""

    def __init__(self, function) -> None:
        self.function = function
        self.calls: list = []

    def __call__(self, *args):
        self.calls.append(args)
        return self.function(*args)


# Before the step


def test_a_leading_op_gets_what_an_earlier_stage_computes(sess):
    x = sg.placeholder(sg.float32, [None, 3])
    w = sg.Variable(np.ones((3, 2), np.float32))
    h = sg.matmul(x, w)
    total = Counted(lambda a: np.float32(a.sum()))
    y = sg.py_func(total, [h], sg.float32)
    loss = sg.reduce_sum(h * y)
    sess.run(w.initializer)
    for runs in range(1, 4):
        value, derivative = sess.run([loss, sg.gradients(loss, w)[0]], {x: rows(2)})
        assert value == 900
        np.testing.assert_array_equal(derivative[:, 0], 30 * rows(2).sum(0))  # none through the function
        assert len(total.calls) == runs
    assert sess.run(y, {x: rows(2)}) == 30


def test_a_mask_that_the_data_decide_has_a_derivative(sess):
    x = sg.placeholder(sg.float32, [None, 3])
    w = sg.Variable([1.0, 2.0, 3.0])
    y = x * w
    kept = sg.boolean_mask(y, sg.reduce_sum(y, 1) > 20)
    derivative = sg.gradients(sg.reduce_sum(kept), w)[0]
    sess.run(w.initializer)
    for n in (2, 3, 4):
        good = (rows(n) * [1, 2, 3]).sum(1) > 20
        made, by_w = sess.run([kept, derivative], {x: rows(n)})
        np.testing.assert_array_equal(made, (rows(n) * [1, 2, 3])[good])
        np.testing.assert_array_equal(by_w, rows(n)[good].sum(0))


def test_a_chain_of_leading_ops(sess):
    x = sg.placeholder(sg.float32, [None])
    first = sg.boolean_mask(x, x > 1.0)
    first.set_shape([None])
    second = sg.boolean_mask(first * 2, first > 2.0)
    assert sess.run(second + 1, {x: [1, 2, 3, 4]}).tolist() == [7, 9]


def test_a_shape_from_a_variable(sess):
    n = sg.Variable(3)
    y = sg.fill(sg.stack([n, 2]), 1.0)
    sess.run(n.initializer)
    assert sess.run(y).shape == (3, 2)
    sess.run(n.assign(5))
    assert sess.run([y, sg.reshape(y, [n, 1, 2])])[1].shape == (5, 1, 2)


def test_a_shape_from_random_numbers_is_that_of_the_same_run(sess):
    n = sg.random_uniform([], 1, 9, sg.int32, seed=3)
    pair = [n, sg.zeros(sg.stack([n]))]
    seen = [(int(number), zeros.size) for number, zeros in (sess.run(pair) for _ in range(6))]
    assert all(number == size for number, size in seen)
    assert len(set(seen)) > 1


def test_assignments_before_a_leading_op_are_seen_by_it_once(sess):
    v = sg.Variable(1.0)
    more = v.assign_add(1.0)
    with sg.control_dependencies([more]):
        seen = sg.py_func(lambda a: a, [v.read_value()], sg.float32)
    result = seen * 10.0
    sess.run(v.initializer)
    assert sess.run([result, more]) == [20, 2]
    assert sess.run(v) == 2
    assert sess.run(result) == 30
    assert sess.run(v) == 3


def test_an_assignment_that_is_fetched_beside_a_leading_op_comes_first(sess):
    v = sg.Variable(1.0)
    more = v.assign_add(1.0)
    result = sg.py_func(lambda a: a, [v * 1.0], sg.float32) * 10.0
    sess.run(v.initializer)
    assert sess.run(result) == 10
    assert sess.run([result, more.op]) == [20, None]


def test_a_large_constant_is_called_for_after_all(sess):
    mask = sg.equal(sg.cast(sg.range(70_000), sg.int32) % 7, 0)
    places = sg.where(mask)
    assert sess.run(sg.reduce_sum(places)) == np.arange(0, 70_000, 7).sum()


def test_what_an_earlier_stage_needs_is_printed_once(sess, capfd):
    x = sg.placeholder(sg.float32, [None])
    shown = ops.print_values(x, [x], text="seen ")
    kept = sg.boolean_mask(shown, shown > 1.0)
    assert sess.run(kept, {x: [1, 2]}).tolist() == [2]
    assert sess.run(sg.where(shown > 1.0), {x: [1, 2]}).tolist() == [[1]]
    assert capfd.readouterr().err.count("seen [") == 2


@pytest.mark.parametrize("given", [5.0, 7.0])
def test_a_derivative_through_a_fed_tensor_below_a_host_op(sess, given):
    x = sg.placeholder(sg.float32, [])
    y = x * x + sg.py_func(lambda a: a, [x], sg.float32)
    y.set_shape([])
    through = sg.py_func(lambda a: a, [x], sg.float32) * 2.0
    through.set_shape([])
    derivative = sg.gradients(y * y + through, x)[0]
    assert sess.run(derivative, {x: 3.0, y: given, through: 1.0}) == 2 * given * 6


def test_a_derivative_flows_around_what_is_done_in_python(sess):
    x = sg.placeholder(sg.float32, [])
    shown = ops.print_values(x, [sg.placeholder_with_default("text", [])])
    derivative = sg.gradients(shown * x, x)[0]
    assert sess.run(derivative, {x: 3.0}) == 6.0


def test_no_derivative_is_lost_in_silence(sess):
    x = sg.placeholder(sg.float32, [])
    shown = ops.print_values(x, [sg.placeholder_with_default("text", [])])
    derivative = ops.symbolic_gradients([shown * x, x], ys=1, seeds=0, xs=1)
    with pytest.raises(sg.errors.UnimplementedError, match=r"no derivative flows through .* done in Python"):
        sess.run(derivative, {x: 3.0})


def test_a_host_op_inside_of_a_branch(sess):
    x = sg.placeholder(sg.float32, [])
    made = sg.cond(x > 0, lambda: sg.py_func(np.sin, [x], sg.float32), lambda: x) + 1.0
    assert sess.run(made, {x: 1.0}) == pytest.approx(np.sin(1.0) + 1)
    assert sess.run(made, {x: -1.0}) == 0
    word = sg.cond(x > 0, lambda: sg.constant("above"), lambda: sg.constant("below"))
    assert sess.run(word, {x: 1.0}) == b"above"
    assert sess.run(word, {x: -1.0}) == b"below"


def test_a_host_op_inside_of_a_loop(sess):
    n = sg.placeholder(sg.int32, [])
    w = sg.Variable(1.0)
    seen = []

    def body(i, x):
        noted = sg.py_func(lambda i: seen.append(int(i)), [i], [])
        with sg.control_dependencies([noted, sg.assign_add(w, 1.0)]):
            return i + 1, sg.py_func(lambda x: np.append(x, x[-1] * 2), [x], sg.float32)

    start = sg.constant([1.0])
    shapes = [sg.TensorShape([]), sg.TensorShape(None)]
    _, made = sg.while_loop(lambda i, x: i < n, body, (0, start), shape_invariants=shapes)
    sess.run(w.initializer)
    assert sess.run(made * 1.0, {n: 3}).tolist() == [1, 2, 4, 8]
    assert seen == [0, 1, 2]
    assert sess.run(w) == 4
    assert sess.run(made, {n: 0}).tolist() == [1]


def test_a_loop_that_grows_as_often_as_data_say(sess):
    x = sg.placeholder(sg.float32, [None])
    shapes = [sg.TensorShape([None])]
    made = sg.while_loop(
        lambda y: sg.reduce_sum(y) < 20.0, lambda y: sg.concat([y, y], 0), [x], shape_invariants=shapes
    )
    for _ in range(2):
        assert sess.run(made, {x: [1, 2]}).tolist() == [1, 2] * 8
        assert sess.run(made, {x: [15, 6]}).tolist() == [15, 6]
    derivative = sg.gradients(sg.reduce_sum(made), x)[0]
    assert sess.run(derivative, {x: [1, 2]}).tolist() == [8, 8]
    assert sess.run(derivative, {x: [15, 6]}).tolist() == [1, 1]


def test_loops_and_stages_go_together(sess):
    x = sg.placeholder(sg.float32, [None])
    w = sg.Variable(2.0)
    kept = sg.boolean_mask(x, x > w - 1.5)
    grown = sg.while_loop(lambda y: sg.reduce_sum(y) < 100.0, lambda y: y * w, [kept])
    derivative = sg.gradients(sg.reduce_sum(grown), w)[0]
    sess.run(w.initializer)
    for _ in range(2):
        made, by_w = sess.run([grown, derivative], {x: [1, 2, 0.1]})
        assert made.tolist() == [64, 128]
        assert by_w == 6 * 32 * 3


# After the step


def test_a_trailing_op_does_not_split_the_step(sess, compiled):
    x = sg.placeholder(sg.float32, [None, 3])
    w = sg.Variable(np.ones(3, np.float32))
    loss = sg.reduce_sum(x * w)
    note = sg.py_func(lambda value: b"loss %g" % value, [loss], sg.string)
    step = w.assign_sub(0.5 * sg.gradients(loss, w)[0])
    sess.run(w.initializer)
    compiled.clear()
    assert sess.run([step, note], {x: rows(1)})[1] == b"loss 3"
    assert len(compiled) == 1
    np.testing.assert_array_equal(sess.run(w), [1, 0.5, 0])


def test_a_trailing_op_sees_variables_as_of_its_turn(sess):
    v = sg.Variable(1.0)
    before = sg.py_func(lambda a: a, [v], sg.float32)
    step = v.assign(5.0)
    after = sg.py_func(lambda a: a, [v], sg.float32)
    sess.run(v.initializer)
    assert sess.run([before, step, after]) == [1, 5, 5]


def test_host_ops_are_called_in_order_of_construction(sess):
    seen: list[int] = []
    calls = [sg.py_func(lambda i=i: seen.append(i), [], []) for i in range(3)]
    sess.run(sg.group(*reversed(calls)))
    assert seen == [0, 1, 2]


def test_a_host_op_is_called_once_whoever_needs_it(sess):
    one = Counted(lambda: np.float32(2))
    y = sg.py_func(one, [], sg.float32)
    again = sg.py_func(lambda a: a * np.float32(3), [y], sg.float32)
    assert sess.run([y, y + 1, again, again + y]) == [2, 3, 6, 8]
    assert len(one.calls) == 1
    with sg.control_dependencies([y]):
        nothing = sg.constant(1.0) + 0.0
    assert sess.run(nothing) == 1
    assert len(one.calls) == 2


# All or nothing


def test_a_host_op_that_fails_after_a_training_step_leaves_the_variables(sess):
    x = sg.placeholder(sg.float32, [None, 3])
    w = sg.Variable(np.ones(3, np.float32))
    noise = sg.random_normal([], seed=1)
    step = w.assign_add(x[0] * noise)

    def fail(value):
        raise ValueError("no")

    failing = sg.py_func(fail, [sg.reduce_sum(step)], [])
    sess.run(w.initializer)
    for _ in range(3):
        with pytest.raises(sg.errors.InvalidArgumentError, match="ValueError: no"):
            sess.run([step, failing], {x: rows(1)})
        np.testing.assert_array_equal(sess.run(w), np.ones(3))
    first = sess.run(noise)
    with sg.Session() as other:
        assert other.run(noise) == first  # the failed runs have used up no numbers


def test_an_error_tells_the_line_of_the_host_op(sess):
    y = sg.dynamic_partition([1.0, 2.0], sg.placeholder_with_default([0, 5], [None]), 2)
    with pytest.raises(sg.errors.InvalidArgumentError, match=r"partitions must be in 0\.\.1") as caught:
        sess.run(y)
    assert "test_stages.py" in str(caught.value)


# Compiled once


def test_the_second_run_compiles_nothing(sess, compiled):
    x = sg.placeholder(sg.float32, [None])
    y = sg.reduce_sum(sg.boolean_mask(x, x > 1.0))
    assert sess.run(y, {x: [1, 2, 3]}) == 5
    count = len(compiled)
    assert count == 2
    assert sess.run(y, {x: [4, 1, 6]}) == 10  # another mask of the same count
    assert len(compiled) == count


def test_ever_new_shapes_are_forgotten(sess, monkeypatch):
    monkeypatch.setattr(program_cache, "PROGRAM_LIMIT", 4)
    x = sg.placeholder(sg.float32, [None])
    y = sg.reduce_sum(sg.boolean_mask(x, x > 0.0))
    held = []
    call = sess.make_callable(y, [x])
    for n in range(1, 12):
        assert call(np.ones(n, np.float32)) == n
    (run,) = sess._runs.values()
    held = run.segmented._caches.values()
    assert [len(programs.known) for programs in held] == [4, 4]


def test_no_host_op_is_no_stage(sess):
    x = sg.placeholder(sg.float32, [None])
    y = sg.gather(x, sg.reshape(sg.where([True, False, True]), [-1]))  # known to the compiler
    for _ in range(4):
        assert sess.run(y, {x: [1, 2, 3]}).tolist() == [1, 3]
    assert all(run.segmented is None for run in sess._runs.values())


def test_the_program_of_the_main_stage_can_be_looked_at(sess):
    x = sg.placeholder(sg.float32, [None])
    y = sg.reduce_sum(sg.boolean_mask(x, x > 1.0))
    assert sess.executable(y, {x: [1, 2, 3]}).compiled.memory.peak > 0
    with pytest.raises(sg.errors.InvalidArgumentError, match="nothing in these fetches is compiled"):
        sess.executable(sg.constant("text"))


# State outside of the session


def test_a_host_op_that_waits_lets_other_threads_run(sess, take):
    source: queue.Queue = queue.Queue()
    total = sg.reduce_sum(take(source=source))
    give = sg.py_func(source.put, [sg.constant([1.0, 2.0])], [])
    made: list = []
    waiting = threading.Thread(target=lambda: made.append(sess.run(total)))
    waiting.start()
    sess.run(give)
    waiting.join(60)
    assert made == [3]


def test_a_session_that_is_closed_while_an_op_waits(take):
    source: queue.Queue = queue.Queue()
    session = sg.Session()
    total = sg.reduce_sum(take(source=source))
    begun, made = threading.Event(), []

    def run():
        begun.set()
        try:
            session.run(total)
        except (sg.errors.FailedPreconditionError, sg.errors.CancelledError) as error:
            made.append(error)  # closed before, or meanwhile

    waiting = threading.Thread(target=run)
    waiting.start()
    begun.wait(60)
    session.close()
    source.put(np.ones(2, np.float32))
    waiting.join(60)
    (error,) = made
    assert re.match("the session (is closed|was closed during the run)", str(error))


def test_what_a_host_op_keeps_is_not_overwritten(sess, keep):
    x = sg.placeholder(sg.float32, [2])
    kept: list[np.ndarray] = []
    step = keep([x, x + 0.0], to=kept.extend)
    own = np.array([1, 2], np.float32)
    for value in (own, [3, 4], [5, 6]):
        sess.run(step, {x: value})
    own[:] = 0
    assert [k.tolist() for k in kept] == [[1, 2], [1, 2], [3, 4], [3, 4], [5, 6], [5, 6]]


def test_a_function_may_run_the_session(sess):
    v = sg.Variable(2.0)
    y = sg.py_func(lambda: sess.run(v) * 2, [], sg.float32)
    sess.run(v.initializer)
    assert sess.run(y + v) == 6


# Strings


def test_variables_of_strings(sess):
    v = sg.Variable("one", name="text")
    names = sg.report_uninitialized_variables([v])
    assert sess.run([sg.is_variable_initialized(v), names])[0].tolist() is False
    with pytest.raises(sg.errors.FailedPreconditionError, match="text has no value"):
        sess.run(v)
    sess.run(v.initializer)
    assert sess.run([v, names])[0] == b"one"
    longer = v.assign(sg.identity(v) + "!")
    assert sess.run(longer) == b"one!"
    assert sess.run(v + "?") == b"one!?"


def test_a_constant_of_strings_may_be_fed(sess):
    v = sg.Variable("one")
    v.load("two", sess)
    assert sess.run(v) == b"two"


def test_strings_are_not_in_checkpoints(sess, tmp_path):
    v = sg.Variable("one", name="text")
    sess.run(v.initializer)
    with pytest.raises(sg.errors.SaveError, match="cannot save text: it holds strings"):
        sg.train.Saver().save(sess, str(tmp_path / "model"))


def test_an_assignment_of_strings_is_all_or_nothing(sess):
    v = sg.Variable("one")
    step = v.assign("two")
    with sg.control_dependencies([step]):
        bad = sg.py_func(lambda: [][0], [], [])
    sess.run(v.initializer)
    with pytest.raises(sg.errors.UnknownError, match="IndexError"):
        sess.run(bad)
    assert sess.run(v) == b"one"


def test_a_placeholder_of_strings_that_is_not_fed(sess):
    names = sg.placeholder(sg.string, [None], name="names")
    with pytest.raises(sg.errors.InvalidArgumentError, match="feed a value for placeholder tensor 'names'"):
        sess.run(sg.equal(names, "a"))


def test_a_comparison_of_strings_selects_numbers(sess):
    names = sg.placeholder(sg.string, [None])
    x = sg.placeholder(sg.float32, [None])
    y = sg.reduce_sum(sg.where(sg.equal(names, "a"), x, -x))
    for _ in range(3):
        assert sess.run(y, {names: ["a", "b", "a"], x: [1, 2, 3]}) == 2


def test_names_of_variables_that_the_run_itself_sets(sess):
    a, b = sg.Variable(1.0, name="a"), sg.Variable(1.0, name="b")
    early = sg.report_uninitialized_variables([a, b])
    step = a.assign(3.0)
    late = sg.report_uninitialized_variables([a, b])
    first, _, second = sess.run([early, step, late])
    assert (first.tolist(), second.tolist()) == ([b"a", b"b"], [b"b"])


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["host op", "loop"])
def test_random_numbers_of_two_stages_go_on_once_a_run(kind):
    def drawn(staged: bool) -> list[np.ndarray]:
        with sg.Graph().as_default(), sg.Session(device="cpu", open_sizes=True) as session:
            length = sg.placeholder(sg.int32, [])
            x = sg.random_uniform([length], seed=5)
            if not staged:
                y = x + 1.0
            elif kind == "host op":
                y = sg.py_func(np.copy, [x * 2.0], sg.float32) + 1.0
            else:
                shapes, twice = [sg.TensorShape([]), sg.TensorShape([None])], x * 2.0
                grown = sg.while_loop(
                    lambda i, a: i < length // 2,
                    lambda i, a: (i + 1, sg.concat([a, twice[i : i + 1]], 0)),
                    [0, twice[:0]],
                    shape_invariants=shapes,
                )
                y = grown[1]
            return [session.run([x, y], {length: n})[0] for n in (3, 4, 3, 5, 3)]

    for one, other in zip(drawn(True), drawn(False), strict=True):
        np.testing.assert_array_equal(one, other)
