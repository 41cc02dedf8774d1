"""Compiled Fourier transforms of every kind of length against NumPy's of complex128."""

import numpy as np
import pytest

import staticgraph as sg

LENGTHS = [1, 2, 3, 4, 6, 7, 8, 11, 30, 97, 105, 343, 512, 1000]  # 11 and 97 by way of longer convolutions


def transformed(z, *functions):
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.placeholder(z.dtype, z.shape)
        made = [function(x) for function in functions]
        assert not any(kernel.effort is None for kernel in session.plan(made, {x: z}).kernels)  # no host call
        return session.run(made, {x: z})


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize(("dtype", "most"), [("complex64", 4e-7), ("complex128", 1e-15)])
def test_every_kind_of_length(rng, n, dtype, most):
    z = (rng.normal(size=(3, n)) + 1j * rng.normal(size=(3, n))).astype(dtype)
    found = transformed(z, sg.spectral.fft, sg.spectral.ifft)
    exact = z.astype(np.complex128)
    for one, other in zip(found, (np.fft.fft(exact), np.fft.ifft(exact)), strict=True):
        assert np.linalg.norm(one - other) <= most * np.linalg.norm(other)


def test_several_axes(rng):
    z = rng.normal(size=(2, 6, 10, 7)) + 1j * rng.normal(size=(2, 6, 10, 7))
    two, three, back = transformed(z, sg.spectral.fft2d, sg.spectral.fft3d, sg.spectral.ifft3d)
    np.testing.assert_allclose(two, np.fft.fft2(z), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(three, np.fft.fftn(z, axes=(1, 2, 3)), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(back, np.fft.ifftn(z, axes=(1, 2, 3)), rtol=1e-12, atol=1e-14)


def test_bits_do_not_depend_on_threads(rng, monkeypatch):
    z = (rng.normal(size=(64, 1024)) + 1j * rng.normal(size=(64, 1024))).astype(np.complex64)
    (found,) = transformed(z, sg.spectral.fft)
    monkeypatch.setenv("SG_THREADS", "1")
    np.testing.assert_array_equal(transformed(z, sg.spectral.fft)[0], found)
