"""Record exact values of special functions: `python -m tools.record.special [limits]`.

`tests/ops/special.npz` comes from mpmath (`pip install mpmath`), with 60 digits: P(a, x),
Q(a, x) = 1 - P(a, x) and dP/da at random places, half of them near x = a, and exponentially scaled Bessel
functions.
`tests/ops/special_limits.json`, which `limits` alone writes, comes from SciPy: arguments that are zero,
negative, infinite or NaN, and what it says the functions are there.
"""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

import numpy as np

from tools.record import TESTS

FILE = TESTS / "ops" / "special.npz"
LIMITS = FILE.with_name("special_limits.json")
COUNT = 400
ENDS = (np.nan, -np.inf, -1.5, -1.0, 0.0, 0.5, 1.0, 3.0, np.inf)


def limits() -> None:
    """Write what SciPy says at the ends of arguments."""
    from scipy import special

    functions = {
        "igamma": (special.gammainc, (ENDS, ENDS)),
        "igammac": (special.gammaincc, (ENDS, ENDS)),
        "zeta": (special.zeta, (ENDS[1:-1], ENDS)),  # of powers beyond it says what is not so
        "polygamma": (lambda n, x: special.polygamma(int(n), x), ((1.0, 2.0, 3.0), ENDS)),
        "betainc": (special.betainc, (ENDS, ENDS, (np.nan, -0.5, 0.0, 0.25, 1.0, 1.5))),
    }
    found = {
        name: [[*map(repr, at), repr(float(function(*at)))] for at in itertools.product(*arguments)]
        for name, (function, arguments) in functions.items()
    }
    LIMITS.write_text(json.dumps(found).replace("], [", "],\n[") + "\n")


def lower(a: Any, x: Any) -> Any:
    """P(a, x) by its power series, whose terms are all positive."""
    import mpmath

    term = total = mpmath.mpf(1)
    n = 0
    while term > total * mpmath.mpf(10) ** -55:
        n += 1
        term *= x / (a + n)
        total += term
    return total * mpmath.exp(a * mpmath.log(x) - x - mpmath.loggamma(a + 1))


def main() -> None:
    """Write the exact values."""
    import mpmath

    mpmath.mp.dps = 60
    rng = np.random.default_rng(0)
    a = 10 ** rng.uniform(-6, 6, COUNT)
    near = a * (1 + 3 * rng.normal(size=COUNT) / np.sqrt(a))
    x = np.where((rng.random(COUNT) < 0.5) & (near > 0), near, 10 ** rng.uniform(-6, 2.5, COUNT))
    step = mpmath.mpf(10) ** -20
    rows = []
    for each_a, each_x in zip(map(mpmath.mpf, a.tolist()), map(mpmath.mpf, x.tolist()), strict=True):
        p = lower(each_a, each_x)
        # The step is relative: near 0 the function changes over a distance of a.
        d = step * each_a
        slope = (lower(each_a + d, each_x) - lower(each_a - d, each_x)) / (2 * d)
        rows.append((float(p), float(1 - p), float(slope)))
    z = np.concatenate([[0.0, 1e-300, 30.0, 30.5, 1e10, 1e200], 10 ** rng.uniform(-3, 3, 40)])
    bessel = [
        [float(mpmath.besseli(order, each) * mpmath.exp(-each)) for order in (0, 1)]
        for each in map(mpmath.mpf, z.tolist())
    ]
    np.savez_compressed(FILE, a=a, x=x, gamma=np.array(rows), z=z, bessel=np.array(bessel))


if __name__ == "__main__":
    if sys.argv[1:] != ["limits"]:
        main()
    limits()
