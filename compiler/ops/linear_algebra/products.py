"""Products of matrices, and what is made of them: contractions over the last two axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, FLOATING, NUMERIC, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import method, ops
from staticgraph.compiler.graph.shapes import Shape, TensorType, broadcast, merge, shape_text
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel.expr import Expr, Index, Reduce
from staticgraph.compiler.ops.kinds import View, composite, conjugate, contraction, sizes
from staticgraph.compiler.ops.samples import Sample, real

PRODUCTS = FLOATING | COMPLEX | {int32, int64}


def _swapped(shape: Shape, swap: bool) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if swap else shape


def _product_shape(a: Shape, b: Shape, swap_a: bool, swap_b: bool) -> Shape:
    left, right = _swapped(a, swap_a), _swapped(b, swap_b)
    inner, other = left[-1], right[-2]
    turned = _swapped(right, True)[-2]
    fits = not swap_b and None not in (inner, turned) and same(inner, turned)
    require(
        inner is None or other is None or inner == other,
        f"the rows of a have length {inner} and the columns of b have length {other}"
        + (" (after transposing)" if swap_a or swap_b else ""),
        hint=f"b is {shape_text(b)}: transpose_b would fit"
        if fits
        else "a [n, k] matrix is multiplied by a [k, m] matrix",
    )
    return (left[-2], right[-1])


def _matmul_type(a: TensorType, b: TensorType, transpose_a: bool, transpose_b: bool) -> TensorType:
    for name, t in (("a", a), ("b", b)):
        hint = "make a matrix of a vector: x[None, :] has one row, x[:, None] one column"
        require(t.rank in (None, 2), f"{name} has rank {t.rank}, a matrix has rank 2", hint)
    if a.shape is None or b.shape is None:
        rows = None if a.shape is None else _swapped(a.shape, transpose_a)[-2]
        columns = None if b.shape is None else _swapped(b.shape, transpose_b)[-1]
        return TensorType(a.dtype, (rows, columns))
    return TensorType(a.dtype, _product_shape(a.shape, b.shape, transpose_a, transpose_b))


def _batch_type(x: TensorType, y: TensorType, adj_x: bool, adj_y: bool) -> TensorType:
    for name, t in (("x", x), ("y", y)):
        require(t.rank is None or t.rank >= 2, f"{name} has rank {t.rank}, at least 2 is needed")
    if x.shape is None or y.shape is None:
        return TensorType(x.dtype, None)
    matrix = _product_shape(x.shape, y.shape, adj_x, adj_y)
    batch = broadcast(x.shape[:-2], y.shape[:-2])
    assert batch is not None
    return TensorType(x.dtype, batch + matrix)


def _product(a: np.ndarray, b: np.ndarray, swap_a: bool, swap_b: bool, conjugate: bool = False) -> np.ndarray:
    def turned(x: np.ndarray, swap: bool) -> np.ndarray:
        x = np.swapaxes(x, -1, -2) if swap else x
        return x.conj() if swap and conjugate else x

    wide = np.float64 if a.dtype.kind == "f" else a.dtype
    return np.matmul(turned(a.astype(wide), swap_a), turned(b.astype(wide), swap_b)).astype(a.dtype)


def _row_by_column(at: tuple[Expr, ...], a: View, b: View, swap_a: bool, swap_b: bool) -> Expr:
    *batch, i, j = at
    k = Index("k", a.shape[-2] if swap_a else a.shape[-1])
    left = a.broadcast((*batch, k, i) if swap_a else (*batch, i, k))
    right = b.broadcast((*batch, j, k) if swap_b else (*batch, k, j))
    return Reduce((k,), "add", left * right)


def _matmul_grad(g: Any, y: Any, a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> tuple[Any, Any]:
    a, b = conjugate(a), conjugate(b)
    by_a = matmul(b, g, transpose_b, True) if transpose_a else matmul(g, b, False, not transpose_b)
    by_b = matmul(g, a, True, transpose_a) if transpose_b else matmul(a, g, not transpose_a, False)
    return by_a, by_b


def _batch_grad(g: Any, y: Any, a: Any, b: Any, adj_x: bool, adj_y: bool) -> tuple[Any, Any]:
    by_a = batch_matmul(b, g, adj_y, True) if adj_x else batch_matmul(g, b, False, not adj_y)
    by_b = batch_matmul(g, a, True, adj_x) if adj_y else batch_matmul(a, g, not adj_x, False)
    return summed_over_batches(by_a, by_b, a, b)


def summed_over_batches(by_a: Any, by_b: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return derivatives by `a` and `b`, summed over the axes along which each is repeated."""
    batches = a.type.shape[:-2], b.type.shape[:-2]
    if None not in (*batches[0], *batches[1]):
        whole = broadcast(*batches)
        assert whole is not None
        axes: Any = [
            tuple(d for d, n in enumerate(whole) if d < len(whole) - len(s) or s[d - len(whole)] != n)
            for s in batches
        ]
        shapes: list[Any] = [sizes(x) if repeated else None for x, repeated in zip((a, b), axes, strict=True)]
    else:
        whole_a, whole_b = shapes = [ops.shape_of(x) for x in (a, b)]
        axes = ops.broadcast_gradient_args(s0=whole_a[:-2], s1=whole_b[:-2])
    first, second = (
        g if shape is None else ops.reshape(ops.reduce_sum(g, axis=repeated), shape=shape)
        for g, repeated, shape in zip((by_a, by_b), axes, shapes, strict=True)
    )
    return first, second


