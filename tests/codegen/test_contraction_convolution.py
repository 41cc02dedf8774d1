import numpy as np
import pytest

from tests.codegen.contraction_cases import assert_close, convolution, inputs, run, weight_gradient, windows

CASES = [
    ((4, 28, 28, 1), (5, 5), 10, 1, 1),
    ((3, 12, 12, 10), (5, 5), 20, 1, 1),
    ((2, 18, 17, 32), (3, 3), 64, 1, 1),
    ((2, 31, 30, 3), (7, 7), 33, 2, 1),
    ((2, 20, 21, 3), (3, 2), 5, 2, 2),
    ((2, 9, 9, 24), (1, 1), 40, 1, 1),
    ((9, 5, 5, 6), (3, 3), 7, 1, 1),
    ((1, 16, 16, 4), (3, 3), 1, 3, 1),
]
each_case = pytest.mark.parametrize(("image", "window", "channels", "stride", "dilation"), CASES)


@each_case
def test_convolution(image, window, channels, stride, dilation, rng):
    c = convolution(image, window, channels, stride, dilation)
    arrays = inputs(c, rng)
    seen = windows(arrays["x"].astype("d"), window, stride, dilation)
    exact = np.einsum("npqyxc,yxco->npqo", seen, arrays["w"], optimize=True) + arrays["bias"]
    assert_close(run(c, arrays)["y"], exact, seen[0, 0, 0].size)


@each_case
def test_gradient_of_the_weights(image, window, channels, stride, dilation, rng):
    c = weight_gradient(image, window, channels, stride, dilation)
    arrays = inputs(c, rng)
    seen = windows(arrays["x"].astype("d"), window, stride, dilation)
    exact = np.einsum("npqyxc,npqo->yxco", seen, arrays["dy"], optimize=True)
    assert_close(run(c, arrays)["dw"], exact, arrays["dy"][..., 0].size)


@pytest.mark.parametrize("channels", [5, 16, 40])
@pytest.mark.parametrize("stride", [1, 2])
def test_depthwise_convolution(channels, stride, rng):
    c = convolution((2, 14, 13, channels), (3, 3), channels, stride, depthwise=True)
    arrays = inputs(c, rng)
    seen = windows(arrays["x"].astype("d"), (3, 3), stride, 1)
    exact = np.einsum("npqyxc,yxc->npqc", seen, arrays["w"]) + arrays["bias"]
    assert_close(run(c, arrays)["y"], exact, 9.0)
