"""Images of open height and width: steps with convolutions and their gradients are compiled once for all."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.generate import product_of

pytestmark = pytest.mark.takes_long


def filled(*shape):
    return sg.constant(np.cos(np.arange(np.prod(shape), dtype="f4")).reshape(shape))


def conv(x, taps, stride, padding):
    strides = [1, *[stride] * (x.shape.ndims - 2), 1]
    made = sg.nn.conv2d if x.shape.ndims == 4 else sg.nn.conv3d
    return made(x, filled(*[taps] * (x.shape.ndims - 2), 3, 4), strides=strides, padding=padding)


def pooled(x, pool, padding):
    window = [1, *[2] * (x.shape.ndims - 2), 1]
    return conv(pool(x, window, window, padding), 3, 1, padding)


STEPS = {
    "one tap of two, SAME": lambda x: conv(x, 1, 2, "SAME"),
    "one tap of two, VALID": lambda x: conv(x, 1, 2, "VALID"),
    "as wide as its stride": lambda x: conv(x, 2, 2, "VALID"),
    "three taps by two": lambda x: conv(x, 3, 2, "VALID"),
    "five taps by three": lambda x: conv(x, 5, 3, "VALID"),
    "behind pooling": lambda x: pooled(x, sg.nn.max_pool, "VALID"),
    "behind averages": lambda x: conv(sg.nn.avg_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "VALID"), 3, 2, "VALID"),
}


def check(step, declared, sizes):
    """Compare the results for the first size with those of a program for this size alone."""
    x = sg.placeholder(sg.float32, declared)
    y = step(x)
    out = [y, *sg.gradients(sg.reduce_sum(y * y), x)]
    with sg.Session() as sess, sg.Session(open_sizes=False) as closed:
        for n in sizes[::-1]:
            shape = [n if d is None else d for d in declared]
            fed = np.sin(np.arange(np.prod(shape), dtype="f4")).reshape(shape)
            values = sess.run(out, {x: fed})
        for found, wanted in zip(values, closed.run(out, {x: fed}), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
        assert len(sess.compiles) == 1, sess.compiles


@pytest.mark.parametrize("name", STEPS)
def test_convolutions_with_strides(name):
    """Their gradients were compiled for each height and width."""
    check(STEPS[name], [1, None, None, 3], (24, 17, 32, 11))


@pytest.mark.parametrize("opened", [True, False], ids=["open", "known"])
def test_elements_behind_the_last_windows_get_nothing(opened, rng):
    """Windows that lie side by side are written once; what is left over at the end of an axis is cleared."""
    for height, width in ((4, 6), (5, 8), (2, 3), (7, 3), (6, 5)):
        values = rng.integers(0, 4, (2, height, width, 3)).astype("f4")
        x = sg.placeholder(sg.float32, [None, None, None, 3] if opened else values.shape)
        y = sg.nn.max_pool(x, [1, 2, 3, 1], [1, 2, 3, 1], "VALID")
        with sg.Session() as sess:
            found = sess.run(sg.gradients(y * y, x)[0], {x: values})
        rows, columns = height // 2, width // 3
        windows = values[:, : 2 * rows, : 3 * columns].reshape(2, rows, 2, columns, 3, 3)
        windows = windows.transpose(0, 1, 3, 5, 2, 4).reshape(2, rows, columns, 3, 6)
        first = np.arange(6) == windows.argmax(-1)[..., None]
        made = (first * 2 * windows).reshape(2, rows, columns, 3, 2, 3).transpose(0, 1, 4, 2, 5, 3)
        wanted = np.zeros_like(values)
        wanted[:, : 2 * rows, : 3 * columns] = made.reshape(2, 2 * rows, 3 * columns, 3)
        np.testing.assert_array_equal(found, wanted)


def test_volumes():
    check(lambda x: pooled(x, sg.nn.max_pool3d, "VALID"), [1, 8, None, 7, 3], (9, 12))


@pytest.mark.parametrize("channels", [4, 12, 24])
@pytest.mark.parametrize("dilation", [1, 2])
def test_windows_over_edges_are_matrix_products(channels, dilation):
    """They were loops over elements: with 12 channels, a step took 40 times as long."""
    x = sg.placeholder(sg.float32, [2, None, None, channels])
    w = filled(3, 3, channels, channels)
    y = sg.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME", dilations=[1, dilation, dilation, 1])
    with sg.Session() as sess:
        fed = np.ones((2, 20, 18, channels))
        step = sess.executable([y, *sg.gradients(y * y, [x, w])], {x: fed}).compiled
        work = {n.op.name: i.work for i in step.program.instructions if hasattr(i, "nodes") for n in i.nodes}
    found = [product_of(made) is not None for name, made in work.items() if name.startswith("conv_")]
    assert found == [True] * 3


def test_padding_alone():
    """A window that meets nothing but zeros has a gradient of zeros."""
    x = sg.placeholder(sg.float32, [1, 1, 1, 3])
    y = sg.nn.conv2d(x, filled(3, 3, 3, 4), strides=[1, 3, 3, 1], padding=[[0, 0], [4, 0], [4, 0], [0, 0]])
    with sg.Session() as sess:
        assert not sess.run(sg.gradients(y, x)[0], {x: np.ones((1, 1, 1, 3))}).any()


SHORT = {
    "rows": ([None, 8], lambda x: sg.matmul(x[100:], filled(8, 16))),
    "batches": ([4, None, 8], lambda x: sg.tensordot(x[:, 64:], filled(8, 16), 1)),
    "sums": ([None, 8], lambda x: sg.matmul(x[164:], x[164:], transpose_a=True)),
    "frames": ([2, None], lambda x: sg.tensordot(sg.signal.frame(x, 250, 160), filled(250, 8), 1)),
}


@pytest.mark.parametrize("name", SHORT)
def test_products_of_what_follows_the_first_rows(name):
    """The compiler divided by zero for them, and each size was compiled."""
    declared, step = SHORT[name]
    check(step, declared, (300, 411, 251))
