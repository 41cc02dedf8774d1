"""Operations over axes of open size: one program is right for every size, with its derivatives.

The interpreter, which computes each size by NumPy, says what is right.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.arrays.sorting import nth_element
from staticgraph.compiler.graph.errors import RecompileWarning
from tests.everywhere import check_same, everywhere, in_session

pytestmark = pytest.mark.takes_long

SIZES = (0, 1, 2, 3, 7, 33)
BOXES = np.float32([[0.1, 0, 0.9, 0.95], [0.2, 0.3, 0.7, 1.1]])

RESIZED = {
    "nearest": sg.image.resize_nearest_neighbor,
    "bilinear": sg.image.resize_bilinear,
    "bicubic": sg.image.resize_bicubic,
    "area": sg.image.resize_area,
}

# An operation on x and perhaps on a filter, the shape of x with n for open sizes, and the number of programs
# for all of `SIZES`.
Case = tuple[Callable[[Any, Any], Any], Sequence[Any], int]
CASES: dict[str, Case] = {
    "cumsum": (lambda x, w: sg.cumsum(x), ["n"], 1),
    "cumsum of rows": (lambda x, w: sg.cumsum(x, 0, exclusive=True), ["n", 3], 1),
    "cumsum backwards": (lambda x, w: sg.cumsum(x, 1, reverse=True), [2, "n"], 1),
    "cumsum of both": (lambda x, w: sg.cumsum(x, 0, reverse=True, exclusive=True), ["n", "n"], 1),
    "cumprod": (lambda x, w: sg.cumprod(x, 0, exclusive=True, reverse=True), ["n"], 1),
    "cumulative_logsumexp": (lambda x, w: sg.math.cumulative_logsumexp(x, 1), [3, "n"], 1),
    "roll": (lambda x, w: sg.roll(x, 2, 0), ["n", 2], 1),
    "roll back": (lambda x, w: sg.roll(x, [-5, 1], [1, 0]), [3, "n"], 1),
    "diagonal": (lambda x, w: sg.matrix_set_diag(x, 2 * sg.matrix_diag_part(x)), ["n", "n"], 1),
    "split": (lambda x, w: sg.split(x, 2)[1], ["2n", 3], 1),
    "reshape": (lambda x, w: sg.tanh(sg.reshape(x, [-1, 4])), ["4n"], 1),
    "space_to_depth": (lambda x, w: sg.space_to_depth(x, 2), [2, "2n", "4n", 1], 1),
    "depth_to_space": (lambda x, w: sg.depth_to_space(x, 2), [2, 3, 2, "4n"], 1),
    "sort": (lambda x, w: sg.sort(x, 0), ["n"], 1),
    "sort of rows": (lambda x, w: sg.sort(x, 1, "DESCENDING"), [2, "n"], 1),
    "conv2d": (lambda x, w: sg.nn.conv2d(x, w, 1, "SAME"), [2, "n", "n", 2], 1),
    "conv2d with strides": (
        lambda x, w: sg.nn.conv2d(x, w, [1, 2, 2, 1], "SAME"), [1, "n", "n", 2], 1,

    ),
    "conv2d without padding": (
        lambda x, w: sg.nn.conv2d(x, w, 1, "VALID"), [1, "n+3", "n+3", 2], 1,
    ),
    "conv1d": (lambda x, w: sg.nn.conv1d(x, sg.reshape(w, [3, 2, 4]), 2, "SAME"), ["n", "n", 2], 1),
    "depthwise": (
        lambda x, w: sg.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"), [1, "n", "n", 2], 1,
    ),
    "max_pool": (lambda x, w: sg.nn.max_pool(x, 2, 2, "SAME"), [2, "n", "n", 2], 1),
    "max_pool without padding": (lambda x, w: sg.nn.max_pool(x, 2, 2, "VALID"), [1, "n+3", "n+3", 2], 1),
    "avg_pool": (lambda x, w: sg.nn.avg_pool(x, 3, 2, "SAME"), [2, "n", "n", 2], 1),
    **{
        f"resize_{method}{' with corners' * corners}{' at halves' * halves}": (
            lambda x, w, method=method, corners=corners, halves=halves: RESIZED[method](
                x, [5, 40], align_corners=corners, **({"half_pixel_centers": True} if halves else {})
            ),
            [1, "n+1", "n+1", 2], 1,
        )
        for method in RESIZED
        for corners, halves in ((False, False), (True, False), (False, True))
        if not (halves and method == "area")
    },
    **{
        f"resize_{method} to one row with corners": (
            lambda x, w, method=method: RESIZED[method](x, [1, 2], align_corners=True),
            [1, "n+1", "n+1", 2], 1,
        )
        for method in RESIZED
    },
    "resize_area to half the size with corners": (
        lambda x, w: sg.image.resize_area(x, (sg.shape(x)[1:3] + 1) // 2, align_corners=True),
        [1, "n+1", "n+1", 2], 1,
    ),
    "resize to another size": (
        lambda x, w: sg.image.resize_bilinear(x, 2 * sg.shape(x)[1:3], align_corners=True),
        [1, "n+1", "n+1", 2], 1,
    ),
    "resize to twice the size": (
        lambda x, w: sg.image.resize_nearest_neighbor(x, 2 * sg.shape(x)[1:3]), [2, "n+1", "n+1", 1], 1,
    ),
    "conv2d and pooling in turns": (
        lambda x, w: sg.nn.max_pool(
            sg.nn.conv2d(sg.nn.avg_pool(x, 2, 2, "SAME"), w, 1, "SAME"), 3, 2, "SAME"
        ),
        [1, "n", "n", 2], 1,
    ),
    "conv2d_transpose": (
        lambda x, w: sg.nn.conv2d_transpose(x, w, sg.shape(x) * [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
        [1, "n", "n", 2], 1,
    ),
    "searchsorted": (lambda x, w: sg.searchsorted(sg.cumsum(x, 1), x), [2, "n"], 1),
    "losses of classes": (
        lambda x, w: sg.nn.sparse_softmax_cross_entropy_with_logits(labels=sg.zeros([3], sg.int32), logits=x),
        [3, "n+1"], 1,
    ),
    "nth_element": (lambda x, w: nth_element(x, 1), [3, "n+2"], 1),
    "nth_element from the end": (lambda x, w: nth_element(x, 1, reverse=True), [3, "n+2"], 1),
    "crop_and_resize": (
        lambda x, w: sg.image.crop_and_resize(x, BOXES, [0, 0], [3, 4]), [1, "n+1", "n+1", 2], 1,
    ),
    "fft": (lambda x, w: sg.real(sg.signal.fft(sg.complex(x, x * 0.5))), [2, "n+1"], 1),
    "ifft2d": (lambda x, w: sg.imag(sg.signal.ifft2d(sg.complex(x, x * x))), ["n+1", "n+2"], 1),
    "rfft": (lambda x, w: sg.abs(sg.signal.rfft(x)), [2, "n+1"], 1),
    "irfft": (lambda x, w: sg.signal.irfft(sg.complex(x, x * x)), [2, "n+2"], 1),
    "halves": (lambda x, w: x[sg.shape(x)[0] // 2 :] + x[: (sg.shape(x)[0] + 1) // 2], ["n", 2], 1),
    "rfft2d": (lambda x, w: sg.real(sg.signal.rfft2d(x)), [2, "n+1", "n+2"], 1),
    "irfft2d": (lambda x, w: sg.signal.irfft2d(sg.complex(x, x * x)), ["n+1", "n+2"], 1),
    "rfft3d": (lambda x, w: sg.imag(sg.signal.rfft3d(x)), ["n+2", 3, "n+1"], 1),
    "irfft3d": (
        lambda x, w: sg.signal.irfft3d(sg.complex(x, x * x), [5, 4, sg.shape(x)[2]]), [2, 3, "n+2"], 1,
    ),
    "eigenvalues": (lambda x, w: sg.self_adjoint_eigvals(sg.matmul(x, x, transpose_b=True)), ["n+1", 3], 1),
}  # fmt: skip


def built(name: str) -> dict[str, Any]:
    operation, shape, _ = CASES[name]
    x = sg.placeholder(sg.float32, [n if isinstance(n, int) else None for n in shape], name="x")
    w = sg.constant(np.linspace(-1, 1, 24).reshape(3, 2, 2, 2), sg.float32)
    y = operation(x, w)
    weights = sg.cos(sg.cast(sg.reshape(sg.range(sg.size(y)), sg.shape(y)), sg.float32))
    if not y.dtype.is_floating:
        return {"y": y}
    by_x, by_w = sg.gradients(y * weights, [x, w])
    return {"y": y, "by_x": by_x} | ({} if by_w is None else {"by_w": by_w})


def fed(name: str, n: int) -> dict[str, np.ndarray]:
    sizes = {"n": n, "n+1": n + 1, "n+2": n + 2, "n+3": n + 3, "2n": 2 * n, "4n": 4 * n}
    shape = [sizes.get(size, size) for size in CASES[name][1]]
    return {"x": np.random.default_rng(n).uniform(0.2, 1.5, shape).astype(np.float32)}


@pytest.mark.parametrize("name", CASES)
def test_one_program_is_right_for_every_size(name: str):
    runs = [fed(name, n) for n in (*SIZES, 3)]
    sessions: list[sg.Session] = []
    with sg.Graph().as_default(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompileWarning)
        found = [*in_session(lambda: built(name), runs, opened=sessions.append)]
    wanted = everywhere(lambda: built(name), *runs, places=("interpreter",))["interpreter"]
    assert isinstance(wanted, list) and not any(each.error for each in wanted), wanted
    for number, (one, two) in enumerate(zip(wanted, found, strict=True)):
        check_same(f"run {number}", one, two, 1e-4, 1e-6)
    why = [each.why for each in sessions[0].compiles][1:]  # the first one initialized the variables
    assert len(why) == CASES[name][2], why


def test_a_file_serves_transforms_of_every_length(tmp_path: Path):
    x = sg.placeholder(sg.float32, [None], name="x")
    file = tmp_path / "spectrum.sg"
    with sg.Session() as session:
        sg.save(file, {"y": sg.abs(sg.signal.rfft(x))}, kernels=["native"], session=session)
    loaded = sg.load(file, trusted=True)
    for n in (1, 2, 7, 33):
        value = np.linspace(0.5, 1.5, n, dtype=np.float32)
        np.testing.assert_allclose(loaded(x=value)["y"], np.abs(np.fft.rfft(value)), rtol=1e-5, atol=1e-5)
        loaded.session.no_compile = True
