"""Matrices of open sizes: one native program for all of them, as good as one for a known size.

`open_matrices.json` says for each op of linear algebra and Fourier transforms what happens on each device if
the size of a batch is open, and if those of the transformed axes are: "native", "each size" if it is compiled
for each, "NumPy" if the host computes it. `pytest tests/ops/test_open_matrices.py --update-golden` writes it.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.capture.guards import Answers
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.gpu.compile import LEFT_OUT
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.graph.errors import OpError
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.compiler.graph.size_contexts import Undecided, answering
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Index, Load, number
from staticgraph.compiler.kernel.indices.in_bounds import in_bounds
from staticgraph.compiler.kernel.stmt import Buffer, If, Kernel, Loop, LoopKind, Store
from staticgraph.compiler.lower.kernel_dedup import KernelTable
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.workspace import with_workspaces
from staticgraph.compiler.ops.index import OPS_OF
from staticgraph.compiler.passes.long_routines import long_routines
from staticgraph.compiler.passes.pipeline import pipeline
from tests.ops.harness import TESTED, Use, dtype_choices, uses

pytestmark = pytest.mark.takes_long

TABLE = Path(__file__).with_name("open_matrices.json")
SIZES = (3, 17, 1, 0, 40)
REAL, COMPLEX = np.float64, np.complex64


def drawn(n: int, batch: tuple[int, ...] = (), dtype: type = REAL) -> np.ndarray:
    """Positive definite matrices that depend on their size alone."""
    rng = np.random.default_rng(n)
    x = rng.standard_normal((*batch, n, n))
    if dtype is COMPLEX:
        x = x + 1j * rng.standard_normal((*batch, n, n))
    return (x @ np.swapaxes(x, -1, -2).conj() / max(n, 1) + np.eye(n)).astype(dtype)


def dagger(x):
    return np.swapaxes(x, -1, -2).conj()


def decomposition(x, values, left, right):
    """Return the largest number of what a decomposition makes of a matrix, less the matrix."""
    return (left * values[..., None, :]) @ dagger(right) - x


# By name: what is computed of a matrix, and numbers that are zero if it is right, of backward errors.
RESIDUALS = {
    "eigh": (sg.linalg.eigh, lambda x, y: [decomposition(x, y[0], y[1], y[1])]),
    "svd": (sg.linalg.svd, lambda x, y: [decomposition(x, *y)]),
    "values": (
        lambda x: [sg.linalg.eigvalsh(x), sg.linalg.svd(x, compute_uv=False)],
        lambda x, y: [y[0] - np.linalg.eigvalsh(x), y[1] - np.linalg.svd(x, compute_uv=False)],
    ),
    "cholesky": (sg.linalg.cholesky, lambda x, y: [y @ dagger(y) - x, np.triu(y, 1)]),
    "qr": (sg.linalg.qr, lambda x, y: [y[0] @ y[1] - x, dagger(y[0]) @ y[0] - np.eye(x.shape[-1])]),
    "inverse": (sg.linalg.inv, lambda x, y: [x @ y - np.eye(x.shape[-1])]),
    "solve": (
        lambda x: [sg.linalg.solve(x, x), sg.linalg.triangular_solve(x, x, lower=False)],
        lambda x, y: [y[0] - np.eye(x.shape[-1]), np.triu(x) @ y[1] - x],
    ),
    "determinant": (sg.linalg.slogdet, lambda x, y: [y[1] - np.linalg.slogdet(x)[1]]),
    "pinv": (sg.linalg.pinv, lambda x, y: [x @ y - np.eye(x.shape[-1])]),
    "expm": (lambda x: sg.linalg.expm(x * 0.25), lambda x, y: [y - exponential(x * 0.25)]),
    "sqrtm": (sg.linalg.sqrtm, lambda x, y: [y @ y - x]),
}  # fmt: skip


def exponential(x):
    values, vectors = np.linalg.eigh(x)
    return (vectors * np.exp(values)[..., None, :]) @ dagger(vectors)


@pytest.mark.by_turns("batch", "dtype")
@pytest.mark.parametrize(("batch", "dtype"), [((), REAL), ((3,), REAL), ((), COMPLEX)])
@pytest.mark.parametrize("name", RESIDUALS)
def test_one_program_takes_all_sizes(name, batch, dtype):
    make, residuals = RESIDUALS[name]
    with sg.Graph().as_default(), sg.Session(device="cpu", open_sizes=True) as session:
        x = sg.placeholder(dtype, [*(None for _ in batch), None, None])
        y = make(x)
        y = list(y) if isinstance(y, (tuple, list)) else y
        for n in SIZES:
            fed = drawn(n, batch, dtype)
            found = session.run(y, {x: fed})
            for rest in residuals(fed, found):
                assert np.abs(rest).max(initial=0) <= 60 * np.finfo(dtype).eps * max(n, 1), (name, n)
        assert len(session.compiles) == 1, session.compiles
        assert "NumPy" not in str(session.plan(y, {x: drawn(3, batch, dtype)}))


@pytest.mark.takes_long
@pytest.mark.parametrize("name", ["eigh", "svd", "cholesky", "expm", "qr", "inverse", "pinv"])
def test_gradients_take_all_sizes(name):
    make, _ = RESIDUALS[name]
    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float64, [None, None])
        y = make(x)
        parts = y if isinstance(y, (tuple, list)) else [y]
        # Squares of columns do not depend on their signs, nor do they depend smoothly on anything else.
        loss = sum(sg.reduce_sum(sg.sin(part * part * (k + 1.0))) for k, part in enumerate(parts))
        (slope,) = sg.gradients(loss, x)
        opened = sg.Session(graph=graph, device="cpu", open_sizes=True)
        closed = sg.Session(graph=graph, device="cpu", open_sizes=False)
        with opened, closed:
            for n in (3, 9, 1, 0):
                fed = drawn(n)
                found, wanted = (each.run(slope, {x: fed}) for each in (opened, closed))
                np.testing.assert_allclose(found, wanted, 1e-8, 1e-8)
            assert len(opened.compiles) == 1, opened.compiles


def test_rectangles_have_three_programs():
    with sg.Graph().as_default(), sg.Session(device="cpu", open_sizes=True) as session:
        x = sg.placeholder(sg.float64, [None, None])
        y = list(sg.linalg.svd(x, full_matrices=True))
        for rows, columns in ((5, 3), (3, 5), (4, 4), (20, 3), (0, 3), (9, 40), (7, 0)):
            fed = np.random.default_rng(rows).standard_normal((rows, columns))
            values, left, right = session.run(y, {x: fed})
            inner = min(rows, columns)
            made = (left[:, :inner] * values) @ right[:, :inner].T
            np.testing.assert_allclose(made, fed, 0, 1e-13)
            for each in (left, right):
                np.testing.assert_allclose(each.T @ each, np.eye(len(each)), 0, 1e-13)
        assert len(session.compiles) == 3, session.compiles


def test_least_squares_have_one_program():
    """It has both forms of the equations. NumPy's solution is the least one of several."""
    with sg.Graph().as_default() as graph:
        x, b = (sg.placeholder(sg.float64, [None, None]) for _ in range(2))
        y = sg.linalg.lstsq(x, b)
        weighted = sg.linalg.lstsq(x, b, sg.constant(0.5, sg.float64))
        slopes = sg.gradients(weighted * weighted, [x, b])
        opened = sg.Session(graph=graph, device="cpu", open_sizes=True)
        for rows, columns, sides in (
            (5, 3, 2),
            (3, 5, 1),
            (4, 4, 2),
            (20, 7, 3),
            (0, 3, 2),
            (3, 0, 2),
            (3, 2, 0),
        ):
            rng = np.random.default_rng(rows)
            fed = {x: rng.standard_normal((rows, columns)), b: rng.standard_normal((rows, sides))}
            found, solution, *by = opened.run([y, weighted, *slopes], fed)
            exact = np.linalg.lstsq(fed[x], fed[b], rcond=None)[0]
            np.testing.assert_allclose(found, exact, 1e-9, 1e-9)
            inverse = np.linalg.inv(fed[x].T @ fed[x] + 0.5 * np.eye(columns))
            np.testing.assert_allclose(solution, inverse @ fed[x].T @ fed[b], 1e-9, 1e-12)
            turned = inverse @ (2 * solution)
            rest = fed[b] - fed[x] @ solution
            np.testing.assert_allclose(by[0], rest @ turned.T - fed[x] @ turned @ solution.T, 1e-9, 1e-12)
            np.testing.assert_allclose(by[1], fed[x] @ turned, 1e-9, 1e-12)
        assert len(opened.compiles) == 1, opened.compiles
        assert "NumPy" not in str(opened.plan([y, *slopes], fed))


