"""Arithmetic and functions of complex numbers as formulas of their parts, with the limits that NumPy has."""

from __future__ import annotations

import math
from collections.abc import Callable

from staticgraph.compiler.kernel.expr import Const, Expr
from staticgraph.compiler.kernel.primitives import instructions
from staticgraph.compiler.kernel.primitives.functions import FUNCTIONS

Pair = tuple[Expr, Expr]
_NAMES = "exp expm1 log log1p sin cos tan sinh cosh asinh atan2"
_exp, _expm1, _log, _log1p, _sin, _cos, _tan, _sinh, _cosh, _asinh, _atan2 = map(
    FUNCTIONS.__getitem__, _NAMES.split()
)


def _either(condition: Expr, chosen: Pair, other: Pair) -> Pair:
    real, imag = (instructions.select(condition, a, b) for a, b in zip(chosen, other, strict=True))
    return real, imag


def multiply(x: Pair, y: Pair) -> Pair:
    """x * y."""
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


def divide(x: Pair, y: Pair) -> Pair:
    """x / y by Smith's method (1962), whose intermediate results overflow only if the result is near that."""
    (a, b), (c, d) = x, y
    real_is_larger = instructions.abs(c) >= instructions.abs(d)
    larger, smaller = _either(real_is_larger, (c, d), (d, c))
    ratio = smaller / larger
    scale = 1.0 / (larger + smaller * ratio)
    first, second = _either(real_is_larger, (a, b), (b, a))
    real = (first + second * ratio) * scale
    imag = second - first * ratio
    imag = instructions.select(real_is_larger, imag, -imag) * scale
    size = instructions.abs(c)
    return _either(instructions.eq(larger, 0.0), (a / size, b / size), (real, imag))


def modulus(x: Pair) -> Expr:
    """|x|, which overflows only if it is too large itself; infinite if either part is."""
    a, b = (instructions.abs(part) for part in x)
    larger, smaller = instructions.maximum(a, b), instructions.minimum(a, b)
    ratio = smaller / instructions.select(instructions.eq(larger, 0.0), Const(1.0, larger.dtype), larger)
    size = larger * instructions.sqrt(ratio * ratio + 1.0)
    infinite = instructions.eq(a, math.inf) | instructions.eq(b, math.inf)
    return instructions.select(infinite, Const(math.inf, size.dtype), size)


def exp(x: Pair) -> Pair:
    """e ** x. A number without an imaginary part has none afterwards."""
    a, b = x
    size = _exp(a)
    turned = instructions.select(instructions.eq(size, 0.0), Const(0.0, b.dtype), b)  # 0 at any angle
    along = size * _sin(turned)
    return size * _cos(turned), instructions.select(instructions.eq(b, 0.0), b, along)


def log(x: Pair) -> Pair:
    """The principal logarithm. Next to the unit circle, it is computed from the distance to that."""
    a, b = (instructions.abs(part) for part in x)
    larger, smaller = instructions.maximum(a, b), instructions.minimum(a, b)
    near = (larger > 0.5) & (larger < 2.0)
    outside = instructions.fma(larger - 1.0, larger + 1.0, smaller * smaller)
    ratio = smaller / instructions.select(instructions.eq(larger, 0.0), Const(1.0, larger.dtype), larger)
    far = _log(larger)
    size = _log1p(instructions.select(near, outside, ratio * ratio)) * 0.5
    size = instructions.select(near, size, far + size)
    infinite = instructions.eq(a, math.inf) | instructions.eq(b, math.inf)
    return instructions.select(infinite, Const(math.inf, size.dtype), size), _atan2(x[1], x[0])


def sqrt(x: Pair) -> Pair:
    """The principal square root: its real part is not negative."""
    a, b = x
    # (|a| + |x|) / 2 may be too large, though its root is not.
    root = instructions.sqrt(modulus((a * 0.125, b * 0.125)) + instructions.abs(a) * 0.125) * 2.0
    other = instructions.abs(b) / (root * 2.0)
    real, imag = _either(a >= 0.0, (root, other), (other, root))
    zero = instructions.eq(root, 0.0)
    real, imag = _either(zero, (Const(0.0, root.dtype), b), (real, instructions.copysign(imag, b)))
    infinite = instructions.eq(instructions.abs(b), math.inf)
    return _either(infinite, (Const(math.inf, root.dtype), b), (real, imag))


def _product(a: Expr, b: Expr) -> Expr:
    """a * b, and 0 if one is 0 and the other too large for a number."""
    found = a * b
    zero = instructions.eq(a, 0.0)
    no_number = instructions.ne(found, found) & (zero | instructions.eq(b, 0.0))
    return instructions.select(no_number, instructions.select(zero, a, b), found)


def sin(x: Pair) -> Pair:
    """The sine."""
    a, b = x
    return _product(_sin(a), _cosh(b)), _product(_cos(a), _sinh(b))


def cos(x: Pair) -> Pair:
    """The cosine."""
    a, b = x
    return _product(_cos(a), _cosh(b)), -_product(_sin(a), _sinh(b))


def sinh(x: Pair) -> Pair:
    """The hyperbolic sine."""
    a, b = x
    return _product(_sinh(a), _cos(b)), _product(_cosh(a), _sin(b))


def cosh(x: Pair) -> Pair:
    """The hyperbolic cosine."""
    a, b = x
    return _product(_cosh(a), _cos(b)), _product(_sinh(a), _sin(b))


