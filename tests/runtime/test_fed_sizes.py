"""Sizes that are fed as values, such as a batch: one program for all of them."""

import itertools

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import OpError


@pytest.fixture
def sess():
    with sg.Session(device="cpu") as session:
        yield session


def batch_and_rows():
    return sg.placeholder(sg.int32, [], name="batch"), sg.placeholder(sg.float32, [None, 4], name="x")


def test_one_program_for_all_batches(sess):
    batch, x = batch_and_rows()
    y = sg.reduce_sum(sg.reshape(sg.zeros([batch, 4]) + x, [batch, 2, 2]), 0)
    for rows in (3, 1, 0, 7, 64):
        assert sess.run(y, {batch: rows, x: np.ones((rows, 4))}).tolist() == [[rows, rows]] * 2
    assert [each.symbols for each in sess.compiles] == ["n0: axis 0 of x"]


@pytest.mark.takes_long
def test_the_program_does_not_depend_on_the_order_of_runs():
    batch, x = batch_and_rows()
    y = sg.nn.softmax(sg.zeros([batch, 4]) + x)
    made = {}
    for order in itertools.permutations([(1, 5), (5, 5), (5, 1), (1, 1)]):
        with sg.Session(device="cpu") as session:
            for rows, size in order:
                data = np.linspace(0, 1, size * 4, dtype=np.float32).reshape(size, 4)
                got = session.run(y, {batch: rows, x: data}).tobytes()
                assert made.setdefault((rows, size), got) == got


def test_a_state_of_a_fed_batch(sess):
    """The way in which programs of TensorFlow 1 begin a recurrent net."""
    batch = sg.placeholder(sg.int32, [], name="batch")
    x, lengths = sg.placeholder(sg.float32, [None, None, 3]), sg.placeholder(sg.int32, [None])
    cell = sg.nn.rnn_cell.BasicLSTMCell(4)
    outputs, _ = sg.nn.dynamic_rnn(cell, x, lengths, cell.zero_state(batch, sg.float32))
    mask = sg.sequence_mask(lengths, dtype=sg.float32)
    loss = sg.reduce_mean(outputs * mask[:, :, None])
    train = sg.train.GradientDescentOptimizer(0.1).minimize(loss)
    sess.run(sg.global_variables_initializer())
    before = len(sess.compiles)
    for rows, length in ((3, 4), (5, 6), (2, 3), (9, 8), (33, 5)):
        feeds = {batch: rows, x: np.ones((rows, length, 3)), lengths: [length] * (rows - 1) + [2]}
        feeds[lengths][0] = length
        value, _ = sess.run([loss, train], feeds)
        assert np.isfinite(value)
    assert len(sess.compiles) - before == 2  # the greatest length, and the step


