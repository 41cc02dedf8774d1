"""`tf.contrib.lookup`: tables of words and numbers, out of tensors and files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from staticgraph.arrays.array_ops import size
from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import range as number_range
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import adapted
from staticgraph.compiler.graph.dtypes import DType, as_dtype, int64, string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.strings.hashes import (
    to_hash_bucket,
    to_hash_bucket_fast,
    to_hash_bucket_strong,
)
from staticgraph.tf1.lookup.sources import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from staticgraph.tf1.lookup.tables import DenseHashTable, HashTable, MutableHashTable, StaticVocabularyTable

__all__ = [
    "FastHashSpec",
    "HashTable",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "KeyValueTensorInitializer",
    "MutableDenseHashTable",
    "MutableHashTable",
    "StrongHashSpec",
    "TextFileIdTableInitializer",
    "TextFileIndex",
    "TextFileInitializer",
    "TextFileStringTableInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "string_to_index",
    "string_to_index_table_from_file",
    "string_to_index_table_from_tensor",
]


class HasherSpec(NamedTuple):
    """The hash function, with its key, that assigns words outside of the vocabulary to buckets."""

    hasher: str
    key: Any


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """SipHash under a key of two integers, as a `HasherSpec`. ValueError or TypeError for another key."""

    def __new__(cls, key: Any) -> StrongHashSpec:
        if len(key) != 2:
            raise misuse(ValueError, f"key must have size 2, got {key!r}.")
        if not all(isinstance(part, int | np.integer) for part in key):
            raise misuse(TypeError, f"Invalid key {key!r}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", tuple(map(int, key)))


MutableDenseHashTable = DenseHashTable

_HASHERS: dict[str, Callable[..., Tensor]] = {
    "fasthash": to_hash_bucket_fast,
    "legacy": to_hash_bucket,
    "stronghash": to_hash_bucket_strong,
}


class IdTableWithHashBuckets(StaticVocabularyTable):
    """Numbers for words: those of a table, and for other words one of a few buckets, which follow them.

    Args:
        table: A table from strings or int64 to int64; None if all words have buckets.
        num_oov_buckets: The number of buckets; 0 for none if there is a table.
        hasher_spec: The hash function that chooses the bucket.
        name: The name of the table; that of `table` by default.
        key_dtype: The dtype of what is looked up, string or an integer; that of the table by default.

    Raises:
        TypeError: `hasher_spec` or a dtype is another than these.
        ValueError: There is neither a table nor a bucket.

    >>> import staticgraph as sg
    >>> table = IdTableWithHashBuckets(None, 4)
    >>> with sg.Session() as sess:
    ...     sess.run(table.lookup(sg.constant(["lake", "palmer"]))).tolist()
    [0, 1]
    """

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ) -> None:
        if table is None and num_oov_buckets <= 0:
            raise misuse(ValueError, "oov_buckets must be > 0 if no table is supplied.")
        given = None if key_dtype is None else as_dtype(key_dtype)
        self.key_dtype = given or (string if table is None else table.key_dtype)
        self._check_dtypes(table)
        if not isinstance(hasher_spec, HasherSpec):
            raise misuse(TypeError, f"hasher_spec must be of type HasherSpec, got {hasher_spec!r}")
        self._table, self._buckets, self._hasher = table, num_oov_buckets, hasher_spec
        self.value_dtype = int64
        self.name = (name or ("hash_bucket" if table is None else table.name)).rstrip("/").rpartition("/")[2]

    def _check_dtypes(self, table: Any) -> None:
        asked = self.key_dtype
        if not (asked is string or asked.is_integer):
            raise misuse(TypeError, f"Invalid key_dtype, expected integer or string, got {asked}.")
        if table is None:
            return
        own = table.key_dtype
        if own not in (int64, string) or own.is_integer != asked.is_integer:
            raise misuse(TypeError, f"Invalid key dtype, the keys of the table are {own}, not {asked}.")
        if table.value_dtype is not int64:
            raise misuse(TypeError, f"Invalid value dtype, expected {int64} but got {table.value_dtype}.")

    def _bucket_of(self, words: Tensor) -> Tensor:
        hasher, key = self._hasher
        if hasher not in _HASHERS:
            raise misuse(ValueError, f"Unknown hasher {hasher}")
        return _HASHERS[hasher](words, self._buckets, *([key] if hasher == "stronghash" else []))


Table = HashTable | IdTableWithHashBuckets


class TextFileIdTableInitializer(TextFileInitializer):
    """Words in the lines of a file, and as their values the numbers of the lines."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_id_table_init",
        key_dtype: Any = string,
    ) -> None:
        super().__init__(
            filename, key_dtype, key_column_index, int64, value_column_index, vocab_size, delimiter, name
        )


