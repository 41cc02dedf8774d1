"""Square roots of matrices and equations of Sylvester, compiled: matrices of every kind, and derivatives."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from tests.everywhere import check_everywhere

EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52, "complex64": 2.0**-23, "complex128": 2.0**-52}


def drawn(rng, dtype, *shape):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def root(x):
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(x.dtype, x.shape)
        fetch = sg.linalg.sqrtm(given)
        assert all(kernel.effort is not None for kernel in sess.plan(fetch, {given: x}).kernels)
        return sess.run(fetch, {given: x})


def positive(rng, dtype, n):
    """Matrices that are not normal, and whose eigenvalues have positive real parts."""
    a = drawn(rng, dtype, 2, n, n)
    return (a @ a.conj().swapaxes(-1, -2) + 0.3 * a + n * np.eye(n)).astype(dtype)


@pytest.mark.takes_long
@pytest.mark.parametrize("n", [1, 2, 3, 17, 40])
@pytest.mark.parametrize("dtype", EPSILON)
def test_the_square_is_the_matrix(n, dtype, rng):
    x = positive(rng, dtype, n)
    y = root(x)
    assert y.dtype == x.dtype
    assert np.abs(y @ y - x).max() <= 20 * (n + 3) ** 0.5 * EPSILON[dtype] * np.abs(x).max()
    assert (np.linalg.eigvals(y).real > 0).all()


ANGLE = 0.3
SPECIAL = {
    "zeros": (np.zeros((3, 3)), np.zeros((3, 3))),
    "a block of Jordan": (np.array([[4.0, 1.0], [0.0, 4.0]]), np.array([[2.0, 0.25], [0.0, 2.0]])),
    "a rotation": (
        np.array([[np.cos(ANGLE), -np.sin(ANGLE)], [np.sin(ANGLE), np.cos(ANGLE)]]),
        np.array([[np.cos(ANGLE / 2), -np.sin(ANGLE / 2)], [np.sin(ANGLE / 2), np.cos(ANGLE / 2)]]),
    ),
    "huge": (np.diag([4e300, 1e300]), np.diag([2e150, 1e150])),
    "tiny": (np.diag([4e-300, 1e-306]), np.diag([2e-150, 1e-153])),
    "no real root": (-np.eye(2), np.full((2, 2), np.nan)),
    "a complex root": (-np.eye(2) + 0j, 1j * np.eye(2)),
    "no root": (np.array([[0.0, 1.0], [0.0, 0.0]]), np.full((2, 2), np.nan)),
    "NaN": (np.array([[np.nan, 0.0], [0.0, 1.0]]), np.full((2, 2), np.nan)),
    "infinity": (np.array([[np.inf, 0.0], [0.0, 1.0]]), np.full((2, 2), np.nan)),
}


@pytest.mark.takes_long
@pytest.mark.parametrize("name", SPECIAL)
def test_special_matrices(name):
    x, wanted = SPECIAL[name]
    scale = np.nanmax(np.abs(wanted), initial=0)
    np.testing.assert_allclose(root(x), wanted, 1e-13, 1e-13 * scale)


@pytest.mark.parametrize("dtype", EPSILON)
def test_equations_of_sylvester(dtype, rng):
    a, b = positive(rng, dtype, 5), positive(rng, dtype, 8)[0]
    c = drawn(rng, dtype, 2, 5, 8)
    with sg.Graph().as_default(), sg.Session() as sess:
        x = sess.run(ops.sylvester(sg.constant(a), sg.constant(b), sg.constant(c)))
        big = sess.run(ops.sylvester(sg.constant(a * 1e30), sg.constant(b * 1e30), sg.constant(c)))
    np.testing.assert_allclose(a @ x + x @ b, c, 0, 100 * EPSILON[dtype] * np.abs(c).max())
    np.testing.assert_allclose(big * 1e30, x, 0, 100 * EPSILON[dtype] * np.abs(x).max())


@pytest.mark.takes_long
@pytest.mark.parametrize("n", [1, 3])
def test_derivatives_are_central_differences(n, rng):
    x = positive(rng, "float64", n)[0]
    weights, direction = rng.standard_normal((2, n, n))
    with sg.Graph().as_default(), sg.Session() as sess:
        given = sg.placeholder(sg.float64, [n, n])
        loss = sg.reduce_sum(weights * sg.sin(sg.linalg.sqrtm(given)))
        (first,) = sg.gradients(loss, given)
        (second,) = sg.gradients(sg.reduce_sum(first * direction), given)
        step = 1e-5

        def slope(fetch):
            ahead, behind = (sess.run(fetch, {given: x + s * direction}) for s in (step, -step))
            return (ahead - behind) / (2 * step)

        by_first, by_second = sess.run([first, second], {given: x})
        np.testing.assert_allclose(np.sum(by_first * direction), slope(loss), 1e-7)
        # The second derivative along a direction is the derivative of the first one along it.
        np.testing.assert_allclose(by_second, slope(first), 1e-6, 1e-8)


@pytest.mark.takes_long
def test_programs_with_roots_are_alike_everywhere(rng):
    a = positive(rng, "float32", 4)

    def build():
        x = sg.placeholder(sg.float32, [2, 4, 4], name="x")
        y = sg.linalg.sqrtm(x)
        return {"y": y, "dx": sg.gradients(sg.reduce_sum(y * y[:, :1]), x)[0]}

    check_everywhere(build, {"x": a}, {"x": a + np.eye(4, dtype=np.float32)})
