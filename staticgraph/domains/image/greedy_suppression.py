"""Non-maximum suppression as a loop of the graph, which is compiled with what is around it.

A round takes the box with the highest score and removes it, and those that overlap it, from the others:

    scores   0.6  0.9  0.7        box 1 is taken, and box 0 overlaps it
             -inf -inf 0.7        box 2 is taken

The loop ends when no score is left, or enough boxes are taken. There is room for as many as there may be, and
zeros are behind those that are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.sizes import size_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32, int32
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.loops import while_loop

Shares = Callable[[Any], Tensor]  # how far the box of this number overlaps each box


def intersections_over_unions(boxes: Tensor) -> Shares:
    """The area that two boxes share, over the area of both."""
    y, x, other_y, other_x = ops.unstack(ops.cast(boxes, dtype=float32), num=4, axis=1)
    low = ops.minimum(y, other_y), ops.minimum(x, other_x)
    high = ops.maximum(y, other_y), ops.maximum(x, other_x)
    areas = (high[0] - low[0]) * (high[1] - low[1])

    def shares(best: Any) -> Tensor:
        sides = [
            ops.maximum(ops.minimum(b, ops.gather(b, best)) - ops.maximum(a, ops.gather(a, best)), 0.0)
            for a, b in zip(low, high, strict=True)
        ]
        shared, area = sides[0] * sides[1], ops.gather(areas, best)
        union = areas + area - shared
        real = (areas > 0.0) & (area > 0.0)
        none = ops.zeros_like(union)
        return ops.select(real, shared / ops.select(real, union, ops.ones_like(union)), none)

    return shares


def overlaps_of(overlaps: Tensor) -> Shares:
    """The column of a matrix of overlaps."""
    return lambda best: ops.gather(ops.cast(overlaps, dtype=float32), best, axis=1)


def greedily_kept(
    shares: Shares, scores: Tensor, most: int, limit: Tensor, least: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the numbers of the boxes that are kept, best first, and how many they are.

    Args:
        shares: How far a box overlaps each box.
        scores: The score of each box.
        most: The number of boxes that are kept at most, and the length of the first result.
        limit: A box is dropped that overlaps a better one by more.
        least: A box is dropped whose score is not above.
    """
    scores = ops.cast(scores, dtype=float32)
    nothing = ops.fill(ops.cast(-np.inf, dtype=float32), dims=[size_of(scores, 0)])
    numbers = ops.range(0, size_of(scores, 0), 1, dtype=int32)
    slots = convert_to_tensor(np.arange(most, dtype=np.int32))
    none = convert_to_tensor(np.int32(np.iinfo(np.int32).max))

    def goes_on(count: Any, left: Any, kept: Any) -> Any:
        return (count < most) & ops.reduce_any(left > -np.inf)

    def take_best(count: Any, left: Any, kept: Any) -> Any:
        is_best = ops.equal(left, ops.reduce_max(left))
        best = ops.reduce_min(ops.select(is_best, numbers, ops.zeros_like(numbers) + none))
        gone = (shares(best) > limit) | ops.equal(numbers, best)
        kept = ops.select(ops.equal(slots, count), ops.zeros_like(kept) + best, kept)
        left, before = ops.select(gone, nothing, left), left
        left.set_shape(before.shape)
        return count + 1, left, kept

    start = convert_to_tensor(np.int32(0)), ops.select(scores > least, scores, nothing), ops.zeros_like(slots)
    rounds = while_loop(goes_on, take_best, start, maximum_iterations=most, back_prop=False)
    return rounds[2], rounds[0]
