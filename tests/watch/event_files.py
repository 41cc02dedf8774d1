"""Event files for tests: some by our writer, many points at once by NumPy."""

import struct

import numpy as np

from staticgraph.formats.tf.messages.event import Event
from staticgraph.formats.tf.messages.summary import Summary
from staticgraph.formats.tf.tensor_bundle.crc32c import crc_of_rows, masked_crc32c
from staticgraph.tf1.io.tf_record import framed

NAME = "events.out.tfevents.1700000000.host"
FIRST_STEP = 1 << 14  # three bytes long, as all steps up to 2 ** 21


def scalar_event(tag, step, number, wall=1.7e9):
    summary = Summary(value=[Summary.Value(tag=tag, simple_value=number)])
    return Event(wall_time=wall, step=step, summary=summary).SerializeToString()


def write(path, *events, mode="wb"):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, mode) as file:
        file.write(b"".join(map(framed, events)))


def write_many(path, numbers, tag=b"loss"):
    """Write a scalar for each of many steps from FIRST_STEP on, 0.01 s apart."""
    count = len(numbers)
    value = b"\x0a" + bytes([len(tag)]) + tag + b"\x15" + bytes(4)
    body = b"\x0a" + bytes([len(value)]) + value
    event = b"\x09" + bytes(8) + b"\x10" + bytes(3) + b"\x2a" + bytes([len(body)]) + body
    rows = np.tile(np.frombuffer(event, np.uint8), (count, 1))
    rows[:, 1:9] = (1.7e9 + 0.01 * np.arange(count)).view(np.uint8).reshape(count, 8)
    steps = FIRST_STEP + np.arange(count)
    for place in range(3):
        rows[:, 10 + place] = steps >> 7 * place & 0x7F | (0x80 if place < 2 else 0)
    rows[:, -4:] = np.asarray(numbers, "<f4").view(np.uint8).reshape(count, 4)
    length = struct.pack("<Q", len(event))
    head = np.frombuffer(length + struct.pack("<I", masked_crc32c(length)), np.uint8)
    tail = crc_of_rows(rows).astype("<u4").view(np.uint8).reshape(count, 4)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(np.hstack([np.tile(head, (count, 1)), rows, tail]).tobytes())
