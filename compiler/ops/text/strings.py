"""Ops that make one string, or one number, of each string; and strings of numbers.

A string is bytes. Text in it is UTF-8, which matters only where characters are counted or change their case.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from staticgraph.compiler.graph import dtypes
from staticgraph.compiler.graph.dtypes import DType, bool_, int32, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, require
from staticgraph.compiler.graph.shapes import TensorType, broadcast, merge
from staticgraph.compiler.ops.kinds import host, same_type

STRINGS = frozenset({string})
_PRINTED = frozenset(
    {dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.bool_}
    | {dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128}
)
_NUMBERS = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
_POSITIONS = frozenset({dtypes.int32, dtypes.int64})

_INTEGER = re.compile(rb"-?[0-9]+")
_REAL = re.compile(rb"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|nan)", re.IGNORECASE)
_HEXADECIMAL = re.compile(rb"[+-]?0x[0-9a-f]+", re.IGNORECASE)
_BASE64 = re.compile(rb"[A-Za-z0-9_-]*={0,2}")


def strings(made: Iterable[bytes], like: np.ndarray) -> np.ndarray:
    """Strings as an array of the shape of another."""
    out = np.empty(like.shape, object)
    out.reshape(-1)[:] = list(made)
    return out


def shown(value: bytes) -> str:
    """A string as it stands in a message: its beginning, where it is long."""
    text = repr(value[:64].decode(errors="replace"))
    return text if len(value) <= 64 else f"{text}..."


# Case, ends, length


def _changed(value: bytes, encoding: str, change: Callable[[Any], Any]) -> bytes:
    if not encoding:
        return bytes(change(value))
    return str(change(value.decode(errors="surrogateescape"))).encode(errors="surrogateescape")


def _encoding_type(x: TensorType, encoding: str) -> TensorType:
    require(encoding in ("", "utf-8"), f"the encoding is {encoding!r}, it must be 'utf-8', or '' for ASCII")
    return x


@host(tf="StringLower", type=_encoding_type, dtypes=STRINGS)
def string_lower(input: Any, *, encoding: str = "") -> Any:
    """The strings in lower case: the letters of ASCII, or all where the `encoding` is "utf-8"."""
    return strings((_changed(s, encoding, lambda t: t.lower()) for s in input.flat), input)


@host(tf="StringUpper", type=_encoding_type, dtypes=STRINGS)
def string_upper(input: Any, *, encoding: str = "") -> Any:
    """The strings in upper case: the letters of ASCII, or all where the `encoding` is "utf-8"."""
    return strings((_changed(s, encoding, lambda t: t.upper()) for s in input.flat), input)


@host(tf="StringStrip", type=same_type, dtypes=STRINGS)
def string_strip(input: Any) -> Any:
    """The strings without white space at both ends."""
    return strings((s.strip() for s in input.flat), input)


def _starts(value: bytes) -> list[int]:
    """Return the byte offsets at which the characters of a text in UTF-8 begin."""
    return [at for at, byte in enumerate(value) if byte & 0xC0 != 0x80]


def _require_unit(unit: str) -> None:
    require(unit in ("BYTE", "UTF8_CHAR"), f"the unit is {unit!r}, it must be 'BYTE' or 'UTF8_CHAR'")


def _length_type(x: TensorType, unit: str) -> TensorType:
    _require_unit(unit)
    return TensorType(int32, x.shape)


@host(tf="StringLength", type=_length_type, dtypes=STRINGS)
def string_length(input: Any, *, unit: str = "BYTE") -> Any:
    """The length of each string, in the `unit`: "BYTE", or "UTF8_CHAR" for characters."""
    counted = (len(s) if unit == "BYTE" else len(_starts(s)) for s in input.flat)
    return np.fromiter(counted, np.int32, input.size).reshape(input.shape)


def _substr_type(x: TensorType, pos: TensorType, len: TensorType, unit: str) -> TensorType:
    _require_unit(unit)
    return TensorType(string, broadcast(x.shape, merge(pos.shape, len.shape, "the shapes of pos and len,")))


@host(tf="Substr", type=_substr_type, vars={"pos": "I", "len": "I"}, dtypes={"T": STRINGS, "I": _POSITIONS})
def substr(input: Any, pos: Any, len: Any, *, unit: str = "BYTE") -> Any:
    """At most `len` bytes or characters, as `unit` says, from `pos` on, which may count from the end."""
    if pos.shape != len.shape:
        raise InvalidArgumentError(f"pos has shape {list(pos.shape)} and len {list(len.shape)}")
    whole, begin, count = np.broadcast_arrays(input, pos, len)
    return strings(map(_part, whole.flat, begin.flat, count.flat, [unit] * whole.size), whole)


def _part(value: bytes, begin: int, count: int, unit: str) -> bytes:
    ends = [*range(len(value)), len(value)] if unit == "BYTE" else [*_starts(value), len(value)]
    size = len(ends) - 1
    first = begin + size if begin < 0 else begin
    if not 0 <= first <= size:
        raise InvalidArgumentError(
            f"position {begin} is out of range for the string {shown(value)} of {size}"
        )
    if count < 0:  # as in TensorFlow, of which the rest of the bytes, or no character
        count = size if unit == "BYTE" else 0
    last = min(first + count, size)
    return value[ends[first] : ends[last]]


def _join_type(*inputs: TensorType, separator: str) -> TensorType:
    require(inputs, "there is nothing to join")
    known = None
    for x in inputs:
        if x.shape:
            known = merge(known, x.shape)
    unknown = any(x.shape is None for x in inputs)
    return TensorType(string, known if known is not None or unknown else ())


@host(tf="StringJoin", type=_join_type, dtypes=STRINGS)
def string_join(*inputs: Any, separator: str = "") -> Any:
    """The corresponding strings of all inputs with a `separator` between them; a scalar is taken for each."""
    shapes = {x.shape for x in inputs if x.ndim}
    if len(shapes) > 1:
        raise InvalidArgumentError(f"the shapes {' and '.join(str(list(s)) for s in sorted(shapes))} differ")
    parts = np.broadcast_arrays(*inputs)
    return strings(map(separator.encode().join, zip(*(p.flat for p in parts), strict=True)), parts[0])


# Numbers


def _as_string_type(
    x: TensorType, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> TensorType:
    real = x.dtype.is_floating or x.dtype.is_complex
    require(real or precision < 0, f"precision is for floating numbers, and input is {x.dtype.name}")
    require(
        real or not (scientific or shortest), f"only floating numbers have a notation, not {x.dtype.name}"
    )
    require(not (scientific and shortest), "the notation is scientific or the shortest, not both")
    require(
        fill in ("", " ", "+", "-", "0", "#"), f"fill is {fill!r}, it must be one of ' ', '+', '-', '0', '#'"
    )
    return TensorType(string, x.shape)


@host(tf="AsString", type=_as_string_type, dtypes=_PRINTED)
def as_string(
    input: Any,
    *,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
) -> Any:
    """The numbers as text, as C prints them.

    `precision` counts the digits behind the point; the notation is `scientific`, or the `shortest`, or
    neither.
    Texts shorter than `width` are filled up in the way that the letter `fill` stands for in C.
    """
    if input.dtype.kind == "b":
        return strings((b"true" if v else b"false" for v in input.flat), input)
    letter = "d" if input.dtype.kind == "i" else "g" if shortest else "e" if scientific else "f"
    size = f"{fill}{width}" if width > -1 else ""
    form = f"%{size}.{precision}{letter}" if precision > -1 else f"%{size}{letter}"

    def printed(value: Any) -> str:
        if isinstance(value, complex):
            return f"({printed(value.real)},{printed(value.imag)})"
        blank = size.startswith("0") and not math.isfinite(value)  # C fills up numbers only
        return (form.replace("0", "", 1) if blank else form) % value

    return strings((printed(v).encode() for v in input.ravel().tolist()), input)


def _number_type(x: TensorType, out_type: DType) -> TensorType:
    names = ", ".join(d.name for d in _NUMBERS)
    require(out_type in _NUMBERS, f"out_type is {out_type.name}, it must be one of {names}")
    return TensorType(out_type, x.shape)


@host(tf="StringToNumber", type=_number_type, dtypes=STRINGS)
def string_to_number(string_tensor: Any, *, out_type: DType = dtypes.float32) -> Any:
    """The numbers, of `out_type`, that the strings tell."""
    found = [number(s, out_type) for s in string_tensor.flat]
    return np.array(found, out_type.numpy).reshape(string_tensor.shape)


def number(text: bytes, dtype: DType) -> Any:
    """The number that a text tells. InvalidArgumentError if it tells none of this type."""
    found = _parsed(text.strip(), dtype)
    if found is None:
        raise InvalidArgumentError(f"the string {shown(text)} is not a number of type {dtype.name}")
    return found


def _parsed(text: bytes, dtype: DType) -> Any:
    if len(text) > 1000:  # Python refuses digits without end
        return None
    if dtype.is_integer:
        found = int(text) if _INTEGER.fullmatch(text) else None
        return found if found is not None and dtype.min <= found <= dtype.max else None
    if _REAL.fullmatch(text):
        return dtype.numpy.type(float(text))
    return dtype.numpy.type(int(text, 16)) if _HEXADECIMAL.fullmatch(text) else None


# Base64


@host(tf="EncodeBase64", type=same_type, dtypes=STRINGS)
def encode_base64(input: Any, *, pad: bool = False) -> Any:
    """The bytes in base64, with the letters that a URL may have; with `pad`, in groups of four."""
    import base64  # what few programs need takes milliseconds to import

    encoded = map(base64.urlsafe_b64encode, input.flat)
    return strings((s if pad else s.rstrip(b"=") for s in encoded), input)


@host(tf="DecodeBase64", type=same_type, dtypes=STRINGS)
def decode_base64(input: Any) -> Any:
    """The bytes that stand in base64, with the letters that a URL may have."""
    return strings(map(_from_base64, input.flat), input)


def _from_base64(text: bytes) -> bytes:
    import base64

    bare = text.rstrip(b"=")
    padded = len(bare) < len(text)
    if not _BASE64.fullmatch(text) or len(bare) % 4 == 1 or (padded and len(text) % 4):
        raise InvalidArgumentError(f"the string {shown(text)} is not base64")
    return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))


# Regular expressions


def _decoded(value: bytes) -> str:
    return value.decode(errors="surrogateescape")


def _scalar(x: TensorType, what: str) -> None:
    require(x.rank in (None, 0), f"the {what} has shape {list(x.shape or ())}, it must be one string")


def _replaced(input: np.ndarray, pattern: str, rewrite: str, everywhere: bool) -> np.ndarray:
    from staticgraph.compiler.ops.text.regular_expressions import replace  # few programs need the engine

    texts = (replace(pattern, rewrite, _decoded(s), everywhere) for s in input.flat)
    return strings((t.encode(errors="surrogateescape") for t in texts), input)


def _matched(input: np.ndarray, pattern: str) -> np.ndarray:
    from staticgraph.compiler.ops.text.regular_expressions import compiled

    match = compiled(pattern).fullmatch
    return np.array([match(_decoded(s)) is not None for s in input.flat], bool).reshape(input.shape)


def _replace_type(x: TensorType, pattern: TensorType, rewrite: TensorType, **_: Any) -> TensorType:
    _scalar(pattern, "pattern")
    _scalar(rewrite, "rewrite")
    return x


@host(tf="StaticRegexReplace", type=lambda x, **_: x, dtypes=STRINGS)
def static_regex_replace(input: Any, *, pattern: str, rewrite: str, replace_global: bool = True) -> Any:
    """The strings with the first match of `pattern`, or with `replace_global` each, as `rewrite` tells."""
    return _replaced(input, pattern, rewrite, replace_global)


@host(tf="RegexReplace", type=_replace_type, dtypes=STRINGS)
def regex_replace(input: Any, pattern: Any, rewrite: Any, *, replace_global: bool = True) -> Any:
    """The strings with what an expression matches replaced, or the first only without `replace_global`."""
    return _replaced(input, _decoded(pattern[()]), _decoded(rewrite[()]), replace_global)


@host(tf="StaticRegexFullMatch", type=lambda x, pattern: TensorType(bool_, x.shape), dtypes=STRINGS)
def static_regex_full_match(input: Any, *, pattern: str) -> Any:
    """Test if the expression `pattern` matches each string as a whole."""
    return _matched(input, pattern)


def _match_type(x: TensorType, pattern: TensorType) -> TensorType:
    _scalar(pattern, "pattern")
    return TensorType(bool_, x.shape)


@host(tf="RegexFullMatch", type=_match_type, dtypes=STRINGS)
def regex_full_match(input: Any, pattern: Any) -> Any:
    """Test if an expression matches each string as a whole."""
    return _matched(input, _decoded(pattern[()]))
