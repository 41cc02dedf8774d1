"""`make_csv_dataset`: batches of named columns out of CSV files, whose names and types the files tell."""

from __future__ import annotations

import csv
import io
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from staticgraph.building.inputs import constant
from staticgraph.compiler.graph.dtypes import DType, float32, float64, int32, int64, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse
from staticgraph.random_numbers.integers import seeds_of
from staticgraph.tf1.data import selecting
from staticgraph.tf1.data.dataset import Dataset
from staticgraph.tf1.data.file_datasets import CsvDataset
from staticgraph.tf1.data.mapping import Unfailing
from staticgraph.tf1.data.threads import AUTOTUNE
from staticgraph.tf1.io.file_records import matching, open_bytes

_TYPES = (int32, int64, float32, float64, string)  # each takes more than the one before


def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Batches of rows of the CSV files that match `file_pattern`, a pattern or several: dicts of columns by
    name; tuples (dict, labels) where `label_name` is a column.

    The names come from the first line unless `column_names` are given. The types come from the first
    `num_rows_for_inference` rows, None for all, unless `column_defaults` tell them as in `CsvDataset`.
    `select_columns` are the names or numbers of those that are taken. The rows come `num_epochs` times,
    without end by default; a last smaller batch is there if they end.
    """
    patterns = [file_pattern] if isinstance(file_pattern, str) else list(file_pattern)
    files = matching(patterns)
    if not files:
        raise _refused(f"no file matches {', '.join(patterns)}")
    settings: dict[str, Any] = {} if use_quote_delim else {"quoting": csv.QUOTE_NONE}
    probe = _Probe(files, compression_type or "", {"delimiter": field_delim, **settings})
    names = _names(column_names, probe, header)
    chosen = None if select_columns is None else _numbers(select_columns, names)
    columns = range(len(names)) if chosen is None else chosen
    taken = [names[i] for i in columns]
    if column_defaults is None:
        types = probe.types(columns, len(names), header, na_value, num_rows_for_inference)
        column_defaults = [constant(["" if dtype is string else 0], dtype) for dtype in types]
    if chosen is not None and len(column_defaults) != len(chosen):
        raise _refused(f"{len(chosen)} select_columns need as many column_defaults")

    def rows(name: Any) -> Dataset:
        read = CsvDataset(
            name,
            column_defaults,
            compression_type,
            header=header,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=chosen,
        )
        return Dataset(Unfailing(structure=read.node.structure, source=read.node)) if ignore_errors else read

    dataset = Dataset.from_tensor_slices(files)
    dataset = dataset.shuffle(len(files), shuffle_seed) if shuffle else dataset
    dataset = dataset.interleave(rows, cycle_length=num_parallel_reads or 1)
    epochs = -1 if num_epochs is None else num_epochs
    size = shuffle_buffer_size
    dataset = _shuffled(dataset, size, shuffle_seed, epochs) if shuffle else dataset.repeat(epochs)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(_features(taken, label_name))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _features(names: Sequence[str], label: str | None) -> Callable[..., Any]:
    """Return the function that makes a dict of columns, or such a dict and the labels."""
    if label is not None and label not in names:
        raise _refused(f"label_name {label!r} is not one of the columns {names}")

    def named(*columns: Any) -> Any:
        features = OrderedDict(zip(names, columns, strict=True))
        return features if label is None else (features, features.pop(label))

    return named


def _names(given: Sequence[str] | None, probe: _Probe, header: bool) -> list[str]:
    """Return the names of all columns: those given, or those of the first line."""
    if given is None and not header:
        raise _refused("column_names must be given where the files have no header line")
    names = probe.names() if given is None else list(given)
    if len(set(names)) < len(names):
        raise _refused(f"two columns have one name: {names}")
    return names


def _shuffled(dataset: Dataset, size: int, seed: Any, epochs: int) -> Dataset:
    """Return the rows of several epochs through one buffer, from which they are drawn in random order."""
    made = selecting.Shuffled(
        structure=dataset.node.structure,
        source=dataset.node,
        size=size,
        seeds=seeds_of(seed),
        again=False,
        count=epochs,
    )
    return Dataset(made)


class _Probe:
    """The names and types of columns, found in the files themselves."""

    def __init__(self, files: Sequence[str], compression: str, settings: dict[str, Any]) -> None:
        self._files = files
        self._compression = compression
        self._settings = settings

    def names(self) -> list[str]:
        """The first row, which must be the same in all files."""
        found = {name: tuple(next(self._rows(name), ())) for name in self._files}
        first = found[self._files[0]]
        for name, row in found.items():
            if row != first or not row:
                raise _refused(f"the header line of {name} is {','.join(row)!r}, not {','.join(first)!r}")
        return list(first)

    def types(
        self, columns: Sequence[int], count: int, header: bool, missing: str, most: int | None
    ) -> list[DType]:
        """The types that take all fields of each column, in the first rows."""
        kinds: list[int | None] = [None] * len(columns)
        for row in itertools.islice(self._all_rows(int(header)), most):
            if len(row) != count:
                raise _refused(f"a row has {len(row)} fields, there are {count} columns: {row}")
            fields = [row[column] for column in columns]
            kinds = [
                kind if field in ("", missing) else max(kind or 0, _kind(field))
                for kind, field in zip(kinds, fields, strict=True)
            ]
        return [string if kind is None else _TYPES[kind] for kind in kinds]

    def _all_rows(self, start: int) -> Iterator[list[str]]:
        return itertools.chain.from_iterable(
            itertools.islice(self._rows(name), start, None) for name in self._files
        )

    def _rows(self, name: str) -> Iterator[list[str]]:
        with (
            open_bytes(name, self._compression) as file,
            io.TextIOWrapper(file, encoding="utf-8", newline="") as lines,
        ):
            try:
                yield from csv.reader(lines, **self._settings)
            except (csv.Error, UnicodeDecodeError) as error:
                raise _refused(f"{name} is no table of text in UTF-8: {error}") from None


def _kind(field: str) -> int:
    """The place in `_TYPES` of the first type that can hold a field."""
    from staticgraph.compiler.ops.text.strings import number  # few programs read rows

    for place, dtype in enumerate(_TYPES[:-1]):
        try:
            with np.errstate(over="ignore"):
                if np.isfinite(number(field.encode(), dtype)):
                    return place
        except InvalidArgumentError:
            continue
    return len(_TYPES) - 1


def _numbers(columns: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Return the columns that names and numbers mean, sorted."""
    found = []
    for column in columns:
        known = 0 <= column < len(names) if isinstance(column, int) else column in names
        if not known:
            raise _refused(f"select_columns has {column!r}, there are {len(names)} columns: {list(names)}")
        found.append(column if isinstance(column, int) else names.index(column))
    if len(set(found)) < len(found):
        raise _refused(f"select_columns has a column twice: {list(columns)}")
    return sorted(found)


def _refused(text: str) -> ValueError:
    return misuse(ValueError, f"make_csv_dataset: {text}")
