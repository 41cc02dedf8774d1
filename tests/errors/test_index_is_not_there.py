"""Numbers that an op cannot take, found when a graph runs."""

import numpy as np

import staticgraph as sg
from tests.errors.message import message

GATHER = """\
gather: indices[2] = 7 is not in [0, 5)

  test_index_is_not_there.py, in test_message_of_an_index
    |     rows = sg.gather(table, ids)
    |            ^^^^^^^^^^^^^^^^^^^^^
  hint: look at the data: clip_by_value(x, low, high) keeps numbers in range
"""
LABEL = """\
sparse_softmax_cross_entropy: labels[1] = -1 is not in [0, 3)

  test_index_is_not_there.py, in test_message_of_a_label
    |     loss = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=sg.zeros([2, 3]))
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: look at the data: clip_by_value(x, low, high) keeps numbers in range
"""
COORDINATES = """\
scatter_nd: indices[0] = [4, 1] does not index into shape [4, 2]

  test_index_is_not_there.py, in test_message_of_coordinates
    |     made = sg.scatter_nd(places, [1.0], [4, 2])
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: look at the data: clip_by_value(x, low, high) keeps numbers in range
"""
LOOP = """\
gather: indices = 3 is not in [0, 3), in iteration 4 of the loop

  test_index_is_not_there.py, in <lambda>
    |     body = lambda i, y: (i + 1, y + sg.gather(x, i))  # noqa: E731
    |                                     ^^^^^^^^^^^^^^^
  the loop was made here:
  test_index_is_not_there.py, in test_message_of_a_loop
    |     _, y = sg.while_loop(lambda i, y: i < n, body, [0, 0.0])
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: look at the data: clip_by_value(x, low, high) keeps numbers in range
"""
DIVISOR = """\
floor_div: y[1] = 0, and integers cannot be divided by zero

  test_index_is_not_there.py, in test_message_of_a_divisor
    |     each = x // 2 + 7 // x
    |                     ^^^^^^
  hint: where(y != 0, y, 1) gives another divisor in its place
"""
PERMUTATION = """\
invert_permutation: x[2] = 0 is a duplicate: a permutation has each number once

  test_index_is_not_there.py, in test_message_of_a_permutation
    |     back = sg.invert_permutation(order)
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: argsort gives the inverse of what is not known to be a permutation
"""
FLAT = """\
unravel_index: indices[1] = 12 is not in [0, 12)

  test_index_is_not_there.py, in test_message_of_a_flat_index
    |     rows = sg.unravel_index(places, [3, 4])
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: look at the data: clip_by_value(x, low, high) keeps numbers in range
"""


def told(fetch, feeds):
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        return message(sg.errors.InvalidArgumentError, lambda: sess.run(fetch, feeds))


def test_message_of_an_index():
    table = sg.Variable(np.zeros((5, 2)))
    ids = sg.placeholder(sg.int32, [None])
    rows = sg.gather(table, ids)
    assert told(rows, {ids: [3, 0, 7]}) == GATHER


def test_message_of_a_label():
    labels = sg.placeholder(sg.int32, [2])
    loss = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=sg.zeros([2, 3]))
    assert told(loss, {labels: [2, -1]}) == LABEL


def test_message_of_coordinates():
    places = sg.placeholder(sg.int32, [1, 2])
    made = sg.scatter_nd(places, [1.0], [4, 2])
    assert told(made, {places: [[4, 1]]}) == COORDINATES


def test_message_of_a_loop():
    x, n = sg.placeholder(sg.float32, [3]), sg.placeholder(sg.int32, [])
    body = lambda i, y: (i + 1, y + sg.gather(x, i))  # noqa: E731
    _, y = sg.while_loop(lambda i, y: i < n, body, [0, 0.0])
    assert told(y, {x: [1, 2, 3], n: 9}) == LOOP


def test_message_of_a_divisor():
    x = sg.placeholder(sg.int32, [2])
    each = x // 2 + 7 // x
    assert told(each, {x: [1, 0]}) == DIVISOR


def test_message_of_a_permutation():
    order = sg.placeholder(sg.int32, [3])
    back = sg.invert_permutation(order)
    assert told(back, {order: [0, 1, 0]}) == PERMUTATION


def test_message_of_a_flat_index():
    places = sg.placeholder(sg.int32, [2])
    rows = sg.unravel_index(places, [3, 4])
    assert told(rows, {places: [0, 12]}) == FLAT


def test_limits_between_which_no_whole_number_lies():
    """TensorFlow 1.15 refuses these, too."""
    low, high = sg.placeholder(sg.int32, []), sg.placeholder(sg.int32, [])
    drawn = sg.random.stateless_uniform([3], [1, 2], low, high, sg.int32)
    for limits in ((5, 5), (5, 2)):
        text = told(drawn, {low: limits[0], high: limits[1]})
        assert text.startswith(
            f"stateless_random_uniform_int: minval = 5 is not below the limit {limits[1]}\n"
        )
