"""Hashes of strings: which bucket a word falls into, the same as in TensorFlow.

The fast hash is FarmHash's Fingerprint64, the strong one SipHash-2-4 with a key, and the oldest a MurmurHash.
All work on 64 bits, where a sum or product keeps its lowest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import int64, string
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.kinds import host

_MASK = (1 << 64) - 1
_STRINGS = frozenset({string})


def _bucket_type(x: TensorType, num_buckets: int, key: Any = (0, 0)) -> TensorType:
    require(num_buckets >= 1, f"num_buckets is {num_buckets}, it must be at least 1")
    require(len(key) == 2, f"the key has {len(key)} elements, it must have two")
    return TensorType(int64, x.shape)


def _buckets(hashes: Any, like: Any, count: int) -> Any:
    return np.array([h % count for h in hashes], np.int64).reshape(like.shape)


@host(tf="StringToHashBucket", type=_bucket_type, dtypes=_STRINGS)
def string_to_hash_bucket(string_tensor: Any, *, num_buckets: int) -> Any:
    """The bucket of each string, of `num_buckets`, by a MurmurHash."""
    return _buckets(map(murmur, string_tensor.flat), string_tensor, num_buckets)


@host(tf="StringToHashBucketFast", type=_bucket_type, dtypes=_STRINGS)
def string_to_hash_bucket_fast(input: Any, *, num_buckets: int) -> Any:
    """The bucket of each string, of `num_buckets`, by FarmHash."""
    return _buckets(map(fingerprint, input.flat), input, num_buckets)


@host(tf="StringToHashBucketStrong", type=_bucket_type, dtypes=_STRINGS)
def string_to_hash_bucket_strong(input: Any, *, num_buckets: int, key: tuple[int, ...]) -> Any:
    """The bucket of each string, of `num_buckets`, by SipHash.

    Only who has the `key` can choose strings that fall into one bucket.
    """
    first, second = (k & _MASK for k in key)
    return _buckets((siphash(s, first, second) for s in input.flat), input, num_buckets)


def _word(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _rotated(value: int, left: int) -> int:
    value &= _MASK
    return (value << left | value >> (64 - left)) & _MASK


# MurmurHash64A


def murmur(data: bytes) -> int:
    """TensorFlow's own hash."""
    factor, size = 0xC6A4A7935BD1E995, len(data)
    h = 0xDECAFCAFFE ^ (size * factor & _MASK)
    whole = size & ~7
    for at in range(0, whole, 8):
        k = _word(data, at) * factor & _MASK
        k = (k ^ k >> 47) * factor & _MASK
        h = (h ^ k) * factor & _MASK
    if whole < size:
        h = (h ^ _word(data, whole)) * factor & _MASK
    h = (h ^ h >> 47) * factor & _MASK
    return h ^ h >> 47


# SipHash-2-4


def siphash(data: bytes, first: int, second: int) -> int:
    """SipHash with two rounds for each word and four at the end, under a key of two words.

    >>> hex(siphash(bytes(range(15)), 0x0706050403020100, 0x0F0E0D0C0B0A0908))
    '0xa129ca6149be45e5'
    """
    state = (
        first ^ 0x736F6D6570736575,
        second ^ 0x646F72616E646F6D,
        first ^ 0x6C7967656E657261,
        second ^ 0x7465646279746573,
    )
    whole = len(data) & ~7
    words = [_word(data, at) for at in range(0, whole, 8)]
    for word in (*words, _word(data, whole) | (len(data) & 0xFF) << 56):
        a, b, c, d = state
        a, b, c, d = _round(*_round(a, b, c, d ^ word))
        state = a ^ word, b, c, d
    a, b, c, d = state
    a, b, c, d = _round(*_round(*_round(*_round(a, b, c ^ 0xFF, d))))
    return a ^ b ^ c ^ d


