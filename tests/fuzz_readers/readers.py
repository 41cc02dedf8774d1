"""The readers of files that anybody may have written: of graphs and weights; `data_readers` has others.

Checksums would end most attempts early, so formats that have them are tried twice: as they are, and with the
parts inside changed and sealed again.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any
from unittest import mock

import staticgraph as sg
from staticgraph.compiler.graph.errors import (
    DataLossError,
    InvalidArgumentError,
    InvalidFileError,
    NotFoundError,
)
from staticgraph.formats.tf.examples import example_bytes
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.messages import GraphDef, text_format
from staticgraph.formats.tf.messages.example import Example, SequenceExample
from staticgraph.formats.tf.messages.wire import encode_varint
from staticgraph.formats.tf.tensor_bundle.crc32c import masked_crc32c
from staticgraph.runtime.files import container
from staticgraph.tf1.io import tf_record_iterator
from staticgraph.tf1.io.tf_record import framed
from staticgraph.tf1.summary import summary_iterator
from tests.fuzz_readers.data_readers import DATA_READERS
from tests.fuzz_readers.reader import SEEDS, Reader, of_file


def _in_a_graph(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def attempt(path: Path) -> None:
        with sg.Graph().as_default():
            read(path)

    return attempt


def _graph_member(data: bytes, folder: Path) -> None:
    """The graph of a saved graph, sealed again."""
    parts = container.unpack(memoryview((SEEDS / "loop.sg").read_bytes()))
    manifest = container.parse(parts.pop("manifest.json"), "it")
    members = {name: [data if name == "graph.json" else bytes(part)] for name, part in parts.items()}
    body = {key: value for key, value in manifest.items() if key not in _HEAD}
    _seal(folder / "net.sg", "graph", body, members)
    sg.load(folder / "net.sg")


_HEAD = ("format", "kind", "producer", "members")


def _seal(*given: Any) -> None:
    """`container.write` that does not wait until all is on the disk."""

    def write(path: Path, pieces: list[Any]) -> None:
        path.write_bytes(b"".join(map(bytes, pieces)))

    with mock.patch.object(container, "write_file", write):
        container.write(*given)


def _weights_member(data: bytes, folder: Path) -> None:
    """The arrays of a checkpoint, sealed again."""
    _seal(folder / "model.index", "checkpoint", {}, {"weights.safetensors": [data]})
    sg.train.NewCheckpointReader(str(folder / "model"))


def _tensors(prefix: Path) -> None:
    reader = sg.train.NewCheckpointReader(str(prefix))
    for name in reader.get_variable_to_shape_map():
        reader.get_tensor(name)


def _bundle(index: bytes, data: bytes, folder: Path) -> None:
    (folder / "model.index").write_bytes(index)
    (folder / "model.data-00000-of-00001").write_bytes(data)
    _tensors(folder / "model")


def _bundle_index(data: bytes, folder: Path) -> None:
    _bundle(data, (SEEDS / "model.data").read_bytes(), folder)


def _bundle_data(data: bytes, folder: Path) -> None:
    _bundle((SEEDS / "model.index").read_bytes(), data, folder)


def _bundle_block(data: bytes, folder: Path) -> None:
    """The entries of an index, sealed again."""
    _bundle_index(_table(data), folder)


def _slices_block(data: bytes, folder: Path) -> None:
    """The entries of a checkpoint in TensorFlow's first format, sealed again."""
    of_file("v1", _tensors)(_table(data), folder)


def _table(block: bytes) -> bytes:
    """A table of one block."""
    out = bytearray()
    where = _block(out, block)
    root = _block(out, b"\0\x01" + bytes([len(where)]) + b"\xff" + where + struct.pack("<II", 0, 1))
    return bytes(out + (where + root).ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57))


def _block(out: bytearray, block: bytes) -> bytes:
    """Add a block; where it lies."""
    where = encode_varint(len(out)) + encode_varint(len(block))
    out += block + b"\0" + struct.pack("<I", masked_crc32c(block + b"\0"))
    return where


