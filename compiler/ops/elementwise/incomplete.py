"""Rare special functions, computed in Python number by number: textbook series and continued fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import float16, float32, float64, int32, int64
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, broadcast
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.iterative import incomplete_gamma as kernel_gamma
from staticgraph.compiler.kernel.iterative import zeta as kernel_zeta
from staticgraph.compiler.kernel.iterative.incomplete_beta import betainc as betainc_of
from staticgraph.compiler.kernel.iterative.steps import Steps
from staticgraph.compiler.kernel.primitives.functions import bessel_scaled
from staticgraph.compiler.kernel.stmt import Stmt, Store
from staticgraph.compiler.ops.elementwise import incomplete_gamma
from staticgraph.compiler.ops.elementwise.exponential import exp, log, log1p
from staticgraph.compiler.ops.kinds import Out, View, elementwise, routine
from staticgraph.compiler.ops.samples import Sample, real, reals
from staticgraph.compiler.ops.statements.loops import counters, nested

_DTYPES = frozenset({float32, float64})
_ENOUGH = 1e-17  # a term this small against its sum changes nothing
_TINY = 1e-300  # stands for 0 in a denominator of a continued fraction


def each(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    """A function of Python numbers for arrays, which broadcast and keep their dtype."""

    def of_arrays(*arrays: np.ndarray) -> np.ndarray:
        made = np.vectorize(function, otypes=[np.float64])(*(a.astype(np.float64) for a in arrays))
        return made.astype(arrays[0].dtype)

    return of_arrays


def _each_element(out: Out, function: Callable[..., Expr], *inputs: View) -> tuple[Stmt, ...]:
    """Statements that store a function of float64 numbers, written by `function`, at every position."""
    at = counters(out.shape)
    steps = Steps(single=out.dtype is not float64)
    made = function(steps, *(steps.value(scalar.cast(x.broadcast(at), float64)) for x in inputs))
    return nested(at, (*steps.body, Store(out.buffer, at, scalar.cast(made, out.dtype))))


def _broadcast_type(*types: TensorType) -> TensorType:
    return TensorType(types[0].dtype, broadcast(*(t.shape for t in types)))


# The Hurwitz zeta function and the polygamma functions.

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _zeta(x: float, q: float) -> float:
    """The terms up to q + n >= 12, then the formula of Euler and Maclaurin for the rest."""
    if x == 1:
        return math.inf
    if not x > 1 or math.isnan(q):
        return math.nan
    if x == math.inf or q == math.inf:
        return 0.0 if q > 1 else 1.0 if q == 1 else math.inf
    pole = q == -math.inf or (q <= 0 and q % 1 == 0)
    if pole or (q <= 0 and x % 1 != 0):
        return math.inf if pole else math.nan
    terms: list[float] = []
    w = q
    while w < 12 + x and (not terms or w <= 1 or terms[-1] > _ENOUGH * terms[0]):
        terms.append(float(np.float64(w) ** -x))
        w += 1
    exact = math.fsum if all(map(math.isfinite, terms)) else sum  # which may be NaN: infinities of both signs
    total = exact(terms) + w ** (1 - x) / (x - 1) + w**-x / 2
    factor = x * w ** (-x - 1) / 2
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total += bernoulli * factor
        factor *= (x + 2 * k - 1) * (x + 2 * k) / (w * w) / ((2 * k + 1) * (2 * k + 2))
    return total


def _polygamma(a: float, x: float) -> float:
    if a < 0 or a % 1 != 0 or math.isnan(x) or math.isinf(a):
        return math.nan
    if x == math.inf:
        return 0.0 if a else math.inf
    if a > 0:
        size, zeta = math.lgamma(a + 1), _zeta(a + 1, x)
        scale = math.exp(size) if size < 709 else math.inf
        return (-1 if a % 2 == 0 else 1) * (scale * zeta if zeta else 0.0)
    if x <= 0:
        pole = x == -math.inf or x % 1 == 0
        return math.inf if pole else _polygamma(0, 1 - x) - math.pi / math.tan(math.pi * x)
    steps = max(0, math.ceil(30 - x))
    w = x + steps
    v = 1 / (w * w) if w < 1e150 else 0.0
    series = v * (1 / 12 - v * (1 / 120 - v / 252))
    return math.fsum([math.log(w), -1 / (2 * w), -series, *(-1 / (x + k) for k in range(steps))])


@routine(
    tf="Zeta", type=_broadcast_type, numpy=each(_zeta), dtypes=_DTYPES, samples=reals(2, 4, (0.5, 4)),
    differentiable=(1,), no_gradient_known=(0,),
    grad=lambda g, y, x, q: (None, -g * x * ops.zeta(x + 1.0, q)), grad_takes=(), broadcasts=True,
)
def zeta(outs: tuple[Out, ...], x: View, q: View) -> tuple[Stmt, ...]:
    """The Hurwitz zeta function: the sum of (q + n) ** -x for n = 0, 1, 2... There is no gradient by x.

    >>> sg.Session().run(sg.zeta([2.0, 4.0], 1.0)).round(4)
    array([1.6449, 1.0823], dtype=float32)
    """
    return _each_element(outs[0], kernel_zeta.zeta, x, q)


@routine(
    tf="Polygamma", type=_broadcast_type, numpy=each(_polygamma), dtypes=_DTYPES, differentiable=(1,),
    samples=[Sample(real(3, low=2, high=2), real(2, 3, low=0.3, high=4)),
             Sample(real(low=0, high=0), real(4, low=0.3, high=4)), Sample(real(low=1, high=1), real(0))],
    grad=lambda g, y, a, x: (None, g * ops.polygamma(a + 1.0, x)), grad_takes=(), broadcasts=True,
)
def polygamma(outs: tuple[Out, ...], a: View, x: View) -> tuple[Stmt, ...]:
    """The derivative of order `a`, a whole number, of digamma. There is no gradient by `a`.

    >>> sg.Session().run(sg.polygamma(1.0, [1.0, 2.0])).round(4)
    array([1.6449, 0.6449], dtype=float32)
    """
    return _each_element(outs[0], kernel_zeta.polygamma, a, x)


# The incomplete gamma functions.


def _igamma_by_a(a: float, x: float) -> float:
    return incomplete_gamma.by_order(a, x, lambda b: _polygamma(0, b))


def _gamma_density(a: Any, x: Any) -> Any:
    """The derivative of igamma(a, x) by x."""
    return exp(ops.xlogy(a - 1.0, x) - x - ops.lgamma(a))


def _igamma_grad(g: Any, y: Any, a: Any, x: Any) -> tuple[Any, Any]:
    return g * igamma_grad_a(a, x), g * _gamma_density(a, x)


def _igamma_grad_a_grad(g: Any, y: Any, a: Any, x: Any) -> tuple[Any, Any]:
    return None, g * _gamma_density(a, x) * (log(x) - ops.digamma(a))


@routine(
    tf="IgammaGradA", type=_broadcast_type, numpy=each(_igamma_by_a), dtypes=_DTYPES, differentiable=(1,),
    no_gradient_known=(0,), samples=reals(0.5, 4, (0.5, 6)), grad=_igamma_grad_a_grad, grad_takes=(),
    broadcasts=True,
)
def igamma_grad_a(outs: tuple[Out, ...], a: View, x: View) -> tuple[Stmt, ...]:
    """The derivative of igamma(a, x) by a. There is no gradient by a."""
    return _each_element(outs[0], kernel_gamma.lower_by_order, a, x)


def _quantile_by_order(a: float, x: float) -> float:
    return incomplete_gamma.quantile_by_order(a, x, lambda b: _polygamma(0, b))


@routine(
    tf="RandomGammaGrad", type=_broadcast_type, numpy=each(_quantile_by_order), no_gradient_known=True,
    dtypes=_DTYPES | {float16}, differentiable=False, samples=reals(0.5, 4, (0.5, 6)),
)
def random_gamma_grad(outs: tuple[Out, ...], alpha: View, sample: View) -> tuple[Stmt, ...]:
    """The derivative by `alpha` of a gamma distributed `sample`, whose probability of being less is fixed."""
    return _each_element(outs[0], kernel_gamma.quantile_by_order, alpha, sample)


@routine(
    tf="Igamma", type=_broadcast_type, numpy=each(incomplete_gamma.lower), dtypes=_DTYPES,
    samples=reals(0.5, 4, (0.5, 6)), grad=_igamma_grad,
)
def igamma(outs: tuple[Out, ...], a: View, x: View) -> tuple[Stmt, ...]:
    """The incomplete gamma function: the integral of t ** (a - 1) * exp(-t) from 0 to x, over gamma(a).

    >>> sg.Session().run(sg.igamma(1.0, [0.0, 1.0])).round(4)
    array([0.    , 0.6321], dtype=float32)
    """
    return _each_element(outs[0], kernel_gamma.lower, a, x)


@routine(
    tf="Igammac", type=_broadcast_type, numpy=each(incomplete_gamma.upper), dtypes=_DTYPES,
    samples=reals(0.5, 4, (0.5, 6)),
    grad=lambda g, y, a, x: _igamma_grad(-g, y, a, x),
)
def igammac(outs: tuple[Out, ...], a: View, x: View) -> tuple[Stmt, ...]:
    """1 - igamma(a, x), exact where it is small.

    >>> sg.Session().run(sg.igammac(1.0, [0.0, 1.0])).round(4)
    array([1.    , 0.3679], dtype=float32)
    """
    return _each_element(outs[0], kernel_gamma.upper, a, x)


# The incomplete beta function.


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of betainc, by Lentz's method. It is fast for x < (a + 1) / (a + b + 2)."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or _TINY)
    h = d
    for n in range(1, 10000):
        even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n))
        odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1))
        for step in (even, odd):
            d = 1 / (1 + step * d or _TINY)
            c = 1 + step / c or _TINY
            h *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return h


def _betainc(a: float, b: float, x: float) -> float:
    if not (a >= 0 and b >= 0 and 0 <= x <= 1) or a == b in (0, math.inf):
        return math.nan
    if x in (0, 1):
        return x
    if 0 in (a, b) or math.inf in (a, b):  # all of the share is at one end
        return 1.0 if a == 0 or b == math.inf else 0.0
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(scale) / a * _beta_fraction(a, b, x)
    return 1 - math.exp(scale) / b * _beta_fraction(b, a, 1 - x)


def _betainc_grad(g: Any, y: Any, a: Any, b: Any, x: Any) -> tuple[Any, ...]:
    lgamma = ops.lgamma
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    return None, None, g * exp((b - 1.0) * log1p(-x) + (a - 1.0) * log(x) - log_beta)


@routine(
    tf="Betainc", type=_broadcast_type, numpy=each(_betainc), dtypes=_DTYPES,
    grad=_betainc_grad, grad_takes=(), broadcasts=True, differentiable=(2,), no_gradient_known=(0, 1),
    samples=reals(0.5, 4, (0.5, 4), (0.1, 0.9)),
)
def betainc(outs: tuple[Out, ...], a: View, b: View, x: View) -> tuple[Stmt, ...]:
    """The regularised incomplete beta function: the share of the integral below x. Gradient by x only.

    >>> sg.Session().run(sg.betainc(1.0, 2.0, [0.0, 0.5])).round(4)
    array([0.  , 0.75], dtype=float32)
    """
    return _each_element(outs[0], betainc_of, a, b, x)


# Modified Bessel functions.


def _i1e_grad(g: Any, y: Any, x: Any) -> tuple[Any]:
    """i0e(x) - y * (sign(x) + 1 / x), which tends to 1/2 at 0."""
    zero = ops.equal(x, 0)
    safe = ops.select(zero, 1, x)
    return (g * ops.select(zero, 0.5, bessel_i0e(x) - y * (ops.sign(x) + 1.0 / safe)),)


@elementwise(
    tf="BesselI0e", numpy=each(bessel_scaled(0)), primitive="bessel_i0e", dtypes=_DTYPES,
    samples=reals(-40, 40),
    grad=lambda g, y, x: (g * (ops.bessel_i1e(x) - ops.sign(x) * y),), grad_takes=(),
)
def bessel_i0e(x: Any) -> Any:
    """exp(-|x|) * I0(x), where I0 is the modified Bessel function of order 0.

    >>> sg.Session().run(sg.math.bessel_i0e([0.0, 1.0])).round(4)
    array([1.    , 0.4658], dtype=float32)
    """
    return scalar.bessel_i0e(x)


@elementwise(
    tf="BesselI1e", numpy=each(bessel_scaled(1)), primitive="bessel_i1e", dtypes=_DTYPES,
    samples=reals(-40, 40), grad=_i1e_grad, grad_takes=(),
)
def bessel_i1e(x: Any) -> Any:
    """exp(-|x|) * I1(x), where I1 is the modified Bessel function of order 1.

    >>> sg.Session().run(sg.math.bessel_i1e([0.0, 1.0])).round(4)
    array([0.    , 0.2079], dtype=float32)
    """
    return scalar.bessel_i1e(x)


# Neighbours.


@elementwise(
    tf="NextAfter", numpy=np.nextafter, dtypes=_DTYPES, samples=reals(), differentiable=(0,),
    grad=lambda g, y, a, b: (g, None), grad_takes=(),
)
def nextafter(x1: Any, x2: Any) -> Any:
    """The number that follows x1 on the way to x2."""
    whole, least = {4: (int32, 2.0**-149), 8: (int64, 2.0**-1074)}[x1.dtype.size]
    outwards = scalar.cast(scalar.eq(x1 < x2, x1 > 0), whole)
    # The bits of numbers of one sign are in order.
    moved = scalar.bitcast(scalar.bitcast(x1, whole) + (outwards * 2 - 1), x1.dtype)
    near = scalar.select(scalar.eq(x1, 0), scalar.copysign(least, x2), moved)
    same = scalar.select(scalar.eq(x1, x2), x2, near)
    unknown = scalar.ne(x1, x1) | scalar.ne(x2, x2)
    return scalar.select(unknown, x1 + x2, same)
