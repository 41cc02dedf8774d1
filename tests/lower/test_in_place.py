"""Variables are updated where they lie, where that is safe; a run gives the same either way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.lower.program import ARENA, Copy, Launch, LoopInstruction

VALUES = {"a": np.array([[1, 2], [3, 4]], np.float32), "b": np.array([[5, 6], [7, 8]], np.float32)}


@pytest.fixture
def variables() -> tuple[sg.Variable, sg.Variable]:
    return sg.Variable(VALUES["a"], name="a"), sg.Variable(VALUES["b"], name="b")


def steps(
    fetches: list, feeds: dict | None = None, runs: int = 2
) -> tuple[list, dict[str, np.ndarray], set[str]]:
    """The fetches of the last of some runs, the variables after it, and which were updated in place."""
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        program = sess.executable(fetches, feeds).compiled
        reads = {len(program.step.feeds) + i: op.name for i, op in enumerate(program.step.reads)}
        for _ in range(runs):
            fetched = sess.run(fetches, feeds)
        after = {v.op.name: sess.run(v) for v in sg.global_variables()}
        return fetched, after, {reads[i] for i in program.program.in_place}


SAFE: dict[str, Callable] = {
    "plus a number": lambda a, b: a + 1.0,
    "plus another variable": lambda a, b: a * b,
    "minus a product of others": lambda a, b: a - sg.matmul(b, b),
    "a sum of others": lambda a, b: a + sg.reduce_sum(b),
    "its own sum, which a kernel before it takes": lambda a, b: a - sg.reduce_sum(a, 0),
    "what it makes of itself, and its sum": lambda a, b: sg.exp(a) + sg.reduce_sum(sg.exp(a), 0),
}
ELSEWHERE: dict[str, Callable] = {
    "not the old value at all": lambda a, b: b * 2.0,  # the old one is no argument of such a step
    "transposed": lambda a, b: sg.transpose(a),
    "reversed": lambda a, b: sg.reverse(a, [0]) + a,
    "what it makes of itself, also transposed": lambda a, b: sg.exp(a) + sg.transpose(sg.exp(a)),
    "its own product": lambda a, b: sg.matmul(a, b),
    "its own product and itself": lambda a, b: a + sg.matmul(a, b),
    "rows in another order": lambda a, b: sg.gather(a, [1, 0]),
    "in another shape": lambda a, b: (
        sg.reshape(sg.transpose(sg.reshape(a, [4, 1])), [2, 2]) + sg.reshape(a, [4])[1:2]
    ),
}


@pytest.mark.parametrize("name", [*SAFE, *ELSEWHERE])
def test_new_values(name: str, variables):
    """The numbers are right, and in place exactly where each element needs its own old value at most."""
    a, b = variables
    new = (SAFE | ELSEWHERE)[name](a.value(), b.value())
    assigned = a.assign(new)
    once = run_numbers(new)
    _, after, in_place = steps([assigned.op], runs=1)
    np.testing.assert_allclose(after["a"], once, rtol=1e-6)
    np.testing.assert_array_equal(after["b"], VALUES["b"])
    assert in_place == ({"a"} if name in SAFE else set())


def run_numbers(tensor: sg.Tensor) -> np.ndarray:
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        return sess.run(tensor)


def test_read_by_another_later(variables):
    """`b` gets the old value of `a`, which is overwritten after it was read."""
    a, b = variables
    old = sg.identity(a)
    step = [a.assign(a + 1.0).op, b.assign(sg.transpose(old) * 2.0).op]
    _, after, _ = steps(step, runs=1)
    np.testing.assert_array_equal(after["a"], VALUES["a"] + 1)
    np.testing.assert_array_equal(after["b"], VALUES["a"].T * 2)


def test_old_and_new_value_in_one_kernel(variables):
    """As in Nesterov's momentum: the second result needs both the old and the new value of the first."""
    a, b = variables
    old = sg.identity(a)
    new = a.assign(0.5 * a + 1.0)
    step = b.assign(b + 10.0 * old + 100.0 * new)
    _, after, _ = steps([step.op], runs=1)
    np.testing.assert_allclose(after["a"], 0.5 * VALUES["a"] + 1)
    np.testing.assert_allclose(after["b"], VALUES["b"] + 10 * VALUES["a"] + 100 * (0.5 * VALUES["a"] + 1))


