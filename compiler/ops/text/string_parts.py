"""Ops that take strings apart, and that put many into one."""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import EVERY, int32, int64, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, require
from staticgraph.compiler.graph.shapes import Shape, TensorType, normalize_axis
from staticgraph.compiler.ops.kinds import host
from staticgraph.compiler.ops.text.strings import STRINGS, shown, strings
from staticgraph.compiler.ops.text.summaries import both_ends

_INDEX = frozenset({int32, int64})
_ENCODINGS = ("UTF-8", "UTF-16-BE", "UTF-32-BE")
_REPLACEMENT = 0xFFFD

# Splitting: the places, values and shape of a sparse matrix, one row for each string


def _split_type(x: TensorType, separator: TensorType, **_: Any) -> tuple[TensorType, ...]:
    require(x.rank in (None, 1), f"the strings have shape {list(x.shape or ())}, they must be a vector")
    require(separator.rank in (None, 0), "the separator must be one string")
    return TensorType(int64, (None, 2)), TensorType(string, (None,)), TensorType(int64, (2,))


def _sparse(rows: list[list[bytes]]) -> tuple[Any, ...]:
    places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = np.empty(len(places), object)
    values[:] = [part for row in rows for part in row]
    shape = np.array([len(rows), max(map(len, rows), default=0)], np.int64)
    return np.array(places, np.int64).reshape(-1, 2), values, shape


@host(tf="StringSplit", type=_split_type, dtypes=STRINGS)
def string_split(input: Any, delimiter: Any, *, skip_empty: bool = True) -> Any:
    """The parts of each string between bytes of `delimiter`; each byte where it is empty.

    `skip_empty` leaves out those of no length.
    """
    one = _one(delimiter, "delimiter")
    return _sparse([_between(s, one, skip_empty) if s else [] for s in input])


def _one(separator: Any, name: str) -> bytes:
    """The only string of an operand, whose shape is known now."""
    if separator.ndim:
        raise InvalidArgumentError(f"{name} must be a scalar, got shape: {list(separator.shape)}")
    found: bytes = separator[()]
    return found


def _between(value: bytes, delimiters: bytes, skip_empty: bool) -> list[bytes]:
    if not delimiters:
        parts = [value[i : i + 1] for i in range(len(value))]
    else:
        one = delimiters[:1]
        parts = value.translate(bytes.maketrans(delimiters, one * len(delimiters))).split(one)
    return [part for part in parts if part or not skip_empty]


@host(tf="StringSplitV2", type=_split_type, dtypes=STRINGS)
def string_split_v2(input: Any, sep: Any, *, maxsplit: int = -1) -> Any:
    """The parts of each string between separators, or if there is none between white space.

    A positive `maxsplit` limits how often a string is cut.
    """
    one = _one(sep, "sep")
    return _sparse([_parts(s, one, maxsplit) for s in input])


def _parts(value: bytes, separator: bytes, most: int) -> list[bytes]:
    if separator:
        return value.split(separator, most if most > 0 else -1)
    if most <= 0:
        return value.split()
    # TensorFlow keeps an empty rest behind the last split, which Python drops.
    parts = value.split(None, most)
    return [*parts, b""] if len(parts) == most else parts


# Joining


def _reduced(shape: Shape | None, axis: Any, keep_dims: bool) -> Shape | None:
    if shape is None or axis is None:
        return None
    axes = _axes(axis, len(shape))
    if keep_dims:
        return tuple(1 if d in axes else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in axes)


def _axes(axis: int | Sequence[int], rank: int) -> list[int]:
    listed = (axis,) if isinstance(axis, int) else axis
    axes = [normalize_axis(int(a), rank) for a in listed]
    require(len(set(axes)) == len(axes), f"an axis occurs twice in {list(listed)}")
    return axes


def _reduce_type(x: TensorType, axis: Any, keep_dims: bool, separator: str) -> TensorType:
    return TensorType(string, _reduced(x.shape, axis, keep_dims))


