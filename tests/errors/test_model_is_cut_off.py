"""A model from another input than the one that is listed."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
model model cannot be cut out: input_2:0 does not come from the inputs that were given

  test_model_is_cut_off.py, in <lambda>
    |     told = message(ValueError, lambda: sg.keras.Model(x, y))
    |                                        ^^^^^^^^^^^^^^^^^^^^
  input_2:0 was made here:
  test_model_is_cut_off.py, in test_message
    |     y = sg.keras.layers.Dense(2)(sg.keras.Input([2]))
    |                                  ^^^^^^^^^^^^^^^^^^^
  hint: each path back from an output must end at an Input that is listed among the inputs
"""


def test_message():
    x = sg.keras.Input([2])
    y = sg.keras.layers.Dense(2)(sg.keras.Input([2]))
    told = message(ValueError, lambda: sg.keras.Model(x, y))
    assert told == EXPECTED
