"""Calls that TensorFlow takes in its own tests, in the forms that legacy programs use too."""

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf


@pytest.fixture(autouse=True)
def empty_graph():
    with tf.Graph().as_default():
        yield


def test_a_template_tells_its_variables_apart():
    def layer():
        tf.get_variable("a", [])
        tf.get_variable("b", [], trainable=False)
        tf.get_local_variable("c", [])

    made = tf.make_template("t", layer)
    made()
    assert (made.name, made.func) == ("t", layer)
    assert [v.name for v in made.variables] == [v.name for v in made.weights] == ["t/a:0", "t/b:0", "t/c:0"]
    assert [v.name for v in made.non_trainable_variables] == ["t/b:0"]
    assert made.non_trainable_weights == made.non_trainable_variables


def test_strings_begin_empty():
    words = tf.get_variable("words", [2], tf.string)
    with tf.Session() as sess:
        sess.run(words.initializer)
        assert sess.run(words).tolist() == [b"", b""]


def test_a_gradient_passes_a_function_that_assigns_a_variable():
    """TensorFlow's own test: the derivative of z ** 2, though `assign` has none."""
    x, z = tf.get_variable("x", initializer=1.0), tf.get_variable("z", initializer=3.0)
    y = tf.grad_pass_through(lambda value: tf.assign(x, value))(z**2)
    slope = tf.gradients(y, z)[0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(slope) == 6.0


def test_rows_of_numbers_and_values_are_merged_as_they_were_fetched():
    """A SparseTensorValue is a tuple, and no list of several."""
    places = np.array([[0, 0], [1, 0], [1, 1]])
    numbers = tf.SparseTensorValue(places, np.array([3, 1, 2]), np.array([2, 2]))
    values = tf.SparseTensorValue(places, np.float32([1, 2, 3]), np.array([2, 2]))
    with tf.Session() as sess:
        merged = sess.run(tf.sparse_merge(numbers, values, 5))
    assert merged.indices.tolist() == [[0, 3], [1, 1], [1, 2]]
    assert (merged.values.tolist(), merged.dense_shape.tolist()) == ([1.0, 2.0, 3.0], [2, 5])


def test_steps_after_the_last_may_hold_anything():
    """TensorFlow's own test puts NaN there: neither the loss nor its derivative sees it."""
    logits = np.float32(np.arange(18).reshape(3, 2, 3) % 5)
    labels = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], tf.constant([0, 1, 0]), [2, 2])

    def losses(x):
        x = tf.constant(x)
        loss = tf.nn.ctc_loss(labels, x, [3, 2])
        return [loss, tf.gradients(loss, x)[0]]

    padded = np.concatenate([logits, np.full((2, 2, 3), np.nan, np.float32)])
    with tf.Session() as sess:
        (loss, slope), (wanted, slopes) = sess.run([losses(padded), losses(logits)])
    np.testing.assert_array_equal(loss, wanted)
    np.testing.assert_array_equal(slope[:3], slopes)
    np.testing.assert_array_equal(slope[3:], 0.0)
    np.testing.assert_allclose(loss, [2.0322385, 0.39244655], rtol=1e-6)  # TensorFlow's
