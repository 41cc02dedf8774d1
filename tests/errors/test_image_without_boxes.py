"""A crop at random of an image without objects, or without pixels: TensorFlow's corners of the latter are NaN."""

import numpy as np
import pytest

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
sample_distorted_bounding_box(image_size: int32[3], bounding_boxes: float32[1, 0, 4],
min_object_covered: float32[]):
there are no bounding boxes, and use_image_if_no_bounding_boxes is not True

  test_image_without_boxes.py, in <lambda>
    |     told = message(ValueError, lambda: draw([9, 9, 3], boxes))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^
  bounding_boxes was made here:
  test_image_without_boxes.py, in test_message
    |     boxes = sg.zeros([1, 0, 4])
    |             ^^^^^^^^^^^^^^^^^^^
  hint: use_image_if_no_bounding_boxes=True takes the whole image as the object
"""
draw = sg.image.sample_distorted_bounding_box


def test_message():
    boxes = sg.zeros([1, 0, 4])
    told = message(ValueError, lambda: draw([9, 9, 3], boxes))
    assert told == EXPECTED


@pytest.mark.compiled  # the interpreter knows no cure
def test_boxes_of_a_run():
    boxes = sg.placeholder(sg.float32, [None, None, 4])
    drawn = draw([9, 9, 3], boxes)
    with sg.Session() as sess:
        assert sess.run(drawn, {boxes: np.zeros([1, 2, 4])}).size[2] == -1
        feed = {boxes: np.zeros([1, 0, 4])}
        told = message(sg.errors.InvalidArgumentError, lambda: sess.run(drawn, feed))
    assert "there are no bounding boxes, and use_image_if_no_bounding_boxes is not True" in told


@pytest.mark.compiled
def test_no_pixels():
    size = sg.placeholder(sg.int32, [3])
    drawn = draw(size, sg.zeros([1, 0, 4]), use_image_if_no_bounding_boxes=True)
    with sg.Session() as sess:
        told = message(sg.errors.InvalidArgumentError, lambda: sess.run(drawn, {size: [0, 9, 3]}))
        assert "the image's height is 0, and must be positive" in told
        told = message(sg.errors.InvalidArgumentError, lambda: sess.run(drawn, {size: [9, -1, 3]}))
        assert "the image's width is -1, and must be positive" in told
