"""Records exact values of special functions, in `tests/ops/special.npz`: `python tools/record_special.py`.

They come from mpmath (`pip install mpmath`), with 60 digits: P(a, x), Q(a, x) = 1 - P(a, x) and dP/da at
random places, half of them near x = a, and exponentially scaled Bessel functions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mpmath
import numpy as np

FILE = Path(__file__).resolve().parent.parent / "tests" / "ops" / "special.npz"
COUNT = 400


def lower(a: Any, x: Any) -> Any:
    """P(a, x) by its power series, whose terms are all positive."""
    term = total = mpmath.mpf(1)
    n = 0
    while term > total * mpmath.mpf(10) ** -55:
        n += 1
        term *= x / (a + n)
        total += term
    return total * mpmath.exp(a * mpmath.log(x) - x - mpmath.loggamma(a + 1))


def main() -> None:
    """Write the file."""
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
    main()
