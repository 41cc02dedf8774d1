"""Compiled Fourier transforms of every kind of length against NumPy's of complex128."""

from dataclasses import replace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.generate import generate
from staticgraph.compiler.graph.dtypes import complex64, complex128, float32, float64
from staticgraph.compiler.kernel.complex_numbers.split import split_body, split_buffers
from staticgraph.compiler.ops.fourier.real_rows import half_turns, irfft_rows, planes, rfft_rows
from staticgraph.compiler.ops.fourier.rows import fft_columns, turns_of
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import GUARD, each_width, guarded, inside, launch
from tests.gpu.routines import Case
from tests.threads import same_bits

LENGTHS = [1, 2, 3, 4, 6, 7, 8, 11, 30, 97, 105, 343, 512, 1000]  # 97 by way of longer convolutions


def transformed(z, *functions):
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.placeholder(z.dtype, z.shape)
        made = [function(x) for function in functions]
        assert not any(kernel.effort is None for kernel in session.plan(made, {x: z}).kernels)  # no host call
        return session.run(made, {x: z})


@pytest.mark.takes_long
@pytest.mark.by_turns("dtype", "most")
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


def test_bits_do_not_depend_on_threads(rng):
    z = (rng.normal(size=(64, 1024)) + 1j * rng.normal(size=(64, 1024))).astype(np.complex64)
    same_bits(lambda z: [sg.spectral.fft(z)], z)


REAL_LENGTHS = [1, 2, 3, 8, 11, 30, 97, 105, 64, 194, 512, 1000, 1001]


@pytest.mark.takes_long
@pytest.mark.by_turns("dtype", "most")
@pytest.mark.parametrize("n", REAL_LENGTHS)
@pytest.mark.parametrize(("dtype", "most"), [("float32", 4e-7), ("float64", 1e-15)])
def test_real_numbers_of_every_kind_of_length(rng, n, dtype, most):
    x = rng.normal(size=(3, n)).astype(dtype)
    exact = np.fft.rfft(x.astype(np.float64))
    (found,) = transformed(x, sg.signal.rfft)
    assert np.linalg.norm(found - exact) <= most * np.linalg.norm(exact)
    z = (exact + rng.normal(size=exact.shape)).astype(found.dtype)  # both ends get imaginary parts
    z[:, [0, -1]] += 1j
    (back,) = transformed(z, lambda y: sg.signal.irfft(y, [n]))
    exact = np.fft.irfft(z.astype(np.complex128), n)
    assert back.dtype == dtype and np.linalg.norm(back - exact) <= 2 * most * np.linalg.norm(exact)


