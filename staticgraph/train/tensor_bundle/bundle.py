"""Checkpoints in TensorFlow's second format: `model.index`, a table, and `model.data-00000-of-00001`, the
values.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import InvalidFileError, layout
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.io.crc32c import masked_crc32c
from staticgraph.messages import wire
from staticgraph.messages.tensor_bundle import BundleEntryProto, BundleHeaderProto
from staticgraph.messages.tensors import shape_proto
from staticgraph.messages.types import data_type, dtype_of
from staticgraph.runtime.memory import storage_dtype
from staticgraph.runtime.saving.atomic import write_file
from staticgraph.runtime.saving.checkpoint import checkpoint_file
from staticgraph.runtime.saving.safetensors import Stored
from staticgraph.train.tensor_bundle.table import is_table, read_table, table_bytes

__all__ = ["Bundle", "is_bundle", "write_bundle"]

_MOST_SHARDS = 1 << 16


def is_bundle(prefix: str) -> bool:
    """Whether the checkpoint with this prefix is TensorFlow's."""
    try:
        with open(checkpoint_file(prefix), "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - 8, 0))
            return is_table(file.read(8))
    except OSError:
        return False


class Bundle(Mapping[str, Stored]):
    """The tensors of a checkpoint by name; each is read and checked when it is first asked for.

    InvalidFileError for a damaged file, or for one that lacks its data.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._shards: dict[int, mmap.mmap] = {}
        self._known: dict[str, Stored] = {}
        with open(checkpoint_file(prefix), "rb") as file:
            data = file.read()
        try:
            table = read_table(data)
            header = BundleHeaderProto.FromString(table.pop(b"", b""))
            self._entries = {key.decode(): _entry(value) for key, value in table.items() if not _is_part(key)}
        except (InvalidFileError, wire.DecodeError, UnicodeDecodeError) as error:
            raise self._damaged(str(error).split("\n")[0]) from None
        self._count = header.num_shards
        if header.endianness or not 0 < self._count < _MOST_SHARDS:
            raise self._damaged("its header is of no known form")

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> Stored:
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def _read(self, name: str) -> Stored:
        entry = self._entries[name]
        if entry.slices:
            raise self._damaged(f"{name!r} is in several parts, which is not supported")
        dtype = dtype_of(entry.dtype)
        shape = tuple(dim.size for dim in entry.shape.dim)
        size = math.prod(shape)
        data = self._bytes(name, entry)
        if min(shape, default=0) < 0 or (dtype is not string and len(data) != size * dtype.size):
            raise self._damaged(
                f"the {len(data)} bytes of {name!r} are no {dtype.name} of shape {list(shape)}"
            )
        if dtype is string:
            return dtype, self._strings(name, data, entry.crc32c).reshape(shape)
        if masked_crc32c(data) != entry.crc32c:
            raise self._damaged(f"the checksum of {name!r} is wrong")
        return dtype, np.frombuffer(data, storage_dtype(dtype)).reshape(shape)

    def _bytes(self, name: str, entry: BundleEntryProto) -> bytes:
        if entry.shard_id not in self._shards and 0 <= entry.shard_id < self._count:
            self._shards[entry.shard_id] = self._opened(entry.shard_id)
        shard = self._shards.get(entry.shard_id)
        if not entry.size:
            return b""
        if shard is None or entry.offset < 0 or entry.size < 0 or entry.offset + entry.size > len(shard):
            raise self._damaged(f"the bytes of {name!r} lie outside of its files")
        return shard[entry.offset : entry.offset + entry.size]

    def _opened(self, shard: int) -> mmap.mmap:
        path = _data_file(self._prefix, shard, self._count)
        try:
            with open(path, "rb") as file:
                if not os.fstat(file.fileno()).st_size:
                    return mmap.mmap(-1, 1)
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise self._damaged(f"{path} cannot be read: {error.strerror}") from None

    def _strings(self, name: str, data: bytes, checksum: int) -> np.ndarray:
        """Lengths, their checksum, and then the strings."""
        entry = self._entries[name]
        count = math.prod(dim.size for dim in entry.shape.dim)
        at, lengths = 0, []
        try:
            for _ in range(min(count, len(data) + 1)):
                length, at = wire.read_varint(data, at, len(data))
                lengths.append(length)
        except wire.DecodeError:
            raise self._damaged(f"the lengths of {name!r} cannot be read") from None
        ends = np.cumsum([at + 4, *lengths]).tolist()
        if ends[-1] != len(data) or masked_crc32c(_widths(lengths) + data[at:]) != checksum:
            raise self._damaged(f"the strings of {name!r} are damaged")
        found = np.empty(count, object)
        found[:] = [data[begin:end] for begin, end in pairwise(ends)]
        return found

    def _damaged(self, what: str) -> InvalidFileError:
        text = f"{checkpoint_file(self._prefix)} is not a usable checkpoint of TensorFlow's: {what}"
        return InvalidFileError(layout(text, user_frame(), hint="copy it again from where it came"))


def write_bundle(prefix: str, tensors: Mapping[str, Stored]) -> None:
    """Write a checkpoint that TensorFlow reads. The data come first: an index never lacks its own."""
    entries = {b"": BundleHeaderProto(num_shards=1, version={"producer": 1}).SerializeToString()}
    pieces, offset = [], 0
    for name in sorted(tensors, key=str.encode):
        dtype, array = tensors[name]
        data, checksum = _string_bytes(array) if dtype is string else _plain_bytes(array)
        entry = BundleEntryProto(
            dtype=data_type(dtype),
            shape=shape_proto(array.shape),
            offset=offset,
            size=len(data),
            crc32c=checksum,
        )
        entries[name.encode()] = entry.SerializeToString()
        pieces.append(data)
        offset += len(data)
    write_file(_data_file(prefix, 0, 1), pieces)
    write_file(checkpoint_file(prefix), [table_bytes(entries)])


def _plain_bytes(array: np.ndarray) -> tuple[bytes, int]:
    data = np.ascontiguousarray(array).tobytes()
    return data, masked_crc32c(data)


def _string_bytes(array: np.ndarray) -> tuple[bytes, int]:
    items = array.ravel().tolist()
    lengths = [len(item) for item in items]
    widths = _widths(lengths)
    rest = masked_crc32c(widths).to_bytes(4, "little") + b"".join(items)
    return b"".join(map(wire.encode_varint, lengths)) + rest, masked_crc32c(widths + rest)


def _widths(lengths: list[int]) -> bytes:
    """Lengths as their checksum is taken: four bytes each, eight for a huge one."""
    return b"".join(length.to_bytes(4 if length < 1 << 32 else 8, "little") for length in lengths)


def _data_file(prefix: str, shard: int, count: int) -> str:
    return f"{prefix}.data-{shard:05d}-of-{count:05d}"


def _entry(value: bytes) -> BundleEntryProto:
    return BundleEntryProto.FromString(value)


def _is_part(key: bytes) -> bool:
    """Whether an entry is a part of a tensor that is saved in several: those have keys that are no names."""
    return key.startswith(b"\0")
