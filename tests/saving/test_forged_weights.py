"""Weights that were written by somebody else, under good checksums, and make no sense."""

import json
import struct

import pytest

from tests.saving.nets import line
from tests.saving.test_damage import forge, refused


def weights(header: dict | bytes, body: bytes = b"", length: int | None = None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return lambda _: struct.pack("<Q", len(text) if length is None else length) + text + body


def entry(**changes) -> dict:
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}


WEIGHTS = {
    "empty": (lambda _: b"", "too short"),
    "a header without end": (weights({}, length=2**63), "is too long"),
    "no JSON": (weights(b"{", b""), "not valid JSON"),
    "a key twice": (weights(b'{"w":1,"w":2}'), "occurs twice"),
    "deep nesting": (weights(b"[" * 100_000), "not valid JSON"),
    "a long integer": (weights(b"[" + b"9" * 10_000 + b"]"), "not valid JSON"),
    "not a number": (weights(b'{"w":NaN}'), "NaN is not JSON"),
    "a claim of a terabyte": (
        weights({"w": entry(shape=[2**38], data_offsets=[0, 2**40])}),
        "larger than the file",
    ),
    "sizes that overflow": (
        weights({"w": entry(shape=[2**62, 4], data_offsets=[0, 0])}),
        "impossible type: F32 of shape",
    ),
    "nothing of an endless shape": (
        weights({"w": entry(shape=[0, 2**47, 2**47], data_offsets=[0, 0])}),
        "impossible type: F32 of shape",
    ),
    "overlapping arrays": (
        weights({"w": entry(), "b": entry(data_offsets=[4, 12])}, bytes(12)),
        "does not follow",
    ),
    "a gap": (weights({"w": entry(data_offsets=[4, 12])}, bytes(12)), "does not follow"),
    "bytes that nobody owns": (weights({"w": entry()}, bytes(9)), "more than its header tells"),
    "a negative size": (weights({"w": entry(shape=[-2])}, bytes(8)), "impossible type"),
    "an unknown dtype": (weights({"w": entry(dtype="O")}, bytes(8)), "impossible type"),
    "a bool that is 2": (
        weights({"w": entry(dtype="BOOL", data_offsets=[0, 2])}, b"\2\0"),
        "neither true nor false",
    ),
    "a complex array that is none": (
        weights({"__metadata__": {"w": "complex128"}, "w": entry(shape=[1, 2])}, bytes(8)),
        "made of pairs",
    ),
    "too few values": (weights({"w": entry()}, bytes(8)), "are not the same"),
    "a value of another shape": (
        weights({"w": entry(shape=[1, 2]), "b": entry(shape=[], data_offsets=[8, 12])}, bytes(12)),
        r"the value of 'w' is float32\[1, 2\], and the variable float32\[2\]",
    ),
}


@pytest.mark.parametrize("change, match", WEIGHTS.values(), ids=WEIGHTS)
def test_forged_weights_are_refused(tmp_path, change, match):
    refused(forge(line(tmp_path / "net.sg"), change, "weights.safetensors"), match)
