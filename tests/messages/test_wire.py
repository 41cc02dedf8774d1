"""Bytes that are no messages: each is one clear error, whatever is wrong with it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from staticgraph.formats.tf.messages import (
    AttrValue,
    DecodeError,
    Example,
    GraphDef,
    Int64List,
    NodeDef,
    Summary,
    wire,
)


@pytest.mark.parametrize(
    "data, what",
    [
        (b"\x08", "end within a number"),
        (b"\x08\x80", "end within a number"),
        (b"\x08" + b"\xff" * 10 + b"\x01", "longer than 10 bytes"),
        (b"\x0a\x05abc", "5 bytes are announced"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "bytes are announced"),
        (b"\x00\x01", "not a field number"),
        (b"\x80\x80\x80\x80\x80\x01\x00", "not a field number"),
        (b"\x0e", "wire type 6"),
        (b"\x0c", "wire type 4"),
        (b"\x79\x01", "number of 8 bytes"),
        (b"\x7d\x01", "number of 4 bytes"),
        (b"\x7b\x08\x01", "end within a number"),
        (b"\x7b\x84\x01", "closed as group 16"),
        (b"\x0a\x01\xff", "not UTF-8"),
        (b"\x1a\x01\xff", "not UTF-8"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, what: str):
    with pytest.raises(DecodeError, match=what) as caught:
        NodeDef.FromString(data)
    assert str(caught.value).startswith(f"these {len(data)} bytes are no NodeDef")
    assert "test_wire.py" in str(caught.value)


@pytest.mark.parametrize(
    "data, what",
    [
        (b"\x0a\x02\x80\x80", "end within a number"),
        (b"\x0a\x29" + b"\x01" * 40 + b"\x80", "end within a number"),
        (b"\x0a\x28" + b"\x01" * 20 + b"\xff" * 19 + b"\x01", "longer than 10 bytes"),
    ],
)
def test_packed_numbers_end_where_they_should(data: bytes, what: str):
    with pytest.raises(DecodeError, match=what):
        Int64List.FromString(data)


def test_numbers_of_a_fixed_size_come_whole():
    with pytest.raises(DecodeError, match="no whole number of float values"):
        Example.FromString(b"\x0a\x0c\x0a\x0a\x0a\x01x\x12\x05\x12\x03\x0a\x01\x00")


@pytest.mark.parametrize("few_or_many", [3, 500])
def test_packed_numbers_in_a_loop_and_at_once(few_or_many: int):
    values = [(-1) ** n * 3**n % 2**62 for n in range(few_or_many)] + [-1, 2**63 - 1, -(2**63), 0]
    assert Int64List.FromString(Int64List(value=values).SerializeToString()).value == values


def nested(depth: int) -> bytes:
    """A function's attribute in a function's attribute, and so on."""
    data = b""
    for _ in range(depth):
        entry = b"\x12" + wire.encode_bytes(data)
        func = b"\x12" + wire.encode_bytes(entry)
        data = b"\x52" + wire.encode_bytes(func)
    return data


def test_messages_may_lie_in_each_other_but_not_without_end():
    assert AttrValue.FromString(nested(30)).func.attr[""].func.attr[""].HasField("func")
    for depth in (60, 2000):
        with pytest.raises(DecodeError, match="100 deep"):
            AttrValue.FromString(nested(depth))


def test_groups_are_skipped_but_not_without_end():
    assert NodeDef.FromString(b"\x7b\x08\x01\x7b\x7c\x7c\x0a\x01x").name == "x"
    with pytest.raises(DecodeError, match="100 deep"):
        NodeDef.FromString(b"\x7b" * 5000)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_an_error(data: bytes):
    for kind in (GraphDef, Summary, AttrValue):
        try:
            made = kind.FromString(data)
        except DecodeError:
            continue
        assert kind.FromString(made.SerializeToString()).SerializeToString() == made.SerializeToString()


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_message_is_a_message_or_an_error(data: st.DataObject):
    whole = GraphDef(node=[{"name": "x", "op": "Const", "input": ["a", "b"]}], versions={"producer": 134})
    whole.node[0].attr["value"].tensor.float_val.extend([1.0, 2.0])
    damaged = bytearray(whole.SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        GraphDef.FromString(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))
    except DecodeError as error:
        assert "are no GraphDef" in str(error)


def test_unknown_fields_are_kept_in_linear_time():
    data = b"\xf8\x7f\x05" * 200_000
    assert NodeDef.FromString(data).SerializeToString() == data
