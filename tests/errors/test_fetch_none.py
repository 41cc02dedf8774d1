"""A gradient that does not exist among the fetches."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FetchError
from tests.errors.message import message

EXPECTED = """\
cannot fetch None: None of type NoneType is not a Tensor or Operation

  test_fetch_none.py, in <lambda>
    |         told = message(FetchError, lambda: sess.run(sg.gradients(x, [y]), {x: 1.0}))
    |                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: a None among the fetches is often a gradient that does not exist: why_no_gradient(y, x)
"""


def test_message():
    x = sg.placeholder(sg.float32, [], name="x")
    y = sg.placeholder(sg.float32, [], name="y")
    with sg.Session() as sess:
        told = message(FetchError, lambda: sess.run(sg.gradients(x, [y]), {x: 1.0}))
    assert told == EXPECTED
