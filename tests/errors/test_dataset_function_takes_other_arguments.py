"""Two components, and a function of one."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the function of a dataset is called with 2 arguments: too many positional arguments

  test_dataset_function_takes_other_arguments.py, in <lambda>
    |     told = message(TypeError, lambda: data.map(lambda x: x))
    |                                       ^^^^^^^^^^^^^^^^^^^^^
  hint: it is defined as <lambda>(x)
"""


def test_message():
    data = sg.data.Dataset.from_tensor_slices(([1.0, 2.0], [0, 1]))
    told = message(TypeError, lambda: data.map(lambda x: x))
    assert told == EXPECTED