@host(
    tf="ReduceJoin", type=_reduce_type, dtypes=STRINGS,
    operands={"axis": "reduction_indices"}, partial=("axis",),
)
def reduce_join(inputs: Any, *, axis: Any, keep_dims: bool = False, separator: str = "") -> Any:
    """The strings along `axis` in one, with a `separator` between them.

    The axis that is named first runs fastest. `keep_dims` keeps the axes, with size one.
    """
    axes = _axes(axis, inputs.ndim)
    kept = [d for d in range(inputs.ndim) if d not in axes]
    if not axes:
        return inputs
    rows = inputs.transpose(kept + axes[::-1])
    rows = rows.reshape(math.prod(rows.shape[: len(kept)]), math.prod(rows.shape[len(kept) :]))
    shape: Any = _reduced(inputs.shape, tuple(axes), keep_dims)
    joined = map(separator.encode().join, rows.tolist())
    return strings(joined, np.empty(shape, object))


def _segment_join_type(x: TensorType, ids: TensorType, num_segments: Any, separator: str) -> TensorType:
    if x.shape is None or ids.shape is None:
        return TensorType(string, None)
    return TensorType(string, (num_segments, *x.shape[len(ids.shape) :]))


@host(
    tf="UnsortedSegmentJoin", type=_segment_join_type, vars={"segment_ids": "I"},
    dtypes={"T": STRINGS, "I": _INDEX}, operands=("num_segments",), partial=("num_segments",),
)
def unsorted_segment_join(inputs: Any, segment_ids: Any, *, num_segments: Any, separator: str = "") -> Any:
    """The strings of each of `num_segments` segments in one, with a `separator` between them."""
    count, rank = int(num_segments), segment_ids.ndim
    if inputs.shape[:rank] != segment_ids.shape:
        raise InvalidArgumentError(
            f"the ids have shape {list(segment_ids.shape)}, and inputs {list(inputs.shape)}"
        )
    if segment_ids.size and (segment_ids.min() < 0 or segment_ids.max() >= count):
        raise InvalidArgumentError(
            f"the ids are from {segment_ids.min()} to {segment_ids.max()}, of {count} segments"
        )
    rows = inputs.reshape(segment_ids.size, -1)
    found: dict[tuple[int, int], list[bytes]] = {}
    for segment, row in zip(segment_ids.ravel().tolist(), rows, strict=True):
        for place, value in enumerate(row):
            found.setdefault((segment, place), []).append(value)
    out = np.full((count, rows.shape[1]), b"", object)
    for at, values in found.items():
        out[at] = separator.encode().join(values)
    return out.reshape(count, *inputs.shape[rank:])


# Text about tensors


def _format_type(*inputs: TensorType, template: str, placeholder: str, summarize: int) -> TensorType:
    holes = template.count(placeholder)
    require(holes == len(inputs), f"the template has {holes} places, and there are {len(inputs)} tensors")
    return TensorType(string, ())


@host(tf="StringFormat", type=_format_type, vars={"inputs": "*"}, dtypes={"*": EVERY})
def string_format(*inputs: Any, template: str, placeholder: str = "{}", summarize: int = 3) -> Any:
    """A `template` in which each `placeholder` is replaced by a tensor.

    Of each axis the first and the last `summarize` elements are shown, or all where it is negative.
    """
    first, *rest = template.split(placeholder)
    texts = (both_ends(array, summarize) for array in inputs)
    return "".join([first, *(t + r for t, r in zip(texts, rest, strict=True))]).encode(
        errors="surrogateescape"
    )


# Unicode


def _require_encoding(encoding: str, errors: str) -> None:
    require(
        encoding in _ENCODINGS, f"the encoding is {encoding!r}, it must be one of {', '.join(_ENCODINGS)}"
    )
    _require_errors(errors)


def _require_errors(errors: str) -> None:
    known = ("strict", "replace", "ignore")
    require(errors in known, f"errors is {errors!r}, it must be one of {', '.join(known)}")


_BAD = 0xDC00  # plus the number of bytes: a code that no text has, for bytes that are no character


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError), error
    return chr(_BAD + error.end - error.start), error.end


codecs.register_error("staticgraph.mark", _mark)


