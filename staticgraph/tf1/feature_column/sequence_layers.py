"""Uses of columns of sequences in recurrent nets (TF1's `tf.contrib.feature_column`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.arrays import array_ops
from staticgraph.building.framework import control_dependencies, name_scope
from staticgraph.building.inputs import identity
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.debugging.comparisons import assert_equal
from staticgraph.state.scopes import variable_scope
from staticgraph.tf1.feature_column.columns import Features, as_columns, check_batch_sizes, refuse
from staticgraph.tf1.feature_column.layers import tensors_in, variable_maker
from staticgraph.tf1.feature_column.sequences import SequenceDenseColumn


def sequence_input_layer(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Sequence[str] | None = None,
    trainable: bool = True,
) -> tuple[Tensor, Tensor]:
    """The columns of the steps of a batch side by side, in the order of names.

    Args:
        features: Sparse tensors by name, [batch, steps].
        feature_columns: Columns of sequences: `sequence_numeric_column`, and `embedding_column` or
            `indicator_column` of `sequence_categorical_column_with_...`.
        weight_collections: Further collections for the variables.
        trainable: If the variables are trained.

    Returns:
        The steps, [batch, steps, sum of the sizes of the columns], and the int64 number of steps that each
        example has, [batch].

    Raises:
        ValueError: A column is not one of sequences, there is none, or two have one name.
        InvalidArgumentError: While running, if the numbers of steps of two columns differ.

    >>> import staticgraph as sg
    >>> word = sg.feature_column.sequence_categorical_column_with_vocabulary_list("word", ["a", "b"])
    >>> column = sg.feature_column.indicator_column(word)
    >>> feature = sg.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "b"], [2, 2])
    >>> steps, lengths = sg.contrib.feature_column.sequence_input_layer({"word": feature}, [column])
    >>> with sg.Session() as sess:
    ...     sess.run(steps).tolist()
    [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]]
    """
    columns = as_sequence_columns(feature_columns)
    made, lengths, batch = [], [], Features(features)
    variable = variable_maker(weight_collections, trainable)
    with variable_scope(None, "sequence_input_layer", tensors_in(features)):
        for column in columns:
            with variable_scope(None, column.var_scope_name):
                found = column.sequence(batch, variable)
                made.append(flat_steps(found.dense, column.size))
            lengths.append(found.lengths)
        check_batch_sizes(made, columns)
        check_batch_sizes(lengths, columns)
        length = same_lengths(lengths)
        return array_ops.concat(made, -1), length


def as_sequence_columns(feature_columns: Any) -> list[Any]:
    """The columns of sequences that a user gives, sorted by name. ValueError for others."""
    columns = as_columns(feature_columns)
    for column in columns:
        if not isinstance(column, SequenceDenseColumn):
            text = f"All feature_columns must be of type SequenceDenseColumn. Given: {column}"
            refuse(text, "wrap a sequence_categorical_column with embedding_column or indicator_column")
    return columns


def flat_steps(dense: Tensor, size: int) -> Tensor:
    """The values of each step in one axis."""
    sizes = array_ops.shape(dense)
    return array_ops.reshape(dense, [sizes[0], sizes[1], size])


def same_lengths(lengths: Sequence[Tensor]) -> Tensor:
    """The lengths that all columns have. InvalidArgumentError, while running, if they differ."""
    with name_scope(None, "assert_all_equal", lengths):
        if len(lengths) == 1:
            return lengths[0]
        with control_dependencies([assert_equal(lengths[0], other) for other in lengths[1:]]):
            return identity(lengths[0])
