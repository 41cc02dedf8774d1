"""Functions and specs whose messages TensorFlow's answers do not show."""

import pytest

import staticgraph.compat.tf1 as tf
from staticgraph.tf1.compat.building.defun import Defun
from staticgraph.tf1.compat.building.type_specs import TensorSpec


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


def test_a_function_of_another_dtype_says_how_to_convert_it():
    @Defun(tf.float32)
    def double(x):
        return x * 2

    with pytest.raises(ValueError, match="argument 0 of double is int32, not float32") as caught:
        double(tf.constant(1))
    assert "cast(x, tf.float32)" in str(caught.value) and "test_building.py" in str(caught.value)


def test_two_gradients_are_one_too_many():
    with pytest.raises(ValueError, match="two gradients"):
        Defun(tf.float32, grad_func=abs, python_grad_func=abs)


def test_a_signature_is_looked_at():
    @tf.function(input_signature=[TensorSpec([None, 2], tf.float32)])
    def total(x):
        return tf.reduce_sum(x)

    with tf.Session() as sess:
        assert sess.run(total([[1, 2], [3, 4]])) == 10.0
    with pytest.raises(ValueError, match="does not fit the signature"):
        total([1.0, 2.0])


@pytest.mark.parametrize(("low", "high"), [((0, 0, 0), (1, 1)), (0, (1, 1, 1)), (0, [[[1]]])])
def test_bounds_of_a_spec_broadcast_to_its_shape(low, high):
    with pytest.raises(ValueError, match="not compatible"):
        tf.contrib.framework.BoundedTensorSpec((3, 5), tf.uint8, low, high)
    spec = tf.contrib.framework.BoundedTensorSpec((3, None), tf.uint8, [[0], [1], [2]], 5)
    assert spec.minimum.shape == (3, 1)
