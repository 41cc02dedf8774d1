"""The element types of tensors, and arrays of strings.

A `DType` is one of a fixed set of objects, so the compiler compares with `is`; for users, each is also equal
to whatever names it, such as `numpy.float32`. Its `numpy` type is what a fetched value has. NumPy has no
bfloat16: such values cross the boundary as float32 (whose upper half they are) and every op rounds its
bfloat16 results with `DType.round`.

A string is any sequence of bytes, and arrays of them are object arrays, as TF1 fetches them. NumPy's own
arrays of bytes have one length for all elements and drop zero bytes at the end, so they are only taken as
input.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import misuse, shown


class DType:
    """The type of the elements of a tensor, such as `float32`.

    >>> from staticgraph.compiler.graph.dtypes import as_dtype, float32
    >>> as_dtype("float32") is float32, float32.is_floating, float32.size
    (True, True, 4)

    Attributes:
        name: The name, such as "float32".
        numpy: The `numpy.dtype` of fetched values.
        size: Bytes per element in compiled code.
        kind: "float", "int", "uint", "bool", "complex" or "string".
        is_floating: True for floating types.
        is_integer: True for integers with and without a sign.
        is_unsigned: True for integers without a sign.
        is_bool: True for truth values.
        is_complex: True for complex numbers.
        is_differentiable: True if gradients flow through tensors of this type.
    """

    __slots__ = (
        "name",
        "numpy",
        "size",
        "kind",
        "is_floating",
        "is_integer",
        "is_unsigned",
        "is_bool",
        "is_complex",
        "is_differentiable",
        "__hash__",
    )

    def __init__(self, name: str, numpy: Any, size: int, kind: str) -> None:
        self.name = name
        self.numpy = np.dtype(numpy)
        self.size = size
        self.kind = kind
        self.is_floating = kind == "float"
        self.is_integer = kind in ("int", "uint")
        self.is_unsigned = kind == "uint"
        self.is_bool = kind == "bool"
        self.is_complex = kind == "complex"
        self.is_differentiable = kind in ("float", "complex")
        # Equal to that of the `numpy.dtype` that this type is equal to; NumPy has none for bfloat16.
        # A method in C, since tables by dtype are asked all the time.
        hashed = hash(name if name == "bfloat16" else self.numpy)
        self.__hash__ = hashed.__int__  # type: ignore[method-assign]

    @property
    def as_numpy_dtype(self) -> type:
        """The NumPy scalar type of fetched values, such as `numpy.float32`."""
        return self.numpy.type

    @property
    def base_dtype(self) -> DType:
        """The type itself; TF1 had a reference variant of each type."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The type of the real part: float32 for complex64, the type itself otherwise."""
        return {complex64: float32, complex128: float64}.get(self, self)

    @property
    def as_datatype_enum(self) -> int:
        """The number of the type in TensorFlow's messages, such as 1 for float32; `as_dtype` takes it."""
        return _NUMBERS[self.name]

    @property
    def is_numpy_compatible(self) -> bool:
        return self is not bfloat16

    @property
    def min(self) -> Any:
        """The smallest value: most negative finite float, least integer, False."""
        return _limits(self)[0]

    @property
    def max(self) -> Any:
        """The largest finite value."""
        return _limits(self)[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of pixels of this type in TF1's image functions, from 0: to 1 for floating types."""
        return 0, 1 if self.is_floating else self.max

    @property
    def is_quantized(self) -> bool:
        """False: TF1's quantized types are not supported."""
        return False

    def is_compatible_with(self, other: Any) -> bool:
        """Return if `other` names this type. TypeError if it names none."""
        return as_dtype(other) is self

    def round(self, value: Any) -> np.ndarray:
        """`value` as an array of this type's NumPy carrier, rounded to what the type can hold."""
        if self is string:
            return as_strings(value)
        try:
            array = np.asarray(value, self.numpy)
        except (ValueError, RecursionError):
            raise misuse(ValueError, f"{shown(value)} is no array of {self.name}") from None
        return round_to_bfloat16(array) if self is bfloat16 else array

    def to_bytes(self, value: Any) -> bytes:
        """The elements as compiled code and files hold them,
        row-major: bfloat16 as the upper halves of float32.
        """
        if self is string:
            return join_strings(self.round(value))
        return bytes(self.memory(value))

    def memory(self, value: Any) -> memoryview:
        """Return the result of `to_bytes` as a view, without a copy if `value` has that layout in memory.

        Strings are not supported.
        """
        array = np.ascontiguousarray(self.round(value)).reshape(-1)
        if self is bfloat16:
            array = (array.view(np.uint32) >> 16).astype(np.uint16)
        return array.view(np.uint8).data

    def from_bytes(self, data: Any, shape: tuple[int, ...]) -> np.ndarray:
        """The array that `to_bytes` was given; a view of `data` except for bfloat16."""
        if self is string:
            return split_strings(bytes(data), shape)
        if self is bfloat16:
            halves = np.frombuffer(data, np.uint16).astype(np.uint32)
            return (halves << 16).view(np.float32).reshape(shape)
        return np.frombuffer(data, self.numpy).reshape(shape)

    def __eq__(self, other: object) -> bool:
        """Return if `other` is this type, or names it as `as_dtype` takes it, such as `numpy.float32`."""
        if isinstance(other, DType) or other is None:
            return self is other
        return _found(other) is self

    def __repr__(self) -> str:
        return f"sg.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"  # as TensorFlow prints it

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)  # in a text, the name alone

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


