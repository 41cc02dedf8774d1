"""Suppression of the boxes of all classes of a batch of images at once."""

from __future__ import annotations

from typing import Any, NamedTuple

from staticgraph.arrays.array_ops import expand_dims, pad, reshape, tile, transpose
from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import range as numbers
from staticgraph.arrays.indexing import gather, where_v2
from staticgraph.arrays.sorting import top_k
from staticgraph.building.conversion import convert_to_tensor
from staticgraph.building.framework import name_scope
from staticgraph.compiler.graph.dtypes import float32, int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.functional import map_fn
from staticgraph.domains.image.suppression import non_max_suppression_padded
from staticgraph.mathematics.math_ops import clip_by_value, minimum
from staticgraph.mathematics.reductions import reduce_sum


class CombinedNonMaxSuppression(NamedTuple):
    """The boxes that are kept of each image, and how many there are; what is behind them is zero."""

    nmsed_boxes: Tensor
    nmsed_scores: Tensor
    nmsed_classes: Tensor
    valid_detections: Tensor


def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """Keep boxes of each class that do not overlap boxes of the class with a greater score.

    Args:
        boxes: float32 [batch, boxes, q, 4], where q is 1 for all classes alike, or the number of classes.
        scores: float32 [batch, boxes, classes].
        max_output_size_per_class: The most boxes that are kept of a class: a number.
        max_total_size: The most boxes that are kept of an image, those with the greatest scores: a number.
        iou_threshold: Boxes overlap if the share of their common area is greater.
        score_threshold: Boxes with no greater score are left out.
        pad_per_class: If there is room only for so many boxes of each class, if that is less.
        clip_boxes: If kept boxes are cut to coordinates from 0 to 1.
        name: Name of the operations.

    Returns:
        `nmsed_boxes` [batch, room, 4], `nmsed_scores` [batch, room], `nmsed_classes` [batch, room], which are
        float32 as well, and `valid_detections` int32 [batch]: the number of boxes of each image.

    Raises:
        ValueError: If a shape does not fit, or if a number of boxes depends on what is fed.

    >>> boxes = sg.constant([[[[0.0, 0.0, 1.0, 1.0]], [[0.0, 0.0, 1.0, 0.9]], [[0.0, 0.0, 0.2, 0.2]]]])
    >>> scores = sg.constant([[[0.9], [0.8], [0.7]]])
    >>> kept = sg.image.combined_non_max_suppression(boxes, scores, 2, 3)
    >>> sg.Session().run([kept.nmsed_scores, kept.valid_detections])
    [array([[0.9, 0.7, 0. ]], dtype=float32), array([2], dtype=int32)]
    """
    with name_scope(name, "combined_non_max_suppression", [boxes, scores]):
        boxes = convert_to_tensor(boxes, dtype=float32, name="boxes")
        scores = convert_to_tensor(scores, dtype=float32, name="scores")
        _check(boxes, scores)
        of_class = _known("max_output_size_per_class", max_output_size_per_class)
        total = _known("max_total_size", max_total_size)
        classes = scores.shape[2].value
        room = min(total, of_class * classes) if pad_per_class else total

        def of_image(image: Any) -> Any:
            each = image[0] if boxes.shape[2].value != 1 else tile(image[0], [1, classes, 1])
            places = _by_class(each), _by_class(image[1])
            kept, values, counts = map_fn(of_one_class, places, dtype=(float32, float32, int32))
            return _best(kept, values, counts, of_class, classes, room)

        def of_one_class(pair: Any) -> Any:
            chosen, count = non_max_suppression_padded(
                pair[0], pair[1], of_class, iou_threshold, score_threshold, pad_to_max_output_size=True
            )
            return gather(pair[0], chosen), gather(pair[1], chosen), count

        found = map_fn(of_image, (boxes, scores), dtype=(float32, float32, float32, int32))
        kept = clip_by_value(found[0], 0.0, 1.0) if clip_boxes else found[0]
        for made, sizes in zip((kept, *found[1:]), ([room, 4], [room], [room], []), strict=True):
            made.set_shape([scores.shape[0], *sizes])
        return CombinedNonMaxSuppression(kept, *found[1:])


def _check(boxes: Tensor, scores: Tensor) -> None:
    if boxes.shape.ndims != 4 or scores.shape.ndims != 3:
        text = f"boxes have shape {boxes.shape} and scores {scores.shape}"
        raise misuse(ValueError, text, "boxes are [batch, boxes, q, 4] and scores [batch, boxes, classes]")
    each, classes = boxes.shape[2].value, scores.shape[2].value
    if classes is None or each not in (1, classes):
        text = f"boxes have shape {boxes.shape} and scores {scores.shape}"
        raise misuse(
            ValueError, text, "axis 2 of the boxes is 1 or the number of classes, which must be known"
        )


def _known(what: str, value: Any) -> int:
    known = static_value(convert_to_tensor(value, dtype=int32))
    if known is None or known <= 0:
        raise misuse(ValueError, f"{what} must be a positive number that is known while the graph is built")
    return int(known)


def _by_class(x: Any) -> Any:
    """Move the axis of classes, which is the second one, to the front."""
    return transpose(x, [1, 0, 2] if x.shape.ndims == 3 else [1, 0])


def _best(kept: Any, values: Any, counts: Any, of_class: int, classes: int, room: int) -> Any:
    """Return the boxes with the greatest scores among those that are kept of all classes."""
    is_box = expand_dims(numbers(of_class), 0) < expand_dims(counts, 1)
    lowest = float("-inf")
    flat = reshape(where_v2(is_box, values, lowest), [classes * of_class])
    most = min(room, classes * of_class)
    chosen, places = top_k(flat, most)
    count = minimum(reduce_sum(counts), most)
    valid = numbers(most) < count
    missing = room - most
    boxes = gather(reshape(kept, [classes * of_class, 4]), places)
    return (
        pad(where_v2(expand_dims(valid, 1), boxes, 0.0), [[0, missing], [0, 0]]),
        pad(where_v2(valid, chosen, 0.0), [[0, missing]]),
        pad(where_v2(valid, cast(places // of_class, float32), 0.0), [[0, missing]]),
        count,
    )
