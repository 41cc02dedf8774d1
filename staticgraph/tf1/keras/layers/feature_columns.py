"""Layers of feature columns: from a dict of features to one tensor.

Columns are data, too: what makes an equal column, in the form of Keras's configs.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from staticgraph.arrays import array_ops
from staticgraph.building.framework import name_scope
from staticgraph.compiler.graph.dtypes import DType, as_dtype, float32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import TensorShape
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.state.initializers import Initializer
from staticgraph.tf1.feature_column import categorical, crossed, embedding, numeric, sequences
from staticgraph.tf1.feature_column.columns import FeatureColumn, Features, check_batch_sizes
from staticgraph.tf1.feature_column.layers import as_dense_columns
from staticgraph.tf1.feature_column.sequence_layers import as_sequence_columns, flat_steps, same_lengths
from staticgraph.tf1.keras import initializers
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.serialization import deserialize_keras_object, serialize_keras_object


class _OfColumns(Layer):
    """A layer of columns, sorted by name, with their variables."""

    def __init__(self, columns: list[Any], trainable: bool, name: str | None, **kwargs: Any) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._columns = tuple(columns)
        self._made: dict[tuple[str, str], Any] = {}

    def _tensor(self, value: Any) -> Any:
        return value if isinstance(value, SparseTensor) else super()._tensor(value)

    def build(self, _: Any) -> None:
        for column in self._columns:
            if hasattr(column, "table"):
                with name_scope(column.name):
                    column.table(self._variables_of(column))

    def _variables_of(self, column: Any) -> Any:
        """A `get_variable` for a column that makes each variable once."""

        def variable(name: str, shape: Any, initializer: Any, is_trainable: bool) -> Any:
            key = column.name, name
            if key not in self._made:
                trained = self.trainable and is_trainable
                self._made[key] = self.add_weight(name, shape, float32, initializer, trainable=trained)
            return self._made[key]

        return variable

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal layer, the columns among them, without its weights."""
        return {**super().get_config(), "feature_columns": [serialized(each) for each in self._columns]}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """The layer of a `get_config`. `custom_objects` has the functions of columns by their names."""
        columns = [deserialized(each, custom_objects) for each in config["feature_columns"]]
        return cls(**{**config, "feature_columns": columns})

    @staticmethod
    def _features(features: Any) -> Features:
        if not isinstance(features, dict):
            text = f"We expected a dictionary here. Instead we got: {features}"
            raise misuse(ValueError, text, "give a dict of tensors by the names of the features")
        return Features(features)


