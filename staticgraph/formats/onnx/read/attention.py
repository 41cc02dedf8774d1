"""Attention in its forms, rotary embeddings, and the recurrences that take attention's place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, bool_, float32, int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import cast, constant, part, permuted, reshape, select, sizes, wide


def _heads(x: Tensor, count: int) -> Tensor:
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    batch, length, hidden = sizes(x)
    return permuted(reshape(x, [batch, length, count, part(hidden, count)]), [0, 2, 1, 3])


def _together(x: Tensor) -> Tensor:
    """The inverse of `_heads`."""
    batch, heads, length, size = sizes(x)
    return reshape(permuted(x, [0, 2, 1, 3]), [batch, length, heads * size])


def _repeated(x: Tensor, times: int) -> Tensor:
    """Repeat each head as often as there are queries for it."""
    if times == 1:
        return x
    batch, heads, length, size = sizes(x)
    rows = ops.tile(ops.expand_dims(x, axis=2), multiples=(1, 1, times, 1, 1))
    return reshape(rows, [batch, heads * times, length, size])


def _softmax(scores: Tensor, precision: DType) -> Tensor:
    """Along the last axis; a row where nothing is allowed becomes zero."""
    wide = cast(scores, precision)
    highest = ops.reduce_max(wide, axis=(-1,), keepdims=True)
    nothing = ops.equal(highest, constant(-math.inf, wide))
    powers = ops.exp(wide - select(nothing, ops.zeros_like(highest), highest))
    total = ops.reduce_sum(powers, axis=(-1,), keepdims=True)
    return cast(powers / select(nothing, ops.ones_like(total), total), scores.dtype)


@operator("Attention")
def _attention(
    node: Node,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    lengths: Tensor | None = None,
) -> tuple[Tensor, ...]:
    flat = node.rank(q) == 3
    if flat:
        q = _heads(q, node.required("q_num_heads"))
        k, v = (_heads(x, node.required("kv_num_heads")) for x in (k, v))
    if past_key is not None and past_value is not None:
        k, v = ops.concat([past_key, k], axis=2), ops.concat([past_value, v], axis=2)
    present = k, v
    group = node.size(q, 1) // node.size(k, 1)
    scale = node.get("scale")
    root = math.sqrt(scale) if scale is not None else node.size(q, 3) ** -0.25
    k, v = _repeated(k, group), _repeated(v, group)
    scores = ops.batch_matmul(q * constant(root, q), k * constant(root, k), adj_y=True)
    shown = [scores]
    cap = node.get("softcap", 0.0)
    if cap:
        scores = constant(cap, q) * ops.tanh(scores / constant(cap, q))
    shown.append(scores)
    scores = _biased(node, scores, mask, past_key, lengths)
    shown.append(scores)
    number = node.get("softmax_precision")
    weights = _softmax(scores, scores.dtype if number is None else node.element_type(number))
    shown.append(weights)
    made = ops.batch_matmul(weights, v)
    return (_together(made) if flat else made), *present, shown[node.get("qk_matmul_output_mode", 0)]


def _biased(
    node: Node, scores: Tensor, mask: Tensor | None, past: Tensor | None, lengths: Tensor | None
) -> Tensor:
    """Scores of keys that a query does not see are minus infinity."""
    *_, rows, columns = sizes(scores)
    allowed: Tensor | None = None
    causal, left, right = (
        node.get(name, default)
        for name, default in (("is_causal", 0), ("left_window_size", -1), ("right_window_size", -1))
    )
    if mask is not None:
        mask = _wide_enough(mask, columns)
        if mask.dtype is bool_:
            allowed = mask
        else:
            scores = scores + mask
    if causal or left >= 0 or right >= 0:
        ahead = _ahead(rows, columns, past, lengths)
        if causal:
            allowed = _both(allowed, ahead <= constant(0, int64))
        if right >= 0:
            allowed = _both(allowed, ahead <= constant(right, int64))
        if left >= 0:
            allowed = _both(allowed, ahead >= constant(-left, int64))
    if lengths is not None:
        counted = reshape(cast(lengths, int64), [-1, 1, 1, 1])
        allowed = _both(allowed, _numbers(columns) < counted)
    if allowed is None:
        return scores
    return select(allowed, scores, constant(-math.inf, scores))


def _both(a: Tensor | None, b: Tensor) -> Tensor:
    return b if a is None else ops.logical_and(a, b)


def _numbers(count: Any) -> Tensor:
    """0, 1, 2 and so on."""
    if isinstance(count, Tensor):
        return ops.range(start=0, limit=count, delta=1, dtype=int64)
    return constant(np.arange(count), int64)


def _ahead(rows: Any, columns: Any, past: Tensor | None, lengths: Tensor | None) -> Tensor:
    """Return the position of each key minus that of each query.

    The queries are at the end of the keys if there is a past, or end at the `lengths` if these are given.
    """
    queries = ops.expand_dims(_numbers(rows), axis=1)
    size = rows if isinstance(rows, Tensor) else constant(rows, int64)
    if past is not None:
        before = sizes(past)[2]
        queries = queries + (before if isinstance(before, Tensor) else constant(before, int64))
    elif lengths is not None:
        queries = queries + reshape(cast(lengths, int64) - size, [-1, 1, 1, 1])
    return _numbers(columns) - queries


def _wide_enough(mask: Tensor, columns: Any) -> Tensor:
    """A mask may be shorter than there are keys: those are not seen."""
    have = sizes(mask)[-1]
    if isinstance(have, Tensor) or isinstance(columns, Tensor) or have >= columns or have == 1:
        return mask
    rank = len(sizes(mask))
    hidden = constant(False if mask.dtype is bool_ else -math.inf, mask)
    pairs = ((0, 0),) * (rank - 1) + ((0, columns - have),)
    return ops.pad_v2(mask, hidden, paddings=pairs)


@operator("FlexAttention", domain="ai.onnx.preview")
@operator("FlexAttention")
def _flex_attention(node: Node, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention with graphs inside that change the scores and the weights."""
    group = node.size(q, 1) // node.size(k, 1)
    root = constant(math.sqrt(node.get("scale") or 1 / math.sqrt(node.size(q, 3))), q)
    number = node.get("softmax_precision")
    precision = wide(q.dtype) if number is None else node.element_type(number)
    k, v = _repeated(k, group), _repeated(v, group)
    scores = cast(ops.batch_matmul(q * root, k * root, adj_y=True), precision)
    weights = _softmax(_changed(node, "score_mod", scores), precision)
    return cast(ops.batch_matmul(_changed(node, "prob_mod", weights), cast(v, precision)), v.dtype)


