"""Machine code is asked for without saying for which processor."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
kernels=True: a list of processors is expected

  test_save_kernels_for_true.py, in <lambda>
    |     told = message(TypeError, lambda: sg.save(tmp_path / "net.sg", x + 1.0, kernels=True))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: kernels=["native"] is for this one
"""


def test_message(tmp_path):
    x = sg.placeholder(sg.float32, [2], name="x")
    told = message(TypeError, lambda: sg.save(tmp_path / "net.sg", x + 1.0, kernels=True))
    assert told == EXPECTED