class DenseFeatures(_OfColumns):
    """A layer of dense feature columns: their values side by side, in the order of names.

    The input is a dict of tensors, dense of shape [batch, ...] or sparse. The output is float32
    [batch, sum of the sizes of the columns]. As the first layer of a `Sequential` it takes what a dataset of
    dicts, or a dict of arrays, gives to `fit`.

    Args:
        feature_columns: Dense columns: `numeric_column`, `bucketized_column`, and `embedding_column` or
            `indicator_column` of a categorical one.
        trainable: If the variables are trained.
        name: The name of the layer.

    Raises:
        ValueError: A column is not dense, there is none, or two have one name; or the input is not a dict.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> age = sg.feature_column.numeric_column("age")
    >>> word = sg.feature_column.categorical_column_with_vocabulary_list("word", ["a", "b"])
    >>> columns = [age, sg.feature_column.indicator_column(word)]
    >>> model = sg.keras.Sequential([sg.keras.layers.DenseFeatures(columns)])
    >>> model.predict({"age": np.array([7.0, 8.0]), "word": np.array(["b", "a"])}).tolist()
    [[7.0, 0.0, 1.0], [8.0, 1.0, 0.0]]
    """

    def __init__(
        self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(as_dense_columns(feature_columns), trainable, name, **kwargs)

    def call(self, features: Any, cols_to_output_tensors: dict[Any, Any] | None = None) -> Tensor:
        """The values of the columns. `cols_to_output_tensors` is a dict to be filled with those of each."""
        made, batch = [], self._features(features)
        for column in self._columns:
            with name_scope(column.name):
                dense = column.dense(batch, self._variables_of(column))
                made.append(array_ops.reshape(dense, [array_ops.shape(dense)[0], column.size]))
        check_batch_sizes(made, self._columns)
        if cols_to_output_tensors is not None:
            cols_to_output_tensors.update(zip(self._columns, made, strict=True))
        return array_ops.concat(made, 1)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the output for a dict of shapes."""
        return TensorShape([None, sum(column.size for column in self._columns)])


class SequenceFeatures(_OfColumns):
    """A layer of columns of sequences: the steps of each example, and their numbers.

    The input is a dict of sparse tensors. The outputs are the steps, [batch, steps, sum of the sizes of the
    columns], and the int64 number of steps of each example, [batch].

    Args:
        feature_columns: Columns of sequences: `sequence_numeric_column`, and `embedding_column` or
            `indicator_column` of `sequence_categorical_column_with_...`.
        trainable: If the variables are trained.
        name: The name of the layer.

    Raises:
        ValueError: A column is not one of sequences, there is none, or two have one name; or the input is not
            a dict.

    >>> import staticgraph as sg
    >>> heat = sg.feature_column.sequence_numeric_column("heat")
    >>> feature = sg.SparseTensor([[0, 0], [0, 1], [1, 0]], [1.0, 2.0, 3.0], [2, 2])
    >>> steps, lengths = sg.keras.experimental.SequenceFeatures([heat])({"heat": feature})
    >>> with sg.Session() as sess:
    ...     sess.run(steps).tolist()
    [[[1.0], [2.0]], [[3.0], [0.0]]]
    """

    def __init__(
        self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(as_sequence_columns(feature_columns), trainable, name, **kwargs)

    def call(self, features: Any) -> tuple[Tensor, Tensor]:
        """The steps, and the number of steps of each example."""
        made, lengths, batch = [], [], self._features(features)
        for column in self._columns:
            with name_scope(column.name):
                found = column.sequence(batch, self._variables_of(column))
                made.append(flat_steps(found.dense, column.size))
            lengths.append(found.lengths)
        check_batch_sizes(lengths, self._columns)
        return array_ops.concat(made, -1), same_lengths(lengths)


_MODULES = (categorical, crossed, embedding, numeric, sequences)


def serialized(column: FeatureColumn) -> dict[str, Any]:
    """Return the class of a column and its arguments, columns in it too."""
    config = {field.name: _plain(getattr(column, field.name)) for field in fields(column)}  # type: ignore[arg-type]
    return {"class_name": type(column).__name__, "config": config}


def _plain(value: Any) -> Any:
    if isinstance(value, FeatureColumn):
        return serialized(value)
    if isinstance(value, DType):
        return value.name
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return serialize_keras_object(value) if callable(value) or isinstance(value, Initializer) else value


def deserialized(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> FeatureColumn:
    """Return the column of a config. ValueError for a class that is no column."""
    kind = _class_of(config["class_name"])
    known = config["config"]
    made = {field.name: _value(field.name, known[field.name], custom_objects) for field in fields(kind)}
    column: FeatureColumn = kind(**made)
    return column


def _class_of(name: str) -> Any:
    for module in _MODULES:
        found = vars(module).get(name)
        if isinstance(found, type) and issubclass(found, FeatureColumn):
            return found
    raise misuse(ValueError, f"{name!r} is no class of feature columns")


def _value(name: str, value: Any, custom_objects: dict[str, Any] | None) -> Any:
    if name == "dtype":
        return as_dtype(value)
    if name == "initializer":
        return initializers.deserialize(value, custom_objects)
    if name == "normalizer_fn":
        return value and deserialize_keras_object(value, {}, custom_objects, "function")
    if isinstance(value, dict):
        return deserialized(value, custom_objects)
    if isinstance(value, list):
        return tuple(_value("", item, custom_objects) for item in value)
    return value
