"""A value in place of a function."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
cond(true_fn): <sg.Tensor 'x:0' shape=() dtype=float32> is not a function

  test_branch_is_a_tensor.py, in <lambda>
    |     told = message(TypeError, lambda: sg.cond(p, x, lambda: -x))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: write lambda: value, so that only the side that is taken is computed
"""


def test_message():
    p = sg.placeholder(sg.bool, [], name="p")
    x = sg.constant(1.0, name="x")
    told = message(TypeError, lambda: sg.cond(p, x, lambda: -x))
    assert told == EXPECTED