@pytest.mark.takes_long
def test_the_loss_of_a_fed_batch_is_that_of_a_program_for_it():
    batch, x = batch_and_rows()
    w = sg.get_variable("w", initializer=np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32))
    y = sg.tanh(sg.matmul(x, w)) + sg.random_normal([batch, 3], seed=3)
    loss = sg.reduce_mean(y) * sg.cast(batch, sg.float32)
    grad = sg.gradients(loss, w)[0]
    found = []
    for options in ({}, {"open_sizes": False}):
        with sg.Session(device="cpu", **options) as session:
            session.run(sg.global_variables_initializer())
            runs = [
                session.run([loss, grad], {batch: n, x: np.ones((n, 4)) / (n + 1)}) for n in (3, 8, 5, 17)
            ]
        found.append(runs)
    for one, other in zip(*found, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_vectors_of_sizes(sess):
    shape, x = sg.placeholder(sg.int32, [2], name="shape"), sg.placeholder(sg.float32, [None], name="x")
    y = sg.transpose(sg.reshape(x, shape))
    for rows, columns in ((2, 3), (3, 2), (5, 4), (1, 6)):
        data = np.arange(rows * columns, dtype=np.float32)
        wanted = data.reshape(rows, columns).T.tolist()
        assert sess.run(y, {shape: [rows, columns], x: data}).tolist() == wanted
    assert len(sess.compiles) == 1
    data = np.arange(12, dtype=np.float32)
    assert sess.run(y, {shape: [-1, 4], x: data}).tolist() == data.reshape(3, 4).T.tolist()
    assert len(sess.compiles) == 3  # a stage finds the size that -1 stands for
    assert sess.run(y, {shape: [-1, 3], x: data}).tolist() == data.reshape(4, 3).T.tolist()
    assert len(sess.compiles) == 3


def test_a_value_that_must_be_known_is_known(sess):
    """An axis is no size; what is, remains open."""
    batch, x = batch_and_rows()
    axis = sg.placeholder(sg.int32, [], name="axis")
    y = sg.reduce_sum(x + sg.zeros([batch, 4]), axis)
    for rows in (2, 3, 9):
        for number in (0, 1):
            data = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
            wanted = data.sum(number).tolist()
            assert sess.run(y, {batch: rows, x: data, axis: number}).tolist() == wanted
    assert len(sess.compiles) == 2
    assert {each.symbols for each in sess.compiles} == {"n0: axis 0 of x"}


def test_a_value_that_does_not_fit_is_the_users_error(sess):
    batch, x = batch_and_rows()
    y = sg.zeros([batch, 4]) + x
    assert sess.run(y, {batch: 3, x: np.ones((3, 4))}).shape == (3, 4)
    with pytest.raises(OpError, match=r"\[5, 4\].*\[3, 4\]|\[3, 4\].*\[5, 4\]"):
        sess.run(y, {batch: 5, x: np.ones((3, 4))})
    with pytest.raises(OpError):
        sess.run(y, {batch: -2, x: np.ones((3, 4))})
    assert sess.run(y, {batch: 6, x: np.ones((6, 4))}).shape == (6, 4)


def test_what_an_earlier_stage_computes_may_be_a_size(sess):
    x = sg.placeholder(sg.float32, [None], name="x")
    count = sg.cast(sg.reduce_max(x), sg.int32)
    y = sg.range(count) * 2
    for most in (3.0, 5.5, 0.5, 40.0):
        assert sess.run(y, {x: [0.0, most]}).tolist() == list(range(0, 2 * int(most), 2))
    assert len(sess.compiles) == 2


def test_a_loop_that_a_fed_number_bounds(sess):
    """Its derivative stores as many rounds as there may be."""
    rounds, x = sg.placeholder(sg.int32, [], name="rounds"), sg.placeholder(sg.float32, [None], name="x")
    y = sg.while_loop(
        lambda i, v: i < rounds, lambda i, v: (i + 1, v * sg.sin(v)), (0, x), maximum_iterations=rounds
    )[1]
    grad = sg.gradients(sg.reduce_sum(y), x)[0]
    for count in (1, 3, 2, 6):
        value = slope = None
        data = np.array([0.5, 1.2], np.float32)
        value, slope = data, np.ones_like(data)
        for _ in range(count):
            value, slope = value * np.sin(value), slope * (np.sin(value) + value * np.cos(value))
        got = sess.run([y, grad], {rounds: count, x: data})
        np.testing.assert_allclose(got[0], value, rtol=1e-5)
        np.testing.assert_allclose(got[1], slope, rtol=1e-4)
    assert len(sess.compiles) <= 2


def test_no_compile_takes_another_value(sess):
    batch, x = batch_and_rows()
    y = sg.zeros([batch, 4]) + x
    sess.run(y, {batch: 3, x: np.ones((3, 4))})
    sess.no_compile = True
    assert sess.run(y, {batch: 5, x: np.ones((5, 4))}).shape == (5, 4)


def test_a_number_that_is_clipped_to_one_value_is_known(sess):
    x = sg.placeholder(sg.int32, [None], name="x")
    counts = sg.bincount(x, minlength=4, maxlength=4)
    assert sess.run(counts, {x: [0, 3, 3, 9]}).tolist() == [1, 0, 0, 2]
    assert sess.run(counts, {x: [1]}).tolist() == [0, 1, 0, 0]
    assert len(sess.compiles) == 1  # no stage before it
