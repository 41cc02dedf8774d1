"""Updates of variables: repeated rows, rows that do not exist, shapes that do not fit."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from tests.ops.meaning import meaning

OLD = np.float32([[1, 1], [2, 2], [3, 3]])


@pytest.mark.parametrize(
    ("op", "wanted"),
    [
        (ops.scatter_update, [[1, 1], [7, 7], [3, 3]]),
        (ops.scatter_add, [[1, 1], [14, 14], [3, 3]]),
        (ops.scatter_sub, [[1, 1], [-10, -10], [3, 3]]),
        (ops.scatter_mul, [[1, 1], [70, 70], [3, 3]]),
        (ops.scatter_max, [[1, 1], [7, 7], [3, 3]]),
        (ops.scatter_min, [[1, 1], [2, 2], [3, 3]]),
    ],
)
def test_updates_of_one_row_follow_each_other(op, wanted):
    updates = np.float32([[5, 5], [7, 7]])
    assert meaning(op, OLD, np.int32([1, 1]), updates).tolist() == wanted


def test_rows_that_do_not_exist_are_left_out():
    made = meaning(ops.scatter_add, OLD, np.int32([3, -1, 0]), np.ones((3, 2), np.float32))
    assert made.tolist() == [[2, 2], [2, 2], [3, 3]]


def test_assigned_value_must_fit_unless_told_otherwise():
    v = sg.Variable([1.0, 2.0])
    with pytest.raises(sg.errors.ShapeError, match="new value"):
        sg.assign(v, [1.0, 2.0, 3.0])
    assert sg.assign(v, [1.0, 2.0, 3.0], validate_shape=False).shape.as_list() == [3]


def test_updates_need_the_shape_of_rows():
    v = sg.Variable(OLD)
    with pytest.raises(sg.errors.ShapeError, match="updates has shape"):
        sg.scatter_add(v, [0, 1], [1.0, 2.0])
