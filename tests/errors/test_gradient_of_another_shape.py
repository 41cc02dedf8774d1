"""A gradient function that gives a derivative of another shape than its argument."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the gradient by input 0 of CustomGradient (CustomGradient) has shape (), and the input (2,)

  test_gradient_of_another_shape.py, in <lambda>
    |     assert message(ValueError, lambda: sg.gradients(y, x)) == EXPECTED
    |                                        ^^^^^^^^^^^^^^^^^^
  the operation was made here:
  test_gradient_of_another_shape.py, in test_message
    |     y = sg.custom_gradient(lambda x: (sg.sin(x), lambda dy: sg.reduce_sum(dy)))(x)
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: the gradient by a tensor has its shape: reduce_sum() adds up, broadcast_to() repeats
"""


def test_message():
    x = sg.placeholder(sg.float32, [2], name="x")
    y = sg.custom_gradient(lambda x: (sg.sin(x), lambda dy: sg.reduce_sum(dy)))(x)
    assert message(ValueError, lambda: sg.gradients(y, x)) == EXPECTED
