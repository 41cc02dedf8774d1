"""tanh and erf of float32, for processors with an instruction that picks numbers from a register.

The arguments up to where the result becomes 1 are cut into eight intervals. In each the function is a
polynomial in the distance t from a point inside, f = c0 + t*(c1 + t*(c2 + ...)), and one instruction finds a
coefficient for all lanes. Nothing is divided, and no exponential is needed. The points are such that c0 is
rounded by little. In the interval of zero, f = t + t*(c1 + ...), and no other has a t above its c0.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.approximate.width import Width, at_most
from staticgraph.compiler.kernel.expr import Expr, Lookup
from staticgraph.compiler.kernel.primitives import instructions

_INTERVALS = 8
_SIGN = -(1 << 31)
_TANH_END, _TANH_SCALE = 9.2, 1.625  # their product is just below 15
_TANH_POINTS = (  # for x*scale + 1 from 2, 3, 4, 6, 8, 12, 1 and 1.5 on
    0.9229027628898621, 1.53889000415802, 2.4602267742156982, 3.6902520656585693, 5.839848518371582,
    8.278580665588379, 0.0, 0.46156635880470276,
)
_TANH = (  # of tanh within 2**-26.2, a row for each power of t
    (0.7272677421569824, 0.9119336605072021, 0.9855140447616577, 0.9987542033195496, 0.9999830722808838,
     0.9999998807907104, 0.0, 0.4313599765300751),
    (0.47108158469200134, 0.16837699711322784, 0.028762107715010643, 0.0024900403805077076,
     3.3813645131886005e-05, 2.562862562172086e-07, 7.605463481219488e-10, 0.8139285445213318),
    (-0.34260380268096924, -0.15354850888252258, -0.028344793245196342, -0.0024870072957128286,
     -3.3762607927201316e-05, -4.2222845308970136e-07, -2.2977233982146572e-07, -0.3510962426662445),
    (0.09214070439338684, 0.083900585770607, 0.01834610104560852, 0.0016538595082238317,
     2.2923864889889956e-05, 1.492477679221338e-07, -0.33332183957099915, -0.11985314637422562),
    (0.047279972583055496, -0.025338608771562576, -0.008643019013106823, -0.0008217020076699555,
     -1.157547922048252e-05, 3.33860583623391e-07, -0.00021416920935735106, 0.1687391698360443),
    (-0.05466980114579201, -0.0011281976476311684, 0.003043076256290078, 0.0003255295450799167,
     3.737082806765102e-06, 1.77495323328003e-07, 0.13519789278507233, -0.015288649126887321),
    (0.014731106348335743, 0.006243147887289524, -0.0006971198017708957, -0.000111332607048098,
     -1.3822358368997811e-06, -2.8874617896690324e-07, -0.007942932657897472, -0.0575341060757637),
    (0.00830058753490448, -0.00362481945194304, 2.8936448870808817e-05, 3.017090421053581e-05,
     9.507779736850352e-07, -1.357992687189835e-07, -0.03970276564359665, 0.03648727014660835),
)
_ERF_END, _ERF_STEP = 3.925, 0.5272531509399414
_ERF = (  # of erf within 2**-25.3, a row for each power of t
    (0.0, 0.5441202521324158, 0.8641164898872375, 0.9747101068496704, 0.9971418380737305, 0.9998071789741516,
     0.999992311000824, 0.9999998211860657),
    (0.12837916612625122, 0.8545216917991638, 0.37113097310066223, 0.09244117885828018, 0.013205092400312424,
     0.001081818132661283, 5.082767165731639e-05, 1.3695822644876898e-06),
    (-6.859543191239936e-07, -0.450548380613327, -0.39136022329330444, -0.1462199091911316,
     -0.02785000577569008, -0.002851829631254077, -0.000158760289195925, -5.204261015023803e-06),
    (-0.3760865032672882, -0.12649938464164734, 0.15136684477329254, 0.12339915335178375,
     0.03476087003946304, 0.004649939481168985, 0.0003219482605345547, 1.1960525625909213e-05),
    (-0.0007197280065156519, 0.18347977101802826, 0.05066937953233719, -0.04883302375674248,
     -0.02736636996269226, -0.005183904431760311, -0.0005314602167345583, -1.4432394891628064e-05),
    (0.11845966428518295, 9.363004210172221e-05, -0.06525694578886032, -0.006802291609346867,
     0.012441231869161129, 0.004138641525059938, 0.0004972826573066413, 2.808988756441977e-05),
    (-0.019987372681498528, -0.047670021653175354, 0.009001323953270912, 0.0161143708974123,
     -0.0014605504693463445, -0.002169898245483637, 0.0003105734067503363, -8.8140630396083e-05),
)


def tanh(w: Width, x: Expr, numbers: int) -> Expr:
    """The hyperbolic tangent. The intervals grow: there are two from each power of 2 to the next."""
    size = at_most(instructions.abs(x), _TANH_END)
    index = w.bits_of(instructions.fma(size, _TANH_SCALE, 1.0)) >> (w.mantissa - 1)
    t = size - look_up(_TANH_POINTS, index, numbers)
    return _with_sign(w, _polynomial(t, _TANH, index, numbers), x)


def erf(w: Width, x: Expr, numbers: int) -> Expr:
    """The error function. The intervals are of one size."""
    size = at_most(instructions.abs(x), _ERF_END)
    shifted = instructions.fma(size, 1 / _ERF_STEP, w.const(w.rounder))
    t = instructions.fma(shifted - w.rounder, -_ERF_STEP, size)
    return _with_sign(w, _polynomial(t, _ERF, w.bits_of(shifted), numbers), x)


def _polynomial(t: Expr, rows: Sequence[Sequence[float]], index: Expr, numbers: int) -> Expr:
    constant = look_up(rows[0], index, numbers)
    others = of_powers(t, rows[1:], index, numbers)
    return instructions.fma(others, t, instructions.select(t > constant, t, constant))


def of_powers(t: Expr, rows: Sequence[Sequence[float]], index: Expr, numbers: int) -> Expr:
    """The polynomial in `t` of the interval `index`. `rows` has the coefficients of one power in each row."""
    *others, total = (look_up(row, index, numbers) for row in rows)
    for coefficient in reversed(others):
        total = instructions.fma(total, t, coefficient)
    return total


def look_up(row: Sequence[float], index: Expr, numbers: int) -> Expr:
    """One of eight numbers, by the low bits of `index`. An instruction picks from `numbers`: 8 or 16."""
    return Lookup(tuple(row) * (numbers // _INTERVALS), index, float32)


def _with_sign(w: Width, result: Expr, x: Expr) -> Expr:
    """`result`, which is not negative, with the sign of `x`."""
    return w.of_bits(w.bits_of(result) | (w.bits_of(x) & _SIGN))
