"""Fake quantization takes one limit, or one for each channel."""

import staticgraph as sg
from staticgraph.compat.tf1 import quantization
from tests.errors.message import message

EXPECTED = """\
fake_quant: min has shape (2,) beside inputs of shape (?, 3)

  test_fake_quantization_limits_of_another_shape.py, in <lambda>
    |     told = message(ValueError, lambda: each(x, [-1.0, -1.0], [1.0, 1.0]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: it must have shape (3,)
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    each = quantization.fake_quant_with_min_max_vars_per_channel
    told = message(ValueError, lambda: each(x, [-1.0, -1.0], [1.0, 1.0]))
    assert told == EXPECTED


def test_one_limit():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    told = message(ValueError, lambda: quantization.fake_quant_with_min_max_vars(x, -1.0, [1.0, 1.0]))
    assert told.startswith("fake_quant: max has shape (2,) beside inputs of shape (?, 3)")
