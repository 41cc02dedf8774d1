"""A dataset that repeats for ever, and no number of steps."""

import numpy as np

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the dataset repeats without an end

  test_epoch_without_an_end.py, in <lambda>
    |     told = message(ValueError, lambda: model.fit(data))
    |                                        ^^^^^^^^^^^^^^^
  hint: give steps_per_epoch, or repeat(count)
"""


def test_message():
    model = sg.keras.Sequential([sg.keras.layers.Dense(1, input_shape=(4,))])
    model.compile("sgd", "mse")
    data = sg.data.Dataset.from_tensor_slices((np.zeros([8, 4]), np.zeros([8, 1]))).batch(4).repeat()
    told = message(ValueError, lambda: model.fit(data))
    assert told == EXPECTED
