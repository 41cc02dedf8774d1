"""The scalar types of message fields: what values they take, how those are written, and what is not written.

A type is a row of the table `SCALARS`, or an `Enum`.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.messages import wire


@dataclass(frozen=True, slots=True)
class Scalar:
    """One type of field: its default, and the check of what a user gives.

    `check` returns the value that is kept, and raises TypeError or ValueError. Subclasses have the wire form:
    `encode` gives the bytes after the tag, `read` the value at a position and where it ends. Types of numbers
    also have `encode_packed` and `read_packed`, for numbers without tags between them.
    """

    name: str
    default: Any
    check: Callable[[Any], Any]
    wire = wire.BYTES

    def is_default(self, value: Any) -> bool:
        """Return True if a value is the default, and therefore not written."""
        return not value

    def check_all(self, values: Any) -> list[Any]:
        """Apply `check` to each value. Many numbers are checked at once if the result is the same."""
        return [self.check(value) for value in values]


@dataclass(frozen=True, slots=True)
class Whole(Scalar):
    """Whole numbers of variable length. `raw` makes the 64 bits that are written, `cooked` undoes it."""

    raw: Callable[[Any], int] = operator.index
    cooked: Callable[[int], Any] = operator.index
    wire = wire.VARINT

    def check_all(self, values: Any) -> list[Any]:
        given, kinds = _given(values)
        if len(given) and all(issubclass(kind, int | np.integer) for kind in kinds):
            is_array = isinstance(given, np.ndarray)
            for extreme in (given.min(), given.max()) if is_array else (min(given), max(given)):
                self.check(extreme)
            return list(map(type(self.default), given))
        return [self.check(value) for value in given]

    def encode(self, value: Any) -> bytes:
        return wire.encode_varint(self.raw(value))

    def encode_packed(self, values: list[Any]) -> bytes:
        return wire.encode_varints([self.raw(value) for value in values])

    def read(self, data: bytes, at: int, end: int) -> tuple[Any, int]:
        number, at = wire.read_varint(data, at, end)
        return self.cooked(number), at

    def read_packed(self, data: bytes, at: int, end: int) -> list[Any]:
        return list(map(self.cooked, wire.read_varints(data, at, end)))


@dataclass(frozen=True, slots=True)
class Fixed(Scalar):
    """Numbers of a fixed size, in the `format` of `struct` and NumPy."""

    format: str

    @property
    def wire(self) -> int:  # type: ignore[override]
        return wire.FIXED32 if struct.calcsize(self.format) == 4 else wire.FIXED64

    def is_default(self, value: Any) -> bool:
        """Return True if a value is the default. Minus zero is not."""
        return value == 0 and math.copysign(1, value) > 0

    def check_all(self, values: Any) -> list[Any]:
        given, kinds = _given(values)
        real = (float, np.floating, np.integer)  # what NumPy takes at once
        if isinstance(self.default, float) and all(issubclass(kind, real) for kind in kinds):
            with np.errstate(over="ignore"):
                return np.array(given, self.format).tolist()
        return [self.check(value) for value in given]

    def encode(self, value: Any) -> bytes:
        return struct.pack(self.format, value)

    def encode_packed(self, values: list[Any]) -> bytes:
        return np.array(values, self.format).tobytes()

    def read(self, data: bytes, at: int, end: int) -> tuple[Any, int]:
        return wire.read_fixed(self.format, data, at, end)

    def read_packed(self, data: bytes, at: int, end: int) -> list[Any]:
        dtype = np.dtype(self.format)
        if (end - at) % dtype.itemsize:
            raise wire.DecodeError(f"{end - at} bytes at byte {at} are no whole number of {self.name} values")
        return np.frombuffer(data, dtype, (end - at) // dtype.itemsize, at).tolist()


@dataclass(frozen=True, slots=True)
class Bytes(Scalar):
    """Bytes after their length."""

    def encode(self, value: bytes) -> bytes:
        return wire.encode_bytes(value)

    def read(self, data: bytes, at: int, end: int) -> tuple[Any, int]:
        at, stop = wire.read_length(data, at, end)
        return data[at:stop], stop


@dataclass(frozen=True, slots=True)
class Text(Scalar):
    """Text, as the bytes of UTF-8."""

    def encode(self, value: str) -> bytes:
        return wire.encode_bytes(value.encode())

    def read(self, data: bytes, at: int, end: int) -> tuple[Any, int]:
        at, stop = wire.read_length(data, at, end)
        try:
            return data[at:stop].decode(), stop
        except UnicodeDecodeError:
            raise wire.DecodeError(f"a string is not UTF-8: {data[at:stop][:40]!r}") from None


def _given(values: Any) -> tuple[Any, set[type]]:
    """Values as an array or a list, and the types that they are of."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values, {values.dtype.type}
    given = list(values)
    return given, set(map(type, given))


