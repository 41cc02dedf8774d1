"""Special functions and complex numbers, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.numerics.work import Arrays, Work


def _reals(*ranges: tuple[float, float], n: int = 1_000_000) -> Any:
    def inputs(rng: np.random.Generator, small: bool) -> Arrays:
        return tuple(rng.uniform(low, high, 20 if small else n).astype("f4") for low, high in ranges)

    return inputs


def _complex(count: int, n: int = 1 << 20) -> Any:
    def inputs(rng: np.random.Generator, small: bool) -> Arrays:
        size = 20 if small else n
        return tuple(
            (rng.standard_normal(size) + 1j * rng.standard_normal(size)).astype("c8") for _ in range(count)
        )

    return inputs


def _mixture(library: Any, x: Any, y: Any) -> Any:
    return (x * y + x) * library.conj(y) / (y * y + 3.0)


WORK = {
    "igamma": Work(
        "igamma of a million", _reals((0.5, 10.0), (0.1, 15.0)),
        staticgraph=lambda sg, a, x: sg.igamma(a, x),
        scipy=lambda scipy, a, x: scipy.special.gammainc(a, x),
        torch=lambda torch, a, x: torch.special.gammainc(a, x),
        jax=lambda jax, a, x: jax.scipy.special.gammainc(a, x),
    ),
    "igammac": Work(
        "igammac of a million", _reals((0.5, 10.0), (0.1, 15.0)),
        staticgraph=lambda sg, a, x: sg.igammac(a, x),
        scipy=lambda scipy, a, x: scipy.special.gammaincc(a, x),
        torch=lambda torch, a, x: torch.special.gammaincc(a, x),
        jax=lambda jax, a, x: jax.scipy.special.gammaincc(a, x),
    ),
    "betainc": Work(
        "betainc of a million", _reals((0.3, 10.0), (0.3, 10.0), (0.0, 1.0)),
        staticgraph=lambda sg, a, b, x: sg.betainc(a, b, x),
        scipy=lambda scipy, a, b, x: scipy.special.betainc(a, b, x),
        jax=lambda jax, a, b, x: jax.scipy.special.betainc(a, b, x),
    ),
    "zeta": Work(
        "Hurwitz zeta function of a million", _reals((1.1, 10.0), (0.1, 20.0)),
        staticgraph=lambda sg, x, q: sg.zeta(x, q),
        scipy=lambda scipy, x, q: scipy.special.zeta(x, q),
        torch=lambda torch, x, q: torch.special.zeta(x, q),
        jax=lambda jax, x, q: jax.scipy.special.zeta(x, q),
    ),
    "polygamma": Work(
        "polygamma of order 2 of a million", _reals((0.1, 20.0)),
        staticgraph=lambda sg, x: sg.polygamma(2.0, x),
        scipy=lambda scipy, x: scipy.special.polygamma(2, x),
        torch=lambda torch, x: torch.special.polygamma(2, x),
        jax=lambda jax, x: jax.scipy.special.polygamma(2, x),
    ),
    "bessel_i0e": Work(
        "scaled Bessel function I0 of a million", _reals((-30.0, 30.0)),
        staticgraph=lambda sg, x: sg.math.bessel_i0e(x),
        scipy=lambda scipy, x: scipy.special.i0e(x),
        torch=lambda torch, x: torch.special.i0e(x),
        jax=lambda jax, x: jax.scipy.special.i0e(x),
    ),
    "complex_arithmetic": Work(
        "(x y + x) conj(y) / (y y + 3) of 2^20 complex numbers", _complex(2),
        staticgraph=lambda sg, x, y: _mixture(sg, x, y),
        scipy=lambda scipy, x, y: _mixture(np, x, y),
        torch=lambda torch, x, y: _mixture(torch, x, y),
        jax=lambda jax, x, y: _mixture(jax.numpy, x, y),
    ),
    "complex_functions": Work(
        "|log(exp(x) + 2)| of 2^20 complex numbers", _complex(1),
        staticgraph=lambda sg, x: sg.abs(sg.log(sg.exp(x) + 2.0)),
        scipy=lambda scipy, x: np.abs(np.log(np.exp(x) + 2)),
        torch=lambda torch, x: torch.abs(torch.log(torch.exp(x) + 2)),
        jax=lambda jax, x: jax.numpy.abs(jax.numpy.log(jax.numpy.exp(x) + 2)),
    ),
    "complex_sum": Work(
        "sum of products of 2^20 complex numbers", _complex(2),
        staticgraph=lambda sg, x, y: sg.reduce_sum(x * sg.conj(y)),
        scipy=lambda scipy, x, y: np.sum(x * np.conj(y)),
        torch=lambda torch, x, y: torch.sum(x * torch.conj(y)),
        jax=lambda jax, x, y: jax.numpy.sum(x * jax.numpy.conj(y)),
    ),
}  # fmt: skip
