"""Datasets of the records of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.dtypes import DType, as_dtype, string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.tf1.data.arguments import number
from staticgraph.tf1.data.dataset import Dataset
from staticgraph.tf1.data.files import FixedLength, Lines, Records, Rows
from staticgraph.tf1.data.operation_counts import PARALLEL_READS
from staticgraph.tf1.io.tf_record import TFRecordOptions


def _names(filenames: Any) -> Any:
    """File names: a tensor, or the name datasets of them whose records follow each other."""
    return filenames if isinstance(filenames, Dataset) else convert_to_tensor(filenames, dtype=string)


def _compression(compression_type: Any) -> Any:
    if isinstance(compression_type, Tensor):
        return compression_type
    return TFRecordOptions.get_compression_type_string(compression_type)


class _FileDataset(Dataset):
    """The records of files: of a kind of node, with its parameters."""

    def __init__(self, kind: Any, filenames: Any, compression_type: Any, **parameters: Any) -> None:
        compression = _compression(compression_type)
        names = _names(filenames)
        if isinstance(names, Dataset):
            made = names.flat_map(
                lambda name: Dataset(kind(filenames=name, compression=compression, **parameters))
            )
            super().__init__(made.node)
        else:
            super().__init__(kind(filenames=names, compression=compression, **parameters))


class _OfWholeFiles(_FileDataset):
    """All records of files, as nodes of the class `_KIND` read them."""

    _KIND: Any

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:
        super().__init__(self._KIND, filenames, compression_type)
        if num_parallel_reads is not None:
            count_more(get_default_graph(), PARALLEL_READS)


class TextLineDataset(_OfWholeFiles):
    """The lines of files, without their ends. `filenames`: a string or several, a tensor, or a dataset.

    `compression_type` is "", "ZLIB" or "GZIP". Sizes of buffers change nothing.
    """

    _KIND = Lines


class TFRecordDataset(_OfWholeFiles):
    """The records of TFRecord files, as strings. DataLossError, while running, for a damaged file.

    `filenames`: a string or several, a tensor, or a dataset. `compression_type` is "", "ZLIB" or "GZIP".
    """

    _KIND = Records


class FixedLengthRecordDataset(_FileDataset):
    """The records of `record_bytes` each in files, between a header and a footer, as strings."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:
        super().__init__(
            FixedLength,
            filenames,
            compression_type,
            record_bytes=number(record_bytes),
            header_bytes=number(header_bytes or 0),
            footer_bytes=number(footer_bytes or 0),
        )


class CsvDataset(_FileDataset):
    """The rows of CSV files, as tuples of scalars.

    `record_defaults` has one entry per column: an element type for a field that must be there, or a default
    value. `select_cols` are the numbers of the columns that are taken, sorted, where not all are. `header`:
    the first line of each file is left out. `na_value` stands for a missing field, as the empty string does.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
    ) -> None:
        fields = [_field(default) for default in record_defaults]
        if select_cols is not None and len(select_cols) != len(fields):
            text = f"select_cols has {len(select_cols)} columns, record_defaults {len(fields)}"
            raise misuse(ValueError, text)
        types = tuple(dtype for dtype, _ in fields)
        super().__init__(
            Rows,
            filenames,
            compression_type,
            structure=tuple(TensorType(dtype, ()) for dtype in types),
            types=types,
            defaults=tuple(default for _, default in fields),
            header=header,
            delimiter=field_delim,
            quotes=use_quote_delim,
            missing=na_value,
            columns=None if select_cols is None else tuple(map(int, select_cols)),
        )


def _field(default: Any) -> tuple[DType, Any]:
    """The type of a column, and its default value or None."""
    if isinstance(default, DType | type):
        return as_dtype(default), None
    tensor = convert_to_tensor(default)
    constant = tensor.op.attrs.get("value")
    if constant is None or constant.array.size > 1:
        text = f"record_defaults has {default!r}, an element type or one constant is needed"
        raise misuse(ValueError, text)
    return tensor.dtype, constant.array.reshape(()) if constant.array.size else None
