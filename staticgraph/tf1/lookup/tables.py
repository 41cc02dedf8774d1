"""Lookup tables: values by key, set once or changed while running."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from staticgraph.arrays.casts import cast
from staticgraph.arrays.indexing import where
from staticgraph.building.framework import GraphKeys, add_to_collection, get_collection, name_scope
from staticgraph.building.inputs import convert_to_tensor, group
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.dtypes import DType, as_dtype, int64, string
from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.shapes import Shape
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.domains.strings.hashes import to_hash_bucket_fast
from staticgraph.domains.strings.text import as_string
from staticgraph.mathematics.math_ops import not_equal
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.tf1.lookup import operations
from staticgraph.tf1.lookup.saved_entries import SavedEntries
from staticgraph.tf1.lookup.sources import _Initializer


def _of_dtype(keys: Any, dtype: DType) -> Tensor:
    """Keys as a tensor. TypeError unless they have the dtype of the table's keys."""
    keys = convert_to_tensor(keys)
    if keys.dtype is not dtype:
        text = f"Signature mismatch. Keys must be dtype {dtype}, got {keys.dtype}."
        raise misuse(TypeError, text, made=[(keys.name, keys.op.where)])
    made: Tensor = keys
    return made


class _Table:
    """The operations that all tables have."""

    value_shape: Shape = ()
    begins_empty = False
    reserved: Mapping[str, np.ndarray] = MappingProxyType({})

    def __init__(self, key_dtype: DType, value_dtype: DType, default_value: Any, name: str) -> None:
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self._default = convert_to_tensor(default_value, dtype=value_dtype)
        handle: Tensor = operations.table_handle(table=self, name=name)
        self.resource_handle = handle
        self.name = handle.op.name.rpartition("/")[2]

    default_value: Tensor = read_only("default")

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of `keys`, and the default value for those that are not in the table.

        `keys`: a tensor, or a sparse one. TypeError for other types than those of the table's keys.
        """
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self.lookup(keys.values, name), keys.dense_shape)
        keys = _of_dtype(keys, self.key_dtype)
        with name_scope(name, f"{self.name}_Lookup", [keys]):
            return operations.table_find(keys, self._default, table=self)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of entries, as int64."""
        with name_scope(name, f"{self.name}_Size"):
            made: Tensor = operations.table_size(table=self)
        return made

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys, and the values in the same order."""
        with name_scope(name, f"{self.name}_Export"):
            made: tuple[Tensor, Tensor] = operations.table_export(table=self)
        return made


class StaticHashTable(_Table):
    """A table whose entries `initializer` makes, before the first lookup: see `tables_initializer()`.

    >>> import staticgraph as sg
    >>> entries = sg.lookup.KeyValueTensorInitializer(["one", "two"], [1, 2])
    >>> numbers = sg.lookup.StaticHashTable(entries, default_value=-1)
    >>> found = numbers.lookup(sg.constant(["two", "three"]))
    >>> with sg.Session() as sess:
    ...     sess.run(sg.tables_initializer())
    ...     sess.run(found).tolist()
    [2, -1]
    """

    def __init__(self, initializer: _Initializer, default_value: Any, name: str | None = None) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype, default_value, name or "hash_table")
        self._initializer = initializer.initialize(self)

    initializer: Operation = read_only("initializer", "The operation that gives the table its entries.")

    init = initializer


class HashTable(StaticHashTable):
    """`StaticHashTable` with the arguments of `tf.contrib.lookup`."""

    def __init__(
        self,
        initializer: _Initializer,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(initializer, default_value, name)


class MutableHashTable(_Table):
    """A table that is empty at first, and that operations change. Values have the default's shape."""

    begins_empty = True
    _buckets: int | None = None

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(as_dtype(key_dtype), as_dtype(value_dtype), default_value, name)
        self.value_shape = tuple(self._default.shape.as_list())
        count_more(get_default_graph(), int(checkpoint))  # the entries that a checkpoint takes
        if checkpoint:
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, SavedEntries(name, self, self._buckets))

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """The operation that adds entries, or changes their values."""
        keys = convert_to_tensor(keys, dtype=self.key_dtype)
        values = convert_to_tensor(values, dtype=self.value_dtype)
        made: Operation = operations.table_insert(keys, values, table=self, name=name)
        return made

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """The operation that takes entries away."""
        keys = convert_to_tensor(keys, dtype=self.key_dtype)
        made: Operation = operations.table_remove(keys, table=self, name=name)
        return made


