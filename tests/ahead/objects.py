"""The symbols that an object file of another system needs: a look at the three formats."""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Object:
    """Format and machine of an object file, and the symbols that it needs and gives."""

    format: str
    machine: int
    undefined: frozenset[str]
    defined: frozenset[str]


def read(data: bytes) -> Object:
    """Parts of an object file."""
    if data[:4] == b"\x7fELF":
        return _elf(data)
    if data[:4] == b"\xcf\xfa\xed\xfe":
        return _mach_o(data)
    return _coff(data)


def _elf(data: bytes) -> Object:
    (machine,) = struct.unpack_from("<H", data, 18)
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + n * size) for n in range(count)]
    [table] = [h for h in headers if h[1] == 2]
    names = headers[table[6]][4]
    undefined, defined = set(), set()
    for at in range(table[4] + 24, table[4] + table[5], 24):
        name, info, _, section = struct.unpack_from("<IBBH", data, at)
        if info >> 4:
            (defined if section else undefined).add(_string(data, names + name))
    return Object("ELF", machine, frozenset(undefined), frozenset(defined))


def _mach_o(data: bytes) -> Object:
    machine, _, _, count = struct.unpack_from("<IIII", data, 4)
    undefined, defined = set(), set()
    at = 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, at)
        if command == 2:
            first, symbols, names, _ = struct.unpack_from("<IIII", data, at + 8)
            for n in range(symbols):
                name, kind, _, _, _ = struct.unpack_from("<IBBHQ", data, first + 16 * n)
                if kind & 1:
                    (defined if kind & 0xE else undefined).add(_string(data, names + name))
        at += size
    return Object("Mach-O", machine, frozenset(undefined), frozenset(defined))


def _coff(data: bytes) -> Object:
    machine, _, _, first, count = struct.unpack_from("<HHIII", data)
    undefined, defined = set(), set()
    n = 0
    while n < count:
        at = first + 18 * n
        zeros, offset = struct.unpack_from("<II", data, at)
        _, section, _, kind, more = struct.unpack_from("<IhHBB", data, at + 8)
        short = data[at : at + 8].rstrip(b"\0")
        name = short.decode() if zeros else _string(data, first + 18 * count + offset)
        if kind == 2:
            (defined if section else undefined).add(name)
        n += 1 + more
    return Object("COFF", machine, frozenset(undefined), frozenset(defined))


def _string(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()
