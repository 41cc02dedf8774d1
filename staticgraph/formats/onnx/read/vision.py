"""Boxes in images."""

from __future__ import annotations

import math

import numpy as np

from staticgraph.building.script_ops import py_func
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32, int64, uint8
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.image.codecs import decode_picture
from staticgraph.domains.image.suppression import non_max_suppression
from staticgraph.formats.onnx.errors import OnnxError
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import cast, constant, reshape, unstacked


@operator("NonMaxSuppression")
def _non_max_suppression(
    node: Node,
    boxes: Tensor,
    scores: Tensor,
    most: Tensor | None = None,
    overlap: Tensor | None = None,
    least: Tensor | None = None,
) -> Tensor:
    """[selected, 3]: image, class and box, image after image, class after class, the best box first."""
    images, classes, _ = node.sizes(scores)
    limit = 0 if most is None else node.ints(most, "max_output_boxes_per_class")[0]
    if limit <= 0:
        return constant(np.zeros((0, 3)), int64)
    if node.get("center_point_box"):
        x, y, width, height = unstacked(boxes, 4, -1)
        half = constant(0.5, boxes)
        edges = [y - half * height, x - half * width, y + half * height, x + half * width]
        boxes = ops.stack(edges, axis=-1)
    share = constant(0, float32) if overlap is None else reshape(overlap, [])
    score = constant(-math.inf, float32) if least is None else reshape(least, [])
    count = min(limit, node.sizes(boxes)[1])
    rows = []
    for image in node.times(images):
        for kind in node.times(classes):
            found = non_max_suppression(boxes[image], scores[image, kind], count, share, score)
            chosen = reshape(cast(found, int64), [-1, 1])
            told = constant(np.array([[image, kind]]), int64)
            rows.append(ops.pad(chosen, paddings=((0, 0), (2, 0))) + ops.pad(told, paddings=((0, 0), (0, 1))))
    return ops.concat(rows, axis=0) if len(rows) > 1 else rows[0]


_FORMATS = ("BMP", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")
_COLORS = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}


@operator("ImageDecoder")
def _image_decoder(node: Node, x: Tensor) -> Tensor:
    """The pixels of an image file, which is given as bytes."""
    colors = node.get("pixel_format", "RGB")
    if colors not in _COLORS:
        raise OnnxError(f"pixel_format {colors!r} does not exist")

    def decode(data: np.ndarray) -> np.ndarray:
        pixels = decode_picture(data.tobytes(), _FORMATS, _COLORS[colors])
        return pixels[:, :, ::-1] if colors == "BGR" else pixels

    made = py_func(decode, [x], uint8, stateful=False)
    made.set_shape([None, None, 1 if colors == "Grayscale" else 3])
    return made
