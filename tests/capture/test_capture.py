"""From the user's graph to a Function: pruning, feeds, state in the order of construction, static feeds."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.capture.step import NeedsFeeds, NeedsStage
from staticgraph.compiler.graph.checks.verify import verify
from staticgraph.compiler.graph.errors import FeedError, InvalidArgumentError
from tests.passes.steps import captured, run, step_of


def ops_of(step) -> list[str]:
    return [n.op.name for n in step.function.nodes if n.op.name not in ("parameter", "constant")]


# Pruning


def test_only_what_is_fetched():
    x = sg.placeholder(sg.float32, [2], name="x")
    y, unfed = sg.exp(x), sg.placeholder(sg.float32, [2])
    sg.sin(unfed)
    step = step_of([y], {x: [0, 0]})
    assert ops_of(step) == ["exp"]
    verify(step.function)


def test_nothing_above_a_fed_tensor():
    x = sg.placeholder(sg.float32, [2], name="x")
    h = sg.exp(x)
    np.testing.assert_array_equal(run([h * 2.0], {h: [1, 2]}), [[2, 4]])


def test_feeding_one_of_several_outputs_and_fetching_it():
    x = sg.placeholder(sg.float32, [2], name="x")
    left, _ = sg.split(x, 2)
    np.testing.assert_array_equal(run([left], {left: [5]}), [[5]])


def test_fetching_what_is_fed():
    x = sg.placeholder(sg.float32, [2])
    np.testing.assert_array_equal(run([x, x], {x: [1, 2]}), [[1, 2], [1, 2]])


def test_one_tensor_twice_is_one_node():
    x = sg.placeholder(sg.float32, [2])
    step = step_of([sg.exp(x), sg.exp(x)], {x: [0, 0]})
    assert ops_of(step) == ["exp"]
    assert len(step.function.results) == 2


def test_missing_feed_names_the_path():
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    loss = sg.reduce_sum(sg.exp(x, name="e"), name="loss")
    with pytest.raises(
        FeedError, match=r"You must feed a value for placeholder tensor 'x' \(float32\[\?, 2\]\)"
    ) as caught:
        step_of([loss])
    assert "the fetch loss needs it, by loss <- e <- x" in str(caught.value)
    assert caught.value.op is x.op


def test_a_long_path_is_shortened():
    h = sg.placeholder(sg.float32, [2], name="x")
    for i in range(20):
        h = sg.exp(h, name=f"h{i}")
    with pytest.raises(FeedError, match=r"by h19 <- h18 <- \.\.\. <- h2 <- h1 <- h0 <- x\n"):
        step_of([h])


def test_missing_feed_of_a_fetched_placeholder():
    x = sg.placeholder(sg.float32, [2], name="x")
    with pytest.raises(FeedError, match=r"placeholder tensor 'x' \(float32\[2\]\)\n"):
        step_of([x])


def test_a_default_may_be_fed():
    rate = sg.placeholder_with_default(0.5, [], name="rate")
    assert run([rate * 2.0]) == [1.0]
    assert run([rate * 2.0], {rate: 2.0}) == [4.0]


# State


def test_reads_see_assignments_made_before():
    w = sg.Variable(1.0, name="w")
    before = sg.identity(w)
    raised = w.assign_add(10.0)
    between = sg.identity(w)
    doubled = w.assign(w * 2.0)
    after = sg.identity(w)
    state = {"w": np.float32(1)}
    found = run([before, raised, between, doubled, after, w], {}, state)
    np.testing.assert_array_equal(found, [1, 11, 11, 22, 22, 22])
    assert state["w"] == 22


def test_the_order_of_fetches_does_not_matter():
    w = sg.Variable(1.0, name="w")
    before = sg.identity(w)
    raised = w.assign_add(10.0)
    assert run([raised, before], {}, {"w": np.float32(1)}) == [11, 1]


def test_an_assignment_that_is_not_fetched_does_not_happen():
    w = sg.Variable(1.0, name="w")
    w.assign_add(10.0)
    state = {"w": np.float32(1)}
    assert run([sg.identity(w)], {}, state) == [1]
    assert state["w"] == 1


def test_control_dependencies():
    w = sg.Variable(1.0, name="w")
    count = sg.Variable(0, name="count")
    raised = count.assign_add(1)
    with sg.control_dependencies([raised]):
        y = sg.identity(w)
    state = {"w": np.float32(1), "count": np.int32(4)}
    assert run([y], {}, state) == [1]
    assert state["count"] == 5


def test_a_fed_placeholder_as_control_dependency_or_target():
    x = sg.placeholder(sg.float32, [], name="x")
    with sg.control_dependencies([x]):
        y = sg.constant(3.0)
    assert run([y, x.op], {x: 1.0}) == [3]
    with pytest.raises(FeedError, match="placeholder tensor 'x'"):
        run([y])


def test_assigning_needs_no_old_value():
    w = sg.Variable([1.0, 2.0], name="w")
    step = step_of([w.initializer])
    assert step.needed == []
    state: dict = {}
    run([w.initializer], {}, state)
    np.testing.assert_array_equal(state["w"], [1, 2])


def test_initializers_that_depend_on_each_other():
    a = sg.Variable(2.0, name="a")
    b = sg.Variable(a.initialized_value() * 3.0, name="b")
    state: dict = {}
    run([sg.global_variables_initializer()], {}, state)
    assert (state["a"], state["b"]) == (2, 6)
    assert b.name == "b:0"


def test_assigning_another_shape_is_refused():
    x = sg.placeholder(sg.float32, [None], name="x")
    w = sg.Variable([1.0, 2.0], name="w")
    assigned = w.assign(x, name="set")
    with pytest.raises(
        InvalidArgumentError, match=r"set assigns float32\[3\] to the variable w of type float32\[2\]"
    ):
        step_of([assigned], {x: [1, 2, 3]})


def test_feeding_a_variable():
    w = sg.Variable(1.0, name="w")
    y = w * 10.0
    assert run([y], {w: 2.0}) == [20]
    assert run([y], {w.handle: 3.0}) == [30]
    assert run([sg.gradients(y * w, w)[0]], {w: 2.0}) == [40]


def test_random_counters_move_by_what_was_drawn():
    y = sg.random_uniform([8], seed=1)
    step = step_of([y])
    assert [op.type for op in step.counters] == ["RandomUniform"]
    assert step.advances[0] >= 2


# Derivatives


def test_by_a_tensor_with_an_equal_twin():
    x = sg.placeholder(sg.float32, [], name="x")
    a, b = x * 2.0, x * 2.0
    assert run(sg.gradients(a * a * b, [a, b]), {x: 3.0}) == [2 * 36, 36]


def test_by_equal_constants():
    a, b = sg.constant(2.0), sg.constant(2.0)
    assert run(sg.gradients(a * a * b, [a, b])) == [8, 4]


def test_stopping_at_a_tensor_with_an_equal_twin():
    x = sg.placeholder(sg.float32, [], name="x")
    a, b = x * 2.0, x * 2.0
    [g] = sg.gradients(a * b, [x], stop_gradients=[a])
    assert run([g], {x: 3.0}) == [12]


def test_by_a_variable_that_is_read_around_an_assignment():
    """Both values are the variable's: the derivative is by all that was read."""
    w = sg.Variable(2.0, name="w")
    first = w * 3.0
    with sg.control_dependencies([w.assign(10.0)]):
        second = sg.square(sg.identity(w))
    [g] = sg.gradients(first + second, [w])
    assert run([g], {}, {"w": np.float32(2)}) == [3 + 20]


