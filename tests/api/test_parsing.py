"""Training examples in strings: what is read of good ones, and what is said of bad ones."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import staticgraph as sg
from staticgraph.formats.tf.messages.example import Example, Feature, FeatureList, SequenceExample
from staticgraph.formats.tf.messages.wire import encode_bytes, encode_tag, encode_varint

FEATURES = {
    "ids": Feature(int64_list={"value": [1, -2, 2**40]}),
    "image": Feature(bytes_list={"value": [b"\x00\xff", b""]}),
    "x": Feature(float_list={"value": [0.5, -1.5]}),
}
ONE_ID, ONE_FLOAT = Feature(int64_list={"value": [1]}), Feature(float_list={"value": [0.5]})
EXAMPLE = Example(features={"feature": FEATURES}).SerializeToString(deterministic=True)
SEQUENCE = SequenceExample(
    context={"feature": FEATURES},
    feature_lists={"feature_list": {"ids": FeatureList(feature=[FEATURES["ids"]] * 2)}},
).SerializeToString(deterministic=True)


def read(data: bytes, **features):
    with sg.Graph().as_default(), sg.Session() as sess:
        return sess.run(sg.io.parse_example([data], features))


def field(number: int, data: bytes) -> bytes:
    """A field of bytes, or a message, on the wire."""
    return encode_tag(number, 2) + encode_bytes(data)


def feature(name: bytes, kind: int, values: bytes) -> bytes:
    """An example that has one feature, whose list is given as it is on the wire."""
    entry = field(1, name) + field(2, field(kind, values))
    return field(1, field(1, entry))


def test_numbers_that_are_not_packed():
    integers = b"".join(encode_tag(1, 0) + encode_varint(v) for v in (3, 2**64 - 1))
    floats = b"".join(encode_tag(1, 5) + np.float32(v).tobytes() for v in (0.5, -2.0))
    data = feature(b"i", 3, integers) + feature(b"f", 2, floats)
    found = read(data, i=sg.io.FixedLenFeature([2], sg.int64), f=sg.io.FixedLenFeature([2], sg.float32))
    np.testing.assert_array_equal(found["i"], [[3, -1]])
    np.testing.assert_array_equal(found["f"], [[0.5, -2.0]])


def test_of_two_entries_of_one_name_the_last_counts():
    first, last = (feature(b"i", 3, encode_tag(1, 0) + encode_varint(v)) for v in (1, 2))
    assert read(first + last, i=sg.io.FixedLenFeature([], sg.int64))["i"].tolist() == [2]


def test_unknown_fields_are_passed_over():
    others = encode_tag(9, 0) + encode_varint(5) + field(8, b"abc") + encode_tag(7, 1) + bytes(8)
    assert read(others + EXAMPLE, x=sg.io.FixedLenFeature([2], sg.float32))["x"].tolist() == [[0.5, -1.5]]


@pytest.mark.parametrize(
    ("key", "wanted", "good", "text"),
    [
        ("y", sg.io.FixedLenFeature([], sg.int64), ONE_ID, "is missing, and has no default"),
        ("x", sg.io.FixedLenFeature([1], sg.float32), ONE_FLOAT, "has 2 values, not 1 for [1]"),
        ("x", sg.io.VarLenFeature(sg.int64), Feature(), "is float32, and int64 is expected"),
    ],
)
def test_an_error_names_the_feature_and_the_example(key, wanted, good, text):
    first = Example(features={"feature": {key: good}}).SerializeToString()
    made = sg.io.parse_example([first, EXAMPLE], {key: wanted}, example_names=["first", "second"])
    with sg.Session() as sess, pytest.raises(sg.errors.InvalidArgumentError) as caught:
        sess.run(made)
    assert f"feature {key!r} of example 1 (second) {text}" in str(caught.value)
    assert "test_parsing.py" in str(caught.value)


def test_a_batch_of_examples_is_fed():
    data = sg.placeholder(sg.string, [None])
    total = sg.reduce_sum(
        sg.io.parse_example(data, {"x": sg.io.FixedLenFeature([2], sg.float32)})["x"], axis=1
    )
    with sg.Session() as sess:
        assert sess.run(total, {data: [EXAMPLE] * 3}).tolist() == [-1.0] * 3


def damaged(data: bytes):
    """The bytes cut short, or with some replaced."""
    cut = st.integers(0, len(data)).map(lambda n: data[:n])
    places = st.lists(st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)), min_size=1, max_size=4)
    return cut | places.map(lambda changes: replaced(data, changes))


def replaced(data: bytes, changes: list[tuple[int, int]]) -> bytes:
    out = bytearray(data)
    for place, byte in changes:
        out[place] = byte
    return bytes(out)


@settings(max_examples=150, deadline=None)
@given(data=damaged(EXAMPLE))
def test_damaged_examples_are_read_or_refused(data):
    with sg.Graph().as_default(), sg.Session() as sess:
        made = sg.io.parse_single_example(
            data,
            {
                "ids": sg.io.VarLenFeature(sg.int64),
                "image": sg.io.FixedLenSequenceFeature([], sg.string, allow_missing=True),
                "x": sg.io.FixedLenFeature([2], sg.float32),
            },
        )
        try:
            assert sess.run(made["x"]).shape == (2,)
        except sg.errors.InvalidArgumentError as error:
            assert "feature" in str(error) or "example 0" in str(error)


@settings(max_examples=100, deadline=None)
@given(data=damaged(SEQUENCE))
def test_damaged_sequence_examples_are_read_or_refused(data):
    with sg.Graph().as_default(), sg.Session() as sess:
        lists = {"ids": sg.io.FixedLenSequenceFeature([3], sg.int64, allow_missing=True)}
        context, steps = sg.io.parse_single_sequence_example(
            data, {"x": sg.io.VarLenFeature(sg.float32)}, lists
        )
        try:
            _, found = sess.run([context["x"], steps["ids"]])
            assert found.shape[1:] == (3,)
        except sg.errors.InvalidArgumentError as error:
            assert "feature" in str(error) or "example 0" in str(error)


FIELDS = st.text(st.sampled_from('ab,"\n x')).map(str.encode)


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=4))
def test_csv_that_is_quoted_is_read_back(rows):
    lines = [b",".join(b'"' + field.replace(b'"', b'""') + b'"' for field in row) for row in rows]
    with sg.Graph().as_default(), sg.Session() as sess:
        columns = sess.run(sg.io.decode_csv(lines, [["-"], ["-"]]))
    assert [tuple(row) for row in zip(*columns, strict=True)] == [
        tuple(f or b"-" for f in row) for row in rows
    ]


def test_an_error_in_csv_names_the_field():
    made = sg.io.decode_csv(["1,2", "3,x"], [[0], [0]])
    with sg.Session() as sess, pytest.raises(sg.errors.InvalidArgumentError) as caught:
        sess.run(made)
    assert "field 1 of record 1: the string 'x' is not a number of type int32" in str(caught.value)


def test_a_tensor_of_impossible_size_is_refused():
    huge = sg.messages.TensorProto(dtype=1, tensor_shape={"dim": [{"size": 2**40}]})
    made = sg.io.parse_tensor(huge.SerializeToString(), sg.float32)
    with sg.Session() as sess, pytest.raises(sg.errors.InvalidArgumentError, match="elements, more than"):
        sess.run(made)


def test_compressed_bytes_that_end_early_are_data_loss():
    made = sg.io.decode_compressed(zlib.compress(b"hello" * 10)[:-6], "ZLIB")
    with (
        sg.Session() as sess,
        pytest.raises(sg.errors.DataLossError, match="ends before all is decompressed"),
    ):
        sess.run(made)
