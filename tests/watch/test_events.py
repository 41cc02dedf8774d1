"""Events decoded many at a time are those that the message class reads one by one."""

import math
import random
from collections import defaultdict

import numpy as np
import pytest

from staticgraph.applications.dashboard import events
from staticgraph.applications.dashboard.events import Column, Kind, decode
from staticgraph.applications.dashboard.records import RecordFile
from staticgraph.formats.tf.messages.event import Event, SessionLog
from staticgraph.formats.tf.messages.summary import Summary
from staticgraph.formats.tf.messages.tensors import make_tensor_proto
from staticgraph.tf1.summary import encode
from tests.watch.event_files import NAME, scalar_event, write


def decoded(path):
    columns, singles = defaultdict(list), []
    for batch in RecordFile(str(path)).read():
        for _, part in sorted(decode(batch), key=lambda each: each[0]):
            if isinstance(part, Column):
                rows = zip(part.steps.tolist(), part.walls.tolist(), part.numbers.tolist(), strict=True)
                columns[part.tag] += rows
            else:
                singles.append((part.value.kind, part.value.tag, part.step, part.wall))
    return columns, singles


def test_random_events_are_those_of_the_message_class(tmp_path):
    random.seed(3)
    steps = (0, 1, 127, 128, 2**20, 2**62, -1, -(2**63))
    written = []
    for _ in range(3000):
        tags = random.sample(["loss", "accu", "a", "b/c", "größe"], random.randint(0, 3))
        numbers = [random.choice([0.0, 1.5, -2.0, math.inf, random.random()]) for _ in tags]
        values = [Summary.Value(tag=t, simple_value=n) for t, n in zip(tags, numbers, strict=True)]
        step = random.choice(steps) if random.random() < 0.3 else random.randint(0, 300)
        event = Event(wall_time=random.choice([0.0, 1.7e9 + random.random()]), step=step)
        if values:
            event.summary.CopyFrom(Summary(value=values))
        written.append(event)
    write(tmp_path / NAME, *(event.SerializeToString() for event in written))
    wanted = defaultdict(list)
    for event in written:
        for value in event.summary.value:
            wanted[value.tag].append((event.step, event.wall_time, float(np.float32(value.simple_value))))
    found, singles = decoded(tmp_path / NAME)
    assert not singles and found.keys() == wanted.keys()
    assert all(sorted(found[tag]) == sorted(wanted[tag]) for tag in wanted)


def test_kinds_of_values(tmp_path):
    start = Event(wall_time=2.0, step=7, session_log=SessionLog(status=SessionLog.START))
    stop = Event(wall_time=2.0, step=7, session_log=SessionLog(status=SessionLog.STOP))
    parts = [
        encode.image("image", np.zeros((1, 2, 2, 1), np.uint8), 1),
        encode.histogram("weights", [1.0, 2.0]),
        encode.audio("sound", np.zeros((1, 8)), 8000, 1),
        encode.text("note", "hello"),
        encode.tensor("array", np.zeros(3)),
    ]
    summary = Summary.FromString(encode.merge(parts))
    summary.value[3].ClearField("metadata")  # as of all but the first event with a tag
    write(
        tmp_path / NAME,
        Event(wall_time=1.0, file_version="brain.Event:2").SerializeToString(),
        Event(wall_time=1.0, graph_def=b"").SerializeToString(),
        Event(wall_time=1.0, step=5, summary=summary).SerializeToString(),
        start.SerializeToString(),
        stop.SerializeToString(),
    )
    found, singles = decoded(tmp_path / NAME)
    assert not found
    assert [(kind, tag, step) for kind, tag, step, _ in singles] == [
        (Kind.GRAPH, "", 0),
        (Kind.IMAGE, "image/image", 5),
        (Kind.HISTOGRAM, "weights", 5),
        (Kind.AUDIO, "sound/audio", 5),
        (Kind.TEXT, "note", 5),
        (Kind.TENSOR, "array", 5),
        (Kind.START, "", 7),
    ]


@pytest.mark.parametrize("packed", [True, False])
def test_numbers_of_tensorflow_2_are_tensors(tmp_path, packed):
    tensor = make_tensor_proto(np.float32(0.25))
    if not packed:
        tensor.ClearField("tensor_content")
        tensor.ClearField("float_val")
        tensor.float_val.append(0.25)
    value = Summary(value=[Summary.Value(tag="loss", tensor=tensor)])
    events_of = [Event(wall_time=1.0, step=step, summary=value).SerializeToString() for step in range(10)]
    write(tmp_path / NAME, *events_of)
    found, _ = decoded(tmp_path / NAME)
    assert found["loss"] == [(step, 1.0, 0.25) for step in range(10)]


def test_every_cut_and_flipped_byte_is_read_without_an_error(tmp_path):
    whole = Event(
        wall_time=1.0,
        step=300,
        graph_def=b"graph",
        summary=Summary.FromString(encode.merge([encode.scalar("loss", 1.0), encode.text("note", "x")])),
    ).SerializeToString()
    whole += scalar_event("loss", 3, 1.0)
    hostile = [whole[:end] for end in range(len(whole))]
    for at in range(len(whole)):
        for bit in (0, 3, 7):
            changed = bytearray(whole)
            changed[at] ^= 1 << bit
            hostile.append(bytes(changed))
    write(tmp_path / NAME, *hostile)
    decoded(tmp_path / NAME)


def test_an_event_with_very_many_values_is_cut(tmp_path):
    few = Summary.Value(tag="a", simple_value=1.0).SerializeToString()
    body = (b"\x0a" + bytes([len(few)]) + few) * 50_000
    event = Event(wall_time=1.0, step=1).SerializeToString() + b"\x2a" + _varint(len(body)) + body
    write(tmp_path / NAME, event)
    found, _ = decoded(tmp_path / NAME)
    assert len(found["a"]) == events._MOST_VALUES


def test_a_tag_is_cut(tmp_path):
    write(tmp_path / NAME, *(scalar_event("x" * 2000, step, 1.0) for step in range(9)))
    found, _ = decoded(tmp_path / NAME)
    assert list(map(len, found)) == [1000]


def test_others_of_a_length_are_not_taken_for_the_same(tmp_path):
    """Two tags of a length, and a step that has as many bytes in all as another step and a longer tag."""
    write(
        tmp_path / NAME,
        *(scalar_event(tag, step, 1.0) for tag in ("abc", "abd") for step in range(20)),
        *(scalar_event("ab", step, 2.0) for step in range(200, 220)),
    )
    found, _ = decoded(tmp_path / NAME)
    assert {tag: [step for step, _, _ in rows] for tag, rows in found.items()} == {
        "abc": list(range(20)),
        "abd": list(range(20)),
        "ab": list(range(200, 220)),
    }


def _varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
