"""A card without enough memory for what libraries and work side by side would like: runs do with less."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.errors import ResourceExhaustedError
from staticgraph.compiler.kernel.schedule_gpu.products import convolved
from staticgraph.compiler.kernel.schedule_gpu.products.product import Matrix, Product
from staticgraph.runtime.gpu.cuda import cupy_driver
from staticgraph.runtime.gpu.graphs import edges
from staticgraph.runtime.gpu.simulator.driver import WORKSPACE, Simulator
from tests.gpu.fake_cublas import FakeCublas, FakeCublasLt
from tests.gpu.fake_cupy import CUDARuntimeError, FakeCupy
from tests.gpu.sessions import check_alike, draws, on

pytestmark = pytest.mark.takes_long


@pytest.fixture(autouse=True)
def _small_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is asked for convolutions of any size."""
    monkeypatch.setattr(convolved, "_LEAST", 1)
    monkeypatch.setattr(convolved, "_TENSOR_CORES_ALONE", False)


def net() -> tuple[Any, Any]:
    x = sg.placeholder(sg.float32, [None, 9, 9, 8])
    w = sg.get_variable("w", [3, 3, 8, 8])
    loss = sg.reduce_mean(sg.square(sg.nn.relu(sg.nn.conv2d(x, w, 1, "SAME"))))
    return [loss, sg.train.GradientDescentOptimizer(0.5).minimize(loss)], x


def trained(driver: Simulator | None, opens: bool, sizes: tuple[int, ...] = (2, 2, 2, 3)) -> list[Any]:
    with sg.Graph().as_default(), on(driver), sg.Session(open_sizes=opens) as session:
        sg.set_random_seed(5)
        fetches, x = net()
        session.run(sg.global_variables_initializer())
        found = [session.run(fetches, {x: draws(n, n, 9, 9, 8)[0]})[0] for n in sizes]
        return [*found, session.run(sg.global_variables())]


@pytest.mark.parametrize("opens", [True, False])
def test_own_functions_do_convolutions_for_which_there_is_no_memory(host: str, opens: bool):
    short, roomy = (Simulator(convolutions=True, limit=limit) for limit in (4 << 20, 1 << 30))
    with pytest.warns(RuntimeWarning, match="functions of our own do the convolutions"):
        found = trained(short, opens)
    check_alike(found, trained(roomy, opens), 1e-4)
    assert roomy.counts.convolutions > 0 == short.counts.convolutions
    assert short.memory.used <= 4 << 20 and short.counts.replays > 0


def test_work_that_shares_scratch_memory_needs_less(host: str):
    """Sums of two functions each, of which each has memory of its own where there is enough."""

    def ran(limit: int) -> tuple[int, int, list[Any]]:
        driver = Simulator(limit=limit)
        with sg.Graph().as_default(), on(driver), sg.Session() as session:
            feeds = {sg.placeholder(sg.float32, [1024, n]): draws(n, 1024, n)[0] for n in (512, 480, 448)}
            sums = [sg.reduce_sum(x, 0) for x in feeds]
            found = [session.run(sums, feeds) for _ in range(3)][-1]
            return driver.memory.used, session.executable(sums, feeds).prepared.scratch, found

    used, most, expected = ran(1 << 30)
    _, less, found = ran(used - 1024)
    assert less < most
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


# Memory that cuBLAS works in


def products() -> tuple[Any, Any]:
    x = sg.placeholder(sg.float32, [None, 40])
    w = sg.get_variable("w", [40, 48])
    v = sg.get_variable("v", [40, 48])
    loss = sg.reduce_mean(sg.square(x @ w)) + sg.reduce_mean(sg.square(sg.tanh(x @ v)))
    return [loss, sg.train.GradientDescentOptimizer(0.5).minimize(loss)], x


def multiplied(driver: Simulator | None, opens: bool) -> tuple[list[Any], int]:
    """Return losses, the values of variables, and the memory that is in use at last."""
    with sg.Graph().as_default(), on(driver), sg.Session(open_sizes=opens) as session:
        sg.set_random_seed(5)
        fetches, x = products()
        session.run(sg.global_variables_initializer())
        found = [session.run(fetches, {x: draws(n, n, 40)[0]})[0] for n in (64, 64, 64, 48, 48)]
        found.append(session.run(sg.global_variables()))
        return found, 0 if driver is None else driver.memory.used


