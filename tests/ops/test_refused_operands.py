"""Type rules refuse each operand and attribute that they must, called as a loaded graph calls them.

The functions of users look at some of these before. A file or a rewrite comes to the rule itself, and what a
rule lets pass is code that may touch memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.errors import OpError, headline, told
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.opdef import OPS


def x(*shape: int, dtype: Any = sg.float32) -> sg.Tensor:
    return sg.placeholder(dtype, shape)


def n(*shape: int) -> sg.Tensor:
    return x(*shape, dtype=sg.int32)


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "an axis beyond a stack": (lambda: ops.stack([x(2), x(2)], axis=2), "not in"),
    "an axis before a stack": (lambda: ops.stack([x(2), x(2)], axis=-3), "not in"),
    "batches beyond indices": (lambda: ops.gather(x(2, 3, 4), n(2), axis=2, batch_dims=2), "out of range"),
    "batches before indices": (lambda: ops.gather(x(2, 3), n(2), axis=1, batch_dims=-2), "out of range"),
    "batches beyond an axis": (lambda: ops.gather(x(2, 3), n(2, 3), axis=0, batch_dims=1), "greater than"),
    "the diagonal of a vector": (lambda: ops.matrix_diag_part(x(3)), "two axes"),
    "the diagonal that is a number": (lambda: ops.matrix_diag(x()), "one axis"),
    "a vector as a matrix": (lambda: ops.cholesky(x(3)), "at least 2"),
    "a vector in a product": (lambda: ops.batch_matmul(x(3), x(3, 3)), "at least 2"),
    "a matrix as a bias": (lambda: ops.bias_add(x(2, 3), x(1, 3)), "vector"),
    "the softmax of a number": (lambda: ops.softmax(x()), "scalar|at least one axis|axis"),
    "a vector that is normalised": (lambda: ops.local_response_normalization(x(3)), "4 is needed"),
    "a vector that fills": (lambda: ops.fill(x(2), dims=(2,)), "number"),
    "a type that bits have not": (lambda: ops.bitcast(x(2), type=sg.string), "bits"),
    "no parts": (lambda: ops.split_v(x(0), size_splits=(), axis=0, num_split=0), "cannot split"),
    "crops of less than nothing": (
        lambda: ops.batch_to_space_nd(x(4, 2, 2, 1), block_shape=(2, 2), crops=((0, 0), (-1, 0))), "negative",
    ),
    "a layout of images": (lambda: ops.space_to_depth(x(1, 2, 2, 1), block_size=2, data_format="X"), "NHWC"),
    "less than no segments": (
        lambda: ops.unsorted_segment_sum(x(3), n(3), num_segments=-1), "negative",
    ),
    "a method of resizing": (
        lambda: ops.crop_and_resize(x(1, 4, 4, 1), x(1, 4), n(1), crop_size=(2, 2), method="x"), "bilinear",
    ),
    "a size of three": (
        lambda: ops.crop_and_resize(x(1, 4, 4, 1), x(1, 4), n(1), crop_size=(2, 2, 2)), "two entries",
    ),
    "the spectrum of no points": (lambda: ops.open_rfft(x(2, 0)), "no points"),
    "a letter twice": (lambda: ops.einsum([x(2, 2)], equation="aa->a"), "alike"),
    "classes of a cube": (
        lambda: ops.stateless_multinomial(x(2, 3, 4), n(2), num_samples=2, output_dtype=sg.int32), "rank 3",
    ),
    "no classes": (
        lambda: ops.sparse_softmax_cross_entropy(x(2, 0), n(2)), "no classes",
    ),
    "an image without channels": (
        lambda: ops.dilation2d(x(4, 4), x(1, 1, 1), strides=(1, 1, 1, 1), rates=(1, 1, 1, 1), padding="SAME"),
        "rank 2",
    ),
    "a permutation of a matrix": (lambda: ops.invert_permutation(n(2, 2)), "vector"),
    "spectra of a cube": (
        lambda: ops.irfft_rows(x(2, 3, 9, dtype=sg.complex64), x(16, dtype=sg.complex64)), "rank 3",
    ),
    "a band of a number": (lambda: ops.band_sum(x(), radius=1), "no last axis"),
    "windows of many taps": (
        lambda: ops.max_pool_grad(
            x(1, 40, 40, 1), x(1, 1, 1, 1), ksize=(1, 40, 40, 1), strides=(1, 1, 1, 1), padding="VALID"
        ),
        "written out",
    ),
    "a cotangent of a vector": (lambda: ops.bias_add_grad(x(3)), "at least 2"),
    "paddings of more than there is": (
        lambda: ops.mirror_pad_grad(x(3), paddings=((2, 2),), mode="REFLECT"), "more than",
    ),
    "a matrix that is no permutation": (lambda: ops.is_permutation(n(2, 2), of="it", operand="x"), "vector"),
    "nothing to join": (lambda: ops.concat([], axis=0), "nothing to join"),
    "no processes": (lambda: ops.all_gather(x(2), workers=0), "number of processes"),
    "a truth value as a number of processes": (
        lambda: ops.all_gather(x(2), workers=True), "number of processes",
    ),
    "another combination": (lambda: ops.all_reduce(x(2), workers=1, combine="xor"), "must be one of"),
    "a number that is no array of tensors": (
        lambda: ops.tensor_array_scatter(x(), n(1), x(1), number=0), "at least one axis",
    ),
    "a step beyond the dtype": (
        lambda: ops.range(start=0, limit=9, delta=300, dtype=sg.int8), "does not fit",
    ),
    "a start beyond numbers": (
        lambda: ops.range(start=float("inf"), limit=9.0, delta=1.0, dtype=sg.float32), "does not fit",
    ),
    "two notations": (lambda: ops.as_string(x(2), scientific=True, shortest=True), "not both"),
    "a fill of letters": (lambda: ops.as_string(x(2), fill="x"), "must be one of"),
    "errors that are none": (
        lambda: ops.unicode_decode_with_offsets(x(2, dtype=sg.string), input_encoding="UTF-8", errors="x"),
        "must be one of",
    ),
    "attempts without end": (
        lambda: ops.sample_distorted_bounding_box(n(3), x(1, 1, 4), x(), max_attempts=10**6), "at most",
    ),
    "parts of a box": (
        lambda: ops.sample_distorted_bounding_box(n(3), x(1, 1, 4), x(2)), "one number",
    ),
}  # fmt: skip


def loop_of(given: str, taken: str, left: int) -> Any:
    """The loop of a Function whose body takes a number, and leaves so many beside a condition."""
    build = Builder()
    is_going, number = build.parameter("is_going", "bool", ()), build.parameter("number", given, ())
    param = build.parameter("param", taken, ())
    body = Function((param,), (is_going, *[param] * left))
    attrs = {"body": body, "carried": 1, "family": 0, "bound": None, "exact": False, "brief": True}
    return build.apply(OPS["loop"], (is_going, number), attrs)


@pytest.mark.parametrize(
    ("given", "taken", "left", "text"),
    [
        ("int32", "float32", 1, "its body takes"),
        ("int32", "int32", 0, "the body gives"),
        ("int32", "int32", 2, "gives"),
    ],
)
def test_a_loop_of_a_function_fits_its_body(given: str, taken: str, left: int, text: str):
    """A file has no such loop; a pass that builds a wrong one is told before there is code of it."""
    with pytest.raises(OpError, match=text):
        loop_of(given, taken, left)
    loop_of("int32", "int32", 1)


def test_positions_before_the_first_are_no_places_of_a_stitch():
    """NumPy counts negative positions from the end, and would stitch there."""
    with sg.Session() as session, pytest.raises(sg.errors.InvalidArgumentError, match="not be negative"):
        session.run(ops.stitch_sources(sg.constant([2, -1])))


@pytest.mark.parametrize("name", WRONG)
def test_a_rule_refuses(name: str):
    call, text = WRONG[name]
    with pytest.raises(Exception) as refused:
        call()
    assert told(refused.value) and re.search(text, headline(refused.value)), headline(refused.value)
