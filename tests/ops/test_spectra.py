"""Eigenvalues and singular values: errors as small as LAPACK's, the same bits in any number of threads."""

from dataclasses import replace

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.generate import generate
from staticgraph.compiler.graph.dtypes import as_dtype
from staticgraph.compiler.kernel.complex_numbers.split import split_body, split_buffers
from staticgraph.compiler.kernel.expr import Load
from staticgraph.compiler.kernel.interpret import interpret
from staticgraph.compiler.kernel.stmt import Buffer, Kernel, Store
from staticgraph.compiler.ops.linear_algebra.algorithms import (
    bidiagonal,
    implicit_shifts,
    jacobi,
    tridiagonal,
)
from staticgraph.runtime.cpu import jit as cpu_jit
from tests.codegen.native import GUARD, each_width, guarded, inside, launch
from tests.everywhere import PLACES, Refused, check_everywhere
from tests.sessions import computed
from tests.threads import same_bits

pytestmark = pytest.mark.takes_long

DTYPES = ["float32", "float64"]
# One alone or of a batch, small or large, of whole vectors or not, in batches of whole vectors or not.
SHAPES = [
    (1, 1), (2, 2), (8, 8), (9, 9), (17, 17), (64, 64), (100, 100),
    (40, 5, 5), (2, 8, 3, 3), (3, 7, 16, 16), (4, 24, 24), (3, 33, 33),
]  # fmt: skip
REPEATS = {(2, 2), (17, 17), (64, 64), (4, 24, 24)}  # of the kinds of others


def shapes(*more):
    return [pytest.param(s, marks=[pytest.mark.slow] if s in REPEATS else []) for s in (*SHAPES, *more)]


def transposed(x):
    """The adjoints of matrices."""
    return np.swapaxes(x, -1, -2).conj()


def roundings(off, dtype, scale=1.0):
    """The largest distance from zero, in roundings of the dtype, as parts of a scale for each matrix."""
    sizes = np.abs(off).max(axis=(-2, -1))
    return (sizes / scale).max() / np.finfo(dtype).eps


def size(x):
    """The Frobenius norm of each matrix, 1 of one of zeros."""
    norm = np.linalg.norm(x, axis=(-2, -1))
    return np.where(norm > 0, norm, 1)


def wide(*arrays):
    return [a.astype(np.complex128 if a.dtype.kind == "c" else np.float64) for a in arrays]


def check_eigenvalues(x, values, vectors, most):
    """Values in order, vectors that are orthogonal and that a matrix only stretches."""
    dtype = x.dtype
    x, values, vectors = wide(x, values, vectors)
    assert (np.diff(values.real) >= 0).all() and not values.imag.any()
    assert roundings(x @ vectors - vectors * values[..., None, :], dtype, size(x)) < most
    assert roundings(transposed(vectors) @ vectors - np.eye(x.shape[-1]), dtype) < most


def check_singular_values(x, values, left, right, most):
    """Values in order, vectors that are orthogonal and whose products are the matrix."""
    dtype, k = x.dtype, values.shape[-1]
    x, values, left, right = wide(x, values, left, right)
    assert (np.diff(values) <= 0).all() and (values >= 0).all()
    product = (left[..., :k] * values[..., None, :]) @ transposed(right[..., :k])
    assert roundings(product - x, dtype, size(x)) < most
    for vectors in (left, right):
        assert roundings(transposed(vectors) @ vectors - np.eye(vectors.shape[-1]), dtype) < most


@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", shapes())
def test_eigenvalues(shape, dtype, rng):
    x = rng.normal(size=shape)
    x = ((x + transposed(x)) / 2).astype(dtype)
    broken = np.where(np.triu(np.ones(shape[-2:]), 1) > 0, np.nan, x).astype(dtype)  # above the diagonal
    (values, vectors), alone = computed(lambda x: (sg.linalg.eigh(x), sg.linalg.eigvalsh(x)), broken)
    check_eigenvalues(x, values, vectors, 12 + shape[-1] / 4)
    wanted = np.linalg.eigvalsh(x.astype(np.float64))  # five roundings off where OpenBLAS has AVX-512
    for found in (values, alone):
        assert roundings((found - wanted)[..., None], dtype, size(x)) < 8 + shape[-1] / 8


