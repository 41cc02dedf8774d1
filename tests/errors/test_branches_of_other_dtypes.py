"""The two sides of a cond differ in dtype."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import UnlikeDtypeError
from tests.errors.message import message

EXPECTED = """\
the first branch returns float32[2] where branch 2 returns int32[2]

  test_branches_of_other_dtypes.py, in chosen
    |         return sg.cond(p, lambda: sg.ones([2]), lambda: sg.zeros([2], sg.int32))
    |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  the first was made here:
  test_branches_of_other_dtypes.py, in <lambda>
    |         return sg.cond(p, lambda: sg.ones([2]), lambda: sg.zeros([2], sg.int32))
    |                                   ^^^^^^^^^^^^
  the other was made here:
  test_branches_of_other_dtypes.py, in <lambda>
    |         return sg.cond(p, lambda: sg.ones([2]), lambda: sg.zeros([2], sg.int32))
    |                                                         ^^^^^^^^^^^^^^^^^^^^^^^
  hint: convert one of them: cast(..., sg.float32)
"""


def test_message():
    p = sg.placeholder(sg.bool, [], name="p")

    def chosen():
        return sg.cond(p, lambda: sg.ones([2]), lambda: sg.zeros([2], sg.int32))

    assert message(UnlikeDtypeError, chosen) == EXPECTED
