"""Convolution and pooling where the padding is uneven, windows overlap, or elements are equal."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.expr import Index, Load, Reduce, Scalar
from staticgraph.compiler.kernel.indices.affine import affine
from staticgraph.compiler.ops.kinds import View
from tests.ops.meaning import gradients, meaning

ONES = (1, 1, 1, 1)


def row(*numbers):
    return np.float32(numbers).reshape(1, 1, -1, 1)


def test_same_padding_puts_the_odd_element_at_the_end():
    x, w = row(1, 2, 3, 4), row(1, 10)
    y = meaning(lambda x, w: ops.conv2d(x, w, strides=ONES, padding="SAME"), x, w.reshape(1, 2, 1, 1))
    assert y.ravel().tolist() == [21, 32, 43, 4]


def test_explicit_padding_beyond_the_filter():
    def conv(x, w):
        return ops.conv2d(x, w, strides=ONES, padding="EXPLICIT", explicit_paddings=(0, 0, 0, 0, 3, 2, 0, 0))

    x, w = row(1, 2), np.float32([1, 1]).reshape(1, 2, 1, 1)
    assert meaning(conv, x, w).ravel().tolist() == [0, 0, 1, 3, 2, 0]
    by_x, by_w = gradients(conv, x, w, by=(0, 1))
    assert by_x.ravel().tolist() == [2, 2]
    assert by_w.ravel().tolist() == [3, 3]


def test_input_that_no_window_reaches_has_gradient_zero():
    x, w = row(1, 2, 3, 4), np.ones((1, 1, 1, 1), np.float32)
    (by_x,) = gradients(lambda x, w: ops.conv2d(x, w, strides=(1, 1, 3, 1), padding="VALID"), x, w)
    assert by_x.ravel().tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(("space", "positions"), [(0, 4), (1, 0)])
def test_without_elements_the_gradient_by_the_filter_and_its_own_are_zeros(space, positions):
    """As they are if the sizes are open. The position to read instead would be -1."""
    with sg.Graph().as_default(), sg.Session() as session:
        x, g = sg.ones([2, space, 3]), sg.ones([2, positions, 4])
        y = ops.conv_filter(x, g, taps=(3,), strides=(1,), dilations=(1,), before=(1,))
        made = session.run([y, *sg.gradients(y, [x, g])])
    assert [part.shape for part in made] == [(3, 3, 4), (2, space, 3), (2, positions, 4)]
    assert not any(part.any() for part in made)


@pytest.mark.parametrize(("x", "w"), [((2, 9, 8, 3), (3, 2, 3, 4)), ((2, 9, 8, 3, 1), (3, 2, 3, 1, 4))])
def test_convolutions_are_affine_contractions(x, w):
    """The form that the generator of contractions recognises."""

    def view(name, shape):
        return View(shape, float32, lambda at: Load(name, at, float32))

    at = tuple(Index(f"i{d}", 2) for d in range(len(x)))
    element = ops.conv_windows.element(
        at, view("x", x), view("w", w), counts=(4, 4), strides=(2, 1), dilations=(1, 2), before=(0, 0)
    )
    assert isinstance(element, Reduce)
    assert element.combine == "add"
    assert isinstance(element.value, Scalar)
    assert element.value.op == "mul"
    assert all(affine(index) for load in element.value.args for index in load.at)


def test_channels_must_agree():
    with pytest.raises(sg.errors.ShapeError, match="3 channels and the filter takes 4"):
        sg.nn.conv2d(sg.zeros([1, 5, 5, 3]), sg.zeros([2, 2, 4, 6]), 1, "SAME")


def test_window_must_fit():
    with pytest.raises(sg.errors.ShapeError, match="a window of 7 does not fit into 5"):
        sg.nn.max_pool(sg.zeros([1, 5, 5, 1]), 7, 1, "VALID")


def test_max_pool_gives_the_gradient_to_the_first_of_equal_elements():
    def pool(x):
        return ops.max_pool(x, ksize=(1, 1, 2, 1), strides=ONES, padding="SAME")

    assert gradients(pool, row(3, 3, 1, 2, 2))[0].ravel().tolist() == [1, 1, 0, 2, 1]


def test_max_pool_of_negative_numbers_ignores_padding():
    y = meaning(lambda x: ops.max_pool(x, ksize=(1, 1, 3, 1), strides=ONES, padding="SAME"), row(-3, -2, -4))
    assert y.ravel().tolist() == [-2, -2, -2]


def test_avg_pool_does_not_count_padding():
    y = meaning(lambda x: ops.avg_pool(x, ksize=(1, 1, 3, 1), strides=ONES, padding="SAME"), row(3, 6, 9))
    assert y.ravel().tolist() == [4.5, 6, 7.5]


def test_static_shapes_with_unknown_sizes():
    x = sg.placeholder(sg.float32, [None, None, 28, 3])
    assert sg.nn.conv2d(x, sg.zeros([3, 3, 3, 8]), 2, "SAME").shape.as_list() == [None, None, 14, 8]
    assert sg.nn.max_pool(x, 3, 2, "VALID").shape.as_list() == [None, None, 13, 3]


@pytest.mark.parametrize(
    ("size", "taps", "stride", "padding"),
    [
        (8, 2, 2, "VALID"),
        (9, 2, 3, "VALID"),
        (9, 1, 2, "SAME"),
        (7, 2, 3, "SAME"),  # windows side by side
        (10, 3, 2, "SAME"),
        (11, 5, 4, "VALID"),  # overlapping ones
        (13, 7, 5, "SAME"),  # too many remainders for a convolution each
    ],
)
def test_gradient_by_the_input_of_a_convolution_with_strides(size, taps, stride, padding, rng):
    x = rng.normal(size=(2, size, size + 1, 2)).astype(np.float32)
    w = rng.normal(size=(taps, taps, 2, 3)).astype(np.float32)
    attrs = {"strides": (1, stride, stride, 1), "padding": padding}
    (found,) = gradients(lambda x, w: ops.conv2d(x, w, **attrs), x, w)
    y = meaning(lambda x, w: ops.conv2d(x, w, **attrs), x, w)
    counts = y.shape[1:3]
    after = [max(0, (n - 1) * stride + taps - s) for n, s in zip(counts, x.shape[1:3], strict=True)]
    exact = np.zeros((2, *(s + a for s, a in zip(x.shape[1:3], after, strict=True)), 2))
    rows, columns = (slice(0, (n - 1) * stride + 1, stride) for n in counts)
    for u in range(taps):
        for v in range(taps):
            exact[:, u:, v:][:, rows, columns] += w[u, v].sum(-1)
    start = [a // 2 if padding == "SAME" else 0 for a in after]
    exact = exact[:, start[0] :, start[1] :][:, : x.shape[1], : x.shape[2]]
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5)
