"""Refusals of summaries. Their results are compared with TensorFlow's in `tests/golden`."""

import numpy as np
import pytest

from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.formats.tf.messages import Summary
from staticgraph.tf1.summary import encode


@pytest.mark.parametrize(
    "make, what",
    [
        (lambda: encode.scalar("t", [1.0, 2.0]), r"t is of one number, and has shape \[2\]"),
        (
            lambda: encode.histogram("t", [1.0, np.nan, np.nan]),
            "NaN in the summary histogram t: 2 of 3 values",
        ),
        (lambda: encode.histogram("t", [-np.inf]), "infinity in the summary histogram t"),
        (lambda: encode.image("t", np.ones([2, 4, 4])), r"\[2, 4, 4\], not \[batch, height"),
        (lambda: encode.image("t", np.ones([2, 4, 4, 2])), r"\[2, 4, 4, 2\], not"),
        (lambda: encode.audio("t", np.ones([3]), 8000), r"\[3\], not \[batch, frames"),
        (lambda: encode.merge([encode.scalar("t", 1)] * 2), "have the tag 't'"),
    ],
)
def test_what_is_wrong_is_said(make, what: str):
    with pytest.raises(InvalidArgumentError, match=what):
        make()


def test_images_of_doubles_differ_from_those_of_floats_by_rounding_alone():
    array = np.random.RandomState(0).standard_normal([1, 16, 16, 3])
    one, two = (Summary.FromString(encode.image("t", array.astype(kind))).value[0].image for kind in "fd")
    assert (one.height, one.width, one.colorspace) == (two.height, two.width, two.colorspace) == (16, 16, 3)


def test_nothing_to_show():
    assert encode.image("t", np.ones([0, 4, 4, 1])) == encode.audio("t", np.ones([0, 4]), 8000) == b""
    assert encode.merge([]) == b""


def test_another_color_for_what_is_not_finite():
    image = np.full([1, 1, 1, 3], np.nan)
    red, blue = (encode.image("t", image, bad_color=color) for color in ((255, 0, 0, 255), (0, 0, 255, 255)))
    assert red != blue


def test_metadata_may_be_bytes():
    metadata = Summary.FromString(encode.text("t", "x")).value[0].metadata
    assert encode.tensor("t", "x", metadata.SerializeToString()) == encode.text("t", "x")
