"""A file of pictures holds integers."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
encode_png(image: float32[8, 8, 3]): image is float32, and must be uint8 or uint16

  test_png_of_fractions.py, in <lambda>
    |     told = message(TypeError, lambda: sg.image.encode_png(x))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^
  image was made here:
  test_png_of_fractions.py, in test_message
    |     x = sg.placeholder(sg.float32, [8, 8, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: convert it: cast(image, sg.uint8)
"""


def test_message():
    x = sg.placeholder(sg.float32, [8, 8, 3], name="x")
    told = message(TypeError, lambda: sg.image.encode_png(x))
    assert told == EXPECTED
