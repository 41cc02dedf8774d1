"""Layers in the way that TF1's programs call them."""

import pytest

import staticgraph.compat.tf1 as tf


@pytest.mark.parametrize("shape", [[None, 4], [None, 8, 8, 4]])
@pytest.mark.parametrize("layer", ["dropout", "batch_normalization"])
def test_a_switch_of_unknown_shape_leaves_the_shape_of_a_layer(layer, shape):
    """Programs write `tf.placeholder(tf.bool)`, and build further layers on the result."""
    tf.reset_default_graph()
    x, training = tf.placeholder(tf.float32, shape), tf.placeholder(tf.bool)
    outputs = getattr(tf.layers, layer)(x, training=training)
    assert outputs.shape.as_list() == shape
    tf.layers.dense(outputs, 2)
