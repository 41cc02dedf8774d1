"""Meanings of ops for the witness: what each makes of nodes of a tape, written from the documentation of TF1.

Inputs come as nodes in the order of the op, operands and attributes by name; operands are arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.witness import tape
from tests.witness.tape import Node, cast, leaf, moved, reshape, select, spread, total, weighted

MEANINGS: dict[str, Callable[..., Any]] = {}


def meaning(*names: str) -> Callable[[Any], Any]:
    """Decorator: give a function as the meaning of the ops of these names."""

    def declare(function: Any) -> Any:
        MEANINGS.update(dict.fromkeys(names, function))
        return function

    return declare


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes as numbers from 0; all of them for None."""
    if axis is None:
        return tuple(range(rank))
    return tuple(sorted({int(a) % rank for a in np.atleast_1d(axis)})) if rank else ()


# Element by element


def _steps(function: Callable[..., Any]) -> Callable[[Node], Node]:
    return lambda x: weighted(x, function(x.value).astype(x.dtype), np.zeros_like(x.value))


def _of_values(function: Callable[..., Any]) -> Callable[..., Node]:
    """Lift a function without a derivative: comparisons, arithmetic of integers and truth values."""
    return lambda *nodes, **_: leaf(function(*(n.value for n in nodes)))


def _truncated(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: np.trunc(function(a, b)).astype(a.dtype)


def _softplus(x: Node) -> Node:
    """log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))."""
    return _relu(x) + tape.log(1.0 + tape.exp(-_abs(x)))


def _relu(x: Node) -> Node:
    return weighted(x, np.maximum(x.value, 0), x.value > 0)


def _abs(x: Node) -> Node:
    return weighted(x, np.abs(x.value), np.sign(x.value))


def _clipped(x: Node, low: float, high: float) -> Node:
    return weighted(x, np.clip(x.value, low, high), (x.value > low) & (x.value < high))


def _elu(x: Node, alpha: float = 1.0, scale: float = 1.0) -> Node:
    below = scale * alpha * np.expm1(np.minimum(x.value, 0))

    def pull(g: Node, y: Node) -> Node:
        return g * select(y.value < 0, y + scale * alpha, leaf(np.full(y.shape, scale), y))

    return tape.by_result(x, np.where(x.value < 0, below, scale * x.value), pull)


def _larger(sign: int) -> Callable[[Node, Node], Node]:
    def apply(a: Node, b: Node) -> Node:
        first = a.value >= b.value if sign > 0 else a.value <= b.value
        return select(first, a, b)

    return apply


def _divided(a: Node, b: Node) -> Node:
    if a.dtype.kind in "iu":
        return leaf(a.value // b.value)
    return a / b


def _power(a: Node, b: Node) -> Node:
    if a.dtype.kind in "iu":
        return leaf(a.value**b.value)
    if b.shape == () and float(b.value) == int(b.value) and not b.parents and b.variable is None:
        made = leaf(np.ones_like(a.value))
        for _ in range(abs(int(b.value))):
            made = made * a
        return 1.0 / made if b.value < 0 else made
    return tape.power(a, b)


def _floormod(a: Node, b: Node) -> Node:
    if a.dtype.kind in "iu":
        return leaf(np.mod(a.value, b.value))
    return a - b * _steps(np.floor)(a / b)


MEANINGS.update({
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "negative": lambda x: -x, "realdiv": _divided, "div_no_nan": lambda a, b: select(
        np.broadcast_to(b.value == 0, np.broadcast_shapes(a.shape, b.shape)), leaf(0, a),
        a / select(b.value == 0, leaf(1, b), b)),
    "square": lambda x: x * x, "squared_difference": lambda a, b: (a - b) * (a - b),
    "reciprocal": tape.reciprocal, "sqrt": tape.sqrt, "rsqrt": tape.rsqrt,
    "exp": tape.exp, "expm1": lambda x: tape.exp(x) - 1.0, "log": tape.log,
    "log1p": lambda x: tape.log(1.0 + x), "sin": tape.sin, "cos": tape.cos,
    "tan": lambda x: tape.sin(x) / tape.cos(x), "tanh": tape.tanh, "sigmoid": tape.sigmoid,
    "atan": tape.arctan,
    "sinh": lambda x: 0.5 * (tape.exp(x) - tape.exp(-x)), "erf": tape.erf,
    "cosh": lambda x: 0.5 * (tape.exp(x) + tape.exp(-x)),
    "asinh": tape.asinh, "pow": _power,
    "atan2": lambda y, x: 2.0 * tape.arctan(y / (tape.sqrt(x * x + y * y) + x)),
    "erfc": lambda x: 1.0 - tape.erf(x), "softplus": _softplus, "relu": _relu, "abs": _abs,
    "relu6": lambda x: _clipped(x, 0, 6), "elu": _elu,
    "selu": lambda x: _elu(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946),
    "leaky_relu": lambda x, alpha: weighted(
        x, np.where(x.value > 0, x.value, alpha * x.value), np.where(x.value > 0, 1, alpha)),
    "softsign": lambda x: x / (1.0 + _abs(x)), "maximum": _larger(1), "minimum": _larger(-1),
    "sign": _steps(lambda x: np.nan_to_num(np.sign(x))),  # 0 for NaN, as in TensorFlow 1.15
    "floor": _steps(np.floor), "ceil": _steps(np.ceil), "rint": _steps(np.rint),
    "round": _steps(np.rint), "floor_div": lambda a, b: leaf(np.floor_divide(a.value, b.value)),
    "floormod": _floormod, "truncatediv": _of_values(_truncated(lambda a, b: a / b)),
    "truncatemod": _of_values(np.fmod), "add_n": lambda *xs: sum(xs[1:], xs[0]),
    "fma": lambda x, y, z: x * y + z,
    "equal": _of_values(np.equal), "not_equal": _of_values(np.not_equal), "less": _of_values(np.less),
    "less_equal": _of_values(np.less_equal), "greater": _of_values(np.greater),
    "greater_equal": _of_values(np.greater_equal), "logical_and": _of_values(np.logical_and),
    "logical_or": _of_values(np.logical_or), "logical_not": _of_values(np.logical_not),
    "is_finite": _of_values(np.isfinite), "is_nan": _of_values(np.isnan), "is_inf": _of_values(np.isinf),
    "bitwise_and": _of_values(np.bitwise_and), "bitwise_or": _of_values(np.bitwise_or),
    "bitwise_xor": _of_values(np.bitwise_xor),
    "identity": lambda x: tape.spread(x, x.shape), "stop_gradient": lambda x: leaf(x.value),
    "identity_n": lambda *xs: tuple(tape.spread(x, x.shape) for x in xs) if len(xs) > 1 else xs[0],
    "ensure_shape": lambda x, shape: x, "no_op": lambda: (), "check_numerics": lambda x, **_: x,
    "zeros_like": lambda x: leaf(np.zeros_like(x.value)), "ones_like": lambda x: leaf(np.ones_like(x.value)),
    "cast": lambda x, dtype: cast(x, dtype.numpy), "constant": lambda value: leaf(value.array),
    "shape_of": lambda x, out_type: leaf(np.array(x.shape, out_type.numpy)),
    "size_of": lambda x, out_type: leaf(np.array(x.value.size, out_type.numpy)),
    "seed": lambda y, weight: weight if weight.shape == y.shape else spread(weight, y.shape),
    "rank_of": lambda x: leaf(np.int32(x.value.ndim)), "placeholder_with_default": lambda x, shape: x,
})


@meaning("select")
def _select(condition: Node, x: Node, y: Node) -> Node:
    shape = np.broadcast_shapes(condition.shape, x.shape, y.shape)
    return select(np.broadcast_to(condition.value, shape), x, y)


@meaning("select_rows")
def _select_rows(condition: Node, x: Node, y: Node) -> Node:
    """The condition has the shape of x and y, or tells for each of their rows."""
    extra = len(x.shape) - len(condition.shape)
    rows = condition.value.reshape(condition.shape + (1,) * extra)
    return select(np.broadcast_to(rows, x.shape), x, y)


# Reductions


def _kept(x: Node, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    full = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    return full if keepdims else tuple(n for i, n in enumerate(full) if i not in axes)


def rows_over(x: Node, axes: tuple[int, ...]) -> list[Node]:
    """The slices that a reduction over these axes combines."""
    count = math.prod(x.shape[a] for a in axes)
    rest = [i for i in range(len(x.shape)) if i not in axes]
    flat = moved(x, lambda p: p.transpose([*axes, *rest]).reshape(count, *(x.shape[i] for i in rest)))
    return [moved(flat, lambda p, i=i: p[i]) for i in range(count)]


@meaning("reduce_sum")
def _reduce_sum(x: Node, axis: Any = None, keepdims: bool = False) -> Node:
    return total(x, axes_of(axis, len(x.shape)), keepdims)


@meaning("reduce_mean")
def _reduce_mean(x: Node, axis: Any = None, keepdims: bool = False) -> Node:
    axes = axes_of(axis, len(x.shape))
    count = math.prod(x.shape[a] for a in axes)
    if x.dtype.kind in "iu":
        return leaf((total(x, axes, keepdims).value // count).astype(x.dtype))
    return total(x, axes, keepdims) / leaf(count, x)


@meaning("reduce_prod")
def _reduce_prod(x: Node, axis: Any = None, keepdims: bool = False) -> Node:
    axes = axes_of(axis, len(x.shape))
    rows = rows_over(x, axes)
    made = leaf(np.ones(_kept(x, axes, False), x.dtype))
    for row in rows:
        made = made * row
    return reshape(made, _kept(x, axes, keepdims))


def _extreme(find: Callable[..., Any]) -> Callable[..., Node]:
    def apply(x: Node, axis: Any = None, keepdims: bool = False) -> Node:
        axes = axes_of(axis, len(x.shape))
        found = find(x.value, axis=axes, keepdims=True)
        hits = x.value == found
        if x.dtype.kind != "f":
            return leaf(found.reshape(_kept(x, axes, keepdims)))
        share = hits / hits.sum(axis=axes, keepdims=True)  # ties share the derivative
        made = total(x * leaf(share, x), axes, keepdims)
        return Node(found.reshape(made.shape), (made,), lambda g: (g,))

    return apply


MEANINGS["reduce_max"], MEANINGS["reduce_min"] = _extreme(np.max), _extreme(np.min)


@meaning("reduce_any")
def _reduce_any(x: Node, axis: Any = None, keepdims: bool = False) -> Node:
    return leaf(x.value.any(axis=axes_of(axis, x.value.ndim), keepdims=keepdims))


@meaning("reduce_all")
def _reduce_all(x: Node, axis: Any = None, keepdims: bool = False) -> Node:
    return leaf(x.value.all(axis=axes_of(axis, x.value.ndim), keepdims=keepdims))


@meaning("l2_loss")
def _l2_loss(x: Node) -> Node:
    return 0.5 * total(x * x, axes_of(None, len(x.shape)))


@meaning("euclidean_norm")
def _euclidean_norm(x: Node, axis: Any = None, keepdims: bool = False) -> Node:
    axes = axes_of(axis, len(x.shape))
    whole = _kept(x, axes, True)
    value = np.sqrt((x.value * x.value).sum(axis=axes, keepdims=keepdims))
    return tape.by_result(x, value, lambda g, y: x * (reshape(g, whole) / reshape(y, whole)))


@meaning("argmax")
def _argmax(x: Node, axis: Any, output_type: Any) -> Node:
    return leaf(x.value.argmax(axis=int(axis)).astype(output_type.numpy))


@meaning("argmin")
def _argmin(x: Node, axis: Any, output_type: Any) -> Node:
    return leaf(x.value.argmin(axis=int(axis)).astype(output_type.numpy))


def _cumulative(combine: Callable[[Node, Node], Node], start: float) -> Callable[..., Node]:
    def apply(x: Node, axis: Any, exclusive: bool = False, reverse: bool = False) -> Node:
        at = int(axis) % len(x.shape)
        rows = rows_over(x, (at,))
        if reverse:
            rows = rows[::-1]
        made, state = [], leaf(np.full(rows[0].shape if rows else (), start), x)
        for row in rows:
            before, state = state, combine(state, row)
            made.append(before if exclusive else state)
        if not made:
            return x
        return stacked(made[::-1] if reverse else made, at)

    return apply


MEANINGS["cumsum"] = _cumulative(lambda a, b: a + b, 0.0)
MEANINGS["cumprod"] = _cumulative(lambda a, b: a * b, 1.0)


def stacked(parts: Sequence[Node], axis: int = 0) -> Node:
    """Nodes of one shape along a new axis."""
    return tape.arranged(parts, lambda places: np.stack(places, axis))


# Products


@meaning("matmul")
def _matmul(a: Node, b: Node, transpose_a: bool = False, transpose_b: bool = False) -> Node:
    return tape.product(tape.flipped(a) if transpose_a else a, tape.flipped(b) if transpose_b else b)


@meaning("batch_matmul")
def _batch_matmul(a: Node, b: Node, adj_x: bool = False, adj_y: bool = False) -> Node:
    return _matmul(a, b, adj_x, adj_y)


@meaning("einsum")
def _einsum(*inputs: Node, equation: str) -> Node:
    """Spread all operands over all letters, multiply them and sum."""
    left, right = equation.replace(" ", "").split("->")
    terms = left.split(",")
    letters = right + "".join(dict.fromkeys(c for c in left if c.isalpha() and c not in right))
    sizes = {c: n for term, x in zip(terms, inputs, strict=True) for c, n in zip(term, x.shape, strict=True)}
    made: Node | None = None
    for term, x in zip(terms, inputs, strict=True):

        def laid(places: np.ndarray, term: str = term) -> np.ndarray:
            for c in dict.fromkeys(term):
                while term.count(c) > 1:  # a diagonal
                    first, second = term.index(c), term.rindex(c)
                    places = np.diagonal(places, axis1=first, axis2=second)
                    term = "".join(t for i, t in enumerate(term) if i not in (first, second)) + c
            order = sorted(range(len(term)), key=lambda i: letters.index(term[i]))
            shape = [sizes[c] if c in term else 1 for c in letters]
            return np.broadcast_to(places.transpose(order).reshape(shape), [sizes[c] for c in letters])

        part = moved(x, laid)
        made = part if made is None else made * part
    assert made is not None
    return total(made, tuple(range(len(right), len(letters))))


@meaning("bias_add")
def _bias_add(x: Node, bias: Node, data_format: str = "NHWC") -> Node:
    channels = [1] * len(x.shape)
    channels[1 if data_format == "NCHW" else -1] = bias.shape[0]
    return x + reshape(bias, channels)


# Of networks


def _row_sums(x: Node, axis: int) -> Node:
    return total(x, (axis % len(x.shape),), keepdims=True)


@meaning("softmax")
def _softmax(x: Node, axis: int = -1) -> Node:
    powers = np.exp(x.value - x.value.max(axis=axis, keepdims=True))
    value = powers / powers.sum(axis=axis, keepdims=True)
    return tape.by_result(x, value, lambda g, y: (g - _row_sums(g * y, axis)) * y)


@meaning("log_softmax")
def _log_softmax(x: Node, axis: int = -1) -> Node:
    low = x.value - x.value.max(axis=axis, keepdims=True)
    value = low - np.log(np.exp(low).sum(axis=axis, keepdims=True))
    return tape.by_result(x, value, lambda g, y: g - _row_sums(g, axis) * tape.exp(y))


@meaning("softmax_cross_entropy")
def _softmax_cross_entropy(features: Node, labels: Node) -> tuple[Node, Node]:
    """The loss, and its derivative by the features, which is an output of TF1's op."""
    loss = -total(_log_softmax(features) * labels, (len(features.shape) - 1,))
    return loss, _softmax(features) - labels


@meaning("sparse_softmax_cross_entropy")
def _sparse_softmax_cross_entropy(features: Node, labels: Node) -> tuple[Node, Node]:
    return _softmax_cross_entropy(features, leaf(np.eye(features.shape[-1])[labels.value], features))


@meaning("broadcast_to")
def _broadcast_to(x: Node, shape: Any) -> Node:
    return spread(x, [int(n) for n in shape])