def _graph_def(data: bytes, folder: Path) -> None:
    with sg.Graph().as_default():
        sg.import_graph_def(GraphDef.FromString(data))


def _graph_text(data: bytes, folder: Path) -> None:
    with sg.Graph().as_default():
        sg.import_graph_def(text_format.Merge(data, GraphDef()))


def _saved_model(path: Path) -> None:
    with sg.Graph().as_default(), sg.Session() as session:
        sg.saved_model.loader.load(session, ["serve"], str(path.parent))


def _records(kind: str) -> Callable[[Path], Any]:
    return lambda path: [len(record) for record in tf_record_iterator(path, kind)]


def _zipped_records(data: bytes, folder: Path) -> None:
    """Records whose compression is whole."""
    of_file("records", _records("ZLIB"))(zlib.compress(data, 1), folder)


def _event(data: bytes, folder: Path) -> None:
    """An event, sealed."""
    of_file("events", lambda path: [str(event) for event in summary_iterator(path)])(framed(data), folder)


def _example(data: bytes, folder: Path) -> None:
    """Examples as messages."""
    Example.FromString(data)
    SequenceExample.FromString(data)


def _features(data: bytes, folder: Path) -> None:
    """Examples read at once into arrays."""
    context, lists = example_bytes.sequence_example(data)
    steps = chain.from_iterable(lists.values())
    for span in (*example_bytes.example(data).values(), *context.values(), *steps):
        for dtype in (sg.string, sg.float32, sg.int64):
            try:
                example_bytes.values(data, span, dtype)
            except InvalidArgumentError:
                continue


_IMPORT = (DataLossError, GraphDefError)

READERS = {
    "sg": Reader(of_file("net.sg", sg.load), (InvalidFileError,), "*.sg"),
    "sg_graph": Reader(_graph_member, (InvalidFileError,), "*.graph.json", 200),
    "checkpoint": Reader(
        of_file("model.index", lambda path: sg.train.NewCheckpointReader(str(path.with_suffix("")))),
        (InvalidFileError,),
        "*.checkpoint",
    ),
    "checkpoint_weights": Reader(_weights_member, (InvalidFileError,), "*.safetensors"),
    "safetensors": Reader(of_file("net.safetensors", sg.read_weights), (InvalidFileError,), "*.safetensors"),
    "npz": Reader(of_file("net.npz", sg.read_weights), (InvalidFileError,), "*.npz"),
    "bundle_index": Reader(_bundle_index, (InvalidFileError,), "model.index"),
    "bundle_block": Reader(_bundle_block, (InvalidFileError,), "model.block"),
    "bundle_data": Reader(_bundle_data, (InvalidFileError,), "model.data"),
    "slices": Reader(of_file("v1", _tensors), (InvalidFileError, NotFoundError), "*.v1"),
    "slices_block": Reader(_slices_block, (InvalidFileError,), "*.v1.block"),
    "graph_def": Reader(_graph_def, _IMPORT, "l*.pb", 200),
    "graph_text": Reader(_graph_text, _IMPORT, "*.pbtxt", 200),
    "meta_graph": Reader(
        of_file("net.meta", _in_a_graph(lambda path: sg.train.import_meta_graph(str(path)))),
        _IMPORT,
        "*.meta",
        200,
    ),
    "saved_model": Reader(
        of_file("saved_model.pb", _saved_model), (*_IMPORT, RuntimeError), "saved_model.pb", 200
    ),
    "onnx": Reader(of_file("net.onnx", _in_a_graph(sg.onnx.load)), (InvalidFileError,), "*.onnx", 200),
    "records": Reader(of_file("records", _records("")), (DataLossError,), "*.records"),
    "records_gzip": Reader(of_file("records", _records("GZIP")), (DataLossError,), "*.records.gz"),
    "records_inside": Reader(_zipped_records, (DataLossError,), "*.records"),
    "event": Reader(_event, (DataLossError,), "*.event"),
    "example": Reader(_example, (DataLossError,), "*.example"),
    "example_features": Reader(_features, (DataLossError,), "*.example"),
} | DATA_READERS
