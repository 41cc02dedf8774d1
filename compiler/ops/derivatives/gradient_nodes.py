"""Derivatives that are one operation in TensorFlow: ReluGrad, TanhGrad, BiasAddGrad and the like.

A user's graph has them, with TensorFlow's names and inputs. The compiler takes each of them by its
definition, which is the formula of the op that it differentiates, once sizes are known:

    ReluGrad(g, y)      ->      select(y > 0, g, 0)

`NODES` has a function for each op whose derivative is such an operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, FLOATING, NUMERIC, REAL
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import OPS, OpDef, ops
from staticgraph.compiler.graph.shapes import TensorType, merge
from staticgraph.compiler.ops.elementwise.activation import SELU_ALPHA, SELU_SCALE
from staticgraph.compiler.ops.kinds import composite, conjugate, sizes
from staticgraph.compiler.ops.samples import Sample, real

Parts = tuple[Any, ...]

NODES: dict[str, Callable[..., Parts]] = {}  # (g, y, *inputs, **attrs) -> cotangents, by name of the op


def gradient_node(**fields: Any) -> Callable[[Callable[..., Any]], OpDef]:
    """Return a decorator for an op that stands for a derivative."""
    return composite(inline=True, **fields)


def alike(a: TensorType, b: TensorType, *_: TensorType, **__: Any) -> TensorType:
    """Type rule: the type of both."""
    return TensorType(a.dtype, merge(a.shape, b.shape, "a cotangent and what it belongs to"))


# Activations, whose derivative takes the cotangent first


def _activation(
    of: str, numpy: Callable[..., Any], grad: Callable[..., Parts], by_result: bool = True,
    dtypes: Any = FLOATING, linear: bool = False,
) -> OpDef:  # fmt: skip
    """Return the derivative of an activation.

    Args:
        of: The name of the op.
        numpy: The meaning of the derivative.
        grad: The derivative of the derivative: (h, g, y) to the cotangents of g and y.
        by_result: If the derivative is made of the result of the op. Otherwise it is made of the input.
        dtypes: The dtypes that it takes.
        linear: If the derivative is constant between kinks: then its own derivative by `y` is zero.
    """

    @gradient_node(
        name=f"{of}_grad", tf=f"{OPS[of].tf}Grad", type=alike, numpy=numpy, dtypes=dtypes,
        samples=[Sample(real(3, 4), real(3, 4)), Sample(real(), real()), Sample(real(0, 2), real(0, 2))],
        grad=lambda h, out, g, y: grad(h, g, y), grad_takes=(),
        differentiable=(0,) if linear else True, flat=(1,) if linear else (),
    )
    def node(gradients: Any, features: Any) -> Any:
        """The cotangent of the input, given that of the result."""
        y, x = (features, None) if by_result else (None, features)
        return formula_of(of)(gradients, y, x)[0]

    NODES[of] = lambda g, y, x: (node(g, y if by_result else x),)
    return node


def formula_of(of: str) -> Callable[..., Any]:
    """Return the gradient formula of an op."""
    found: Callable[..., Any] | None = OPS[of].grad
    assert found is not None
    return found


def _where(condition: Any, g: np.ndarray) -> np.ndarray:
    return np.where(condition, g, g.dtype.type(0))


def _below_zero(y: Any, h: Any) -> Any:
    return ops.select(y < 0.0, h, ops.zeros_like(h))


def _softsign_grad_grad(h: Any, g: Any, x: Any) -> Parts:
    once = ops.softsign_grad(h, x)
    half = (ops.abs(x) + 1.0) * (ops.softsign_grad(g, x) * -once)
    return once, ops.sign(x) * (half + half)


relu_grad = _activation(
    "relu", lambda g, y: _where(y > 0, g), lambda h, g, y: (ops.relu_grad(h, y), None),
    dtypes=REAL, linear=True,
)  # fmt: skip
relu6_grad = _activation(
    "relu6", lambda g, y: _where((y > 0) & (y < 6), g), lambda h, g, y: (ops.relu6_grad(h, y), None),
    dtypes=REAL, linear=True,
)  # fmt: skip
elu_grad = _activation(
    "elu", lambda g, y: np.where(y < 0, g * (y + 1), g),
    lambda h, g, y: (ops.elu_grad(h, y), _below_zero(y, h * g)),
)  # fmt: skip
selu_grad = _activation(
    "selu", lambda g, y: (g * np.where(y < 0, y + SELU_SCALE * SELU_ALPHA, SELU_SCALE)).astype(g.dtype),
    lambda h, g, y: (ops.selu_grad(h, y), _below_zero(y, h * g)),
)  # fmt: skip
softsign_grad = _activation(
    "softsign", lambda g, x: g / np.square(1 + np.abs(x)), _softsign_grad_grad, by_result=False
)


@gradient_node(
    tf="LeakyReluGrad", type=alike, dtypes=FLOATING,
    numpy=lambda g, x, alpha: np.where(x > 0, g, g * g.dtype.type(alpha)),
    samples=[Sample(real(3, 4), real(3, 4)), Sample(real(5), real(5), alpha=0.01), Sample(real(), real())],
    grad=lambda h, out, g, x, alpha: (ops.leaky_relu_grad(h, x, alpha=alpha), None), grad_takes=(),
    differentiable=(0,), flat=(1,),
)
def leaky_relu_grad(gradients: Any, features: Any, *, alpha: float = 0.2) -> Any:
    """The cotangent of the input of `leaky_relu`, given that of the result: times `alpha` below zero."""
    return formula_of("leaky_relu")(gradients, None, features, alpha=alpha)[0]


NODES["leaky_relu"] = lambda g, y, x, alpha: (leaky_relu_grad(g, x, alpha=alpha),)


# Functions whose derivative takes their result first


def _function(of: str, tf: str, numpy: Callable[..., Any], grad: Callable[..., Parts]) -> OpDef:
    @gradient_node(
        name=f"{of}_grad", tf=tf, type=alike, numpy=numpy, dtypes=FLOATING | COMPLEX,
        samples=[Sample(real(3, 4, low=0.25), real(3, 4)), Sample(real(low=0.5), real()),
                 Sample(real(0, 2), real(0, 2))],
        grad=lambda h, out, y, dy: grad(h, conjugate(y), conjugate(dy)), grad_takes=(),
    )
    def node(y: Any, dy: Any) -> Any:
        """The cotangent of the input, given the result and its cotangent."""
        return formula_of(of)(dy, conjugate(y), None)[0]

    NODES[of] = lambda g, y, x: (node(y, g),) if g.dtype.is_floating else formula_of(of)(g, y, x)
    return node


def _sigmoid_grad_grad(h: Any, y: Any, g: Any) -> Parts:
    by_product = h * (1.0 - y)
    return by_product * g - h * (g * y), by_product * y


def _tanh_grad_grad(h: Any, y: Any, g: Any) -> Parts:
    half = -(h * g) * y
    return half + half, ops.tanh_grad(y, h)


def _sqrt_grad_grad(h: Any, y: Any, g: Any) -> Parts:
    once = h / y
    return 0.5 * g / y * -once, 0.5 * once


def _rsqrt_grad_grad(h: Any, y: Any, g: Any) -> Parts:
    half = h * (-0.5 * g)
    third = y * (y * half)
    return third + (third + half * ops.square(y)), -0.5 * (h * (y * ops.square(y)))


def _reciprocal_grad_grad(h: Any, y: Any, g: Any) -> Parts:
    return h * (y * -g) + -g * (y * h), -(y * (y * h))


sigmoid_grad = _function("sigmoid", "SigmoidGrad", lambda y, g: g * y * (1 - y), _sigmoid_grad_grad)
tanh_grad = _function("tanh", "TanhGrad", lambda y, g: g * (1 - y * y), _tanh_grad_grad)
sqrt_grad = _function("sqrt", "SqrtGrad", lambda y, g: g * g.dtype.type(0.5) / y, _sqrt_grad_grad)
rsqrt_grad = _function("rsqrt", "RsqrtGrad", lambda y, g: g * g.dtype.type(-0.5) * y**3, _rsqrt_grad_grad)
reciprocal_grad = _function("reciprocal", "ReciprocalGrad", lambda y, g: -g * y * y, _reciprocal_grad_grad)


# Layers


def _bias_axes(rank: int, data_format: str) -> tuple[int, ...]:
    channel = 1 if data_format == "NCHW" else rank - 1
    return tuple(d for d in range(rank) if d != channel)


def _bias_type(g: TensorType, data_format: str) -> TensorType:
    require(data_format in ("NHWC", "NCHW"), f"data_format {data_format!r} is neither 'NHWC' nor 'NCHW'")
    if g.shape is None:
        return TensorType(g.dtype, (None,))
    require(len(g.shape) >= 2, f"the cotangent has rank {g.rank}, at least 2 is needed")
    return TensorType(g.dtype, (g.shape[1 if data_format == "NCHW" else -1],))


@gradient_node(
    tf="BiasAddGrad", type=_bias_type, dtypes=NUMERIC,
    numpy=lambda g, data_format: g.sum(_bias_axes(g.ndim, data_format), dtype=g.dtype),
    samples=[Sample(real(3, 4)), Sample(real(2, 3, 2, 5), data_format="NCHW"), Sample(real(0, 2))],
    grad=lambda h, out, g, data_format: (ops.bias_add(ops.zeros_like(g), h, data_format=data_format),),
    grad_takes=("out_backprop",),
)
def bias_add_grad(out_backprop: Any, *, data_format: str = "NHWC") -> Any:
    """The cotangent of the bias: `out_backprop` summed over all axes but that of channels."""
    return ops.reduce_sum(out_backprop, axis=_bias_axes(out_backprop.type.rank, data_format))


NODES["bias_add"] = lambda g, y, value, bias, data_format: (g, bias_add_grad(g, data_format=data_format))


# In `gradients_by_place.py`

NODES |= {
    "max_pool": lambda g, y, x, **attrs: (ops.max_pool_backprop(x, y, g, **attrs),),
    "max_pool3d": lambda g, y, x, **attrs: (ops.max_pool3d_backprop(x, y, g, **attrs),),
    "local_response_normalization": lambda g, y, x, **attrs: (ops.lrn_grad(g, x, y, **attrs),),
    "strided_slice": lambda g, y, x, **attrs: (ops.strided_slice_grad(g, shape=sizes(x), **attrs),),
    "mirror_pad": lambda g, y, x, **attrs: (ops.mirror_pad_grad(g, **attrs),),
}
