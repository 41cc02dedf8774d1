"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.elementwise.exponential import CONTINUOUS, sqrt
from staticgraph.compiler.ops.kinds import elementwise, holomorphic
from staticgraph.compiler.ops.samples import reals


@elementwise(
    tf="Sin", numpy=np.sin, dtypes=CONTINUOUS, primitive="sin", samples=reals(-4, 4),
    grad=holomorphic(lambda g, y, x: (g * ops.cos(x),)),
)
def sin(x: Any) -> Any:
    """The sine of x, in radians.

    >>> sg.Session().run(sg.sin([0.0, 1.0])).round(4)
    array([0.    , 0.8415], dtype=float32)
    """
    return scalar.sin(x)


@elementwise(
    tf="Cos", numpy=np.cos, dtypes=CONTINUOUS, primitive="cos", samples=reals(-4, 4),
    grad=holomorphic(lambda g, y, x: (-g * sin(x),)),
)
def cos(x: Any) -> Any:
    """The cosine of x, in radians.

    >>> sg.Session().run(sg.cos([0.0, 1.0])).round(4)
    array([1.    , 0.5403], dtype=float32)
    """
    return scalar.cos(x)


@elementwise(
    tf="Tan", numpy=np.tan, dtypes=CONTINUOUS, primitive="tan", samples=reals(-1.2, 1.2),
    grad=holomorphic(lambda g, y, x: (g * (1.0 + ops.square(ops.tan(x))),)),
)
def tan(x: Any) -> Any:
    """The tangent of x, in radians.

    >>> sg.Session().run(sg.tan([0.0, 1.0])).round(4)
    array([0.    , 1.5574], dtype=float32)
    """
    return scalar.tan(x)


@elementwise(
    tf="Asin", numpy=np.arcsin, dtypes=CONTINUOUS, primitive="asin", samples=reals(-0.9, 0.9),
    grad=holomorphic(lambda g, y, x: (g / sqrt(1.0 - x * x),)),
)
def asin(x: Any) -> Any:
    """The angle between -pi/2 and pi/2 whose sine is x; NaN outside [-1, 1].

    >>> sg.Session().run(sg.asin([0.0, 1.0])).round(4)
    array([0.    , 1.5708], dtype=float32)
    """
    return scalar.asin(x)


@elementwise(
    tf="Acos", numpy=np.arccos, dtypes=CONTINUOUS, primitive="acos", samples=reals(-0.9, 0.9),
    grad=holomorphic(lambda g, y, x: (-g / sqrt(1.0 - x * x),)),
)
def acos(x: Any) -> Any:
    """The angle between 0 and pi whose cosine is x; NaN outside [-1, 1].

    >>> sg.Session().run(sg.acos([0.0, 1.0])).round(4)
    array([1.5708, 0.    ], dtype=float32)
    """
    return scalar.acos(x)


@elementwise(
    tf="Atan", numpy=np.arctan, dtypes=CONTINUOUS, primitive="atan", samples=reals(-4, 4),
    grad=holomorphic(lambda g, y, x: (g / (1.0 + x * x),)),
)
def atan(x: Any) -> Any:
    """The angle between -pi/2 and pi/2 whose tangent is x.

    >>> sg.Session().run(sg.atan([0.0, 1.0])).round(4)
    array([0.    , 0.7854], dtype=float32)
    """
    return scalar.atan(x)


@elementwise(
    tf="Sinh", numpy=np.sinh, dtypes=CONTINUOUS, primitive="sinh", samples=reals(),
    grad=holomorphic(lambda g, y, x: (g * ops.cosh(x),)),
)
def sinh(x: Any) -> Any:
    """The hyperbolic sine, (exp(x) - exp(-x)) / 2.

    >>> sg.Session().run(sg.sinh([0.0, 1.0])).round(4)
    array([0.    , 1.1752], dtype=float32)
    """
    return scalar.sinh(x)


@elementwise(
    tf="Cosh", numpy=np.cosh, dtypes=CONTINUOUS, primitive="cosh", samples=reals(),
    grad=holomorphic(lambda g, y, x: (g * sinh(x),)),
)
def cosh(x: Any) -> Any:
    """The hyperbolic cosine, (exp(x) + exp(-x)) / 2.

    >>> sg.Session().run(sg.cosh([0.0, 1.0])).round(4)
    array([1.    , 1.5431], dtype=float32)
    """
    return scalar.cosh(x)


@elementwise(
    tf="Tanh", numpy=np.tanh, dtypes=CONTINUOUS, primitive="tanh", samples=reals(-4, 4),
    grad=holomorphic(lambda g, y, x: (g * (1.0 - y * y),)),
)
def tanh(x: Any) -> Any:
    """The hyperbolic tangent, sinh(x) / cosh(x).

    >>> sg.Session().run(sg.tanh([0.0, 1.0])).round(4)
    array([0.    , 0.7616], dtype=float32)
    """
    return scalar.tanh(x)


@elementwise(
    tf="Asinh", numpy=np.arcsinh, dtypes=CONTINUOUS, primitive="asinh", samples=reals(-4, 4),
    grad=holomorphic(lambda g, y, x: (g / cosh(y),)),
)
def asinh(x: Any) -> Any:
    """The number whose hyperbolic sine is x.

    >>> sg.Session().run(sg.asinh([0.0, 1.0])).round(4)
    array([0.    , 0.8814], dtype=float32)
    """
    return scalar.asinh(x)


@elementwise(
    tf="Acosh", numpy=np.arccosh, dtypes=CONTINUOUS, primitive="acosh", samples=reals(1.2, 5),
    grad=holomorphic(lambda g, y, x: (g / sinh(y),)),
)
def acosh(x: Any) -> Any:
    """The number of at least 0 whose hyperbolic cosine is x; NaN below 1.

    >>> sg.Session().run(sg.acosh([1.0, 2.0])).round(4)
    array([0.   , 1.317], dtype=float32)
    """
    return scalar.acosh(x)


@elementwise(
    tf="Atanh", numpy=np.arctanh, dtypes=CONTINUOUS, primitive="atanh", samples=reals(-0.9, 0.9),
    grad=holomorphic(lambda g, y, x: (g / (1.0 - x * x),)),
)
def atanh(x: Any) -> Any:
    """The number whose hyperbolic tangent is x; NaN outside [-1, 1].

    >>> sg.Session().run(sg.atanh([0.0, 0.5])).round(4)
    array([0.    , 0.5493], dtype=float32)
    """
    return scalar.atanh(x)


def _atan2_grad(g: Any, out: Any, y: Any, x: Any) -> tuple[Any, Any]:
    part = g / (x * x + y * y)
    return x * part, -y * part


@elementwise(
    tf="Atan2", numpy=np.arctan2, dtypes=FLOATING, primitive="atan2", samples=reals(-2, 2, (0.2, 3)),
    grad=_atan2_grad,
)
def atan2(y: Any, x: Any) -> Any:
    """The angle between -pi and pi of the point (x, y), seen from the origin.

    >>> sg.Session().run(sg.atan2([1.0, -1.0], [0.0, 0.0])).round(4)
    array([ 1.5708, -1.5708], dtype=float32)
    """
    return scalar.atan2(y, x)
