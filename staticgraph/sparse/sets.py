"""Sets in the last axis of tensors: `sg.sets`."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.building.framework import checked, name_scope
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.errors import DtypeError, OperandError, ShapeError, misuse, require, shown
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.sparse.structure import places
from staticgraph.sparse.tensor import SparseTensor, convert_to_tensor_or_sparse_tensor


def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """The number of different elements along the last axis.

    Args:
        a: A SparseTensor of integers or strings with two or more axes. Its places are in row-major order.
        validate_indices: Kept for TensorFlow's callers: places are looked at in any case.

    Returns:
        int32, with all axes of `a` but the last.

    Raises:
        TypeError: If `a` is not sparse, or of another dtype.
        InvalidArgumentError: In a run, for places outside of the shape or out of order.

    >>> import staticgraph as sg
    >>> a = sg.SparseTensor([[0, 0], [0, 1], [1, 0]], [5, 5, 7], [2, 2])
    >>> with sg.Session() as sess:
    ...     print(sess.run(sg.sets.set_size(a)))
    [1 1]
    """
    if not isinstance(a, SparseTensor):
        raise misuse(
            TypeError, f"set_size takes a SparseTensor, not {shown(a)}", "sparse.from_dense makes one"
        )
    return ops.set_size(a.indices, a.values, a.dense_shape, validate_indices=bool(validate_indices))


def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements that both have, along the last axis, in ascending order.

    Args:
        a: Integers or strings, a tensor or a SparseTensor with two or more axes.
        b: The same of the same dtype; all axes but the last are those of `a`.
        validate_indices: Kept for TensorFlow's callers: places are looked at in any case.

    Returns:
        A SparseTensor, whose last axis is as long as its largest set.

    Raises:
        TypeError: For other dtypes.
        ValueError: For shapes that do not fit; InvalidArgumentError if only a run knows them, and for places
            of a SparseTensor outside of its shape or out of order.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.sets.set_intersection([[3, 1, 2]], [[2, 5, 3]])).values.tolist()
    [2, 3]
    """
    return _operation(a, b, "intersection", validate_indices)


def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements that either has, along the last axis, in ascending order; as `set_intersection` else.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.sets.set_union([[3, 1]], [[2, 3]])).values.tolist()
    [1, 2, 3]
    """
    return _operation(a, b, "union", validate_indices)


def set_difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The elements of `a` that `b` does not have, or with `aminusb=False` the other way round.

    As `set_intersection` else.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.sets.set_difference([[3, 1]], [[2, 3]])).values.tolist()
    [1]
    """
    return _operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


difference = set_difference
intersection = set_intersection
size = set_size
union = set_union


def _operation(a: Any, b: Any, what: str, validate_indices: bool) -> SparseTensor:
    with name_scope(None, "SetOperation", [a, b]):
        a, b = (convert_to_tensor_or_sparse_tensor(each) for each in (a, b))
        with checked(f"set operation {what}"):
            require(a.dtype is b.dtype, f"a is {a.dtype.name} and b is {b.dtype.name}", kind=DtypeError)
            for each in (a, b):
                require(each.shape.ndims is None or each.shape.ndims > 1, "sets need two axes or more")
            require(
                a.shape[:-1].is_compatible_with(b.shape[:-1]),
                f"a has shape {a.shape} and b has shape {b.shape}: all axes but the last must agree",
                kind=OperandError if isinstance(b, SparseTensor) else ShapeError,
            )
        one, two = _sparse_parts(a), _sparse_parts(b)
        options: dict[str, Any] = {"set_operation": what, "validate_indices": bool(validate_indices)}
        made: Any = ops.set_operation(one[0], one[1], one[2], two[0], two[1], two[2], **options)
        return SparseTensor(*made)


def _sparse_parts(x: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The places, values and shape of a tensor, of which each element counts."""
    if isinstance(x, SparseTensor):
        return x.indices, x.values, x.dense_shape
    values, sizes = ops.reshape(x, shape=(-1,)), ops.shape_of(x, out_type=int64)
    count = ops.cast(ops.size_of(values), dtype=int64)
    numbers = ops.range(np.int64(0), count, np.int64(1), dtype=int64)
    return places(numbers, sizes), values, sizes


show_public_names(__name__)