@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", shapes((30, 20), (3, 5, 9), (2, 40, 33), (1, 7), (7, 1)))
def test_singular_values(shape, dtype, rng):
    x = rng.normal(size=shape).astype(dtype)
    (values, left, right), (_, *square), alone = computed(
        lambda x: (sg.svd(x), sg.svd(x, full_matrices=True), sg.svd(x, compute_uv=False)), x
    )
    most = 12 + max(shape[-2:]) / 4
    check_singular_values(x, values, left, right, most)
    check_singular_values(x, values, *square, most)
    assert [v.shape[-2:] for v in square] == [(n, n) for n in shape[-2:]]
    wanted = np.linalg.svd(x.astype(np.float64), compute_uv=False)
    for found in (values, alone):
        assert roundings((found - wanted)[..., None], dtype, size(x)) < 4 + max(shape[-2:]) / 8


MORE_SHAPES = [(1, 1), (2, 2), (9, 9), (30, 20)]


@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "shape",
    [(4, 8, 8), (50, 50), (3, 5, 9), *(pytest.param(s, marks=pytest.mark.slow) for s in MORE_SHAPES)],
)
def test_complex_matrices(shape, dtype, rng):
    """The numbers above the diagonal and imaginary parts on it are not read; vectors have NumPy's phase."""
    x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    most = 12 + max(shape[-2:]) / 4
    singular, alone = computed(lambda x: (sg.svd(x), sg.svd(x, compute_uv=False)), x)
    check_singular_values(x, *singular, most)
    vectors = singular[1 if shape[-2] < shape[-1] else 2]
    first = np.abs(vectors) >= 0.3 * np.abs(vectors).max(axis=-2, keepdims=True)
    phases = np.take_along_axis(vectors, first.argmax(axis=-2)[..., None, :], -2)
    assert (phases.real > 0).all() and np.abs(phases.imag).max() < 1e-6
    assert roundings((singular[0] - alone)[..., None], alone.dtype, size(x)) < most
    if shape[-1] == shape[-2]:
        x = ((x + transposed(x)) / 2).astype(dtype)
        n = np.arange(shape[-1])
        broken = np.where(n[:, None] < n, np.nan, x + 1j * np.eye(shape[-1])).astype(dtype)
        (values, vectors), alone = computed(lambda x: (sg.linalg.eigh(x), sg.linalg.eigvalsh(x)), broken)
        check_eigenvalues(x, values, vectors, most)
        assert roundings((values - alone)[..., None], dtype, size(x)) < most


