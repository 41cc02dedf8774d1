"""Ops that read what strings hold: numbers as they lie in memory, lines of CSV, compressed bytes."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph import dtypes
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import (
    DataLossError,
    DtypeError,
    InvalidArgumentError,
    ResourceExhaustedError,
    require,
)
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.kinds import host
from staticgraph.compiler.ops.text.strings import STRINGS, number, shown, strings

_RAW = (
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
    dtypes.uint8, dtypes.uint16, dtypes.complex64, dtypes.complex128, dtypes.bool_,
)
_FIELDS = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)
_MOST = 1 << 31  # bytes that one string may be decompressed to


def _raw_type(x: TensorType, out_type: DType, little_endian: bool) -> TensorType:
    names = ", ".join(d.name for d in _RAW)
    require(out_type in _RAW, f"out_type is {out_type.name}, it must be one of {names}", kind=DtypeError)
    return TensorType(out_type, None if x.shape is None else (*x.shape, None))


@host(tf="DecodeRaw", type=_raw_type, dtypes=STRINGS)
def decode_raw(bytes: Any, *, out_type: DType, little_endian: bool = True) -> Any:
    """The numbers of `out_type` whose bytes, the lowest first if `little_endian`, the strings are."""
    sizes = sorted({len(s) for s in bytes.flat})
    if len(sizes) > 1:
        raise InvalidArgumentError(
            f"the strings have lengths from {sizes[0]} to {sizes[-1]}: they must be equal"
        )
    size = sizes[0] if sizes else 0
    if size % out_type.size:
        raise InvalidArgumentError(
            f"{size} bytes are no multiple of {out_type.size}, the size of {out_type.name}"
        )
    if out_type is dtypes.bool_:
        return np.frombuffer(b"".join(bytes.flat), np.uint8).reshape(*bytes.shape, size) != 0
    numbers = np.frombuffer(b"".join(bytes.flat), out_type.numpy).reshape(*bytes.shape, size // out_type.size)
    return numbers if little_endian == (sys.byteorder == "little") else numbers.byteswap()


# CSV


def _csv_type(
    records: TensorType, *defaults: TensorType, field_delim: str, **_: Any
) -> tuple[TensorType, ...]:
    require(len(field_delim.encode()) == 1, f"field_delim is {field_delim!r}, it must be one byte")
    for default in defaults:
        kinds = ", ".join(d.name for d in _FIELDS)
        require(
            default.dtype in _FIELDS,
            f"a default is {default.dtype.name}, it must be one of {kinds}",
            kind=DtypeError,
        )
        fits = default.shape in (None, (), (0,), (1,), (None,))
        require(
            fits, f"a default has shape {list(default.shape or ())}, it must be one value, or [] for none"
        )
    return tuple(TensorType(default.dtype, records.shape) for default in defaults)


@host(tf="DecodeCSV", type=_csv_type, vars={"records": "string", "record_defaults": "*"})
def decode_csv(
    records: Any,
    *record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] = (),
) -> Any:
    """A tensor for each column: the fields of all records.

    Fields stand between `field_delim`, in quotes that may hold it if `use_quote_delim`; what is empty or
    `na_value` becomes the default. Only the columns with the numbers `select_cols` count, or all.
    """
    wanted = frozenset(select_cols)
    delimiter = field_delim.encode()
    rows = []
    for index, record in enumerate(records.flat):
        if _is_plain(record):
            row = record.split(delimiter)
        else:
            row = [*_fields(record, delimiter, use_quote_delim)]
        if wanted:
            row = [field for column, field in enumerate(row) if column in wanted]
        if len(row) != len(record_defaults):
            raise InvalidArgumentError(f"record {index} has {len(row)} fields, not {len(record_defaults)}")
        rows.append(row)
    missing = frozenset({b"", na_value.encode()})
    return tuple(
        _column([row[column] for row in rows], column, default, missing).reshape(records.shape)
        for column, default in enumerate(record_defaults)
    )


def _column(fields: list[bytes], column: int, default: np.ndarray, missing: frozenset[bytes]) -> np.ndarray:
    dtype = dtypes.as_dtype(default.dtype)
    out = np.empty(len(fields), default.dtype)
    for row, field in enumerate(fields):
        if field not in missing:
            try:
                out[row] = field if dtype is dtypes.string else number(field, dtype)
            except InvalidArgumentError as error:
                hint = 'record_defaults tells the types of the columns: [""] is one of strings'
                text = f"field {column} of record {row}: {error.message}"
                raise InvalidArgumentError(text, hint=hint) from None
        elif default.size:
            out[row] = default.flat[0]
        else:
            text = f"field {column} of record {row} is missing, and there is no default"
            raise InvalidArgumentError(text, hint="a value in record_defaults is taken for missing fields")
    return out


def _is_plain(record: bytes) -> bool:
    """Return True for a record whose fields are all that stands between delimiters."""
    return record != b"" and b'"' not in record and b"\n" not in record and b"\r" not in record


def _fields(record: bytes, delimiter: bytes, quotes: bool) -> Iterator[bytes]:
    """The fields of one record; within quotes, a quote is written twice."""
    at, size = 0, len(record)
    while at < size:
        if record[at] in b"\r\n":
            at += 1
        elif quotes and record[at] == ord('"'):
            field, at = _quoted(record, at + 1, delimiter)
            yield field
        else:
            end = record.find(delimiter, at)
            field = record[at:] if end < 0 else record[at:end]
            if quotes and any(c in field for c in b'"\r\n'):
                raise InvalidArgumentError(
                    f"a field of {shown(record)} has a quote or line break, without quotes"
                )
            yield field
            at += len(field) + 1
    if record.endswith(delimiter):
        yield b""


def _quoted(record: bytes, at: int, delimiter: bytes) -> tuple[bytes, int]:
    """The field whose opening quote stands before `at`, and where the next one begins."""
    pieces = []
    while True:
        end = record.find(b'"', at)
        if end < 0:
            raise InvalidArgumentError(f"a quoted field of {shown(record)} has no end")
        pieces.append(record[at:end])
        after = record[end + 1 : end + 2]
        if after in (b"", delimiter):
            return b"".join(pieces), end + 2
        if after != b'"':
            raise InvalidArgumentError(f"a quote within a field of {shown(record)} is not written twice")
        pieces.append(b'"')
        at = end + 2


# Compression


def _compressed_type(x: TensorType, compression_type: str) -> TensorType:
    known = ("", "ZLIB", "GZIP")
    require(compression_type in known, f"compression_type is {compression_type!r}, it must be one of {known}")
    return x


@host(tf="DecodeCompressed", type=_compressed_type, dtypes=STRINGS)
def decode_compressed(bytes: Any, *, compression_type: str = "") -> Any:
    """The strings as they were before they were compressed: by `compression_type`, or not at all."""
    if not compression_type:
        return bytes
    form = zlib.MAX_WBITS | (16 if compression_type == "GZIP" else 0)
    return strings((_inflated(s, form) for s in bytes.flat), bytes)


def _inflated(data: bytes, form: int) -> bytes:
    out = []
    left = _MOST
    while data:
        stream = zlib.decompressobj(form)
        try:
            out.append(stream.decompress(data, left))
        except zlib.error as error:
            raise DataLossError(f"{shown(data)} cannot be decompressed: {error}") from None
        left -= len(out[-1])
        if stream.unconsumed_tail or left <= 0:
            raise ResourceExhaustedError(f"a string is decompressed to more than {_MOST} bytes")
        if not stream.eof:
            raise DataLossError(f"{shown(data)} ends before all is decompressed")
        data = stream.unused_data
    return b"".join(out)
