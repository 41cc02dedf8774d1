"""Factors and decompositions of matrices on a GPU: a block takes the steps of an algorithm together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.elements.cooperative import cooperative as printed
from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.kernel.expr import Const, Index, Load, Local
from staticgraph.compiler.kernel.schedule_gpu.elements.cooperative import cooperative
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    Kernel,
    Let,
    Loop,
    LoopKind,
    Span,
    Stmt,
    Store,
    Update,
    While,
)
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.simulator.build import Unit
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.sessions import on

pytestmark = pytest.mark.takes_long

Works = dict[str, Callable[[Any, Any, Any], Any]]

FACTORS: Works = {
    "cholesky": lambda a, spd, b: sg.cholesky(spd),
    "lu": lambda a, spd, b: sg.matrix_solve(a, b),
    "inverse": lambda a, spd, b: sg.matrix_inverse(a),
    "determinant": lambda a, spd, b: sg.matrix_determinant(a),
    "triangle": lambda a, spd, b: sg.matrix_triangular_solve(spd, b, lower=False, adjoint=True),
    "one_side": lambda a, spd, b: sg.matrix_triangular_solve(spd, b[..., :1]),
    "qr": lambda a, spd, b: sg.qr(a),
    "gradient": lambda a, spd, b: sg.gradients(sg.trace(sg.abs(sg.cholesky(spd))), spd),
}
SPECTRA: Works = {
    "vectors": lambda a, spd, b: composed(*sg.self_adjoint_eig(spd)),
    "svd": lambda a, spd, b: composed(*sg.svd(a)),
}


def composed(values: Any, left: Any, right: Any = None) -> Any:
    """The matrix of a decomposition: vectors themselves are known up to a sign."""
    right = left if right is None else right
    return sg.matmul(left * sg.cast(values, left.dtype)[..., None, :], right, adjoint_b=True)


def matrices(batch: tuple[int, ...], n: int, dtype: type) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    a, b = (rng.normal(size=(*batch, n, columns)) for columns in (n, 19))
    if np.dtype(dtype).kind == "c":
        a, b = (x + 1j * rng.normal(size=x.shape) for x in (a, b))
    spd = a @ a.conj().swapaxes(-1, -2) + n * np.eye(n)
    return [x.astype(dtype) for x in (a, spd, b)]


def check(works: Works, arrays: list[np.ndarray], schedule: int) -> None:
    """Compare with the processor. Nothing is done by NumPy."""
    found = []
    for driver in (None, Simulator(schedule)):
        card = on(driver) if driver else nullcontext()
        with sg.Graph().as_default(), card, sg.Session(device="gpu" if driver else "cpu") as session:
            inputs = [sg.placeholder(x.dtype, x.shape) for x in arrays]
            fetches = [work(*inputs) for work in works.values()]
            feeds = dict(zip(inputs, arrays, strict=True))
            if driver is not None:
                assert "NumPy" not in str(session.plan(fetches, feeds))
            found.append(sg.nest.flatten(session.run(fetches, feeds)))
    tolerance = 1e-3 if arrays[0].dtype in (np.float32, np.complex64) else 1e-10
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, rtol=tolerance, atol=tolerance * np.abs(one).max())


@pytest.mark.parametrize(
    ("batch", "n", "dtype", "schedule"),
    [
        ((), 37, np.float32, 0),
        ((3,), 20, np.float32, 6),
        ((2, 2), 9, np.float64, 3),
        ((2,), 10, np.complex64, 0),
    ],
)
def test_factors_equal_those_of_the_processor(
    host: str, batch: tuple[int, ...], n: int, dtype: type, schedule: int
):
    few = np.dtype(dtype).kind == "c"  # whose functions are long
    works = {name: work for name, work in FACTORS.items() if not few or name in ("cholesky", "one_side")}
    check(works, matrices(batch, n, dtype), schedule)


@pytest.mark.parametrize(
    ("batch", "n", "dtype", "schedule"),
    [((), 34, np.float32, 6), ((2,), 26, np.float32, 0), ((2,), 12, np.float64, 3)],
)
def test_spectra_equal_those_of_the_processor(
    host: str, batch: tuple[int, ...], n: int, dtype: type, schedule: int
):
    check(SPECTRA, matrices(batch, n, dtype), schedule)


def test_an_open_batch_compiles_once(host: str):
    driver = Simulator(3)
    with sg.Graph().as_default(), on(driver), sg.Session(open_sizes=True) as session:
        x = sg.placeholder(sg.float32, [None, 12, 12])
        y = sg.cholesky(x)
        for count in (3, 1, 5, 2):
            _, spd, _ = matrices((count,), 12, np.float32)
            np.testing.assert_allclose(
                session.run(y, {x: spd}), np.linalg.cholesky(spd), rtol=1e-4, atol=1e-5
            )
        assert len(session.compiles) <= 2, session.compiles


def test_large_matrices_are_left_to_numpy(host: str):
    with sg.Graph().as_default(), on(Simulator(3)), sg.Session() as session:
        x = sg.placeholder(sg.float32, [1025, 1025])
        assert "NumPy" in str(session.plan(sg.cholesky(x), {x: np.eye(1025, dtype=np.float32)}))


def steps(batch: int | None) -> Kernel:
    """Each step adds the first row to all others, and the sum of its numbers to its own first one."""
    step, row, lane, other = Index("step", 3), Index("row", 5), Index("lane", 40), Index("lane2", 40)
    item = Index("item", batch or 1)
    total = Local("total", float32)

    def at(i: Any, j: Any) -> Load:
        return Load("x", (item if batch else Const(0, item.dtype), i, j), float32)

    def put(i: Any, j: Any, value: Any) -> Store:
        return Store("x", (item if batch else Const(0, item.dtype), i, j), value)

    zero = Const(0, item.dtype)
    spread = Loop(lane, (put(row + 1, lane, at(row + 1, lane) + at(zero, lane)),), LoopKind.SIMD)
    body = Loop(
        step,
        (
            Loop(row, (spread,), LoopKind.PARALLEL),
            Let(total, Const(0.0, float32)),
            Loop(other, (Update(total, total + at(zero, other), "add"),), LoopKind.SIMD),
            put(zero, zero, at(zero, zero) + total),
        ),
    )
    buffers = {"x": Buffer(float32, (batch or 1, 6, 40), written=True)}
    if batch is None:
        return Kernel("steps", buffers, (body,))
    buffers["own"] = Buffer(float32, (1,), written=True, local=True, shared=True)
    return Kernel("steps", buffers, (Loop(item, (body,), LoopKind.PARALLEL),))


def wanted(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    for _ in range(3):
        x[:, 1:] += x[:, :1]
        x[:, 0, 0] += x[:, 0].sum(-1)
    return x


@pytest.mark.parametrize("batch", [None, 7])
@pytest.mark.parametrize("schedule", [0, 3, 6])
def test_threads_meet_between_steps(host: str, batch: int | None, schedule: int):
    found = cooperative(steps(batch))
    assert found is not None
    (made,) = found.functions
    call = printed(made)
    x = np.random.default_rng(1).integers(-4, 5, (batch or 1, 6, 40)).astype(np.float32)
    y = x.copy()
    Unit([call.function]).run(call.function.name, [y.ctypes.data], schedule)
    np.testing.assert_array_equal(y, wanted(x))


def skipped(how: str) -> Kernel:
    """Threads fill a row, skip a loop in which they would meet, and read the row from the other end."""
    strip, left = Index("strip", 2), Local("left", int64)
    rows = {name: Buffer(float32, (40,), written=True, local=True, shared=True) for name in (*"vwx", "marks")}
    given = {"y": Buffer(float32, (40,)), "z": Buffer(float32, (40,), written=True)}

    def turned(source: str, to: str) -> Loop:
        lane = Index(f"lane_{to}", 40)
        return Loop(lane, (Store(to, (lane,), Load(source, (39 - lane,), float32)),), LoopKind.SIMD)

    mark = Loop(strip, (Store("marks", (strip,), Const(1.0, float32)),), LoopKind.PARALLEL)
    again = turned("y", "w"), turned("w", "x"), mark
    loop: Stmt = While(left > 0, (*again, Update(left, left - 1)))
    if how == "span":
        loop = Loop(Index("step", 3), again, share=Span(Const(0, int64), left))
    buffers = rows | given | {"count": Buffer(int64, (1,))}
    count = Load("count", (Const(0, int64),), int64)
    return Kernel("skipped", buffers, (Let(left, count), turned("y", "v"), loop, turned("v", "z")))


@pytest.mark.parametrize("how", ["span", "while"])
@pytest.mark.parametrize("schedule", [0, 1, 2, 3, 6])
def test_threads_meet_behind_a_loop_that_had_no_iteration(host: str, how: str, schedule: int):
    """The places where they meet in it do not count then."""
    found = cooperative(skipped(how))
    assert found is not None
    (made,) = found.functions
    call = printed(made)
    arrays = {name: np.zeros(40, np.float32) for name in call.arguments}
    arrays |= {"y": np.arange(40, dtype=np.float32), "count": np.zeros(1, np.int64)}
    addresses = [arrays[name].ctypes.data for name in call.arguments]
    Unit([call.function]).run(call.function.name, addresses, schedule)
    np.testing.assert_array_equal(arrays["z"], arrays["y"])


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not here: pip install nvidia-cuda-nvrtc")
def test_functions_compile():
    found = cooperative(steps(7))
    assert found is not None
    function = printed(found.functions[0]).function
    assert nvrtc.inspect([function], "sm_90").usage[function.name].spilled == 0