def _complex_product(a: Any, b: Any, flip_a: bool, flip_b: bool, adjoint: bool) -> Any:
    """The product of complex matrices as one of real matrices, with both parts of a number side by side.

    Of `a`, each row has them next to each other. Of `b`, a number x + iy becomes [[x, y], [-y, x]].
    """

    def flipped(x: Any, flip: bool) -> Any:
        if flip:
            x = ops.transpose(x, perm=(*range(x.rank - 2), x.rank - 1, x.rank - 2))
        return ops.conj(x) if flip and adjoint else x

    a, b = flipped(a, flip_a), flipped(b, flip_b)
    (*lead_a, m, k), (*lead_b, _, n) = a.shape, b.shape
    left = ops.reshape(ops.stack([ops.real(a), ops.imag(a)], axis=-1), shape=(*lead_a, m, 2 * k))
    x, y = ops.real(b), ops.imag(b)
    rows = [ops.stack(parts, axis=-1) for parts in ([x, y], [-y, x])]
    right = ops.reshape(ops.stack(rows, axis=-3), shape=(*lead_b, 2 * k, 2 * n))
    made = matmul(left, right) if not lead_a and not lead_b else batch_matmul(left, right)
    shape = (*made.shape[:-1], n)
    pairs = ops.reshape(made, shape=(*shape, 2))
    found = [ops.slice(pairs, begin=(0,) * len(shape) + (part,), size=(*shape, 1)) for part in (0, 1)]
    return ops.reshape(ops.complex(*found), shape=shape)


@contraction(
    tf="MatMul", type=_matmul_type, dtypes=PRODUCTS, grad=_matmul_grad, grad_takes=(),
    numpy=lambda a, b, transpose_a, transpose_b: _product(a, b, transpose_a, transpose_b),
    expand=lambda a, b, transpose_a=False, transpose_b=False: _complex_product(
        a, b, transpose_a, transpose_b, adjoint=False
    ),
    samples=[Sample(real(3, 4), real(4, 2)), Sample(real(4, 3), real(4, 2), transpose_a=True),
             Sample(real(1, 5), real(7, 5), transpose_b=True),
             Sample(real(5, 2), real(3, 5), transpose_a=True, transpose_b=True),
             Sample(real(2, 0), real(0, 3))],
)
def matmul(
    at: tuple[Expr, ...], a: View, b: View, *, transpose_a: bool = False, transpose_b: bool = False
) -> Expr:
    """Product of two matrices.

    `transpose_a` and `transpose_b`: that operand is transposed first.
    """
    return _row_by_column(at, a, b, transpose_a, transpose_b)


@contraction(
    tf="BatchMatMulV2", type=_batch_type, dtypes=PRODUCTS, grad=_batch_grad, grad_takes=(),
    numpy=lambda x, y, adj_x, adj_y: _product(x, y, adj_x, adj_y, conjugate=True),
    expand=lambda x, y, adj_x=False, adj_y=False: _complex_product(x, y, adj_x, adj_y, adjoint=True),
    samples=[Sample(real(2, 3, 4), real(2, 4, 2)), Sample(real(2, 1, 4, 3), real(3, 4, 2), adj_x=True),
             Sample(real(3, 4), real(2, 5, 4), adj_y=True), Sample(real(0, 3, 4), real(4, 2))],
)
def batch_matmul(at: tuple[Expr, ...], x: View, y: View, *, adj_x: bool = False, adj_y: bool = False) -> Expr:
    """Products of matrices in the last two axes; leading axes broadcast.

    `adj_x` and `adj_y`: that operand is replaced by its adjoint first.
    """
    return _row_by_column(at, x, y, adj_x, adj_y)


