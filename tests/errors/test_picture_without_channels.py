"""A picture has three axes."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
flip_left_right: the image has shape (8, 8)

  test_picture_without_channels.py, in <lambda>
    |     told = message(ValueError, lambda: sg.image.flip_left_right(x))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: an image is [height, width, channels], a batch [batch, height, width, channels]
"""


def test_message():
    x = sg.placeholder(sg.float32, [8, 8], name="x")
    told = message(ValueError, lambda: sg.image.flip_left_right(x))
    assert told == EXPECTED
