"""A derivative through an op whose gradient is not known, when gradients are taken and when they are compiled."""

import pytest

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
gradients(): Lu (Lu) has no gradient, and x:0 is differentiated through it

  test_derivative_through_an_op_without_gradient.py, in <lambda>
    |     assert message(LookupError, lambda: sg.gradients(y, x)) == EXPECTED
    |                                         ^^^^^^^^^^^^^^^^^^
  Lu was made here:
  test_derivative_through_an_op_without_gradient.py, in test_message
    |     y = sg.reduce_sum(sg.linalg.lu(x)[0]) + sg.reduce_sum(x)
    |                       ^^^^^^^^^^^^^^^
  hint: stop_gradient() of its result takes it as a constant; or give it a gradient: custom_gradient
"""
EXPECTED_IN_A_RUN = """\
igamma_grad_a (IgammaGradA) has no gradient, and a derivative goes through it

  test_derivative_through_an_op_without_gradient.py, in test_message_of_a_second_derivative
    |     second = sg.gradients(sg.gradients(sg.igamma(a, 2.0), a)[0], a)[0]
    |                                        ^^^^^^^^^^^^^^^^^
  hint: stop_gradient() takes the result of the op as a constant
"""


def test_message():
    x = sg.placeholder(sg.float64, [2, 2], name="x")
    y = sg.reduce_sum(sg.linalg.lu(x)[0]) + sg.reduce_sum(x)
    assert message(LookupError, lambda: sg.gradients(y, x)) == EXPECTED


@pytest.mark.compiled  # the compiler finds it before anything runs
def test_message_of_a_second_derivative():
    a = sg.placeholder(sg.float64, [], name="a")
    second = sg.gradients(sg.gradients(sg.igamma(a, 2.0), a)[0], a)[0]
    with sg.Session() as session:
        assert message(LookupError, lambda: session.run(second, {a: 1.5})) == EXPECTED_IN_A_RUN