@method("matmul")
def _matrix_product(a: Any, b: Any) -> Any:
    """`a @ b` with NumPy's meaning for matrices and batches of them."""
    ranks = [getattr(x.type, "rank", None) if hasattr(x, "type") else np.ndim(x) for x in (a, b)]
    return (
        matmul(a, b, name="matmul")
        if ranks in ([2, 2], [2, None], [None, 2])
        else batch_matmul(a, b, name="matmul")
    )


def _bias_type(value: TensorType, bias: TensorType, data_format: str) -> TensorType:
    require(data_format in ("NHWC", "NCHW"), f"data_format {data_format!r} is neither 'NHWC' nor 'NCHW'")
    require(bias.rank in (None, 1), f"bias has rank {bias.rank}, and must be a vector")
    if value.shape is None or bias.shape is None:
        return value
    require(len(value.shape) >= 2, f"value has rank {value.rank}, at least 2 is needed")
    axis = _channel_axis(len(value.shape), data_format)
    channels, size = value.shape[axis], bias.shape[0]
    require(
        channels is None or size is None or channels == size,
        f"bias has {size} elements and axis {axis} of value has size {channels}",
        hint="bias has one element per channel",
    )
    return TensorType(
        value.dtype, tuple(size if d == axis and n is None else n for d, n in enumerate(value.shape))
    )


def _channel_axis(rank: int, data_format: str) -> int:
    return rank - 1 if data_format == "NHWC" else 1


def _along_channels(rank: int, data_format: str) -> tuple[int, ...]:
    return tuple(-1 if d == _channel_axis(rank, data_format) else 1 for d in range(rank))


def _bias_grad(g: Any, y: Any, value: Any, bias: Any, data_format: str) -> tuple[Any, Any]:
    rank = value.type.rank
    channel = _channel_axis(rank, data_format)
    return g, ops.reduce_sum(g, axis=tuple(d for d in range(rank) if d != channel))


@composite(
    tf="BiasAdd", type=_bias_type, dtypes=NUMERIC, grad=_bias_grad, grad_takes=(),
    numpy=lambda value, bias, data_format: (
        value + bias.reshape(_along_channels(value.ndim, data_format))
    ),
    samples=[Sample(real(3, 4), real(4)), Sample(real(2, 3, 2, 5), real(5)),
             Sample(real(2, 3, 2, 5), real(3), data_format="NCHW")],
)
def bias_add(value: Any, bias: Any, *, data_format: str = "NHWC") -> Any:
    """`value` plus one number per channel; channels are the last axis, or the second for 'NCHW'."""
    if data_format == "NCHW":
        bias = ops.reshape(bias, shape=(bias.size, *(1 for _ in value.shape[2:])))
    return value + bias


def _cross_type(a: TensorType, b: TensorType) -> TensorType:
    shape = merge(a.shape, b.shape, "the shapes of a and b,")
    for each in (a.shape, b.shape):
        fits = each is None or (each and each[-1] in (3, None))
        require(fits, f"the last axis has to have size 3: {shape_text(each)}")
    return TensorType(a.dtype, shape)


def _cross_grad(g: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    return ops.cross(conjugate(b), g), ops.cross(g, conjugate(a))


@composite(
    tf="Cross", type=_cross_type, dtypes=NUMERIC, numpy=lambda a, b: np.cross(a, b).astype(a.dtype),
    samples=[Sample(real(3), real(3)), Sample(real(2, 4, 3), real(2, 4, 3)), Sample(real(0, 3), real(0, 3))],
    grad=_cross_grad, grad_takes=(),
)
def cross(a: Any, b: Any) -> Any:
    """Cross products of the vectors in the last axis, which has size 3."""
    (a0, a1, a2), (b0, b1, b2) = ([v[..., i] for i in range(3)] for v in (a, b))
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return ops.stack(parts, axis=len(a.shape) - 1)
