"""A function of the user's returns Python's floats where float32 was declared."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError
from tests.errors.message import message

EXPECTED = """\
mean (PyFunc): value 0 that the function returns is float64, and Tout says float32

  test_python_function_of_another_dtype.py, in test_message
    |     mean = sg.py_func(lambda x: 0.5, [1.0], sg.float32, name="mean")
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: return np.float32
"""


def test_message():
    mean = sg.py_func(lambda x: 0.5, [1.0], sg.float32, name="mean")
    with sg.Session() as sess:
        told = message(InvalidArgumentError, lambda: sess.run(mean))
    assert told == EXPECTED
