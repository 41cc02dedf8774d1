"""Fourier transforms of open lengths: one native program for all, as exact as one for a known length.

NumPy's transforms of float64 are the witness for float32, and sums of long doubles for float64.
"""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg

pytestmark = pytest.mark.takes_long

# Products of small primes, lengths with a greater prime factor, and the least ones.
LENGTHS = (12, 1, 2, 7, 13, 16, 17, 34, 45, 64, 0, 105, 128, 143, 200, 251, 3)
ERRORS = {np.dtype("c8"): 4e-7, np.dtype("c16"): 1e-15}

BY_NAME = {
    "fft": (sg.signal.fft, np.fft.fft),
    "ifft": (sg.signal.ifft, np.fft.ifft),
    "rfft": (sg.signal.rfft, np.fft.rfft),
    "irfft": (sg.signal.irfft, np.fft.irfft),
    "fft2d": (sg.signal.fft2d, np.fft.fft2),
    "irfft2d": (sg.signal.irfft2d, np.fft.irfft2),
}


def summed(x: np.ndarray) -> np.ndarray:
    """Return the transforms of rows as sums in long doubles."""
    n = x.shape[-1]
    turns = np.outer(np.arange(n), np.arange(n)) % n / np.longdouble(n)
    angles = -2 * np.longdouble("3.14159265358979323846264338") * turns
    return x.astype(np.clongdouble) @ (np.cos(angles) + 1j * np.sin(angles))


def drawn(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


@pytest.mark.by_turns("name", "batched")
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("name", BY_NAME)
def test_one_program_takes_all_lengths(name, batched):
    make, witness = BY_NAME[name]
    spectrum = np.dtype("c8" if batched else "c16")
    real = np.dtype("f4" if batched else "f8")
    dtype = real if name == "rfft" else spectrum
    rank = 1 + name.endswith("2d") + batched
    with sg.Graph().as_default(), sg.Session(device="cpu", open_sizes=True) as session:
        x = sg.placeholder(dtype, [None] * rank)
        y = make(x)
        for n in LENGTHS:
            if n < 2 and name in ("rfft", "irfft", "irfft2d"):
                continue  # there is no such number of points
            fed = drawn((*(n % 5 + 2,) * (rank - 1), n), dtype)
            found = session.run(y, {x: fed})
            exact = witness(fed.astype("f8" if dtype.kind == "f" else "c16")) if fed.size else fed
            assert found.shape == exact.shape and found.dtype in (spectrum, real)
            error = np.linalg.norm(found - exact)
            assert error <= 2 * ERRORS[spectrum] * np.linalg.norm(exact), (name, n, error)
        assert len(session.compiles) == 1, session.compiles
        assert "NumPy" not in str(session.plan(y, {x: fed}))


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_errors_are_those_of_a_known_length(dtype):
    with sg.Graph().as_default(), sg.Session(device="cpu", open_sizes=True) as session:
        x = sg.placeholder(dtype, [None])
        y = sg.signal.fft(x)
        for n in (1000, 1001, 1009, 1024):
            fed = drawn((n,), np.dtype(dtype))
            exact = summed(fed)
            error = np.linalg.norm(session.run(y, {x: fed}) - exact) / np.linalg.norm(exact)
            assert error <= ERRORS[np.dtype(dtype)], (n, error)


def test_bits_depend_on_the_length_alone():
    """Not on the lengths that ran before, nor on the number of threads."""
    found: dict[int, set[bytes]] = {}
    for threads, order in ((1, (5, 128, 17, 2)), (2, (17, 2, 128, 5))):
        with sg.Graph().as_default():
            x = sg.placeholder(np.complex64, [None, None])
            y = sg.signal.fft(x)
            sg.set_num_threads(threads)
            with sg.Session(device="cpu", open_sizes=True) as session:
                for n in order:
                    fed = drawn((20, n), np.dtype("c8"))
                    found.setdefault(n, set()).add(session.run(y, {x: fed}).tobytes())
    assert all(len(each) == 1 for each in found.values())
