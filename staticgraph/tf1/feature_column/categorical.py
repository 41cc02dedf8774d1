"""Columns of categories: words and numbers that are numbered by themselves, by a vocabulary or by a hash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.arrays import array_ops
from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import fill
from staticgraph.arrays.indexing import where
from staticgraph.building.framework import control_dependencies, get_default_graph
from staticgraph.building.inputs import constant, identity
from staticgraph.compiler.graph.dtypes import DType, as_dtype, float32, int64, string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.control_flow.assertions import Assert
from staticgraph.domains import strings
from staticgraph.mathematics.math_ops import greater_equal, less, logical_and
from staticgraph.mathematics.reductions import reduce_all
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.tf1 import io
from staticgraph.tf1.feature_column.columns import (
    CategoricalColumn,
    Features,
    Ids,
    check_categories,
    check_key,
    check_same_kind,
    refuse,
    sparse_input,
)
from staticgraph.tf1.feature_column.vocabulary import places


class _OfFeature(CategoricalColumn):
    """Categories that are the elements of one feature, `key`, of type `dtype`."""

    __slots__ = ()
    key: str
    dtype: Any

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: io.VarLenFeature(self.dtype)}


@dataclass(frozen=True, slots=True)
class HashedCategoricalColumn(_OfFeature):
    """Categories by their hash, see `categorical_column_with_hash_bucket`."""

    key: str
    hash_bucket_size: int
    dtype: DType

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def transform(self, features: Features) -> SparseTensor:
        feature = sparse_input(features[self.key])
        check_same_kind(self, feature)
        with counted_as(get_default_graph(), 1 if self.dtype is string else 3):
            words = feature.values if self.dtype is string else strings.as_string(feature.values)
            found = strings.to_hash_bucket_fast(words, self.hash_bucket_size, name="lookup")
        return feature.with_values(found)


@dataclass(frozen=True, slots=True)
class VocabularyListCategoricalColumn(_OfFeature):
    """Categories by their place in a list, see `categorical_column_with_vocabulary_list`."""

    key: str
    vocabulary_list: tuple[Any, ...]
    dtype: DType
    default_value: int
    num_oov_buckets: int

    @property
    def num_buckets(self) -> int:
        return len(self.vocabulary_list) + self.num_oov_buckets

    def transform(self, features: Features) -> SparseTensor:
        feature = sparse_input(features[self.key])
        check_same_kind(self, feature)
        more = 5 * bool(self.num_oov_buckets) + 2 * (self.dtype is not string)
        with counted_as(get_default_graph(), 10 + more):
            found: SparseTensor = places(
                feature, self.vocabulary_list, self.default_value, self.num_oov_buckets, f"{self.key}_lookup"
            )
        return found


@dataclass(frozen=True, slots=True)
class VocabularyFileCategoricalColumn(_OfFeature):
    """Categories by their line in a file, see `categorical_column_with_vocabulary_file`."""

    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: DType
    default_value: int

    @property
    def num_buckets(self) -> int:
        return self.vocabulary_size + self.num_oov_buckets

    def transform(self, features: Features) -> SparseTensor:
        feature = sparse_input(features[self.key])
        check_same_kind(self, feature)
        words = _lines(self.vocabulary_file)[: self.vocabulary_size]
        if len(words) < self.vocabulary_size:
            text = f"{self.vocabulary_file} has {len(words)} lines, vocabulary_size is {self.vocabulary_size}"
            refuse(f"column {self.key}: {text}")
        found: SparseTensor = places(
            feature, words, self.default_value, self.num_oov_buckets, f"{self.key}_lookup"
        )
        return found


@dataclass(frozen=True, slots=True)
class IdentityCategoricalColumn(_OfFeature):
    """Categories that are numbers already, see `categorical_column_with_identity`."""

    key: str
    number_buckets: int
    default_value: int | None

    @property
    def dtype(self) -> DType:
        return int64

    @property
    def num_buckets(self) -> int:
        return self.number_buckets

    def transform(self, features: Features) -> SparseTensor:
        feature = sparse_input(features[self.key])
        if not feature.dtype.is_integer:
            refuse(f"Invalid input, not integer. key: {self.key} dtype: {feature.dtype}")
        with counted_as(get_default_graph(), 39 if self.default_value is None else 13):
            return feature.with_values(self._known(cast(feature.values, int64)))

    def _known(self, ids: Tensor) -> Tensor:
        is_known = logical_and(greater_equal(ids, 0), less(ids, self.number_buckets))
        if self.default_value is None:
            text = f"a category of column {self.key!r} is not from 0 to {self.number_buckets - 1}"
            with control_dependencies([Assert(reduce_all(is_known), [text])]):
                return identity(ids)
        default = fill(array_ops.shape(ids), constant(self.default_value, int64))
        return where(is_known, ids, default)


@dataclass(frozen=True, slots=True)
class WeightedCategoricalColumn(CategoricalColumn):
    """Categories with weights, see `weighted_categorical_column`."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: DType

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            key = self.weight_feature_key
            refuse(f"Parse config {spec[key]} already exists for {key}.")
        return spec | {self.weight_feature_key: io.VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transform(self, features: Features) -> Ids:
        weights = features[self.weight_feature_key]
        if weights.dtype is not self.dtype:
            refuse(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        weights = sparse_input(weights, 0.0 if self.dtype.is_floating else 0)
        if not self.dtype.is_floating:
            weights = weights.with_values(cast(weights.values, float32))
        return Ids(features[self.categorical_column], weights)

    def categories(self, features: Features) -> Ids:
        made: Ids = features[self]
        return made


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = string
) -> HashedCategoricalColumn:
    """The strings or integers of the feature `key`, each numbered by its hash: below `hash_bucket_size`.

    In a feature that is not sparse, "" and -1 stand for nothing. ValueError for a size below 1 and for
    another dtype.

    >>> import staticgraph as sg
    >>> sg.feature_column.categorical_column_with_hash_bucket("word", 1000).num_buckets
    1000
    """
    if hash_bucket_size is None:
        refuse(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        refuse(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    check_key(key)
    known = as_dtype(dtype)
    check_categories(known, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, known)


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """The strings or integers of the feature `key`, each numbered by its place in a list.

    Others have the number `default_value`, where -1 stands for nothing; or one of `num_oov_buckets` numbers
    after the list's, by their hash. `dtype`: that of the list by default.

    ValueError for an empty list, for equal entries, for both a default and buckets, and for another dtype.

    >>> import staticgraph as sg
    >>> color = sg.feature_column.categorical_column_with_vocabulary_list("color", ["red", "green"])
    >>> layer = sg.feature_column.input_layer(
    ...     {"color": [["green"], ["blue"]]}, [sg.feature_column.indicator_column(color)]
    ... )
    >>> with sg.Session() as sess:
    ...     sess.run(layer).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        refuse(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        refuse(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    _check_others(key, default_value if default_value != -1 else None, num_oov_buckets)
    entries = np.array(vocabulary_list)
    own = string if entries.dtype.kind in "OSU" else as_dtype(entries.dtype)
    check_categories(own, f"column_name: {key} vocabulary")
    known = own if dtype is None else as_dtype(dtype)
    if known.is_integer != own.is_integer:
        refuse(f"dtype {known} and vocabulary dtype {own} do not match, column_name: {key}")
    check_categories(known, f"column_name: {key}")
    check_key(key)
    return VocabularyListCategoricalColumn(key, tuple(vocabulary_list), known, default_value, num_oov_buckets)


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = string,
) -> VocabularyFileCategoricalColumn:
    """The strings or integers of the feature `key`, each numbered by its line in a file.

    `vocabulary_size`: how many lines count, by default all. For entries that the file has not, see
    `categorical_column_with_vocabulary_list`. The file is read when the graph is built, and is part of it.

    ValueError without a file, for a size below 1, for both a default and buckets, and for another dtype.
    """
    if not vocabulary_file:
        refuse(f"Missing vocabulary_file in {key}.")
    size = len(_lines(vocabulary_file)) if vocabulary_size is None else vocabulary_size
    if size < 1:
        refuse(f"Invalid vocabulary_size in {key}.")
    _check_others(key, default_value, num_oov_buckets)
    known = as_dtype(dtype)
    check_categories(known, f"column_name: {key}")
    check_key(key)
    default = -1 if default_value is None else default_value
    return VocabularyFileCategoricalColumn(key, vocabulary_file, size, num_oov_buckets, known, default)


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """The integers of the feature `key`, from 0 to `num_buckets - 1`, as they are.

    Others become `default_value`; without one they are an InvalidArgumentError while running. ValueError
    for a `num_buckets` below 1 and for a default that is no category.

    >>> import staticgraph as sg
    >>> sg.feature_column.categorical_column_with_identity("day", 7).name
    'day'
    """
    if num_buckets < 1:
        refuse(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        refuse(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    check_key(key)
    return IdentityCategoricalColumn(key, num_buckets, default_value)


def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: Any = float32
) -> WeightedCategoricalColumn:
    """The categories of a column with weights, which another feature tells, one for each category.

    ValueError for a dtype that is not of numbers.

    >>> import staticgraph as sg
    >>> words = sg.feature_column.categorical_column_with_identity("words", 100)
    >>> sg.feature_column.weighted_categorical_column(words, "counts").name
    'words_weighted_by_counts'
    """
    known = None if dtype is None else as_dtype(dtype)
    if known is None or not (known.is_integer or known.is_floating):
        raise misuse(ValueError, f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, known)


def _check_others(key: str, default_value: int | None, num_oov_buckets: int) -> None:
    """ValueError if it is not clear what becomes of entries that a vocabulary has not."""
    if num_oov_buckets and default_value is not None:
        refuse(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets < 0:
        refuse(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


def _lines(path: str) -> list[bytes]:
    with open(path, "rb") as file:
        return file.read().splitlines()
