"""Functions of the normal and Laplace distributions that stay accurate far out in the tails."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import staticgraph as sg

# Below the first `log_ndtr` is a series, above the second `-ndtr(-x)`, in single and double precision.
_TAILS = {"float32": (-10.0, 5.0), "float64": (-20.0, 8.0)}


def ndtr(x: Any) -> sg.Tensor:
    """The probability that a standard normal number is at most x."""
    w = x * math.sqrt(0.5)
    z = sg.abs(w)
    tail = sg.erfc(z)
    return 0.5 * sg.where_v2(z < math.sqrt(0.5), 1.0 + sg.erf(w), sg.where_v2(w > 0.0, 2.0 - tail, tail))


def log_ndtr(x: Any) -> sg.Tensor:
    """`log(ndtr(x))`, which does not underflow."""
    lower, upper = _TAILS[x.dtype.name]
    middle = sg.log(ndtr(sg.maximum(x, lower)))
    return sg.where_v2(
        x > upper, -ndtr(-x), sg.where_v2(x > lower, middle, _log_ndtr_series(sg.minimum(x, lower)))
    )


def _log_ndtr_series(x: Any) -> sg.Tensor:
    """Three terms of the asymptotic series for x far below zero."""
    square = x * x
    series = 1.0 - 1.0 / square + 3.0 / square**2 - 15.0 / square**3
    return -0.5 * square - sg.log(-x) - 0.5 * math.log(2 * math.pi) + sg.log(series)


# Rational approximations of the inverse in three ranges (S. L. Moshier's Cephes), highest power first.
_MIDDLE = (
    (-5.99633501014107895267e1, 9.80010754185999661536e1, -5.66762857469070293439e1,
     1.39312609387279679503e1, -1.23916583867381258016e0),
    (1.0, 1.95448858338141759834e0, 4.67627912898881538453e0, 8.63602421390890590575e1,
     -2.25462687854119370527e2, 2.00260212380060660359e2, -8.20372256168333339912e1,
     1.59056225126211695515e1, -1.18331621121330003142e0),
)
_TAIL = (
    (4.05544892305962419923e0, 3.15251094599893866154e1, 5.71628192246421288162e1, 4.40805073893200834700e1,
     1.46849561928858024014e1, 2.18663306850790267539e0, -1.40256079171354495875e-1,
     -3.50424626827848203418e-2, -8.57456785154685413611e-4),
    (1.0, 1.57799883256466749731e1, 4.53907635128879210584e1, 4.13172038254672030440e1,
     1.50425385692907503408e1, 2.50464946208309415979e0, -1.42182922854787788574e-1,
     -3.80806407691578277194e-2, -9.33259480895457427372e-4),
)
_FAR_TAIL = (
    (3.23774891776946035970e0, 6.91522889068984211695e0, 3.93881025292474443415e0, 1.33303460815807542389e0,
     2.01485389549179081538e-1, 1.23716634817820021358e-2, 3.01581553508235416007e-4,
     2.65806974686737550832e-6, 6.23974539184983293730e-9),
    (1.0, 6.02427039364742014255e0, 3.67983563856160859403e0, 1.37702099489081330271e0,
     2.16236993594496635890e-1, 1.34204006088543189037e-2, 3.28014464682127739104e-4,
     2.89247864745380683936e-6, 6.79019408009981274425e-9),
)


def _ratio(x: Any, ratio: tuple[tuple[float, ...], tuple[float, ...]]) -> Any:
    above, below = (np.array(terms).astype(x.dtype.as_numpy_dtype).tolist() for terms in ratio)
    return sg.polyval([sg.constant(c, x.dtype) for c in above], x) / sg.polyval(
        [sg.constant(c, x.dtype) for c in below], x
    )


def ndtri(p: Any) -> sg.Tensor:
    """The inverse of `ndtr`: -inf at 0 and inf at 1."""
    near_one = p > -math.expm1(-2.0)
    nearer = sg.where_v2(near_one, 1.0 - p, p)
    safe = sg.where_v2(nearer <= 0.0, 0.5, nearer)  # so that no derivative is NaN where p is 0 or 1

    centred = safe - 0.5
    square = centred * centred
    middle = -math.sqrt(2.0 * math.pi) * (centred + centred * square * _ratio(square, _MIDDLE))

    z = sg.sqrt(-2.0 * sg.log(safe))
    correction = sg.where_v2(z >= 8.0, _ratio(1.0 / z, _FAR_TAIL), _ratio(1.0 / z, _TAIL)) / z
    tail = z - sg.log(z) / z - correction

    x = sg.where_v2(safe > math.exp(-2.0), middle, tail)
    x = sg.where_v2(p > 1.0 - math.exp(-2.0), x, -x)
    infinity = sg.constant(np.inf, p.dtype)
    return sg.where_v2(p <= 0.0, -infinity, sg.where_v2(p >= 1.0, infinity, x))


def log_cdf_laplace(x: Any) -> sg.Tensor:
    """The logarithm of the probability that a standard Laplace number is at most x."""
    above = sg.log1p(-0.5 * sg.exp(-sg.maximum(x, 0.0)))
    return sg.where_v2(x < 0.0, x - math.log(2.0), above)
