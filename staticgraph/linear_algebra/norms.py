"""Norms of vectors and matrices, and what is divided by them: part of `sg.linalg`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import squeeze
from staticgraph.arrays.casts import of_dtype, widened
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.renamed import renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.arithmetic import absolute
from staticgraph.mathematics.reductions import reduce_max, reduce_sum

__all__ = ["global_norm", "l2_normalize", "norm", "normalize"]


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The norm of vectors (`axis` an int, or None for all elements) or of matrices (`axis` a pair).

    `ord` is 'euclidean' (of matrices also called 'fro'), 1, 2, np.inf, or any positive number for vectors.

    >>> import staticgraph as sg
    >>> sg.norm(sg.constant([[3.0, 4.0]]), axis=1).shape.as_list()
    [1]
    """
    keepdims = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    is_matrix = isinstance(axis, list | tuple) and len(axis) == 2
    known = ["euclidean", "fro", 1, 2, np.inf] if is_matrix else ["euclidean", 1, 2, np.inf]
    positive = not is_matrix and isinstance(ord, int | float | np.number) and ord > 0
    if ord not in known and not positive:
        raise misuse(
            ValueError,
            f"norm: ord is {ord!r}, and must be one of {known}" + ("" if is_matrix else " or positive"),
        )
    with name_scope(name, "norm", [tensor]):
        x = convert_to_tensor(tensor)
        return of_dtype(_norm(widened(x), ord, axis, keepdims, is_matrix), x.dtype)


def _norm(x: Tensor, ord: Any, axis: Any, keepdims: bool, is_matrix: bool) -> Tensor:
    if ord in ("euclidean", "fro") or (ord == 2 and not is_matrix):
        conjugate = ops.conj(x) if x.dtype.is_complex else x
        return _kept(ops.sqrt(reduce_sum(x * conjugate, axis, keepdims=True)), axis, keepdims)
    size = absolute(x)
    if is_matrix and ord == 2:
        with checked("norm"):
            require(
                x.shape.ndims is not None,
                "the rank of the tensor must be known for the 2-norm of matrices",
            )
        rank = x.shape.ndims or 0
        axes = [a % rank for a in axis]
        others = [d for d in range(rank) if d not in axes]
        values = ops.svd(ops.transpose(x, perm=(*others, *axes)), compute_uv=False)[0]
        largest = reduce_max(values, -1)
        return (
            ops.expand_dims(ops.expand_dims(largest, axis=min(axes)), axis=max(axes)) if keepdims else largest
        )
    if is_matrix:
        rows, columns = axis
        summed, over = (rows, columns) if ord == 1 else (columns, rows)
        total = reduce_sum(size, summed, keepdims=True)
        found = reduce_max(total, over, keepdims=True)
    elif ord == np.inf:
        found = reduce_max(size, axis, keepdims=True)
    elif ord == 1:
        found = reduce_sum(size, axis, keepdims=True)
    else:
        found = reduce_sum(size ** float(ord), axis, keepdims=True) ** (1.0 / float(ord))
    return _kept(found, axis, keepdims)


def _kept(found: Tensor, axis: Any, keepdims: bool) -> Tensor:
    """A norm with the reduced axes, or without them."""
    return found if keepdims else squeeze(found, axis)


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """`(tensor / norm, norm)`, the norm being that of `norm` with axes of size one kept.

    >>> import staticgraph as sg
    >>> unit, length = sg.linalg.normalize([[3.0, 4.0]], axis=1)
    >>> with sg.Session() as sess:
    ...     print(sess.run(length))
    [[5.]]
    """
    with name_scope(name, "normalize", [tensor]):
        tensor = convert_to_tensor(tensor)
        wide = widened(tensor)
        size = norm(wide, ord, axis, keepdims=True)
        return of_dtype(wide / size, tensor.dtype), of_dtype(size, tensor.dtype)


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """x / sqrt(max(sum(x ** 2), epsilon)), the sum taken along `axis`.

    >>> import staticgraph as sg
    >>> sg.nn.l2_normalize(sg.ones([2, 3]), axis=1)
    <sg.Tensor 'l2_normalize:0' shape=(2, 3) dtype=float32>
    """
    axis = renamed("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        wide = widened(x)
        total = reduce_sum(ops.square(wide), axis, keepdims=True)
        length = ops.rsqrt(ops.maximum(total, epsilon))
        if wide is not x:
            return ops.cast(wide * length, dtype=x.dtype, name=scope)
        return ops.multiply(x, length, name=scope)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The square root of the sum of squares of all elements of all tensors; those that are None are left out.

    >>> import staticgraph as sg
    >>> sg.global_norm([sg.ones([2]), None, sg.ones([3, 3])]).shape.as_list()
    []
    """
    if isinstance(t_list, str) or not isinstance(t_list, Sequence):
        raise misuse(TypeError, "global_norm: t_list must be a list of tensors")
    with name_scope(name, "global_norm", list(t_list)):
        present = [getattr(t, "values", t) for t in t_list if t is not None]
        halves = [ops.l2_loss(convert_to_tensor(t)) for t in present]
        total = reduce_sum(ops.stack(halves))
        return ops.sqrt(total * convert_to_tensor(2.0, dtype=total.dtype), name="global_norm")