@pytest.mark.takes_long
def test_real_numbers_along_several_axes(rng):
    x = rng.normal(size=(2, 6, 10, 66))
    two, three = transformed(x, sg.signal.rfft2d, lambda y: sg.signal.rfft3d(y, [7, 8, 40]))
    np.testing.assert_allclose(two, np.fft.rfft2(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(three, np.fft.rfftn(x, (7, 8, 40), (1, 2, 3)), rtol=1e-12, atol=1e-11)
    (back,) = transformed(three, lambda y: sg.signal.irfft3d(y, [7, 8, 40]))
    np.testing.assert_allclose(back, np.fft.irfftn(three, (7, 8, 40), (1, 2, 3)), rtol=1e-12, atol=1e-12)


def test_spectra_in_time_are_one_kernel(rng):
    x = rng.normal(size=(3, 4000)).astype("f4")
    with sg.Graph().as_default(), sg.Session() as session:
        fed = sg.placeholder(sg.float32, x.shape)
        made = sg.signal.stft(fed, 512, 160)
        assert len(session.plan(made, {fed: x}).kernels) == 1
        found = session.run(made, {fed: x})
    frames = np.lib.stride_tricks.sliding_window_view(x, 512, -1)[:, ::160]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(512) / 512)
    np.testing.assert_allclose(found, np.fft.rfft(frames * window), rtol=1e-4, atol=1e-4)


@pytest.mark.takes_long
@pytest.mark.parametrize(
    "function", ["stft", "inverse_stft", "dct", "idct", "mfccs_from_log_mel_spectrograms"]
)
def test_nothing_on_top_of_transforms_leaves_the_compiled_code(rng, function):
    x = rng.normal(size=(2, 7, 64)).astype("f4")
    build = {
        "stft": lambda y: sg.signal.stft(y, 32, 16),
        "inverse_stft": lambda y: sg.signal.inverse_stft(sg.complex(y[..., :33], y[..., :33]), 64, 16),
    }.get(function, lambda y: getattr(sg.signal, function)(y))

    def gradient(y):
        return sg.gradients(sg.reduce_sum(sg.square(sg.abs(build(y)))), [y])[0]

    _, by_x = transformed(x, build, gradient)
    assert np.isfinite(by_x).all()


@pytest.mark.parametrize("batch", [0, 1, 5])
def test_an_open_batch(rng, batch):
    with sg.Graph().as_default(), sg.Session(open_sizes=True) as session:
        x = sg.placeholder(sg.float32, [None, 96])
        spectrum = sg.signal.rfft(x)
        made = [spectrum, sg.signal.irfft(spectrum), sg.signal.fft2d(sg.complex(x, x)[:, None, :])]
        for rows in (batch, 3):
            given = rng.normal(size=(rows, 96)).astype("f4")
            found = session.run(made, {x: given})
            np.testing.assert_allclose(found[0], np.fft.rfft(given), rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(found[1], given, rtol=1e-4, atol=1e-5)
            wanted = np.fft.fft(given * (1 + 1j)).reshape(rows, 1, 96)
            np.testing.assert_allclose(found[2], wanted, rtol=1e-4, atol=1e-4)
        assert len(session.compiles) == 1


PLANES = [(6, 10), (1, 17), (17, 1), (97, 20), (16, 1022), (3, 0), (64, 64)]


@pytest.mark.by_turns("dtype", "most")
@pytest.mark.parametrize(("dtype", "most"), [("complex64", 4e-7), ("complex128", 1e-15)])
def test_several_open_axes(rng, dtype, most):
    """One program for all sizes, of one kernel for all axes."""
    transforms = [sg.spectral.fft2d, sg.spectral.ifft2d, sg.spectral.fft3d, sg.spectral.ifft3d]
    exact = [
        np.fft.fft2,
        np.fft.ifft2,
        *(lambda z, f=f: f(z, axes=(1, 2, 3)) for f in (np.fft.fftn, np.fft.ifftn)),
    ]
    with sg.Graph().as_default(), sg.Session(open_sizes=True) as session:
        x = sg.placeholder(dtype, [None] * 4)
        made = [transform(x) for transform in transforms]
        for shape in PLANES:
            z = (rng.normal(size=(2, 3, *shape)) + 1j * rng.normal(size=(2, 3, *shape))).astype(dtype)
            for found, function in zip(session.run(made, {x: z}), exact, strict=True):
                wanted = function(z.astype(np.complex128)) if z.size else z
                assert found.shape == wanted.shape
                assert np.linalg.norm(found - wanted) <= most * np.linalg.norm(wanted)
        assert len(session.compiles) == 1
        assert len(session.plan(made[0], {x: z}).kernels) == 1


def test_bits_of_open_axes_do_not_depend_on_threads(rng):
    z = (rng.normal(size=(256, 300)) + 1j * rng.normal(size=(256, 300))).astype(np.complex64)
    same_bits(lambda z: [sg.spectral.fft2d(z), sg.spectral.ifft2d(z)], z, open_sizes=True)


# Rows, one of them with an odd first radix, and strips of which the last one is not whole.
KERNELS = [
    (fft_columns, (9, 120, 1), turns_of(120, False)),
    (fft_columns, (3, 105, 1), turns_of(105, False)),
    (fft_columns, (2, 24, 37), turns_of(24, False)),
    (irfft_rows, (5, 65), half_turns(128, True)),
    (rfft_rows, (5, 200), planes(200)),
]


@pytest.mark.by_turns("vector_bytes")
@each_width
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize(("op", "shape", "turns"), KERNELS)
def test_chunks_in_any_order_and_vectors_of_any_width(op, shape, turns, double, vector_bytes, rng):
    target = cpu_jit.host()
    if op is rfft_rows:
        dtype = float64 if double else float32
        x = rng.normal(size=shape)
    else:
        dtype = complex128 if double else complex64
        x = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    case = Case(op, ((dtype, x.astype(dtype.numpy)), (dtype, turns.astype(dtype.numpy))), {})
    kernel = case.kernel
    kernel = replace(kernel, buffers=split_buffers(kernel.buffers), body=split_body(kernel.body))
    code = generate(kernel, replace(target, vector_bytes=vector_bytes))
    (wanted,) = case.expected().values()
    for order in range(2):
        memory = [guarded(a) for a in (np.zeros_like(wanted), *(a for _, a in case.arrays))]
        launch(code, [m.ctypes.data + GUARD for m in memory], order=order)
        found = inside(memory[0]).view(wanted.dtype).reshape(wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13 if double else 1e-4)


@pytest.mark.parametrize("transform", [sg.signal.rfft, sg.signal.rfft2d, sg.signal.rfft3d, sg.signal.dct])
def test_transforms_of_real_numbers_refuse_complex_ones(transform):
    x = np.ones((2, 2, 2), np.complex64)
    with pytest.raises(TypeError, match="complex64, and must be float"):
        transform(x)
    with pytest.raises(TypeError, match="complex64, and must be float"):
        transform(sg.constant(x))
