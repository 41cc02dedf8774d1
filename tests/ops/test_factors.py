"""Factors and triangular systems: errors as small as LAPACK's, the same bits in any number of threads."""

import functools
from dataclasses import replace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.generate import generate
from staticgraph.compiler.graph.dtypes import as_dtype, int64
from staticgraph.compiler.kernel.expr import Load
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.printer import kernel_text
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Store
from staticgraph.compiler.ops.linear_algebra.algorithms import elimination, factorizations, substitution
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import GUARD, each_width, guarded, inside, launch
from tests.everywhere import PLACES, Refused, check_everywhere
from tests.sessions import computed
from tests.threads import same_bits

SHAPES = [
    (1, 1),
    (2, 2),
    (6, 6),
    (7, 7),
    (16, 16),
    (17, 17),
    (63, 63),
    (130, 130),
    (5, 3, 3),
    (9, 1, 4, 4),
    (3, 21, 21),
]
DTYPES = ["float32", "float64"]


def positive_definite(shape, dtype, rng):
    x = rng.normal(size=shape)
    return (x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def error(found, wanted):
    """The error relative to the size of what is wanted, in roundings of the dtype found."""
    wide = wanted.astype(np.float64)
    return np.abs(found.astype(np.float64) - wide).max() / np.abs(wide).max() / np.finfo(found.dtype).eps


def product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_product_of_cholesky_factors_is_the_matrix(shape, dtype, rng):
    x = positive_definite(shape, dtype, rng)
    broken = np.where(np.triu(np.ones(shape[-2:]), 1) > 0, np.nan, x).astype(dtype)  # above the diagonal
    lower = computed(sg.cholesky, broken)
    assert error(product(lower, np.swapaxes(lower, -1, -2)).astype(dtype), x) < 4 + shape[-1] / 8
    assert (np.triu(lower, 1) == 0).all()


@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_product_of_triangular_factors_is_the_matrix(shape, dtype, rng):
    x = rng.normal(size=shape).astype(dtype)
    both, order = computed(sg.linalg.lu, x)
    lower, upper = np.tril(both, -1) + np.eye(shape[-1]), np.triu(both)
    assert (np.abs(lower) <= 1).all()
    wanted = np.take_along_axis(x, order[..., None].astype(int), -2)
    assert error(product(lower, upper).astype(dtype), wanted) < 4 + shape[-1] / 4


WAYS = [{"lower": lower, "adjoint": adjoint} for lower in (True, False) for adjoint in (True, False)]
COLUMNS = [1, 7, 16, 35]


@pytest.mark.takes_long
@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_triangular_systems(shape, dtype, rng):
    """Each way meets each number of columns in turn, from shape to shape."""
    turn = SHAPES.index(shape) + 2 * DTYPES.index(dtype)
    check_systems(shape, dtype, [(way, COLUMNS[(n + turn) % 4]) for n, way in enumerate(WAYS)], rng)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_triangular_systems_in_every_way(shape, dtype, rng):
    check_systems(shape, dtype, [(way, columns) for way in WAYS for columns in COLUMNS], rng)


def check_systems(shape, dtype, systems, rng):
    x = rng.uniform(-1, 1, shape) / shape[-1] + np.eye(shape[-1])
    x = x.astype(dtype)
    sides = [rng.normal(size=(*shape[:-1], columns)).astype(dtype) for _, columns in systems]
    solve, ways = sg.matrix_triangular_solve, [way for way, _ in systems]
    found = computed(lambda a, *bs: [solve(a, b, **way) for b, way in zip(bs, ways, strict=True)], x, *sides)
    for (way, columns), rhs, made in zip(systems, sides, found, strict=True):
        triangle = np.tril(x) if way["lower"] else np.triu(x)
        triangle = np.swapaxes(triangle, -1, -2) if way["adjoint"] else triangle
        worst = error(product(triangle, made).astype(dtype), rhs)
        assert worst < 8 + shape[-1] / 8, (way, columns)


@pytest.mark.takes_long
@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [3, 9, 17])
def test_adjoints_of_complex_systems(n, dtype, rng):
    """Of few right sides and of many: the adjoint of a complex matrix is more than its transpose."""
    x = (rng.normal(size=(2, n, n)) + 1j * rng.normal(size=(2, n, n))) / n + 2 * np.eye(n)
    rhs = rng.normal(size=(2, n, 35)) + 1j * rng.normal(size=(2, n, 35))
    x, rhs = x.astype(dtype), rhs.astype(dtype)
    solve = sg.matrix_triangular_solve
    for columns in (1, 35):
        lower, upper, other = computed(
            lambda x, b: (
                solve(x, b, adjoint=True),
                solve(x, b, lower=False, adjoint=True),
                sg.matrix_solve(x, b, adjoint=True),
            ),
            x,
            rhs[..., :columns],
        )
        for matrix, found in ((np.tril(x), lower), (np.triu(x), upper), (x, other)):
            wanted = np.linalg.solve(np.swapaxes(matrix, -1, -2).conj().astype("c16"), rhs[..., :columns])
            np.testing.assert_allclose(found, wanted, rtol=0, atol=300 * np.finfo(dtype).eps)


