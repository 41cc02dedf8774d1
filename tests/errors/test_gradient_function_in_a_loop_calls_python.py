"""A gradient function in the body of a loop that only Python can do."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
while/CustomGradient (CustomGradient) is in a loop or a branch: its gradient function cannot use while/CustomGradient_grad/PyFunc (PyFunc)

  test_gradient_function_in_a_loop_calls_python.py, in <lambda>
    |     y = sg.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, sine(a)), [0, x])[1]
    |                                                                ^^^^^^^
  it was made here:
  test_gradient_function_in_a_loop_calls_python.py, in <lambda>
    |     sine = sg.custom_gradient(lambda x: (sg.sin(x), lambda dy: sg.py_func(lambda v: v, [dy], sg.float32)))
    |                                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: only what computes with fixed shapes can be in it; outside of bodies there may be anything
"""


def test_message():
    x = sg.placeholder(sg.float32, [2], name="x")
    sine = sg.custom_gradient(lambda x: (sg.sin(x), lambda dy: sg.py_func(lambda v: v, [dy], sg.float32)))
    y = sg.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, sine(a)), [0, x])[1]
    grad = sg.gradients(y, x)[0]
    with sg.Session() as session:
        told = message(LookupError, lambda: session.run(grad, {x: [1, 2]}))
    assert told == EXPECTED
