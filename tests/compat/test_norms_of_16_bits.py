"""Layers that normalize by moments of their own: numbers of 16 bits whose variance is infinite in float16."""

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf

NORMS = {
    "nn": ((3,), lambda x: sg.nn.layer_normalization(x)),
    "keras": ((3,), lambda x: tf.keras.layers.LayerNormalization(dtype=x.dtype.name)(x)),
    "contrib layer": ((1, 2, 3), tf.contrib.layers.layer_norm),
    "contrib instance": ((1, 2), tf.contrib.layers.instance_norm),
    "contrib group": ((1, 2), lambda x: tf.contrib.layers.group_norm(x, groups=8)),
}


@pytest.mark.parametrize("dtype", [sg.float16, sg.bfloat16], ids=str)
@pytest.mark.parametrize("name", NORMS)
def test_a_variance_beyond_float16(name, dtype, rng):
    """As wide as NumPy has them in float64; the derivative is finite."""
    axes, norm = NORMS[name]
    x = np.round(rng.uniform(-1000, 1000, (2, 5, 5, 8)) / 8) * 8  # exact in 16 bits
    wanted = (x - x.mean(axes, keepdims=True)) / x.std(axes, keepdims=True)
    with sg.Graph().as_default(), sg.Session() as session:
        fed = sg.placeholder(dtype, x.shape)
        y = norm(fed)
        assert y.dtype is dtype
        (slope,) = sg.gradients(y * y * y, [fed])
        session.run(sg.global_variables_initializer())
        found, slopes = session.run([y, slope], {fed: x})
    tolerance = 2e-3 if dtype is sg.float16 else 2e-2
    np.testing.assert_allclose(found.astype(np.float64), wanted, tolerance, tolerance)
    assert np.isfinite(slopes.astype(np.float64)).all()
    assert slopes.any()