def round_to_bfloat16(array: np.ndarray) -> np.ndarray:
    """Float32 values with their lower 16 bits rounded away, to nearest and ties to even; NaN stays NaN."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = (bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(array), np.float32(np.nan), rounded.view(np.float32).reshape(np.shape(array)))


float16 = DType("float16", np.float16, 2, "float")
float32 = DType("float32", np.float32, 4, "float")
float64 = DType("float64", np.float64, 8, "float")
bfloat16 = DType("bfloat16", np.float32, 2, "float")
int8 = DType("int8", np.int8, 1, "int")
int16 = DType("int16", np.int16, 2, "int")
int32 = DType("int32", np.int32, 4, "int")
int64 = DType("int64", np.int64, 8, "int")
uint8 = DType("uint8", np.uint8, 1, "uint")
uint16 = DType("uint16", np.uint16, 2, "uint")
uint32 = DType("uint32", np.uint32, 4, "uint")
uint64 = DType("uint64", np.uint64, 8, "uint")
bool_ = DType("bool", np.bool_, 1, "bool")
complex64 = DType("complex64", np.complex64, 8, "complex")
complex128 = DType("complex128", np.complex128, 16, "complex")
string = DType("string", np.object_, 8, "string")

# fmt: off
DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        float16, float32, float64, bfloat16, int8, int16, int32, int64,
        uint8, uint16, uint32, uint64, bool_, complex64, complex128, string,
    )
}
# fmt: on
_BY_NUMPY = {d.numpy: d for d in DTYPES.values() if d is not bfloat16}
_IN_MESSAGES = """
    - float32 float64 int32 uint8 int16 int8 string complex64 int64 bool - - - bfloat16
    - - uint16 complex128 float16 - - uint32 uint64
