"""Records of files as elements: lines of text, TFRecords, records of one length, rows of CSV files."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, OpError
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.tf1.data.pipeline import Failed, Node, Run, attempts
from staticgraph.tf1.data.structure import Element
from staticgraph.tf1.io.file_records import fixed_records, line_without_end, matching, open_bytes
from staticgraph.tf1.io.tf_record import TFRecordOptions, tf_record_iterator

STRING = TensorType(string, ())


def text(value: bytes) -> np.ndarray:
    """A scalar string."""
    return string.round(value)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Files(Node):
    """The records of each of the files that `filenames` names, a string or a vector of them."""

    filenames: Any
    compression: Any = ""
    structure: Any = STRING

    def iterate(self, run: Run) -> Iterator[Element]:
        names = [os.fsdecode(name) for name in np.ravel(run.value(self.filenames))]
        compression = run.value(self.compression)
        kind = TFRecordOptions.get_compression_type_string(
            compression.item().decode() if isinstance(compression, np.ndarray) else compression
        )
        for name in names:
            try:
                yield from self.records(name, kind, run)
            except OpError as error:  # the next file may be sound
                yield Failed.by(error)

    def records(self, name: str, compression: str, run: Run) -> Iterator[Element]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lines(Files):
    """Lines without their ends."""

    def records(self, name: str, compression: str, run: Run) -> Iterator[Element]:
        with open_bytes(name, compression) as file:
            for line in file:
                yield (text(line_without_end(line)),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Records(Files):
    """TFRecords."""

    def records(self, name: str, compression: str, run: Run) -> Iterator[Element]:
        return ((text(record),) for record in tf_record_iterator(name, compression))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FixedLength(Files):
    """Records of `record_bytes`, between a header and a footer."""

    record_bytes: Any
    header_bytes: Any
    footer_bytes: Any

    def records(self, name: str, compression: str, run: Run) -> Iterator[Element]:
        sizes = [run.number(n) for n in (self.record_bytes, self.header_bytes, self.footer_bytes)]
        record, header, footer = sizes
        body = os.path.getsize(name) - header - footer if os.path.isfile(name) else 0
        if not compression and body % record:
            parts = f"a header of {header} bytes and a footer of {footer}"
            raise self.error(f"{name}: without {parts} there are {body} bytes, no multiple of {record}")
        with open_bytes(name, compression) as file:
            for each in fixed_records(file, record, header, footer):
                yield (text(each),)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rows(Files):
    """The fields of each row, as types and defaults tell; where a default is None, the field must be there.

    `columns` are those that are taken, None for all.
    """

    types: tuple[DType, ...]
    defaults: tuple[Any, ...]
    header: bool
    delimiter: str
    quotes: bool
    missing: str
    columns: tuple[int, ...] | None

    def records(self, name: str, compression: str, run: Run) -> Iterator[Element]:
        return attempts(functools.partial(self._converted, name), self._rows(name, compression))

    def _rows(self, name: str, compression: str) -> Iterator[tuple[int, list[str]]]:
        """The rows with the numbers of their lines."""
        with open_bytes(name, compression) as file:
            lines = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")
            settings: dict[str, Any] = {} if self.quotes else {"quoting": csv.QUOTE_NONE}
            rows = csv.reader(lines, delimiter=self.delimiter, strict=True, **settings)
            try:
                for row in itertools.islice(rows, int(self.header), None):
                    if row:
                        yield rows.line_num, row
            except csv.Error as error:
                raise self.error(f"{name}, line {rows.line_num}: {error}") from None

    def _converted(self, name: str, numbered: tuple[int, list[str]]) -> Element:
        line, row = numbered
        if self.columns is not None and max(self.columns, default=-1) < len(row):
            row = [row[column] for column in self.columns]
        if len(row) != len(self.types):
            raise self.error(f"{name}, line {line}: it has {len(row)} fields, {len(self.types)} are expected")
        return tuple(map(self._field, itertools.repeat((name, line)), row, self.types, self.defaults))

    def _field(self, place: tuple[str, int], field: str, dtype: DType, default: Any) -> np.ndarray:
        where = f"{place[0]}, line {place[1]}"
        if field in ("", self.missing):
            if default is None:
                raise self.error(f"{where}: a required field is missing")
            return default
        if dtype is string:
            return text(field.encode(errors="surrogateescape"))
        from staticgraph.compiler.ops.text.strings import number  # few programs read rows

        try:
            return dtype.round(number(field.encode(errors="surrogateescape"), dtype))
        except InvalidArgumentError:
            raise self.error(f"{where}: {field!r} is not {dtype}") from None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Matching(Node):
    """The names of the files that match patterns, sorted."""

    patterns: Any
    structure: Any = STRING

    def iterate(self, run: Run) -> Iterator[Element]:
        patterns = [os.fsdecode(pattern) for pattern in np.ravel(run.value(self.patterns))]
        names = matching(patterns)
        if not names:
            raise self.error(f"No files matched pattern: {', '.join(patterns)}")
        return ((text(os.fsencode(name)),) for name in names)
