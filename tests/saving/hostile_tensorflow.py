"""Hostile files in TensorFlow's formats, as in `hostile`: checkpoints, SavedModels and meta graphs."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.formats.tf.messages.graph import NodeDef
from staticgraph.formats.tf.messages.meta_graph import MetaGraphDef, SavedModel
from staticgraph.formats.tf.messages.tensor_bundle import BundleEntryProto, BundleHeaderProto
from staticgraph.formats.tf.messages.tensors import make_tensor_proto
from staticgraph.formats.tf.messages.wire import encode_bytes, encode_varint
from staticgraph.formats.tf.tensor_bundle import write_bundle
from staticgraph.formats.tf.tensor_bundle.crc32c import masked_crc32c
from staticgraph.formats.tf.tensor_bundle.table import table_bytes
from tests.saving.hostile import Maker, makers, written

FILES: dict[str, Maker] = {}


def _bundle(folder: Path, change: Callable[[dict[bytes, bytes]], Any]) -> Path:
    """Two tensors of 8 bytes, `a` and `b`, whose index is changed."""
    values = {name: (sg.float32, np.ones(2, np.float32)) for name in "ab"}
    write_bundle(str(folder / "model"), values)
    header = BundleHeaderProto(num_shards=1, version={"producer": 1}).SerializeToString()
    entries = {b"": header, b"a": _tensor(), b"b": _tensor(offset=8)}
    made = change(entries)
    (folder / "model.index").write_bytes(made if isinstance(made, bytes) else table_bytes(entries))
    return folder / "model"


def _tensor(**changes: Any) -> bytes:
    checksum = masked_crc32c(np.ones(2, np.float32).tobytes())
    told = {"dtype": 1, "shape": {"dim": [{"size": 2}]}, "size": 8, "crc32c": checksum, **changes}
    return BundleEntryProto(**told).SerializeToString()


def _with(name: str = "a", **changes: Any) -> Callable[[dict[bytes, bytes]], Any]:
    return lambda entries: entries.update({name.encode(): _tensor(**changes)})


def _header(**told: Any) -> Callable[[dict[bytes, bytes]], Any]:
    return lambda entries: entries.update({b"": BundleHeaderProto(**told).SerializeToString()})


def _blocks(*blocks: bytes, handles: list[bytes] | None = None, kind: bytes = b"\0") -> bytes:
    """A table of these blocks, whose index says of each the key `z` and so on."""
    out, where = bytearray(), []
    for block in blocks:
        where.append(encode_varint(len(out)) + encode_varint(len(block)))
        out += block + kind + struct.pack("<I", masked_crc32c(block + kind))
    index = _block(*((b"z" * (i + 1), handle) for i, handle in enumerate(handles or where)))
    root = encode_varint(len(out)) + encode_varint(len(index))
    out += index + b"\0" + struct.pack("<I", masked_crc32c(index + b"\0"))
    return bytes(out + (where[0] + root).ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57))


def _block(*entries: tuple[bytes, bytes]) -> bytes:
    made = (b"\0" + encode_varint(len(k)) + encode_varint(len(v)) + k + v for k, v in entries)
    return b"".join(made) + struct.pack("<II", 0, 1)


def _headed(entries: dict[bytes, bytes], keys: bytes) -> bytes:
    """A block of the header and these keys, in this order."""
    return _block((b"", entries[b""]), *((bytes([key]), entries[bytes([key])]) for key in keys))


def _endless_keys(entries: dict[bytes, bytes]) -> bytes:
    """Each key is that before it and one byte more: a megabyte tells of many gigabytes."""
    first = b"\0" + encode_varint(60_000) + b"\0" + b"k" * 60_000
    rest = b"".join(encode_varint(60_000) + b"\2\0" + bytes([i >> 8, i & 255]) for i in range(9000))
    return _blocks(_headed(entries, b"")[:-8] + first + rest + struct.pack("<II", 0, 1))


def _repeated(entries: dict[bytes, bytes], block: bytes, times: int) -> bytes:
    """The same block again and again, after that of the header."""
    head = _headed(entries, b"ab")
    here = encode_varint(len(head) + 5) + encode_varint(len(block))
    return _blocks(head, block, handles=[b"\0" + encode_varint(len(head)), *[here] * times])


_NONE = {"dim": [{"size": 2**62}, {"size": 2**62}, {"size": 0}]}
_PART = {"extent": [{"start": 0, "length": 1}]}
FILES |= makers({
    "bundle: two tensors in one place": _with("b", offset=0),
    "bundle: overlapping tensors": _with("b", offset=4),
    "bundle: a negative place": _with(offset=-8),
    "bundle: a place outside": _with(offset=2**62),
    "bundle: a negative size": _with(size=-8),
    "bundle: a size without end": _with(size=2**62),
    "bundle: a negative shape": _with(shape={"dim": [{"size": -2}]}),
    "bundle: a terabyte": _with(shape={"dim": [{"size": 2**38}]}),
    "bundle: many axes": _with(shape={"dim": [{"size": 2**60}] * 5000}),
    "bundle: axes of one": _with(shape={"dim": [{"size": 1}] * 100}, size=4),
    "bundle: truth values of 63 and 128": _with(dtype=10, shape={"dim": [{"size": 8}]}),
    "bundle: none of very many": _with(shape=_NONE, size=0, crc32c=masked_crc32c(b"")),
    "bundle: no strings of very many": _with(
        shape=_NONE, size=4, crc32c=masked_crc32c(masked_crc32c(b"").to_bytes(4, "little")), dtype=7
    ),
    "bundle: a part of none of very many": _with(shape=_NONE, slices=[{"extent": [{}] * 3}]),
    "bundle: a resource": _with(dtype=20),
    "bundle: a type that is none": _with(dtype=999),
    "bundle: a data file that is not there": _with(shard_id=1),
    "bundle: a data file of negative number": _with(shard_id=-1),
    "bundle: a part that is missing": _with(slices=[_PART]),
    "bundle: a part of too many axes": _with(slices=[{"extent": [{}] * 5}]),
    "bundle: strings without end": _with(dtype=7, shape={"dim": [{"size": 2**40}]}),
    "bundle: a billion data files": _header(num_shards=10**9),
    "bundle: no data files": _header(num_shards=0),
    "bundle: the other byte order": _header(num_shards=1, endianness=1),
    "bundle: no header": lambda entries: entries.pop(b""),
    "bundle: an entry that is no message": lambda entries: entries.update({b"a": b"\xff" * 20}),
    "bundle: a name that is no text": lambda entries: entries.update({b"\xff": entries[b"a"]}),
    "bundle: keys out of order": lambda e: _blocks(_headed(e, b"ba")),
    "bundle: a key twice": lambda e: _blocks(_headed(e, b"aab")),
    "bundle: a block twice": lambda e: _repeated(e, _block((b"c", e[b"a"])), 2),
    "bundle: empty blocks without end": lambda e: _repeated(e, bytes(1 << 20) + b"\0\0\4\0", 2000),
    "bundle: a block outside": lambda e: _blocks(_headed(e, b"ab"), handles=[encode_varint(2**62) + b"\1"]),
    "bundle: a compressed block": lambda e: _blocks(_headed(e, b"ab"), kind=b"\1"),
    "bundle: a block of more parts than bytes": lambda e: _blocks(b"\xff" * 12),
    "bundle: a key that takes from nothing": lambda e: _blocks(b"\x05\1\0x" + struct.pack("<II", 0, 1)),
    "bundle: keys without end": _endless_keys,
}, _bundle)


# Graphs


def _deep() -> bytes:
    """A function that is an attribute of a function, and so on, as an attribute of a node."""
    data = b""
    for _ in range(2000):
        data = b"\x52" + encode_bytes(b"\x12" + encode_bytes(b"\x12" + encode_bytes(data)))
    for field in (b"\x12", b"\x2a", b"\x0a", b"\x12", b"\x12"):  # value, attr, node, graph_def, meta_graphs
        data = field + encode_bytes(data)
    return data


def _saved_model(folder: Path, message: bytes) -> Path:
    return written(folder / "saved_model.pb", message).parent


def _asset(name: str) -> bytes:
    asset = {"filename": name, "tensor_info": {"name": "x:0"}}
    graph = {}
    if name == "link":
        node = NodeDef(name="x", op="Const")
        node.attr["dtype"].type = 7
        node.attr["value"].tensor.MergeFrom(make_tensor_proto("words"))
        graph = {"graph_def": {"node": [node]}}
    meta = {"meta_info_def": {"tags": ["serve"]}, "asset_file_def": [asset], **graph}
    return SavedModel(meta_graphs=[meta]).SerializeToString()


FILES |= makers({
    "saved model: no message": b"\xff" * 100,
    "saved model: messages in messages": _deep(),
    "saved model: an asset above the folder": _asset("../../etc/passwd"),
    "saved model: an asset at the root": _asset("/etc/passwd"),
    "saved model: an asset that is the folder": _asset(".."),
    "saved model: an asset without a name": _asset(""),
    "saved model: an asset with a null": _asset("a\0b"),
    "saved model: an asset for what is not there": _asset("words"),
}, _saved_model)


def _linked_asset(folder: Path) -> Path:
    (folder / "assets").mkdir()
    (folder / "assets" / "link").symlink_to("/etc/passwd")
    return _saved_model(folder, _asset("link"))


FILES["saved model: an asset that is a link"] = _linked_asset


def _meta(folder: Path, message: bytes) -> Path:
    return written(folder / "net.meta", message)


def _variables(data: bytes) -> bytes:
    node = NodeDef(name="x", op="Placeholder")
    node.attr["dtype"].type = 1
    made = MetaGraphDef(graph_def={"node": [node]})
    made.collection_def["variables"].bytes_list.value.append(data)
    return made.SerializeToString()


FILES |= makers({
    "meta graph: no message": b"\xff" * 100,
    "meta graph: a variable that is no message": _variables(b"\xff" * 10),
    "meta graph: a variable that is not there": _variables(b"\x0a\x03w:0"),
}, _meta)
