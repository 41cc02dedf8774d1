"""Columns of combinations: each pair, triple and so on of categories of one example, by its hash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from staticgraph.arrays import array_ops
from staticgraph.arrays.creation import ones_like
from staticgraph.arrays.indexing import where
from staticgraph.building.framework import get_default_graph
from staticgraph.compiler.graph.dtypes import bool_, int64, string
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.sparse.crossing import cross_op
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.tf1 import io
from staticgraph.tf1.feature_column.categorical import HashedCategoricalColumn
from staticgraph.tf1.feature_column.columns import CategoricalColumn, Features, refuse
from staticgraph.tf1.feature_column.numeric import BucketizedColumn

_FIRST = 0xDECAFCAFFE  # what the hash of a combination begins with, where no `hash_key` is given


@dataclass(frozen=True, slots=True)
class CrossedColumn(CategoricalColumn):
    """Combinations of categories, see `crossed_column`."""

    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    @property
    def leaves(self) -> list[str | CategoricalColumn]:
        """The combined features and columns, including those of crossed columns among the keys."""
        return list(_leaves(self.keys))

    @property
    def name(self) -> str:
        return "_X_".join(sorted(leaf if isinstance(leaf, str) else leaf.name for leaf in self.leaves))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        for key in self.keys:
            spec |= {key: io.VarLenFeature(string)} if isinstance(key, str) else key.parse_example_spec
        return spec

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def transform(self, features: Features) -> SparseTensor:
        found = [self._input(leaf, features) for leaf in self.leaves]
        casts = sum(isinstance(leaf, BucketizedColumn) for leaf in self.leaves)
        with counted_as(get_default_graph(), 1 + casts):
            return self._combined(found)

    def _combined(self, found: list[Any]) -> SparseTensor:
        dense = [_complete(feature) for feature in found if not isinstance(feature, SparseTensor)]
        # TensorFlow takes sparse inputs first, and the order decides the hash.
        inputs = [feature for feature in found if isinstance(feature, SparseTensor)] + dense
        parts = [part for x in inputs for part in (x.indices, x.values, x.dense_shape)]
        seed = _FIRST if self.hash_key is None else self.hash_key
        return SparseTensor(*cross_op(parts, num_buckets=self.hash_bucket_size, hash_key=seed))

    def _input(self, leaf: str | CategoricalColumn, features: Features) -> Any:
        if isinstance(leaf, str):
            return features[leaf]
        ids, weights = leaf.categories(features)
        if weights is not None:
            refuse(f"crossed_column does not support weights, but the column {leaf.name} has weights")
        return ids


def crossed_column(
    keys: Sequence[str | CategoricalColumn], hash_bucket_size: int, hash_key: int | None = None
) -> CrossedColumn:
    """The combinations of the categories of several columns or features, numbered by their hash.

    Each key is a column of categories, but not a hashed one, or the name of a feature of strings or
    integers. `hash_key`: what the hash begins with. ValueError for fewer than two keys, for others, and for
    a size below 1.

    >>> import staticgraph as sg
    >>> place = sg.feature_column.crossed_column(["country", "language"], 1000)
    >>> place.name, place.num_buckets
    ('country_X_language', 1000)
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        refuse(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        refuse(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if isinstance(key, HashedCategoricalColumn):
            text = "categorical_column_with_hash_bucket is not supported for crossing"
            refuse(
                f"{text}. Given: {key}", f"use the name of its feature, {key.key!r}: it is hashed once then"
            )
        if not isinstance(key, str | CategoricalColumn):
            refuse(f"Unsupported key type: {key!r} is no name and no categorical column")
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)


def _leaves(keys: tuple[Any, ...]) -> Iterator[str | CategoricalColumn]:
    for key in keys:
        if isinstance(key, CrossedColumn):
            yield from _leaves(key.keys)
        else:
            yield key


def _complete(tensor: Tensor) -> SparseTensor:
    """All elements of a matrix; a combination has every one, empty strings too."""
    indices = where(ones_like(tensor, dtype=bool_))
    return SparseTensor(indices, array_ops.reshape(tensor, [-1]), array_ops.shape(tensor, out_type=int64))
