"""Descriptions of a model's inputs, and what models make of them (TF1's `tf.feature_column`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        "staticgraph.tf1.feature_column.categorical": (
            "categorical_column_with_hash_bucket categorical_column_with_identity "
            "categorical_column_with_vocabulary_file categorical_column_with_vocabulary_list "
            "weighted_categorical_column"
        ),
        "staticgraph.tf1.feature_column.crossed": "crossed_column",
        "staticgraph.tf1.feature_column.embedding": (
            "embedding_column indicator_column shared_embedding_columns"
        ),
        "staticgraph.tf1.feature_column.layers": "input_layer linear_model make_parse_example_spec",
        "staticgraph.tf1.feature_column.numeric": "bucketized_column numeric_column",
        "staticgraph.tf1.feature_column.sequences": (
            "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
            "sequence_categorical_column_with_vocabulary_file "
            "sequence_categorical_column_with_vocabulary_list sequence_numeric_column"
        ),
    },
)
