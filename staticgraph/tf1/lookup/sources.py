"""Initializers of tables: tensors of keys and values, or lines of a text file."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.building.framework import GraphKeys, add_to_collection, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.dtypes import DType, as_dtype, int64, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse
from staticgraph.compiler.graph.recording.op_count import uncounted
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.ops.kinds import host
from staticgraph.compiler.ops.text.strings import number
from staticgraph.tf1.io.file_records import line_without_end, open_bytes
from staticgraph.tf1.lookup.operations import Table, table_import


class TextFileIndex:
    """Source of a key or value in a line: the line itself, or its number from 0.

    A column is given by its own number instead.
    """

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class _Initializer:
    """Keys and values of types, made when a table is initialised."""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = as_dtype(key_dtype)
        self._value_dtype = as_dtype(value_dtype)

    key_dtype: DType = read_only("key_dtype")
    value_dtype: DType = read_only("value_dtype")

    def entries(self) -> tuple[Tensor, Tensor]:
        """The keys and values in the graph."""
        raise NotImplementedError

    def initialize(self, table: Table) -> Operation:
        """The operation that gives `table` its entries; `tables_initializer()` runs it too."""
        if (table.key_dtype, table.value_dtype) != (self.key_dtype, self.value_dtype):
            text = f"the table has {table.key_dtype} and {table.value_dtype}, its initializer"
            raise misuse(TypeError, f"{text} {self.key_dtype} and {self.value_dtype}")
        keys, values = self.entries()
        made: Operation = table_import(keys, values, table=table)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


class KeyValueTensorInitializer(_Initializer):
    """Entries of which one tensor has the keys and another the values."""

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        with name_scope(name, "key_value_init", [keys, values]):
            self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
        super().__init__(self._keys.dtype, self._values.dtype)

    def entries(self) -> tuple[Tensor, Tensor]:
        return self._keys, self._values


class TextFileInitializer(_Initializer):
    """Entries of which a text file has one in each line.

    `key_index` and `value_index` are `TextFileIndex.WHOLE_LINE`, `TextFileIndex.LINE_NUMBER`, or the number
    of a column between `delimiter`s. `vocab_size`: how many lines are used, all by default.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        for what, index, dtype in (("key", key_index, key_dtype), ("value", value_index, value_dtype)):
            if index == TextFileIndex.LINE_NUMBER and as_dtype(dtype) is not int64:
                raise misuse(ValueError, f"the {what} is the number of a line, so {what}_dtype must be int64")
            if index == TextFileIndex.WHOLE_LINE and as_dtype(dtype) not in (string, int64):
                text = f"the {what} is a whole line, so {what}_dtype must be string or int64"
                raise misuse(ValueError, text)
            if index < TextFileIndex.WHOLE_LINE:
                raise misuse(ValueError, f"{what}_index is {index}, no column has that number")
        if vocab_size is not None and vocab_size < 1:
            raise misuse(ValueError, f"vocab_size is {vocab_size}, it must be greater than 0")
        self._filename = convert_to_tensor(filename, dtype=string, name="asset_filepath")
        add_to_collection(GraphKeys.ASSET_FILEPATHS, self._filename)
        self._columns = (key_index, self.key_dtype), (value_index, self.value_dtype)
        self._size = vocab_size
        self._delimiter = delimiter.encode()

    def entries(self) -> tuple[Tensor, Tensor]:
        with uncounted(self._filename.graph):  # the operation that fills the table reads the file, too
            made: tuple[Tensor, Tensor] = entries_of_file(
                self._filename, columns=self._columns, size=self._size, delimiter=self._delimiter
            )
        return made


@host(
    tf="InitializeTableFromTextFileV2",
    stateful=True,
    dtypes=frozenset({string}),
    type=lambda f, columns, size, delimiter: tuple(TensorType(dtype, (size,)) for _, dtype in columns),
)
def entries_of_file(filename: Any, *, columns: Any, size: int | None, delimiter: bytes) -> Any:
    """The keys and values in the lines of a file: what is in these `columns`, between `delimiter`s.

    Of `size` lines, if that is given.
    """
    name = filename[()].decode(errors="surrogateescape")
    with open_bytes(name) as file:
        lines = (
            [line_without_end(line) for _, line in zip(range(size), file, strict=False)]
            if size is not None
            else [line_without_end(line) for line in file]
        )
    if b"" in lines:
        raise InvalidArgumentError(f"{name}, line {lines.index(b'') + 1}: the line is empty")
    if size is not None and len(lines) < size:
        raise InvalidArgumentError(
            f"Invalid vocab_size in {name}: expected {size} but got {len(lines)} lines"
        )
    return tuple(_column(name, lines, index, dtype, delimiter) for index, dtype in columns)


def _column(name: str, lines: list[bytes], index: int, dtype: DType, delimiter: bytes) -> np.ndarray:
    """A part of each line."""
    if index == TextFileIndex.LINE_NUMBER:
        return np.arange(len(lines), dtype=np.int64)
    if index == TextFileIndex.WHOLE_LINE:
        fields = lines
    else:
        rows = [line.split(delimiter) for line in lines]
        short = next((number for number, row in enumerate(rows, 1) if len(row) <= index), None)
        if short is not None:
            raise InvalidArgumentError(f"{name}, line {short}: there is no column {index}")
        fields = [row[index] for row in rows]
    if dtype is string:
        return string.round(fields)
    try:
        return dtype.round([number(field, dtype) for field in fields])
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{name}: column {index} is not all {dtype}: {error.message}") from None
