"""Activation functions. Without branches, and without overflow: `exp` is only taken of negative numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, FLOATING, REAL
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.ops.kinds import elementwise, holomorphic
from staticgraph.compiler.ops.samples import reals

# Mean 0 and variance 1 are a fixed point of `selu` with these constants (Klambauer et al. 2017).
SELU_SCALE = 1.0507009873554804934193349852946
SELU_ALPHA = 1.6732632423543772848170429916717


@elementwise(
    tf="Relu", numpy=lambda x: np.maximum(x, x.dtype.type(0)), dtypes=REAL, samples=reals(),
    grad=lambda g, y, x: (ops.select(y > 0, g, 0),),
)
def relu(features: Any) -> Any:
    """max(x, 0). NaN stays NaN; the gradient at 0 is 0.

    >>> sg.Session().run(sg.nn.relu([-1.0, 2.0]))
    array([0., 2.], dtype=float32)
    """
    return scalar.maximum(features, 0)


@elementwise(
    tf="Relu6", numpy=lambda x: np.clip(x, x.dtype.type(0), x.dtype.type(6)), dtypes=REAL,
    samples=reals(-3, 9),
    grad=lambda g, y, x: (ops.select((y > 0) & (y < 6), g, 0),),
)
def relu6(features: Any) -> Any:
    """min(max(x, 0), 6).

    >>> sg.Session().run(sg.nn.relu6([-1.0, 2.0, 8.0]))
    array([0., 2., 6.], dtype=float32)
    """
    return scalar.minimum(scalar.maximum(features, 0), 6)


def _leaky(x: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(x > 0, x, x * x.dtype.type(alpha))


@elementwise(
    tf="LeakyRelu", numpy=_leaky, dtypes=FLOATING, samples=reals(attrs=[{"alpha": 0.2}, {"alpha": 0.01}]),
    grad=lambda g, y, x, alpha: (ops.select(x > 0, g, g * alpha),),
)
def leaky_relu(features: Any, *, alpha: float = 0.2) -> Any:
    """x where it is positive, alpha * x elsewhere."""
    return scalar.select(features > 0, features, features * alpha)


@elementwise(
    tf="Elu", numpy=lambda x: np.where(x < 0, np.expm1(x), x), dtypes=FLOATING, samples=reals(-4, 4),
    grad=lambda g, y, x: (ops.select(y < 0, g * (y + 1.0), g),),
)
def elu(features: Any) -> Any:
    """x, and exp(x) - 1 where x is negative.

    >>> sg.Session().run(sg.nn.elu([-1.0, 2.0])).round(4)
    array([-0.6321,  2.    ], dtype=float32)
    """
    return scalar.select(features < 0, scalar.expm1(scalar.minimum(features, 0)), features)


def _selu(x: np.ndarray) -> np.ndarray:
    return (SELU_SCALE * np.where(x < 0, SELU_ALPHA * np.expm1(x), x)).astype(x.dtype)


@elementwise(
    tf="Selu", numpy=_selu, dtypes=FLOATING, samples=reals(-4, 4),
    grad=lambda g, y, x: (ops.select(y < 0, g * (y + SELU_SCALE * SELU_ALPHA), g * SELU_SCALE),),
)
def selu(features: Any) -> Any:
    """The scaled exponential linear unit: scale * x, and scale * alpha * (exp(x) - 1) where x is negative.

    scale = 1.0507... and alpha = 1.6732... keep mean 0 and variance 1 from layer to layer.

    >>> sg.Session().run(sg.nn.selu([-1.0, 0.0, 2.0])).round(4)
    array([-1.1113,  0.    ,  2.1014], dtype=float32)
    """
    negative = SELU_SCALE * SELU_ALPHA * scalar.expm1(scalar.minimum(features, 0))
    return scalar.select(features < 0, negative, features * SELU_SCALE)


@elementwise(
    tf="Softplus", numpy=lambda x: np.logaddexp(x, x.dtype.type(0)), dtypes=FLOATING, samples=reals(-6, 6),
    grad=lambda g, y, x: (g * ops.sigmoid(x),),
)
def softplus(features: Any) -> Any:
    """log(1 + exp(x)), finite for every finite x.

    >>> sg.Session().run(sg.nn.softplus([-1.0, 0.0, 100.0])).round(4)
    array([  0.3133,   0.6931, 100.    ], dtype=float32)
    """
    return scalar.maximum(features, 0) + scalar.log1p(scalar.exp(-scalar.abs(features)))


def _softsign_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    scale = 1.0 + abs(x)
    return (g / (scale * scale),)


@elementwise(
    tf="Softsign", numpy=lambda x: x / (1 + np.abs(x)), dtypes=FLOATING, samples=reals(-4, 4),
    grad=_softsign_grad,
)
def softsign(features: Any) -> Any:
    """x / (1 + |x|).

    >>> sg.Session().run(sg.nn.softsign([-1.0, 0.0, 3.0]))
    array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    return features / (1 + scalar.abs(features))


def _logistic(x: np.ndarray) -> np.ndarray:
    wide = np.result_type(x, np.float64)
    return (1 / (1 + np.exp(-x.astype(wide)))).astype(x.dtype)


@elementwise(
    tf="Sigmoid", numpy=_logistic, dtypes=FLOATING | COMPLEX, samples=reals(-8, 8),
    grad=holomorphic(lambda g, y, x: (g * y * (1.0 - y),)),
)
def sigmoid(x: Any) -> Any:
    """The logistic function, 1 / (1 + exp(-x)).

    >>> sg.Session().run(sg.sigmoid([-2.0, 0.0, 2.0])).round(4)
    array([0.1192, 0.5   , 0.8808], dtype=float32)
    """
    if isinstance(x, Expr) and x.dtype.is_complex:
        right = scalar.real(x) >= 0
        decay = scalar.exp(scalar.select(right, -x, x))
        return scalar.select(right, 1, decay) / (1 + decay)
    decay = scalar.exp(-scalar.abs(x))
    return scalar.select(x < 0, decay, 1) / (1 + decay)
