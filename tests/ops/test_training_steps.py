"""Ops of training steps: one operation changes several variables, and refuses operands that do not fit."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import ShapeError
from staticgraph.compiler.ops.training.steps import FORMULAS, Cell, fixed


def step(lr=0.5, grad=(1.0, 2.0)):
    w, total = sg.Variable([1.0, 2.0], name="w"), sg.Variable([0.0, 0.0], name="total")
    return w, total, ops.apply_momentum(w.handle, total.handle, lr, grad, 0.5)


def test_the_variable_and_its_slot_change():
    w, total, moved = step()
    with sg.control_dependencies([moved]):
        after = total.read_value()
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        first = sess.run([moved, after, w])
        second = sess.run([moved, after, w])
    np.testing.assert_array_equal(first, [[0.5, 1.0], [1.0, 2.0], [0.5, 1.0]])
    np.testing.assert_array_equal(second, [[-0.25, -0.5], [1.5, 3.0], [-0.25, -0.5]])
    assert len(moved.op.outputs) == 1  # as in TensorFlow


def test_it_changes_them_in_loops_and_branches():
    w, total, _ = step()
    x = sg.placeholder(sg.bool, [])

    def one(i):
        with sg.control_dependencies([ops.apply_momentum(w.handle, total.handle, 0.5, [1.0, 2.0], 0.5)]):
            return sg.identity(i) + 1

    loop = sg.while_loop(lambda i: i < 2, one, [sg.constant(0)])
    branch = sg.cond(x, lambda: one(0), lambda: sg.constant(0))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sess.run(loop)
        np.testing.assert_array_equal(sess.run([w, total]), [[-0.25, -0.5], [1.5, 3.0]])
        sess.run(branch, {x: False})
        np.testing.assert_array_equal(sess.run([w, total]), [[-0.25, -0.5], [1.5, 3.0]])
        sess.run(branch, {x: True})
        np.testing.assert_array_equal(sess.run([w, total]), [[-1.125, -2.25], [1.75, 3.5]])


def test_what_it_does_not_take():
    with pytest.raises(ShapeError, match=r"(?s)the variable and grad: .*apply_momentum.*test_training_steps"):
        step(grad=[1.0, 2.0, 3.0])
    with pytest.raises(ShapeError, match=r"lr has the shape \[1\], and must be a number"):
        step(lr=[0.5])
    w = sg.Variable([1.0, 2.0])
    moved = ops.apply_momentum(w.handle, sg.constant([0.0, 0.0]), 0.5, [1.0, 2.0], 0.5)
    with sg.Session() as sess, pytest.raises(sg.errors.InvalidArgumentError, match="which is no variable"):
        sess.run(w.initializer)
        sess.run(moved)


def test_a_slot_without_a_value_is_told():
    w, _, moved = step()
    with sg.Session() as sess:
        sess.run(w.initializer)
        with pytest.raises(sg.errors.FailedPreconditionError, match="total"):
            sess.run(moved)


def test_a_formula_keeps_what_it_does_not_set():
    assert ops.apply_adagrad.variables == 2
    var, total = Cell(np.float32(1.0)), Cell(np.float32(4.0))
    with sg.Graph().as_default():
        FORMULAS["apply_adagrad"](var, total, 0.5, sg.constant(2.0), update_slots=False)
    assert total.new is total.value


@pytest.mark.parametrize(("number", "known"), [(0.5, 0.5), (lambda: sg.constant(0.25), 0.25)])
def test_numbers_that_stay_are_known(number, known):
    assert fixed(number() if callable(number) else number) == known
    assert fixed(sg.placeholder(sg.float32, [])) is None


@pytest.mark.takes_long
@pytest.mark.parametrize(
    "make",
    [
        lambda: sg.train.AdamOptimizer(beta1=0.75, beta2=0.75),
        lambda: sg.train.MomentumOptimizer(0.1, 0.75),
        lambda: sg.train.RMSPropOptimizer(0.1, decay=0.75, momentum=0.75),
    ],
    ids=["Adam", "momentum", "RMSProp"],
)
@pytest.mark.parametrize(("dtype", "steps"), [("float32", 400), ("float64", 2700)])
def test_averages_of_zeros_become_zero(make, dtype, steps):
    """Numbers that are not normal take long, and some decay rates leave the least of them as it is."""
    w, table = sg.Variable(np.zeros(3, dtype)), sg.Variable(np.zeros((4, 2), dtype))
    slope, ids = sg.placeholder(dtype, []), sg.placeholder(sg.int32, [None])
    optimizer = make()
    step = optimizer.minimize(sg.reduce_sum(w * slope) + sg.reduce_sum(sg.gather(table, ids)))
    slots = [optimizer.get_slot(w, name) for name in optimizer.get_slot_names()]
    rows = [optimizer.get_slot(table, "m")] if "m" in optimizer.get_slot_names() else []
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        session.run(step, {slope: 1.0, ids: [0, 1, 2, 3]})
        for _ in range(steps):
            session.run(step, {slope: 0.0, ids: [0]})
        assert not any(map(np.any, session.run(slots)))
        assert not any(np.any(value[1:]) for value in session.run(rows))
