"""Fetches, and the values that come back."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import (
    FeedError,
    FetchError,
)
from tests.sessions import initialized

Pair = namedtuple("Pair", "left right")


def test_structures_of_fetches(sess):
    x = sg.constant(1.0, name="x")
    y = x + 1.0
    assert sess.run(x) == 1
    assert sess.run([x, (y, [x])]) == [1, (2, [1])]
    assert sess.run({"a": x, "b": {"c": [y]}}) == {"a": 1, "b": {"c": [2]}}
    made = sess.run(Pair(x, [y]))
    assert isinstance(made, Pair)
    assert made == Pair(1, [2])
    ordered = sess.run(OrderedDict([("z", x), ("a", y)]))
    assert isinstance(ordered, OrderedDict)
    assert list(ordered.items()) == [("z", 1), ("a", 2)]
    assert sess.run([]) == []
    assert sess.run({}) == {}
    assert sess.run(()) == ()


def test_names_variables_and_operations(sess):
    x = sg.constant(1.0, name="x")
    w = sg.Variable(5.0, name="w")
    initialized(sess)
    assert sess.run("x:0") == 1
    assert sess.run("x") is None
    assert sess.run(x.op) is None
    assert sess.run([w, x.op, "w:0"]) == [5, None, 5]


def test_one_tensor_several_times(sess):
    x = sg.constant([1.0, 2.0])
    first, second, [third] = sess.run([x, x * 1.0, [x]])
    np.testing.assert_array_equal([first, second, third], [[1, 2]] * 3)


@pytest.mark.parametrize(
    "wrong", [None, 3.0, [None], np.zeros(2), pytest.param(object(), id="object")], ids=repr
)
def test_what_cannot_be_fetched(wrong, sess):
    sg.constant(1.0)
    with pytest.raises(FetchError, match="cannot fetch"):
        sess.run(wrong)


def test_fetch_of_another_graph(sess):
    sg.constant(1.0)
    with sg.Graph().as_default():
        other = sg.constant(1.0)
    with pytest.raises(FetchError, match="is not an element of this graph"):
        sess.run(other)
    with pytest.raises(FeedError, match="is not an element of this graph"):
        sess.run(sg.constant(1.0), {other: 1.0})


def test_scalars_are_numpy_scalars(sess):
    for value, kind in ((1.5, np.float32), (np.float64(2), np.float64), (3, np.int32), (True, np.bool_)):
        made = sess.run(sg.constant(value))
        assert type(made) is kind
        assert made == value


def test_fetched_arrays_belong_to_the_caller(sess):
    """No later run changes them, and changing them changes nothing here."""
    w = sg.Variable([1.0, 2.0])
    raised = w.assign_add([1.0, 1.0])
    initialized(sess)
    first = sess.run(w)
    second = sess.run(raised)
    third = sess.run(raised)
    np.testing.assert_array_equal([first, second, third], [[1, 2], [2, 3], [3, 4]])
    third[:] = 100
    np.testing.assert_array_equal(sess.run(w), [3, 4])


def test_a_fed_array_is_not_given_back_itself(sess):
    x = sg.placeholder(sg.float32, [2])
    fed = np.array([1, 2], np.float32)
    got = sess.run(x, {x: fed})
    got[:] = 9
    np.testing.assert_array_equal(fed, [1, 2])


def test_fetches_nested_without_end_are_refused():
    """A list that holds itself, one of a thousand levels, and a deep feed: none shows our own lines."""
    x = sg.placeholder(sg.float32, None)
    ring, mapping, deep = [x], {"x": x}, x
    ring.append(ring)
    mapping["itself"] = mapping
    value = 1.0
    for _ in range(1000):
        deep, value = [deep], [value]
    with sg.Session() as session:
        for fetches in (ring, mapping, deep):
            for _ in range(2):
                with pytest.raises(sg.errors.InvalidArgumentError, match="nested too deeply"):
                    session.run(fetches, {x: 1.0})
        with pytest.raises(sg.errors.InvalidArgumentError, match="the value fed to Placeholder:0"):
            session.run(x + 1.0, {x: value})