def test_through_a_fed_tensor():
    """As in TF1: the inner derivative is taken where the graph is, the outer one where it was fed."""
    x = sg.placeholder(sg.float32, [], name="x")
    h = x * x
    y = h * h * h
    [g] = sg.gradients(y, [x])
    assert run([g], {x: 3.0}) == [3 * 81 * 6]
    assert run([g], {x: 3.0, h: 2.0}) == [3 * 4 * 6]
    assert run([y], {h: 2.0}) == [8]


def test_by_a_fed_tensor():
    x = sg.placeholder(sg.float32, [], name="x")
    h = x * x
    y = h * h
    [by_x], [by_h] = sg.gradients(y, [x]), sg.gradients(y, [h])
    assert run([by_h], {h: 5.0}) == [10]
    assert run([by_x, by_h], {x: 3.0, h: 5.0}) == [60, 10]


def test_second_derivative_through_a_fed_tensor():
    x = sg.placeholder(sg.float32, [], name="x")
    h = x * x
    [first] = sg.gradients(h * h, [x])
    [second] = sg.gradients(first, [x])
    assert run([second], {x: 3.0}) == [12 * 9]
    assert run([first], {x: 3.0, h: 1.0}) == [2 * 1 * 6]


def test_through_a_tensor_fed_in_another_shape():
    x = sg.placeholder(sg.float32, [None], name="x")
    h = sg.exp(x, name="h")
    [g] = sg.gradients(h, [x])  # made of what is fed, as in TensorFlow
    np.testing.assert_array_equal(run([g], {x: [1, 2], h: [1, 2, 3]}), [[1, 2, 3]])
    whole = ops.symbolic_gradients([h, x], ys=1, seeds=0, xs=1)
    with pytest.raises(
        InvalidArgumentError, match=r"h:0 is fed as float32\[3\] and computed as float32\[2\]"
    ):
        run([whole], {x: [1, 2], h: [1, 2, 3]})


