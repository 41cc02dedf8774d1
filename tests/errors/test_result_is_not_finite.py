"""NaN that a run makes, in a session that looks for it."""

import numpy as np

import staticgraph as sg
from tests.errors.message import message

LOGARITHM = """\
log(x: float32[4, 3]):
the result is NaN in 2 and Inf in 1 of 12 elements, the first at [1, 2], where x is -0.5

  test_result_is_not_finite.py, in test_message_of_an_op
    |     y = sg.log(x)
    |         ^^^^^^^^^
  hint: its argument must be above 0: add a small number, or use a loss that takes logits
"""
DERIVATIVE = """\
realdiv(x: float32[2], y: float32[2]):
a part of root, or of its derivative, is Inf in 1 of 2 elements, the first at [1], where x is 0.5
and y is 0

  test_result_is_not_finite.py, in test_message_of_a_derivative
    |     (slope,) = sg.gradients(sg.sqrt(x, name="root"), x)
    |                             ^^^^^^^^^^^^^^^^^^^^^^^
  hint: its argument must not be below 0, and its derivative at 0 is infinite: add a small number
"""
LOOP = """\
sqrt(x: float32[]): in round 3 of its loop, the result is NaN, where x is -0.5

  test_result_is_not_finite.py, in <lambda>
    |     _, y = sg.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, sg.sqrt(y - 1.5)), [0, x])
    |                                                                   ^^^^^^^^^^^^^^^^
  the loop was made here:
  test_result_is_not_finite.py, in test_message_of_a_loop
    |     _, y = sg.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, sg.sqrt(y - 1.5)), [0, x])
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: its argument must not be below 0, and its derivative at 0 is infinite: add a small number
"""
FEED = """\
the feed x (float32[3]) is NaN in 1 of 3 elements, the first at [1]

  test_result_is_not_finite.py, in test_message_of_a_feed
    |     x = sg.placeholder(sg.float32, [3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: look at the data: np.isfinite tells which elements are good
"""
VARIABLE = """\
the variable w (float32[2]) is Inf in 2 of 2 elements, the first at [0]

  test_result_is_not_finite.py, in test_message_of_a_variable
    |     w = sg.Variable([np.inf, -np.inf], name="w")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: restore a checkpoint from before, or run its initializer
"""
CONSTANT = """\
a constant (float32[]) is NaN

  test_result_is_not_finite.py, in test_message_of_a_constant
    |     y = x * sg.constant(np.nan)
    |             ^^^^^^^^^^^^^^^^^^^
  hint: it was so when the graph was made
"""
OVERFLOW = """\
matmul(a: float32[1, 2], b: float32[2, 1]):
the result is Inf, where a is between 0 and 1e+30 and b is between 1 and 1e+30

  test_result_is_not_finite.py, in test_message_of_an_overflow
    |     z = sg.matmul(x, y)
    |         ^^^^^^^^^^^^^^^
  hint: float32 ends at 3.4e+38: smaller steps, or clip_by_global_norm, may help
"""
PYTHON = """\
what Python gives as PyFunc (float32[1]) is NaN

  test_result_is_not_finite.py, in test_message_of_a_function_in_python
    |     (y,) = sg.py_func(lambda: np.float32([np.nan]), [], [sg.float32])
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: look at what the function is given
"""


def told(fetches, feeds=None):
    with sg.Session(check_nan=True) as sess:
        sess.run(sg.global_variables_initializer())
        return message(sg.errors.InvalidArgumentError, lambda: sess.run(fetches, feeds))


def test_message_of_an_op():
    x = sg.placeholder(sg.float32, [4, 3])
    y = sg.log(x)
    bad = np.ones((4, 3))
    bad[1, 2], bad[3, 0], bad[3, 1] = -0.5, -2, 0
    assert told(sg.reduce_mean(y), {x: bad}) == LOGARITHM


def test_message_of_a_derivative():
    x = sg.placeholder(sg.float32, [2])
    (slope,) = sg.gradients(sg.sqrt(x, name="root"), x)
    assert told(slope, {x: [1, 0]}) == DERIVATIVE


def test_message_of_a_loop():
    x = sg.placeholder(sg.float32, [])
    _, y = sg.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, sg.sqrt(y - 1.5)), [0, x])
    assert told(y, {x: 7.75}) == LOOP


def test_message_of_a_feed():
    x = sg.placeholder(sg.float32, [3], name="x")
    assert told(x * 2, {x: [1, np.nan, 2]}) == FEED


def test_message_of_a_variable():
    w = sg.Variable([np.inf, -np.inf], name="w")
    assert told(w * 2) == VARIABLE


def test_message_of_a_constant():
    x = sg.placeholder(sg.float32, [])
    y = x * sg.constant(np.nan)
    assert told(y, {x: 1}) == CONSTANT


def test_message_of_an_overflow():
    x, y = sg.placeholder(sg.float32, [1, 2]), sg.placeholder(sg.float32, [2, 1])
    z = sg.matmul(x, y)
    assert told(z, {x: [[0, 1e30]], y: [[1], [1e30]]}) == OVERFLOW


def test_message_of_a_function_in_python():
    (y,) = sg.py_func(lambda: np.float32([np.nan]), [], [sg.float32])
    y.set_shape([1])
    assert told(y * 2) == PYTHON