@pytest.mark.parametrize("opens", [True, False])
def test_cublas_does_with_less_to_work_in(host: str, opens: bool):
    """Its memory is given back if a run needs it, and what was captured before is captured anew."""
    roomy = Simulator()
    expected, used = multiplied(roomy, opens)
    short = Simulator(limit=used - WORKSPACE)
    found, less = multiplied(short, opens)
    for one, other in zip(sg.nest.flatten(found), sg.nest.flatten(expected), strict=True):
        np.testing.assert_array_equal(one, other)
    assert short.counts.products == roomy.counts.products > 0 and short.counts.replays > 0
    assert less <= used - WORKSPACE


@pytest.mark.parametrize("opens", [True, False])
def test_own_functions_multiply_if_cublas_finds_no_memory_at_all(host: str, opens: bool):
    class Full(Simulator):
        """A GPU on which nothing is left for cuBLAS."""

        def multiplication(self, product: Any) -> Any:
            raise ResourceExhaustedError("the GPU has no 64 KiB left")

    full = Full()
    with pytest.warns(RuntimeWarning, match="needs: functions of our own do the products"):
        found, _ = multiplied(full, opens)
    check_alike(found, multiplied(None, opens)[0], 1e-5)
    assert full.counts.products == 0 and full.counts.replays > 0


def test_cublas_starts_with_what_there_is(monkeypatch: pytest.MonkeyPatch):
    """On a GPU: the memory that it should have, twice; else once, or less of it."""
    cupy, blas = FakeCupy(), FakeCublas()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(edges, "libcuda", lambda: None)
    monkeypatch.setattr(cupy_driver, "library", {"cublas": blas, "cublasLt": FakeCublasLt()}.__getitem__)
    product = Product(float32, 4, 6, 5, 1, Matrix("a", 5), Matrix("b", 6), Matrix("out", 6))
    full = CUDARuntimeError(2)
    card = cupy_driver.CupyDriver()
    cupy.fail("malloc", full, full)
    card.multiplication(product)
    assert cupy.given("malloc") == [(64 << 20,), (32 << 20,), (4 << 20,)]
    assert card.shrink() and cupy.given("free") and blas.names[-1] == "cublasDestroy_v2"
    assert not card.shrink()  # there is nothing to give back
    card.multiplication(product)
    assert cupy.given("malloc")[-1] == (64 << 10,) and not card.shrink()
    for failing in ([full] * 4, [None]):
        card = cupy_driver.CupyDriver()
        cupy.fail("malloc", *failing)
        monkeypatch.setattr(blas, "cublasCreate_v2", lambda handle: 3)
        with pytest.raises(ResourceExhaustedError):
            card.multiplication(product)
        assert card.free_memory() and not card._sizes


def test_what_another_step_gave_back_is_chosen_anew(host: str):
    """A step that was captured with two workspaces runs after another one has left it one."""

    def ran(limit: int) -> tuple[list[Any], Simulator, int]:
        driver = Simulator(limit=limit)
        with sg.Graph().as_default(), on(driver), sg.Session() as session:
            sg.set_random_seed(5)
            (loss, _), x = products()
            session.run(sg.global_variables_initializer())
            y = sg.placeholder(sg.float32, [256, 64])
            total = sg.reduce_sum(sg.matmul(y, sg.reverse(y, [0]), transpose_a=True))
            small, large = {x: draws(3, 64, 40)[0]}, {y: draws(4, 256, 64)[0]}
            found = [session.run(loss, small) for _ in range(3)]
            found += [session.run(total, large) for _ in range(3)]
            found += [session.run(loss, small) for _ in range(3)]
            return found, driver, driver.memory.used

    expected, roomy, used = ran(1 << 30)
    found, short, less = ran(used - WORKSPACE // 2)
    np.testing.assert_array_equal(found, expected)
    assert less == used - WORKSPACE and short.counts.captures > roomy.counts.captures
