"""Mistakes that newcomers make, and what the message must say about them."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import OpError


def inputs():
    return sg.placeholder(sg.float32, [None, 4], name="x")


def unrelated():
    return sg.cast(sg.argmax(inputs(), 1), sg.float32)


def swapped():
    logits, labels = sg.layers.dense(inputs(), 3), sg.placeholder(sg.int32, [None])
    return sg.nn.sparse_softmax_cross_entropy_with_logits(labels=logits, logits=labels)


def step(rate):
    return sg.train.AdamOptimizer(rate).minimize(sg.reduce_sum(sg.layers.dense(inputs(), 1)))


def fetched_none():
    return sg.Session().run(sg.gradients(unrelated(), sg.Variable(1.0)))


def applied_none():
    return sg.train.AdamOptimizer(0.1).apply_gradients([(None, sg.Variable(1.0))])


MISTAKES = {
    "a misspelled argument": (
        lambda: sg.layers.dense(sg.zeros([2, 3]), 3, activatoin=None),
        "dense(): got an unexpected keyword argument 'activatoin'",
        "nearest: activation",
    ),
    "an axis as text": (
        lambda: sg.reduce_sum(sg.zeros([2, 3]), axis="0"),
        "axis b'0' is no integer",
        "counted",
    ),
    "an order as text": (lambda: sg.transpose(sg.zeros([2, 3]), "10"), "perm is b'10'", "whole numbers"),
    "softmax along text": (
        lambda: sg.nn.softmax(sg.zeros([2, 3]), axis="1"),
        "axis is '1'",
        "a whole number",
    ),
    "an axis of a shape": (lambda: inputs().shape[5], "the shape (?, 4) has no axis 5", "there are 2"),
    "torch's view": (lambda: inputs().view(-1), "no attribute 'view'", "reshape(x, shape)"),
    "a seed as text": (lambda: sg.random_uniform([2], seed="a"), "seed is 'a'", "a whole number"),
    "a graph's seed as text": (lambda: sg.set_random_seed("a"), "seed is 'a'", "a whole number"),
    "numbers and text": (lambda: sg.zeros([2, "x"]), "2 is not a string", "all are numbers"),
    "a number for a graph": (lambda: sg.Session(graph=3), "graph is 3", "must be a Graph"),
    "a picture of nothing": (lambda: sg.visualize([]), "nothing to draw", "pass tensors"),
    "watching without a name": (lambda: sg.watch(3), "watch is given 3 without a name", "watch(loss=value)"),
    "a matrix for an LSTM": (lambda: sg.keras.layers.LSTM(3)(sg.zeros([2, 3])), "has 2 axes", "must have 3"),
    "a function of NumPy": (lambda: np.sqrt(inputs()), "np.sqrt needs the value", "this library is sqrt"),
    "one of another name": (lambda: np.arctan2(1.0, inputs()), "np.arctan2", "this library is atan2"),
    "in place": (lambda: np.ones((1, 4), np.float32).__iadd__(inputs()), "np.add", "is add"),
    "units as text": (lambda: sg.layers.dense(inputs(), "a"), "units is 'a'", "a whole number"),
    "units below 0": (lambda: sg.layers.dense(inputs(), -1), "units is -1", "a whole number"),
    "units of keras": (lambda: sg.keras.layers.Dense(2.5), "units is 2.5", "a whole number"),
    "units of a cell": (lambda: sg.keras.layers.LSTM(-3), "units is -3", "a whole number"),
    "filters": (
        lambda: sg.layers.conv2d(sg.zeros([1, 8, 8, 1]), None, 3),
        "filters is None",
        "a whole number",
    ),
    "a window": (lambda: sg.layers.conv2d(sg.zeros([1, 8, 8, 1]), 2, "3"), "kernel_size is '3'", "a whole"),
    "a rate as text": (lambda: step("0.1"), "learning_rate is '0.1'", "must be a number"),
    "labels for logits": (swapped, "labels are float32[?, 3], and logits int32[?]", "swapped"),
    "assigning to a sum": (
        lambda: (sg.Variable(1.0) + 1).assign(2.0),
        "no attribute 'assign'",
        "another name",
    ),
    "a value of a tensor": (lambda: inputs().numpy(), "no attribute 'numpy'", "Session.run"),
    "a size for a shape": (lambda: sg.random_normal(4, 5), "shape is 4, and must be a list", "write [4]"),
    "a size for a new shape": (lambda: sg.reshape([1.0, 2.0], 2), "shape is 2, and must be", "write [2]"),
    "shape before dtype": (
        lambda: sg.placeholder([None, 3], sg.float32),
        "dtype [None, 3]",
        "(dtype, shape)",
    ),
    "a gradient that is None": (fetched_none, "cannot fetch None", "why_no_gradient"),
    "updates without gradients": (applied_none, "No gradients provided", "why_no_gradient"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_the_message_names_the_mistake_the_line_and_the_cure(case):
    call, wrong, cure = MISTAKES[case]
    with pytest.raises((TypeError, ValueError, AttributeError, IndexError, OpError)) as caught:
        call()
    text = " ".join(str(caught.value).split())
    assert wrong in text and cure in text
    assert "test_usual_mistakes.py:" in text


def test_a_method_is_called_by_its_name_in_complaints_of_python():
    with pytest.raises(TypeError, match=r"^sum\(\) got an unexpected keyword argument 'dim'"):
        inputs().sum(dim=1)


def test_arrays_and_numbers_before_an_operator():
    array = np.array([1.0, 4.0], np.float32)
    x = sg.constant(array)
    made = [array + x, array - x, array * x, array / x, array**x, np.float32(2) * x, np.float64(2) - x]
    compared = [array < x, array >= x, np.float32(2) < x]
    whole = sg.constant([5, 7])
    made += [array[None] @ x[:, None], np.int32(17) // whole, np.array([9, 9], np.int32) % whole]
    made += [np.array([1, 2], np.int32) << whole, np.array([True, False]) & (whole > 5)]
    expected = [array * 2, array * 0, array * array, array / array, array**array, 2 * array, 2 - array]
    expected += [[[17.0]], [3, 2], [4, 2], [32, 256], [False, False]]
    with sg.Session() as session:
        for found, wanted in zip(session.run(made), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
        for found, wanted in zip(
            session.run(compared), ([False] * 2, [True] * 2, [False, True]), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)
    assert (array == x) is False and (array != x) is True
