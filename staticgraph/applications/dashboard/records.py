"""Records of an event file that grows: complete ones are read, the last one is waited for.

A file may come from anywhere. No length in it is believed before so many bytes are there, no record above
a limit is read, and memory does not depend on the size of the file.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from functools import cache

import numpy as np

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.tensor_bundle.crc32c import crc_of_rows, masked_crc32c

_HEADER = struct.Struct("<QI")
_AROUND = _HEADER.size + 4  # bytes of a record beside its data
CHUNK = 4 << 20  # bytes that are read at once
_HEAD = 128  # bytes that tell files apart: the first event has the time of its file
LARGEST = 64 << 20  # bytes of a record; a larger one is skipped


@dataclass(frozen=True, slots=True)
class Batch:
    """Complete records, as they lie in a piece of a file.

    Attributes:
        data: The piece.
        base: Position of the piece in the file.
        starts: Position of the data of each record in the piece, int64.
        lengths: Bytes of the data of each record, int64.
    """

    data: bytes
    base: int
    starts: np.ndarray
    lengths: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)


class RecordFile:
    """A file of records, read from where the last read ended.

    Attributes:
        path: The file.
        at: Position of the first byte that was not read yet.
        skipped: Records that were left out, because they are damaged or too large.
        broken: Why nothing more of the file is read, "" while it is.
        replaced: If it is another file by now, which is to be read from its beginning.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.at = 0
        self.skipped = 0
        self.broken = ""
        self.replaced = False
        self._head = b""  # first bytes, by which a file is known

    def read(self) -> Iterator[Batch]:
        """Yield the complete records that were appended since the last read.

        Raises:
            OSError: The file cannot be read.
        """
        if self.broken or self.replaced:
            return
        # A file that is a pipe, or becomes a link to one, must not hold the reader up.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags)
        with open(descriptor, "rb", buffering=0) as file:
            size = os.fstat(descriptor).st_size
            head = file.read(_HEAD) or b""
            self.replaced = size < self.at or not head.startswith(self._head)
            if self.replaced:
                return
            self._head = head
            wanted = CHUNK
            while not self.broken and self.at < size:
                file.seek(self.at)
                data = file.read(min(wanted, size - self.at))
                base = self.at
                batch, missing = self._split(data, size)
                if len(batch):
                    yield batch
                if self.at == base:
                    if missing <= len(data) or missing > size - base:
                        return  # the last record is not complete yet
                    wanted = max(CHUNK, missing)
                else:
                    wanted = CHUNK

    def _split(self, data: bytes, size: int) -> tuple[Batch, int]:
        """Return the complete records of a piece, and the bytes that the next one takes. `at` moves on."""
        base, at, end = self.at, 0, len(data)
        starts, lengths = [], []
        missing = _AROUND
        known = _header_checksum
        while at + _HEADER.size <= end:
            length, checksum = _HEADER.unpack_from(data, at)
            if known(length) != checksum:
                self.broken = f"the length of the record at byte {base + at} is damaged"
                break
            if length > LARGEST:
                if base + at + _AROUND + length > size:
                    break  # skipped when it is complete
                self.skipped += 1
            elif at + _AROUND + length > end:
                missing = _AROUND + length
                break
            else:
                starts.append(at + _HEADER.size)
                lengths.append(length)
            at += _AROUND + length
        self.at = base + at
        return self._sound(data, base, np.array(starts, np.int64), np.array(lengths, np.int64)), missing

    def _sound(self, data: bytes, base: int, starts: np.ndarray, lengths: np.ndarray) -> Batch:
        """Leave out the records whose checksum differs."""
        sound = np.ones(len(starts), bool)
        whole = np.frombuffer(data, np.uint8)
        for length in np.unique(lengths).tolist():
            of_length = np.flatnonzero(lengths == length)
            if length > _LONG or len(of_length) == 1:
                for index in of_length.tolist():
                    start = int(starts[index])
                    (checksum,) = struct.unpack_from("<I", data, start + length)
                    sound[index] = masked_crc32c(data[start : start + length]) == checksum
            else:
                rows = whole[starts[of_length][:, None] + np.arange(length + 4)]
                checksums = rows[:, length:].copy().view("<u4")[:, 0]
                sound[of_length] = crc_of_rows(rows[:, :length]) == checksums
        self.skipped += int(len(sound) - sound.sum())
        return Batch(data, base, starts[sound], lengths[sound])


_LONG = 512  # bytes, from which records are looked at one by one


@cache
def _length_checksum(length: int) -> int:
    return masked_crc32c(struct.pack("<Q", length))


def _header_checksum(length: int) -> int:
    """Checksum that stands after a length. Lengths above the limit are not worth to be cached."""
    return _length_checksum(length) if length < 1 << 16 else masked_crc32c(struct.pack("<Q", length))