def hard(n, rng):
    """Matrices of repeated values, of low rank, of very different rows, and of one block after the other."""
    steps = 10.0 ** np.linspace(-12, 0, n)
    distance = np.abs(np.arange(n) - n // 2)
    yield from (np.zeros((n, n)), np.eye(n), np.eye(n)[::-1], np.ones((n, n)), np.diag(np.arange(n) - 2.0))
    yield from (np.diag(np.ones(n - 1), 1), np.eye(n) + np.diag(np.ones(n - 1), 1))
    yield from (rng.normal(size=(n, k)) @ rng.normal(size=(k, n)) for k in (1, 3))
    yield from (steps[:, None] * rng.normal(size=(n, n)), rng.normal(size=(n, n)) * steps[::-1])
    yield steps[:, None] * rng.normal(size=(n, n)) * steps
    yield np.diag(distance) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    yield 1 / (1.0 + np.arange(n)[:, None] + np.arange(n))
    yield np.kron(np.eye(n), [[0.0, 1.0], [-1.0, 0.0]])[:n, :n]
    yield np.where(np.arange(n)[:, None] == n // 2, 0, rng.normal(size=(n, n)))


@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [5, 20, 70])
def test_hard_matrices(n, dtype, rng):
    """Each alone, and all as a batch, whose matrices do not change what becomes of each other."""
    many = np.stack([*hard(n, rng)]).astype(dtype)
    symmetric = ((many + transposed(many)) / 2).astype(dtype)
    check_eigenvalues(symmetric, *computed(sg.linalg.eigh, symmetric), 12 + n / 2)
    check_singular_values(many, *computed(sg.svd, many), 12 + n / 2)
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.placeholder(dtype, [n, n])
        both = sg.linalg.eigh(x), sg.svd(x)
        for each in (symmetric[-1], *symmetric[:4], *symmetric[7:9]):
            values, singular = session.run(both, {x: each})
            check_eigenvalues(each, *values, 12 + n / 2)
            check_singular_values(each, *singular, 12 + n / 2)


@pytest.mark.by_turns("dtype", "scales")
@pytest.mark.parametrize("n", [4, 40])
@pytest.mark.parametrize("dtype, scales", [("float32", (2e36, 1e-37)), ("float64", (1e306, 1e-300))])
def test_scales_at_the_ends_of_a_dtype(n, dtype, scales, rng):
    """Also in QR decompositions: squares of the numbers overflow, or vanish."""
    x = rng.normal(size=(n, n))
    for scale in scales:
        large = (x * scale).astype(dtype)
        back = large.astype(np.float64) / scale
        values, (s, u, v), (q, r) = computed(
            lambda x: (sg.linalg.eigh(x + sg.transpose(x)), sg.svd(x), sg.linalg.qr(x)), large
        )
        s, r = s.astype(np.float64) / scale, r.astype(np.float64) / scale
        check_singular_values(back.astype(dtype), s, u, v, 12 + n)
        assert roundings(q.astype(np.float64) @ r - back, dtype, size(back)) < 12 + n
        wanted = np.linalg.eigvalsh(back + back.T)
        found = values[0].astype(np.float64) / scale
        assert roundings((found - wanted)[..., None], dtype, size(back)) < 12 + n


@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("shape", [(3, 3), (30, 30), (2, 3, 3), (2, 30, 30)])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_numbers_that_are_not_finite(shape, dtype):
    """A matrix with NaN or infinity has no eigenvalues and no SVD. One session takes both."""
    x = sg.placeholder(dtype, shape)
    eigen = "Self-adjoint eigen decomposition was"
    told = {
        sg.linalg.eigh(x): eigen,
        sg.linalg.eigvalsh(x): eigen,
        sg.svd(x, compute_uv=False): "svd: The singular value decomposition was",
    }
    with sg.Session() as session:
        for fetch, text in told.items():
            for wrong in (np.nan, np.inf):
                bad = np.broadcast_to(np.eye(shape[-1], dtype=dtype), shape).copy()
                bad[..., -1, -1][(0,) * (bad.ndim - 2)] = wrong
                with pytest.raises(sg.errors.InvalidArgumentError, match=text):
                    session.run(fetch, {x: bad})


def test_vectors_of_large_matrices_are_as_orthogonal_as_lapacks(rng):
    """They are rotated hundreds of times, and rounded a tenth as often."""
    x = rng.normal(size=(300, 300)).astype("f4")
    symmetric = (x + x.T) / 2
    (values, vectors), (singular, left, right) = computed(
        lambda x, y: (sg.linalg.eigh(y), sg.svd(x)), x, symmetric
    )
    eps = np.finfo("f4").eps
    for matrix, u, s, v in ((symmetric, vectors, values, vectors), (x, left, singular, right)):
        u, s, v = wide(u, s, v)
        assert np.linalg.norm((u * s) @ v.T - matrix) / np.linalg.norm(matrix) < 8.5 * eps  # 8.6 is LAPACK's
        for each in (u, v):
            assert np.linalg.norm(each.T @ each - np.eye(300)) / np.sqrt(300) < 7.5 * eps  # 8.7


@pytest.mark.parametrize("n", [33, 70])
def test_accumulated_rotations_do_not_depend_on_threads(n, rng, monkeypatch):
    """Of a matrix whose rows are fewer than those of two windows, or just more."""
    monkeypatch.setattr(implicit_shifts, "_MANY", 30)
    many = np.stack([*hard(n, rng), rng.normal(size=(n, n))]).astype("f4")
    symmetric = ((many + transposed(many)) / 2).astype("f4")
    made = same_bits(
        lambda x, y, z: (*sg.svd(x), *sg.linalg.eigh(y), *sg.svd(z)),
        many, symmetric[-1], many[-1], counts=(1, 3),
    )  # fmt: skip
    check_singular_values(many, *made[:3], 12 + n / 2)
    check_eigenvalues(symmetric[-1], *made[3:5], 12)
    check_singular_values(many[-1], *made[5:], 12)


def test_vectors_of_an_open_number_of_rows_are_rotated_as_those_of_a_known_one_are(rng):
    """One by one up to a number of rows, accumulated from there on."""
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.placeholder(sg.float32, [None, None])
        made = sg.linalg.eigh(x)
        for n in (implicit_shifts._MANY - 1, implicit_shifts._MANY):
            array = rng.normal(size=(n, n)).astype("f4")
            array += transposed(array)
            values, vectors = session.run(made, {x: array})
            known = computed(sg.linalg.eigh, array)
            np.testing.assert_array_equal(values, known[0])
            np.testing.assert_array_equal(vectors, known[1])


def test_bits_do_not_depend_on_the_number_of_threads(rng):
    x, many = rng.normal(size=(150, 150)).astype("f4"), rng.normal(size=(300, 6, 6)).astype("f4")
    large = rng.normal(size=(5, 40, 40)).astype("f4")
    same_bits(lambda *xs: [part for x in xs for part in (*sg.linalg.eigh(x), *sg.svd(x))], x, many, large)


def test_batches_of_open_size(rng):
    """Of more matrices than lanes, of fewer, and of none."""
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.placeholder(sg.float32, [None, 2, 5, 5])
        made = [*sg.linalg.eigh(x), *sg.svd(x)]
        for count in (19, 1, 8, 0):
            array = rng.normal(size=(count, 2, 5, 5)).astype("f4")
            array += transposed(array)
            values, vectors, *singular = session.run(made, {x: array})
            assert values.shape == (count, 2, 5) and vectors.shape == array.shape
            if count:
                check_eigenvalues(array, values, vectors, 12)
                check_singular_values(array, *singular, 12)


def kernel_of(name, n, dtype, local):
    """A kernel of one matrix, or of a batch of five for rotations, and its results."""
    dtype = as_dtype(dtype)

    def put(buffer):
        return lambda *at_value: Store(buffer, at_value[:-1], at_value[-1])

    def put_of(buffer):
        return lambda batch, *at_value: Store(buffer, (*batch, *at_value[:-1]), at_value[-1])

    shape = (n, n)
    if name == "tridiagonal":
        body, scratch = tridiagonal.symmetric_eigenvalues(
            n, lambda i, j: Load("input", (i, j), dtype), put("output"), put("output_right"), local, dtype
        )
    elif name == "bidiagonal":
        puts = put("output_left"), put("output_right")
        body, scratch = bidiagonal.singular_values(
            n, lambda i, j: Load("input", (i, j), dtype), put("output"), puts, local, dtype
        )
    else:
        symmetric, shape = name == "eigenvalues", (5, n, n)
        made = jacobi.decomposed(
            n, (5,), lambda batch, i, j: Load("input", (*batch, i, j), dtype), put_of("output"),
            None if symmetric else put_of("output_left"), put_of("output_right"), symmetric, dtype,
        )  # fmt: skip
        body, scratch = made.body, made.scratch
    buffers = {
        "input": Buffer(dtype, shape),
        "output": Buffer(dtype.real_dtype, shape[:-1], written=True),
        "output_left": Buffer(dtype, shape, written=True),
        "output_right": Buffer(dtype, shape, written=True),
    }
    return Kernel(name, {**buffers, **scratch}, body), shape


@pytest.mark.by_turns("vector_bytes")
@each_width
@pytest.mark.parametrize(
    "name, local",
    [
        ("tridiagonal", False),
        ("bidiagonal", True),
        ("bidiagonal", False),
        ("accumulated tridiagonal", False),
        ("accumulated bidiagonal", True),
        ("complex tridiagonal", True),
        ("complex bidiagonal", True),
        ("eigenvalues", True),
        ("singular values", True),
    ],
)
def test_chunks_in_any_order_and_vectors_of_any_width(name, local, vector_bytes, rng, monkeypatch):
    """As machine code whose chunks run in an order of no meaning, and interpreted number by number."""
    target = cpu_jit.host()
    dtype = "complex64" if name.startswith("complex") else "float32"
    if name.startswith("accumulated"):
        monkeypatch.setattr(implicit_shifts, "_MANY", 30)
    name = name.removeprefix("complex ").removeprefix("accumulated ")
    n = {"tridiagonal": 70, "bidiagonal": 35}.get(name, 6)
    kernel, shape = kernel_of(name, n, dtype, local)
    x = rng.normal(size=shape) if dtype == "float32" else rng.normal(size=(*shape, 2)) @ [1, 1j]
    x, values = x.astype(dtype), np.zeros(shape[:-1], "f4")
    symmetric = name in ("tridiagonal", "eigenvalues")
    x = (x + transposed(x)) / 2 if symmetric else x
    split = replace(kernel, buffers=split_buffers(kernel.buffers), body=split_body(kernel.body))
    code = generate(split, replace(target, vector_bytes=vector_bytes))
    made = []
    for order in range(2):
        arrays = [x, values, np.zeros_like(x), np.zeros_like(x)]
        memory = [guarded(a) for a in arrays]
        launch(code, [m.ctypes.data + GUARD for m in memory], order=order)
        views = (inside(m).view(a.dtype).copy() for m, a in zip(memory, arrays, strict=True))
        made.append([v.reshape(a.shape) for v, a in zip(views, arrays, strict=True)][1:])
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*made, strict=True))
    results = [made[0]]
    if n < 10:
        arrays = {"input": x, "output": np.zeros(shape[:-1], "f4")}
        arrays |= {f"output_{side}": np.zeros_like(x) for side in ("left", "right")}
        interpret(kernel, arrays, backwards=True)
        results.append([arrays[name] for name in ("output", "output_left", "output_right")])
    for values, left, right in results:
        if symmetric:
            check_eigenvalues(x, values, right, 12 + n / 4)
        else:
            check_singular_values(x, values, left, right, 12 + n / 4)


