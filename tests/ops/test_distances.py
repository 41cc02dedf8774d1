"""The distance of sequences."""

import pytest

import staticgraph as sg
from staticgraph.compiler.ops.text.distances import levenshtein


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [("", "", 0), ("abc", "", 3), ("flaw", "lawn", 2), ("intention", "execution", 5), ("ab", "ba", 2)],
)
def test_distance(a, b, distance):
    assert levenshtein(a, b) == levenshtein(b, a) == distance


def test_a_sequence_outside_of_the_shape_is_an_error_of_the_run():
    inside = sg.SparseTensor([[0, 0]], [1], [2, 2])
    with sg.Session() as sess, pytest.raises(sg.errors.InvalidArgumentError, match=r"hypothesis is at \[3\]"):
        sess.run(sg.edit_distance(sg.SparseTensor([[3, 0]], [1], [2, 2]), inside))
