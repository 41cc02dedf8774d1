"""Ragged tensors: what TensorFlow's answers do not show."""

import numpy as np
import pytest

import staticgraph as sg


@pytest.fixture(autouse=True)
def empty_graph():
    sg.reset_default_graph()


def rows():
    return sg.ragged.constant([[3.0, 1.0], [], [4.0]])


def test_an_operation_that_takes_no_ragged_rows_says_what_to_do():
    for call in (lambda: sg.nn.softmax(rows()), lambda: sg.tile(rows(), [1, 2])):
        with pytest.raises(TypeError, match="does not take a RaggedTensor") as caught:
            call()
        assert "to_tensor()" in str(caught.value) and "test_ragged.py" in str(caught.value)


def test_a_feed_of_another_kind_says_what_to_feed():
    x = sg.ragged.placeholder(sg.float32, 1)
    with sg.Session() as sess, pytest.raises(TypeError, match="constant_value"):
        sess.run(x, {x: [[1.0], [2.0, 3.0]]})


def test_rows_that_were_fed_are_trained_on():
    x = sg.ragged.placeholder(sg.int32, 1)
    table = sg.Variable(np.arange(6.0, dtype=np.float32).reshape(3, 2))
    means = sg.reduce_mean(sg.gather(table, x), axis=1)
    step = sg.train.GradientDescentOptimizer(0.5).minimize(sg.reduce_sum(means))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        for fed, found in (([[0, 2], [1]], [[2, 3], [2, 3]]), ([[2], [2, 2, 1]], [[3.75, 4.75], [3, 4]])):
            value = sg.ragged.constant_value(fed, np.int32)
            np.testing.assert_allclose(sess.run([means, step], {x: value})[0], found)


def test_strings_are_padded():
    words = sg.ragged.constant([["a"], [], ["bb", "c"]])
    with sg.Session() as sess:
        assert sess.run(words.to_tensor("-")).tolist() == [[b"a", b"-"], [b"-", b"-"], [b"bb", b"c"]]
