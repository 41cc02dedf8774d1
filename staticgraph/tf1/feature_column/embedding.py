"""Columns that make dense tensors of categories: counts of them, and rows of a table that is learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph import nn, sparse, train
from staticgraph.arrays.indexing import one_hot, scatter_nd
from staticgraph.building.framework import get_collection_ref, get_default_graph, name_scope
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.mathematics.math_ops import greater_equal
from staticgraph.mathematics.reductions import reduce_sum
from staticgraph.state.initializers import TruncatedNormal
from staticgraph.tf1.feature_column.categorical import WeightedCategoricalColumn
from staticgraph.tf1.feature_column.columns import CategoricalColumn, DenseColumn, Features, Ids, refuse
from staticgraph.tf1.feature_column.sequences import (
    SequenceDense,
    SequenceDenseColumn,
    check_not_sequence,
    check_sequence,
    lengths_of,
)

Initializer = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class IndicatorColumn(DenseColumn, SequenceDenseColumn):
    """Column of the number of occurrences of each category, see `indicator_column`."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape([1, self.categorical_column.num_buckets])

    def transform(self, features: Features) -> Tensor:
        ids, weights = self.categorical_column.categories(features)
        depth = self.categorical_column.num_buckets
        if weights is None:
            dense = sparse.to_dense(ids, default_value=-1)
            count_more(dense.graph, 2)
            return reduce_sum(one_hot(dense, depth, 1.0, 0.0), axis=[-2])
        with counted_as(get_default_graph(), 22):
            found = sparse.merge(ids, weights, depth)
            found = sparse.retain(found, greater_equal(found.indices[:, 1], 0))
            return scatter_nd(found.indices, found.values, found.dense_shape)

    def dense(self, features: Features, variable: Callable[..., Any]) -> Tensor:
        check_not_sequence(self)
        made: Tensor = features[self]
        return made

    def sequence(self, features: Features, variable: Callable[..., Any]) -> SequenceDense:
        check_sequence(self)
        return SequenceDense(features[self], lengths_of(features[self.categorical_column]))


@dataclass(frozen=True, slots=True)
class EmbeddingColumn(DenseColumn, SequenceDenseColumn):
    """A learned row for each category, see `embedding_column`."""

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Initializer
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_embedding"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape([self.dimension])

    def transform(self, features: Features) -> Ids:
        return self.categorical_column.categories(features)

    def dense(self, features: Features, variable: Callable[..., Any]) -> Tensor:
        check_not_sequence(self)
        return self.rows(features, variable)

    def sequence(self, features: Features, variable: Callable[..., Any]) -> SequenceDense:
        check_sequence(self)
        return SequenceDense(self.rows(features, variable), lengths_of(features[self].ids))

    def rows(self, features: Features, variable: Callable[..., Any]) -> Tensor:
        """The learned rows of the categories of each example or step, combined."""
        ids, weights = features[self]
        made: Tensor = nn.safe_embedding_lookup_sparse(
            self.table(variable),
            ids,
            weights,
            self.combiner,
            name=f"{self.name}_weights",
            max_norm=self.max_norm,
        )
        return made

    def table(self, variable: Callable[..., Any]) -> Any:
        """The variable, with a row for each category."""
        shape = [self.categorical_column.num_buckets, self.dimension]
        made = variable("embedding_weights", shape, self.initializer, self.trainable)
        if self.ckpt_to_load_from is not None and self.tensor_name_in_ckpt is not None:
            train.init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: made})
        return made


