"""A rate above 1, in a layer that is built for inference."""

import pytest

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
dropout: rate is 1.5, it must be in [0, 1)

  test_dropout_rate_above_one.py, in <lambda>
    |     told = message(ValueError, lambda: sg.layers.dropout(x, 1.5), cure=False)
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    told = message(ValueError, lambda: sg.layers.dropout(x, 1.5), cure=False)
    assert told == EXPECTED


def test_a_layer_of_keras_refuses_it_too():
    with pytest.raises(ValueError, match=r"rate is -0\.5"):
        sg.keras.layers.Dropout(-0.5)