@pytest.mark.takes_long
@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_made_of_factors(shape, dtype, rng):
    x, rhs = positive_definite(shape, dtype, rng), rng.normal(size=(*shape[:-1], 3)).astype(dtype)
    x = np.flip(x, -2).copy()  # so that rows are exchanged
    inverse, solution, other, (sign, log) = computed(
        lambda x, b: (
            sg.matrix_inverse(x),
            sg.matrix_solve(x, b),
            sg.matrix_solve(x, b, adjoint=True),
            sg.linalg.slogdet(x),
        ),
        x,
        rhs,
    )
    wide = x.astype(np.float64)
    assert error(product(x, inverse).astype(dtype), np.broadcast_to(np.eye(shape[-1]), shape)) < 64
    assert error(product(x, solution).astype(dtype), rhs) < 64
    assert error(product(np.swapaxes(x, -1, -2), other).astype(dtype), rhs) < 64
    wanted = np.linalg.slogdet(wide)
    np.testing.assert_array_equal(sign, wanted[0])
    np.testing.assert_allclose(log, wanted[1], rtol=100 * np.finfo(dtype).eps)


@pytest.mark.takes_long
def test_one_matrix_serves_a_batch_of_right_sides(rng):
    for n in (3, 20):
        x, rhs = positive_definite((n, n), "float32", rng), rng.normal(size=(4, n, 2)).astype("f4")
        for function in (sg.matrix_solve, sg.matrix_triangular_solve):
            made = computed(lambda a, b: function(a[None], b), x, rhs)  # noqa: B023
            each = [computed(function, x, b) for b in rhs]
            np.testing.assert_allclose(made, np.stack(each), rtol=1e-5)


@pytest.mark.takes_long
@pytest.mark.parametrize("n", [200])
def test_bits_do_not_depend_on_the_number_of_threads(n, rng):
    x, rhs = positive_definite((n, n), "float32", rng), rng.normal(size=(n, 70)).astype("f4")
    batch = positive_definite((300, 4, 4), "float32", rng)
    same_bits(
        lambda x, b, many: (
            sg.cholesky(x),
            *sg.linalg.lu(x),
            sg.matrix_triangular_solve(x, b),
            sg.matrix_solve(x, b),
            sg.matrix_inverse(x),
            sg.matrix_inverse(many),
            sg.cholesky(many),
        ),
        x,
        rhs,
        batch,
    )


def kernel_of(name, n, dtype, local):
    """A kernel of one matrix and its results."""
    dtype = as_dtype(dtype)

    def element(i, j):
        return Load("input", (i, j), dtype)

    def put(i, j, value):
        return Store("output", (i, j), value)

    if name == "cholesky":
        body, scratch = factorizations.cholesky_factor(n, element, put, local, dtype)
    elif name == "lu":
        body, scratch = elimination.lu_factors(
            n, element, put, lambda i, number: Store("rows", (i,), number), local, dtype
        )
    elif name in ("rows", "columns"):
        body, scratch = substitution.solution_of_few(
            n, n, element, element, put, True, name == "columns", False, dtype
        )
    else:
        body, scratch = factorizations.triangular_solution(n, n, element, element, put, False, local, dtype)
    buffers = {
        "input": Buffer(dtype, (n, n)),
        "output": Buffer(dtype, (n, n), written=True),
        "rows": Buffer(int64, (n,), written=True),
    }
    return Kernel(name, {**buffers, **scratch}, body)


def matrix_of(n):
    """Return the matrix that kernels of this size get."""
    return positive_definite((n, n), "float32", np.random.default_rng(20151109))