"""  # of TensorFlow's types.proto
_NUMBERS = {name: number for number, name in enumerate(_IN_MESSAGES.split()) if name in DTYPES}
_BY_NUMBER = {number: DTYPES[name] for name, number in _NUMBERS.items()}
REFERENCE = 100  # the number of the type of a variable's buffer is that of its elements plus this
_ALIASES = {"half": float16, "float": float32, "double": float64}

FLOATING = frozenset({float16, bfloat16, float32, float64})
INTEGER = frozenset({int8, int16, int32, int64, uint8, uint16, uint32, uint64})
UNSIGNED = {1: uint8, 2: uint16, 4: uint32, 8: uint64}  # by size
SIGNED = frozenset({int8, int16, int32, int64}) | FLOATING
REAL = FLOATING | INTEGER
COMPLEX = frozenset({complex64, complex128})
NUMERIC = REAL | COMPLEX
BOOLEAN = frozenset({bool_})
ANY = NUMERIC | BOOLEAN
EVERY = ANY | {string}
_GROUPS = (("floating", FLOATING), ("an integer", INTEGER), ("complex", COMPLEX))


def sum_dtype(dtype: DType) -> DType:
    """Return the dtype in which integers that are averaged are summed and counted: one of 64 bits."""
    return int64 if dtype.is_integer and dtype.size < 8 else dtype


def dtypes_text(dtypes: Collection[DType]) -> str:
    """Return the text of a choice of dtypes, for messages: `floating, int32 or int64`."""
    left, words = set(dtypes), []
    for word, group in _GROUPS:
        if group <= left:
            words.append(word)
            left -= group
    words += [dtype.name for dtype in DTYPES.values() if dtype in left]
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def as_dtype(type_value: Any) -> DType:
    """Return the `DType` that `type_value` names: a DType, a name, a number of TensorFlow's messages, a NumPy
    type or a Python type.

    Raises:
        TypeError: If it names none.
    """
    found = _found(type_value)
    if found is None:
        hint = f"these are: {', '.join(DTYPES)}"
        raise misuse(TypeError, f"{shown(type_value)} is not an element type", hint)
    return found


def _found(type_value: Any) -> DType | None:
    """Return the `DType` that `type_value` names, or None."""
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, np.dtype) and type_value in _BY_NUMPY:
        return _BY_NUMPY[type_value]
    if isinstance(type_value, str):
        name = type_value.removesuffix("_ref")
        if found := DTYPES.get(name) or _ALIASES.get(name):
            return found
    if type_value is None:
        return None  # NumPy takes it as float64
    if type(type_value) in (int, float):
        return _BY_NUMBER.get(type_value - REFERENCE if type_value > REFERENCE else type_value)
    if type_value is float:
        return float32
    if type_value is int:
        return int32
    if type_value is str or type_value is bytes:
        return string
    try:
        dtype = np.dtype(type_value)
    except (TypeError, ValueError, RecursionError):
        return None
    if dtype.kind in "US":
        return string
    if (
        dtype.kind == "V" and dtype.name == "bfloat16"
    ):  # that of the package ml_dtypes, which JAX and others use
        return bfloat16
    is_object = dtype.kind == "O"  # as all classes are that NumPy does not know
    if is_object and type_value not in (object, np.object_, dtype):
        return None
    return _BY_NUMPY.get(dtype)


@functools.cache
def _limits(dtype: DType) -> tuple[Any, Any]:
    if dtype is bfloat16:
        largest = np.float32(3.3895314e38)
        return -largest, largest
    if dtype.is_bool:
        return False, True
    info = np.iinfo(dtype.numpy) if dtype.is_integer else np.finfo(dtype.numpy)
    return info.min, info.max


_LENGTH = np.dtype("<u8")


def as_strings(value: Any) -> np.ndarray:
    """`value` as an object array of bytes; text is encoded as UTF-8. TypeError for what is no string.

    >>> from staticgraph.compiler.graph.dtypes import as_strings
    >>> as_strings(["a", b"b"])
    array([b'a', b'b'], dtype=object)
    """
    array = np.asarray(value, object)
    if {bytes}.issuperset(map(type, array.flat)) and array.size:
        return array
    out = np.empty(array.shape, object)
    out.reshape(-1)[:] = [_bytes(v) for v in array.flat]
    return out


def blank(shape: Any, dtype: np.dtype) -> np.ndarray:
    """NumPy's zeros, and empty strings for the dtype of strings."""
    return np.full(shape, b"", object) if dtype.kind == "O" else np.zeros(shape, dtype)


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            text = f"{value!r} has half of a character, which UTF-8 cannot write"
            raise misuse(ValueError, text, "give bytes, such as those of os.fsencode") from None
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    text = f"{value!r} is not a string, and others beside it are"
    raise misuse(TypeError, text, "all are numbers, or all are strings")


def join_strings(array: np.ndarray) -> bytes:
    """The elements' lengths, eight bytes each, then the elements: the contents of a constant."""
    items = array.ravel().tolist()
    return np.array([len(v) for v in items], _LENGTH).tobytes() + b"".join(items)


def split_strings(data: bytes, shape: tuple[int, ...]) -> np.ndarray:
    """The array that `join_strings` was given. ValueError if the data are of no such array."""
    start = math.prod(shape) * _LENGTH.itemsize
    lengths = np.frombuffer(data[:start], _LENGTH) if start <= len(data) else None
    if lengths is None or sum(map(int, lengths)) != len(data) - start:
        raise ValueError(f"{len(data)} bytes are not an array of strings of shape {shape}")
    out = np.empty(shape, object)
    ends = [start + end for end in np.cumsum(lengths, dtype=np.int64).tolist()]
    items = [data[a:b] for a, b in zip([start, *ends], ends, strict=False)]
    out.reshape(-1)[:] = items
    return out
