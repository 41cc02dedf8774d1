"""NumPy in place of the graph."""

import numpy as np

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
<sg.Tensor 'x:0' shape=(?,) dtype=float32> cannot be an array while the graph is built

  test_numpy_function_of_a_tensor.py, in <lambda>
    |     told = message(NotImplementedError, lambda: np.mean(x))
    |                                                 ^^^^^^^^^^
  hint: use the function of this library in the graph; or take what Session.run gives
"""


def test_message():
    x = sg.placeholder(sg.float32, [None], name="x")
    told = message(NotImplementedError, lambda: np.mean(x))
    assert told == EXPECTED
