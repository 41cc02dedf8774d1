"""Choice among many overlapping boxes: the best one first, then what does not overlap what is kept.

If it is known how many boxes are kept at most, a loop of the graph finds them, which is compiled. A result
with as many elements as boxes are kept is cut from that, and the step is left there as by `where`. Python
computes what is kept, while the graph runs, if the most is computed too, and where scores are lowered.

A round of the loop takes the box with the highest score and removes it, and those that overlap it, from the
others:

    scores   0.6  0.9  0.7        box 1 is taken, and box 0 overlaps it
             -inf -inf 0.7        box 2 is taken

The loop ends when no score is left, or enough boxes are taken. There is room for as many as there may be, and
zeros are behind those that are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import pad, reshape
from staticgraph.building.framework import checked, control_dependencies, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.operation_counts import counts_as
from staticgraph.building.sizes import size_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32, int32
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.loops import while_loop

MOST_ROUNDS = 1 << 16  # of a loop with room for all that it keeps

Overlap = Callable[[int, list[int]], np.ndarray]  # of one box with each of several


def _intersection_over_union(boxes: np.ndarray) -> Overlap:
    corners = np.concatenate(
        [np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], axis=1
    )
    areas = np.prod(corners[:, 2:] - corners[:, :2], axis=1)

    def overlap(one: int, others: list[int]) -> np.ndarray:
        low = np.maximum(corners[one, :2], corners[others, :2])
        high = np.minimum(corners[one, 2:], corners[others, 2:])
        shared = np.prod(np.maximum(high - low, 0), axis=1)
        union = areas[one] + areas[others] - shared
        real = (areas[one] > 0) & (areas[others] > 0)
        return np.where(real, shared / np.where(real, union, 1), 0)

    return overlap


def _kept(
    overlap: Overlap, scores: np.ndarray, most: int, limit: float, least: float, sigma: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the boxes that are kept, best first, and their scores, lowered by what overlaps them.

    With `sigma` 0 a box that overlaps a kept one by more than `limit` is dropped; else the score of every box
    decreases with how far it overlaps those, and a box is taken once no other has a higher score.
    """
    current = scores.astype(np.float32).copy()
    seen = np.zeros(len(scores), int)  # how many of the kept ones each score has been lowered by
    waiting = set(np.flatnonzero(current > least).tolist())
    kept: list[int] = []
    while waiting and len(kept) < most:
        best = min(waiting, key=lambda i: (-current[i], i))
        shares = overlap(best, kept[seen[best] :])
        seen[best] = len(kept)
        dropped = bool((shares > limit).any())
        lowered = current[best]
        if sigma > 0 and not dropped:
            lowered *= np.exp(-0.5 * np.sum(shares**2) / sigma)
        changed, current[best] = lowered != current[best], lowered
        if dropped or lowered <= least:
            waiting.discard(best)
        elif not changed:
            waiting.discard(best)
            kept.append(best)
    return np.array(kept, np.int32), current[kept].astype(np.float32)


def _of_boxes(
    boxes: np.ndarray, scores: np.ndarray, most: Any, *limits: Any
) -> tuple[np.ndarray, np.ndarray]:
    overlap = _intersection_over_union(boxes.astype(np.float32))
    return _kept(overlap, scores, int(most), *map(float, limits))


def _of_overlaps(overlaps: np.ndarray, scores: np.ndarray, most: Any, *limits: Any) -> np.ndarray:
    return _kept(lambda one, others: overlaps[one, others], scores, int(most), *map(float, limits))[0]


def _limits(*limits: Any) -> list[Tensor]:
    return [convert_to_tensor(limit, dtype=float32) for limit in limits]


def _share(threshold: Any) -> Tensor:
    """Return `threshold` as a tensor. A number outside of [0, 1] is an error, if not here, then in a run."""
    threshold = convert_to_tensor(threshold, dtype=float32)
    text = "iou_threshold must be in [0, 1], and is "
    known = static_value(threshold)
    if known is None:
        inside = ops.logical_and(threshold >= 0.0, threshold <= 1.0)
        with control_dependencies([ops.assert_true(ops.reduce_all(inside), [threshold], shown=(text, None))]):
            return ops.identity(threshold)
    if not 0.0 <= known <= 1.0:
        raise misuse(ValueError, f"{text}{known}")
    return threshold


