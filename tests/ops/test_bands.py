"""Solutions of tridiagonal systems: backward errors, any number of threads, any width of vectors."""

from dataclasses import replace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.generate import generate
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.expr import Load
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Store
from staticgraph.compiler.ops.linear_algebra.algorithms.bands import band_solution
from staticgraph.compiler.ops.statements.strips import whole
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import GUARD, each_width, guarded, inside, launch
from tests.threads import same_bits

DTYPES = ["float32", "float64", "complex64", "complex128"]


def drawn(rng, dtype, *shape):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x).astype(dtype)


def full(diagonals):
    """The matrices with these diagonals."""
    above, middle, below = (diagonals[..., i, :] for i in range(3))
    n = middle.shape[-1]
    made = np.zeros((*middle.shape, n), diagonals.dtype)
    i = np.arange(n)
    made[..., i, i] = middle
    made[..., i[:-1], i[1:]], made[..., i[1:], i[:-1]] = above[..., :-1], below[..., 1:]
    return made


def backward_error(diagonals, x, rhs):
    """Residuals in roundings, relative to the sizes of the matrices and the solutions."""
    wide = np.complex128 if np.iscomplexobj(x) else np.float64
    t, x, rest = full(diagonals).astype(wide), x.astype(wide), rhs.astype(wide)
    scale = np.linalg.norm(t, axis=(-2, -1)) * np.linalg.norm(x, axis=(-2, -1))
    return (np.linalg.norm(rest - t @ x, axis=(-2, -1)) / scale).max() / np.finfo(diagonals.dtype).eps


def solve(diagonals, rhs, **options):
    with sg.Graph().as_default(), sg.Session() as session:
        feeds = [sg.placeholder(a.dtype, a.shape) for a in (diagonals, rhs)]
        made = sg.linalg.tridiagonal_solve(*feeds, **options)
        assert all(k.effort is not None for k in session.plan(made).kernels)
        return session.run(made, dict(zip(feeds, (diagonals, rhs), strict=True)))


@pytest.mark.takes_long
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, columns", [((3, 2), 3), ((3, 40), 37), ((5, 3, 9), 2), ((2, 2, 3, 17), 16)])
def test_the_error_is_a_few_roundings(shape, columns, dtype, rng):
    diagonals, rhs = drawn(rng, dtype, *shape), drawn(rng, dtype, *shape[:-2], shape[-1], columns)
    assert backward_error(diagonals, solve(diagonals, rhs), rhs) < 4
    diagonals[..., 1, :] += 8
    assert backward_error(diagonals, solve(diagonals, rhs, partial_pivoting=False), rhs) < 4


def test_zeros_on_the_diagonal_need_exchanges(rng):
    diagonals, rhs = drawn(rng, "float64", 3, 8), drawn(rng, "float64", 8, 1)
    diagonals[1] = 0
    assert backward_error(diagonals, solve(diagonals, rhs), rhs) < 4
    assert not np.isfinite(solve(diagonals, rhs, partial_pivoting=False)).all()


def test_a_singular_system_has_no_finite_solution():
    diagonals = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert not np.isfinite(solve(diagonals, np.array([[1.0], [2.0]]))).any()


def test_bits_do_not_depend_on_the_number_of_threads(rng):
    diagonals, rhs = drawn(rng, "float32", 3, 500), drawn(rng, "float32", 500, 300)
    same_bits(lambda *given: [sg.linalg.tridiagonal_solve(*given)], diagonals, rhs, counts=(1, 2, 5))


@pytest.mark.by_turns("vector_bytes")
@each_width
@pytest.mark.parametrize("columns", [1, 20])
def test_vectors_of_any_width(vector_bytes, columns, rng):
    target = cpu_jit.host()
    n = 11
    body, scratch = band_solution(
        n, columns,
        lambda which, i: Load("diagonals", (whole(which), i), float32),
        lambda i, j: Load("rhs", (i, j), float32),
        lambda i, j, x: Store("output", (i, j), x),
        True, False, float32,
    )  # fmt: skip
    buffers = {
        "diagonals": Buffer(float32, (3, n)),
        "rhs": Buffer(float32, (n, columns)),
        "output": Buffer(float32, (n, columns), written=True),
    }
    code = generate(Kernel("bands", {**buffers, **scratch}, body), replace(target, vector_bytes=vector_bytes))
    arrays = drawn(rng, "float32", 3, n), drawn(rng, "float32", n, columns), np.zeros((n, columns), "f4")
    for order in range(2):
        memory = [guarded(a) for a in arrays]
        launch(code, [m.ctypes.data + GUARD for m in memory], order=order)
        made = inside(memory[-1]).view(np.float32).reshape(n, columns)
        assert backward_error(arrays[0], made, arrays[1]) < 4