def test_tridiagonal_systems_have_one_program():
    with sg.Graph().as_default() as graph:
        diagonals, b = sg.placeholder(sg.float64, [None, 3, None]), sg.placeholder(sg.float64, [None] * 3)
        y = sg.linalg.tridiagonal_solve(diagonals, b, diagonals_format="compact")
        slopes = sg.gradients(y * y, [diagonals, b])
        opened = sg.Session(graph=graph, device="cpu", open_sizes=True)
        for batch, n, columns in (
            (2, 5, 2),
            (1, 1, 1),
            (3, 40, 17),
            (2, 0, 2),
            (2, 4, 0),
            (0, 3, 1),
            (2, 2, 8),
        ):
            rng = np.random.default_rng(n)
            fed = {diagonals: rng.standard_normal((batch, 3, n)), b: rng.standard_normal((batch, n, columns))}
            fed[diagonals][:, 1] += 3
            found, by_diagonals, by_b = opened.run([y, *slopes], fed)
            above, middle, below = np.moveaxis(fed[diagonals], 1, 0)
            i = np.arange(n)
            full = np.zeros((batch, n, n))
            full[:, i, i], full[:, i[:-1], i[1:]], full[:, i[1:], i[:-1]] = (
                middle,
                above[:, :-1],
                below[:, 1:],
            )
            exact = np.linalg.solve(full, fed[b])
            np.testing.assert_allclose(found, exact, 1e-9, 1e-12)
            turned = np.linalg.solve(np.swapaxes(full, 1, 2), 2 * exact)
            np.testing.assert_allclose(by_b, turned, 1e-9, 1e-12)
            by_full = -turned @ np.swapaxes(exact, 1, 2)
            np.testing.assert_allclose(by_diagonals[:, 0, :-1], by_full[:, i[:-1], i[1:]], 1e-9, 1e-12)
            np.testing.assert_allclose(by_diagonals[:, 1], by_full[:, i, i], 1e-9, 1e-12)
            np.testing.assert_allclose(by_diagonals[:, 2, 1:], by_full[:, i[1:], i[:-1]], 1e-9, 1e-12)
            assert not by_diagonals[:, 0, -1:].any() and not by_diagonals[:, 2, :1].any()
        assert len(opened.compiles) == 1, opened.compiles
        assert "NumPy" not in str(opened.plan([y, *slopes], fed))


