"""Open sizes in sessions that check runs for NaN or limit their memory: one program, as without."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError, ResourceExhaustedError

ROWS = (3, 40, 1, 7, 64)


def net():
    x = sg.placeholder(sg.float32, [None, 6], name="x")
    hidden = sg.layers.dense(sg.sqrt(x), 48, activation=sg.nn.relu, name="up")
    wide = sg.nn.tanh(hidden) * sg.nn.sigmoid(hidden)
    loss = sg.reduce_mean(sg.square(sg.layers.dense(wide, 3, name="down")))
    return x, loss, sg.train.GradientDescentOptimizer(0.1).minimize(loss)


def trained(rows=ROWS, **options):
    """Return the losses and weights after steps of these sizes, and the number of compiles for them."""
    sg.reset_default_graph()
    sg.set_random_seed(3)
    x, loss, step = net()
    random = np.random.default_rng(5)
    with sg.Session(**options) as session:
        session.run(sg.global_variables_initializer())
        feeds = [random.uniform(0.1, 2.0, (n, 6)).astype(np.float32) for n in rows]
        before = len(session.compiles)
        losses = [session.run([loss, step], {x: feed})[0] for feed in feeds]
        compiles = len(session.compiles) - before
        return [np.array(losses), *session.run(sg.trainable_variables())], compiles


@pytest.mark.parametrize("options", [{"check_nan": True}, {"memory_limit": 10**8}], ids=str)
def test_one_program_with_the_bits_of_other_sessions(options):
    plain, _ = trained()
    found, compiles = trained(**options)
    assert compiles == 1
    for a, b in zip(found, plain, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("bad", [2, 33])
def test_nan_is_found_at_any_size(bad):
    x, loss, step = net()
    with sg.Session(check_nan=True) as session:
        session.run(sg.global_variables_initializer())
        session.run([loss, step], {x: np.ones((5, 6), np.float32)})
        before = session.run(sg.trainable_variables())
        with pytest.raises(InvalidArgumentError, match="sqrt"):
            session.run([loss, step], {x: np.full((bad, 6), -1, np.float32)})
        for a, b in zip(session.run(sg.trainable_variables()), before, strict=True):
            np.testing.assert_array_equal(a, b)
        session.run([loss, step], {x: np.ones((9, 6), np.float32)})


def test_the_maximum_of_no_rows_may_be_infinite():
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    most = sg.reduce_max(x, 0)
    with sg.Session(check_nan=True) as session:
        for n in (3, 0, 5):
            found = session.run(most, {x: np.ones((n, 2), np.float32)})
            np.testing.assert_array_equal(found, [1, 1] if n else [-np.inf, -np.inf])
        with pytest.raises(InvalidArgumentError):
            session.run(most, {x: np.full((4, 2), np.inf, np.float32)})


def test_a_size_that_needs_more_than_the_limit_is_refused_and_others_go_on():
    x, loss, step = net()
    with sg.Session(memory_limit=200_000) as session:
        session.run(sg.global_variables_initializer())
        for n in (4, 100_000, 9):
            feeds = {x: np.ones((n, 6), np.float32)}
            if n < 1000:
                session.run([loss, step], feeds)
                continue
            with pytest.raises(ResourceExhaustedError, match="may have"):
                session.run([loss, step], feeds)


def test_a_size_for_which_values_must_be_computed_again_has_a_program_of_its_own():
    x, loss, step = net()
    feeds = {x: np.ones((4000, 6), np.float32)}
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        needed = session.plan([loss, step], feeds).memory.peak
    with sg.Session(memory_limit=needed - 1) as session:
        session.run(sg.global_variables_initializer())
        session.run([loss, step], {x: np.ones((4, 6), np.float32)})
        session.run([loss, step], feeds)
        assert session.plan([loss, step], feeds).memory.peak < needed
