"""Averages of integers whose sum, or whose number, their own dtype does not hold.

TensorFlow 1.15.5 gives 0 for the mean of 100 numbers 2 of int8, and dies of SIGFPE at 256 of them.
"""

import numpy as np
import pytest

import staticgraph as sg
from tests.everywhere import interpreting

COUNT = 300
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32")


def averages(x, ids):
    every = np.arange(COUNT)
    return [
        sg.reduce_mean(x, 0),
        sg.segment_mean(x, ids),
        sg.unsorted_segment_mean(x, ids, 1)[0],
        sg.sparse_segment_mean(x, every, ids)[0],
        sg.sparse_segment_mean(x, every, ids, num_segments=1)[0],
    ]


def made():
    """The averages of each dtype: of fed numbers, of constants, of an open number of them. And the feeds."""
    ids, tensors, feeds = np.zeros(COUNT, np.int32), [], {}
    for dtype in DTYPES:
        numbers = np.full((COUNT, 2), [np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        fed, opened = sg.placeholder(dtype, [COUNT, 2]), sg.placeholder(dtype, [None, 2])
        feeds |= {fed: numbers, opened: numbers}
        tensors += [averages(fed, ids), averages(sg.constant(numbers), ids), [sg.reduce_mean(opened, 0)]]
    return tensors, feeds


@pytest.mark.parametrize("compiled", [True, False])
def test_averages_are_within_the_numbers(compiled):
    tensors, feeds = made()
    with sg.Session() as session:
        if compiled:
            found = session.run(tensors, feeds)
        else:
            with interpreting():
                found = session.run(tensors, feeds)
    for dtype, *lists in zip(DTYPES, found[::3], found[1::3], found[2::3], strict=True):
        for each in (value for values in lists for value in values):
            wanted = [np.iinfo(dtype).max, np.iinfo(dtype).min]
            exact = 0 if each.dtype == dtype else 1e-15
            np.testing.assert_allclose(each.astype(np.float64).reshape(2), wanted, exact, err_msg=dtype)


def test_averages_of_integers_have_the_dtypes_of_tensorflow():
    """As recorded: int32 for a mean, and float64 for one of segments that are not sorted."""
    x, ids = sg.constant([1, 2, 4]), [0, 0, 0]
    dtypes = [
        t.dtype for t in (sg.reduce_mean(x), sg.segment_mean(x, ids), sg.unsorted_segment_mean(x, ids, 2))
    ]
    assert dtypes == [sg.int32, sg.int32, sg.float64]
    with sg.Session() as session:
        assert session.run(sg.unsorted_segment_mean(x, ids, 2)).tolist() == [7 / 3, 0.0]


def test_means_of_many_numbers_of_16_bits():
    """The number of rows is beyond float16."""
    count = 70_000
    x, ids = sg.placeholder(sg.float16, [count]), np.zeros(count, np.int32)
    mean = sg.sparse_segment_mean(x, np.arange(count), ids)
    root = sg.sparse_segment_sqrt_n(x, np.arange(count), ids)
    with sg.Session() as session:
        assert session.run([mean, root], {x: np.full(count, 2, np.float16)}) == [
            [2],
            [np.float16(2 * count**0.5)],
        ]