def test_swap(variables):
    a, b = variables
    old_a, old_b = sg.identity(a), sg.identity(b)
    _, after, in_place = steps([a.assign(old_b).op, b.assign(old_a).op], runs=1)
    np.testing.assert_array_equal(after["a"], VALUES["b"])
    np.testing.assert_array_equal(after["b"], VALUES["a"])
    assert not in_place


def test_swap_with_arithmetic(variables):
    a, b = variables
    old_a, old_b = sg.identity(a), sg.identity(b)
    _, after, _ = steps([a.assign(old_b + 1.0).op, b.assign(old_a + 2.0).op], runs=2)
    np.testing.assert_array_equal(after["a"], VALUES["a"] + 3)
    np.testing.assert_array_equal(after["b"], VALUES["b"] + 3)


def test_rotation(variables):
    a, b = variables
    c = sg.Variable(np.zeros((2, 2), np.float32), name="c")
    old = [sg.identity(v) for v in (a, b, c)]
    _, after, _ = steps([a.assign(old[1]).op, b.assign(old[2]).op, c.assign(old[0]).op], runs=3)
    np.testing.assert_array_equal(after["a"], VALUES["a"])
    np.testing.assert_array_equal(after["b"], VALUES["b"])
    np.testing.assert_array_equal(after["c"], np.zeros((2, 2)))


def test_one_value_for_two_variables(variables):
    a, b = variables
    new = a + b
    _, after, _ = steps([a.assign(new).op, b.assign(new).op], runs=1)
    np.testing.assert_array_equal(after["a"], VALUES["a"] + VALUES["b"])
    np.testing.assert_array_equal(after["b"], VALUES["a"] + VALUES["b"])


def test_a_fed_value(variables):
    a, _ = variables
    x = sg.placeholder(sg.float32, [2, 2])
    fed = np.full((2, 2), 9, np.float32)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sess.run(a.assign(x), {x: fed})
        sess.run(a.assign_add(x), {x: fed})
        np.testing.assert_array_equal(sess.run(a), np.full((2, 2), 18))
    np.testing.assert_array_equal(fed, np.full((2, 2), 9))


def test_old_and_new_value_fetched(variables):
    a, _ = variables
    before = sg.identity(a)
    after = a.assign(a * 2.0)
    fetched, _, in_place = steps([before, after, a], runs=1)
    np.testing.assert_array_equal(fetched, [VALUES["a"], VALUES["a"] * 2, VALUES["a"] * 2])
    assert in_place == {"a"}


def test_old_value_fetched_in_another_shape(variables):
    a, _ = variables
    before = sg.reshape(a, [4])
    fetched, after, _ = steps([before, a.assign(a * 2.0).op], runs=1)
    np.testing.assert_array_equal(fetched[0], VALUES["a"].reshape(4))
    np.testing.assert_array_equal(after["a"], VALUES["a"] * 2)


def test_several_assignments_in_one_run(variables):
    a, _ = variables
    first = a.assign_add(np.ones((2, 2), np.float32))
    second = a.assign(sg.transpose(a))
    third = a.assign(a * 2.0)
    fetched, after, _ = steps([first, second, third], runs=1)
    np.testing.assert_array_equal(fetched[0], VALUES["a"] + 1)
    np.testing.assert_array_equal(fetched[1], (VALUES["a"] + 1).T)
    np.testing.assert_array_equal(after["a"], (VALUES["a"] + 1).T * 2)


def test_a_host_call_forbids_it_before(variables):
    """It may fail when the variable is already overwritten."""
    a, b = variables
    changed = a.assign(a * 2.0)
    _, _, in_place = steps([changed.op, sg.matrix_inverse(changed), b.assign(b * 2.0).op], runs=1)
    assert in_place <= {"b"}
    with sg.Session() as sess:
        sess.run([a.initializer, b.initializer])
        sess.run(a.assign(np.zeros((2, 2), np.float32)))
        with pytest.raises(sg.errors.InvalidArgumentError):
            sess.run([b.assign(b * 2.0), sg.matrix_inverse(a), changed])
        np.testing.assert_array_equal(sess.run(b), VALUES["b"])


