"""A result without its derivative."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
custom_gradient: the function returned <sg.Tensor 'mul:0' shape=() dtype=float32>

  test_custom_gradient_without_a_function.py, in <lambda>
    |     told = message(TypeError, lambda: double(x))
    |                                       ^^^^^^^^^
  hint: return y, grad: the result, and a function of its derivative for those of the xs
"""


def test_message():
    double = sg.custom_gradient(lambda x: x * 2)
    x = sg.constant(1.0, name="x")
    told = message(TypeError, lambda: double(x))
    assert told == EXPECTED
