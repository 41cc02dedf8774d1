"""Columns of sequences: each example has as many steps as it likes, for recurrent nets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from staticgraph import sparse
from staticgraph.arrays import array_ops
from staticgraph.building.inputs import constant
from staticgraph.compiler.graph.dtypes import DType, as_dtype, float32, int64, string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.mathematics.math_ops import floordiv, maximum
from staticgraph.mathematics.segments import unsorted_segment_max
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.tf1 import io
from staticgraph.tf1.feature_column.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from staticgraph.tf1.feature_column.columns import (
    CategoricalColumn,
    FeatureColumn,
    Features,
    check_key,
    refuse,
)
from staticgraph.tf1.feature_column.numeric import checked_sizes


class SequenceDense(NamedTuple):
    """Steps of each example, [batch, steps, ...], and the int64 number of steps that each has, [batch]."""

    dense: Tensor
    lengths: Tensor


class SequenceDenseColumn(FeatureColumn):
    """A column that gives a tensor of shape [batch, steps, *variable_shape]."""

    __slots__ = ()

    @abstractmethod
    def sequence(self, features: Features, variable: Callable[..., Any]) -> SequenceDense:
        """The steps and their numbers; `variable` is `get_variable` with the settings of the layer."""


@dataclass(frozen=True, slots=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """Categories of each step of an example, see `sequence_categorical_column_with_identity`."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transform(self, features: Features) -> SparseTensor:
        """The categories as [batch, steps, categories of a step]: no two steps are combined."""
        ids = features[self.categorical_column]
        sizes = [ids.dense_shape[0], ids.dense_shape[1], constant(-1, int64)]
        return sparse.reshape(ids, array_ops.stack(sizes))


@dataclass(frozen=True, slots=True)
class SequenceNumericColumn(SequenceDenseColumn):
    """Numbers of each step of an example, see `sequence_numeric_column`."""

    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: io.VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> TensorShape:
        """The shape for one step of one example."""
        return TensorShape(self.shape)

    @property
    def size(self) -> int:
        """The number of values of one step."""
        return self.variable_shape.num_elements() or 1

    def transform(self, features: Features) -> SparseTensor:
        feature = features[self.key]
        if not isinstance(feature, SparseTensor):
            hint = "sg.sparse.from_dense(feature) makes one, of all numbers but zeros"
            raise misuse(TypeError, f"the feature {self.key} must be a SparseTensor, not {feature}", hint)
        return feature if self.normalizer_fn is None else self.normalizer_fn(feature)

    def sequence(self, features: Features, variable: Callable[..., Any]) -> SequenceDense:
        numbers = features[self]
        dense = sparse.to_dense(numbers, default_value=self.default_value)
        dense = array_ops.reshape(dense, [array_ops.shape(dense)[0], -1, *self.shape])
        return SequenceDense(dense, lengths_of(numbers, self.size if numbers.rank == 2 else 1))


def lengths_of(steps: SparseTensor, values_per_step: int = 1) -> Tensor:
    """Return the number of steps of each example: up to the last one that has a value."""
    last = floordiv(steps.indices[:, 1], constant(values_per_step, int64)) + 1
    found = unsorted_segment_max(last, steps.indices[:, 0], steps.dense_shape[0])
    return maximum(found, constant(0, int64))


def check_not_sequence(column: Any) -> None:
    """Raise ValueError if a column that is to give one row for each example has categories of steps."""
    if isinstance(column.categorical_column, SequenceCategoricalColumn):
        refuse(
            f"In {type(column).__name__}: {column.name}. categorical_column must not be of type "
            f"SequenceCategoricalColumn. Given: {column.categorical_column}",
            "use categorical_column_with_... here, or sequence_input_layer or SequenceFeatures",
        )


def check_sequence(column: Any) -> None:
    """Raise ValueError if a column that is to give steps has no steps."""
    if not isinstance(column.categorical_column, SequenceCategoricalColumn):
        refuse(
            f"In {type(column).__name__}: {column.name}. categorical_column must be of type "
            f"SequenceCategoricalColumn to use SequenceFeatures. Given: {column.categorical_column}",
            "use sequence_categorical_column_with_... here, or input_layer or DenseFeatures",
        )


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """The integers of the feature `key`, a category for each step.

    Args:
        key: The name of the feature, which is sparse: [batch, steps].
        num_buckets: The number of categories: the integers are from 0 to below it.
        default_value: Stands for other integers. They are an error by default.

    Raises:
        ValueError: `num_buckets` is below 1, or the default is no category.

    >>> import staticgraph as sg
    >>> watched = sg.feature_column.sequence_categorical_column_with_identity("watched", 10)
    >>> sg.feature_column.embedding_column(watched, 4).name
    'watched_embedding'
    """
    return SequenceCategoricalColumn(categorical_column_with_identity(key, num_buckets, default_value))


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = string
) -> SequenceCategoricalColumn:
    """The strings or integers of the feature `key`, by their hash, a category for each step.

    Args and errors are those of `categorical_column_with_hash_bucket`.
    """
    return SequenceCategoricalColumn(categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = string,
) -> SequenceCategoricalColumn:
    """The strings or integers of the feature `key`, each numbered by its line in a file.

    Args and errors are those of `categorical_column_with_vocabulary_file`.
    """
    column = categorical_column_with_vocabulary_file(
        key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
    )
    return SequenceCategoricalColumn(column)


def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Sequence[Any],
    dtype: Any = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """The strings or integers of the feature `key`, each numbered by its place in a list.

    Args and errors are those of `categorical_column_with_vocabulary_list`.
    """
    column = categorical_column_with_vocabulary_list(
        key, vocabulary_list, dtype, default_value, num_oov_buckets
    )
    return SequenceCategoricalColumn(column)


def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """The numbers of the feature `key`, some for each step.

    Args:
        key: The name of the feature, which is sparse: [batch, values], or [batch, steps, values].
        shape: The shape of one step.
        default_value: Stands for values that are not there, such as those behind the last step.
        dtype: The type of the feature.
        normalizer_fn: A function that the sparse tensor goes through.

    Raises:
        TypeError: A size is no integer, or `normalizer_fn` is not callable.
        ValueError: A size is below 1, or the dtype is not of numbers.

    >>> import staticgraph as sg
    >>> heat = sg.feature_column.sequence_numeric_column("heat")
    >>> feature = sg.SparseTensor([[0, 0], [0, 1], [1, 0]], [1.0, 2.0, 3.0], [2, 2])
    >>> steps, lengths = sg.contrib.feature_column.sequence_input_layer({"heat": feature}, [heat])
    >>> with sg.Session() as sess:
    ...     sess.run([steps, lengths])[1].tolist()
    [2, 1]
    """
    sizes = checked_sizes(key, shape)
    known = as_dtype(dtype)
    if not (known.is_integer or known.is_floating):
        refuse(f"dtype must be convertible to float. dtype: {known}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise misuse(TypeError, f"normalizer_fn must be a callable. Given: {normalizer_fn!r}")
    check_key(key)
    return SequenceNumericColumn(key, sizes, default_value, known, normalizer_fn)
