"""The weights of a layer have a shape when it is made."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
dense: axis -1 of the input (?, ?) must be known before the graph runs

  test_layer_over_an_unknown_axis.py, in <lambda>
    |     told = message(ValueError, lambda: sg.layers.dense(x, 4))
    |                                        ^^^^^^^^^^^^^^^^^^^^^
  hint: it decides the shape of the layer's variables
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, None], name="x")
    told = message(ValueError, lambda: sg.layers.dense(x, 4))
    assert told == EXPECTED
