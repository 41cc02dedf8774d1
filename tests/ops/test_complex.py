"""Complex numbers as pairs of real ones in kernels: fused, right at the ends, and the same everywhere."""

import numpy as np
import pytest

import staticgraph as sg
from tests.everywhere import PLACES, check_everywhere

DTYPES = pytest.mark.parametrize("dtype", ["complex64", "complex128"])


def numbers(rng, shape, dtype="complex64"):
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def run(build, *arrays):
    with sg.Graph().as_default(), sg.Session() as session:
        fed = [sg.placeholder(a.dtype, a.shape) for a in arrays]
        feeds = dict(zip(fed, arrays, strict=True))
        made = build(*fed)
        return session.run(made, feeds), session.plan(made, feeds)


def test_arithmetic_of_complex_numbers_is_one_kernel(rng):
    z, w = numbers(rng, (50, 7)), numbers(rng, (50, 7))
    found, plan = run(lambda x, y: sg.reduce_sum(sg.abs((x * y + 2.0) / sg.conj(y) - sg.exp(x)), 1), z, w)
    np.testing.assert_allclose(found, np.abs((z * w + 2) / w.conj() - np.exp(z)).sum(1), rtol=2e-6)
    assert "1 kernel" in str(plan) and "NumPy" not in str(plan)


FUNCTIONS = {
    "abs": (sg.abs, np.abs),
    "angle": (sg.angle, np.angle),
    "cos": (sg.cos, np.cos),
    "cosh": (sg.cosh, np.cosh),
    "exp": (sg.exp, np.exp),
    "log": (sg.log, np.log),
    "reciprocal": (sg.reciprocal, lambda z: (1 / z).astype(z.dtype)),
    "sin": (sg.sin, np.sin),
    "sinh": (sg.sinh, np.sinh),
    "sqrt": (sg.sqrt, np.sqrt),
}


MORE = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "expm1": np.expm1, "log1p": np.log1p, "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip


@DTYPES
@pytest.mark.parametrize("name", [name for name in MORE if name[0] == "a"])
def test_inverse_functions_of_large_and_infinite_numbers(name, dtype):
    """Real and imaginary part by itself. Squares of these are too large for a number."""
    largest = float(np.finfo(dtype).max)
    parts = [0.0, -0.0, 1.0, -2.0, 1e-3, largest**0.5, -(largest**0.6), 0.9 * largest, -0.9 * largest]
    parts += [np.inf, -np.inf]
    large = [complex(a, b) for a in parts for b in parts if max(abs(a), abs(b)) > 1e3]
    z = np.array(large, dtype)
    found, _ = run(getattr(sg, name), z)
    with np.errstate(all="ignore"):
        wanted = MORE[name](z)
    tiny = float(np.finfo(dtype).tiny)  # smaller numbers may be 0
    np.testing.assert_allclose(found.real, wanted.real, rtol=1e-6, atol=tiny)
    np.testing.assert_allclose(found.imag, wanted.imag, rtol=1e-6, atol=tiny)


@pytest.mark.takes_long
@DTYPES
@pytest.mark.parametrize("name", MORE)
def test_functions_of_numbers_of_many_sizes(rng, name, dtype):
    """Against complex128, on both sides of the branch cuts; the norm of the error counts."""
    sizes = 10.0 ** rng.uniform(-6, 1, (500, 2)) * rng.choice([-1, 1], (500, 2))
    z = sizes[:, 0] + 1j * sizes[:, 1]
    z[:40].imag *= 0.0
    z = z.astype(dtype)
    found, plan = run(getattr(sg, name), z)
    wanted = MORE[name](z.astype(np.complex128))
    if name == "log1p":  # NumPy rounds 1 + z
        wanted = np.array([complex(exact_log1p(v)) for v in z.astype(np.complex128)])
    good = np.isfinite(wanted)
    error = np.abs(found[good] - wanted[good]) / np.abs(wanted[good])
    assert error.max() < (2e-5 if dtype == "complex64" else 2e-12)
    assert not any(kernel.effort is None for kernel in plan.kernels)


def exact_log1p(z):
    """The logarithm of 1 + z from a series where z is small."""
    if abs(z) > 1e-2:
        return np.log(1 + z)
    return sum((-1) ** (k + 1) * z**k / k for k in range(8, 0, -1))


@DTYPES
def test_powers(rng, dtype):
    z, w = numbers(rng, 300, dtype), numbers(rng, 300, dtype)
    w[:3], z[3:5] = [0, 2, -1], 0
    w[3:5] = [2, 1.5]
    found, plan = run(sg.pow, z, w)
    wanted = z.astype(np.complex128) ** w.astype(np.complex128)
    np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == "complex64" else 1e-12)
    assert not any(kernel.effort is None for kernel in plan.kernels)


@pytest.mark.takes_long
@DTYPES
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_at_the_ends(name, dtype):
    """Both parts are compared. Infinite arguments only count where NumPy follows no special rules of C."""
    function, meaning = FUNCTIONS[name]
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, -1e-38, 3e38, 0.999, np.inf]
    z = np.array([complex(a, b) for a in parts for b in parts], dtype)
    if name not in ("abs", "angle", "log", "sqrt"):
        z = z[np.isfinite(z)]
    found, _ = run(function, z)
    with np.errstate(all="ignore"):
        wanted = meaning(z)
    assert found.dtype == wanted.dtype
    for part in (np.real, np.imag) if found.dtype.kind == "c" else (np.asarray,):
        np.testing.assert_allclose(part(found), part(wanted), rtol=2e-6, atol=1e-40)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 31, 64, 65])
def test_every_length_and_every_other_element(rng, n):
    """The last vector of pairs ends with the array: nothing behind it is read or written."""
    z, x = numbers(rng, n), rng.normal(size=2 * n + 1).astype(np.float32)
    found, _ = run(
        lambda z, x: [z * z, z[::2], sg.real(z), x[::2] * 2.0, x[1::2] * 2.0, sg.complex(x[: n + 1], x[n:])],
        z,
        x,
    )
    wanted = [z * z, z[::2], z.real, x[::2] * 2, x[1::2] * 2, x[: n + 1] + 1j * x[n:]]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_bits_do_not_depend_on_threads(rng, monkeypatch):
    z, w = numbers(rng, 300_000), numbers(rng, 300_000)
    found, _ = run(lambda x, y: [x * y / (x + y), sg.reduce_sum(x * y)], z, w)
    monkeypatch.setenv("SG_THREADS", "1")
    again, _ = run(lambda x, y: [x * y / (x + y), sg.reduce_sum(x * y)], z, w)
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.takes_long
@DTYPES
def test_complex_programs_are_alike_everywhere(rng, dtype):
    def build():
        x = sg.placeholder(dtype, [4, 6], name="x")
        w = sg.Variable(np.full(6, 1.5 - 0.5j, dtype), name="w")
        y = sg.exp(x * w) / (x + 3.0)
        loss = sg.reduce_sum(sg.real(y * sg.conj(y)))
        (slope,) = sg.gradients(loss, [w])
        stacked = sg.concat([sg.transpose(y), sg.stack([x[0, :4]] * 2)], 0)
        return {"loss": loss, "stacked": stacked, "step": w.assign_sub(slope * 0.01).op, "slope": slope}

    feeds = [{"x": numbers(rng, (4, 6), dtype)} for _ in range(2)]
    check_everywhere(build, *feeds, places=(*PLACES, "gpu"))
