"""Frames of signals and their way back."""

import numpy as np

import staticgraph as sg


def test_frames_overlap_and_are_added_again():
    signal = np.arange(8.0, dtype=np.float32)
    frames = sg.signal.frame(sg.constant(signal), 4, 2)
    with sg.Session() as sess:
        rows, added = sess.run([frames, sg.signal.overlap_and_add(frames, 2)])
    np.testing.assert_array_equal(rows, np.lib.stride_tricks.sliding_window_view(signal, 4)[::2])
    np.testing.assert_array_equal(added, signal * [1, 1, 2, 2, 2, 2, 1, 1])


def test_the_gradient_of_frames_of_one_signal_is_dense():
    """As in TensorFlow 1.15: no rows like those of lookups."""
    for size in (8, None):
        x = sg.placeholder(sg.float32, [size])
        (by_x,) = sg.gradients(sg.signal.frame(x, 4, 2), x)
        assert isinstance(by_x, sg.Tensor)
        with sg.Session() as sess:
            np.testing.assert_array_equal(sess.run(by_x, {x: np.zeros(8)}), [1, 1, 2, 2, 2, 2, 1, 1])
