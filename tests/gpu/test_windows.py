"""Which sums of products are convolutions, and that the library, asked for these, computes the same."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import bfloat16, float16, float32
from staticgraph.compiler.kernel.expr import Load, Scalar, substitute
from staticgraph.compiler.kernel.lower_expressions import Nest
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import DTYPES, Convolution, Made
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.kernel.schedule_gpu.products.windows import PackedWindow, Windowed, windowed
from staticgraph.compiler.kernel.stmt import Buffer, Store
from staticgraph.runtime.gpu.simulator import convolution as convolving
from tests.codegen.native import loaded, stored
from tests.gpu.contractions import Case, every, random
from tests.gpu.meaning import meaning
from tests.gpu.test_tile import zeros

Build = Callable[[], tuple[list[Any], dict[Any, Any]]]
UNEVEN = [[0, 0], [2, 1], [0, 3], [0, 0]]  # zeros before and after each axis
TOLERANCE = {float32: 2e-6, float16: 2e-3, bfloat16: 2**-7}


def net(
    image: tuple[int, ...],
    taps: tuple[int, ...],
    strides: tuple[int, ...] = (1, 1),
    padding: Any = "SAME",
    dilations: tuple[int, ...] = (1, 1),
    dtype: Any = sg.float32,
    layout: str = "NHWC",
    outputs: int = 6,
) -> Build:
    """A convolution of an image with its channels last, and its gradients; in memory it has this layout."""

    def steps(along: tuple[int, ...]) -> list[int]:
        return [1, *along, 1] if layout[-1] == "C" else [1, 1, *along]

    def build() -> Any:
        shape = image if layout[-1] == "C" else (image[0], image[-1], *image[1:-1])
        x, of_x = zeros(*shape, dtype=dtype)
        w, of_w = zeros(*taps, image[-1], outputs, dtype=dtype)
        convolve = sg.nn.conv2d if len(taps) == 2 else sg.nn.conv3d
        y = convolve(x, w, steps(strides), padding, data_format=layout, dilations=steps(dilations))
        g, of_g = zeros(*y.shape.as_list(), dtype=dtype)
        return [y, *sg.gradients(y, [x, w], [g])], {x: of_x, w: of_w, g: of_g}

    return build


def found(case: Case) -> Windowed | None:
    return windowed(case.nest, case.product.buffers, Precision.FLOAT32)


def check(case: Case, windows: Windowed) -> None:
    """Check that the library makes of the packed operands what the sums of the nest are."""
    c, rng = case.product, np.random.default_rng(0)
    convolution, dtype = windows.convolution, windows.convolution.dtype
    arrays = {name: random(b.dtype, b.shape, rng) for name, b in c.buffers.items()}
    expected = meaning([case.nest], c.buffers, (), (), arrays)

    def packed(operand: PackedWindow) -> np.ndarray:
        buffer = Buffer(dtype, operand.order.shape, written=True)
        nest = Nest(operand.order.loops, (Store("packed", operand.order.at, operand.element),))
        made = meaning(
            [nest], {**c.buffers, "packed": buffer}, (), (), {**arrays, "packed": np.zeros(buffer.shape)}
        )["packed"]
        if operand.lies_so:
            assert np.array_equal(made.reshape(-1), arrays[operand.element.buffer].reshape(-1))
        return stored(dtype, dtype.round(made))

    image, other = packed(windows.image), packed(windows.other)
    assert image.shape == convolution.image_shape
    made = np.zeros(windows.made.shape, image.dtype)
    filter, result = (other, made) if convolution.made is Made.RESULT else (made, other)
    assert (filter.shape, result.shape) == (convolution.filter_shape, convolution.result_shape)
    convolving.convolve(convolution, *(a.reshape(-1).view(np.uint8) for a in (image, filter, result)))

    core = windows.sum if dtype is float32 else Scalar("cast", (windows.sum,), dtype)
    element = Load("made", windows.made.at, dtype)
    stores = tuple(Store(s.buffer, s.at, substitute(s.value, {core: element})) for s in case.nest.stores)
    buffers = {**c.buffers, "made": Buffer(dtype, windows.made.shape)}
    after = meaning(
        [Nest(case.nest.domain, stores)], buffers, (), (), {**arrays, "made": loaded(dtype, made)}
    )
    for target in c.targets:
        exact = expected[target.buffer].astype(np.float64)
        bound = TOLERANCE[dtype] * np.abs(exact).max()
        np.testing.assert_allclose(after[target.buffer].astype(np.float64), exact, rtol=0, atol=bound)


@pytest.mark.takes_long
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("dilations", [(1, 1), (2, 1)], ids=str)
@pytest.mark.parametrize("padding", ["SAME", "VALID", UNEVEN], ids=["same", "valid", "explicit"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (1, 3)], ids=str)
def test_convolutions_and_their_derivatives(strides, padding, dilations, dtype):
    kinds = []
    for case in every(net((2, 8, 9, 5), (3, 2), strides, padding, dilations, dtype)):
        windows = found(case)
        if windows is None:  # of the derivative by the image, what one tap alone reaches
            assert len(case.product.k) == 1 and not case.product.limits
        else:
            check(case, windows)
            kinds.append(windows.convolution.made)
    assert kinds.count(Made.FILTER) == 1 and kinds.count(Made.RESULT) > 1


OTHERS: dict[str, Build] = {
    "channels first": net((2, 8, 7, 5), (3, 3), (2, 1), layout="NCHW"),
    "three axes": net((2, 4, 5, 6, 3), (2, 3, 2), (1, 2, 1), "SAME", (1, 1, 1), layout="NDHWC"),
    "one image": net((1, 8, 7, 5), (3, 3)),
    "one row": net((3, 1, 9, 5), (1, 3), (1, 2)),
    "one position": net((4, 3, 3, 5), (3, 3)),
    "more taps than positions": net((2, 5, 5, 4), (4, 4), padding="VALID"),
    "taps apart": net((2, 12, 12, 4), (2, 2), (4, 4), "VALID"),
    "a stride and no window": net((2, 9, 9, 5), (1, 1), (2, 2)),
    "zeros beyond the taps": net((2, 6, 6, 4), (2, 2), padding=[[0, 0], [2, 1], [1, 3], [0, 0]]),
    "alike": net((4, 4, 4, 4), (4, 4), outputs=4),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_shapes(name):
    checked = 0
    for case in every(OTHERS[name]):
        if (windows := found(case)) is not None:
            check(case, windows)
            checked += 1
    assert checked


def test_drawn_shapes():
    rng = np.random.default_rng(1)
    for _ in range(25):
        taps = tuple(rng.integers(1, 5, 2).tolist())
        strides, dilations = (tuple(rng.integers(1, 4, 2).tolist()) for _ in range(2))
        reach = [d * (t - 1) for t, d in zip(taps, dilations, strict=True)]
        zeros_around = [[0, 0], *([int(rng.integers(0, r + 1)) for _ in "ab"] for r in reach), [0, 0]]
        size = (2, *(r + 1 + int(rng.integers(0, 6)) for r in reach), int(rng.integers(2, 5)))
        padding = ["SAME", "VALID", zeros_around][rng.integers(3)]
        for case in every(net(size, taps, strides, padding, dilations)):
            if (windows := found(case)) is not None:
                check(case, windows)


def sliced() -> Any:
    x, of_x = zeros(2, 9, 8, 4)
    w, of_w = zeros(3, 3, 4, 5)
    return [sg.nn.conv2d(x[:, 1:8, ::2], w[::-1], [1, 1, 1, 1], "VALID")], {x: of_x, w: of_w}


def test_a_part_of_an_image():
    (case,) = every(sliced)
    if (windows := found(case)) is not None:
        check(case, windows)


def product_of_matrices() -> Any:
    a, of_a = zeros(20, 30)
    b, of_b = zeros(30, 40)
    return [sg.matmul(a, b)], {a: of_a, b: of_b}


def per_channel() -> Any:
    x, of_x = zeros(2, 8, 8, 12)
    w, of_w = zeros(3, 3, 12, 1)
    return [sg.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME")], {x: of_x, w: of_w}


def batch() -> Any:
    a, of_a = zeros(3, 20, 30)
    b, of_b = zeros(3, 30, 40)
    return [sg.matmul(a, b)], {a: of_a, b: of_b}


NONE: dict[str, Build] = {
    "product": product_of_matrices,
    "batch": batch,
    "one tap": net((2, 8, 8, 5), (1, 1)),
    "per channel": per_channel,
    "float64": net((2, 8, 8, 5), (3, 3), dtype=sg.float64),
}


@pytest.mark.parametrize("name", NONE)
def test_what_is_none(name):
    assert not any(found(case) for case in every(NONE[name]))


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": sg.float64},
        {"space": (5,)},
        {"taps": (6, 1)},
        {"strides": (0, 1)},
        {"before": (-1, 0)},
        {"inputs": 0},
        {"taps": (3, 3, 3)},
    ],
    ids=str,
)
def test_what_cannot_be_asked_for(change):
    fields: dict[str, Any] = {
        "made": Made.RESULT,
        "dtype": float32,
        "batch": 1,
        "inputs": 2,
        "outputs": 3,
        "space": (5, 5),
        "taps": (3, 3),
        "strides": (1, 1),
        "dilations": (1, 1),
        "before": (0, 0),
        "after": (0, 0),
        "image": "x",
        "filter": "w",
        "result": "y",
    }
    Convolution(**fields)
    with pytest.raises(ValueError):
        Convolution(**fields | change)


def test_room_for_copies_with_all_channels_filled_up():
    one = Convolution(
        Made.RESULT, float16, 4, 9, 16, (5, 5), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), "x", "w", "y"
    )
    copies = 2 * (4 * 5 * 5 * 16 + 16 * 3 * 3 * 16 + 4 * 5 * 5 * 16)
    assert one.room == copies + (8 << 20)
    assert replace(one, batch=1 << 22).room == 1 << 30
