"""Targets for another number of units."""

import numpy as np

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
y: the targets have shape [8, 3], and the output dense has (?, 1)

  test_targets_of_another_shape.py, in <lambda>
    |     told = message(ValueError, lambda: model.fit(x, y))
    |                                        ^^^^^^^^^^^^^^^
  dense was made here:
  test_targets_of_another_shape.py, in test_message
    |     model = sg.keras.Sequential([sg.keras.layers.Dense(1, input_shape=(4,))])
    |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: mean_squared_error needs equal shapes: let the last layer have as many units as a target
"""


def test_message():
    model = sg.keras.Sequential([sg.keras.layers.Dense(1, input_shape=(4,))])
    model.compile("sgd", "mse")
    x, y = np.zeros([8, 4]), np.zeros([8, 3])
    told = message(ValueError, lambda: model.fit(x, y))
    assert told == EXPECTED
