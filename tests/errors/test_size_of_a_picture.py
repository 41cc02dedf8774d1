"""A height without a width."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
resize_images: size has shape (1,)

  test_size_of_a_picture.py, in <lambda>
    |     told = message(ValueError, lambda: sg.image.resize_images(x, [4]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: it is [height, width]
"""


def test_message():
    x = sg.placeholder(sg.float32, [8, 8, 3], name="x")
    told = message(ValueError, lambda: sg.image.resize_images(x, [4]))
    assert told == EXPECTED