@functools.cache
def interpreted(name, n):
    """Return what a kernel means, number by number. It takes long, and no vector takes part in it."""
    kernel, x = kernel_of(name, n, "float32", True), matrix_of(n)
    arrays = {"input": x, "output": np.zeros_like(x), "rows": np.zeros(n, np.int64)}
    interpret(kernel, arrays, backwards=True)
    return arrays["output"]


@pytest.mark.parametrize("n", [8, 10, 16, 18])
def test_nothing_is_computed_with_what_memory_held_before(n):
    """Beside few right sides are lanes without one: numbers left there may be subnormal, which are slow."""
    kernel = kernel_of("triangular", n, "float32", True)
    seen = replace(kernel.buffers["x"], local=False)
    kernel = replace(kernel, buffers=kernel.buffers | {"x": seen})
    x = np.full(seen.shape, np.nan, np.float32)
    arrays = {"input": matrix_of(n), "output": np.zeros((n, n), np.float32), "rows": np.zeros(n, np.int64)}
    interpret(kernel, {**arrays, "x": x})
    assert np.isfinite(x[0, : -(-n // 4) * 4]).all()


@pytest.mark.takes_long
@pytest.mark.by_turns("vector_bytes")
@each_width
@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("name", ["cholesky", "lu", "triangular", "rows", "columns"])
def test_chunks_in_any_order_and_vectors_of_any_width(name, local, vector_bytes):
    """As machine code whose chunks run in an order of no meaning, and interpreted number by number."""
    target = cpu_jit.host()
    n = 21 if local else 150  # of the wide vectors one block and a rest, of the narrow ones five
    kernel, x = kernel_of(name, n, "float32", local), matrix_of(n)
    code = generate(kernel, replace(target, vector_bytes=vector_bytes))
    assert local or max(phase.chunks for phase in code.phases) > 1, kernel_text(kernel)
    made = []
    for order in range(3):
        arrays = [x, np.zeros_like(x), np.zeros(n, np.int64)]
        memory = [guarded(a) for a in arrays]
        launch(code, [m.ctypes.data + GUARD for m in memory], order=order)
        made.append(inside(memory[1]).view(np.float32).reshape(n, n).copy())
    assert made[0].tobytes() == made[1].tobytes() == made[2].tobytes()
    if name == "cholesky":
        assert error(product(made[0], made[0].T).astype("f4"), x) < 4 + n / 8
    if local:
        wanted = interpreted(name, n)
        np.testing.assert_allclose(made[0], wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("n", [2, 20])
@pytest.mark.parametrize(
    ("function", "told"),
    [
        (sg.matrix_inverse, "matrix_inverse: Input is not invertible"),
        (lambda x: sg.matrix_solve(x, x), "matrix_solve: Input matrix is not invertible"),
        (
            lambda x: sg.matrix_triangular_solve(x, x),
            "matrix_triangular_solve: Input matrix is not invertible",
        ),
        (sg.cholesky, "cholesky: Cholesky decomposition was not successful"),
    ],
)
def test_one_matrix_of_a_batch_without_an_inverse(function, told, n, rng):
    x = positive_definite((3, n, n), "float32", rng)
    computed(function, x)
    x[1, 0] = x[1, :, 0] = 0.0
    with pytest.raises(sg.errors.InvalidArgumentError, match=told):
        computed(function, x)


@pytest.mark.parametrize("n", [3, 20])
def test_nan(n, rng):
    """As LAPACK has it: an inverse is of NaN, and there is no Cholesky factor."""
    x = positive_definite((n, n), "float32", rng)
    x[n - 1, n - 1] = np.nan
    assert np.isnan(computed(sg.matrix_inverse, x)).any()
    with pytest.raises(sg.errors.InvalidArgumentError, match="was not successful"):
        computed(sg.cholesky, x)


def test_a_matrix_that_only_single_precision_cannot_factorise(rng):
    """The error names the op, although NumPy finds a factor in double precision."""
    told = 0
    with sg.Graph().as_default(), sg.Session() as sess:
        x = sg.placeholder(sg.float32, [8, 8])
        factor = sg.cholesky(x)
        for _ in range(100):
            rows = rng.normal(size=(8, 7))
            matrix = (rows @ rows.T + 1e-7 * np.eye(8)).astype(np.float32)
            if np.linalg.eigvalsh(matrix.astype(np.float64))[0] < 1e-9:
                continue
            np.linalg.cholesky(matrix.astype(np.float64))
            try:
                sess.run(factor, {x: matrix})
            except sg.errors.InvalidArgumentError as error:
                assert "cholesky: Cholesky decomposition was not successful" in str(error)
                told += 1
    assert told


@pytest.mark.takes_long
@pytest.mark.parametrize("n", [3, 20])
def test_they_are_the_same_in_every_place(n, rng):
    """In a session, interpreted, from files, as an object for C and on a GPU; also if there are none."""

    def build():
        x = sg.placeholder(sg.float32, [n, n], name="x")
        b = sg.placeholder(sg.float32, [n, 2], name="b")
        return {
            "lower": sg.cholesky(x), "solution": sg.matrix_solve(x, b), "inverse": sg.matrix_inverse(x),
            "triangular": sg.matrix_triangular_solve(x, b), "q": sg.linalg.qr(x)[0],
        }  # fmt: skip

    x, rhs = positive_definite((n, n), "float32", rng), rng.normal(size=(n, 2)).astype("f4")
    runs = {"x": x, "b": rhs}, {"x": -x, "b": rhs}
    places = check_everywhere(
        build, *runs, places=(*PLACES, "gpu"), expected=[None, sg.errors.InvalidArgumentError], rtol=1e-4
    )
    assert not any(isinstance(outcomes, Refused) for outcomes in places.values())


def test_a_filter_and_its_gradient_have_no_host_call(rng):
    """A determinant and an inverse in a loop, and the derivatives of both."""
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.placeholder(sg.float32, [3, 3])

        def body(i, p, total):
            p = sg.matmul(x, sg.matmul(p, x, transpose_b=True)) + sg.eye(3)
            return i + 1, sg.matrix_inverse(p), total + sg.log(sg.matrix_determinant(p))

        loop = sg.while_loop(lambda i, *_: i < 4, body, [sg.constant(0), sg.eye(3), sg.constant(0.0)])
        slope = sg.gradients(loop[2], x)[0]
        value = rng.normal(size=(3, 3)).astype("f4")
        plan = session.plan([loop[2], slope], {x: value})
        assert [kernel.name for kernel in plan.kernels if kernel.effort is None] == []
        found, step = session.run(slope, {x: value}), np.zeros((3, 3), "f4")
        step[1, 2] = 1e-2
        apart = session.run(loop[2], {x: value + step}) - session.run(loop[2], {x: value - step})
        np.testing.assert_allclose(found[1, 2], apart / 2e-2, rtol=1e-2)


@pytest.mark.parametrize("rank", [7, 6, 5])
def test_the_derivative_of_a_determinant_of_a_singular_matrix(rank, rng):
    """Minors of a matrix of seven rows, without a host call: none is left if two ranks are missing."""
    x = rng.normal(size=(7, rank)) @ rng.normal(size=(rank, 7))
    with sg.Graph().as_default(), sg.Session() as session:
        matrix = sg.placeholder(sg.float64, [7, 7])
        slope = sg.gradients(sg.matrix_determinant(matrix), matrix)[0]
        found = session.run(slope, {matrix: x})
        plan = session.plan(slope, {matrix: x})
    assert [kernel.name for kernel in plan.kernels if kernel.effort is None] == []
    minors = [
        [np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) * (-1) ** (i + j) for j in range(7)]
        for i in range(7)
    ]
    np.testing.assert_allclose(found, minors, rtol=1e-10, atol=1e-10)


@pytest.mark.takes_long
@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
def test_orthogonal_factors_of_small_matrices_are_those_of_lapack(dtype, rng):
    """Signs included; also of columns of zeros, and of numbers whose squares vanish or overflow."""
    limit = 1e-5 if dtype in ("float32", "complex64") else 1e-13
    for rows, columns in ((1, 1), (1, 6), (6, 1), (2, 2), (5, 3), (3, 6), (6, 6)):
        x = rng.standard_normal((9, rows, columns)).astype(dtype)
        if np.dtype(dtype).kind == "c":
            x += (1j * rng.standard_normal(x.shape)).astype(dtype)
        x[0] = 0.0
        x[1, :, 0] = 0.0
        x[2, 1:] = 0.0
        x[3] *= 1e-30
        x[4] *= 1e30
        for full in (False, True):
            q, r = computed(functools.partial(sg.linalg.qr, full_matrices=full), x)
            for n, each in enumerate(x):
                expected = np.linalg.qr(each, "complete" if full else "reduced")
                size = np.abs(expected[1]).max() + 1e-37
                np.testing.assert_allclose(r[n] / size, expected[1] / size, atol=limit)
                np.testing.assert_allclose(q[n], expected[0], atol=limit)
