"""Functions as formulas: exp, log, sin and others as
polynomials, for targets that have no vector form of them.

`approximate` replaces such primitives by expressions of simpler ones (fma, select, bit operations). They are
free of branches and cover all arguments: denormal and infinite ones, NaN, zeros of either sign. In float32
and float64 alike the results are within 2 units in the last place, as tests/kernel/test_approximate.py
measures. The polynomials are minimax fits of our own.

The one exception is sin and cos of huge arguments (beyond `_Width.turns`): these keep the primitive, behind a
select, for the code generator to call the C library in the rare case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16, float32, float64, int32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Scalar, rebuild, walk
from staticgraph.compiler.kernel.scalar import bitcast, cast


def approximate(expr: Expr) -> Expr:
    """`expr` with every function that has a formula for its dtype replaced by the formula.

    >>> from staticgraph.compiler.kernel.expr import Local
    >>> x = Local("x", float32)
    >>> approximate(scalar.sqrt(x)) is scalar.sqrt(x)
    True
    >>> any(isinstance(e, Scalar) and e.op == "exp" for e in walk(approximate(scalar.exp(x))))
    False
    """
    done: dict[Expr, Expr] = {}
    for node in walk(expr):
        children = tuple(done[c] for c in node.children)
        same = node if children == node.children else rebuild(node, children)
        done[node] = _formula(same) if isinstance(same, Scalar) and same.op in _FORMULAS else same
    return done[expr]


def _formula(node: Scalar) -> Expr:
    dtype = node.dtype
    if dtype is float16 or dtype is bfloat16:  # computed in float32, and rounded once
        return cast(_formula(Scalar(node.op, tuple(cast(x, float32) for x in node.args), float32)), dtype)
    width = _WIDTHS.get(dtype)
    if width is None or (node.op in ("erf", "pow") and width.dtype is float64):
        return node
    return _FORMULAS[node.op](width, *node.args)


@dataclass(frozen=True, slots=True)
class _Width:
    """What a formula must know about its floating type."""

    dtype: DType
    bits: DType  # the integers of the same size
    mantissa: int  # number of stored bits of it
    bias: int  # of the exponent
    rounder: float  # x + rounder - rounder is x to the nearest integer; the sum holds it in its low bits
    least: float  # the smallest normal number
    ln2: tuple[float, float]  # high part with trailing zeros, low part
    half_pi: tuple[float, float, float]
    turns: float  # the greatest argument that three parts of pi/2 can reduce
    exp_range: tuple[float, float]  # beyond, exp is 0 and inf
    exp: Sequence[float]  # (exp(r) - 1 - r) / r**2
    log: Sequence[float]
    tanh: Sequence[float]  # (tanh(x) - x) / x**3 in x**2
    sin: Sequence[float]  # (sin(r) - r) / r**3 in r**2
    cos: Sequence[float]  # (cos(r) - 1 + r**2/2) / r**4 in r**2

    def const(self, value: float) -> Const:
        return Const(value, self.dtype)

    def integer(self, value: int) -> Const:
        return Const(value, self.bits)

    def power_of_two(self, n: Expr) -> Expr:
        """2**n for an integer n within the range of normal exponents."""
        return bitcast((n + self.bias) << self.integer(self.mantissa), self.dtype)


_SINGLE = _Width(
    float32, int32, 23, 127, 12582912.0, 2.0**-126,
    ln2=(0.693145751953125, 1.428606765330187e-06),
    half_pi=(1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    turns=1e5,
    exp_range=(-104.0, 88.8),
    exp=(
        0.5000000099579033, 0.16666518651384685, 0.041666192256734014, 0.008368909974276209,
        0.0013951326815224221,
    ),
    log=(
        0.3333331050007944, -0.24999986813788203, 0.20002221442814003, -0.166692303107136,
        0.14218756809062355, -0.12384835043533943, 0.11872728409431452, -0.11786525510569672,
        0.0691175711694865,
    ),  # (log(1 + u) - u + u**2/2) / u**3
    tanh=(
        -0.3333328019985682, 0.13331383789661375, -0.05373403727865762, 0.020618285288145476,
        -0.005679509614309271,
    ),
    sin=(-0.16666654801981362, 0.008332170188909213, -0.00019516324708933956),
    cos=(0.04166664692400133, -0.001388736940546656, 2.443857712518255e-05),
)  # fmt: skip
_DOUBLE = _Width(
    float64, int64, 52, 1023, 6755399441055744.0, 2.0**-1022,
    ln2=(0.6931471803691238, 1.9082149292705877e-10),
    half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    turns=1e9,
    exp_range=(-746.0, 709.9),
    exp=(
        0.5, 0.16666666666666685, 0.04166666666666673, 0.008333333333316612, 0.0013888888888858339,
        0.00019841269897374363, 2.480158737384906e-05, 2.7557233919596116e-06, 2.755723331503277e-07,
        2.5112350962014565e-08, 2.0926947855905712e-09,
    ),
    log=(
        0.6666666666666735, 0.39999999999411245, 0.28571428743232186, 0.22222198478785765,
        0.18183569611933295, 0.153139061395154, 0.14797481423917183,
    ),  # (log((1 + t)/(1 - t)) - 2*t) / t**3 in t**2
    tanh=(
        -0.3333333333333333, 0.1333333333333313, -0.05396825396811178, 0.021869488531107466,
        -0.008863235424035304, 0.0035921266066329853, -0.0014558212988583688, 0.0005899438183854269,
        -0.0002387507294142220, 9.57008991319027e-05, -3.654501509269778e-05, 1.1719625536113345e-05,
        -2.240986874261753e-06,
    ),
    sin=(
        -0.16666666666666666, 0.008333333333333323, -0.0001984126984125499, 2.7557319214149697e-06,
        -2.5052104900717133e-08, 1.6058365211534862e-10, -7.578626252655758e-13,
    ),
    cos=(
        0.041666666666666664, -0.0013888888888888874, 2.480158730157135e-05, -2.7557319215312356e-07,
        2.0876754351663196e-09, -1.1470291608408535e-11, 4.738033942103986e-14,
    ),
)  # fmt: skip
_WIDTHS = {float32: _SINGLE, float64: _DOUBLE}

_ERF_SMALL = (  # (erf(x) - x) / x in x**2, below 0.9277
    0.12837916664167576, -0.37612633691863095, 0.11283693873089279, -0.026859267437317202,
    0.0052006269428036414, -0.0008137362696893487, 8.344938861689807e-05,
)  # fmt: skip
_ERF_LARGE = (  # log(1 - erf(x)) / x + 1, up to 4
    -0.1285520615377425, -0.6356237112373643, -0.10526595689399633, 0.02267782622391889,
    -0.002932601439222859, 5.053277242476061e-05, 4.538348064582172e-05, -4.921034843310674e-06,
)  # fmt: skip
_POW_LOG2 = (  # log2((1 + t)/(1 - t)) / t in t**2
    2.885390081789992, 0.9617966734444015, 0.5770835675290478, 0.4116736673754019, 0.34071398734819347,
)  # fmt: skip
_POW_EXP2 = (  # 2**r
    1.0, 0.6931472067028329, 0.24022650922289554, 0.05550327226669895, 0.00961805667843204,
    0.0013400428177711937, 0.00015461444724808513,
)  # fmt: skip


def _polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """c[0] + c[1]*x + c[2]*x**2 + ..., by Horner's rule."""
    total: Expr = Const(coefficients[-1], x.dtype)
    for coefficient in coefficients[-2::-1]:
        total = scalar.fma(total, x, coefficient)
    return total


