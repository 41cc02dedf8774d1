"""Messages as text, and texts that are no messages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from staticgraph.formats.tf.messages import (
    AttrValue,
    BytesList,
    CheckpointState,
    ConfigProto,
    DecodeError,
    FloatList,
    GraphDef,
    HistogramProto,
    Int64List,
    NodeDef,
    RunOptions,
    text_format,
)


def read(text: str | bytes, kind):
    return text_format.Parse(text, kind())


def test_what_is_written_is_read():
    graph = GraphDef(versions={"producer": 134})
    for name in ("x", "\u00e9\"'\\\n\t\r\0"):
        node = graph.node.add(name=name, op="Const", input=["a", "^b"])
        node.attr["dtype"].type = 1
        node.attr["unknown"].type = 77
        node.attr["value"].tensor.tensor_content = bytes(range(256))
        node.attr["f"].f = float("-inf")
        node.attr["list"].list.b.extend([True, False])
        node.attr["empty"].list.SetInParent()
        node.attr["call"].func.attr["inner"].i = -7
    assert read(str(graph), GraphDef) == graph
    assert str(read(str(graph), GraphDef)) == str(graph)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", NodeDef()),
        ("  # only a comment", NodeDef()),
        ("name: 'x' op:\"y\"", NodeDef(name="x", op="y")),
        ("name: 'a' 'b'\n  \"c\"", NodeDef(name="abc")),
        ("input: ['a', 'b'], input: 'c'; op: 'd'", NodeDef(input=["a", "b", "c"], op="d")),
        ("input: []", NodeDef()),
        (r"name: '\x41\102\u00e9\n\''", NodeDef(name="AB\u00e9\n'")),
        ("name: 'é'", NodeDef(name="\u00e9")),
        (r"value: '\377\xfe\a\?'", BytesList(value=[b"\xff\xfe\a?"])),
        ("value: [1, -2, 0x10, 010]", Int64List(value=[1, -2, 16, 8])),
        ("value: - 3", Int64List(value=[-3])),
        (
            "value: [1, 1.5f, -inf, infinity, 1e3, .5, 2F]",
            FloatList(value=[1, 1.5, -1e99, 1e99, 1000, 0.5, 2]),
        ),
        ("trace_level: FULL_TRACE", RunOptions(trace_level=3)),
        ("trace_level: 2", RunOptions(trace_level=2)),
        ("output_partition_graphs: True", RunOptions(output_partition_graphs=True)),
        ("output_partition_graphs: 0", RunOptions()),
        ("gpu_options < allow_growth: t >", ConfigProto(gpu_options={"allow_growth": True})),
        ("gpu_options: { }", ConfigProto(gpu_options={})),
        ("device_count { value: 2 key: 'CPU' }", ConfigProto(device_count={"CPU": 2})),
        ("device_count { key: 'CPU' } device_count: {}", ConfigProto(device_count={"CPU": 0, "": 0})),
        ("device_count: [{ key: 'a' }, < key: 'b' >]", ConfigProto(device_count={"a": 0, "b": 0})),
        ("list { i: 1 } list { i: 2 }", AttrValue(list={"i": [1, 2]})),
        ("num: nan", None),
    ],
)
def test_all_ways_to_write_the_same(text: str, message):
    if message is None:
        assert read(text, HistogramProto).num != read(text, HistogramProto).num
        return
    assert read(text, type(message)) == message
    assert read(text.encode(), type(message)) == message


@pytest.mark.parametrize(
    "text, kind, what",
    [
        ("nam: 'x'", NodeDef, "no field 'nam'"),
        ("name 'x'", NodeDef, "a colon is expected after name"),
        ("name: x", NodeDef, "a string in quotes is expected, and 'x' found"),
        ("name: 'x", NodeDef, "cannot stand here"),
        ("name: 'x' }", NodeDef, "the name of a field is expected"),
        ("name: '\\xff'", NodeDef, "UTF-8"),
        ("input: ['a' 'b' 'c'", NodeDef, "a comma is expected, and '' found"),
        ("value: [1 2]", Int64List, "a comma is expected, and '2' found"),
        ("value: 1.5", Int64List, "1.5"),
        ("value: 9223372036854775808", Int64List, "out of range"),
        ("value: x", FloatList, "x"),
        ("trace_level: SOME", RunOptions, "no value 'SOME'"),
        ("output_partition_graphs: 2", RunOptions, "'2' is neither true nor false"),
        (
            "gpu_options { allow_growth: true",
            ConfigProto,
            "the name of a field is expected, and 'the end' found",
        ),
        ("gpu_options < allow_growth: true }", ConfigProto, "the name of a field"),
        ("gpu_options: 3", ConfigProto, "'{' is expected"),
        ("# name\n@", NodeDef, "'@' cannot stand here"),
        ("#" * 5000 + "\n@", NodeDef, "'@' cannot stand here"),
        ("gpu_options ]", ConfigProto, "'{' is expected, and ']' found"),
        ("device_count { name: 'x' }", ConfigProto, "a key and a value, and no 'name'"),
        ("[type.url/x] { }", NodeDef, "the name of a field is expected"),
        ("node {" * 300, GraphDef, "no field 'node'"),
        ("func { attr { value { " * 200, AttrValue, "100 deep"),
    ],
)
def test_what_is_wrong_is_said(text: str, kind, what: str):
    with pytest.raises(DecodeError) as caught:
        read(f"\n{text}", kind)
    assert what in str(caught.value)
    line = 2 + text.count("\n")
    assert str(caught.value).startswith(f"line {line} of a text is no {kind.__qualname__}")


@pytest.mark.takes_long
@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40) | st.text("{}<>[]:,;'\"\\ nodeame01-.#\n", max_size=60))
def test_any_text_is_a_message_or_an_error(text: str):
    try:
        made = read(text, GraphDef)
    except DecodeError:
        return
    assert read(str(made), GraphDef) == made


def test_merging_adds():
    node = NodeDef(name="x", input=["a"])
    assert text_format.Merge("input: 'b' name: 'y'", node) is node
    assert node == NodeDef(name="y", input=["a", "b"])


def test_the_state_of_checkpoints():
    text = 'model_checkpoint_path: "model-2"\nall_model_checkpoint_paths: "model-1"\n'
    assert str(read(text, CheckpointState)) == text
