"""Powers, roots, exponentials and logarithms."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.requirements import exponent
from staticgraph.compiler.graph.dtypes import COMPLEX, FLOATING, NUMERIC
from staticgraph.compiler.graph.opdef import method, ops
from staticgraph.compiler.graph.sizes import AnySize, Size
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.primitives.functions import power_of
from staticgraph.compiler.ops.elementwise.casting import cast
from staticgraph.compiler.ops.elementwise.logic import (
    equal,
    is_finite,
    logical_and,
    logical_or,
    not_equal,
    select,
)
from staticgraph.compiler.ops.kinds import elementwise, holomorphic
from staticgraph.compiler.ops.samples import positive, reals

CONTINUOUS = FLOATING | COMPLEX
_MOST_POWER = 8  # a greater power of a size does not fit into 64 bits


@elementwise(
    tf="Reciprocal", numpy=lambda x: (1 / x).astype(x.dtype), dtypes=CONTINUOUS, samples=positive(),
    grad=holomorphic(lambda g, y, x: (-g * y * y,)),
)
def reciprocal(x: Any) -> Any:
    """1 / x, element by element.

    >>> sg.Session().run(sg.reciprocal([2.0, -4.0]))
    array([ 0.5 , -0.25], dtype=float32)
    """
    return 1 / x


@elementwise(
    tf="Sqrt", numpy=np.sqrt, dtypes=CONTINUOUS, primitive="sqrt", samples=positive(),
    grad=holomorphic(lambda g, y, x: (g * 0.5 / y,)),
)
def sqrt(x: Any) -> Any:
    """The square root; NaN for negative numbers.

    >>> sg.Session().run(sg.sqrt([4.0, 2.0])).round(4)
    array([2.    , 1.4142], dtype=float32)
    """
    return scalar.sqrt(x)


@elementwise(
    tf="Rsqrt", numpy=lambda x: (1 / np.sqrt(x)).astype(x.dtype), dtypes=CONTINUOUS, samples=positive(),
    grad=holomorphic(lambda g, y, x: (g * -0.5 * (y * y * y),)),
)
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x), element by element.

    >>> sg.Session().run(sg.rsqrt([4.0, 1.0])).round(4)
    array([0.5, 1. ], dtype=float32)
    """
    return 1 / scalar.sqrt(x)


@elementwise(
    tf="Exp", numpy=np.exp, dtypes=CONTINUOUS, primitive="exp", samples=reals(),
    grad=holomorphic(lambda g, y, x: (g * y,)),
)
def exp(x: Any) -> Any:
    """e ** x, element by element.

    >>> sg.Session().run(sg.exp([0.0, 1.0])).round(4)
    array([1.    , 2.7183], dtype=float32)
    """
    return scalar.exp(x)


@elementwise(
    tf="Expm1", numpy=np.expm1, dtypes=CONTINUOUS, primitive="expm1", samples=reals(),
    grad=holomorphic(lambda g, y, x: (g * exp(x),)),
)
def expm1(x: Any) -> Any:
    """e ** x - 1, exact for small x too.

    >>> sg.Session().run(sg.expm1([0.0, 1.0])).round(4)
    array([0.    , 1.7183], dtype=float32)
    """
    return scalar.expm1(x)


@elementwise(
    tf="Log", numpy=np.log, dtypes=CONTINUOUS, primitive="log", samples=positive(),
    grad=holomorphic(lambda g, y, x: (g / x,)),
)
def log(x: Any) -> Any:
    """The natural logarithm; -inf for 0, NaN for negative numbers.

    >>> sg.Session().run(sg.log([1.0, 10.0])).round(4)
    array([0.    , 2.3026], dtype=float32)
    """
    return scalar.log(x)


@elementwise(
    tf="Log1p", numpy=np.log1p, dtypes=CONTINUOUS, primitive="log1p", samples=positive(),
    grad=holomorphic(lambda g, y, x: (g / (1.0 + x),)),
)
def log1p(x: Any) -> Any:
    """log(1 + x), exact for small x too.

    >>> sg.Session().run(sg.log1p([0.0, 1.0])).round(4)
    array([0.    , 0.6931], dtype=float32)
    """
    return scalar.log1p(x)


def _power_grad(g: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Differentiate a power. By the exponent, the real derivative is 0 where the base is not positive.

    The derivative of x ** 0 by x is 0 at x = 0, too.
    """
    valid = not_equal(a, 0) if a.dtype.is_complex else a > 0
    constant = logical_and(equal(a, 0), equal(b, 0))
    return g * b * pow_(select(constant, 1, a), b - 1), g * y * select(valid, log(select(valid, a, 1)), 0)


def _power_of_size(x: AnySize, y: AnySize) -> AnySize:
    if isinstance(y, Size) or not 0 <= y <= _MOST_POWER:
        raise TypeError("this power of a size is no size")
    return math.prod([x] * y)


@elementwise(
    tf="Pow", numpy=power_of, dtypes=NUMERIC, primitive="pow", samples=reals(0.5, 3, (-2, 3)),
    grad=holomorphic(_power_grad), requires=exponent("pow"), of_sizes=_power_of_size,
)
def pow_(x: Any, y: Any) -> Any:
    """x ** y, element by element. A negative exponent of an integer is an InvalidArgumentError.

    >>> sg.Session().run(sg.pow([2, 3], [3, 2]))
    array([8, 9], dtype=int32)
    """
    return scalar.pow(x, y)


def _xlogy_grad(g: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Differentiate xlogy: by x it is log(y) also where x is 0, unless that is not finite."""
    counts = logical_or(not_equal(x, 0), logical_and(y > 0, is_finite(y)))
    return g * ops.xlogy(cast(counts, x.dtype), y), g * ops.xdivy(x, y)


@elementwise(
    tf="Xlogy", numpy=lambda x, y: np.where(x == 0, np.zeros_like(x), x * np.log(y)), dtypes=FLOATING,
    samples=reals(-2, 2, (0.2, 4)), grad=_xlogy_grad,
)
def xlogy(x: Any, y: Any) -> Any:
    """x * log(y), and 0 where x is 0 whatever y is.

    >>> sg.Session().run(sg.math.xlogy([0.0, 2.0], [0.0, 1.0]))
    array([0., 0.], dtype=float32)
    """
    return scalar.select(scalar.eq(x, 0), 0, x * scalar.log(y))


def _xdivy_grad(g: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Differentiate xdivy: by x it is 1 / y also where x is 0, unless y is 0."""
    counts = logical_or(not_equal(x, 0), not_equal(y, 0))
    return g * ops.xdivy(cast(counts, x.dtype), y), g * ops.xdivy(-x, y * y)


@elementwise(
    tf="Xdivy", numpy=lambda x, y: np.where(x == 0, np.zeros_like(x), x / y), dtypes=FLOATING,
    samples=reals(-2, 2, (0.2, 4)), grad=_xdivy_grad,
)
def xdivy(x: Any, y: Any) -> Any:
    """x / y, and 0 where x is 0 whatever y is.

    >>> sg.Session().run(sg.math.xdivy([0.0, 2.0], [0.0, 4.0]))
    array([0. , 0.5], dtype=float32)
    """
    return scalar.select(scalar.eq(x, 0), 0, x / y)


method("pow")(partial(pow_, name="pow"))
