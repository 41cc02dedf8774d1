"""TFRecord files: a sequence of byte strings, each with its length and checksums, compressed or not.

A record is its length (8 bytes), a checksum of these, its bytes, and a checksum of those.
"""

from __future__ import annotations

import math
import os
import stat
import struct
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

import numpy as np

from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import DataLossError, misuse
from staticgraph.formats.tf.tensor_bundle.crc32c import crc_of_parts, masked_crc32c
from staticgraph.runtime.disk.atomic import writing

_GROWTH = 1032  # bytes that a byte of zlib can become
_TOGETHER = 1 << 14  # bytes of records whose checksums are computed together
_AROUND = 16  # bytes of a record besides its data: the length and two checksums
_LENGTH = struct.Struct("<Q")
_CHUNK = 1 << 20  # bytes that are read at once: a length in a file is not believed before they are there


class TFRecordCompressionType:
    """Numbers of the ways to compress a file."""

    NONE, ZLIB, GZIP = 0, 1, 2


class TFRecordOptions:
    """Compression of a file of records.

    `compression_type` is `""`, `"ZLIB"`, `"GZIP"`, or a number of `TFRecordCompressionType`. The levels and
    sizes are those of zlib. The sizes of buffers have no effect here.

    >>> TFRecordOptions.get_compression_type_string(TFRecordOptions(TFRecordCompressionType.GZIP))
    'GZIP'
    """

    compression_type_map = {0: "", 1: "ZLIB", 2: "GZIP"}  # noqa: RUF012 (TF's name)

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """`""`, `"ZLIB"` or `"GZIP"` for options, a type or a number. ValueError for others."""
        kind = options.compression_type if isinstance(options, TFRecordOptions) else options
        if not kind:
            return ""
        kind = cls.compression_type_map.get(kind, kind)
        if kind not in cls.compression_type_map.values():
            raise misuse(
                ValueError, f"Not a valid compression_type: {kind!r}; there are '', 'ZLIB' and 'GZIP'"
            )
        return str(kind)

    def compressor(self) -> Any:
        """Return a compressor of a stream, or None if there is no compression."""
        kind = self.get_compression_type_string(self)
        if not kind:
            return None
        return zlib.compressobj(
            _or(self.compression_level, zlib.Z_DEFAULT_COMPRESSION),
            _or(self.compression_method, zlib.DEFLATED),
            _or(self.window_bits, _window_bits(kind)),
            _or(self.mem_level, zlib.DEF_MEM_LEVEL),
            _or(self.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
        )


class TFRecordWriter:
    """Writes byte strings to the file `path`, which it makes anew. A context manager.

    `options`: `TFRecordOptions`, or the compression alone, as they take it. SaveError if the disk is full.

    >>> import os, tempfile
    >>> import staticgraph as sg
    >>> path = os.path.join(tempfile.mkdtemp(), "words")
    >>> with sg.io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    ...     writer.write(b"two")
    >>> list(sg.io.tf_record_iterator(path))
    [b'one', b'two']
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        self._compressor = options.compressor()
        self._path = path_of(path, "path")
        self._file = _opened(path, "wb")

    def write(self, record: bytes) -> None:
        """Add one record."""
        if not isinstance(record, bytes | bytearray | memoryview):
            message = f"a record is bytes, and {type(record).__name__} was given"
            hint = "write example.SerializeToString()" if hasattr(record, "SerializeToString") else None
            raise misuse(TypeError, message, hint)
        self._put(framed(bytes(record)))

    def flush(self) -> None:
        """Hand what was written to the system."""
        with writing(self._path):
            if self._compressor is not None:
                self._file.write(self._compressor.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def close(self) -> None:
        """Finish the file. Closing twice is fine."""
        if not self._file.closed:
            with writing(self._path), self._file:
                if self._compressor is not None:
                    self._file.write(self._compressor.flush(zlib.Z_FINISH))

    def _put(self, data: bytes) -> None:
        with writing(self._path):
            self._file.write(data if self._compressor is None else self._compressor.compress(data))

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def framed(record: bytes) -> bytes:
    """A record as it lies in a file: with its length and checksums."""
    length = struct.pack("<Q", len(record))
    checksums = (struct.pack("<I", masked_crc32c(part)) for part in (length, record))
    return b"".join((length, next(checksums), record, next(checksums)))


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """The records of a file, one after the other.

    `options`: `TFRecordOptions`, or the compression alone. NotFoundError if there is no such file,
    DataLossError if it is damaged or ends within a record: the records before that come first.
    """
    kind = TFRecordOptions.get_compression_type_string(options)
    with _opened(path, "rb") as file:
        source = _Stream(file, str(path), kind)
        while source.more():
            yield from source.sound() or (source.record(),)


class _Stream:
    """A file read in chunks, decompressed where needed; `at` counts the bytes that were taken."""

    def __init__(self, file: BinaryIO, path: str, kind: str) -> None:
        self._file = file
        self._path = path
        self._kind = kind
        self._unpack = _decompressor(kind) if kind else None
        self._begun = False
        self._ahead = bytearray()
        self.at = 0

    def more(self) -> bool:
        """Return True if there is another byte."""
        return bool(self._ahead) or self._fill()

    def sound(self) -> list[bytes]:
        """Take some of the next records, whose checksums are looked at together: those that are here."""
        ahead = self._ahead
        begins, at = [], 0
        room = min(len(ahead), _TOGETHER)
        while at + _AROUND <= room:
            begins.append(at)
            at += _AROUND + _LENGTH.unpack_from(ahead, at)[0]
        if at > room:
            at = begins.pop()
        if not begins:
            return []
        whole = bytes(memoryview(ahead)[:at])
        data = np.frombuffer(whole, np.uint8)
        starts, ends = np.array(begins), np.array([*begins[1:], at])
        right = _are_right(data, starts, starts + 8) & _are_right(data, starts + 12, ends - 4)
        count = len(begins) if right.all() else int(right.argmin())
        ends = ends[:count]
        if count:
            del ahead[: ends[-1]]
            self.at += int(ends[-1])
        return [whole[a + 12 : b - 4] for a, b in zip(begins, ends.tolist(), strict=False)]

    def record(self) -> bytes:
        """The next record, however long it is. DataLossError if it is damaged."""
        start = self.at
        header, checksum = self._part(8, start)
        if masked_crc32c(header) != checksum:
            raise self._damaged(start, "the checksum of the length differs")
        (length,) = struct.unpack("<Q", header)
        if length > _CHUNK and self._kind and length > _GROWTH * self._size():
            raise self._damaged(start, f"{length} bytes are announced, and the file is too small for them")
        data, checksum = self._part(length, start)
        if masked_crc32c(data) != checksum:
            raise self._damaged(start, f"the checksum of the {length} bytes differs")
        return data

    def _part(self, length: int, start: int) -> tuple[bytes, int]:
        """So many bytes, and the checksum after them."""
        while len(self._ahead) < length + 4:
            if not self._fill():
                what = f"{length + 4} bytes are announced and {len(self._ahead)} are there"
                raise self._damaged(start, f"the file ends within it: {what}")
        data = bytes(memoryview(self._ahead)[:length])
        (checksum,) = struct.unpack_from("<I", self._ahead, length)
        del self._ahead[: length + 4]
        self.at += length + 4
        return data, checksum

    def _size(self) -> float:
        """The size of the file by now: another process may be writing it. Of a pipe it is not known."""
        status = os.fstat(self._file.fileno())
        return status.st_size if stat.S_ISREG(status.st_mode) else math.inf

    def _fill(self) -> bool:
        """Read some more; False at the end."""
        before = len(self._ahead)
        while len(self._ahead) == before:
            try:
                chunk = self._chunk()
            except zlib.error as error:
                raise self._damaged(self.at, f"it cannot be decompressed ({error})") from None
            if chunk is None:
                return False
            self._ahead += chunk
        return True

    def _chunk(self) -> bytes | None:
        """Some bytes, perhaps none; None at the end. What is decompressed comes in pieces too."""
        if self._unpack is None:
            return self._read() or None
        raw = self._unpack.unconsumed_tail or self._unpack.unused_data or self._read()
        if not raw:
            rest = b"" if self._unpack.eof else bytes(self._unpack.flush())
            if self._begun and not self._unpack.eof:
                raise zlib.error("incomplete stream")
            return rest or None
        if self._unpack.eof:  # compressed files may be joined to one
            self._unpack = _decompressor(self._kind)
        self._begun = True
        return bytes(self._unpack.decompress(raw, _CHUNK))

    def _read(self) -> bytes:
        with _system_errors(self._path):
            return self._file.read(_CHUNK)

    def _damaged(self, start: int, why: str) -> DataLossError:
        message = f"{self._path}: the record at byte {start} is damaged: {why}"
        hint = "a compressed file needs options=TFRecordOptions('GZIP') or 'ZLIB'"
        return misuse(DataLossError, message, None if self._kind else hint)


def _or(given: int | None, usual: int) -> int:
    return usual if given is None else given


def _are_right(data: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return for each part of some bytes if the checksum after it is its own."""
    kept = data[ends[:, None] + np.arange(4)].view("<u4")[:, 0]
    found: np.ndarray = crc_of_parts(data, begins, ends) == kept
    return found


def _decompressor(kind: str) -> Any:
    return zlib.decompressobj(_window_bits(kind))


def _window_bits(kind: str) -> int:
    return zlib.MAX_WBITS + 16 if kind == "GZIP" else zlib.MAX_WBITS


def _system_errors(path: Any) -> AbstractContextManager[None]:
    from staticgraph.compiler.graph.checks.system_errors import system_errors  # few programs read records

    return system_errors(path)


def _opened(path: Any, mode: str) -> BinaryIO:
    with _system_errors(path):
        return open(path_of(path, "path"), mode)  # type: ignore[return-value]
