"""Integer labels for a loss of rows of classes."""

import numpy as np

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
y: the targets have shape [8, 1], and categorical_crossentropy takes rows of classes

  test_numbers_in_place_of_rows_of_classes.py, in <lambda>
    |     told = message(ValueError, lambda: model.fit(x, y))
    |                                        ^^^^^^^^^^^^^^^
  dense was made here:
  test_numbers_in_place_of_rows_of_classes.py, in test_message
    |     model = sg.keras.Sequential([sg.keras.layers.Dense(10, "softmax", input_shape=(4,))])
    |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: numbers of classes go with sparse_categorical_crossentropy; utils.to_categorical makes rows
"""


def test_message():
    model = sg.keras.Sequential([sg.keras.layers.Dense(10, "softmax", input_shape=(4,))])
    model.compile("sgd", "categorical_crossentropy")
    x, y = np.zeros([8, 4]), np.arange(8)
    told = message(ValueError, lambda: model.fit(x, y))
    assert told == EXPECTED
