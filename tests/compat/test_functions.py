"""`tf.function` in programs that build graphs."""

import numpy as np

import staticgraph.compat.tf1 as tf


@tf.function
def scaled(x, by=2.0):
    """x times a number."""
    return x * by


@tf.function(input_signature=[tf.float32])
def total(x):
    return tf.reduce_sum(x)


def test_operations_go_where_it_is_called():
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.name_scope("here"):
            y = scaled(tf.placeholder_with_default(np.float32([1, 2]), [2], name="x"), by=3.0)
        assert y.name.startswith("here/")
        assert sess.run(y).tolist() == [3.0, 6.0]


def test_arguments_become_tensors_where_their_types_are_given():
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(total([1.0, 2.0])) == 3.0


def test_it_keeps_its_name_and_the_function():
    assert (scaled.__name__, scaled.__doc__) == ("scaled", "x times a number.")
    assert scaled.python_function(2.0) == 4.0
