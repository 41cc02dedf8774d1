"""Uses of columns in models: one dense tensor, a linear model, and the features to parse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from staticgraph import nn, sparse
from staticgraph.arrays import array_ops
from staticgraph.building.framework import GraphKeys
from staticgraph.building.inputs import constant
from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.math_ops import add_n
from staticgraph.mathematics.products import matmul
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.state.initializers import Zeros
from staticgraph.state.partitioned import PartitionedVariable
from staticgraph.state.scopes import get_variable, variable_scope
from staticgraph.tf1.feature_column.columns import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    Features,
    as_columns,
    check_batch_sizes,
    refuse,
)


def input_layer(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Sequence[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """The dense columns of a batch side by side: float32 [batch, sum of their sizes], in the order of names.

    `features`: tensors by name, dense of shape [batch, ...] or sparse. `weight_collections`: further
    collections for the variables. `cols_to_vars` and `cols_to_output_tensors`: dicts to be filled with the
    variables and the tensor of each column.

    ValueError for a column that is not dense, for none, and for two of one name.

    >>> import staticgraph as sg
    >>> columns = [sg.feature_column.numeric_column("size", shape=2), sg.feature_column.numeric_column("age")]
    >>> layer = sg.feature_column.input_layer({"age": [7.0], "size": [[1.0, 2.0]]}, columns)
    >>> with sg.Session() as sess:
    ...     sess.run(layer).tolist()
    [[7.0, 1.0, 2.0]]
    """
    columns = as_dense_columns(feature_columns)
    with variable_scope(None, "input_layer", tensors_in(features)):
        return dense_layer(
            features, columns, weight_collections, trainable, cols_to_vars, cols_to_output_tensors
        )


def as_dense_columns(feature_columns: Any) -> list[Any]:
    """The dense columns that a user gives, sorted by name. ValueError for others."""
    columns = as_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            text = f"Items of feature_columns must be a DenseColumn. Given: {column}"
            refuse(text, "wrap a categorical column with embedding_column or indicator_column")
    return columns


def dense_layer(
    features: Mapping[str, Any],
    columns: Any,
    weight_collections: Sequence[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """`input_layer` in the open variable scope."""
    made, batch = [], Features(features)
    variable = variable_maker(weight_collections, trainable)
    for column in columns:
        with variable_scope(None, column.var_scope_name) as scope:
            dense = column.dense(batch, variable)
            flat = array_ops.reshape(dense, [array_ops.shape(dense)[0], column.size])
        made.append(flat)
        if cols_to_vars is not None:
            cols_to_vars[column] = scope.global_variables()
        if cols_to_output_tensors is not None:
            cols_to_output_tensors[column] = flat
    check_batch_sizes(made, columns)
    return array_ops.concat(made, 1)


def linear_model(
    features: Mapping[str, Any],
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Sequence[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:
    """A weighted sum of dense columns and categories, and a bias: float32 [batch, units].

    A category has a weight for each unit. `sparse_combiner`: how the categories of one example are combined,
    "sum", "mean" or "sqrtn". `cols_to_vars`: a dict to be filled with the variables of each column, and under
    "bias" the bias. All variables begin as zeros.

    ValueError for columns that are none, for no columns, and for two of one name.

    >>> import staticgraph as sg
    >>> price = sg.feature_column.numeric_column("price")
    >>> prediction = sg.feature_column.linear_model({"price": [[1.0], [5.0]]}, [price])
    >>> [v.name for v in sg.trainable_variables()]
    ['linear_model/price/weights:0', 'linear_model/bias_weights:0']
    """
    columns = as_columns(feature_columns)
    sums, batch = [], Features(features)
    variable = variable_maker(weight_collections, trainable)
    names = _unused_scopes(columns)
    with variable_scope(None, "linear_model"):
        for column, name in zip(columns, names, strict=True):
            with variable_scope(name) as scope:
                sums.append(_weighted_sum(column, batch, units, sparse_combiner, variable))
            if cols_to_vars is not None:
                cols_to_vars[column] = scope.global_variables()
        check_batch_sizes(sums, columns)
        bias = variable("bias_weights", [units], Zeros(), True)
        count_more(sums[0].graph, 2)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = list(bias) if isinstance(bias, PartitionedVariable) else [bias]
        return nn.bias_add(add_n(sums, name="weighted_sum_no_bias"), bias, name="weighted_sum")


def make_parse_example_spec(feature_columns: Iterable[FeatureColumn]) -> dict[str, Any]:
    """Return the features that `sg.io.parse_example` must read for the columns.

    Raises:
        ValueError: An item is not a column, or two columns read a feature in different ways.

    >>> import staticgraph as sg
    >>> sg.feature_column.make_parse_example_spec([sg.feature_column.numeric_column("age")])
    {'age': FixedLenFeature(shape=(1,), dtype=sg.float32, default_value=None)}
    """
    spec: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            refuse(f"All feature_columns must be FeatureColumn instances. Given: {column!r}")
        for key, feature in column.parse_example_spec.items():
            if spec.setdefault(key, feature) != feature:
                refuse(
                    f"feature_columns contain different parse_spec for key {key}: {feature} and {spec[key]}"
                )
    return spec


def _unused_scopes(columns: Iterable[FeatureColumn]) -> list[str]:
    """A scope for each column. TensorFlow makes them unique not in the model, but in the scope around it."""
    names = []
    for column in columns:
        with variable_scope(None, column.var_scope_name, auxiliary_name_scope=False) as scope:
            names.append(scope.name.rpartition("/")[2])
    return names


def variable_maker(weight_collections: Sequence[str] | None, trainable: bool) -> Callable[..., Any]:
    """`get_variable` with the settings of a layer."""
    added = [key for key in weight_collections or () if key not in _COLLECTIONS]

    def variable(name: str, shape: Any, initializer: Any, is_trainable: bool) -> Any:
        return get_variable(
            name,
            shape,
            float32,
            initializer,
            trainable=trainable and is_trainable,
            collections=[*added, *_COLLECTIONS],
        )

    return variable


_COLLECTIONS = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES)


def _weighted_sum(
    column: Any, batch: Features, units: int, combiner: str, variable: Callable[..., Any]
) -> Tensor:
    if isinstance(column, CategoricalColumn):
        weights = variable("weights", [column.num_buckets, units], Zeros(), True)
        ids, factors = column.categories(batch)
        ids, factors = _matrix(ids), factors and _matrix(factors)
        made: Tensor = nn.safe_embedding_lookup_sparse(weights, ids, factors, combiner, name="weighted_sum")
        count_more(made.graph, 0 if factors is None else -1)
        return made
    if not isinstance(column, DenseColumn):
        refuse(f"Items of feature_columns must be either a DenseColumn or CategoricalColumn. Given: {column}")
    weights = variable("weights", [column.size, units], Zeros(), True)
    dense = column.dense(batch, variable)
    dense = array_ops.reshape(dense, [array_ops.shape(dense)[0], column.size])
    count_more(dense.graph, 2)
    return matmul(dense, weights, name="weighted_sum")


def _matrix(ids: SparseTensor) -> SparseTensor:
    """All categories of an example in one row."""
    if ids.rank == 2:
        count_more(ids.indices.graph, 11)  # TensorFlow reshapes all
        return ids
    return sparse.reshape(ids, array_ops.stack([ids.dense_shape[0], constant(-1, int64)]))


def tensors_in(features: Mapping[str, Any]) -> list[Any]:
    """The features that are dense tensors."""
    return [x for x in features.values() if isinstance(x, Tensor)]