class DenseHashTable(MutableHashTable):
    """A `MutableHashTable` in which two keys cannot be used: `empty_key` and `deleted_key`.

    TF1 keeps its entries in another way, for which it needs these keys; here there is no other difference.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> table = sg.lookup.experimental.DenseHashTable(sg.int64, sg.float32, 0.0, empty_key=-1, deleted_key=-2)
    >>> insert, found = table.insert(np.int64([7]), [0.5]), table.lookup(np.int64([7, 8]))
    >>> with sg.Session() as sess:
    ...     sess.run(insert)
    ...     sess.run(found).tolist()
    [0.5, 0.0]
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        self._buckets = _checked_buckets(initial_num_buckets)
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)
        given = {"empty_key": empty_key, "deleted_key": deleted_key}
        self.reserved = {label: _known(key, self.key_dtype) for label, key in given.items()}
        if self.reserved["empty_key"] == self.reserved["deleted_key"]:
            raise misuse(ValueError, "empty_key and deleted_key must be two different keys")


def _checked_buckets(count: int | None) -> int:
    """Return a number of buckets, or 0 for the usual one. A checkpoint has them all, in places by hashes."""
    if count is None:
        return 0
    if count < 4 or count & (count - 1):
        text = f"initial_num_buckets is {count}, and must be at least 4 and a power of 2"
        raise misuse(InvalidArgumentError, text)
    return count


def _known(key: Any, dtype: DType) -> np.ndarray:
    """The value of a key that the graph must know."""
    value = static_value(convert_to_tensor(key, dtype=dtype))
    if value is None:
        raise misuse(ValueError, "empty_key and deleted_key must be constants")
    return np.asarray(value)


class StaticVocabularyTable:
    """Numbers for words: those that `initializer` tells, and for other words one of `num_oov_buckets` more,
    which follow them; the same word always has the same.

    Keys are strings or integers, values int64. Without an `initializer` all words are others.
    """

    def __init__(
        self,
        initializer: _Initializer | None,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets <= 0:
            text = f"num_oov_buckets must be > 0, it is {num_oov_buckets}"
            raise misuse(ValueError, text, "StaticHashTable has no such buckets")
        self._table = None if initializer is None else StaticHashTable(initializer, -1, name)
        if self._table is not None and self._table.value_dtype is not int64:
            raise misuse(TypeError, f"the values of a vocabulary are int64, not {self._table.value_dtype}")
        self._buckets = num_oov_buckets
        key_dtype = string if self._table is None else self._table.key_dtype
        self.key_dtype = key_dtype if lookup_key_dtype is None else as_dtype(lookup_key_dtype)
        self.value_dtype = int64
        self.name = name or ("string_to_index" if self._table is None else self._table.name)

    @property
    def initializer(self) -> Operation:
        """The operation that makes the vocabulary."""
        return group() if self._table is None else self._table.initializer

    init = initializer

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of entries and buckets, as int64."""
        if self._table is None:
            return convert_to_tensor(self._buckets, dtype=int64)
        return self._table.size(name) + self._buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The numbers of `keys`, a tensor or a sparse one. TypeError for keys of another type."""
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self.lookup(keys.values, name), keys.dense_shape)
        keys = _of_dtype(keys, self.key_dtype)
        with name_scope(name, f"{self.name}_Lookup", [keys]):
            words = keys if keys.dtype is string else as_string(keys)
            buckets = self._bucket_of(words) if self._buckets else None
            if self._table is None:
                return buckets
            known = keys if keys.dtype is self._table.key_dtype else cast(keys, self._table.key_dtype)
            found = self._table.lookup(known)
            if buckets is None:
                return found
            unknown = buckets + self._table.size()
            return where(not_equal(found, self._table.default_value), found, unknown)

    def _bucket_of(self, words: Tensor) -> Tensor:
        """Return the numbers, from 0 on, of the buckets of strings."""
        return to_hash_bucket_fast(words, self._buckets)


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """The operation that initialises all tables of the graph."""
    return group(*get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)
