"""erf and erfc."""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import float32, float64
from staticgraph.compiler.kernel.approximate.exponential import exp_of_sum
from staticgraph.compiler.kernel.approximate.width import (
    SINGLE,
    Table,
    Width,
    at_most,
    is_nan,
    polynomial,
    product,
    two_product,
)
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.primitives import instructions

_ERF: Table = {  # (erf(x) - x) / x in x**2, up to 1; of erf within 2**-29 and 2**-56
    float32: (
        0.12837916612625122, -0.3761262595653534, 0.11283578723669052, -0.026853347197175026,
        0.005187163129448891, -0.0007997884531505406, 7.807151268934831e-05,
    ),
    float64: (
        0.1283791670955126, -0.376126389031841, 0.11283791670971174, -0.0268661706480607,
        0.005223977653123648, -0.0008548328568408808, 0.0001205538765268764, -1.4926922653676906e-05,
        1.6481812361282235e-06, -1.6566047189140824e-07, 1.6079125884168524e-08, -1.674111988028271e-09,
        1.4845812916300953e-10,
    ),
}
_LOG2_ERFC = (  # log2(erfc(x)) / x from 1 to 4; of erf within 2**-31
    -1.6283535957336426, -0.9160988926887512, -0.1536417007446289, 0.03459800407290459,
    -0.005402145907282829, 0.0005013470654375851, -1.9713055735337548e-05,
)
_EXP2 = (  # 2**r within 2**-23, enough for an erfc that is added to 1
    1.0, 0.6931470036506653, 0.24022242426872253, 0.055506736040115356, 0.009671048261225224,
    0.0013276163954287767,
)
_ERFCX = (  # (1 + 2*x) * exp(x**2) * erfc(x) in (x - 4)/(x + 4), from 0.47 to 27.5, within 2**-54.5
    1.2329951186255526, -0.13962111684056258, 0.01537965210260385, 0.06809705425470039, -0.10103906603538694,
    0.09373283499814505, -0.06633036583280835, 0.037167515538881105, -0.016197733822140365,
    0.00503196998986786, -0.0007577748474250174, -0.0001992569302920997, 0.00015062801381709266,
    -2.4397680678277808e-05, -1.1238229834609318e-05, 5.70443893665643e-06, 3.1954184746951676e-07,
    -8.149244491306272e-07, 5.061449194452366e-08, 9.8320051438699e-08, -6.4866472781770304e-09,
    -7.544135135673657e-09,
)


def _near(x: Expr) -> Expr:
    return instructions.fma(polynomial(x * x, _ERF), x, x)


def erf(w: Width, x: Expr) -> Expr:
    """A polynomial up to 1; 1 - erfc beyond."""
    size = instructions.abs(x)
    far = _far32(w, size) if w is SINGLE else 1.0 - _far_complement(w, at_most(size, 6.0))
    return instructions.copysign(instructions.select(size < 1.0, _near(size), far), x)


def _far32(w: Width, size: Expr) -> Expr:
    """1 - 2**log2(erfc(x)) for x > 0.99, NaN of NaN."""
    size = at_most(size, 4.0)
    log2 = polynomial(size, _LOG2_ERFC) * size
    shifted = log2 + (w.rounder + w.bias)
    power = w.of_bits(w.exponent(w.bits_of(shifted)))
    return instructions.fma(-polynomial(log2 - (shifted - (w.rounder + w.bias)), _EXP2), power, w.const(1.0))


def _far_complement(w: Width, size: Expr) -> Expr:
    """erfc(x) for x > 0.47."""
    reciprocal = 1.0 / (size + 4.0)
    q = product(size - 4.0, reciprocal)
    # Its error counts: what is left of size - 4 - q*(size + 4), for which a product makes up.
    rest = instructions.fma(-q, size, instructions.fma(q + 1.0, w.const(-4.0), size))
    q = instructions.fma(rest, reciprocal, q)
    numerator, denominator = polynomial(q, _ERFCX), size * 2.0 + 1.0
    lost = instructions.fma(size, w.const(2.0), 1.0 - denominator)
    quotient = numerator / denominator
    rest = instructions.fma(-quotient, lost, instructions.fma(-quotient, denominator, numerator))
    square, low = two_product(size, size)
    power = exp_of_sum(w, -square, -low)
    return instructions.fma(power, quotient, power * (rest / denominator))


def erfc(w: Width, x: Expr) -> Expr:
    """1 - erf(x), without loss where erf is close to 1."""
    far = _far_complement(w, at_most(instructions.abs(x), 28.0))
    far = instructions.select(x < 0.0, 2.0 - far, far)
    result = instructions.select(instructions.abs(x) < 0.5, 1.0 - _near(x), far)
    return instructions.select(is_nan(x), x, result)
