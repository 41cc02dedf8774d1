"""A loss that is the result of a run, not the tensor."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the loss is 3.0, and no tensor

  test_loss_is_a_number.py, in <lambda>
    |     told = message(TypeError, lambda: sg.train.AdamOptimizer().minimize(3.0))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: it is a tensor made from variables, in the graph; not what Session.run gave
"""


def test_message():
    sg.Variable(1.0, name="w")
    told = message(TypeError, lambda: sg.train.AdamOptimizer().minimize(3.0))
    assert told == EXPECTED
