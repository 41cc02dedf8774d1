"""`tf.contrib.learn.datasets.base`: tables in CSV files, and files that are downloaded once."""

from __future__ import annotations

import csv
import shutil
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.graph.errors import DataLossError, misuse
from staticgraph.runtime.disk.atomic import replacing


class Dataset(NamedTuple):
    """Rows of features, and the target of each."""

    data: Any
    target: Any


class Datasets(NamedTuple):
    """The three parts of a collection."""

    train: Any
    validation: Any
    test: Any


def _table(filename: str, rows: list[list[str]], target: Any, features: Any, column: int) -> Dataset:
    try:
        targets = [row.pop(column) for row in rows]
        return Dataset(np.array(rows, dtype=features), np.array(targets).astype(target))
    except (ValueError, IndexError) as error:
        raise misuse(DataLossError, f"{filename} is no table of numbers: {error}") from None


def load_csv_with_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """The table in a file whose first line says how many rows and features there are.

    DataLossError if the file holds something else. Column `target_column` is the target.
    """
    with open(filename, newline="") as file:
        header, *rows = csv.reader(file)
    table = _table(filename, rows, target_dtype, features_dtype, target_column)
    if [str(size) for size in table.data.shape] != [entry.strip() for entry in header[:2]]:
        found = " rows of ".join(map(str, table.data.shape))
        text = f"{filename} has {found} features, and its first line says {', '.join(header[:2])}"
        raise misuse(DataLossError, text)
    return table


def load_csv_without_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """The table in a file, of which column `target_column` is the target."""
    with open(filename, newline="") as file:
        rows = list(csv.reader(file))
    return _table(filename, rows, target_dtype, features_dtype, target_column)


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """The path of a file in a folder, which is downloaded from `source_url` if it is not there yet."""
    path = Path(work_directory) / filename
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        with (
            urllib.request.urlopen(source_url) as source,
            replacing(path) as descriptor,
            open(descriptor, "wb", closefd=False) as file,
        ):
            shutil.copyfileobj(source, file)
        print("Successfully downloaded", filename, path.stat().st_size, "bytes.")
    return str(path)