def _clamp(x: Expr, low: float, high: float) -> Expr:
    """`x` in low..high; NaN stays NaN."""
    x = scalar.select(x < low, Const(low, x.dtype), x)
    return scalar.select(x > high, Const(high, x.dtype), x)


def _is_nan(x: Expr) -> Expr:
    return scalar.ne(x, x)


def _exp_parts(w: _Width, x: Expr) -> tuple[Expr, Expr]:
    """The integer n and exp(r) - 1, where x = n*log(2) + r with |r| <= log(2)/2."""
    shifted = scalar.fma(x, w.const(1 / math.log(2)), w.const(w.rounder))
    whole = shifted - w.rounder
    r = scalar.fma(whole, w.const(-w.ln2[0]), x)
    r = scalar.fma(whole, w.const(-w.ln2[1]), r)
    n = bitcast(shifted, w.bits) - bitcast(w.const(w.rounder), w.bits)
    return n, scalar.fma(_polynomial(r, w.exp), r * r, r)


def _exp(w: _Width, x: Expr) -> Expr:
    n, p = _exp_parts(w, _clamp(x, *w.exp_range))
    # In two steps, since 2**n may be denormal or beyond the largest number where the product is not.
    half = n >> w.integer(1)
    return (p + 1.0) * w.power_of_two(half) * w.power_of_two(n - half)


