"""Ops that decode strings in a graph: raw numbers, lines of CSV, compressed bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.building.framework import checked
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import needed, renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, string
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.tensor import Tensor


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """The numbers of type `out_type` whose bytes strings are; they lie along a new last axis.

    While running, InvalidArgumentError if the strings have unlike lengths, or no multiple of a number's.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.io.decode_raw(["ab", "cd"], sg.uint8)).tolist()
    [[97, 98], [99, 100]]
    """
    input_bytes = renamed("input_bytes", input_bytes, "bytes", bytes)
    needed("decode_raw", input_bytes=input_bytes, out_type=out_type)
    return ops.decode_raw(input_bytes, out_type=as_dtype(out_type), little_endian=little_endian, name=name)


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """The fields of lines of CSV: a list of tensors, one for each column, of the shape of `records`.

    `record_defaults` has for each column a value, which also tells the type (float32, float64, int32, int64
    or string) and stands for an empty field or `na_value`; an empty list or tensor means that the field must
    be there. `select_cols`: the numbers of the columns that are wanted, ascending. A field may stand in
    double quotes unless `use_quote_delim` is False.

    ValueError for other defaults or columns. While running, InvalidArgumentError for a record with other
    fields.

    >>> import staticgraph as sg
    >>> name, age = sg.io.decode_csv(["ann,31", "bob,"], [["nobody"], [0]])
    >>> with sg.Session() as sess:
    ...     [column.tolist() for column in sess.run([name, age])]
    [[b'ann', b'bob'], [31, 0]]
    """
    columns = list(select_cols or ())
    with checked("decode_csv"):
        require(record_defaults, "there are no record_defaults")
        rising = all(a < b for a, b in zip([-1, *columns], columns, strict=False))
        require(rising, f"select_cols is {columns}, it must ascend and not begin below 0")
        require(
            select_cols is None or len(columns) == len(record_defaults),
            f"there are {len(columns)} select_cols and {len(record_defaults)} record_defaults",
        )
    made = ops.decode_csv(
        convert_to_tensor(records, dtype=string, name="records"),
        list(record_defaults),
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=columns,
        name=name,
    )
    return list(made) if isinstance(made, tuple) else [made]


def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Strings as they were before they were compressed by "ZLIB" or "GZIP"; unchanged for "".

    While running, DataLossError for what was not, and ResourceExhaustedError for more than 2 GB.

    >>> import zlib
    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.io.decode_compressed(zlib.compress(b"hello"), "ZLIB"))
    b'hello'
    """
    return ops.decode_compressed(bytes, compression_type=compression_type, name=name)
