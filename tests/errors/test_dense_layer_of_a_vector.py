"""A vector where a batch of them is needed."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
dense: the input (3,) has fewer than 2 axes

  test_dense_layer_of_a_vector.py, in <lambda>
    |     told = message(ValueError, lambda: sg.layers.dense(x, 4))
    |                                        ^^^^^^^^^^^^^^^^^^^^^
  hint: the first axis is the batch: expand_dims makes one
"""


def test_message():
    x = sg.placeholder(sg.float32, [3], name="x")
    told = message(ValueError, lambda: sg.layers.dense(x, 4))
    assert told == EXPECTED