def _round(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    a, c = (a + b) & _MASK, (c + d) & _MASK
    b, d = _rotated(b, 13) ^ a, _rotated(d, 16) ^ c
    a, c = (_rotated(a, 32) + d) & _MASK, (c + b) & _MASK
    return a, _rotated(b, 17) ^ c, _rotated(c, 32), _rotated(d, 21) ^ a


# FarmHash

_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def fingerprint(data: bytes) -> int:
    """FarmHash's Fingerprint64, which never changes.

    >>> fingerprint(b"a")
    12917804110809363939
    """
    size = len(data)
    if size <= 16:
        return _up_to_16(data, size)
    if size <= 32:
        return _up_to_32(data, size)
    return _up_to_64(data, size) if size <= 64 else _longer(data, size)


def _turned(value: int, right: int) -> int:
    return _rotated(value, 64 - right)


def _shifted(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _two(u: int, v: int, factor: int) -> int:
    """Two words as one."""
    a = _shifted((u ^ (v & _MASK)) * factor)
    return _shifted(((v & _MASK) ^ a) * factor) * factor & _MASK


def _up_to_16(data: bytes, size: int) -> int:
    factor = _K2 + size * 2
    if size >= 8:
        a, b = _word(data, 0) + _K2, _word(data, size - 8)
        c, d = _turned(b, 37) * factor + a, (_turned(a, 25) + b) * factor
        return _two(c & _MASK, d, factor)
    if size >= 4:
        return _two(size + (_word(data, 0, 4) << 3), _word(data, size - 4, 4), factor)
    if size:
        y, z = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
        return _shifted((y * _K2 & _MASK) ^ (z * _K0 & _MASK)) * _K2 & _MASK
    return _K2


def _up_to_32(data: bytes, size: int) -> int:
    factor = _K2 + size * 2
    a, b = _word(data, 0) * _K1, _word(data, 8)
    c, d = _word(data, size - 8) * factor, _word(data, size - 16) * _K2
    first = _turned(a + b, 43) + _turned(c, 30) + d
    return _two(first & _MASK, a + _turned(b + _K2, 18) + c, factor)


def _up_to_64(data: bytes, size: int) -> int:
    factor = _K2 + size * 2
    a, b = _word(data, 0) * _K2, _word(data, 8)
    c, d = _word(data, size - 8) * factor, _word(data, size - 16) * _K2
    y = _turned(a + b, 43) + _turned(c, 30) + d
    z = _two(y & _MASK, a + _turned(b + _K2, 18) + c, factor)
    e, f = _word(data, 16) * factor, _word(data, 24)
    g, h = (y + _word(data, size - 32)) * factor, (z + _word(data, size - 24)) * factor
    first = _turned(e + f, 43) + _turned(g, 30) + h
    return _two(first & _MASK, e + _turned(f + a, 18) + g, factor)


def _block(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """Thirty-two bytes, mixed into two words."""
    w, x, y, z = (_word(data, at + i) for i in (0, 8, 16, 24))
    a += w
    b = _turned(b + a + z, 21)
    c = a + x + y
    return c + z & _MASK, b + _turned(c, 44) + a & _MASK


def _longer(data: bytes, size: int) -> int:
    seed = 81
    x, y = seed * _K2 + _word(data, 0), seed * _K1 + 113
    z = _shifted(y * _K2 + 113) * _K2
    v, w = (0, 0), (0, 0)
    last = (size - 1) // 64 * 64
    for at in range(0, last, 64):
        x, y, z, v, w = _mixed(data, at, x, y, z, v, w, _K1, 1)
    rest = (size - 1) & 63
    w = (w[0] + rest, w[1])
    v = (v[0] + w[0], v[1])
    w = (w[0] + v[0], w[1])
    factor = _K1 + ((z & 0xFF) << 1)
    x, y, z, v, w = _mixed(data, last + rest - 63, x, y, z, v, w, factor, 9)
    first = _two(v[0], w[0], factor) + _shifted(y) * _K0 + z
    return _two(first & _MASK, _two(v[1], w[1], factor) + x, factor)


def _mixed(
    data: bytes,
    at: int,
    x: int,
    y: int,
    z: int,
    v: tuple[int, int],
    w: tuple[int, int],
    factor: int,
    times: int,
) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:
    """Sixty-four bytes, mixed into the state."""
    x = _turned(x + y + v[0] + _word(data, at + 8), 37) * factor & _MASK
    y = _turned(y + v[1] + _word(data, at + 48), 42) * factor & _MASK
    x ^= w[1] * times & _MASK
    y += v[0] * times + _word(data, at + 40)
    z = _turned(z + w[0], 33) * factor & _MASK
    v = _block(data, at, v[1] * factor, x + w[0])
    w = _block(data, at + 32, z + w[1], y + _word(data, at + 16))
    return z, y & _MASK, x, v, w
