"""Recurrent networks: any shapes, subclasses, errors, second derivatives. Their values are golden cases."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError, UnimplementedError
from staticgraph.tf1.compat.rnn.decoding import BasicDecoder, dynamic_decode
from staticgraph.tf1.compat.rnn.decoding_helpers import SampleEmbeddingHelper


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def lstm(x: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The outputs [batch, time, units] of an LSTM that starts with zeros, its forget bias being 1."""
    units = bias.size // 4
    c, h = np.zeros((len(x), units)), np.zeros((len(x), units))
    outputs = []
    for row in np.moveaxis(x, 1, 0):
        i, j, f, o = np.split(np.concatenate([row, h], 1) @ kernel + bias, 4, axis=1)
        c = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
        h = np.tanh(c) * sigmoid(o)
        outputs.append(h)
    return np.stack(outputs, 1)


def test_batches_and_times_may_differ_from_run_to_run():
    x = sg.placeholder(sg.float64, [None, None, 3])
    cell = sg.nn.rnn_cell.BasicLSTMCell(4)
    outputs, state = sg.nn.dynamic_rnn(cell, x, dtype=sg.float64)
    assert outputs.shape.as_list() == [None, None, 4]
    rng = np.random.default_rng(1)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        kernel, bias = sess.run(cell.weights)
        for batch, time in ((2, 5), (1, 3), (4, 1)):
            fed = rng.normal(size=(batch, time, 3))
            got, last = sess.run([outputs, state.h], {x: fed})
            wanted = lstm(fed, kernel, bias)
            np.testing.assert_allclose(got, wanted, rtol=1e-10)
            np.testing.assert_allclose(last, wanted[:, -1], rtol=1e-10)


def test_a_subclass_that_does_something_else_in_call_is_called():
    class Doubled(sg.nn.rnn_cell.BasicRNNCell):
        def call(self, inputs, state):
            output, state = super().call(inputs, state)
            return 2.0 * output, state

    x = sg.constant(np.ones([1, 3, 2], np.float32))
    with sg.variable_scope("net", initializer=sg.ones_initializer()):
        plain, _ = sg.nn.dynamic_rnn(sg.nn.rnn_cell.BasicRNNCell(2), x, dtype=sg.float32, scope="a")
        twice, _ = sg.nn.dynamic_rnn(Doubled(2), x, dtype=sg.float32, scope="b")
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        one, two = sess.run([plain, twice])
    np.testing.assert_allclose(two, 2 * one)


def test_a_cell_knows_the_variables_that_it_makes_in_call():
    class Scaled(sg.nn.rnn_cell.RNNCell):
        state_size = output_size = 2

        def call(self, inputs, state):
            state = state + inputs * sg.get_variable("factor", [2])
            return state, state

    cell = Scaled()
    sg.nn.dynamic_rnn(cell, sg.zeros([1, 3, 2]), dtype=sg.float32)
    assert [v.name for v in cell.trainable_weights] == ["rnn/scaled/factor:0"]


@pytest.mark.takes_long
def test_second_derivative_equals_differences():
    x = sg.placeholder(sg.float64, [2, 3, 2])
    with sg.variable_scope("net", initializer=sg.constant_initializer(0.4)):
        outputs, _ = sg.nn.dynamic_rnn(sg.nn.rnn_cell.GRUCell(2), x, sequence_length=[3, 2], dtype=sg.float64)
    (first,) = sg.gradients(sg.reduce_sum(sg.square(outputs)), [x])
    (second,) = sg.gradients(sg.reduce_sum(sg.square(first)), [x])
    at = np.random.default_rng(2).normal(size=(2, 3, 2))
    step = 1e-5 * np.eye(12).reshape(12, 2, 3, 2)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())

        def measured(value):
            return float((sess.run(first, {x: value}) ** 2).sum())

        wanted = [(measured(at + d) - measured(at - d)) / 2e-5 for d in step]
        np.testing.assert_allclose(sess.run(second, {x: at}).ravel(), wanted, rtol=1e-5, atol=1e-8)


def test_an_end_that_depends_on_random_numbers_needs_a_limit():
    cell = sg.nn.rnn_cell.GRUCell(3)
    helper = SampleEmbeddingHelper(sg.ones([3, 3]), [0, 1], 2)
    decoder = BasicDecoder(cell, helper, cell.zero_state(2, sg.float32))
    with pytest.raises(UnimplementedError, match=r"random numbers(.|\n)*hint: give maximum_iterations"):
        dynamic_decode(decoder)


def test_dropout_does_not_decide_when_a_network_ends():
    inner = sg.nn.rnn_cell.GRUCell(3)
    cell = sg.nn.rnn_cell.DropoutWrapper(inner, output_keep_prob=0.5, seed=1)

    def loop_fn(time, output, state, loop):
        first = inner.zero_state(2, sg.float32) if output is None else state
        return time >= [1, 3], sg.ones([2, 3]), first, output, None

    outputs, _, _ = sg.nn.raw_rnn(cell, loop_fn)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        made = sess.run(outputs.stack())
    assert made.shape == (3, 2, 3)
    assert not made[1:, 0].any()


def test_more_labels_than_steps_are_an_error_of_the_run():
    labels = sg.SparseTensor([[0, 0], [0, 1]], sg.constant([0, 1]), [1, 2])
    loss = sg.nn.ctc_loss(labels, sg.zeros([3, 1, 3]), [1])
    with sg.Session() as sess, pytest.raises(InvalidArgumentError, match="more labels"):
        sess.run(loss)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_logits_of_16_bits_are_added_up_as_float32(dtype: str):
    """The logarithm of no probability is no float16: derivatives were NaN."""
    labels = sg.SparseTensor([[0, 0], [0, 1]], sg.constant([0, 1]), [1, 2])
    logits = sg.constant(np.random.default_rng(0).normal(size=(5, 1, 3)), dtype)
    pairs = []
    for scores in (logits, sg.cast(logits, sg.float32)):
        loss = sg.nn.ctc_loss(labels, scores, [5])
        pairs.append((loss, sg.gradients(loss, scores)[0]))
    with sg.Session() as sess:
        (loss, slope), wanted = sess.run(pairs)
    assert pairs[0][0].dtype.name == pairs[0][1].dtype.name == dtype
    for mine, other in zip((loss, slope), wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-2, atol=1e-3)


def test_indices_of_two_dtypes_meet_in_one_derivative():
    table = sg.Variable(np.arange(6.0).reshape(3, 2))
    rows = [sg.gather(table, sg.constant([0, 2], dtype)) for dtype in (sg.int32, sg.int64)]
    (grad,) = sg.gradients(rows, [table])
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        assert sess.run(sg.convert_to_tensor(grad)).tolist() == [[2, 2], [0, 0], [2, 2]]


def test_a_loop_may_compute_the_size_of_an_array():
    x = sg.placeholder(sg.float32, [None])
    start = (sg.constant(0), sg.constant(0.0))
    count, _ = sg.while_loop(lambda i, s: s < 10.0, lambda i, s: (i + 1, s + x[0]), start)
    squares = sg.TensorArray(sg.int32, size=count)
    _, squares = sg.while_loop(
        lambda i, _: i < count, lambda i, a: (i + 1, a.write(i, i * i)), (sg.constant(0), squares)
    )
    with sg.Session() as sess:
        for step, wanted in ((4.0, [0, 1, 4]), (9.0, [0, 1])):
            assert sess.run(squares.stack(), {x: [step]}).tolist() == wanted
