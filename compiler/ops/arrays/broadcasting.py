"""Broadcasting as ops of their own: a tensor in another shape, and the shape of two tensors together."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, int32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import recorder_of
from staticgraph.compiler.graph.shapes import MOST_AXES, TensorType, broadcast, operand_shape, shape_text
from staticgraph.compiler.graph.sizes import Size, same
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.ops.arrays.movement import INDEX
from staticgraph.compiler.ops.kinds import View, composite, movement, on_host
from staticgraph.compiler.ops.samples import Draw, Sample, real


def _broadcast_type(input: TensorType, shape: Any) -> TensorType:
    shape = operand_shape(shape, "shape")
    if shape is None or input.shape is None:
        return TensorType(input.dtype, shape)
    wide = broadcast(input.shape, shape)
    fits = wide is not None and all(
        w is None or n is None or w == n for w, n in zip(wide, shape, strict=False)
    )
    require(fits and len(wide or ()) == len(shape),
            f"{shape_text(input.shape)} cannot be broadcast to {list(shape)}",
            hint="sizes are aligned at the last axis, and must be equal or 1 in the input")
    return TensorType(input.dtype, shape)


@movement(
    tf="BroadcastTo", type=_broadcast_type, numpy=lambda input, shape: np.broadcast_to(input, shape).copy(),
    operands=("shape",), partial=("shape",), dtypes=ANY, strings=True,
    grad=lambda g, y, input, shape: (g,), grad_takes=(), broadcasts=True,
    samples=[Sample(real(3), shape=(2, 3)), Sample(real(2, 1), shape=(4, 2, 3)), Sample(real(), shape=(2, 2)),
             Sample(real(1), shape=(0,))],
)
def broadcast_to(at: tuple[Expr, ...], input: View, *, shape: Any) -> Expr:
    """The input repeated along new leading axes and along axes of size one."""
    return input.broadcast(at)


def _broadcast_args_type(s0: TensorType, s1: TensorType) -> TensorType:
    for s in (s0, s1):
        short = s.shape is None or (len(s.shape) == 1 and (s.shape[0] or 0) <= MOST_AXES)
        require(
            short,
            f"{shape_text(s.shape)} is not that of a shape, which is a vector of up to {MOST_AXES} sizes",
        )
    lengths = [None if s.shape is None else s.shape[0] for s in (s0, s1)]
    return TensorType(s0.dtype, (None if None in lengths else max(n for n in lengths if n is not None),))


def _plain(size: Any) -> Any:
    return size if isinstance(size, Size | None) else int(size)


def _broadcast_args_static(types: list[TensorType], values: list[Any]) -> Any:
    known = [v if v is None else tuple(_plain(n) for n in v) for v in values]
    return None if None in known else broadcast(*known)


def _broadcast_args(s0: np.ndarray, s1: np.ndarray) -> np.ndarray:
    return np.array(np.broadcast_shapes(tuple(s0), tuple(s1)), s0.dtype)


@on_host(
    tf="BroadcastArgs", type=_broadcast_args_type, numpy=_broadcast_args, static=_broadcast_args_static,
    dtypes={"T": INDEX}, differentiable=False,
    samples=[Sample(Draw((2,), 2, 2), Draw((3,), 1, 1)), Sample(Draw((2,), 3, 3), Draw((1,), 3, 3)),
             Sample(Draw((0,)), Draw((2,), 1, 4))],
)
def broadcast_args(s0: Any, s1: Any) -> Any:
    """The shape that broadcasting tensors of shapes `s0` and `s1` gives."""


def _known(s: Any) -> tuple[int, ...] | None:
    return None if s is None or None in s else tuple(map(_plain, s))


def _repeated(s0: Any, s1: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes along which tensors of these shapes are repeated when they broadcast to each other."""
    both = broadcast(tuple(s0), tuple(s1))
    assert both is not None

    def repeated(s: Any) -> tuple[int, ...]:
        extra = len(both) - len(s)
        return tuple(d for d, n in enumerate(both) if d < extra or not same(s[d - extra], n))

    return repeated(s0), repeated(s1)


def _gradient_args_type(s0: Any, s1: Any) -> tuple[TensorType, TensorType]:
    first, second = _known(s0), _known(s1)
    if first is None or second is None:
        return TensorType(int32, (None,)), TensorType(int32, (None,))
    axes = _repeated(first, second)
    return TensorType(int32, (len(axes[0]),)), TensorType(int32, (len(axes[1]),))


@composite(
    tf="BroadcastGradientArgs", type=_gradient_args_type,
    numpy=lambda s0, s1: tuple(np.array(axes, np.int32) for axes in _repeated(s0, s1)),
    operands=("s0", "s1"), partial=("s0", "s1"), differentiable=False,
    samples=[Sample(s0=(2, 1), s1=(3,)), Sample(s0=(), s1=(2, 3)), Sample(s0=(4, 3), s1=(4, 3)),],
)
def broadcast_gradient_args(*, s0: Any, s1: Any) -> Any:
    """The axes that the derivatives by two tensors of shapes `s0` and `s1` are summed over: those along which
    each tensor is repeated when both broadcast.
    """
    build: Any = recorder_of(())
    return tuple(build.constant(np.array(axes, np.int32)) for axes in _repeated(s0, s1))
