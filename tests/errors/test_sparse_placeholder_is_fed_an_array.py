"""A dense array for a sparse tensor."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
a SparseTensor cannot be fed [[0, 0], [1, 1]]

  test_sparse_placeholder_is_fed_an_array.py, in <lambda>
    |         told = message(TypeError, lambda: sess.run(sg.sparse_tensor_to_dense(x), {x: [[0, 0], [1, 1]]}))
    |                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: feed a SparseTensorValue, or (indices, values, dense_shape)
"""


def test_message():
    x = sg.sparse_placeholder(sg.float32, [2, 2], name="x")
    with sg.Session() as sess:
        told = message(TypeError, lambda: sess.run(sg.sparse_tensor_to_dense(x), {x: [[0, 0], [1, 1]]}))
    assert told == EXPECTED
