"""Shorter forms with a larger error, in float32: one quotient of two polynomials, no exponential.

tools/accuracy/ulp.py measures them with `SG_MATH=fast`; docs/accuracy.md has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence

from staticgraph.compiler.kernel.approximate.width import Width, at_least, at_most, polynomial
from staticgraph.compiler.kernel.expr import Expr

_TANH_END = 9.02  # where the result becomes 1
_TANH_ABOVE = (  # polynomials in x**2, their quotient is tanh(x) / x within 2**-25.5
    0.999999979, 0.13379728, 0.00349404616, 2.05836528e-05, 1.33192691e-08,
)
_TANH_BELOW = (1.0, 0.467130432, 0.0258711184, 0.000328311102, 7.76210882e-07)
_ERF_END = 3.919
_ERF_ABOVE = (  # polynomials in x**2, their quotient is erf(x) / x
    1.1283791461396253, 0.19043812732874818, 0.052752367644385, 0.0037667637233648877,
    0.0002848733798368182, 2.0494224267919157e-06,
)
_ERF_BELOW = (
    1.0, 0.5021041378398549, 0.11412169047382928, 0.014971621563193935, 0.0011627432049914675,
    3.808425459476737e-05,
)


def _quotient(x: Expr, end: float, above: Sequence[float], below: Sequence[float]) -> Expr:
    x = at_most(at_least(x, -end), end)
    z = x * x
    return at_most(at_least(x * polynomial(z, above) / polynomial(z, below), -1.0), 1.0)


def tanh(w: Width, x: Expr) -> Expr:
    """The hyperbolic tangent."""
    return _quotient(x, _TANH_END, _TANH_ABOVE, _TANH_BELOW)


def erf(w: Width, x: Expr) -> Expr:
    """The error function."""
    return _quotient(x, _ERF_END, _ERF_ABOVE, _ERF_BELOW)
