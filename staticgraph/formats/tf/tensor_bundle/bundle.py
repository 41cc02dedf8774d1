"""Checkpoints in TensorFlow's second format: `model.index`, a table, and `model.data-00000-of-00001`, the
values.
"""

from __future__ import annotations

import glob
import math
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import accumulate, pairwise
from typing import BinaryIO

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, bool_, string
from staticgraph.compiler.graph.errors import InvalidFileError, headline, misuse
from staticgraph.compiler.graph.shapes import MOST_AXES, TensorType, is_array_shape
from staticgraph.formats.tf.messages import wire
from staticgraph.formats.tf.messages.tensor_bundle import BundleEntryProto, BundleHeaderProto
from staticgraph.formats.tf.messages.tensors import shape_proto
from staticgraph.formats.tf.messages.types import data_type, dtype_of
from staticgraph.formats.tf.tensor_bundle.crc32c import masked_crc32c
from staticgraph.formats.tf.tensor_bundle.slices import box, box_shape, joined, part_key
from staticgraph.formats.tf.tensor_bundle.table import is_table, read_table, table_bytes
from staticgraph.runtime.disk.atomic import write_file
from staticgraph.runtime.files.arrays.safetensors import Stored
from staticgraph.runtime.files.checkpoint import checkpoint_file
from staticgraph.runtime.state.memory import storage_dtype

_MOST_SHARDS = 1 << 16


def _open(path: str) -> BinaryIO:
    from staticgraph.runtime.files.plain_file import opener  # only for reading

    return open(path, "rb", opener=opener)


def is_bundle(prefix: str) -> bool:
    """Return True if the checkpoint with this prefix is in TensorFlow's format."""
    try:
        with _open(checkpoint_file(prefix)) as file:
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
        self._shards: dict[int, mmap.mmap | bytes] = {}
        self._known: dict[str, Stored] = {}
        with _open(checkpoint_file(prefix)) as file:
            data = file.read()
        try:
            table = read_table(data)
            header = BundleHeaderProto.FromString(table.pop(b"", b""))
            entries = {key: BundleEntryProto.FromString(value) for key, value in table.items()}
            self._parts = {key: entry for key, entry in entries.items() if _is_part(key)}
            self._entries = {key.decode(): entry for key, entry in entries.items() if not _is_part(key)}
            _check_apart(entries.values())
        except (InvalidFileError, wire.DecodeError, UnicodeDecodeError) as error:
            raise self._damaged(headline(error)) from None
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

    @property
    def types(self) -> dict[str, TensorType]:
        """The types of all tensors, for which no values are read."""
        return {name: TensorType(*self._type(name, entry)) for name, entry in self._entries.items()}

    def _read(self, name: str) -> Stored:
        entry = self._entries[name]
        return self._joined(name, entry) if entry.slices else self._whole(name, entry)

    def _joined(self, name: str, entry: BundleEntryProto) -> Stored:
        """A tensor that is saved in parts, each of which has an entry of its own."""
        dtype, shape = self._type(name, entry)
        parts, missing = [], dict(self._parts)
        try:
            for told in entry.slices:
                where, key = box(told, shape), part_key(name, told)
                if key not in missing:
                    raise InvalidFileError("a part of it is missing, or there twice")
                kind, array = self._whole(name, missing.pop(key))
                if (kind, array.shape) != (dtype, box_shape(where)):
                    found = f"{kind.name} of shape {list(array.shape)}"
                    raise InvalidFileError(f"a part of shape {list(box_shape(where))} is {found}")
                parts.append((where, array))
            return dtype, joined(shape, parts)
        except InvalidFileError as error:
            raise self._damaged(f"{name!r}: {headline(error)}") from None

    def _whole(self, name: str, entry: BundleEntryProto) -> Stored:
        dtype, shape = self._type(name, entry)
        size = math.prod(shape)
        data = self._bytes(name, entry)
        if dtype is not string and len(data) != size * dtype.size:
            raise self._damaged(
                f"the {len(data)} bytes of {name!r} are no {dtype.name} of shape {list(shape)}"
            )
        if dtype is string:
            return dtype, self._strings(name, data, entry, size).reshape(shape)
        if masked_crc32c(data) != entry.crc32c:
            raise self._damaged(f"the checksum of {name!r} is wrong")
        if dtype is bool_ and np.frombuffer(data, np.uint8).max(initial=0) > 1:
            raise self._damaged(f"{name!r} has values that are neither true nor false")
        return dtype, np.frombuffer(data, storage_dtype(dtype)).reshape(shape)

    def _type(self, name: str, entry: BundleEntryProto) -> tuple[DType, tuple[int, ...]]:
        shape = tuple(dim.size for dim in entry.shape.dim)
        if not is_array_shape(shape):
            raise self._damaged(f"{name!r} cannot have the shape {list(shape)[:MOST_AXES]}")
        try:
            return dtype_of(entry.dtype), shape
        except TypeError as error:
            raise self._damaged(f"{name!r}: {error}") from None

    def _bytes(self, name: str, entry: BundleEntryProto) -> bytes:
        if entry.shard_id not in self._shards and 0 <= entry.shard_id < self._count:
            self._shards[entry.shard_id] = self._opened(entry.shard_id)
        shard = self._shards.get(entry.shard_id)
        if not entry.size:
            return b""
        if shard is None or entry.offset < 0 or entry.size < 0 or entry.offset + entry.size > len(shard):
            raise self._damaged(f"the bytes of {name!r} lie outside of its files")
        if isinstance(shard, mmap.mmap) and shard.size() < len(shard):
            raise self._damaged("one of its files was cut short")
        return shard[entry.offset : entry.offset + entry.size]

    def _opened(self, shard: int) -> mmap.mmap | bytes:
        path = _data_file(self._prefix, shard, self._count)
        try:
            with _open(path) as file:
                if not os.fstat(file.fileno()).st_size:
                    return b""
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise self._damaged(f"{path} cannot be read: {error.strerror}") from None

    def _strings(self, name: str, data: bytes, entry: BundleEntryProto, count: int) -> np.ndarray:
        """Lengths, their checksum, and then the strings."""
        at, lengths = 0, []
        try:
            for _ in range(min(count, len(data) + 1)):
                length, at = wire.read_varint(data, at, len(data))
                lengths.append(length)
        except wire.DecodeError:
            raise self._damaged(f"the lengths of {name!r} cannot be read") from None
        ends = list(accumulate([at + 4, *lengths]))
        if ends[-1] != len(data) or masked_crc32c(_widths(lengths) + data[at:]) != entry.crc32c:
            raise self._damaged(f"the strings of {name!r} are damaged")
        found = np.empty(count, object)
        found[:] = [data[begin:end] for begin, end in pairwise(ends)]
        return found

    def _damaged(self, what: str) -> InvalidFileError:
        text = f"{checkpoint_file(self._prefix)} is not a usable checkpoint of TensorFlow's: {what}"
        return misuse(InvalidFileError, text, "copy it again from where it came")


