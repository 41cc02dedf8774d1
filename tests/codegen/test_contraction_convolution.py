import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.contraction_cases import Conv, assert_close, inputs, run

CASES = [
    Conv((4, 28, 28, 1), (5, 5), 10),
    Conv((3, 12, 12, 10), (5, 5), 20),
    Conv((2, 18, 17, 32), (3, 3), 64),
    Conv((2, 31, 30, 3), (7, 7), 33, stride=2),
    Conv((2, 20, 21, 3), (3, 2), 5, stride=2, dilation=2),
    Conv((2, 9, 9, 24), (1, 1), 40),
    Conv((9, 5, 5, 6), (3, 3), 7),
    Conv((1, 16, 16, 4), (3, 3), 1, stride=3),
    Conv((2, 16, 16, 32), (3, 3), 48, before=1, after=1),
    Conv((20, 4, 4, 40), (3, 3), 64, before=1, after=1),
    Conv((2, 15, 17, 8), (3, 3), 16, stride=2, before=0, after=1),
    Conv((2, 11, 9, 9), (5, 4), 12, dilation=2, before=4, after=3),
    Conv((1, 3, 3, 8), (5, 5), 8, before=6, after=6),
    Conv((2, 14, 13, 40), (3, 3), 40, depthwise=True),
    Conv((2, 14, 13, 5), (3, 3), 5, stride=2, depthwise=True),
    Conv((2, 14, 13, 16), (3, 3), 16, before=1, after=1, depthwise=True),
]
each_case = pytest.mark.parametrize("conv", CASES, ids=lambda c: "x".join(map(str, (*c.image, c.channels))))


def check(conv, target, rng, vector_bytes=None):
    c = conv.contraction(target)
    arrays = inputs(c, rng)
    assert_close(run(c, arrays, vector_bytes)[target], *conv.exact(target, arrays))


@each_case
def test_convolution(conv, rng):
    check(conv, "y", rng)


@each_case
def test_gradient_of_the_weights(conv, rng):
    check(conv, "w", rng)


@each_case
def test_gradient_of_the_images(conv, rng):
    if conv.stride == 1 and conv.image[3] > 1:
        check(conv, "x", rng)


@pytest.mark.takes_long
@settings(max_examples=40)
@given(
    st.integers(1, 3),
    st.integers(3, 20),
    st.integers(3, 20),
    st.integers(2, 20),
    st.integers(2, 20),
    st.integers(2, 4),
    st.integers(1, 2),
    st.integers(1, 2),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from([16, 32, 64]),
    st.sampled_from("ywx"),
    st.integers(0, 100),
)
def test_any_small_convolution(
    n, height, width, ci, co, window, stride, dilation, edge, depthwise, vector_bytes, target, seed
):
    if target == "x":
        stride = 1
    before, after = edge, edge
    if min(height, width) + 2 * edge < (window - 1) * dilation + 1:
        before = after = (window - 1) * dilation
    conv = Conv(
        (n, height, width, co if depthwise else ci),
        (window, window),
        co,
        stride,
        dilation,
        before,
        after,
        depthwise,
    )
    check(conv, target, np.random.default_rng(seed), vector_bytes)
