"""The ops that read training examples: one array for each feature of a batch, dense or sparse.

The attributes tell the features: of sparse ones name and type, of dense ones the shape too. An op gives for
the sparse features first the indices of all, then the values, then the shapes; and after these the dense
features. The ops of a single example take a batch of one, and leave the batch axis away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, float32, int64, string
from staticgraph.compiler.graph.errors import DtypeError, InvalidArgumentError, require
from staticgraph.compiler.graph.shapes import Shape, TensorType
from staticgraph.compiler.ops.kinds import host
from staticgraph.formats.tf.examples import example_bytes
from staticgraph.formats.tf.examples.example_batches import (
    Label,
    Sparse,
    dense,
    dense_steps,
    sparse,
    sparse_steps,
)

Types = tuple[TensorType, ...]
SparseFeatures = Sequence[tuple[str, DType]]
DenseFeatures = Sequence[tuple[str, DType, Shape]]

_SINGLE = Label(())


def _require_values(dtype: DType) -> None:
    known = dtype in (float32, int64, string)
    require(known, f"a feature is {dtype.name}, it must be float32, int64 or string", kind=DtypeError)


def _sparse_types(features: SparseFeatures, rank: int) -> Types:
    for _, dtype in features:
        _require_values(dtype)
    return (
        *(TensorType(int64, (None, rank)) for _ in features),
        *(TensorType(dtype, (None,)) for _, dtype in features),
        *(TensorType(int64, (rank,)) for _ in features),
    )


def _dense_types(features: DenseFeatures, before: Shape) -> Types:
    for _, dtype, _ in features:
        _require_values(dtype)
    return tuple(TensorType(dtype, (*before, *shape)) for _, dtype, shape in features)


def _batch(serialized: TensorType) -> Shape:
    require(serialized.rank in (None, 1), f"serialized is {serialized}, it must be a vector of strings")
    return (None,) if serialized.shape is None else serialized.shape


def _require_single(serialized: TensorType) -> None:
    require(serialized.rank in (None, 0), f"serialized is {serialized}, it must be one string")


def _example_types(serialized: TensorType, *_: TensorType, sparse: Any, dense: Any) -> Types:
    batch = _batch(serialized)
    return _sparse_types(sparse, 2) + _dense_types(dense, batch)


def _single_example_types(serialized: TensorType, *_: TensorType, sparse: Any, dense: Any) -> Types:
    _require_single(serialized)
    return _sparse_types(sparse, 1) + _dense_types(dense, ())


def _sequence_types(
    serialized: TensorType,
    *_: TensorType,
    sparse: Any,
    dense: Any,
    list_sparse: Any,
    list_dense: Any,
    **__: Any,
) -> Types:
    batch = _batch(serialized)
    return (
        *_sparse_types(sparse, 2),
        *_dense_types(dense, batch),
        *_sparse_types(list_sparse, 3),
        *_dense_types(list_dense, (*batch, None)),
        *(TensorType(int64, batch) for _ in list_dense),
    )


def _single_sequence_types(
    serialized: TensorType,
    *_: TensorType,
    sparse: Any,
    dense: Any,
    list_sparse: Any,
    list_dense: Any,
    **__: Any,
) -> Types:
    _require_single(serialized)
    return (
        *_sparse_types(sparse, 1),
        *_dense_types(dense, ()),
        *_sparse_types(list_sparse, 2),
        *_dense_types(list_dense, (None,)),
    )


def _features(
    serialized: Sequence[bytes],
    spans: Sequence[example_bytes.Spans],
    defaults: Sequence[np.ndarray],
    sparse_features: SparseFeatures,
    dense_features: DenseFeatures,
    label: Label,
) -> tuple[list[Sparse], list[np.ndarray]]:
    """The features of examples whose places in the bytes are known."""

    def column(key: str, dtype: DType) -> list[np.ndarray | None]:
        name, read = key.encode(), example_bytes.values
        made: list[np.ndarray | None] = []
        try:
            for data, found in zip(serialized, spans, strict=True):
                made.append(read(data, found.get(name), dtype))
        except (InvalidArgumentError, example_bytes.DecodeError) as error:
            raise label.named(error, len(made), key) from None
        return made

    return [sparse(column(key, dtype), dtype) for key, dtype in sparse_features], [
        dense(column(key, dtype), key, dtype, shape, default, label)
        for (key, dtype, shape), default in zip(dense_features, defaults, strict=True)
    ]


def _lists(
    serialized: Sequence[bytes],
    spans: Sequence[dict[bytes, list[example_bytes.Span]]],
    sparse_features: SparseFeatures,
    dense_features: DenseFeatures,
    may_be_missing: Sequence[str],
    label: Label,
) -> tuple[list[Sparse], list[tuple[np.ndarray, np.ndarray]]]:
    """The lists of features of examples whose places in the bytes are known."""

    def column(key: str, dtype: DType, needed: bool) -> list[list[np.ndarray | None]]:
        def read(data: bytes, found: dict[bytes, list[example_bytes.Span]]) -> list[np.ndarray | None]:
            if needed and name not in found:
                raise InvalidArgumentError("is missing, a list that must be there")
            return [example_bytes.values(data, step, dtype) for step in found.get(name, ())]

        name = key.encode()
        return label.each(read, serialized, spans, key=key)

    return [sparse_steps(column(key, dtype, False), dtype) for key, dtype in sparse_features], [
        dense_steps(column(key, dtype, key not in may_be_missing), key, dtype, shape, label)
        for key, dtype, shape in dense_features
    ]


def _in_order(found: Iterable[Sparse]) -> tuple[np.ndarray, ...]:
    """The indices of all, then the values, then the shapes."""
    return tuple(part for parts in zip(*found, strict=True) for part in parts)


def _without_batch(found: Iterable[Sparse]) -> tuple[np.ndarray, ...]:
    return _in_order((places[:, 1:], values, shape[1:]) for places, values, shape in found)


@host(
    tf="ParseExample",
    type=_example_types,
    vars={"serialized": "string", "names": "string", "dense_defaults": "*"},
)
def parse_example_op(serialized: Any, names: Any, *dense_defaults: Any, sparse: Any, dense: Any) -> Any:
    """The `sparse` and the `dense` features of a batch of examples."""
    label = Label(names.reshape(-1))
    spans = label.each(example_bytes.example, serialized)
    found, arrays = _features(serialized, spans, dense_defaults, sparse, dense, label)
    return (*_in_order(found), *arrays)


@host(
    tf="ParseSingleExample",
    type=_single_example_types,
    vars={"serialized": "string", "dense_defaults": "*"},
)
def parse_single_example_op(serialized: Any, *dense_defaults: Any, sparse: Any, dense: Any) -> Any:
    """The `sparse` and the `dense` features of one example."""
    batch = [serialized[()]]
    spans = _SINGLE.each(example_bytes.example, batch)
    found, arrays = _features(batch, spans, dense_defaults, sparse, dense, _SINGLE)
    return (*_without_batch(found), *(array[0] for array in arrays))


@host(
    tf="ParseSequenceExample",
    type=_sequence_types,
    vars={"serialized": "string", "debug_name": "string", "context_dense_defaults": "*"},
)
def parse_sequence_example_op(
    serialized: Any,
    debug_name: Any,
    *context_dense_defaults: Any,
    sparse: Any,
    dense: Any,
    list_sparse: Any,
    list_dense: Any,
    may_be_missing: Any,
) -> Any:
    """The features of a batch of examples with sequences, and of each dense sequence the lengths.

    `sparse` and `dense` are those of the context, `list_sparse` and `list_dense` those of the sequences. A
    dense sequence must be there, unless it is among `may_be_missing`.
    """
    label = Label(debug_name.reshape(-1))
    read = label.each(example_bytes.sequence_example, serialized)
    context = [spans for spans, _ in read]
    found, arrays = _features(serialized, context, context_dense_defaults, sparse, dense, label)
    steps = [spans for _, spans in read]
    lists, padded = _lists(serialized, steps, list_sparse, list_dense, may_be_missing, label)
    values, lengths = [array for array, _ in padded], [length for _, length in padded]
    return (*_in_order(found), *arrays, *_in_order(lists), *values, *lengths)


@host(
    tf="ParseSingleSequenceExample",
    type=_single_sequence_types,
    vars={"serialized": "string", "debug_name": "string", "context_dense_defaults": "*"},
)
def parse_single_sequence_example_op(
    serialized: Any,
    debug_name: Any,
    *context_dense_defaults: Any,
    sparse: Any,
    dense: Any,
    list_sparse: Any,
    list_dense: Any,
    may_be_missing: Any,
) -> Any:
    """The features of one example with sequences.

    `sparse` and `dense` are those of the context, `list_sparse` and `list_dense` those of the sequences. A
    dense sequence must be there, unless it is among `may_be_missing`.
    """
    label, batch = Label(debug_name.reshape(-1)), [serialized[()]]
    [(context, steps)] = label.each(example_bytes.sequence_example, batch)
    found, arrays = _features(batch, [context], context_dense_defaults, sparse, dense, label)
    lists, padded = _lists(batch, [steps], list_sparse, list_dense, may_be_missing, label)
    return (
        *_without_batch(found),
        *(array[0] for array in arrays),
        *_without_batch(lists),
        *(array[0] for array, _ in padded),
    )
