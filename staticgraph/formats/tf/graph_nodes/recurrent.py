"""Nodes of recurrent cells, and of layers of them, with their derivatives."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32, int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.functional import scan
from staticgraph.formats.tf.graph_def.nodes import Node, reads, several


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
    return several(node, *_lstm(node.attrs, x, state, hidden, parts))


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
    return several(node, *(ops.select(wide, each, ops.zeros_like(each)) for each in made))


@reads("GRUBlockCell")
def _gru_cell(node: Node) -> Any:
    x, hidden, gates, candidate, b_gates, b_candidate = node.tensors
    both = ops.sigmoid(ops.matmul(ops.concat([x, hidden], axis=1), gates) + b_gates)
    r, u = ops.split(both, num_split=2, axis=1)
    c = ops.tanh(ops.matmul(ops.concat([x, hidden * r], axis=1), candidate) + b_candidate)
    return several(node, r, u, c, u * hidden + (1.0 - u) * c)


def _lstm_slopes(
    attrs: Any, before: Tensor, kept: list[Tensor], peeks: list[Tensor], slope: Tensor, out_slope: Tensor
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Derivatives of a step by the state before it, by what goes into the four gates, and by the three
    weights of the state there. `slope` and `out_slope`: those by the state and the output after it.
    """
    (i, state, f, o, entering, leaving), (at_i, at_f, at_o) = kept, peeks
    d_o = o * (1.0 - o) * out_slope * leaving
    d_state = (1.0 - ops.square(leaving)) * out_slope * o + slope
    if attrs["use_peephole"]:
        d_state = d_state + d_o * at_o
    d_entering = (1.0 - ops.square(entering)) * d_state * i
    d_f, d_i = f * (1.0 - f) * d_state * before, i * (1.0 - i) * d_state * entering
    d_before = d_state * f
    if attrs["use_peephole"]:
        d_before = d_before + d_i * at_i + d_f * at_f
    by_peeks = [ops.reduce_sum(each, axis=0) for each in (d_i * before, d_f * before, d_o * state)]
    return d_before, ops.concat([d_i, d_entering, d_f, d_o], axis=1), by_peeks


@reads("LSTMBlockCellGrad")
def _lstm_cell_slopes(node: Node) -> Any:
    _, before, _, _, *peeks, _ = node.tensors[:8]
    d_before, by_gates, by_peeks = _lstm_slopes(
        node.attrs, before, list(node.tensors[8:14]), peeks, *node.tensors[14:]
    )
    return several(node, d_before, by_gates, *by_peeks)


@reads("BlockLSTMGrad")
def _lstm_layer_slopes(node: Node) -> Any:
    """Steps from the last one back: each gets the derivatives by its state and output from the next one."""
    steps, xs, first, first_out, w, *peeks, _ = node.tensors[:9]
    *kept, outs, slopes, out_slopes = node.tensors[9:]
    width = ops.shape_of(xs)[2]
    states = ops.concat([ops.expand_dims(first, axis=0), kept[1][:-1]], axis=0)
    hidden = ops.concat([ops.expand_dims(first_out, axis=0), outs[:-1]], axis=0)

    def step(after: Any, given: Any) -> Any:
        time, x, before, out, d_state, d_out, *inside = given
        d_before, by_gates, by_peeks = _lstm_slopes(
            node.attrs, before, inside, peeks, d_state + after[0], d_out + after[1]
        )
        both = ops.matmul(by_gates, w, transpose_b=True)
        by_w = ops.matmul(ops.concat([x, out], axis=1), by_gates, transpose_a=True)
        made = [d_before, both[:, width:], both[:, :width], by_w, *by_peeks, ops.reduce_sum(by_gates, axis=0)]
        alive = ops.cast(ops.less(time, steps), dtype=x.dtype)  # nothing comes from steps beyond the last
        return [each * alive for each in made]

    times = ops.cast(ops.range(start=0, limit=ops.shape_of(xs)[0], delta=1, dtype=int32), dtype=int64)
    nothing = [first, first_out, xs[0], w, *peeks, ops.reduce_sum(w, axis=0)]
    given = [times, xs, states, hidden, slopes, out_slopes, *kept]
    made = scan(step, given, [ops.zeros_like(each) for each in nothing], reverse=True)
    sums = [ops.reduce_sum(each, axis=0) for each in made[3:]]
    return several(node, made[2], made[0][0], made[1][0], *sums)
