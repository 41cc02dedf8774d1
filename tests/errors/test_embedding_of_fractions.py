"""Indices that are no integers."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
gather(params: float32[5, 2], indices: float32[?]): indices is float32, and must be int32 or int64

  test_embedding_of_fractions.py, in <lambda>
    |     told = message(TypeError, lambda: sg.nn.embedding_lookup(table, ids))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  params was made here:
  test_embedding_of_fractions.py, in test_message
    |     table = sg.zeros([5, 2], name="table")
    |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  indices was made here:
  test_embedding_of_fractions.py, in test_message
    |     ids = sg.placeholder(sg.float32, [None], name="ids")
    |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: convert it: cast(indices, sg.int32)
"""


def test_message():
    table = sg.zeros([5, 2], name="table")
    ids = sg.placeholder(sg.float32, [None], name="ids")
    told = message(TypeError, lambda: sg.nn.embedding_lookup(table, ids))
    assert told == EXPECTED