def test_a_variable_that_only_seems_to_be_read():
    """The rest of the step does not need the old value, so there need not be one."""
    a = sg.Variable([1.0, 2.0], name="a")
    step = a.assign(sg.where([True, True], [5.0, 6.0], a.value()))
    with sg.Session() as sess:
        np.testing.assert_array_equal(sess.run(step), [5, 6])
        np.testing.assert_array_equal(sess.run(a), [5, 6])


# Rows

UPDATES = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
SCATTERED = np.array([[6, 8], [7, 10]], np.float32)


def rows() -> sg.Tensor:
    return sg.constant([1, 1, 0])


def copied_bytes(step: list) -> int:
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        return sum(i.size for i in sess.executable(step).compiled.program.instructions if isinstance(i, Copy))


def test_rows_change_where_they_lie(variables):
    a, _ = variables
    step = [sg.scatter_add(a, rows(), UPDATES).op]
    _, after, in_place = steps(step, runs=1)
    np.testing.assert_array_equal(after["a"], SCATTERED)
    assert in_place == {"a"}
    assert copied_bytes(step) == 0


def test_arithmetic_and_rows_in_one_kernel(variables):
    a, _ = variables
    first = a.assign(a * 2.0)
    with sg.control_dependencies([first]):
        second = sg.scatter_sub(a, rows(), UPDATES)
    _, after, in_place = steps([second.op], runs=1)
    np.testing.assert_array_equal(after["a"], 2 * VALUES["a"] - (SCATTERED - VALUES["a"]))
    assert in_place == {"a"}


def test_rows_change_twice(variables):
    """Both scatters work in the buffer of the variable."""
    a, _ = variables
    first = sg.scatter_add(a, rows(), UPDATES)
    with sg.control_dependencies([first]):
        second = sg.scatter_mul(a, rows(), UPDATES)
    _, after, in_place = steps([second.op], runs=1)
    np.testing.assert_array_equal(after["a"], SCATTERED * [[5, 6], [3, 8]])
    assert in_place == {"a"}


def test_rows_before_and_after(variables):
    """Values of a variable that are fetched on the way are not overwritten later in the run."""
    a, _ = variables
    first = sg.scatter_add(a, rows(), UPDATES)
    with sg.control_dependencies([first]):
        second = sg.scatter_mul(a, rows(), UPDATES)
    (one, two), after, _ = steps([first, second], runs=1)
    np.testing.assert_array_equal(one, SCATTERED)
    np.testing.assert_array_equal(two, SCATTERED * [[5, 6], [3, 8]])
    np.testing.assert_array_equal(after["a"], two)


def test_rows_that_follow_from_the_old_ones(variables):
    """Each update reads the value before the run, though the row that it changes is listed before it."""
    a, _ = variables
    updates = sg.gather(a, [0, 1, 1]) * 10.0
    _, after, in_place = steps([sg.scatter_add(a, rows(), updates).op], runs=1)
    np.testing.assert_array_equal(after["a"], VALUES["a"] + [[30, 40], [40, 60]])
    assert in_place == {"a"}


def test_a_variable_that_is_added_to_itself(variables):
    a, _ = variables
    _, after, _ = steps([sg.scatter_add(a, [1, 0], a.value()).op], runs=1)
    np.testing.assert_array_equal(after["a"], VALUES["a"] + VALUES["a"][::-1])


# Where results lie


def test_results_that_no_kernel_writes():
    x = sg.placeholder(sg.float32, [2])
    one = sg.constant([1.0, 2.0])
    y = x * 2.0
    with sg.Session() as sess:
        fetches = [x, one, y, sg.reshape(y, [2, 1]), sg.reshape(x, [1, 2]), one, sg.identity(y)]
        made = sess.run(fetches, {x: [3, 4]})
        program = sess.executable(fetches, {x: [3, 4]}).compiled.program
    for found, wanted in zip(
        made, [[3, 4], [1, 2], [6, 8], [[6], [8]], [[3, 4]], [1, 2], [6, 8]], strict=True
    ):
        np.testing.assert_array_equal(found, wanted)
    assert sum(isinstance(i, Launch) for i in program.instructions) == 1
    assert all(isinstance(i, Launch | Copy) for i in program.instructions)


