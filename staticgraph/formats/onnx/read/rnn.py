"""Recurrent layers: RNN, GRU and LSTM, in either direction or both, as a loop over time."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import counted
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.control_flow.loops import while_loop
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.formats.onnx.errors import OnnxError
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.read.math import FORMULAS
from staticgraph.formats.onnx.values import cast, constant, permuted, reshape, select, sizes, vector

_Function = Callable[[Tensor], Tensor]
_State = tuple[Tensor, ...]
_Step = Callable[
    [Tensor, _State], _State
]  # inputs times weights, state -> state, whose first part is the output
_PLAIN: dict[str, _Function] = {
    "relu": lambda x: ops.relu(x),
    "sigmoid": lambda x: ops.sigmoid(x),
    "softplus": lambda x: ops.softplus(x),
    "softsign": lambda x: ops.softsign(x),
    "tanh": lambda x: ops.tanh(x),
}


_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}  # blocks of rows of the weights


@dataclass(frozen=True, slots=True)
class Layer:
    """Recurrent node with the weights, biases and activations of one of its directions."""

    node: Node
    weights: Tensor  # [gates * hidden, input]
    recurrent: Tensor  # [gates * hidden, hidden]
    bias: Tensor | None  # [2 * gates * hidden]
    peepholes: Tensor | None
    functions: list[_Function]
    hidden: int

    def clipped(self, x: Tensor) -> Tensor:
        """Clip the input of an activation to the bounds that the node gives, if any."""
        limit = self.node.get("clip")
        if not limit:
            return x
        return ops.maximum(ops.minimum(x, constant(limit, x)), constant(-limit, x))

    def activated(self, index: int, x: Tensor) -> Tensor:
        return self.functions[index](self.clipped(x))

    def halves(self) -> list[Tensor | None]:
        """The biases of the inputs and of the state."""
        return [None, None] if self.bias is None else list(ops.split(self.bias, axis=0, num_split=2))

    def gates(self, x: Tensor, count: int) -> list[Tensor]:
        return list(ops.split(x, axis=-1, num_split=count))


def _times(x: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
    made = ops.matmul(x, weights, transpose_b=True)
    return made if bias is None else made + bias


def _rnn_step(layer: Layer) -> tuple[Tensor | None, _Step]:
    ours, theirs = layer.halves()

    def step(x: Tensor, state: _State) -> _State:
        return (layer.activated(0, x + _times(state[0], layer.recurrent, theirs)),)

    return ours, step


def _gru_step(layer: Layer) -> tuple[Tensor | None, _Step]:
    """Gates: update, reset, and what is new."""
    ours, theirs = layer.halves()
    linear = layer.node.get("linear_before_reset")
    n = layer.hidden
    outer, inner = ops.split_v(layer.recurrent, size_splits=(2 * n, n), axis=0, num_split=2)
    outer_bias = inner_bias = None
    if theirs is not None:
        outer_bias, inner_bias = ops.split_v(theirs, size_splits=(2 * n, n), axis=0, num_split=2)

    def step(x: Tensor, state: _State) -> _State:
        (h,) = state
        first, new = ops.split_v(x, size_splits=(2 * n, n), axis=-1, num_split=2)
        both = layer.activated(0, first + _times(h, outer, outer_bias))
        update, reset = layer.gates(both, 2)
        if linear:
            inside = reset * _times(h, inner, inner_bias)
        else:
            inside = _times(reset * h, inner, inner_bias)
        found = layer.activated(1, new + inside)
        return ((constant(1, x) - update) * found + update * h,)

    return ours, step


def _lstm_step(layer: Layer) -> tuple[Tensor | None, _Step]:
    """Gates: input, output, forget, and what is new. Peepholes let three of them see the cell."""
    ours, theirs = layer.halves()
    peep = [None] * 3 if layer.peepholes is None else layer.gates(layer.peepholes, 3)

    def seen(x: Tensor, cell: Tensor, weights: Any) -> Tensor:
        return x if weights is None else x + weights * cell

    def step(x: Tensor, state: _State) -> _State:
        h, cell = state
        i, o, f, c = layer.gates(x + _times(h, layer.recurrent, theirs), 4)
        i = layer.activated(0, seen(i, cell, peep[0]))
        if layer.node.get("input_forget"):
            f = constant(1, x) - i
        else:
            f = layer.activated(0, seen(f, cell, peep[2]))
        cell = f * cell + i * layer.activated(1, c)
        o = layer.activated(0, seen(o, cell, peep[1]))
        return o * layer.functions[2](cell), cell

    return ours, step


_STEPS = {
    "RNN": (_rnn_step, ["Tanh"]),
    "GRU": (_gru_step, ["Sigmoid", "Tanh"]),
    "LSTM": (_lstm_step, ["Sigmoid", "Tanh", "Tanh"]),
}


@operator("RNN", "GRU")
def _gated(
    node: Node,
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    h: Tensor | None = None,
) -> tuple[Tensor, ...]:
    return _recurrent(node, x, w, r, b, lengths, [h], None)


@operator("LSTM")
def _lstm(
    node: Node,
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    h: Tensor | None = None,
    c: Tensor | None = None,
    p: Tensor | None = None,
) -> tuple[Tensor, ...]:
    return _recurrent(node, x, w, r, b, lengths, [h, c], p)


def _recurrent(
    node: Node,
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None,
    lengths: Tensor | None,
    initial: list[Tensor | None],
    p: Tensor | None,
) -> tuple[Tensor, ...]:
    """Y [time, directions, batch, hidden], and what each part of the state is at the end."""
    batch_first = bool(node.get("layout"))
    if batch_first:
        x = permuted(x, [1, 0, 2])
        initial = [None if s is None else permuted(s, [1, 0, 2]) for s in initial]
    directions, hidden = _sizes_of_weights(node, w, r)
    reverse = node.get("direction", "forward") == "reverse"
    ys, ends = [], []
    for d in range(directions):
        layer = Layer(
            node,
            _row(w, d),
            _row(r, d),
            None if b is None else _row(b, d),
            None if p is None else _row(p, d),
            _functions(node, d),
            hidden,
        )
        batch = sizes(x)[1]
        state = tuple(_start(s, d, batch, hidden, x) for s in initial)
        y, end = _direction(layer, x, lengths, state, reverse or d == 1)
        ys.append(y)
        ends.append(end)
    made = ops.stack(ys, axis=1)
    finals = [ops.stack(list(parts), axis=0) for parts in zip(*ends, strict=True)]
    if batch_first:
        return permuted(made, [2, 0, 1, 3]), *(permuted(f, [1, 0, 2]) for f in finals)
    return made, *finals


def _sizes_of_weights(node: Node, w: Tensor, r: Tensor) -> tuple[int, int]:
    """Return the numbers of directions and of hidden units; OnnxError if attributes and weights disagree."""
    (directions, rows, hidden), given = node.sizes(r), list(node.sizes(w))
    both = 2 if node.get("direction", "forward") == "bidirectional" else 1
    wanted = [both, _GATES[node.type] * hidden]
    if [directions, rows] != wanted or given[:2] != wanted:
        text = f"W has shape {given} and R {[directions, rows, hidden]}, for {counted(both, 'direction')}"
        raise OnnxError(f"{text}: R must be {[*wanted, hidden]}, and W of the same rows")
    if node.get("hidden_size", hidden) != hidden:
        text = f"its hidden_size is {node.get('hidden_size')}, and R has shape {[directions, rows, hidden]}"
        raise OnnxError(text)
    return directions, hidden


def _row(x: Tensor, index: int) -> Tensor:
    return ops.gather(x, constant(index, int32), axis=0)


def _start(given: Tensor | None, direction: int, batch: Any, hidden: int, x: Tensor) -> Tensor:
    if given is not None:
        return _row(given, direction)
    return ops.fill(constant(0, x), dims=vector([batch, hidden]))


def _functions(node: Node, direction: int) -> list[_Function]:
    _, defaults = _STEPS[node.type]
    names = node.get("activations") or defaults
    count = len(defaults)
    alphas, betas = list(node.get("activation_alpha") or []), list(node.get("activation_beta") or [])
    made: list[_Function] = []
    for name in names:
        key = next((k for k in FORMULAS if k.lower() == name.lower()), None)
        if name.lower() in _PLAIN:
            made.append(_PLAIN[name.lower()])
        elif key is not None:
            formula, settings = FORMULAS[key]
            given = {
                k: (pool.pop(0) if pool else settings[k])
                for k, pool in (("alpha", alphas), ("beta", betas))
                if k in settings
            }
            made.append(functools.partial(formula, **{**settings, **given}))
        else:
            raise node.unsupported(f"the activation {name!r} does not exist here")
    return made[direction * count : (direction + 1) * count] or made[:count]


def _direction(
    layer: Layer, x: Tensor, lengths: Tensor | None, state: _State, backwards: bool
) -> tuple[Tensor, _State]:
    """One layer over time. Steps beyond the length of a sequence give 0 and change no state."""
    bias, step = _STEPS[layer.node.type][0](layer)
    if backwards:
        x = _turned(x, lengths)
    time, batch, features = sizes(x)
    inputs = _times(reshape(x, [-1, features]), layer.weights, bias)
    inputs = reshape(inputs, [time, batch, sizes(inputs)[1]])
    limit = cast(time, int32) if isinstance(time, Tensor) else constant(time, int32)
    counts = None if lengths is None else reshape(cast(lengths, int32), [-1, 1])

    def round(i: Tensor, state: Any, ys: Any) -> Any:
        made = step(ops.gather(inputs, i, axis=0), tuple(state))
        y = made[0]
        if counts is not None:
            inside = i < counts
            y = select(inside, y, ops.zeros_like(y))
            made = tuple(select(inside, new, old) for new, old in zip(made, state, strict=True))
        return i + constant(1, int32), made, ys.write(i, y)

    array = TensorArray(x.dtype, size=limit)
    start = (constant(0, int32), state, array)
    _, final, ys = while_loop(lambda i, *rest: i < limit, round, start)
    y = ys.stack()
    return (_turned(y, lengths) if backwards else y), tuple(final)


def _turned(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Sequences from their ends to their beginnings; what follows an end stays."""
    if lengths is None:
        return ops.reverse(x, axis=(0,))
    return ops.reverse_sequence(x, lengths, seq_dim=0, batch_dim=1)
