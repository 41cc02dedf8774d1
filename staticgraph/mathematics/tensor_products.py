"""`tensordot` of tensors whose ranks are not known when the graph is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.tensor import Tensor


def of_unknown_rank(a: Tensor, b: Tensor, axes: Any, scope: str) -> Tensor:
    """Return the sum of products as a product of two matrices, whose shapes a run computes."""
    rank_a, rank_b = ops.rank_of(a), ops.rank_of(b)
    if isinstance(axes, int | np.integer):
        summed = _range(rank_a - axes, rank_a), _range(0, axes)
        free = _range(0, rank_a - axes), _range(axes, rank_b)
    else:
        summed = _positive(axes[0], rank_a), _positive(axes[1], rank_b)
        free = _others(rank_a, summed[0]), _others(rank_b, summed[1])
    left, outer_a = _matrix(a, [free[0], summed[0]], 0)
    right, outer_b = _matrix(b, [summed[1], free[1]], 1)
    product = ops.matmul(left, right)
    return ops.reshape(product, shape=ops.concat([outer_a, outer_b], axis=0), name=scope)


def _range(start: Any, limit: Any) -> Tensor:
    return ops.range(start=start, limit=limit, delta=1, dtype=int32)


def _others(rank: Tensor, axes: Tensor) -> Tensor:
    others: Tensor = ops.setdiff1d(_range(0, rank), axes)[0]
    return others


def _positive(axes: np.ndarray, rank: Tensor) -> Tensor:
    at = convert_to_tensor(axes.astype(np.int32))
    return ops.select(ops.less(at, 0), at + rank, at)


def _matrix(x: Tensor, order: Sequence[Tensor], free: int) -> tuple[Tensor, Tensor]:
    """Return an operand as a matrix with an axis for each group of axes, and the sizes of the free group."""
    sizes = [ops.gather(ops.shape_of(x), axes, axis=0) for axes in order]
    shape = ops.stack([ops.reduce_prod(each) for each in sizes])
    turned = ops.transpose(x, perm=ops.concat(list(order), axis=0))
    return ops.reshape(turned, shape=shape), sizes[free]
