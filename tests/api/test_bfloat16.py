"""Functions that make arrays themselves make them of the element type of their tensors, bfloat16 included."""

import numpy as np

import staticgraph as sg


def test_batch_normalization_with_a_bfloat16_scale():
    images = np.random.default_rng(0).normal(2.0, 3.0, (4, 5, 5, 3))
    scale, shift = np.array([1.0, 2.0, 0.5]), np.array([0.0, 1.0, -1.0])
    y, mean, _ = sg.nn.fused_batch_norm(*(sg.constant(v, sg.bfloat16) for v in (images, scale, shift)))
    assert y.dtype is sg.bfloat16
    found, middle = sg.Session().run([y, mean])
    expected = (images - images.mean((0, 1, 2))) / images.std((0, 1, 2)) * scale + shift
    np.testing.assert_allclose(found, expected, atol=0.05)
    np.testing.assert_allclose(middle, images.mean((0, 1, 2)), atol=0.02)


def test_a_mel_matrix_has_the_type_that_was_asked_for():
    weights = sg.signal.linear_to_mel_weight_matrix(4, 8, dtype=sg.bfloat16)
    whole = sg.signal.linear_to_mel_weight_matrix(4, 8)
    assert weights.dtype is sg.bfloat16
    np.testing.assert_allclose(*sg.Session().run([weights, whole]), atol=4e-3)
