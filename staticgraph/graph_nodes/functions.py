"""Nodes that are one of our public functions, or a few ops: images, examples, recurrent cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32, int32, int64
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.functional import scan
from staticgraph.graph_def.nodes import GraphDefError, Node, constant, reads
from staticgraph.image.color import adjust_hue, adjust_saturation, hsv_to_rgb, rgb_to_hsv
from staticgraph.image.intensity import adjust_contrast
from staticgraph.image.suppression import non_max_suppression, non_max_suppression_padded
from staticgraph.indexing import dynamic_partition, unique
from staticgraph.io.example_ops import parse_example_op, parse_single_example_op
from staticgraph.nn.normalization import batch_norm_with_global_normalization
from staticgraph.segments import histogram_fixed_width
from staticgraph.sorting import in_top_k, top_k
from staticgraph.space import batch_to_space, space_to_batch

__all__: list[str] = []

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
    "BatchToSpace": ("block_size",), "InTopK": ("k",),
    "NonMaxSuppression": ("iou_threshold",), "SpaceToBatch": ("block_size",),
}  # fmt: skip


@reads(*_FUNCTIONS)
def _function(node: Node) -> Any:
    told = {name: node.attrs[name] for name in _TAKEN.get(node.type, ())}
    return ops.identity(_FUNCTIONS[node.type](*node.tensors, **told), name=node.out)


def _several(node: Node, *tensors: Tensor) -> Any:
    """Tensors as the outputs of one operation, which has the name of the node."""
    return ops.identity_n(list(tensors), name=node.out)


@reads("NonMaxSuppressionV4")
def _suppression(node: Node) -> Any:
    boxes, scores, most, iou, score = node.tensors
    padded = node.attrs["pad_to_max_output_size"]
    return _several(node, *non_max_suppression_padded(boxes, scores, most, iou, score, padded))


@reads("TopK")
def _top_k(node: Node) -> Any:
    [x] = node.tensors
    return _several(node, *top_k(x, node.attrs["k"], node.attrs["sorted"]))


@reads("UniqueV2")
def _unique(node: Node) -> Any:
    x, axis = node.tensors
    if x.type.rank != 1 or np.size(static_value(axis)) > 1:
        raise GraphDefError("its input must be a vector")
    return _several(node, *unique(x, out_idx=node.attrs["out_idx"]))


@reads("DynamicPartition")
def _partition(node: Node) -> Any:
    data, partitions = node.tensors
    return _several(node, *dynamic_partition(data, partitions, node.attrs["num_partitions"]))


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


# Examples


def _keys(node: Node, tensors: list[Tensor]) -> list[str]:
    found = [static_value(each) for each in tensors]
    if any(each is None for each in found):
        raise GraphDefError("its keys must be constants")
    return [bytes(np.asarray(each, object).item()).decode() for each in found]


@reads("ParseExample")
def _parse_examples(node: Node) -> Any:
    (_, [serialized]), (_, [names]), (_, sparse), (_, dense), (_, defaults) = node.arguments()
    told = node.attrs
    return parse_example_op(
        serialized, names, defaults,
        sparse=tuple(zip(_keys(node, sparse), told["sparse_types"], strict=True)),
        dense=tuple(zip(_keys(node, dense), told["Tdense"], told["dense_shapes"], strict=True)),
        name=node.out,
    )  # fmt: skip


@reads("ParseSingleExample")
def _parse_example(node: Node) -> Any:
    serialized, *defaults = node.tensors
    told = node.attrs
    return parse_single_example_op(
        serialized, defaults,
        sparse=tuple(zip(told["sparse_keys"], told["sparse_types"], strict=True)),
        dense=tuple(zip(told["dense_keys"], told["Tdense"], told["dense_shapes"], strict=True)),
        name=node.out,
    )  # fmt: skip


# Numbers of few bits, as they are simulated in training


def _fake_quantized(node: Node, x: Tensor, low: Any, high: Any) -> Any:
    """Rounded to steps between two limits, which are moved so that zero is one of the steps."""
    first, last = float(node.attrs["narrow_range"]), float(2 ** node.attrs["num_bits"] - 1)
    step = (high - low) / (last - first)
    zero = first - low / step
    zero = ops.minimum(ops.maximum(ops.floor(zero + 0.5), first), last)
    lowest, highest = (first - zero) * step, (last - zero) * step
    clipped = ops.minimum(ops.maximum(x, lowest), highest)
    return ops.add(ops.floor((clipped - lowest) / step + 0.5) * step, lowest, name=node.out)


@reads("FakeQuantWithMinMaxArgs")
def _quantized_between_numbers(node: Node) -> Any:
    [x] = node.tensors
    return _fake_quantized(node, x, *(constant(node.attrs[key], x.dtype) for key in ("min", "max")))


@reads("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def _quantized_between_tensors(node: Node) -> Any:
    return _fake_quantized(node, *node.tensors)


# Recurrent cells in one node


def _lstm(attrs: Any, x: Tensor, state: Tensor, hidden: Tensor, parts: list[Tensor]) -> tuple[Tensor, ...]:
    """Input gate, state, forget gate, output gate, what enters the state, what leaves it, and the output."""
    w, at_i, at_f, at_o, b = parts
    made = ops.split(ops.matmul(ops.concat([x, hidden], axis=1), w) + b, num_split=4, axis=1)
    i, entering, f, o = made
    peeks = attrs["use_peephole"]
    i = ops.sigmoid(i + state * at_i if peeks else i)
    f = ops.sigmoid((f + state * at_f if peeks else f) + attrs["forget_bias"])
    entering = ops.tanh(entering)
    new = entering * i + state * f
    if attrs["cell_clip"] > 0.0:
        new = ops.minimum(ops.maximum(new, -attrs["cell_clip"]), attrs["cell_clip"])
    o = ops.sigmoid(o + new * at_o if peeks else o)
    leaving = ops.tanh(new)
    return i, new, f, o, entering, leaving, leaving * o


@reads("LSTMBlockCell")
def _lstm_cell(node: Node) -> Any:
    x, state, hidden, *parts = node.tensors
    return _several(node, *_lstm(node.attrs, x, state, hidden, parts))


@reads("BlockLSTM")
def _lstm_layer(node: Node) -> Any:
    """The cell in every step of [time, batch, ...]; zeros from the step `seq_len_max` on."""
    steps, xs, state, hidden, *parts = node.tensors
    nothing = ops.zeros_like(state)

    def step(before: Any, x: Tensor) -> Any:
        return _lstm(node.attrs, x, before[1], before[6], parts)

    made = scan(step, xs, (nothing, state, *[nothing] * 4, hidden))
    at = ops.range(start=0, limit=ops.shape_of(xs)[0], delta=1, dtype=int32)
    alive = ops.less(ops.cast(at, dtype=int64), steps)
    wide = ops.reshape(alive, shape=[-1, 1, 1])
    return _several(node, *(ops.select(wide, each, ops.zeros_like(each)) for each in made))


@reads("GRUBlockCell")
def _gru_cell(node: Node) -> Any:
    x, hidden, gates, candidate, b_gates, b_candidate = node.tensors
    both = ops.sigmoid(ops.matmul(ops.concat([x, hidden], axis=1), gates) + b_gates)
    r, u = ops.split(both, num_split=2, axis=1)
    c = ops.tanh(ops.matmul(ops.concat([x, hidden * r], axis=1), candidate) + b_candidate)
    return _several(node, r, u, c, u * hidden + (1.0 - u) * c)