@pytest.mark.takes_long
@pytest.mark.parametrize("name", ["eigh", "svd", "inverse"])
def test_bits_depend_on_the_size_alone(name):
    """Not on the sizes that ran before, nor on the number of threads."""
    make, _ = RESIDUALS[name]
    found: dict[int, list[bytes]] = {}
    for threads, order in ((1, (5, 64, 2)), (2, (64, 2, 5))):
        with sg.Graph().as_default():
            x = sg.placeholder(sg.float32, [None, None])
            y = make(x)
            y = list(y) if isinstance(y, (tuple, list)) else [y]
            sg.set_num_threads(threads)
            with sg.Session(device="cpu", open_sizes=True) as session:
                for n in order:
                    fed = drawn(n).astype(np.float32)
                    found.setdefault(n, []).append(b"".join(z.tobytes() for z in session.run(y, {x: fed})))
    assert all(len(set(each)) == 1 for each in found.values())


# What is computed on a device


def opened(use: Use, count: int, axes: str) -> tuple[list[tuple], dict[str, int]]:
    """Return the shapes of a sample with sizes of its first tensor open, and the values of these sizes.

    Equal ones have one symbol, and so do those of its other tensors.
    """
    values: dict[str, int] = {}

    def size(n: int) -> int:
        values[f"n{n}"] = n
        return symbol(f"n{n}")

    first, *others = (a.shape for a in use.arrays)
    batch, last = first[:-count], first[-count:]
    shape = (*map(size, batch), *last) if axes == "batch" else (*batch, *map(size, last))
    return [shape, *(tuple(size(n) if n in values.values() else n for n in s) for s in others)], values