def test_through_a_default():
    x = sg.placeholder(sg.float32, [], name="x")
    h = sg.placeholder_with_default(x * 2.0, [])
    [g] = sg.gradients(h * h, [x])
    assert run([g], {x: 3.0}) == [24]
    assert run([g], {x: 3.0, h: 1.0}) == [4]


def test_no_path_left_gives_zeros():
    x = sg.placeholder(sg.float32, [2], name="x")
    [g] = sg.gradients(sg.exp(x), [x])
    np.testing.assert_array_equal(run([g], {x: [0, 0]}), [[1, 1]])


# Shapes that depend on what is fed


def test_shapes_follow_the_feeds():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    flat = sg.reshape(x, [sg.shape(x)[0] * 3])
    step = step_of([flat], {x: np.zeros((4, 3))})
    assert step.function.results[0].shape == (12,)


def test_a_shape_from_a_fed_number():
    n = sg.placeholder(sg.int32, [], name="n")
    y = sg.fill([n, 2], 1.0)
    assert captured([y], {n: 3}) == NeedsFeeds((n,))
    np.testing.assert_array_equal(run([y], {n: 3}, static={n: np.int32(3)})[0], np.ones((3, 2)))


def test_a_feed_of_which_only_the_shape_matters_is_not_static():
    """Otherwise each new value of it would be compiled anew."""
    x = sg.placeholder(sg.float32, [None], name="x")
    n = sg.placeholder(sg.int32, [], name="n")
    y = sg.reshape(x, [sg.shape(x)[0] // n, n])
    assert captured([y], {x: np.zeros(6), n: 3}) == NeedsFeeds((n,))


def test_a_shape_from_a_variable_needs_another_stage():
    n = sg.Variable(3, name="n")
    shape = sg.stack([n, 2])
    assert captured([sg.fill(shape, 1.0)]) == NeedsStage((shape,))


def test_a_shape_from_a_large_feed_needs_another_stage():
    """Otherwise each new batch would be compiled anew."""
    lengths = sg.placeholder(sg.int32, [None])
    longest = sg.reduce_max(lengths)
    needs = captured([sg.fill([longest], 1.0)], {lengths: np.arange(100)})
    assert isinstance(needs, NeedsStage) and needs.tensors != (lengths,)


# Defaults and operands


def test_a_default_decides_no_static_shape():
    x = sg.placeholder(sg.float32, [4])
    y = sg.reshape(x, sg.placeholder_with_default([2, 2], [2], name="shape"))
    assert y.shape.as_list() == [None, None]
    np.testing.assert_array_equal(run([y], {x: [1, 2, 3, 4]}), [[[1, 2], [3, 4]]])


def test_a_default_has_its_own_shape_when_it_is_not_fed():
    x = sg.placeholder_with_default([1.0, 2.0], [None])
    y = sg.placeholder_with_default([1.0, 2.0, 3.0], [None])
    with pytest.raises(ValueError, match="do not broadcast"):
        run([x + y])


def test_a_feed_that_decides_a_shape_has_a_derivative():
    x = sg.placeholder(sg.float32, [3])
    (slope,) = sg.gradients(sg.boolean_mask(x * x, x > 0), [x])
    np.testing.assert_array_equal(
        run([slope], {x: [1, -2, 3]}, static={x: np.float32([1, -2, 3])}), [[2, 0, 6]]
    )


def test_composites_check_their_operands():
    ids = sg.placeholder(sg.int32)
    with pytest.raises(ValueError, match="an id for each slice"):
        run([sg.segment_sum([1.0, 2.0], ids)], {ids: [0, 0, 1]}, static={ids: np.int32([0, 0, 1])})


@pytest.mark.parametrize("number", [-1, 0, 1, 2])
def test_a_number_that_no_branch_has_takes_the_last(number: int):
    """It may be known while the graph is built, when the step is compiled, or while it runs in Python."""
    wanted = number if number in (0, 1) else 1
    index = sg.placeholder(sg.int32, [])
    python = [lambda n=n: sg.py_func(lambda: np.int32(n), [], sg.int32) for n in range(2)]
    plain = [lambda n=n: sg.constant(n) for n in range(2)]
    fetches = [sg.switch_case(index, functions) for functions in (plain, python)]
    fetches.append(sg.switch_case(sg.constant(number), plain))
    with sg.Session() as sess:
        assert sess.run(fetches, {index: number}) == [wanted] * 3