def write_bundle(prefix: str, tensors: Mapping[str, Stored]) -> None:
    """Write a checkpoint that TensorFlow reads: whenever we stop, the former one or this one is whole.

    The data come first, in a file that the former index does not need. Only then the new index takes the name
    of the former one, whose data are removed last.
    """
    count = 2 if _shards(prefix) == 1 else 1
    entries = {b"": BundleHeaderProto(num_shards=count, version={"producer": 1}).SerializeToString()}
    pieces, offset = [], 0
    for name in sorted(tensors, key=str.encode):
        dtype, array = tensors[name]
        data, checksum = _string_bytes(array) if dtype is string else _plain_bytes(array)
        entry = BundleEntryProto(
            dtype=data_type(dtype),
            shape=shape_proto(array.shape),
            shard_id=count - 1,
            offset=offset,
            size=len(data),
            crc32c=checksum,
        )
        entries[name.encode()] = entry.SerializeToString()
        pieces.append(data)
        offset += len(data)
    data_file = _data_file(prefix, count - 1, count)
    write_file(data_file, pieces)
    write_file(checkpoint_file(prefix), [table_bytes(entries)])
    with suppress(OSError):
        for path in glob.glob(f"{glob.escape(prefix)}.data-?????-of-?????"):
            if path != data_file:
                os.unlink(path)


def _shards(prefix: str) -> int:
    """Return the number of files with data of the checkpoint with this prefix; 0 if there is none."""
    try:
        return Bundle(prefix)._count
    except (OSError, InvalidFileError):
        return 0


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


def _check_apart(entries: Iterable[BundleEntryProto]) -> None:
    """InvalidFileError if the bytes of two tensors overlap: few bytes could claim to be very many."""
    where = sorted((each.shard_id, each.offset, each.offset + each.size) for each in entries if each.size > 0)
    for (shard, _, end), (next_shard, begin, _) in pairwise(where):
        if shard == next_shard and begin < end:
            raise InvalidFileError("two tensors lie in the same place")


def _is_part(key: bytes) -> bool:
    """Return True if an entry is a part of a tensor that is saved in parts: its key is not a name."""
    return key.startswith(b"\0")