def test_intermediate_values_share_memory():
    """A chain that cannot fuse: each product needs the one before, and no older one."""
    x = sg.placeholder(sg.float32, [16, 16])
    y = x
    for _ in range(20):
        y = sg.matmul(y, x)
    with sg.Session() as sess:
        program = sess.executable(y, {x: np.eye(16)}).compiled.program
        np.testing.assert_array_equal(sess.run(y, {x: np.eye(16)}), np.eye(16))
    assert program.arena == 2 * 16 * 16 * 4
    assert all(r.offset % 64 == 0 for i in program.instructions for r in i.args if r.slot == ARENA)


def test_gradients_of_weights_do_not_wait_for_the_end():
    """Weights are updated as soon as that is safe: gradients of activations die one after the other."""
    arenas = []
    for count in (4, 8):
        sg.reset_default_graph()
        h = x = sg.placeholder(sg.float32, [64, 128])
        for _ in range(count):
            h = sg.layers.dense(h, 128, activation=sg.nn.relu)
        step = sg.train.GradientDescentOptimizer(0.1).minimize(sg.reduce_mean(sg.square(h)))
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            program = sess.executable(step, {x: np.ones((64, 128))}).compiled.program
        assert len(program.in_place) == 2 * count
        arenas.append(program.arena)
    one = 64 * 128 * 4
    assert arenas[1] - arenas[0] <= 4 * one  # the four activations, and none of their gradients


def test_a_loop_that_stands_for_a_convolution_does_not_forbid_it():
    """A run is not stopped in it, as it would not be in the convolution."""
    x = sg.constant(np.linspace(-1, 1, 16 * 16 * 16 * 32, dtype=np.float32).reshape(16, 16, 16, 32))
    first = sg.Variable(np.full((3, 3, 32, 32), 0.01, np.float32), name="first")
    second = sg.Variable(np.full((3, 3, 32, 32), 0.01, np.float32), name="second")
    h = sg.nn.conv2d(sg.nn.tanh(sg.nn.conv2d(x, first, 1, "SAME")), second, 1, "SAME")
    step = sg.train.MomentumOptimizer(0.1, 0.9).minimize(sg.reduce_mean(sg.square(h)))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        program = sess.executable(step).compiled.program
        assert any(isinstance(i, LoopInstruction) for i in program.instructions)
        assert len(program.in_place) == 4
        assert sess.plan(step).memory.new_values == 0
        before = sess.run(first)
        sess.run(step)
        assert not np.array_equal(before, sess.run(first))


def test_a_branch_of_kernels_does_not_forbid_it(variables):
    a, b = variables
    taken = sg.cond(sg.reduce_sum(b) > 0, lambda: b * 2.0, lambda: b)
    _, after, in_place = steps([a.assign(a + taken).op], runs=1)
    np.testing.assert_array_equal(after["a"], VALUES["a"] + 2 * VALUES["b"])
    assert in_place == {"a"}


def test_a_loop_of_the_users_forbids_it_before(variables):
    """It may be stopped when the variable is already overwritten."""
    a, _ = variables
    changed = a.assign(a + 1.0)
    doubled = sg.while_loop(lambda x: sg.reduce_sum(x) < 100, lambda x: [x * 2.0], [changed])
    _, after, in_place = steps([doubled, changed.op], runs=1)
    assert not in_place
    np.testing.assert_array_equal(after["a"], VALUES["a"] + 1)


@pytest.mark.parametrize("rows", [0, 3])
def test_a_kernel_without_elements_overwrites_nothing_that_is_not_made(rows: int):
    """The gradient of a lookup was to lie in the place of what only another kernel has, within itself."""
    x = sg.placeholder(sg.float64, [rows])
    column = sg.expand_dims(x, 1)
    rest = sg.gather(column, [0], axis=-1)
    loss = sg.reduce_sum(column * column) + sg.reduce_sum(rest * rest)
    given = np.arange(rows, dtype=np.float64)
    np.testing.assert_array_equal(sg.Session().run(sg.gradients(loss, x)[0], {x: given}), 4 * given)