def _exp_normal(w: _Width, x: Expr) -> Expr:
    """exp of an argument for which neither the result nor the power of two leaves the normal range."""
    n, p = _exp_parts(w, x)
    return bitcast(bitcast(p + 1.0, w.bits) + (n << w.integer(w.mantissa)), w.dtype)


def _expm1(w: _Width, x: Expr) -> Expr:
    n, p = _exp_parts(w, _clamp(x, -0.9 * w.bias * math.log(2), w.exp_range[1]))
    half = w.power_of_two(n - 1)  # 2**n itself overflows just before the result does
    result = scalar.fma(half, p, half - 0.5) * 2.0
    tiny = scalar.abs(x) < 2.0 ** -(w.mantissa + 2)  # halving could lose bits of a denormal
    return scalar.copysign(scalar.select(tiny, x, result), x)


def _log_of_normal(w: _Width, x: Expr, exponent: Callable[[Expr], Expr]) -> Expr:
    """log(x) for positive normal x; `exponent` corrects the exponent, for an x that was scaled."""
    bits = bitcast(x, w.bits)
    e = (bits - bitcast(w.const(math.sqrt(0.5)), w.bits)) >> w.integer(w.mantissa)
    u = bitcast(bits - (e << w.integer(w.mantissa)), w.dtype) - 1.0  # sqrt(1/2) - 1 .. sqrt(2) - 1
    k = exponent(cast(e, w.dtype))
    if w.dtype is float32:
        squared = u * u
        y = _polynomial(u, w.log) * u * squared
        y = scalar.fma(k, w.const(w.ln2[1]), y)
        y = scalar.fma(squared, w.const(-0.5), y)
        return scalar.fma(k, w.const(w.ln2[0]), u + y)
    t = u / (u + 2.0)
    z = t * t
    half_square = u * u * 0.5
    y = scalar.fma(t, half_square + _polynomial(z, w.log) * z, k * w.ln2[1])
    return scalar.fma(k, w.const(w.ln2[0]), u - (half_square - y))


def _log(w: _Width, x: Expr) -> Expr:
    small = x < w.least
    shift = w.mantissa + 2
    scaled = scalar.select(small, x * 2.0**shift, x)
    y = _log_of_normal(w, scaled, lambda k: scalar.select(small, k - float(shift), k))
    y = scalar.select(scalar.eq(x, math.inf), x, y)
    y = scalar.select(scalar.eq(x, 0.0), w.const(-math.inf), y)
    return scalar.select(x >= 0.0, y, w.const(math.nan))


def _log1p(w: _Width, x: Expr) -> Expr:
    """log(u) for u = 1 + x rounded, plus what the rounding lost, to first order."""
    u = x + 1.0
    lost = scalar.select(x < 2.0 ** (w.mantissa + 2), (x - (u - 1.0)) / u, w.const(0.0))
    y = _log_of_normal(w, u, lambda k: k) + lost
    y = scalar.select(scalar.eq(x, math.inf), x, y)
    y = scalar.select(scalar.eq(x, -1.0), w.const(-math.inf), y)
    return scalar.select(x >= -1.0, scalar.copysign(y, x), w.const(math.nan))


def _tanh(w: _Width, x: Expr) -> Expr:
    squared, size = x * x, scalar.abs(x)
    near = scalar.fma(_polynomial(squared, w.tanh) * squared, x, x)
    twice = size + size
    far = 1.0 - 2.0 / (_exp_normal(w, scalar.select(twice > 40.0, w.const(40.0), twice)) + 1.0)
    result = scalar.copysign(scalar.select(size < 0.625, near, far), x)
    return scalar.select(_is_nan(x), x, result)


def _erf(w: _Width, x: Expr) -> Expr:
    squared, size = x * x, scalar.abs(x)
    near = scalar.fma(_polynomial(squared, _ERF_SMALL), x, x)
    capped = scalar.select(size > 4.0, w.const(4.0), size)
    far = 1.0 - _exp_normal(w, scalar.fma(_polynomial(capped, _ERF_LARGE), capped, -capped))
    result = scalar.copysign(scalar.select(size < 0.9277, near, far), x)
    return scalar.select(_is_nan(x), x, result)


