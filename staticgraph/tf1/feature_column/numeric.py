"""Columns of numbers: as they are, or by the interval that they lie in."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.arrays import array_ops, creation
from staticgraph.arrays.casts import cast
from staticgraph.arrays.indexing import one_hot
from staticgraph.building.framework import get_default_graph
from staticgraph.building.inputs import constant
from staticgraph.compiler.graph.dtypes import DType, as_dtype, float32, int32, int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.mathematics.math_ops import less, logical_not
from staticgraph.mathematics.reductions import reduce_sum
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.tf1 import io
from staticgraph.tf1.feature_column.columns import (
    CategoricalColumn,
    DenseColumn,
    Features,
    Ids,
    check_key,
    refuse,
)


@dataclass(frozen=True, slots=True)
class NumericColumn(DenseColumn):
    """Numbers of a feature, see `numeric_column`."""

    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: io.FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape(self.shape)

    def transform(self, features: Features) -> Tensor:
        feature = features[self.key]
        if isinstance(feature, SparseTensor):
            refuse(
                "The feature of a numerical column must be a Tensor. SparseTensor is not supported. "
                f"key: {self.key}",
                "sg.sparse_tensor_to_dense(feature)",
            )
        if self.normalizer_fn is not None:
            feature = self.normalizer_fn(feature)
        return cast(feature, float32)


@dataclass(frozen=True, slots=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """Numbers by the interval that they lie in, see `bucketized_column`."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.source_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape([*self.source_column.shape, len(self.boundaries) + 1])

    @property
    def num_buckets(self) -> int:
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def transform(self, features: Features) -> Tensor:
        """The number of each number's interval: how many boundaries it is not below."""
        numbers = features[self.source_column]
        with counted_as(get_default_graph(), 1):
            is_below = less(array_ops.expand_dims(numbers, -1), constant(self.boundaries, float32))
            return reduce_sum(cast(logical_not(is_below), int32), -1)

    def dense(self, features: Features, variable: Callable[..., Any]) -> Tensor:
        buckets = features[self]
        with counted_as(get_default_graph(), 7):
            return one_hot(buckets, len(self.boundaries) + 1, 1.0, 0.0)

    def categories(self, features: Features) -> Ids:
        """Each of the source's numbers has intervals of its own, one after the other."""
        buckets = features[self]
        with counted_as(get_default_graph(), 32):
            return self._apart(buckets, self.source_column.shape[0])

    def _apart(self, buckets: Tensor, width: int) -> Ids:
        batch = array_ops.shape(buckets)[0]
        column = array_ops.expand_dims(creation.range(batch), 1)
        rows = array_ops.reshape(array_ops.tile(column, [1, width]), [-1])
        places = array_ops.tile(creation.range(width), [batch])
        ids = array_ops.reshape(buckets, [-1]) + (len(self.boundaries) + 1) * places
        indices = cast(array_ops.stack([rows, places], axis=1), int64)
        return Ids(SparseTensor(indices, cast(ids, int64), cast(array_ops.stack([batch, width]), int64)))


def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """The numbers of the feature `key`, as float32.

    `shape`: of the feature for one example. `default_value`: stands for a missing feature when examples are
    parsed. `normalizer_fn`: a function that the tensor goes through.

    ValueError for a dtype that is not of numbers, for a size below 1 and for a default of another shape;
    TypeError for sizes and defaults of another type.

    >>> import staticgraph as sg
    >>> price = sg.feature_column.numeric_column("price", normalizer_fn=lambda x: (x - 3.0) / 4.2)
    >>> layer = sg.feature_column.input_layer({"price": [[3.0], [7.2]]}, [price])
    >>> with sg.Session() as sess:
    ...     sess.run(layer).round(3).tolist()
    [[0.0], [1.0]]
    """
    sizes = checked_sizes(key, shape)
    known = as_dtype(dtype)
    if not (known.is_integer or known.is_floating):
        refuse(f"dtype must be convertible to float. dtype: {known}, key: {key}")
    default = _checked_default(sizes, default_value, known, key)
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise misuse(TypeError, f"normalizer_fn must be a callable. Given: {normalizer_fn!r}")
    check_key(key)
    return NumericColumn(key, sizes, default, known, normalizer_fn)


def bucketized_column(source_column: NumericColumn, boundaries: Any) -> BucketizedColumn:
    """The numbers of `source_column` by intervals: below the first boundary, from it to the next, and so on.

    An interval has its lower boundary. ValueError unless the source is a numeric column of one axis, and the
    boundaries are a list of numbers that grow.

    >>> import staticgraph as sg
    >>> age = sg.feature_column.bucketized_column(sg.feature_column.numeric_column("age"), [18, 65])
    >>> layer = sg.feature_column.input_layer({"age": [[17.0], [18.0], [70.0]]}, [age])
    >>> with sg.Session() as sess:
    ...     sess.run(layer).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if not isinstance(source_column, NumericColumn):
        refuse(f"source_column must be a column generated with numeric_column(). Given: {source_column!r}")
    if len(source_column.shape) > 1:
        refuse(f"source_column must be one-dimensional column. Given: {source_column}")
    if not isinstance(boundaries, list | tuple) or not boundaries:
        refuse(f"boundaries must be a sorted list, and not {boundaries!r}")
    if any(low >= high for low, high in itertools.pairwise(boundaries)):
        refuse(f"boundaries must be a sorted list, and not {boundaries!r}")
    return BucketizedColumn(source_column, tuple(boundaries))


def checked_sizes(key: str, shape: Any) -> tuple[int, ...]:
    """Return the shape of a column as a tuple. TypeError or ValueError for sizes that make no sense."""
    sizes = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    for size in sizes:
        if not isinstance(size, int | np.integer):
            raise misuse(TypeError, f"shape dimensions must be integer. shape: {sizes}, key: {key}")
        if size < 1:
            refuse(f"shape dimensions must be greater than 0. shape: {sizes}, key: {key}")
    return sizes


def _checked_default(shape: tuple[int, ...], default: Any, dtype: DType, key: str) -> Any:
    """The default value, a number for each place, or None."""
    if default is None:
        return None
    values = np.asarray(default)
    wanted = (np.integer,) if dtype.is_integer else (np.integer, np.floating)
    if not issubclass(values.dtype.type, wanted):
        text = f"default_value must be compatible with dtype. default_value: {default}, dtype: {dtype}"
        raise misuse(TypeError, f"{text}, key: {key}")
    if values.shape not in ((), shape):
        refuse(
            f"The shape of default_value must be equal to given shape. default_value: {default}, key: {key}"
        )
    return _nested(np.broadcast_to(values.astype(dtype.numpy), shape).tolist())


def _nested(values: Any) -> Any:
    """Lists as tuples: a column can be the key of a dict."""
    return tuple(_nested(v) for v in values) if isinstance(values, list) else values