def tanh(x: Pair) -> Pair:
    """The hyperbolic tangent, by Kahan's formula (1987)."""
    a, b = x
    limit = 11.0 if a.dtype.size == 4 else 22.0
    far = instructions.abs(a) > limit
    s = _sinh(instructions.select(far, Const(0.0, a.dtype), a))
    t = _tan(b)
    beta = t * t + 1.0
    scale = 1.0 / (beta * s * s + 1.0)
    near = beta * instructions.sqrt(s * s + 1.0) * s * scale, t * scale
    distant = _exp(-2.0 * instructions.abs(a)) * 4.0 * _sin(b) * _cos(b)
    return _either(far, (instructions.copysign(Const(1.0, a.dtype), a), distant), near)


def tan(x: Pair) -> Pair:
    """The tangent: that of ix is i tanh(x)."""
    real, imag = tanh((-x[1], x[0]))
    return imag, -real


def expm1(x: Pair) -> Pair:
    """e ** x - 1."""
    a, b = x
    half = _sin(b * 0.5)
    return _expm1(a) * _cos(b) - half * half * 2.0, exp(x)[1]


def log1p(x: Pair) -> Pair:
    """The logarithm of 1 + x. Next to 0, it is computed from the distance of 1 + x to the unit circle."""
    a, b = x
    near = instructions.maximum(instructions.abs(a), instructions.abs(b)) < 0.5
    outside = instructions.fma(a, a + 2.0, b * b)
    small = _log1p(instructions.select(near, outside, Const(0.0, a.dtype))) * 0.5
    size, angle = log((a + 1.0, b))
    return instructions.select(near, small, size), angle


def power(x: Pair, y: Pair) -> Pair:
    """x ** y. It is 1 if y is 0, and 0 if x is 0 and the real part of y positive."""
    zero, one = Const(0.0, x[0].dtype), Const(1.0, x[0].dtype)
    found = exp(multiply(y, log(x)))
    empty = instructions.eq(x[0], 0.0) & instructions.eq(x[1], 0.0)
    unknown = instructions.select(y[0] > 0.0, zero, Const(math.nan, zero.dtype))
    found = _either(empty, (unknown, unknown), found)
    return _either(instructions.eq(y[0], 0.0) & instructions.eq(y[1], 0.0), (one, zero), found)


# Inverse functions, by Kahan's formulas (1987), which keep the sides of branch cuts. If a square could be too
# large for a number, they are the functions of large x: log(2 x), and 1 / x beside a right angle.


def _is_far(x: Pair) -> Expr:
    """True if 1 is nothing beside x squared."""
    limit = 2.0**30 if x[0].dtype.size == 4 else 2.0**60
    return instructions.maximum(*(instructions.abs(part) for part in x)) > limit


def _log_of_double(x: Pair) -> Pair:
    size, angle = log(x)
    return size + math.log(2.0), angle


def asinh(x: Pair) -> Pair:
    """The inverse hyperbolic sine."""
    a, b = x
    (p, q), (r, s) = sqrt((b + 1.0, -a)), sqrt((1.0 - b, a))
    near = _asinh(p * s - r * q), _atan2(b, p * r - q * s)
    size, angle = _log_of_double((instructions.abs(a), b))
    return _either(_is_far(x), (instructions.copysign(size, a), angle), near)


def asin(x: Pair) -> Pair:
    """The inverse sine: that of ix is i asinh(x)."""
    real, imag = asinh((-x[1], x[0]))
    return imag, -real


def acos(x: Pair) -> Pair:
    """The inverse cosine."""
    a, b = x
    (p, q), (r, s) = sqrt((1.0 - a, -b)), sqrt((a + 1.0, b))
    near = _atan2(p, r) * 2.0, _asinh(r * q - s * p)
    size, angle = _log_of_double((a, instructions.abs(b)))
    return _either(_is_far(x), (angle, -instructions.copysign(size, b)), near)


def acosh(x: Pair) -> Pair:
    """The inverse hyperbolic cosine."""
    a, b = x
    (p, q), (r, s) = sqrt((a - 1.0, b)), sqrt((a + 1.0, b))
    return _either(_is_far(x), _log_of_double(x), (_asinh(p * r + q * s), _atan2(q, r) * 2.0))


def atanh(x: Pair) -> Pair:
    """The inverse hyperbolic tangent."""
    a, b = x
    size = instructions.abs(a)
    apart = 1.0 - size
    along = _log1p(size * 4.0 / (apart * apart + b * b)) * 0.25
    near = instructions.copysign(along, a), _atan2(b * 2.0, apart * (size + 1.0) - b * b) * 0.5
    larger = instructions.maximum(size, instructions.abs(b))
    p, q = a / larger, b / larger
    nothing = instructions.copysign(Const(0.0, a.dtype), a)
    reciprocal = instructions.select(instructions.eq(larger, math.inf), nothing, p / (p * p + q * q) / larger)
    right = instructions.copysign(Const(math.pi / 2, b.dtype), b)
    return _either(_is_far(x), (reciprocal, right), near)


def atan(x: Pair) -> Pair:
    """The inverse tangent: that of ix is i atanh(x)."""
    real, imag = atanh((-x[1], x[0]))
    return imag, -real


FORMULAS: dict[str, Callable[..., Pair]] = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "sub": lambda x, y: (x[0] - y[0], x[1] - y[1]),
    "mul": multiply,
    "div": divide,
    "neg": lambda x: (-x[0], -x[1]),
    "pow": power,
    "exp": exp,
    "expm1": expm1,
    "log": log,
    "log1p": log1p,
    "sqrt": sqrt,
    "sin": sin,
    "cos": cos,
    "sinh": sinh,
    "cosh": cosh,
    "tan": tan,
    "tanh": tanh,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
}
