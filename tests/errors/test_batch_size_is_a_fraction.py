"""A size that was divided with `/`: TensorFlow refuses it, too."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the sizes and counts of a dataset are whole numbers, not 16.0

  test_batch_size_is_a_fraction.py, in <lambda>
    |     told = message(TypeError, lambda: sg.data.Dataset.range(7).batch(32 / 2), cure=False)
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""


def test_message():
    told = message(TypeError, lambda: sg.data.Dataset.range(7).batch(32 / 2), cure=False)
    assert told == EXPECTED
