"""CRC-32C, the checksum of records: every byte's part is looked up by its distance from the end.

The checksum is linear: that of a block is the exclusive or of those of its bytes, each followed by zeros.
So one table, of a row for each distance, turns a block into one lookup for all bytes at once, and the blocks
of a long text into one for all of them.
"""

from __future__ import annotations

import struct
from functools import cache

import numpy as np

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, the lowest power first
_BLOCK = 1024  # bytes; the table has a row for each
_AT_ONCE = 1024  # blocks, so that a huge record does not need many times its size
_SHORT = 48  # bytes, below which a loop is faster
_MASK = 0xA282EAD8


def crc32c(data: bytes) -> int:
    """The CRC-32C of some bytes.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc, at = 0xFFFFFFFF, 0
    if len(data) >= _SHORT:
        crc, at = _blocks(data, crc)
        head = np.frombuffer(data, np.uint8, offset=at)
        if head.size >= 4:
            table = _table()[-head.size :]
            block = head.copy()
            block[:4] ^= np.frombuffer(struct.pack("<I", crc), np.uint8)
            return int(np.bitwise_xor.reduce(table[np.arange(head.size), block])) ^ 0xFFFFFFFF
    row = _last_row()
    for byte in data[at:]:
        crc = crc >> 8 ^ row[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """The checksum as records keep it: changed, because data may itself hold checksums."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def crc_of_rows(rows: np.ndarray) -> np.ndarray:
    """Return the masked checksums of texts of equal length.

    Args:
        rows: uint8, [number of texts, bytes of each].

    Returns:
        uint32, [number of texts].

    >>> rows = np.frombuffer(b"123456789" * 2, np.uint8).reshape(2, 9)
    >>> crc_of_rows(rows).tolist() == [masked_crc32c(b"123456789")] * 2
    True
    """
    row = _table()[-1]
    crc = np.full(len(rows), 0xFFFFFFFF, np.uint32)
    for column in rows.T:
        crc = crc >> np.uint32(8) ^ row[(crc ^ column) & np.uint32(0xFF)]
    return _masked(~crc)


def crc_of_parts(data: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the masked checksums of parts of a text, which may overlap and have any lengths.

    Args:
        data: uint8, [bytes].
        begins: int64, [number of parts].
        ends: int64, [number of parts].

    Returns:
        uint32, [number of parts].

    >>> crc_of_parts(np.frombuffer(b"0123456789", np.uint8), np.array([1]), np.array([10])).tolist()
    [3347755237]
    """
    lengths = ends - begins
    made = np.empty(len(begins), np.uint32)
    short = (lengths >= 4) & (lengths <= _BLOCK)
    for at in np.flatnonzero(~short).tolist():
        made[at] = masked_crc32c(data[begins[at] : ends[at]].tobytes())
    if short.any():
        made[short] = _of_short_parts(data, begins[short], lengths[short])
    return made


def _of_short_parts(data: np.ndarray, begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The same for parts of 4 bytes or more, and not more than a block: one lookup for the bytes of all."""
    starts = np.cumsum(lengths) - lengths  # of the parts, one after the other
    order = np.arange(lengths.sum())
    block = data[order + np.repeat(begins - starts, lengths)]
    block[starts[:, None] + np.arange(4)] ^= np.uint8(0xFF)  # the state at the beginning
    rows = order + np.repeat(_BLOCK - starts - lengths, lengths)
    crc = ~np.bitwise_xor.reduceat(_table()[rows, block], starts)
    return _masked(crc)


def _masked(crc: np.ndarray) -> np.ndarray:
    return (crc >> np.uint32(15) | crc << np.uint32(17)) + np.uint32(_MASK)


def _blocks(data: bytes, crc: int) -> tuple[int, int]:
    """The state after all whole blocks, and where they end."""
    whole = len(data) // _BLOCK
    if not whole:
        return crc, 0
    table, first = _table(), _first_rows()
    columns = np.arange(_BLOCK)
    rows = np.frombuffer(data, np.uint8, whole * _BLOCK).reshape(whole, _BLOCK)
    for start in range(0, whole, _AT_ONCE):
        parts = np.bitwise_xor.reduce(table[columns, rows[start : start + _AT_ONCE]], axis=1)
        for part in parts.tolist():
            a, b, c, d = first
            crc = a[crc & 0xFF] ^ b[crc >> 8 & 0xFF] ^ c[crc >> 16 & 0xFF] ^ d[crc >> 24] ^ part
    return crc, whole * _BLOCK


@cache
def _table() -> np.ndarray:
    """`[position in a block, byte]`: the state after that byte and the zeros that follow it."""
    row = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        row = row >> np.uint32(1) ^ np.uint32(_POLYNOMIAL) * (row & np.uint32(1))
    rows = [row]
    for _ in range(_BLOCK - 1):
        rows.append(rows[-1] >> np.uint32(8) ^ row[rows[-1] & np.uint32(0xFF)])
    return np.stack(rows[::-1])


@cache
def _last_row() -> list[int]:
    return list(map(int, _table()[-1]))


@cache
def _first_rows() -> list[list[int]]:
    """Return the tables that advance the four bytes of the state before a block to the end of the block."""
    return [list(map(int, row)) for row in _table()[:4]]
