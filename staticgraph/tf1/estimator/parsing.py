"""Features to parse from examples for a model: its columns, the label, and the weight."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1 import feature_column, io
from staticgraph.tf1.feature_column.numeric import NumericColumn


def classifier_parse_example_spec(
    feature_columns: Any,
    label_key: str,
    label_dtype: Any = int64,
    label_default: Any = None,
    weight_column: Any = None,
) -> dict[str, Any]:
    """Return the features that `sg.io.parse_example` must read for a classifier.

    Raises:
        ValueError: The label or the weight is a feature too.

    >>> import staticgraph as sg
    >>> columns = [sg.feature_column.numeric_column("x")]
    >>> sorted(sg.estimator.classifier_parse_example_spec(columns, "label", weight_column="weight"))
    ['label', 'weight', 'x']
    """
    label = io.FixedLenFeature((1,), label_dtype, label_default)
    return _spec(feature_columns, label_key, label, weight_column)


def regressor_parse_example_spec(
    feature_columns: Any,
    label_key: str,
    label_dtype: Any = float32,
    label_default: Any = None,
    label_dimension: int = 1,
    weight_column: Any = None,
) -> dict[str, Any]:
    """Return the features that `sg.io.parse_example` must read for a regressor.

    Raises:
        ValueError: The label or the weight is a feature too.
    """
    label = io.FixedLenFeature((label_dimension,), label_dtype, label_default)
    return _spec(feature_columns, label_key, label, weight_column)


def _spec(feature_columns: Any, label_key: str, label: Any, weight_column: Any) -> dict[str, Any]:
    spec = feature_column.make_parse_example_spec(feature_columns)
    added = {label_key: label}
    if weight_column is not None:
        added |= as_weight_column(weight_column).parse_example_spec
    for key in added:
        if key in spec:
            what = "label" if key == label_key else "weight_column"
            text = f"{what} should not be used as feature. {what}: {key}, features: {list(spec)}"
            raise misuse(ValueError, text)
    return spec | added


def as_weight_column(weight_column: Any) -> NumericColumn:
    """The column of weights, given as one or by the name of a feature. TypeError for anything else."""
    if isinstance(weight_column, str):
        return feature_column.numeric_column(weight_column)
    if not isinstance(weight_column, NumericColumn):
        text = f"Weight column must be either a string or NumericColumn. Given: {weight_column!r}"
        raise misuse(TypeError, text)
    return weight_column
