"""Feature columns: each describes one input of a model, and makes tensors of the features.

A column says which feature it reads and how the feature becomes numbers. A `DenseColumn` gives a tensor with
a row for each example. A `CategoricalColumn` gives sparse numbers of categories. `Features` caches the
results of columns, so columns that share a source share its operations too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from staticgraph import sparse
from staticgraph.arrays import array_ops
from staticgraph.arrays.indexing import gather_nd, where
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import constant
from staticgraph.compiler.graph.dtypes import int64, string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.math_ops import not_equal
from staticgraph.sparse.tensor import SparseTensor, convert_to_tensor_or_sparse_tensor


class Ids(NamedTuple):
    """The categories of each example: sparse numbers, and sparse weights of the same form or None."""

    ids: SparseTensor
    weights: SparseTensor | None = None


class Features:
    """The tensors of a batch by name, and what columns have made of them."""

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._raw = dict(features)
        self._made: dict[Any, Any] = {}

    def __getitem__(self, key: str | FeatureColumn) -> Any:
        """A feature with at least two axes, or what a column makes. ValueError if there is no such
        feature.
        """
        if key not in self._made:
            self._made[key] = key.transform(self) if isinstance(key, FeatureColumn) else self._feature(key)
        return self._made[key]

    def _feature(self, key: str) -> Any:
        if key not in self._raw:
            names = ", ".join(map(str, self._raw))
            refuse(f"Feature {key} is not in features dictionary.", f"it has {names}" if names else None)
        feature = convert_to_tensor_or_sparse_tensor(self._raw[key])
        rank = feature.shape.ndims
        if rank == 0:
            refuse(f"Feature (key: {key}) cannot have rank 0. Given: {feature}")
        if rank is not None and rank > 1:
            return feature
        if isinstance(feature, SparseTensor):  # of unknown rank: one row for each example, too
            return sparse.reshape(feature, [feature.dense_shape[0], 1 if rank == 1 else -1])
        if rank is None:  # one row for each example, whatever there is of it
            return array_ops.reshape(feature, [array_ops.shape(feature)[0], -1])
        return array_ops.expand_dims(feature, -1)


class FeatureColumn(ABC):
    """One input of a model."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the column. Its variables are named after it."""

    @property
    def var_scope_name(self) -> str:
        """The variable scope of its variables."""
        return self.name

    @property
    @abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """The features that `sg.io.parse_example` must read for the column."""

    @abstractmethod
    def transform(self, features: Features) -> Any:
        """Return the result of the column for the features."""


class DenseColumn(FeatureColumn):
    """A column that gives a tensor of shape [batch, *variable_shape]."""

    __slots__ = ()

    @property
    @abstractmethod
    def variable_shape(self) -> TensorShape:
        """The shape for one example."""

    def dense(self, features: Features, variable: Callable[..., Any]) -> Tensor:
        """The tensor; `variable` is `get_variable` with the settings of the layer."""
        made: Tensor = features[self]
        return made

    @property
    def size(self) -> int:
        """The number of values that the column gives for one example."""
        return math.prod(n or 0 for n in self.variable_shape.as_list())


class CategoricalColumn(FeatureColumn):
    """A column that gives numbers of categories, from 0 to `num_buckets - 1`."""

    __slots__ = ()

    @property
    @abstractmethod
    def num_buckets(self) -> int:
        """The number of categories."""

    def categories(self, features: Features) -> Ids:
        """The categories of each example."""
        return Ids(features[self])


def sparse_input(tensor: Any, ignore_value: Any = None) -> SparseTensor:
    """A feature as a sparse one: without "", -1 and 0.0 in strings, integers and floats."""
    if isinstance(tensor, SparseTensor):
        return tensor
    if ignore_value is None:
        ignore_value = "" if tensor.dtype is string else -1 if tensor.dtype.is_integer else 0.0
    with name_scope(None, "to_sparse_input", [tensor]):
        kept = where(not_equal(tensor, constant(ignore_value, tensor.dtype)))
        return SparseTensor(kept, gather_nd(tensor, kept), array_ops.shape(tensor, out_type=int64))


def as_columns(feature_columns: Any) -> list[FeatureColumn]:
    """The columns that a user gives, sorted by name. ValueError for others, for none, and for equal names."""
    if isinstance(feature_columns, FeatureColumn):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, Mapping):
        refuse("Expected feature_columns to be iterable, found dict.")
    columns: Sequence[Any] = list(feature_columns)
    if not columns:
        refuse("feature_columns must not be empty.")
    by_name: dict[str, FeatureColumn] = {}
    for column in columns:
        if not isinstance(column, FeatureColumn):
            refuse(f"Items of feature_columns must be a FeatureColumn. Given: {column!r}")
        if column.name in by_name:
            text = f"Duplicate feature column name found for columns: {column} and {by_name[column.name]}"
            refuse(text, "leave one out, or give the feature a second name in the dict of features")
        by_name[column.name] = column
    return [by_name[name] for name in sorted(by_name)]


def check_batch_sizes(tensors: Iterable[Tensor], columns: Iterable[FeatureColumn]) -> None:
    """ValueError if it is known that the tensors of two columns have different numbers of rows."""
    known: Iterator[tuple[int, str]] = (
        (tensor.shape[0].value, column.name)
        for tensor, column in zip(tensors, columns, strict=True)
        if tensor.shape.ndims and tensor.shape[0].value is not None
    )
    first = next(known, None)
    for size, name in known:
        if first is not None and size != first[0]:
            both = f"{first[1]} has {first[0]} rows, {name} has {size}"
            refuse(f"Batch size (first dimension) of each feature must be same: {both}")


def check_key(key: Any) -> None:
    """ValueError unless `key` is a string."""
    if not isinstance(key, str):
        refuse(f"key must be a string. Got: type {type(key).__name__}. Given key: {key!r}.")


def check_categories(dtype: Any, what: str) -> None:
    """ValueError unless the type is that of strings or integers."""
    if dtype is not string and not dtype.is_integer:
        refuse(f"{what} dtype must be string or integer. dtype: {dtype}.")


def check_same_kind(column: Any, tensor: Any) -> None:
    """ValueError if one of a column and its feature is of strings, the other of integers."""
    check_categories(tensor.dtype, f"column_name: {column.key} input_tensor")
    if column.dtype.is_integer != tensor.dtype.is_integer:
        text = f"column {column.key} has the dtype {column.dtype}, and its feature {tensor.dtype}"
        refuse(f"Column dtype and SparseTensors dtype must be compatible: {text}")


def refuse(text: str, hint: str | None = None) -> NoReturn:
    """Raise a ValueError at the user's line."""
    raise misuse(ValueError, text, hint)
