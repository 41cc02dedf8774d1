"""Two results where one was declared."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
PyFunc (PyFunc): the function returns 2 values, Tout has 1

  test_python_function_of_other_results.py, in test_message
    |     both = sg.py_func(lambda: (1.0, 2.0), [], sg.float32)
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: a function that returns nothing has Tout=[]
"""


def test_message():
    both = sg.py_func(lambda: (1.0, 2.0), [], sg.float32)
    with sg.Session() as sess:
        told = message(sg.errors.InvalidArgumentError, lambda: sess.run(both))
    assert told == EXPECTED