class Enum:
    """A set of named numbers. Other numbers are kept as they are.

    >>> level = Enum(DEFAULT=0, OFF=-1, ON_1=1)
    >>> level.Value("ON_1"), level.Name(-1)
    (1, 'OFF')
    """

    def __init__(self, **numbers: int) -> None:
        self._numbers = numbers
        self._names = {number: name for name, number in numbers.items()}
        self.scalar = Whole("enum", 0, self._check, _two, _signed(32))

    def Value(self, name: str) -> int:
        """The number of a name. ValueError if there is none."""
        if name not in self._numbers:
            raise ValueError(f"there is no value {name!r}; there are {', '.join(self._numbers)}")
        return self._numbers[name]

    def Name(self, number: int) -> str:
        """The name of a number. ValueError if there is none."""
        if number not in self._names:
            raise ValueError(f"no value has the number {number}")
        return self._names[number]

    def keys(self) -> list[str]:
        return list(self._numbers)

    def values(self) -> list[int]:
        return list(self._numbers.values())

    def items(self) -> list[tuple[str, int]]:
        return list(self._numbers.items())

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __getattr__(self, name: str) -> int:
        if name in self._numbers:
            return self._numbers[name]
        raise AttributeError(f"there is no value {name!r}; there are {', '.join(self._numbers)}")

    def text(self, number: int) -> str:
        """Return the text of a number: its name, or the number itself if it has none."""
        return self._names.get(number, str(number))

    def _check(self, value: Any) -> int:
        return self.Value(value) if isinstance(value, str) else _INT32(value)


def _refused(value: Any, expected: str) -> TypeError:
    return TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: {expected}")


def _whole(value: Any, expected: str) -> int:
    if isinstance(value, np.bool_):
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        raise _refused(value, expected) from None


def _integer(bits: int, signed: bool) -> Callable[[Any], int]:
    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)

    def check(value: Any) -> int:
        number = _whole(value, "int")
        if not low <= number < high:
            raise ValueError(f"Value out of range: {number} is not in [{low}, {high})")
        return number

    return check


def _real(value: Any) -> float:
    if isinstance(value, int | float | np.number | np.bool_) and not isinstance(value, complex):
        return float(value)
    raise _refused(value, "int, float")


def _single(value: Any) -> float:
    number = _real(value)
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def _boolean(value: Any) -> bool:
    if isinstance(value, float):
        return bool(value)
    return bool(_whole(value, "int, bool"))


def _string(value: Any) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{value!r} has type bytes, but is not valid UTF-8") from None
    if isinstance(value, str):
        return str(value)
    raise _refused(value, "bytes, str")


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return bytes(value)
    raise _refused(value, "bytes")


def _two(value: int) -> int:
    return value & wire.MASK64


def _signed(bits: int) -> Callable[[int], int]:
    half, mask = 1 << bits - 1, (1 << bits) - 1
    return lambda number: ((number & mask) ^ half) - half


def _zigzag(value: int) -> int:
    return (value << 1 ^ value >> 63) & wire.MASK64


def _unzigzag(number: int) -> int:
    return number >> 1 ^ -(number & 1)


_INT32 = _integer(32, True)

SCALARS: dict[str, Scalar] = {
    scalar.name: scalar
    for scalar in (
        Whole("int32", 0, _INT32, _two, _signed(32)),
        Whole("int64", 0, _integer(64, True), _two, _signed(64)),
        Whole("uint32", 0, _integer(32, False), cooked=lambda number: number & 0xFFFFFFFF),
        Whole("uint64", 0, _integer(64, False)),
        Whole("sint64", 0, _integer(64, True), _zigzag, _unzigzag),
        Whole("bool", False, _boolean, int, bool),
        Fixed("float", 0.0, _single, "<f"),
        Fixed("double", 0.0, _real, "<d"),
        Fixed("fixed32", 0, _integer(32, False), "<I"),
        Fixed("fixed64", 0, _integer(64, False), "<Q"),
        Text("string", "", _string),
        Bytes("bytes", b"", _bytes),
    )
}
