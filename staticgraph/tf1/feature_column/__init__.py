"""Descriptions of a model's inputs, and what models make of them (TF1's `tf.feature_column`)."""

from staticgraph.tf1.feature_column.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
    weighted_categorical_column,
)
from staticgraph.tf1.feature_column.crossed import crossed_column
from staticgraph.tf1.feature_column.embedding import (
    embedding_column,
    indicator_column,
    shared_embedding_columns,
)
from staticgraph.tf1.feature_column.layers import input_layer, linear_model, make_parse_example_spec
from staticgraph.tf1.feature_column.numeric import bucketized_column, numeric_column

__all__ = [
    "bucketized_column",
    "categorical_column_with_hash_bucket",
    "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file",
    "categorical_column_with_vocabulary_list",
    "crossed_column",
    "embedding_column",
    "indicator_column",
    "input_layer",
    "linear_model",
    "make_parse_example_spec",
    "numeric_column",
    "shared_embedding_columns",
    "weighted_categorical_column",
]
