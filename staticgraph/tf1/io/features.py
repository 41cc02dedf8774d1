"""Descriptions of the features that are read from training examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from staticgraph.compiler.graph.dtypes import as_dtype, int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.shapes import Shape, as_shape, shape_text


class FixedLenFeature(NamedTuple):
    """As many values as `shape` has places, of float32, int64 or string; gives a dense tensor.

    Without a `default_value`, every example must have the feature.

    >>> import staticgraph as sg
    >>> sg.io.FixedLenFeature([], sg.int64).default_value is None
    True
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """Any number of values; gives a `SparseTensor` with a row for each example."""

    dtype: Any


class SparseFeature(NamedTuple):
    """Values at places; gives a `SparseTensor`.

    One feature tells the indices, which are below `size`, another one the values. `index_key` and `size` may
    be lists, for several axes.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class FixedLenSequenceFeature(NamedTuple):
    """Any number of elements, each of a fixed `shape`; gives a dense tensor, filled up with `default_value`.

    In the lists of a `SequenceExample`, each element is a feature of its own. `allow_missing`: a list that is
    not there counts as empty.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class Columns(NamedTuple):
    """Features by what they are read as: the types of sparse ones; type, shape and default of dense ones."""

    sparse: dict[str, Any]
    dense: dict[str, tuple[Any, Shape]]
    defaults: dict[str, Any]


def columns(features: Mapping[str, Any] | None, call: str, *allowed: Any) -> Columns:
    """The features of a call, in the order of their names. ValueError for one that is not allowed."""
    found = Columns({}, {}, {})
    for key, feature in sorted((features or {}).items()):
        if not isinstance(feature, allowed):
            names = ", ".join(kind.__name__ for kind in allowed)
            raise _error(call, key, f"is {feature!r}", f"use one of {names}")
        if not feature.dtype:
            raise _error(call, key, "has no dtype", None)
        match feature:
            case VarLenFeature(dtype):
                _add_sparse(found, call, key, as_dtype(dtype))
            case SparseFeature(index_key, value_key, dtype):
                if not (index_key and value_key):
                    raise _error(call, key, "needs an index_key and a value_key", None)
                for index in sorted([index_key] if isinstance(index_key, str) else index_key):
                    _add_sparse(found, call, index, int64)
                _add_sparse(found, call, value_key, as_dtype(dtype))
            case FixedLenFeature(shape, dtype, default):
                found.dense[key] = as_dtype(dtype), _fixed_shape(call, key, shape)
                if default is not None:
                    found.defaults[key] = default
            case FixedLenSequenceFeature(shape, dtype, allow_missing, default):
                found.dense[key] = as_dtype(dtype), _shape(call, key, shape)
                if allow_missing or default is not None:
                    found.defaults[key] = default
    return found


def with_unknown_length(features: Mapping[str, Any], call: str) -> dict[str, Any]:
    """In an `Example`, a sequence is a feature with one more axis in front, and may be missing."""
    changed = dict(features)
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise _error(call, key, "is a sequence that may not be missing", "allow_missing=True")
            changed[key] = feature._replace(shape=[None, *_shape(call, key, feature.shape)])
    return changed


def _add_sparse(found: Columns, call: str, key: str, dtype: Any) -> None:
    if found.sparse.setdefault(key, dtype) is not dtype:
        raise _error(call, key, f"is wanted as {found.sparse[key].name} and as {dtype.name}", None)


def _shape(call: str, key: str, shape: Any) -> Shape:
    known = as_shape(shape)
    if known is None:
        raise _error(call, key, "has no shape", "a single value has the shape []")
    return known


def _fixed_shape(call: str, key: str, shape: Any) -> Shape:
    known = _shape(call, key, shape)
    if None in known:
        text = f"has the shape {shape_text(known)}, in which all sizes must be known"
        raise _error(call, key, text, "FixedLenSequenceFeature has any number of elements")
    return known


def _error(call: str, key: str, what: str, hint: str | None) -> ValueError:
    return misuse(ValueError, f"{call}: feature {key!r} {what}", hint)
