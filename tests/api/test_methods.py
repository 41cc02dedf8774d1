"""The NumPy-like methods of tensors give what NumPy gives."""

import numpy as np
import pytest

import staticgraph as sg

X = np.array([[3.0, -1.5, 2.5], [0.5, 7.25, -4.0]], np.float32)
CASES = {
    "sum": ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}),
    "mean": ({}, {"axis": 1}),
    "max": ({}, {"axis": 1}),
    "min": ({}, {"axis": 0}),
    "prod": ({}, {"axis": 0}),
    "std": ({}, {"axis": 0}),
    "var": ({}, {"axis": 1, "keepdims": True}),
    "argmax": ({}, {"axis": 0}),
    "argmin": ({}, {"axis": 1}),
    "cumsum": ({}, {"axis": 1}),
    "cumprod": ({"axis": 0},),
    "argsort": ({}, {"axis": 0}),
    "clip": ({"min": -1.0, "max": 2.0},),
    "round": ({},),
    "take": ({"indices": [2, 0], "axis": 1}, {"indices": [5, 1]}),
    "trace": ({},),
    "flatten": ({},),
    "ravel": ({},),
    "copy": ({},),
    "squeeze": ({},),
}


@pytest.mark.parametrize(("name", "kwargs"), [(n, k) for n, each in CASES.items() for k in each])
def test_same_as_numpy(name: str, kwargs: dict):
    made = getattr(sg.constant(X), name)(**kwargs)
    expected = getattr(X, name)(**kwargs)
    with sg.Session() as sess:
        np.testing.assert_allclose(sess.run(made), expected, rtol=1e-6)


def test_with_arguments_of_their_own():
    x, vector = sg.constant(X), np.float32([1, 2, 3])
    made = [x.dot(vector), x.dot(X.T), sg.constant(vector).dot(vector), x.astype("int32"), x.T]
    made += [x.reshape([3, 2]), x.transpose(), x.swapaxes(0, 1), x.sort()]
    expected = [X.dot(vector), X.dot(X.T), vector.dot(vector), X.astype("int32"), X.T]
    expected += [X.reshape(3, 2), X.transpose(), X.swapaxes(0, 1), np.sort(X)]
    with sg.Session() as sess:
        for ours, numpys in zip(sess.run(made), expected, strict=True):
            np.testing.assert_allclose(ours, numpys, rtol=1e-6)


def test_variables_have_them_too():
    assert sg.Variable(X).sum(axis=0).shape == [3]


def test_unknown_attributes_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        sg.constant(X).frobnicate