def happens(op: OpDef, axes: str, on_gpu: bool) -> str:
    """Return how an op is computed if some sizes of its first sample are open; "" if it has none of these."""
    count = max(op.closed, op.closed_on_gpu) or 2
    least = count + (axes == "batch")
    found = [u for u in uses(op, next(dtype_choices(op))) if u.arrays[0].ndim >= least and u.arrays[0].size]
    if not found:
        return ""
    (use, *_), build = found, Builder()
    shapes, values = opened(use, count, axes)
    try:
        with answering(Answers(values)):
            inputs = [
                build.parameter(f"x{k}", d, s)
                for k, (d, s) in enumerate(zip(use.dtypes, shapes, strict=True))
            ]
            function = Function(tuple(inputs), use.apply(build, inputs))
            made = pipeline(LEFT_OUT if on_gpu else ())(function)
            fusion = fuse(long_routines(made) if on_gpu else made)
            program = lower(fusion, len(function.results), {}, kernels=KernelTable(parameters=not on_gpu))
    except (Undecided, OpError):
        return "each size"
    return "NumPy" if program.host_calls else "native"


def test_where_it_is_computed(request):
    names = " ".join(
        ops for file, ops in OPS_OF.items() if file.startswith(("fourier", "linear_algebra"))
    ).split()
    made = {}
    for op in (each for each in TESTED if each.name in names):
        of = {
            f"{axes} on {device}": happens(op, axes, on_gpu)
            for axes, (device, on_gpu) in itertools.product(
                ("batch", "matrix"), (("cpu", False), ("gpu", True))
            )
        }
        made[op.name] = {case: what for case, what in of.items() if what}
    if request.config.getoption("--update-golden"):
        TABLE.write_text(json.dumps(made, indent=1) + "\n")
    assert made == json.loads(TABLE.read_text())
    lacking = {op for op, of in made.items() if of.get("matrix on cpu", "native") != "native"}
    assert not {"self_adjoint_eig", "svd", "pseudo_inverse", "matrix_exponential", "qr", "lu"} & lacking


# Memory, and the proof that no place is outside


def test_memory_of_open_sizes_is_given_to_a_kernel():
    """An iteration of a parallel loop has its own; what is of a known size stays with the thread."""
    n, part, i = symbol("n"), Index("part", 4), Index("i", symbol("n"))
    at = Load("a", (i,), float32), Load("line", (Const(0, int64),), float32)
    body = (
        Store("a", (i,), Load("x", (i,), float32)),
        Store("line", (Const(0, int64),), at[0]),
        Store("out", (part, i), at[1]),
    )
    buffers = {
        "x": Buffer(float32, (n,)),
        "out": Buffer(float32, (4, n), written=True),
        "a": Buffer(float32, (n,), written=True, local=True),
        "line": Buffer(float32, (1,), written=True, local=True),
    }
    kernel = Kernel("k", buffers, (Loop(part, (Loop(i, body),), LoopKind.PARALLEL),))
    made, spaces = with_workspaces(kernel)
    assert [(space.buffer.shape, space.bytes) for space in spaces] == [((4, n), 16 * n)]
    assert [*made.arguments] == ["x", "out", spaces[0].name]
    assert [*made.locals] == ["line"]
    assert with_workspaces(made) == (made, ())


@pytest.mark.parametrize(
    ("condition", "stays"),
    [
        (lambda i, j: i < number(symbol("n") // 8, int64), True),  # then i * 8 + j is below n
        (lambda i, j: i < number((symbol("n") + 7) // 8, int64), False),
        (lambda i, j: j < scalar.minimum(number(symbol("n"), int64) - i * 8, 8), True),
        (lambda i, j: j < scalar.maximum(number(symbol("n"), int64) - i * 8, 8), False),
    ],
)
def test_conditions_prove_places_in_open_axes(condition, stays):
    n = symbol("n")
    i, j = Index("i", (n + 7) // 8), Index("j", 8)
    store = Store("out", (i * 8 + j,), Const(1.0, float32))
    body = (Loop(i, (Loop(j, (If(condition(i, j), (store,)),)),)),)
    made = in_bounds(body, {"out": Buffer(float32, (n,), written=True)})
    assert (made is body) == stays
