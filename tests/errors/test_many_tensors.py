"""A long list is cut."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
stack(values: [float32[0], float32[1], float32[2], float32[3], float32[4], float32[5], float32[6],
float32[7], ...]):
all shapes must be equal, and [0] and [1] differ

  test_many_tensors.py, in <lambda>
    |     told = message(ValueError, lambda: sg.stack(rows))
    |                                        ^^^^^^^^^^^^^^
  values[0], values[1] and 18 more were made here:
  test_many_tensors.py, in test_message
    |     rows = list(map(sg.zeros, [[n] for n in range(20)]))
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: sizes must agree, axis by axis
"""


def test_message():
    rows = list(map(sg.zeros, [[n] for n in range(20)]))
    told = message(ValueError, lambda: sg.stack(rows))
    assert told == EXPECTED
