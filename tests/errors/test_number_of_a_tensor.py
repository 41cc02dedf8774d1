"""Python's float() of something that a run computes."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
<sg.Tensor 'loss:0' shape=() dtype=float32> has no value while the graph is built

  test_number_of_a_tensor.py, in <lambda>
    |     told = message(TypeError, lambda: float(loss))
    |                                       ^^^^^^^^^^^
  hint: convert in the graph: cast(x, ...); or take what Session.run gives
"""


def test_message():
    loss = sg.placeholder(sg.float32, [], name="loss")
    told = message(TypeError, lambda: float(loss))
    assert told == EXPECTED
