"""Batches of dense elements of several shapes, as sparse tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.errors import DataLossError, misuse
from staticgraph.compiler.graph.shapes import TensorType, as_shape, shape_text
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.sparse.tensor import SparseTensorValue
from staticgraph.tf1.data.arguments import negative_unknown, number
from staticgraph.tf1.data.batching import groups_of
from staticgraph.tf1.data.dataset import Dataset
from staticgraph.tf1.data.pipeline import Node, Run, attempts
from staticgraph.tf1.data.structure import Element, Sparse


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SparseBatched(Node):
    """`size` dense elements as one sparse tensor of shape [size, *row_shape].

    A size in `row_shape` that is negative is the largest of the batch.
    """

    source: Node
    size: Any
    row_shape: Any

    def iterate(self, run: Run) -> Iterator[Element]:
        row_shape = np.asarray(run.value(self.row_shape), np.int64)
        groups = groups_of(self, run, self.source.iterate(run), self.size, False)
        return attempts(lambda group: (self._joined([each[0] for each in group], row_shape),), groups)

    def _joined(self, rows: list[np.ndarray], row_shape: np.ndarray) -> SparseTensorValue:
        for row in rows:
            shapes = f"Input element had shape ({shape_text(row.shape)})"
            if row.ndim != len(row_shape):
                raise self.error(f"{shapes} that is incompatible with the row shape {row_shape.tolist()}.")
            if any(0 <= most < n for n, most in zip(row.shape, row_shape, strict=True)):
                text = f"{shapes} that is larger than the row shape {row_shape.tolist()}."
                raise self.error(text, DataLossError)
        largest = np.max([row.shape for row in rows], axis=0) if len(row_shape) else row_shape
        shape = np.where(row_shape < 0, largest, row_shape)
        indices = [
            np.column_stack([np.full(row.size, at), *(axis.ravel() for axis in np.indices(row.shape))])
            for at, row in enumerate(rows)
        ]
        return SparseTensorValue(
            np.concatenate(indices).astype(np.int64),
            np.concatenate([row.ravel() for row in rows]),
            np.asarray([len(rows), *shape], np.int64),
        )


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Callable[[Dataset], Dataset]:
    """Return a transformation that makes a sparse tensor of each `batch_size` elements.

    Args:
        batch_size: The number of elements of a batch; the last one may have fewer.
        row_shape: The shape of one row of the sparse tensor. An element may be smaller, but has as many axes.
            An unknown size is the largest of the batch. A shape, or a vector of integers.

    Raises:
        TypeError: An element of the dataset is not one dense tensor.

    >>> import staticgraph as sg
    >>> dataset = sg.data.Dataset.range(1, 3).map(lambda n: sg.fill([n], n))
    >>> dataset = dataset.apply(sg.data.experimental.dense_to_sparse_batch(2, [4]))
    >>> with sg.Session() as sess:
    ...     value = sess.run(dataset.make_one_shot_iterator().get_next())
    >>> value.indices.tolist(), value.values.tolist(), value.dense_shape.tolist()
    ([[0, 0], [1, 0], [1, 1]], [1, 2, 2], [2, 4])
    """

    def transform(dataset: Dataset) -> Dataset:
        part = dataset.node.structure
        if not isinstance(part, TensorType):
            text = f"the elements have the types {dataset.output_types}"
            raise misuse(
                TypeError,
                f"DenseToSparseDataset requires an input whose elements have a single component: {text}",
            )
        shape, known = _row_shape(row_shape)
        structure = Sparse(part.dtype, None if known is None else (None, *known))
        size = number(batch_size)
        node = SparseBatched(structure=structure, source=dataset.node, size=size, row_shape=shape)
        return Dataset(node, dataset.options())

    return transform


def _row_shape(row_shape: Any) -> tuple[Any, Any]:
    """Return the sizes as an array or a tensor, and as far as they are known."""
    if isinstance(row_shape, Tensor):
        known = static_value(row_shape, partial=True)
        return convert_to_tensor(row_shape, int64), negative_unknown(known)
    sizes = as_shape([None if n == -1 else n for n in row_shape] if _is_listed(row_shape) else row_shape)
    if sizes is None:
        raise misuse(ValueError, f"row_shape must have a known number of axes, and not {row_shape}")
    return np.asarray([-1 if n is None else n for n in sizes], np.int64), sizes


def _is_listed(row_shape: Any) -> bool:
    return isinstance(row_shape, list | tuple | np.ndarray)
