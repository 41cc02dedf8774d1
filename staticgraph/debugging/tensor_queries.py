"""Small questions about tensors and shapes that programs ask while they build a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.recording.snapshot import snapshot
from staticgraph.compiler.graph.shapes import Dimension, TensorShape
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.state.variables import Variable


def is_tensor(x: Any) -> bool:
    """Return True if `x` is a tensor (dense, sparse or IndexedSlices) or a variable.

    Args:
        x: Any object.

    >>> import staticgraph as sg
    >>> sg.is_tensor(sg.zeros([2])), sg.is_tensor(np.zeros(2))
    (True, False)
    """
    return isinstance(x, Tensor | SparseTensor | IndexedSlices | Variable)


def is_numeric_tensor(tensor: Any) -> bool:
    """Return True if `tensor` is a dense tensor of numbers, not of bool or strings.

    Args:
        tensor: Any object. A variable is not a tensor here.
    """
    return isinstance(tensor, Tensor) and not (tensor.dtype.is_bool or tensor.dtype.kind == "string")


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor as an array where it is known while the graph is built, or else None.

    With `partial`, entries of a vector that are not known are None, in an array of objects.

    >>> import staticgraph as sg
    >>> sg.get_static_value(sg.constant([1, 2]) * 2).tolist()
    [2, 4]
    """
    known = static_value(tensor, partial=partial) if isinstance(tensor, Tensor) else tensor
    if known is None:
        return None
    if isinstance(known, tuple) and None in known:
        return None if all(n is None for n in known) else np.array(known, object)
    if not isinstance(tensor, Tensor):
        return np.asarray(known)
    made = np.asarray(known, tensor.dtype.numpy)
    # tuples do not tell the sizes behind an axis that is empty
    return made if made.size else made.reshape(tensor.shape.as_list())


def dimension_value(dimension: Any) -> int | None:
    """A size as a number, or None if it is not known; `dimension` may be such a value itself."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: Any, index: int) -> Dimension:
    """One size of a static shape, not known where the rank is not."""
    shape = TensorShape(shape)
    return Dimension(None) if shape.ndims is None else shape[index]


def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """`value` as a tensor, but IndexedSlices as they are."""
    if isinstance(value, IndexedSlices):
        return value
    return snapshot(convert_to_tensor(value, dtype=dtype, name=name))