def _sine(w: _Width, x: Expr, quarters: int) -> Expr:
    """sin(x + quarters*pi/2), for |x| up to `w.turns`."""
    shifted = scalar.fma(x, w.const(2 / math.pi), w.const(w.rounder))
    whole = shifted - w.rounder
    r = x
    for part in w.half_pi:
        r = scalar.fma(whole, w.const(-part), r)
    squared = r * r
    sine = scalar.fma(_polynomial(squared, w.sin) * squared, r, r)
    cosine = scalar.fma(
        _polynomial(squared, w.cos) * squared, squared, scalar.fma(squared, w.const(-0.5), w.const(1.0))
    )
    quadrant = bitcast(shifted, w.bits) + quarters
    odd = scalar.ne(quadrant & 1, w.integer(0))
    sign = (quadrant & 2) << w.integer(8 * w.dtype.size - 2)
    return bitcast(bitcast(scalar.select(odd, cosine, sine), w.bits) ^ sign, w.dtype)


def _sin(w: _Width, x: Expr) -> Expr:
    # Zero is copied for its sign: the reduction makes +0 of -0.
    near = scalar.select(scalar.eq(x, 0.0), x, _sine(w, x, 0))
    return scalar.select(scalar.abs(x) <= w.turns, near, Scalar("sin", (x,), w.dtype))


def _cos(w: _Width, x: Expr) -> Expr:
    return scalar.select(scalar.abs(x) <= w.turns, _sine(w, x, 1), Scalar("cos", (x,), w.dtype))


def _pow(w: _Width, a: Expr, b: Expr) -> Expr:
    """float32 through float64: 2**(b*log2|a|), the sign and the special cases after IEEE 754."""
    d = _DOUBLE
    x, y = scalar.abs(cast(a, float64)), cast(b, float64)
    bits = bitcast(x, int64)
    e = (bits - bitcast(d.const(math.sqrt(0.5)), int64)) >> d.integer(d.mantissa)
    m = bitcast(bits - (e << d.integer(d.mantissa)), float64)
    t = (m - 1.0) / (m + 1.0)
    log2 = scalar.fma(_polynomial(t * t, _POW_LOG2), t, cast(e, float64))
    log2 = scalar.select(scalar.eq(x, 0.0), d.const(-math.inf), log2)
    log2 = scalar.select(scalar.eq(x, math.inf), x, log2)
    exponent = _clamp(y * log2, -200.0, 200.0)
    shifted = exponent + d.rounder
    r = exponent - (shifted - d.rounder)
    n = bitcast(shifted, int64) - bitcast(d.const(d.rounder), int64)
    size = cast(_polynomial(r, _POW_EXP2) * d.power_of_two(n), float32)

    whole = scalar.eq(scalar.rint(b), b)
    odd = whole & scalar.ne(scalar.rint(b * 0.5), b * 0.5)
    unit = scalar.eq(scalar.abs(a), 1.0) & (whole | (a > 0.0))  # 1, also for infinite b
    size = scalar.select(unit, w.const(1.0), size)
    size = scalar.select((a < 0.0) & ~whole & (a > -math.inf), w.const(math.nan), size)
    size = scalar.select(_is_nan(a) | _is_nan(b), a + b, size)
    result = scalar.select(odd, scalar.copysign(size, a), size)
    return scalar.select(scalar.eq(b, 0.0) | scalar.eq(a, 1.0), w.const(1.0), result)


def _digamma(w: _Width, x: Expr) -> Expr:
    """In float64: recurrence up to arguments of 10, then the asymptotic series; reflection below zero."""
    d, given = _DOUBLE, x
    x = cast(x, float64)
    reflected = x < 0.0
    y = scalar.select(reflected, 1.0 - x, x)
    small = y < 10.0
    start = scalar.select(small, y, d.const(1.0))
    above, below = d.const(1.0), start  # 1/y + 1/(y+1) + ... as one fraction
    for k in range(1, 10):
        term = start + float(k)
        above, below = above * term + below, below * term
    y = scalar.select(small, y + 10.0, y)
    z = 1.0 / (y * y)
    series = _polynomial(z, (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)) * z
    result = _log_of_normal(d, y, lambda k: k) - 0.5 / y - series
    result = result - scalar.select(small, above / below, d.const(0.0))
    angle = (x - scalar.rint(x)) * math.pi
    cotangent = _sine(d, angle, 1) / _sine(d, angle, 0)
    result = scalar.select(reflected, result - cotangent * math.pi, result)
    result = scalar.select(scalar.eq(x, math.inf), x, result)
    pole = (x <= 0.0) & scalar.eq(scalar.floor(x), x)
    return cast(scalar.select(pole | _is_nan(x), d.const(math.nan), result), given.dtype)


_FORMULAS: dict[str, Callable[..., Expr]] = {
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log1p": _log1p,
    "tanh": _tanh,
    "erf": _erf,
    "sin": _sin,
    "cos": _cos,
    "pow": _pow,
    "digamma": _digamma,
}