class TextFileStringTableInitializer(TextFileInitializer):
    """The numbers of the lines of a file, and as their values the words there."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename, int64, key_column_index, string, value_column_index, vocab_size, delimiter, name
        )


def _table(
    entries: Any,
    num_oov_buckets: int,
    default_value: int,
    hasher_spec: HasherSpec,
    name: str | None,
    key_dtype: DType,
) -> Table:
    """A table of numbers of words, with buckets for others or with one value for all of these."""
    if num_oov_buckets < 0:
        raise misuse(ValueError, f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    table = HashTable(entries, default_value, name=name)
    if not num_oov_buckets and key_dtype is table.key_dtype:
        return table
    return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, name, key_dtype)


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: Any = string,
    name: str | None = None,
) -> Table:
    """A table of the places of words in the vector `mapping`.

    >>> import staticgraph as sg
    >>> from staticgraph.tf1.compat.contrib.lookup import index_table_from_tensor
    >>> found = index_table_from_tensor(["emerson", "lake"]).lookup(sg.constant(["lake", "palmer"]))
    >>> with sg.Session() as sess:
    ...     sess.run(sg.tables_initializer())
    ...     sess.run(found).tolist()
    [1, -1]
    """
    if mapping is None:
        raise misuse(ValueError, "mapping must be specified.")
    keys = convert_to_tensor(mapping, dtype=None if as_dtype(dtype).is_integer else as_dtype(dtype))
    keys = cast(keys, int64) if keys.dtype.is_integer else keys
    entries = KeyValueTensorInitializer(keys, cast(number_range(size(keys)), int64))
    return _table(entries, num_oov_buckets, default_value, hasher_spec, name, as_dtype(dtype))


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: Any = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Table:
    """A table of the numbers of the lines that words are in."""
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise misuse(ValueError, "vocabulary_file must be specified and must not be empty.")
    entries = TextFileIdTableInitializer(
        vocabulary_file,
        key_column_index,
        value_column_index,
        vocab_size,
        delimiter,
        key_dtype=int64 if as_dtype(key_dtype).is_integer else key_dtype,
    )
    return _table(entries, num_oov_buckets, default_value, hasher_spec, name, as_dtype(key_dtype))


def index_to_string_table_from_tensor(
    mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> HashTable:
    """A table of the words in the vector `mapping`, by their places."""
    if mapping is None:
        raise misuse(ValueError, "mapping must be specified.")
    values = convert_to_tensor(mapping, dtype=string)
    entries = KeyValueTensorInitializer(cast(number_range(size(values)), int64), values)
    return HashTable(entries, default_value, name=name)


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> HashTable:
    """A table of the words in the lines of a file, by the numbers of the lines."""
    entries = TextFileStringTableInitializer(
        vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter
    )
    return HashTable(entries, default_value, name=name)


string_to_index_table_from_tensor = adapted(
    index_table_from_tensor,
    "mapping num_oov_buckets default_value hasher_spec name",
    "string_to_index_table_from_tensor",
)
string_to_index_table_from_file = adapted(
    index_table_from_file,
    "vocabulary_file num_oov_buckets vocab_size default_value hasher_spec name",
    "string_to_index_table_from_file",
)


def string_to_index(tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None) -> Tensor:
    """The places in `mapping` of the strings in `tensor`."""
    found: Tensor = index_table_from_tensor(mapping, 0, default_value, name=name).lookup(tensor)
    return found


def index_to_string(tensor: Any, mapping: Any, default_value: Any = "UNK", name: str | None = None) -> Tensor:
    """The strings in `mapping` at the places in `tensor`."""
    found: Tensor = index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)
    return found
