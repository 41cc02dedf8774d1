"""Tables as text: the columns that are inputs as numbers, and those of labels. A bad cell is named."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from staticgraph.applications.solver.description import Description
from staticgraph.applications.solver.errors import DataError, told
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table: those that are inputs, and those that are labels."""

    path: Path
    head: list[str]
    inputs: list[str]
    labels: list[str]


def read_csv(path: Path, described: Description) -> tuple[np.ndarray, np.ndarray]:
    """The inputs as float32 [rows, columns]; the cells of labels as texts, [rows] or [rows, columns]."""
    numbers: list[list[float]] = []
    labels: list[list[str]] = []
    rows = _rows(path, described.data.separator)
    first = next(rows, None)
    if first is None:
        raise DataError(told(f"{path} is empty", hint="its first line names the columns"))
    columns = _columns(path, [name.strip() for name in first[1]], described)
    taken = [columns.head.index(name) for name in columns.inputs]
    told_by = [columns.head.index(name) for name in columns.labels]
    for line, row in rows:
        if len(row) != len(columns.head):
            text = f"{path}:{line}: the row has {len(row)} cells, and the head {len(columns.head)}"
            raise DataError(told(text, hint="a cell with a separator in it is written in quotes"))
        numbers.append([_number(row[n], columns, line, n) for n in taken])
        labels.append([row[n].strip() for n in told_by])
    if not numbers:
        raise DataError(told(f"{path} has a head and no rows"))
    texts = np.array(labels)
    single = not isinstance(described.data.labels, list)
    return np.array(numbers, np.float32), texts[:, 0] if single else texts


def label_numbers(texts: np.ndarray, where: str) -> np.ndarray:
    """The cells of labels as numbers, float32. `where` says of what, as in "house.csv: the label"."""
    flat = texts.ravel()
    found = np.empty(flat.size, np.float32)
    for n, text in enumerate(flat):
        value = _float(text)
        if value is None:
            row = n // (flat.size // len(texts)) + 1
            raise DataError(told(f"{where} of example {row} is {str(text)!r}, and must be a number"))
        found[n] = value
    return found.reshape(texts.shape)


def _rows(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The rows with their line numbers, without empty ones."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=separator, strict=True, skipinitialspace=True)
            for row in reader:
                if row:
                    yield reader.line_num, row
    except csv.Error as error:
        raise DataError(told(f"{path}:{reader.line_num}: not a table: {error}")) from None
    except UnicodeDecodeError as error:
        raise DataError(told(f"{path} is not text in UTF-8: byte {error.start}: {error.reason}")) from None
    except TypeError:
        raise DataError(told(f"a separator is one character, not {separator!r}")) from None


def _columns(path: Path, head: list[str], described: Description) -> Columns:
    def chosen(key: str, given: str | Sequence[str] | None, usual: Callable[[], list[str]]) -> list[str]:
        names = usual() if given is None else [given] if isinstance(given, str) else list(given)
        for name in names:
            if name not in head:
                raise described.error(
                    f"{path.name} has no column {name!r}", "data", key, hint=f"it has {', '.join(head)}"
                )
        return names

    if len(set(head)) < len(head):
        twice = next(name for name in head if head.count(name) > 1)
        raise DataError(told(f"{path}:1: two columns have the name {twice!r}"))
    labels = chosen("labels", described.data.labels, lambda: head[-1:])
    inputs = chosen("inputs", described.data.inputs, lambda: [n for n in head if n not in labels])
    if not inputs:
        raise DataError(told(f"{path} has labels and no other column", hint="name some: inputs = [...]"))
    return Columns(path, head, inputs, labels)


def _number(cell: str, columns: Columns, line: int, column: int) -> float:
    value = _float(cell)
    if value is None:
        name = columns.head[column]
        what = f"{cell!r} is not a number" if cell.strip() else "the cell is empty"
        others = [n for n in columns.inputs if n != name]
        hint = f"mend it, or leave the column out: inputs = {others}".replace("'", '"')
        raise DataError(told(f"{columns.path}:{line}: column {name}: {what}", hint=hint))
    return value


def _float(cell: str) -> float | None:
    """A finite number, or None."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
