"""Files as programs read them: by name or pattern, decompressed, in lines or in records of one length."""

from __future__ import annotations

import glob
import io
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from staticgraph.compiler.graph.errors import DataLossError

_CHUNK = 1 << 20  # bytes


def fixed_records(
    file: BinaryIO, record: int, header: int = 0, footer: int = 0, hop: int = 0
) -> Iterator[bytes]:
    """Records of so many bytes between a header and a footer, `hop` bytes apart; what is left is ignored."""
    hop = hop or record
    file.read(header)
    ahead = b""
    while True:
        ahead += file.read(record + footer - len(ahead))
        if len(ahead) < record + footer:
            return
        yield ahead[:record]
        file.read(hop - len(ahead) if hop > len(ahead) else 0)
        ahead = ahead[hop:]


def matching(patterns: Iterable[str]) -> list[str]:
    """The names of the files that match, sorted."""
    return sorted({name for pattern in patterns for name in glob.glob(pattern)})


def line_without_end(line: bytes) -> bytes:
    """A line without its newline, and the carriage return before it."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def open_bytes(name: str, compression: str = "") -> BinaryIO:
    """The contents of a file, decompressed. OSError if it cannot be opened."""
    file = open(name, "rb")  # noqa: SIM115 (the caller closes it)
    if not compression:
        return file
    bits = zlib.MAX_WBITS + (16 if compression == "GZIP" else 0)
    return io.BufferedReader(_Decompressed(file, name, bits))


class _Decompressed(io.RawIOBase):
    """A compressed file, or several joined to one, read in pieces."""

    def __init__(self, file: BinaryIO, name: str, bits: int) -> None:
        self._file = file
        self._name = name
        self._bits = bits
        self._stream = zlib.decompressobj(bits)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = memoryview(buffer)
        made = b""
        while not made:
            raw = self._stream.unconsumed_tail or self._stream.unused_data or self._file.read(_CHUNK)
            if not raw:
                if not self._stream.eof:
                    raise DataLossError(f"{self._name}: the compressed data end too early")
                return 0
            if self._stream.eof:
                self._stream = zlib.decompressobj(self._bits)
            try:
                made = self._stream.decompress(raw, len(room))
            except zlib.error as error:
                raise DataLossError(f"{self._name}: it cannot be decompressed ({error})") from None
        room[: len(made)] = made
        return len(made)

    def close(self) -> None:
        self._file.close()
        super().close()
