"""One picture, not a batch of them, for a layer."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
conv2d: the input (8, 8, 3) has 3 axes, and must have 4

  test_layer_without_a_batch.py, in <lambda>
    |     told = message(ValueError, lambda: sg.layers.conv2d(x, 4, 3))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: one for the batch, one for channels, the others for space
"""


def test_message():
    x = sg.placeholder(sg.float32, [8, 8, 3], name="x")
    told = message(ValueError, lambda: sg.layers.conv2d(x, 4, 3))
    assert told == EXPECTED
