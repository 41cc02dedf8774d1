"""A run with a new shape, in a session that may not compile."""

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import NoCompileError
from tests.errors.message import message

EXPECTED = """\
this session may not compile, and total would have to be: x is float32[3], was float32[2]

  test_session_that_may_not_compile.py, in <lambda>
    |         told = message(NoCompileError, lambda: sess.run(total, {x: np.ones(3)}))
    |                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: run it so once before you set no_compile, or feed what it was compiled for
"""


def test_message():
    x = sg.placeholder(sg.float32, [None], name="x")
    total = sg.reduce_sum(x, name="total")
    with sg.Session(open_sizes=False) as sess:
        sess.run(total, {x: np.ones(2)})
        sess.no_compile = True
        told = message(NoCompileError, lambda: sess.run(total, {x: np.ones(3)}))
    assert told == EXPECTED