@pytest.mark.parametrize("n", [4, 20])
def test_they_are_the_same_in_every_place(n, rng):
    """In a session, interpreted, from files, as an object for C and on a GPU: vectors have the same signs."""

    def build():
        x = sg.placeholder(sg.float32, [n, n], name="x")
        values, vectors = sg.linalg.eigh(x)
        singular, left, right = sg.svd(x)
        return {"values": values, "vectors": vectors, "singular": singular, "left": left, "right": right}

    x = rng.normal(size=(n, n)).astype("f4")
    places = check_everywhere(build, {"x": x + x.T}, places=(*PLACES, "gpu"), rtol=5e-4, atol=5e-4)
    assert not any(isinstance(outcomes, Refused) for outcomes in places.values())


def test_a_step_has_no_host_call(rng):
    with sg.Graph().as_default(), sg.Session() as session:
        x = sg.placeholder(sg.float32, [12, 8])
        least = sg.linalg.eigh(sg.matmul(x, x, transpose_a=True))[0][0]
        loss = sg.reduce_sum(sg.svd(x, compute_uv=False)) + least
        fetches = [loss, sg.gradients(loss, x)[0], sg.linalg.pinv(x)]
        plan = session.plan(fetches, {x: rng.normal(size=(12, 8))})
        assert [kernel.name for kernel in plan.kernels if kernel.effort is None] == []
