"""Properties of `tf.contrib.image` that TensorFlow's answers do not show."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.tf1.compat.contrib.images.projective import rotate, transform, translate

pytestmark = pytest.mark.usefixtures("empty_graph")


@pytest.fixture
def empty_graph():
    sg.reset_default_graph()


def test_pixels_that_are_left_outside_are_not_looked_at():
    image = np.float32([[np.nan, 1.0, 2.0]])
    with sg.Session() as sess:
        moved = sess.run(translate(image, [-1.0, 0.0]))
    np.testing.assert_array_equal(moved, [[1.0, 2.0, 0.0]])


@pytest.mark.parametrize("interpolation", ["NEAREST", "BILINEAR"])
def test_the_gradient_is_the_transpose_of_the_transform(interpolation):
    rng = np.random.RandomState(0)
    image, weights = sg.constant(rng.randn(1, 4, 5, 2)), rng.randn(1, 4, 5, 2)
    turned = rotate(image, 0.4, interpolation)
    gradient = sg.gradients(sg.reduce_sum(turned * weights), image)[0]
    with sg.Session() as sess:
        turned, gradient, image = sess.run([turned, gradient, image])
    np.testing.assert_allclose((turned * weights).sum(), (image * gradient).sum(), rtol=1e-6)


def test_no_other_interpolation():
    with pytest.raises(ValueError, match="NEAREST or BILINEAR"):
        transform(np.zeros((2, 2), np.float32), [1.0, 0, 0, 0, 1, 0, 0, 0], interpolation="CUBIC")
