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
