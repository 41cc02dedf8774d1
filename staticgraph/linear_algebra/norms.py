"""Norms of vectors and matrices, and what is divided by them: part of `sg.linalg`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import squeeze, transpose
from staticgraph.arrays.casts import of_dtype, widened
from staticgraph.arrays.creation import range as arange
from staticgraph.arrays.indexing import invert_permutation, setdiff1d
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.elementwise.arithmetic import absolute
from staticgraph.compiler.ops.kinds import conjugate
from staticgraph.mathematics.reductions import reduce_max, reduce_sum


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
    axes = axis if is_matrix else () if axis is None else (axis,)
    if any(not isinstance(a, int | np.integer) for a in axes) or len(set(axes)) < len(axes):
        text = f"norm: 'axis' must be None, an integer, or a tuple of 2 unique integers, not {axis!r}"
        raise misuse(ValueError, text)
    known = ["euclidean", "fro", 1, 2, np.inf] if is_matrix else ["euclidean", 1, 2, np.inf]
    positive = not is_matrix and isinstance(ord, int | float | np.number) and ord > 0
    if ord not in known and not positive:
        kind = f"matrix norm in {known}" if is_matrix else f"vector norm: one of {known}, or positive"
        raise misuse(ValueError, f"norm: 'ord' must be a supported {kind}, got {ord!r}")
    with name_scope(name, "norm", [tensor]):
        x = convert_to_tensor(tensor)
        return of_dtype(_norm(widened(x), ord, axis, keepdims, is_matrix), x.dtype)


def _norm(x: Tensor, ord: Any, axis: Any, keepdims: bool, is_matrix: bool) -> Tensor:
    if ord in ("euclidean", "fro") or (ord == 2 and not is_matrix):
        return _kept(ops.sqrt(reduce_sum(x * conjugate(x), axis, keepdims=True)), axis, keepdims)
    size = absolute(x)
    if is_matrix and ord == 2:
        return _kept(_spectral(x, axis), axis, keepdims)
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


def _spectral(x: Tensor, axis: Sequence[int]) -> Tensor:
    """Return the largest singular value of each matrix, with axes of size one in place of the two."""
    if x.shape.ndims is not None:
        axes = [a % x.shape.ndims for a in axis]
        perm: Any = np.array([d for d in range(x.shape.ndims) if d not in axes] + axes)
        inverse: Any = np.argsort(perm)
    else:
        rank = ops.rank_of(x)
        moved = ops.floormod(np.array(axis, np.int32), rank)
        perm = ops.concat((setdiff1d(arange(rank), moved)[0], moved), axis=0)
        inverse = invert_permutation(perm)
    values = ops.svd(transpose(x, perm), compute_uv=False)[0]
    largest = ops.expand_dims(reduce_max(values, -1, keepdims=True), axis=-1)
    return transpose(largest, inverse)


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
