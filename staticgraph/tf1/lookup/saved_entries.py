"""The entries of tables in checkpoints: `<name>-keys` and `<name>-values`, as TensorFlow has them.

    words-keys: string [2]                  words-values: int64 [2]
    MutableDenseHashTable-keys: int64 [131072, 1], one for each bucket, and the values in the same order

A dense table of TensorFlow's is its buckets, empty ones included, and is read as what it was written as: the
key of a bucket must be where its hash says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, NotFoundError, misuse
from staticgraph.compiler.ops.text.string_hashes import murmur
from staticgraph.runtime.state.resources import Resources
from staticgraph.tf1.lookup import operations

_BUCKETS = 1 << 17  # as many as TensorFlow begins with
_LOAD = 0.8  # the greatest share of them that is used

Arrays = dict[str, tuple[DType, np.ndarray]]


class SavedEntries:
    """The part of a table that a `Saver` saves: it is in the collection SAVEABLE_OBJECTS.

    Attributes:
        name: The name of the table, as the program gave it.
        table: The table.
        buckets: How many buckets a dense table has at first; None for other tables.
    """

    def __init__(self, name: str, table: operations.Table, buckets: int | None = None) -> None:
        self.name, self.table, self.buckets = name, table, buckets

    def saved(self, resources: Resources) -> Arrays:
        """The arrays of a checkpoint, by name."""
        table = self.table
        keys, values = operations.listed_entries(table, resources)
        if self.buckets is not None:
            keys, values = self._in_buckets(keys, values)
        return {
            f"{self.name}-keys": (table.key_dtype, keys),
            f"{self.name}-values": (table.value_dtype, values),
        }

    def fitting(self, prefix: str, found: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return keys and values of a checkpoint, which must be such as the table has.

        Raises:
            NotFoundError: The checkpoint has no entries of this table.
            InvalidArgumentError: It has other ones.
        """
        arrays = []
        for part, dtype in (("keys", self.table.key_dtype), ("values", self.table.value_dtype)):
            name = f"{self.name}-{part}"
            if name not in found:
                raise misuse(NotFoundError, f"Key {name} not found in checkpoint {prefix}")
            stored, array = found[name]
            if stored is not dtype:
                text = f"{name} in checkpoint {prefix} is {stored}, and the table {self.name} has {dtype}"
                raise misuse(InvalidArgumentError, text)
            arrays.append(np.array(array))
        keys, values = arrays
        count = keys.size
        if values.size != count * self._row:
            text = f"checkpoint {prefix} has {count} keys of table {self.name}, and values of {values.shape}"
            raise misuse(InvalidArgumentError, text)
        keys, values = keys.reshape(-1), values.reshape(count, *self._row_shape)
        used = np.ones(count, bool)
        for reserved in self.table.reserved.values():
            used &= keys != reserved
        return keys[used], values[used]

    def restore(self, entries: tuple[np.ndarray, np.ndarray], resources: Resources) -> None:
        """Replace the entries of the table in one session."""
        operations.replace_entries(self.table, *entries, resources)

    @property
    def _row(self) -> int:
        """The number of elements of a value."""
        return int(np.prod(self._row_shape))

    @property
    def _row_shape(self) -> tuple[int, ...]:
        return tuple(n for n in self.table.value_shape if n is not None)  # a table knows all of them

    def _in_buckets(self, keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The buckets of a dense table: each key is in the first free one from that of its hash on."""
        count = self.buckets or _BUCKETS
        while len(keys) > _LOAD * count:
            count *= 2
        held = np.full((count, 1), self.table.reserved["empty_key"], keys.dtype)
        rows = np.zeros((count, self._row), values.dtype)
        if self.table.value_dtype is string:
            rows.fill(b"")
        free = np.ones(count, bool)
        for key, value in zip(keys.tolist(), values.reshape(len(keys), rows.shape[1]), strict=True):
            at, step = (murmur(key) if isinstance(key, bytes) else int(key)) & (count - 1), 0
            while not free[at]:
                step += 1
                at = (at + step) & (count - 1)
            free[at], held[at], rows[at] = False, key, value
        return held, rows
