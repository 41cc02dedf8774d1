"""An axis that the input does not have is an error in every function that takes one, never another axis."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compat import tf1 as tf

LAYERS = tf.contrib.layers
CALLS = {
    "batch_normalization": lambda x, axis: sg.layers.batch_normalization(x, axis=axis),
    "batch_normalization of several": lambda x, axis: sg.layers.batch_normalization(x, axis=[1, axis]),
    "Keras batch normalization": lambda x, axis: sg.keras.layers.BatchNormalization(axis=axis)(x),
    "Keras layer normalization": lambda x, axis: sg.keras.layers.LayerNormalization(axis=axis)(x),
    "layer_norm": lambda x, axis: LAYERS.layer_norm(x, begin_norm_axis=axis),
    "layer_norm of parameters": lambda x, axis: LAYERS.layer_norm(x, begin_params_axis=axis),
    "cross entropy": lambda x, axis: sg.nn.softmax_cross_entropy_with_logits_v2(x, x, axis=axis),
    "cross entropy of names": lambda x, axis: sg.keras.backend.sparse_categorical_crossentropy(
        sg.cast(x[..., 0], sg.int32), x, axis=axis
    ),
    "batch_dot": lambda x, axis: sg.keras.backend.batch_dot(x, x, axes=axis),
    "Dot": lambda x, axis: sg.keras.layers.Dot(axes=axis)([x, x]),
    "repeat": lambda x, axis: sg.repeat(x, 2, axis=axis),
    "fftshift": lambda x, axis: sg.signal.fftshift(x, axes=axis),
}


@pytest.mark.parametrize("axis", [3, 4, -4, -5])
@pytest.mark.parametrize("call", CALLS)
def test_an_axis_that_there_is_not(call, axis):
    x = sg.placeholder(sg.float32, [2, 4, 4], name="x")
    with pytest.raises(ValueError, match=rf"axis {axis} is out of range for a tensor of rank 3"):
        CALLS[call](x, axis)


@pytest.mark.parametrize("call", CALLS)
def test_a_number_has_no_axes(call):
    x = sg.placeholder(sg.float32, [], name="x")
    with pytest.raises(ValueError):
        CALLS[call](x, 0)


def test_batch_normalization_over_several_axes():
    """TensorFlow 1.15 takes the statistics of all other axes, and its weights have the rank of the input."""
    array = np.random.default_rng(0).normal(3, 2, (2, 3, 4, 5)).astype(np.float32)
    x = sg.placeholder(sg.float32, array.shape, name="x")
    layers = [
        sg.layers.BatchNormalization(axis=[1, -2], epsilon=0.0),
        sg.keras.layers.BatchNormalization(axis=[1, -2], epsilon=0.0),
    ]
    fetches = [layer(x, training=True) for layer in layers]
    expected = (array - array.mean((0, 3), keepdims=True)) / array.std((0, 3), keepdims=True)
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        for layer, made in zip(layers, session.run(fetches, {x: array}), strict=True):
            assert [v.shape.as_list() for v in layer.weights] == [[1, 3, 4, 1]] * 4
            np.testing.assert_allclose(made, expected, rtol=0, atol=1e-5)
        session.run([layer.updates for layer in layers], {x: array})
        for layer in layers:
            followed = session.run(layer.moving_mean)
            np.testing.assert_allclose(followed, 0.01 * array.mean((0, 3), keepdims=True), rtol=1e-4)


def test_batch_normalization_over_one_axis_twice():
    x = sg.placeholder(sg.float32, [2, 3, 4])
    with pytest.raises(ValueError, match="axis 1 is given twice"):
        sg.layers.batch_normalization(x, axis=[1, -2])


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_cross_entropy_of_unknown_rank(axis):
    array = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    labels = np.eye(3, 4)[None] + array
    logits = sg.placeholder(sg.float32, name="logits")
    losses = sg.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=axis)
    expected = -(labels * (array - np.log(np.exp(array).sum(axis, keepdims=True)))).sum(axis)
    np.testing.assert_allclose(sg.Session().run(losses, {logits: array}), expected, rtol=1e-4)
