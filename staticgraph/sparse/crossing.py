"""All combinations of the values in the rows of sparse tensors, by their hashes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.kinds import host
from staticgraph.compiler.ops.text.string_hashes import fingerprint

_FACTOR = 0xC6A4A7935BD1E995
_MASK = 2**64 - 1


def _joined(one: int, other: int) -> int:
    """The hash of two hashes, as FarmHash joins them."""

    def mixed(value: int) -> int:
        return value ^ (value >> 47)

    found = one ^ _FACTOR
    found ^= mixed(other * _FACTOR & _MASK) * _FACTOR & _MASK
    found = found * _FACTOR & _MASK
    found = mixed(found) * _FACTOR & _MASK
    return mixed(found)


def _by_row(indices: np.ndarray, values: np.ndarray, rows: int) -> list[list[int]]:
    """The hashes of the values of each row; integers are their own."""
    found: list[list[int]] = [[] for _ in range(rows)]
    for row, value in zip(indices[:, 0].tolist(), values.tolist(), strict=True):
        found[row].append(fingerprint(value) if isinstance(value, bytes) else value & _MASK)
    return found


@host(
    tf="SparseCross",
    vars={"parts": "*"},
    type=lambda *parts, num_buckets, hash_key: (
        TensorType(int64, (None, 2)),
        TensorType(int64, (None,)),
        TensorType(int64, (2,)),
    ),
)
def cross_op(*parts: Any, num_buckets: int, hash_key: int) -> Any:
    """All combinations of one value of each of the sparse inputs, row by row, as hashes below `num_buckets`.

    `hash_key` makes them differ from those of other columns.
    """
    rows = max(int(shape[0]) for shape in parts[2::3])
    inputs = [_by_row(i, v, rows) for i, v in zip(parts[::3], parts[1::3], strict=True)]
    hashes: list[int] = []
    counts: list[int] = []
    for row in range(rows):
        before = len(hashes)
        for combination in itertools.product(*(values[row] for values in inputs)):
            found = hash_key
            for value in combination:
                found = _joined(found, value)
            hashes.append(found % num_buckets)
        counts.append(len(hashes) - before)
    indices = [(row, place) for row, count in enumerate(counts) for place in range(count)]
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        np.array(hashes, np.int64),
        np.array([rows, max(counts, default=0)], np.int64),
    )