def _checked(call: str, boxes: Any, scores: Any, most: Any, columns: int | None) -> list[Tensor]:
    boxes, scores = convert_to_tensor(boxes, name="boxes"), convert_to_tensor(scores, name="scores")
    with checked(call):
        shape = (None, None) if boxes.type.shape is None else boxes.type.shape
        good = len(shape) == 2 and _may_agree(shape[1], shape[0] if columns is None else columns)
        wanted = "a square matrix" if columns is None else "[boxes, 4]"
        require(good, f"the first argument has shape {boxes.shape}, and must be {wanted}")
        count = (None,) if scores.type.shape is None else scores.type.shape
        require(len(count) == 1, f"scores have shape {scores.shape}, and must be a vector")
        require(_may_agree(shape[0], count[0]), f"there are {shape[0]} boxes and {count[0]} scores")
    return [boxes, scores, convert_to_tensor(most, dtype=int32, name="max_output_size")]


def _may_agree(size: int | None, other: int | None) -> bool:
    return None in (size, other) or size == other


def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression`, and the scores of what is kept.

    With `soft_nms_sigma` greater than 0, a box's score is multiplied by exp(-overlap ** 2 / (2 sigma)) for
    each kept box, and the box competes anew.
    """
    with name_scope(name, "non_max_suppression_with_scores"):
        inputs = _checked("non_max_suppression_with_scores", boxes, scores, max_output_size, 4)
        inputs += [_share(iou_threshold), *_limits(score_threshold, soft_nms_sigma)]
        kept, values = ops.py_func_stateless(
            inputs, func=_of_boxes, Tout=(int32, float32), name="NonMaxSuppressionV5"
        )
        for part in (kept, values):
            part.set_shape([None])
        return kept, values


@counts_as(1, "boxes", "scores", "max_output_size", "iou_threshold", "score_threshold")
def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The numbers (int32) of at most `max_output_size` boxes, by falling score.

    `boxes` is [boxes, 4] with two opposite corners y, x, y, x each. A box is dropped that overlaps a better
    one by more than `iou_threshold`, as the area of their intersection over that of their union, or whose
    score is not above `score_threshold`. Boxes and scores of 16 bits are compared as float32. An
    `iou_threshold` that is not in [0, 1] is an error.

    >>> import staticgraph as sg
    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.0], [2.0, 2.0, 3.0, 3.0]]
    >>> with sg.Session() as sess:
    ...     sess.run(sg.image.non_max_suppression(boxes, [0.6, 0.9, 0.7], 10)).tolist()
    [1, 2]
    """
    with name_scope(name, "non_max_suppression"):
        found = _greedily(boxes, scores, max_output_size, iou_threshold, score_threshold)
        if found is not None:
            return _cut(*found)
        return non_max_suppression_with_scores(
            boxes, scores, max_output_size, iou_threshold, score_threshold
        )[0]


def _greedily(boxes: Any, scores: Any, most: Any, threshold: Any, least: Any) -> tuple[Tensor, Tensor] | None:
    """Return what is kept, with zeros behind it, and how much that is; None if the most is not known."""
    boxes, scores, most = _checked("non_max_suppression", boxes, scores, most, 4)
    room = _room(most)
    if room is None:
        return None
    scores = reshape(scores, [size_of(boxes, 0)])  # the run fails if there are others
    return greedily_kept(intersections_over_unions(boxes), scores, room, _share(threshold), *_limits(least))


def _room(most: Tensor) -> int | None:
    """The greatest number of boxes that are kept, if it is known and sensible."""
    known = static_value(most)
    return int(known) if known is not None and 0 <= known <= MOST_ROUNDS else None


def _cut(kept: Tensor, count: Tensor) -> Tensor:
    kept = kept[:count]
    kept.set_shape([None])
    return kept


def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`non_max_suppression`, on demand filled with zeros to `max_output_size`; and how many are kept."""
    with name_scope(name, "non_max_suppression_padded"):
        found = _greedily(boxes, scores, max_output_size, iou_threshold, score_threshold)
        if found is not None:
            return (found[0] if pad_to_max_output_size else _cut(*found)), found[1]
        kept = non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
        count = size_of(kept, 0)
        return pad(kept, [[0, max_output_size - count]]) if pad_to_max_output_size else kept, count


def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """`non_max_suppression` where overlaps[i, j] says how far boxes i and j overlap."""
    with name_scope(name, "non_max_suppression_overlaps"):
        inputs = _checked("non_max_suppression_overlaps", overlaps, scores, max_output_size, None)
        limits, room = _limits(overlap_threshold, score_threshold), _room(inputs[2])
        if room is not None:
            count = size_of(inputs[0], 0)  # the run fails if there are others
            matrix, scores = reshape(inputs[0], [count, count]), reshape(inputs[1], [count])
            return _cut(*greedily_kept(overlaps_of(matrix), scores, room, *limits))
        inputs += limits
        kept = ops.py_func_stateless(
            inputs, func=_of_overlaps, Tout=(int32,), name="NonMaxSuppressionWithOverlaps"
        )
        kept.set_shape([None])
        return kept


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
