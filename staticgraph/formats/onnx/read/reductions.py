"""Operators that take axes away: sums, means, norms, extremes and where those stand, and running sums."""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import constant, product, reshape, sizes
from staticgraph.mathematics.reductions import reduce_logsumexp

_Reduction = Callable[[Tensor, tuple[int, ...], bool], Tensor]


def _extreme(name: str, of_truth: str) -> _Reduction:
    def reduce(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
        return getattr(ops, of_truth if x.dtype is bool_ else name)(x, axis=axes, keepdims=keep)

    return reduce


def _sum(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    return ops.reduce_sum(x, axis=axes, keepdims=keep)


_REDUCTIONS: dict[str, _Reduction] = {
    "ReduceSum": _sum,
    "ReduceMean": lambda x, axes, keep: ops.reduce_mean(x, axis=axes, keepdims=keep),
    "ReduceProd": lambda x, axes, keep: ops.reduce_prod(x, axis=axes, keepdims=keep),
    "ReduceMax": _extreme("reduce_max", "reduce_any"),
    "ReduceMin": _extreme("reduce_min", "reduce_all"),
    "ReduceL1": lambda x, axes, keep: _sum(ops.abs(x), axes, keep),
    "ReduceL2": lambda x, axes, keep: ops.sqrt(_sum(x * x, axes, keep)),
    "ReduceLogSum": lambda x, axes, keep: ops.log(_sum(x, axes, keep)),
    "ReduceLogSumExp": lambda x, axes, keep: reduce_logsumexp(x, axes, keep),
    "ReduceSumSquare": lambda x, axes, keep: _sum(x * x, axes, keep),
}
_EACH: dict[str, Callable[[Tensor], Tensor]] = {  # what a reduction along no axes does to each element
    "ReduceL1": ops.abs,
    "ReduceL2": ops.abs,
    "ReduceLogSum": ops.log,
    "ReduceSumSquare": ops.square,
}


@operator(*_REDUCTIONS)
def _reduce(node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
    given = node.setting("axes", axes)
    if not given and node.get("noop_with_empty_axes"):
        return _EACH.get(node.type, ops.identity)(x)
    return _REDUCTIONS[node.type](x, node.axes(given or None, x), bool(node.get("keepdims", 1)))


@operator("ArgMax", "ArgMin")
def _where_extreme(node: Node, x: Tensor) -> Tensor:
    find = ops.argmax if node.type == "ArgMax" else ops.argmin
    axis = node.axis(node.get("axis", 0), x)
    if node.get("select_last_index"):
        last = constant(-1, int64) + cast_size(sizes(x)[axis])
        found = last - find(ops.reverse(x, axis=(axis,)), axis=axis)
    else:
        found = find(x, axis=axis)
    return ops.expand_dims(found, axis=axis) if node.get("keepdims", 1) else found


def cast_size(n: int | Tensor) -> Tensor:
    """A size as a tensor of int64."""
    return n if isinstance(n, Tensor) else constant(n, int64)


@operator("CumSum", "CumProd")
def _running(node: Node, x: Tensor, axis: Tensor) -> Tensor:
    run = ops.cumsum if node.type == "CumSum" else ops.cumprod
    (along,) = node.ints(axis, "axis")
    exclusive, reverse = bool(node.get("exclusive")), bool(node.get("reverse"))
    return run(x, axis=node.axis(along, x), exclusive=exclusive, reverse=reverse)


# Along an axis, which stays


@operator("Softmax", "LogSoftmax")
def _softmax(node: Node, x: Tensor) -> Tensor:
    made = ops.softmax if node.type == "Softmax" else ops.log_softmax
    if node.version >= 13:
        return made(x, axis=node.axis(node.get("axis", -1), x))
    return _as_rows(node, x, made)


@operator("Hardmax")
def _hardmax(node: Node, x: Tensor) -> Tensor:
    if node.version < 13:
        return _as_rows(node, x, lambda rows, axis: _one_at_largest(rows, rank=2, axis=1))
    return _one_at_largest(x, node.rank(x), node.axis(node.get("axis", -1), x))


def _one_at_largest(x: Tensor, rank: int, axis: int) -> Tensor:
    on, off = constant(1, x), constant(0, x)
    depth = sizes(x)[axis]
    return ops.one_hot(ops.argmax(x, axis=axis), on, off, depth=depth, axis=-1 if axis == rank - 1 else axis)


def _as_rows(node: Node, x: Tensor, made: Callable[..., Tensor]) -> Tensor:
    """In the first versions, all axes from one on count as one."""
    shape = sizes(x)
    axis = node.axis(node.get("axis", 1), x)
    rows = reshape(x, [product(shape[:axis]), product(shape[axis:])])
    return reshape(made(rows, axis=1), shape)


@operator("LpNormalization")
def _lp_normalization(node: Node, x: Tensor) -> Tensor:
    axis = (node.axis(node.get("axis", -1), x),)
    if node.get("p", 2) == 1:
        norm = _sum(ops.abs(x), axis, True)
    else:
        norm = ops.sqrt(_sum(x * x, axis, True))
    return ops.div_no_nan(x, norm)


@operator("MeanVarianceNormalization")
def _mean_variance(node: Node, x: Tensor) -> Tensor:
    axes = node.axes(node.get("axes", [0, 2, 3]), x)
    centred = x - ops.reduce_mean(x, axis=axes, keepdims=True)
    spread = ops.sqrt(ops.reduce_mean(centred * centred, axis=axes, keepdims=True))
    return centred / (spread + constant(1e-9, x))


@operator("Det")
def _det(node: Node, x: Tensor) -> Tensor:
    return ops.matrix_determinant(x)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global_pool(node: Node, x: Tensor) -> Tensor:
    axes = tuple(range(2, node.rank(x)))
    match node.type:
        case "GlobalAveragePool":
            return ops.reduce_mean(x, axis=axes, keepdims=True)
        case "GlobalMaxPool":
            return ops.reduce_max(x, axis=axes, keepdims=True)
    p = constant(node.get("p", 2), x)
    return ops.pow(_sum(ops.pow(ops.abs(x), p), axes, True), constant(1, x) / p)