def _characters(
    value: bytes, encoding: str, errors: str, replacement: int, controls: bool
) -> list[tuple[int, int]]:
    """The code points of a text, each with the byte where it begins."""
    try:
        "".encode(encoding)
    except LookupError:
        raise InvalidArgumentError(f"{encoding!r} is not an encoding of text") from None
    out: list[tuple[int, int]] = []
    at = 0
    for character in value.decode(encoding, "staticgraph.mark"):
        code = ord(character)
        if not _BAD <= code < 0xE000:
            out.append((replacement if controls and code < 0x20 else code, at))
            at += len(character.encode(encoding))
        elif errors == "strict":
            raise InvalidArgumentError(f"the string {shown(value)} is not {encoding} at byte {at}")
        else:
            out += [(replacement, at)] * (errors == "replace")
            at += code - _BAD
    return out


def _encoded(codes: Iterable[int], encoding: str, errors: str, replacement: int) -> bytes:
    def checked(code: int) -> str:
        if 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000:
            return chr(code)
        if errors == "strict":
            raise InvalidArgumentError(f"{code} is not the code point of a character")
        return "" if errors == "ignore" else chr(replacement)

    return "".join(map(checked, codes)).encode(encoding)


def _transcode_type(x: TensorType, output_encoding: str, errors: str, **_: Any) -> TensorType:
    _require_encoding(output_encoding, errors)
    return x


@host(tf="UnicodeTranscode", type=_transcode_type, dtypes=STRINGS)
def unicode_transcode(
    input: Any,
    *,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
) -> Any:
    """Return the texts, which are in `input_encoding`, in `output_encoding`.

    Bytes that are no character are an error, replaced by `replacement_char`, or left out, as `errors` says.
    Control characters are replaced, whatever `errors` says, if `replace_control_characters` is True.
    """

    def transcoded(value: bytes) -> bytes:
        found = _characters(value, input_encoding, errors, replacement_char, replace_control_characters)
        return _encoded((code for code, _ in found), output_encoding, errors, replacement_char)

    return strings(map(transcoded, input.flat), input)


def _decode_type(x: TensorType, errors: str, **_: Any) -> tuple[TensorType, ...]:
    _require_errors(errors)
    count = math.prod(x.static_shape) + 1 if x.is_static else None
    return TensorType(int64, (count,)), TensorType(int32, (None,)), TensorType(int64, (None,))


@host(tf="UnicodeDecodeWithOffsets", type=_decode_type, dtypes=STRINGS)
def unicode_decode_with_offsets(
    input: Any,
    *,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
) -> Any:
    """Decode texts in `input_encoding`. Return the ends of the texts, the code points and the byte offsets.

    The code points of all texts are in a row. The ends are 0 and then the end of each text in this row. The
    byte offsets are those at which each code point begins in its text. Bytes that are no character raise an
    error, are replaced by `replacement_char` or are ignored, as `errors` says. Control characters are
    replaced by `replacement_char` if `replace_control_characters`.
    """
    found = [
        _characters(s, input_encoding, errors, replacement_char, replace_control_characters)
        for s in input.flat
    ]
    ends = np.cumsum([0, *map(len, found)], dtype=np.int64)
    pairs = np.array([pair for row in found for pair in row], np.int64).reshape(-1, 2)
    return ends, pairs[:, 0].astype(np.int32), pairs[:, 1]


def _encode_type(x: TensorType, output_encoding: str, errors: str, **_: Any) -> TensorType:
    _require_encoding(output_encoding, errors)
    require(x.rank is None or x.rank > 0, "the code points of a text are a vector")
    return TensorType(string, None if x.shape is None else x.shape[:-1])


@host(tf="UnicodeEncode", type=_encode_type, vars={"input_values": "int32"})
def unicode_encode(
    input_values: Any, *, output_encoding: str, errors: str = "replace", replacement_char: int = _REPLACEMENT
) -> Any:
    """The texts, in `output_encoding`, of the code points along the last axis.

    What is no character is an error, replaced by `replacement_char` or ignored, as `errors` says.
    """
    rows = input_values.reshape(-1, input_values.shape[-1]).tolist()
    made = (_encoded(row, output_encoding, errors, replacement_char) for row in rows)
    return strings(made, np.empty(input_values.shape[:-1], object))
