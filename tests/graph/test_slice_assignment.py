"""Assignments to slices of variables. The numbers are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import staticgraph as sg

# An assignment, and the places of the elements that it changes.
CASES = {
    "a row": (lambda v, i: v[2].assign(np.ones((3, 2))), [12, 13, 14, 15, 16, 17]),
    "a box": (lambda v, i: v[1:3, 0].assign([[7.0, 8.0], [9.0, 10.0]]), [6, 7, 12, 13]),
    "the last axis": (lambda v, i: v[..., 1].assign(np.zeros((4, 3))), range(1, 24, 2)),
    "steps": (lambda v, i: v[::2, :, None, 0].assign(np.full((2, 3, 1), 5.0)), [0, 2, 4, 12, 14, 16]),
    "a fed index": (lambda v, i: v[i, 1].assign([-3.0, -4.0]), [20, 21]),
    "an element": (lambda v, i: v[-1, -1, -1].assign(99.0), [23]),
    "from a fed index on": (lambda v, i: v[i:].assign(np.zeros((1, 3, 2))), range(18, 24)),
}


@pytest.mark.parametrize("name", CASES)
def test_only_the_elements_of_the_slice_change(name):
    change, places = CASES[name]
    start = np.arange(24.0, dtype="f").reshape(4, 3, 2) - 0.5
    with sg.Graph().as_default():
        v, i = sg.Variable(start), sg.placeholder(sg.int32, [])
        made = change(v, i)
        with sg.Session() as session:
            session.run(v.initializer)
            found = session.run(made, {i: 3})
            np.testing.assert_array_equal(session.run(v), found)
    assert np.flatnonzero(found != start).tolist() == list(places)


def test_a_slice_is_a_tensor_with_the_value_before_the_assignment():
    with sg.Graph().as_default():
        v = sg.Variable([[1.0, 2.0], [3.0, 4.0]])
        column = v[:, 0] * 1.0
        change = v[:, 1].assign(v[:, 0] * 2.0)
        assert isinstance(v[0], sg.Tensor) and v[0].shape.as_list() == [2]
        assert not hasattr(column, "assign")
        with sg.Session() as session:
            session.run(v.initializer)
            assert session.run([column, change])[1].tolist() == [[1.0, 2.0], [3.0, 6.0]]


def test_a_value_of_another_shape_is_an_error():
    with sg.Graph().as_default():
        v = sg.Variable(np.zeros((2, 3), "f"), name="v")
        with pytest.raises(sg.errors.ShapeError, match=r"has shape \(3,\), and the value \(1,\)"):
            v[0].assign([1.0])
