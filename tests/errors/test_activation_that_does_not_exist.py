"""A misspelled function."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
Unknown activation function: rellu

  test_activation_that_does_not_exist.py, in <lambda>
    |     told = message(ValueError, lambda: sg.layers.dense(x, 4, activation="rellu"))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: it is one of elu, exponential, gelu, hard_sigmoid, linear, relu, selu, sigmoid, silu,
        softmax, softplus, softsign, swish, tanh
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    told = message(ValueError, lambda: sg.layers.dense(x, 4, activation="rellu"))
    assert told == EXPECTED
