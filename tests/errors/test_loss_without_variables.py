"""The variables and the loss have nothing to do with each other."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
No gradients provided for any variable: loss:0 has none by w
loss:0 does not depend on w

  test_loss_without_variables.py, in test_message
    |     loss = sg.constant(1.0, name="loss")
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

  test_loss_without_variables.py, in <lambda>
    |     told = message(ValueError, lambda: sg.train.AdamOptimizer().minimize(loss))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: check the way from the variables to the loss
"""


def test_message():
    sg.Variable(1.0, name="w")
    loss = sg.constant(1.0, name="loss")
    told = message(ValueError, lambda: sg.train.AdamOptimizer().minimize(loss))
    assert told == EXPECTED
