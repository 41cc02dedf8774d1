"""A function of the user's fails in a run; its own traceback is the cause."""

import pytest

import staticgraph as sg
from tests.errors.message import tidy

EXPECTED = """\
loss (PyFunc): ZeroDivisionError: division by zero

  test_python_function_raises.py, in test_message
    |     loss = sg.py_func(lambda x: 1 / 0, [1.0], sg.float32, name="loss")
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""


def test_message():
    loss = sg.py_func(lambda x: 1 / 0, [1.0], sg.float32, name="loss")
    with sg.Session() as sess, pytest.raises(sg.errors.UnknownError) as caught:
        sess.run(loss * 2)
    assert tidy(str(caught.value), cure=False) == EXPECTED
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.__cause__.__cause__ is None