@dataclass(frozen=True, slots=True)
class SharedEmbeddingColumn(EmbeddingColumn):
    """An `EmbeddingColumn` whose variable other columns use too, see `shared_embedding_columns`."""

    shared_embedding_collection_name: str

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def var_scope_name(self) -> str:
        return self.shared_embedding_collection_name

    def rows(self, features: Features, variable: Callable[..., Any]) -> Tensor:
        with name_scope(None, self.name):  # all share one variable scope, but not the names in it
            return EmbeddingColumn.rows(self, features, variable)

    def table(self, variable: Callable[..., Any]) -> Any:
        """The variable in the collection that the columns share; the first one makes it."""
        shared = get_collection_ref(self.shared_embedding_collection_name)
        if not shared:
            shared.append(EmbeddingColumn.table(self, variable))
        shape = [self.categorical_column.num_buckets, self.dimension]
        if len(shared) > 1 or shared[0].shape.as_list() != shape:
            collection = f"collection {self.shared_embedding_collection_name} has {shared}"
            text = f"column {self.name}: the {collection}, and one variable of shape {shape} is needed"
            refuse(text, "give shared_embedding_columns another shared_embedding_collection_name")
        return shared[0]


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """Make a column of the number of occurrences of each category in an example.

    If the categories have weights, the column gives the sums of their weights instead. Its shape is
    [batch, categories].

    >>> import staticgraph as sg
    >>> day = sg.feature_column.categorical_column_with_identity("day", 4)
    >>> column = sg.feature_column.indicator_column(day)
    >>> layer = sg.feature_column.input_layer({"day": [[1, 3], [2, 2]]}, [column])
    >>> with sg.Session() as sess:
    ...     sess.run(layer).tolist()
    [[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 2.0, 0.0]]
    """
    return IndicatorColumn(categorical_column)


def embedding_column(
    categorical_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> EmbeddingColumn:
    """For each example the learned rows of its categories, combined: shape [batch, dimension].

    `combiner`: "mean", "sqrtn" or "sum", and `max_norm`, see `nn.embedding_lookup_sparse`. `initializer` of
    the table: by default a truncated normal of deviation `1 / sqrt(dimension)`. `ckpt_to_load_from` and
    `tensor_name_in_ckpt`: a checkpoint and the tensor in it that the table begins as.

    ValueError for a dimension below 1, for an initializer that is no function, and for one of the last two
    without the other.

    >>> import staticgraph as sg
    >>> word = sg.feature_column.categorical_column_with_hash_bucket("word", 1000)
    >>> column = sg.feature_column.embedding_column(word, 8)
    >>> layer = sg.feature_column.input_layer({"word": [["a"], ["b"]]}, [column])
    >>> layer.shape.as_list(), sg.trainable_variables()[0].name
    ([2, 8], 'input_layer/word_embedding/embedding_weights:0')
    """
    made = _checked_initializer(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    return EmbeddingColumn(
        categorical_column,
        dimension,
        combiner,
        made,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


def shared_embedding_columns(
    categorical_columns: Sequence[CategoricalColumn],
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[SharedEmbeddingColumn]:
    """An `embedding_column` for each column, with one table for all of them.

    `shared_embedding_collection_name`: of the collection that the table is in, and of its variable scope; by
    default made of the columns' names. ValueError as there, and for columns of different kinds or numbers of
    categories.

    >>> import staticgraph as sg
    >>> words = [sg.feature_column.categorical_column_with_identity(key, 10) for key in ("query", "title")]
    >>> [column.name for column in sg.feature_column.shared_embedding_columns(words, 8)]
    ['query_shared_embedding', 'title_shared_embedding']
    """
    made = _checked_initializer(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    by_name = sorted(categorical_columns, key=lambda column: column.name)
    kinds = {type(_unweighted(column)) for column in by_name}
    sizes = {column.num_buckets for column in by_name}
    if len(kinds) != 1 or not issubclass(next(iter(kinds)), CategoricalColumn):
        refuse(f"to share an embedding, all must be categorical columns of the same type: {by_name}")
    if len(sizes) != 1:
        refuse(f"to share an embedding, all columns must have the same number of buckets, and not {sizes}")
    joined = "_".join(column.name for column in by_name)
    shared = shared_embedding_collection_name or f"{joined}_shared_embedding"
    return [
        SharedEmbeddingColumn(
            column,
            dimension,
            combiner,
            made,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            max_norm,
            trainable,
            shared,
        )
        for column in categorical_columns
    ]


def _unweighted(column: CategoricalColumn) -> CategoricalColumn:
    return column.categorical_column if isinstance(column, WeightedCategoricalColumn) else column


def _checked_initializer(dimension: Any, initializer: Any, checkpoint: Any, tensor_name: Any) -> Initializer:
    """The initializer of a table. ValueError if the description of the table makes no sense."""
    if dimension is None or dimension < 1:
        refuse(f"Invalid dimension {dimension}.")
    if (checkpoint is None) != (tensor_name is None):
        refuse("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if initializer is None:
        made: Initializer = TruncatedNormal(mean=0.0, stddev=float(dimension) ** -0.5)
        return made
    if not callable(initializer):
        refuse(f"initializer must be callable if specified, and not {initializer!r}")
    return initializer
