"""Initializers are computed by the meaning of their ops: nothing is compiled for what runs once."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.lower.interpret_initializers import LIMIT
from staticgraph.runtime.executable import Executable


def program(sess: sg.Session, fetches: object, feeds: dict[sg.Tensor, object] | None = None) -> Executable:
    return sess.executable(fetches, feeds)


def test_initializers_have_no_kernels():
    sg.layers.dense(sg.placeholder(sg.float32, [None, 9]), 7)
    with sg.Session() as sess:
        init = sg.global_variables_initializer()
        assert not program(sess, init).compiled.kernels
        sess.run(init)
        kernel, bias = sess.run(sg.global_variables())
    assert kernel.std() > 0.1 and not bias.any()


def test_what_is_large_or_depends_on_something_is_compiled():
    x = sg.placeholder(sg.float32, [3])
    v = sg.Variable(np.zeros(3, np.float32))
    large = sg.get_variable("large", [LIMIT + 1], initializer=sg.random_uniform_initializer(seed=1))
    with sg.Session() as sess:
        for fetches, feeds in ((large.initializer, {}), (sg.assign(v, x + 1.0), {x: np.ones(3)})):
            assert program(sess, fetches, feeds).compiled.kernels
        sess.run(v.initializer)
        assert program(sess, sg.assign_add(v, [1.0, 2.0, 3.0])).compiled.kernels


@pytest.mark.parametrize(
    "initializer",
    [
        sg.random_uniform_initializer(-1, 1, seed=3),
        sg.random_normal_initializer(seed=3),
        sg.truncated_normal_initializer(seed=3),
        sg.glorot_uniform_initializer(seed=3),
    ],
)
def test_the_numbers_are_those_of_compiled_code(initializer):
    v = sg.get_variable("v", [40, 30], initializer=initializer, dtype=sg.float32)
    with sg.Session() as sess:
        sess.run(v.initializer)
        np.testing.assert_allclose(sess.run(v), first_value(v), rtol=1e-6, atol=1e-7)


def first_value(v: sg.Variable) -> np.ndarray:
    """Return the initial value that a session of its own fetches, by compiled code."""
    with sg.Session() as sess:
        return sess.run(v.initial_value)


def test_every_run_draws_anew():
    v = sg.get_variable("v", [50], initializer=sg.random_normal_initializer(seed=5))
    with sg.Session() as sess:
        values = []
        for _ in range(3):
            sess.run(v.initializer)
            values.append(sess.run(v))
    assert not np.array_equal(values[0], values[1]) and not np.array_equal(values[1], values[2])


def test_what_only_fills_memory_may_be_large():
    value = np.arange(2 * LIMIT, dtype=np.float32)
    w = sg.Variable(value)
    step = sg.train.MomentumOptimizer(0.1, 0.9).minimize(sg.reduce_sum(w * w))
    init = sg.global_variables_initializer()
    with sg.Session() as sess:
        compiled = program(sess, init).compiled
        assert not compiled.kernels and not compiled.program.constants
        sess.run(init)
        np.testing.assert_array_equal(sess.run(w), value)
        sess.run(step)
        np.testing.assert_allclose(sess.run(w), 0.8 * value, rtol=1e-6)


def test_a_step_that_only_calls_kernels_needs_no_choice_of_instructions():
    """LLVM writes the function of a step in half the time if there is nothing to choose in it."""
    x = sg.placeholder(sg.float32, [3])
    i = sg.placeholder(sg.int32, [])
    loop = sg.while_loop(lambda n, y: n < 5, lambda n, y: (n + 1, sg.tanh(y)), [i, x])[1]
    with sg.Session() as sess:
        straight = program(sess, [sg.tanh(x), sg.reduce_sum(x)], {x: np.ones(3)}).compiled.entry
        branching = program(sess, loop, {x: np.ones(3), i: 0}).compiled.entry
    assert straight.plain and "  br " not in straight.text
    assert not branching.plain and "  br " in branching.text
