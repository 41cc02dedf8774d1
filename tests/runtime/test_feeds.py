"""Feeds that are taken, and feeds that are refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import (
    FeedError,
)
from tests.sessions import initialized


def test_anything_may_be_fed(sess):
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    h = sg.exp(x)
    w = sg.Variable([1.0, 1.0], name="w")
    y = h + w
    initialized(sess)
    np.testing.assert_array_equal(sess.run(y, {h: [[1, 2]]}), [[2, 3]])
    np.testing.assert_array_equal(sess.run(y, {h: [[1, 2]], w: [5, 5]}), [[6, 7]])
    np.testing.assert_array_equal(sess.run(y, {"x:0": [[0, 0]]}), [[2, 2]])
    np.testing.assert_array_equal(sess.run(y, {y: [[7, 7]]}), [[7, 7]])
    np.testing.assert_array_equal(sess.run(w), [1, 1])


@pytest.mark.parametrize(
    "value",
    [
        [[1, 2], [3, 4], [5, 6]],
        np.arange(6).reshape(3, 2),
        np.arange(6.0).reshape(2, 3).T,
        np.arange(13, dtype=np.float32)[1:].reshape(6, 2)[::2],
        np.arange(6, dtype=">f4").reshape(3, 2),
        np.asfortranarray(np.arange(6, dtype=np.float32).reshape(3, 2)),
        np.frombuffer(b"x" + np.arange(6, dtype=np.float32).tobytes(), np.uint8)[1:]
        .view(np.float32)
        .reshape(3, 2),
    ],
    ids=["list", "int64", "float64 transposed", "float32 strided", "big endian", "column order", "unaligned"],
)
def test_arrays_of_any_layout(value, sess):
    x = sg.placeholder(sg.float32, [None, 2])
    np.testing.assert_array_equal(sess.run(x * 2.0, {x: value}), np.asarray(value, np.float32) * 2)


@pytest.mark.parametrize("size", [0, 1, 3, 15, 16, 17, 1000])
def test_every_size(size: int, sess):
    x = sg.placeholder(sg.float32, [None])
    value = np.arange(size + 1, dtype=np.float32)[1:]
    np.testing.assert_array_equal(sess.run(x * 2.0 + 1.0, {x: value}), value * 2 + 1)
    assert sess.run(sg.reduce_sum(x), {x: value}) == value.sum()


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        ("int32", [1.5], r"\(int32\[\?\]\) is float64"),
        ("int32", [np.nan], r"\(int32\[\?\]\) is float64"),
        ("int32", [2**40], "has values outside of what int32 can hold"),
        ("uint8", [-1], "has values outside of what uint8 can hold"),
        ("int32", np.array([2.0**31], np.float32), "has values outside of what int32 can hold"),
        ("int64", np.array([2.0**63], np.float32), "has values outside of what int64 can hold"),
        ("float32", [1j], "is complex128"),
        ("bool", [2], "is int64"),
        ("bool", [1.0], "is float64"),
        ("float32", ["a"], "is <U1"),
        ("float32", [[1, 2], [3]], "its rows differ in length"),
        ("float32", [object()], "is not an array of numbers"),
        ("float32", [1.0, None], "a missing number is np.nan"),
        ("float32", [10**400], "is not an array of numbers"),
        ("float32", np.array([1.0, "2"], object), "is not an array of numbers"),
        ("int32", np.array([1.5], object), "drops the fractions"),
        ("int32", np.array([2**70], object), "has values outside of what int32 can hold"),
        ("float32", [[1.0]], r"\(float32\[\?\]\) has shape \[1, 1\]"),
        ("float32", 1.0, r"\(float32\[\?\]\) has shape \[\]"),
    ],
)
def test_what_cannot_be_fed(dtype: str, value, message: str, sess):
    p = sg.placeholder(dtype, [None], name="p")
    with pytest.raises(FeedError, match=message) as caught:
        sess.run(p, {p: value})
    assert caught.value.op is p.op


def test_zeros_and_ones_are_truth_values(sess):
    p = sg.placeholder(sg.bool, [None])
    assert sess.run(sg.logical_not(p), {p: [1, 0]}).tolist() == [False, True]
    single = sg.placeholder_with_default(False, [])
    assert sess.run(sg.logical_not(single), {single: 1}) == np.False_


def test_whole_floats_are_integers(sess):
    p = sg.placeholder(sg.int32, [None])
    np.testing.assert_array_equal(sess.run(p, {p: [1.0, 2.0]}), [1, 2])


@pytest.mark.parametrize(
    "value",
    [
        np.array([1, 2.5, np.float32(3), True], object),
        [Decimal(1), Decimal("2.5"), Fraction(3), 1],
        np.array([[1, "a"], [2.5, "b"], [3, "c"], [1, "d"]], object)[:, 0],
    ],
    ids=["table", "decimals", "column"],
)
def test_numbers_among_objects(value, sess):
    """`DataFrame.values` is an array of objects if columns differ in dtype. TensorFlow 1 takes it, too."""
    p = sg.placeholder(sg.float32, [None])
    np.testing.assert_array_equal(sess.run(p * 2.0, {p: value}), np.float32([2, 5, 6, 2]))


def test_an_integer_of_many_digits_is_fed_to_a_float(sess):
    p = sg.placeholder(sg.float32, [])
    assert sess.run(p, {p: 2**70}) == 2.0**70


@pytest.mark.parametrize("value", [-(2**63) - 1, [0, -(2**63) - 1], [2**64, 1]])
def test_an_integer_of_more_than_64_bits_is_not_rounded_to_one_that_fits(value, sess):
    p = sg.placeholder(sg.int64)
    with pytest.raises(FeedError, match="outside of what int64 can hold"):
        sess.run(p, {p: value})


def test_arrays_among_objects_are_told(sess):
    column = np.empty(2, object)
    column[:] = [np.ones(3), np.zeros(3)]
    p = sg.placeholder(sg.float32, [None, 3])
    with pytest.raises(FeedError, match=r"np.stack\(value\) makes one array"):
        sess.run(p, {p: column})
    assert sess.run(p, {p: np.stack(column)}).shape == (2, 3)


def test_a_tensor_cannot_be_fed(sess):
    x = sg.placeholder(sg.float32, [])
    with pytest.raises(FeedError, match="is a tensor"):
        sess.run(x, {x: sg.constant(1.0)})
    with pytest.raises(FeedError, match="is a tensor"):
        sess.run(x, {x: sg.Variable(1.0)})


def test_feed_dict_must_be_a_dict(sess):
    x = sg.placeholder(sg.float32, [])
    with pytest.raises(FeedError, match="feed_dict is a list"):
        sess.run(x, [x, 1.0])
    with pytest.raises(FeedError, match="cannot feed 'nothing:0'"):
        sess.run(x, {"nothing:0": 1.0})
    with pytest.raises(FeedError, match="cannot feed"):
        sess.run(x, {x.op: 1.0})


def test_values_too_large_for_the_dtype(sess):
    x = sg.placeholder(sg.float32, [])
    assert sess.run(x, {x: 1e300}) == np.inf


def test_shapes_that_depend_on_fed_values(sess, compiled):
    n = sg.placeholder(sg.int32, [], name="n")
    y = sg.fill([n], 2.0)
    for count in (2, 3, 2):
        np.testing.assert_array_equal(sess.run(y, {n: count}), np.full(count, 2.0))
    assert len(compiled) == 1


def test_bfloat16_goes_out_and_in(sess):
    x = sg.placeholder(sg.bfloat16, [None])
    for value in ([1.0, 3.140625, -np.inf], []):
        np.testing.assert_array_equal(sess.run(x * 1.0, {x: value}), np.array(value, np.float32))
    w = sg.Variable(sg.constant([1.5, 2.5], sg.bfloat16))
    initialized(sess)
    np.testing.assert_array_equal(sess.run([w, w.assign_add([1.0, 1.0])])[1], [2.5, 3.5])


def test_complex_numbers(sess):
    x = sg.placeholder(sg.complex64, [None])
    value = np.array([1 + 2j, -3j], np.complex64)
    for made, wanted in zip(
        sess.run([x * x, ops.conj(x), ops.complex_abs(x)], {x: value}),
        [value * value, value.conj(), np.abs(value)],
        strict=True,
    ):
        np.testing.assert_allclose(made, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "value",
    [["a", "é\0"], (b"a", "é\0"), np.array(["a", b"\xc3\xa9\0"], object)],
    ids=["text", "mixed", "objects"],
)
def test_strings_are_fetched_as_bytes(value, sess):
    names = sg.placeholder(sg.string, [None])
    made = sess.run(names, {names: value})
    assert made.dtype == object
    assert made.tolist() == [b"a", b"\xc3\xa9\0"]


@pytest.mark.parametrize("value", [[1, 2], ["a", 1], np.array([1.5], object)], ids=str)
def test_what_is_no_string_is_refused(value, sess):
    names = sg.placeholder(sg.string, [None])
    with pytest.raises(FeedError, match="is not of strings"):
        sess.run(names, {names: value})


def test_whole_numbers_of_any_kind(sess):
    x = sg.placeholder(sg.int32, [None])
    for dtype in ("float16", "float32", "float64", "longdouble", "uint8", "int64", ">i2", "bool"):
        made = sess.run(x + 0, {x: np.array([0, 1], dtype)})
        assert made.dtype == np.int32
        assert made.tolist() == [0, 1]


def test_tensors_that_are_fed_together(sess):
    a, b, c = (sg.placeholder(sg.float32, [], name=name) for name in "abc")
    total = a + 10.0 * b + 100.0 * c
    assert sess.run(total, {(a, (b, c)): (1.0, (2.0, 3.0))}) == 321
    assert sess.run(total, {(a, (b, c)): [1.0, np.array([2.0, 3.0])]}) == 321
    with pytest.raises(FeedError, match="takes 2 values, nested in the same way"):
        sess.run(total, {(a, (b, c)): (1.0, (2.0, 3.0, 4.0))})
