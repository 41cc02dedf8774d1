"""A file holds no functions of Python."""

from pathlib import Path

import pytest

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
cannot save y (PyFunc): its func is of type function, which a file cannot hold

  test_save_of_a_python_function.py, in <lambda>
    |     told = message(OSError, lambda: sg.save("model.sg", y))
    |                                     ^^^^^^^^^^^^^^^^^^^^^^
  y was made here:
  test_save_of_a_python_function.py, in test_message
    |     y = sg.py_func(lambda v: v, [x], sg.float32, name="y")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: save outputs that do not need this operation
"""


def test_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    x = sg.placeholder(sg.float32, [], name="x")
    y = sg.py_func(lambda v: v, [x], sg.float32, name="y")
    told = message(OSError, lambda: sg.save("model.sg", y))
    assert told == EXPECTED
