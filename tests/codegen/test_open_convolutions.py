"""Convolutions of an open number of images, and their gradients: compiled once, right for every number."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from staticgraph.compiler.codegen.gemm.chunks import OpenPart
from staticgraph.compiler.codegen.gemm.plan import plan
from staticgraph.compiler.graph.dtypes import float64
from staticgraph.compiler.graph.sizes import evaluate
from staticgraph.compiler.kernel.expr import Load, Local
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.contraction_cases import Conv, processor
from tests.codegen.open_products import B, M, OpenProduct

CASES = [
    Conv((B, 28, 28, 1), (5, 5), 10),
    Conv((B, 18, 17, 32), (3, 3), 40),
    Conv((B, 20, 21, 3), (3, 2), 5, stride=2, dilation=2),
    Conv((B, 9, 9, 24), (1, 1), 40),
    Conv((B, 5, 5, 6), (3, 3), 7),
    Conv((B, 16, 16, 4), (3, 3), 1, stride=3),
    Conv((B, 8, 8, 32), (3, 3), 48, before=1, after=1),
    Conv((B, 4, 4, 40), (3, 3), 64, before=1, after=1),
    Conv((B, 15, 17, 8), (3, 3), 16, stride=2, before=0, after=1),
    Conv((B, 11, 9, 9), (5, 4), 12, dilation=2, before=4, after=3),
    Conv((B, 14, 13, 5), (3, 3), 5, stride=2, depthwise=True),
    Conv((B, 14, 13, 16), (3, 3), 16, before=1, after=1, depthwise=True),
]
each_case = pytest.mark.parametrize(
    "conv", CASES, ids=lambda c: "x".join(map(str, (*c.image[1:], c.channels)))
)
SIZES = 0, 1, 2, 5, 8, 33


def check(conv, target, rng, vector_bytes=None, sizes=SIZES):
    def exact(arrays):
        found, magnitude = conv.exact(target, arrays)
        return {target: found}, {target: 8.0 * magnitude}

    OpenProduct(conv.contraction(target), vector_bytes).check(exact, rng, sizes)


@pytest.mark.takes_long
@each_case
@pytest.mark.parametrize("target", "yw")
def test_convolutions_and_gradients_of_their_weights(conv, target, rng):
    check(conv, target, rng)


@each_case
def test_gradients_of_images(conv, rng):
    if conv.stride == 1 and conv.image[3] > 1:
        check(conv, "x", rng)


@pytest.mark.parametrize("vector_bytes", [16, 32])
def test_widths_of_vectors(vector_bytes, rng):
    for target in "ywx":
        check(Conv((B, 8, 8, 20), (3, 3), 24, before=1, after=1), target, rng, vector_bytes, (0, 1, 3))
        check(replace(Conv((B, 9, 9, 7), (1, 1), 9), dtype=float64), target, rng, vector_bytes, (0, 1, 3))


@pytest.mark.parametrize(
    "conv",
    [
        Conv((B, 12, 12, 8), (1, 1), 8),
        Conv((B, 12, 12, 4), (2, 1), 8, after=1),
        Conv((B, 30, 30, 3), (1, 2), 5),
    ],
    ids=["one index", "windows over edges", "windows inside"],
)
def test_gradients_of_weights_of_many_images_are_cut_into_slices(conv, rng):
    """Whose borders depend on the number of images alone."""
    product = OpenProduct(conv.contraction("w"))
    assert product.c.open_sum and len(product.code.phases) == 2
    check(conv, "w", rng, sizes=(0, 1, 2, 3, 5, 16, 17, 31, 100, 257))


def test_slices_that_a_short_sum_does_not_have_are_no_chunks():
    """The chunks with work are the first ones: one thread claimed all of them, another one empty ones."""
    first, _ = OpenProduct(Conv((B, 12, 12, 8), (1, 1), 8).contraction("w")).code.phases
    chunks = [evaluate(first.chunks, {"B": images}) for images in (0, 1, 8, 16, 1000)]
    assert chunks[0] == chunks[1] < chunks[2] < chunks[3] < chunks[4] == first.most


def test_a_single_image_is_work_for_several_threads():
    """Each image was one chunk, so that a second thread had nothing to do in a run with one image."""
    large, small = Conv((B, 64, 64, 3), (7, 7), 64, stride=2), Conv((B, 8, 8, 3), (3, 3), 4)
    grids = [plan(conv.contraction("y"), cpu_jit.host()).grid for conv in (large, small)]
    closed = [[d.parts for d in grid.dimensions if not isinstance(d, OpenPart)] for grid in grids]
    assert [math.prod(parts) >= 8 for parts in closed] == [True, False]
    check(large, "y", np.random.default_rng(1), sizes=(1, 3))


@dataclass(frozen=True)
class Inside(Conv):
    """A convolution whose windows lie inside of the picture, as is known for all sizes."""

    def load(self, name, at):
        return Load(name, at, self.dtype)


@pytest.mark.takes_long
@pytest.mark.parametrize("channels", [3, 16, 33, 64])
@pytest.mark.parametrize("stride", [1, 2])
def test_pictures_of_open_height_and_width(channels, stride, rng):
    """Rows of all lengths are done in tiles of one size, of which the last two may overlap."""
    conv = Inside((2, M + 3, B + 3, 3), (3, 3), channels, stride)
    made = OpenProduct(conv.contraction("y"))
    assert plan(made.c, processor(None)).tiling.even
    for target in "yw":
        check(conv, target, rng, sizes=(*range(36), 50))


def test_results_that_are_read_are_not_computed_twice(rng):
    """As where a picture is added to what lies in the memory of the result."""
    c = Inside((2, M + 3, B + 3, 3), (3, 3), 5).contraction("y")
    (store,) = c.stores
    before = Local("before", c.dtype)
    again = replace(
        c, stores=(replace(store, value=store.value + before),), loads={**c.loads, before: c.targets[0]}
    )
    assert plan(c, processor(None)).tiling.even and not plan(again, processor(None)).tiling.even


def test_memory_goes_along_the_sum_of_a_gradient_of_weights():
    """The index with the longest step is outermost, whichever sizes are open."""
    for image in ((3, B + 2, M + 2, 4), (B, 9, M + 2, 4), (M, 7, B + 2, 4)):
        c = Inside(image, (3, 3), 8).contraction("w")
        steps = [c.a.step(i) for i in c.k]
        assert steps == sorted(steps, reverse=True)


@pytest.mark.parametrize("image", [(2, B + 3, M + 3, 3), (B, M + 3, 11, 3), (B, 30, 30, 3)], ids=str)
def test_few_pictures_are_few_chunks(image):
    """A chunk is worth the time to begin it, for all sizes."""
    (phase,) = OpenProduct(Inside(image, (3, 3), 16).contraction("y")).code.phases
    found = [evaluate(phase.chunks, {"B": n, "M": n}) for n in (0, 1, 200)]
    assert 1 <= found[0] <= found[1] <= 2 and found[2] >= 16
