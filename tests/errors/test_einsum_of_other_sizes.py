"""One letter for two sizes."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
einsum(inputs: [float32[2, 3], float32[4, 5]], equation='ij,jk->ik'):
axis j has size 3 in one operand and 4 in another

  test_einsum_of_other_sizes.py, in <lambda>
    |     told = message(ValueError, lambda: sg.einsum("ij,jk->ik", a, b))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  inputs[0] was made here:
  test_einsum_of_other_sizes.py, in test_message
    |     a = sg.zeros([2, 3], name="a")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  inputs[1] was made here:
  test_einsum_of_other_sizes.py, in test_message
    |     b = sg.zeros([4, 5], name="b")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: axes of one letter have one size
"""


def test_message():
    a = sg.zeros([2, 3], name="a")
    b = sg.zeros([4, 5], name="b")
    told = message(ValueError, lambda: sg.einsum("ij,jk->ik", a, b))
    assert told == EXPECTED
