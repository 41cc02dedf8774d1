"""Reductions over nothing, with ties and with zeros."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from tests.ops.meaning import gradients, meaning


def test_reductions_over_nothing():
    x = np.zeros((2, 0), np.float32)
    reduced = meaning(lambda x: [f(x, axis=1) for f in (ops.reduce_sum, ops.reduce_prod, ops.reduce_max)], x)
    assert [r.tolist() for r in reduced] == [[0, 0], [1, 1], [-np.inf, -np.inf]]
    assert np.isnan(meaning(lambda x: ops.reduce_mean(x, axis=1), x)).all()


def test_equal_maxima_share_the_gradient():
    (by_x,) = gradients(lambda x: ops.reduce_max(x, axis=1), np.float32([[1, 3, 3], [2, 2, 2]]))
    np.testing.assert_allclose(by_x, [[0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-6)


def test_gradient_of_a_product_with_zeros():
    x = np.float64([[2, 0, 3], [0, 0, 5], [1, 2, 3]])
    (by_x,) = gradients(lambda x: ops.reduce_prod(x, axis=1), x)
    assert by_x.tolist() == [[0, 6, 0], [0, 0, 0], [6, 3, 2]]


def test_mean_of_integers_is_rounded_towards_zero():
    assert meaning(lambda x: ops.reduce_mean(x, axis=1), np.int32([[-7, 2], [5, 2]])).tolist() == [-2, 3]


def test_half_precision_is_summed_in_more():
    assert meaning(ops.reduce_sum, np.full(4096, 1.0, np.float16)) == 4096


def test_a_mean_of_more_elements_than_float16_can_count():
    """The sum and the number of elements are both infinite in float16; the mean is not."""
    x = sg.placeholder(sg.float16, [None])
    mean = sg.reduce_mean(x)
    slope = sg.gradients(mean, x)[0]
    with sg.Session() as session:
        value, slopes = session.run([mean, slope], {x: np.ones(70_000, np.float16)})
    assert value == 1 and (slopes == np.float16(1 / 70_000)).all()


@pytest.mark.parametrize("dtype", [sg.float16, sg.float32, sg.float64, sg.int8], ids=str)
def test_extremes_of_empty_segments_are_the_ends_of_the_dtype(dtype):
    """As in TensorFlow 1.15; those of constants of float16 were infinite."""
    ends = np.iinfo(dtype.numpy) if dtype.is_integer else np.finfo(dtype.numpy)
    fed, ids = sg.placeholder(dtype, [3]), [0, 0, 2]
    with sg.Session() as session:
        for x in (fed, sg.constant([1, 2, 3], dtype)):
            made = [f(x, ids, 4) for f in (sg.unsorted_segment_max, sg.unsorted_segment_min)]
            largest, smallest = session.run(made, {fed: [1, 2, 3]})
            np.testing.assert_array_equal(largest, np.array([2, ends.min, 3, ends.min], dtype.numpy))
            np.testing.assert_array_equal(smallest, np.array([1, ends.max, 3, ends.max], dtype.numpy))
