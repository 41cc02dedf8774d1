"""A tensor that no metric gave, reported as if one had."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
add_metric: Sum:0 was not given by a metric, so it cannot be reset between epochs

  test_metric_of_a_plain_tensor.py, in <lambda>
    |     told = message(ValueError, lambda: model.add_metric(sg.reduce_sum(x), name="sum"))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: its mean over an epoch is meant by aggregation="mean"
"""


def test_message():
    x = sg.keras.Input([4])
    model = sg.keras.Model(x, sg.keras.layers.Dense(1)(x))
    told = message(ValueError, lambda: model.add_metric(sg.reduce_sum(x), name="sum"))
    assert told == EXPECTED
