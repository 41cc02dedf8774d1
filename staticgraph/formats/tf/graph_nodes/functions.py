"""Nodes that are one of our public functions, or a few ops: images, losses, examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.arrays.indexing import dynamic_partition, unique
from staticgraph.arrays.sorting import in_top_k, top_k
from staticgraph.arrays.space import batch_to_space, space_to_batch
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32, int32, int64
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.image.color import adjust_hue, adjust_saturation, hsv_to_rgb, rgb_to_hsv
from staticgraph.domains.image.intensity import adjust_contrast
from staticgraph.domains.image.suppression import non_max_suppression, non_max_suppression_padded
from staticgraph.formats.tf.examples.example_ops import parse_example_op, parse_single_example_op
from staticgraph.formats.tf.graph_def.nodes import GraphDefError, Node, constant, reads, several
from staticgraph.mathematics.segments import histogram_fixed_width
from staticgraph.nn.ctc import ctc_loss
from staticgraph.nn.normalization import batch_norm_with_global_normalization
from staticgraph.sparse.tensor import SparseTensor

_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "AdjustContrastv2": adjust_contrast,
    "AdjustHue": adjust_hue,
    "AdjustSaturation": adjust_saturation,
    "BatchNormWithGlobalNormalization": batch_norm_with_global_normalization,
    "BatchToSpace": batch_to_space,
    "ClipByValue": lambda x, low, high: ops.minimum(ops.maximum(x, low), high),
    "HSVToRGB": hsv_to_rgb,
    "InTopK": in_top_k,
    "NonMaxSuppression": non_max_suppression,
    "NonMaxSuppressionV2": non_max_suppression,
    "NonMaxSuppressionV3": non_max_suppression,
    "RGBToHSV": rgb_to_hsv,
    "SpaceToBatch": space_to_batch,
}
_TAKEN = {
    "BatchNormWithGlobalNormalization": ("variance_epsilon", "scale_after_normalization"),
    "BatchToSpace": ("block_size",),
    "InTopK": ("k",),
    "NonMaxSuppression": ("iou_threshold",),
    "SpaceToBatch": ("block_size",),
}


@reads(*_FUNCTIONS)
def _function(node: Node) -> Any:
    told = {name: node.attrs[name] for name in _TAKEN.get(node.type, ())}
    return ops.identity(_FUNCTIONS[node.type](*node.tensors, **told), name=node.out)


@reads("NonMaxSuppressionV4")
def _suppression(node: Node) -> Any:
    boxes, scores, most, iou, score = node.tensors
    padded = node.attrs["pad_to_max_output_size"]
    return several(node, *non_max_suppression_padded(boxes, scores, most, iou, score, padded))


@reads("TopK")
def _top_k(node: Node) -> Any:
    [x] = node.tensors
    return several(node, *top_k(x, node.attrs["k"], node.attrs["sorted"]))


@reads("UniqueV2")
def _unique(node: Node) -> Any:
    x, axis = node.tensors
    if x.type.rank != 1 or np.size(static_value(axis)) > 1:
        raise GraphDefError("its input must be a vector")
    return several(node, *unique(x, out_idx=node.attrs["out_idx"]))


@reads("DynamicPartition")
def _partition(node: Node) -> Any:
    data, partitions = node.tensors
    return several(node, *dynamic_partition(data, partitions, node.attrs["num_partitions"]))


@reads("Bucketize")
def _bucketize(node: Node) -> Any:
    [x] = node.tensors
    limits = constant(node.attrs["boundaries"], float32)
    above = ops.greater_equal(ops.expand_dims(ops.cast(x, dtype=float32), axis=-1), limits)
    return ops.reduce_sum(ops.cast(above, dtype=int32), axis=-1, name=node.out)


@reads("HistogramFixedWidth")
def _histogram(node: Node) -> Any:
    values, limits, count = node.tensors
    known = static_value(count)
    if known is None:
        raise GraphDefError("its nbins must be a constant")
    made = histogram_fixed_width(values, limits, int(known), node.attrs["dtype"])
    return ops.identity(made, name=node.out)


@reads("Reverse")
def _reverse(node: Node) -> Any:
    x, chosen = node.tensors
    known = static_value(chosen)
    if known is None:
        raise GraphDefError("its axes must be constants")
    return ops.reverse(x, axis=np.flatnonzero(known).tolist(), name=node.out)


@reads("CTCLoss")
def _ctc_loss(node: Node) -> Any:
    """The losses of a batch, and the derivative of each by its inputs."""
    inputs, indices, values, lengths = node.tensors
    longest = ops.reduce_max(indices[:, 1]) + 1
    batch = ops.cast(ops.shape_of(inputs)[1], dtype=int64)
    labels = SparseTensor(indices, values, ops.stack([batch, longest], axis=0))
    flags = ("preprocess_collapse_repeated", "ctc_merge_repeated", "ignore_longer_outputs_than_inputs")
    losses = ctc_loss(labels, inputs, lengths, **{key: node.attrs[key] for key in flags})
    slope = ops.symbolic_gradients([losses, ops.ones_like(losses), inputs, inputs], ys=1, seeds=1, xs=1)
    return several(node, losses, slope)


# Examples


def _keys(tensors: list[Tensor]) -> list[str]:
    found = [static_value(each) for each in tensors]
    if any(each is None for each in found):
        raise GraphDefError("its keys must be constants")
    return [bytes(np.asarray(each, object).item()).decode() for each in found]


@reads("ParseExample")
def _parse_examples(node: Node) -> Any:
    (_, [serialized]), (_, [names]), (_, sparse), (_, dense), (_, defaults) = node.arguments()
    told = node.attrs
    return parse_example_op(
        serialized,
        names,
        defaults,
        sparse=tuple(zip(_keys(sparse), told["sparse_types"], strict=True)),
        dense=tuple(zip(_keys(dense), told["Tdense"], told["dense_shapes"], strict=True)),
        name=node.out,
    )


@reads("ParseSingleExample")
def _parse_example(node: Node) -> Any:
    serialized, *defaults = node.tensors
    told = node.attrs
    return parse_single_example_op(
        serialized,
        defaults,
        sparse=tuple(zip(told["sparse_keys"], told["sparse_types"], strict=True)),
        dense=tuple(zip(told["dense_keys"], told["Tdense"], told["dense_shapes"], strict=True)),
        name=node.out,
    )
