"""`tf.contrib.layers`: the feature columns that came before `tf.feature_column`, as columns of today."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.building.signatures import adapted
from staticgraph.compiler.graph.errors import misuse

__all__ = [
    "bucketized_column",
    "create_feature_spec_for_parsing",
    "crossed_column",
    "embedding_column",
    "input_from_feature_columns",
    "one_hot_column",
    "real_valued_column",
    "shared_embedding_columns",
    "sparse_column_with_hash_bucket",
    "sparse_column_with_integerized_feature",
    "sparse_column_with_keys",
    "sparse_column_with_vocabulary_file",
    "weighted_sparse_column",
    "weighted_sum_from_feature_columns",
]

fc = sg.feature_column

_FROM_CHECKPOINT = "ckpt_to_load_from tensor_name_in_ckpt max_norm trainable"
bucketized_column = adapted(fc.bucketized_column, "source_column boundaries")
create_feature_spec_for_parsing = adapted(
    fc.make_parse_example_spec, "feature_columns", "create_feature_spec_for_parsing"
)
embedding_column = adapted(
    fc.embedding_column,
    f"sparse_id_column=categorical_column dimension combiner initializer {_FROM_CHECKPOINT}",
)
one_hot_column = adapted(fc.indicator_column, "sparse_id_column=categorical_column", "one_hot_column")
shared_embedding_columns = adapted(
    fc.shared_embedding_columns,
    "sparse_id_columns=categorical_columns dimension combiner "
    f"shared_embedding_name=shared_embedding_collection_name initializer {_FROM_CHECKPOINT}",
)
weighted_sparse_column = adapted(
    fc.weighted_categorical_column,
    "sparse_id_column=categorical_column weight_column_name=weight_feature_key dtype",
    "weighted_sparse_column",
)


def real_valued_column(
    column_name: str,
    dimension: int = 1,
    default_value: Any = None,
    dtype: Any = sg.float32,
    normalizer: Callable[[Any], Any] | None = None,
) -> Any:
    """`feature_column.numeric_column` of a vector."""
    return fc.numeric_column(column_name, (dimension,), default_value, dtype, normalizer)


def sparse_column_with_keys(
    column_name: str,
    keys: Sequence[Any],
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = sg.string,
) -> Any:
    """`feature_column.categorical_column_with_vocabulary_list`."""
    _check_combiner(combiner)
    return fc.categorical_column_with_vocabulary_list(column_name, tuple(keys), dtype, default_value)


def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = sg.string,
) -> Any:
    """`feature_column.categorical_column_with_vocabulary_file`."""
    _check_combiner(combiner)
    default = None if num_oov_buckets else default_value
    return fc.categorical_column_with_vocabulary_file(
        column_name, vocabulary_file, vocab_size, num_oov_buckets, default, dtype
    )


def sparse_column_with_hash_bucket(
    column_name: str,
    hash_bucket_size: int,
    combiner: str = "sum",
    dtype: Any = sg.string,
    hash_keys: Any = None,
) -> Any:
    """`feature_column.categorical_column_with_hash_bucket`."""
    _check_combiner(combiner)
    if hash_keys is not None:
        raise misuse(NotImplementedError, "sparse_column_with_hash_bucket: hash_keys is not supported")
    return fc.categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: Any = sg.int64
) -> Any:
    """`feature_column.categorical_column_with_identity`."""
    _check_combiner(combiner)
    return fc.categorical_column_with_identity(column_name, bucket_size)


def crossed_column(
    columns: Sequence[Any],
    hash_bucket_size: int,
    combiner: str = "sum",
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    hash_key: int | None = None,
) -> Any:
    """`feature_column.crossed_column`; a hashed column counts as the name of its feature."""
    _check_combiner(combiner)
    keys = [
        column.key if hasattr(column, "hash_bucket_size") and hasattr(column, "key") else column
        for column in columns
    ]
    return fc.crossed_column(keys, hash_bucket_size, hash_key)


def input_from_feature_columns(
    columns_to_tensors: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | None = None,
    cols_to_outs: dict[Any, Any] | None = None,
) -> Any:
    """`feature_column.input_layer` in a scope `input_from_feature_columns`."""
    with sg.variable_scope(scope, "input_from_feature_columns"):
        return fc.input_layer(
            columns_to_tensors,
            feature_columns,
            weight_collections,
            trainable,
            cols_to_output_tensors=cols_to_outs,
        )


def weighted_sum_from_feature_columns(
    columns_to_tensors: Mapping[str, Any],
    feature_columns: Any,
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: str | None = None,
) -> tuple[Any, dict[Any, Any], Any]:
    """`feature_column.linear_model` in a scope of its own; returns the sum, the variables by column, the
    bias.
    """
    variables: dict[Any, Any] = {}
    with sg.variable_scope(scope, "weighted_sum_from_feature_columns"):
        logits = fc.linear_model(
            columns_to_tensors,
            feature_columns,
            num_outputs,
            weight_collections=weight_collections,
            trainable=trainable,
            cols_to_vars=variables,
        )
    [bias] = variables.pop("bias")
    return logits, variables, bias


def _check_combiner(combiner: str) -> None:
    """Here a model combines categories as it is told to, not as each column is."""
    if combiner != "sum":
        text = f"combiner={combiner!r} of a single column is not supported"
        hint = "feature_column.linear_model has sparse_combiner, embedding_column has combiner"
        raise misuse(NotImplementedError, text, hint)