def _changed(node: Node, name: str, x: Tensor) -> Tensor:
    """Apply a graph inside the node to a tensor. Return the tensor as it is if there is no such graph."""
    graph = node.get(name)
    return x if graph is None else cast(node.scope.subgraph(graph, [x])[0], x.dtype)


@operator("RotaryEmbedding")
def _rotary_embedding(
    node: Node, x: Tensor, cosines: Tensor, sines: Tensor, positions: Tensor | None = None
) -> Tensor:
    """Pairs of features turned by an angle for each position."""
    flat = node.rank(x) == 3
    rows = permuted(_heads(x, node.required("num_heads")) if flat else x, [0, 2, 1, 3])
    batch, length, heads, size = sizes(rows)
    turned = node.get("rotary_embedding_dim") or size
    if positions is not None:
        cosines, sines = (ops.gather(cache, positions, axis=0) for cache in (cosines, sines))
    cosines, sines = (ops.expand_dims(cache, axis=-2) for cache in (cosines, sines))
    inner, rest = (
        (rows, None)
        if turned == size
        else ops.split_v(rows, size_splits=(turned, size - turned), axis=3, num_split=2)
    )
    if node.get("interleaved"):
        pairs = reshape(inner, [batch, length, heads, turned // 2, 2])
        first, second = ops.unstack(pairs, num=2, axis=4)
    else:
        first, second = ops.split(inner, axis=3, num_split=2)
    real, imaginary = cosines * first - sines * second, sines * first + cosines * second
    if node.get("interleaved"):
        made = reshape(ops.stack([real, imaginary], axis=4), [batch, length, heads, turned])
    else:
        made = ops.concat([real, imaginary], axis=3)
    if rest is not None:
        made = ops.concat([made, rest], axis=3)
    made = permuted(made, [0, 2, 1, 3])
    return _together(made) if flat else made


@operator("CausalConvWithState")
def _causal_conv(
    node: Node, x: Tensor, w: Tensor, bias: Tensor | None = None, past: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Convolve each channel with what came before; the last inputs are kept for the next step."""
    channels, _, taps = node.sizes(w)
    if past is None:
        whole = ops.pad(x, paddings=((0, 0), (0, 0), (taps - 1, 0)))
    else:
        whole = ops.concat([past, x], axis=2)
    filters = reshape(permuted(w, [2, 1, 0]), [1, taps, channels, 1])
    one = (1, 1, 1, 1)
    made = ops.depthwise_conv2d_native(
        ops.expand_dims(whole, axis=2), filters, strides=one, padding="VALID", data_format="NCHW"
    )
    made = ops.squeeze(made, axis=(2,))
    if bias is not None:
        made = made + reshape(bias, [-1, 1])
    match node.get("activation", "none"):
        case "silu" | "swish":
            made = made * ops.sigmoid(made)
    length = sizes(whole)[2]
    kept = ops.slice(whole, begin=(0, 0, length - (taps - 1)), size=(-1, -1, taps - 1))
    return made, kept


@operator("LinearAttention")
def _linear_attention(
    node: Node,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    past: Tensor | None = None,
    decay: Tensor | None = None,
    beta: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """A state per head. Each token makes it decay, forget what the key finds, and take the value in."""
    heads, kept = node.required("q_num_heads"), node.required("kv_num_heads")
    rule = node.get("update_rule", "gated_delta")
    dtype, state_dtype = q.dtype, q.dtype if past is None else past.dtype
    q, k, v = (cast(_heads(x, n), float32) for x, n in ((q, heads), (k, kept), (v, kept)))
    batch, _, length, depth = node.sizes(k)
    width = node.sizes(v)[3]
    state = constant(np.zeros((batch, kept, depth, width)), float32) if past is None else cast(past, float32)
    factor = node.get("scale", 0.0) or 1 / math.sqrt(depth)
    gates = cast(_heads(decay, kept), float32) if decay is not None and "gated" in rule else None
    rates = cast(_per_head(beta), float32) if beta is not None and "delta" in rule else None
    outputs = []
    for i in node.times(length):
        key, value = k[:, :, i, :, None], v[:, :, i, None, :]
        if gates is not None:
            state = state * ops.exp(gates[:, :, i, :, None])
        if rates is not None:
            value = rates[:, :, i, :, None] * (value - ops.reduce_sum(state * key, axis=(2,), keepdims=True))
        state = state + key * value
        seen = _repeated(state, heads // kept)
        outputs.append(ops.reduce_sum(q[:, :, i, :, None] * seen, axis=(2,)))
    made = ops.stack(outputs, axis=2) * constant(factor, float32)
    return cast(_together(made), dtype), cast(state, state_dtype)


def _per_head(x: Tensor) -> Tensor:
    """[batch, length, heads] as [batch, heads, length, 1]."""
    return ops.expand_dims(permuted(x, [0, 2, 1]), axis=3)
