"""Cells of `tf.contrib.rnn` that draw more than their kernels. The numbers are TensorFlow 1.15.5's."""

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf


def test_phased_lstm_opens_and_closes_as_in_tensorflow():
    tf.set_random_seed(5)
    x = tf.constant(np.linspace(-1, 1, 24).reshape(3, 4, 2).astype("float32"))
    times = tf.cumsum(tf.ones_like(x[:, :, :1]) * 0.37, 1)
    cell = tf.contrib.rnn.PhasedLSTMCell(3, period_init_max=3.0)
    outputs, _ = tf.nn.dynamic_rnn(cell, (times, x), dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(outputs).ravel()[:6]
        period, phase = session.run(tf.global_variables()[6:8])
    np.testing.assert_allclose(period, [1.5448037, 1.5598443, 2.85639], rtol=1e-6)
    np.testing.assert_allclose(phase, [0.5256768, 0.8258723, 0.19024569], rtol=1e-6)
    wanted = [-1.5670767e-04, 1.0597350e-04, 1.6009058e-01, -1.7803593e-04, 2.1429334e-04, 1.6011009e-01]
    np.testing.assert_allclose(found, wanted, rtol=2e-5)


def test_conv_lstm_needs_channels():
    with pytest.raises(ValueError, match="axes and channels"):
        tf.contrib.rnn.ConvLSTMCell(2, [4, 3], 2, [2, 2])
