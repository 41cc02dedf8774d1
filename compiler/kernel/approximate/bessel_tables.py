"""The scaled Bessel functions of float32, for processors that pick numbers from a register.

All is computed in float32. The arguments up to 7 are cut into eight intervals, each with a polynomial in the
distance t from a point inside: c0 + t*(c1 + t*(c2 + ...)). The points are such that c0 is rounded by little.
Beyond, the function is a polynomial in 1/|x| over the square root of |x|. The polynomial is within 6 % of its
constant, so errors of the other terms count little. What rounding lost of the reciprocal root joins them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from staticgraph.compiler.kernel.approximate.tables import look_up, of_powers
from staticgraph.compiler.kernel.approximate.width import Width, polynomial
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.primitives import instructions

_END, _SCALE = 7.0, 15 / 7
# The intervals of x*scale + 1 begin at 2, 3, 4, 6, 8, 12, 1 and 1.5.
_POINTS_0 = (
    0.699944257736206, 1.1668764352798462, 1.8665794134140015, 2.799297332763672, 4.198653697967529,
    6.066086769104004, 0.0, 0.34988343715667725,
)
_NEAR_0 = (  # exp(-x)*I0(x) within 2**-25.7, a row for each power of t
    (0.5593264102935791, 0.426684707403183, 0.32169029116630554, 0.25284212827682495, 0.2016124576330185,
     0.1657005399465561, 1.0, 0.7265050411224365),
    (-0.3746626079082489, -0.21231743693351746, -0.10467784106731415, -0.052090927958488464,
     -0.026058726012706757, -0.014353934675455093, -1.0, -0.6013150215148926),
    (0.2427493929862976, 0.12046226859092712, 0.04654686152935028, 0.01623351499438286, 0.005152849014848471,
     0.0018791251350194216, 0.75, 0.4224125146865845),
    (-0.12540338933467865, -0.058155398815870285, -0.0196157805621624, -0.005384137853980064,
     -0.0011501373955979943, -0.00027613568818196654, -0.41666659712791443, -0.22715125977993011),
    (0.05256747454404831, 0.02344139851629734, 0.007297172676771879, 0.0017179138958454132,
     0.00026860664365813136, 4.3106476368848234e-05, 0.18228895962238312, 0.09747906774282455),
    (-0.01841728202998638, -0.007975377142429352, -0.002369887661188841, -0.0005051473272033036,
     -6.295835191849619e-05, -7.003888640610967e-06, -0.06558581441640854, -0.036472029983997345),
    (0.005549009423702955, 0.0023608796764165163, 0.0006911253440193832, 0.00013768333883490413,
     1.5382800484076142e-05, 1.2224829788465286e-06, 0.01978236250579357, 0.010906233452260494),
    (-0.0013049199478700757, -0.0008954252116382122, -0.00017253978876397014, -3.296712020528503e-05,
     -3.2826035294419853e-06, -2.0567256342474138e-07, -0.00441682618111372, 0.07158701866865158),
)
_POINTS_1 = (
    0.7000773549079895, 1.166390061378479, 1.8665035963058472, 2.8001022338867188, 4.200014591217041,
    6.067718029022217, 0.0, 0.3501008152961731,
)
_NEAR_1 = (  # exp(-x)*I1(x) within 2**-26.1, less x/2 in the interval of zero
    (0.1846785545349121, 0.21435333788394928, 0.21701332926750183, 0.200735405087471, 0.1755322962999344,
     0.15132932364940643, 0.0, 0.12524296343326569),
    (0.11080063879489899, 0.02865966036915779, -0.011582399718463421, -0.01962379366159439,
     -0.015748552978038788, -0.010592265985906124, 0.0, 0.24339738488197327),
    (-0.13342802226543427, -0.05405339226126671, -0.012302865274250507, 8.46740513225086e-05,
     0.0017020595259964466, 0.0010502103250473738, -0.5, -0.2589734196662903),
    (0.08484949916601181, 0.03564218431711197, 0.00958251766860485, 0.001486498862504959,
     -7.373269909294322e-05, -0.00010353867401136085, 0.3124999701976776, 0.1627112776041031),
    (-0.03943967446684837, -0.016594845801591873, -0.004549396224319935, -0.000806223601102829,
     -4.566943971440196e-05, 8.094232725852635e-06, -0.14583183825016022, -0.07573438435792923),
    (0.014678326435387135, 0.006148737855255604, 0.0016790899680927396, 0.000302062020637095,
     2.2616372007178143e-05, -1.9801120743068168e-08, 0.05466175824403763, 0.027944965288043022),
    (-0.0046030497178435326, -0.001917083514854312, -0.0005302163190208375, -9.451072401134297e-05,
     -7.93987692304654e-06, -2.2503481034163997e-07, -0.016986090689897537, -0.009046096354722977),
    (0.0012399813858792186, 0.0005039060488343239, 0.00014045786520000547, 2.4883780497475527e-05,
     2.0437000785022974e-06, 7.118576661468978e-08, 0.0039106509648263454, 0.016090812161564827),
)
_ROOT, _ROOT_LOW = 0.3989422917366028, -1.1335170080339907e-08  # of 1 / (2*pi)
_FAR_0 = (  # (sqrt(x)*exp(-x)*I0(x) - _ROOT - _ROOT_LOW) * x in 1/x, from 7 on; the sum within 2**-28.9
    0.049867428839206696, 0.02810058556497097, 0.026924215257167816, 0.09162307530641556,
    -0.36022934317588806, 1.9924139976501465,
)
_FAR_1 = (  # the same of I1, within 2**-28.5
    -0.14960291981697083, -0.04681107774376869, -0.03818914294242859, -0.11234818398952484,
    0.4107746481895447, -2.292546033859253,
)


def bessel_i0e(w: Width, x: Expr, numbers: int) -> Expr:
    """exp(-|x|) * I0(x)."""
    size = instructions.abs(x)
    place = _place(size)
    t, constant, others = _interval(w, size, place, _POINTS_0, _NEAR_0, numbers)
    near = instructions.fma(others, t, constant)
    return instructions.select(size < _END, near, _beyond(size, _FAR_0))


def bessel_i1e(w: Width, x: Expr, numbers: int) -> Expr:
    """exp(-|x|) * I1(x)."""
    size = instructions.abs(x)
    place = _place(size)
    t, constant, others = _interval(w, size, place, _POINTS_1, _NEAR_1, numbers)
    near = instructions.fma(others, t, instructions.select(place < 1.5, size * 0.5, constant))
    result = instructions.select(size < _END, near, _beyond(size, _FAR_1))
    return instructions.copysign(result, x)


def _place(size: Expr) -> Expr:
    return instructions.fma(size, _SCALE, 1.0)


def _interval(
    w: Width,
    size: Expr,
    place: Expr,
    points: Sequence[float],
    rows: Sequence[Sequence[float]],
    numbers: int,
) -> tuple[Expr, Expr, Expr]:
    """The distance from the point of an interval, its constant, and the polynomial of the other powers."""
    index = w.bits_of(place) >> (w.mantissa - 1)
    t = size - look_up(points, index, numbers)
    return t, look_up(rows[0], index, numbers), of_powers(t, rows[1:], index, numbers)


def _beyond(size: Expr, coefficients: Sequence[float]) -> Expr:
    """The polynomial over the square root, 0 of infinity."""
    root = instructions.sqrt(size)
    inverse = 1.0 / root
    reciprocal = inverse * inverse
    # What sqrt lost, as a part of `size`, and what the division lost: 1/sqrt(size) = inverse*(1 + lost).
    rest = instructions.fma(-root, root, size)
    lost = instructions.fma(rest * -0.5, reciprocal, instructions.fma(-root, inverse, 1.0))
    lost = instructions.select(size < math.inf, lost, 0.0)
    tail = instructions.fma(polynomial(reciprocal, coefficients), reciprocal, lost * _ROOT + _ROOT_LOW)
    return instructions.fma(inverse, _ROOT, inverse * tail)
