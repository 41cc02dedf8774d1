"""Results that are not of the type of the elements."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
TensorArray.write: the array is of float32, the row is int32[]

  test_map_fn_of_another_dtype.py, in <lambda>
    |     told = message(TypeError, lambda: sg.map_fn(lambda v: sg.cast(v, sg.int32), x))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  the row was made here:
  test_map_fn_of_another_dtype.py, in <lambda>
    |     told = message(TypeError, lambda: sg.map_fn(lambda v: sg.cast(v, sg.int32), x))
    |                                                           ^^^^^^^^^^^^^^^^^^^^
  hint: cast the row; map_fn takes a dtype for its results
"""


def test_message():
    x = sg.zeros([3], name="x")
    told = message(TypeError, lambda: sg.map_fn(lambda v: sg.cast(v, sg.int32), x))
    assert told == EXPECTED
