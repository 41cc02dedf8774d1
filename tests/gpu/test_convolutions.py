"""Convolutions by the library, in sessions: which these are, what becomes of the rest, and of those that the
library does not do.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.graph.errors import UnimplementedError
from staticgraph.compiler.kernel.schedule_gpu.products import convolved
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution, Made
from staticgraph.compiler.kernel.schedule_gpu.products.product import Precision
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.runtime.gpu.simulator import convolution as convolving
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.gpu.simulator.queue import CaptureError, DeviceError
from tests.gpu.running import SCHEDULES
from tests.gpu.sessions import Model, check_alike, draws, on, played
from tests.gpu.test_bisect import bisected
from tests.gpu.test_windows import UNEVEN, net
from tests.passes.steps import step_of

pytestmark = pytest.mark.takes_long

REPLAYS = 5


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is asked for small convolutions, too, and for all bits of float32."""
    monkeypatch.setattr(convolved, "_LEAST", 1)
    monkeypatch.setattr(convolved, "_TENSOR_CORES_ALONE", False)


@pytest.fixture
def library(small: None, host: str) -> Simulator:
    """A card for which there is a library of convolutions."""
    return Simulator(SCHEDULES[1], convolutions=True)


def residual_block() -> Any:
    """With strides, a short cut of one tap, normalization, and a step of momentum."""
    x, y = sg.placeholder(sg.float32, [4, 9, 9, 8]), sg.placeholder(sg.float32, [4, 5, 5, 16])

    def normalized(h: sg.Tensor) -> sg.Tensor:
        mean, variance = sg.nn.moments(h, [0, 1, 2])
        return sg.nn.batch_normalization(h, mean, variance, None, None, 1e-3)

    h = sg.nn.relu(normalized(sg.layers.conv2d(x, 16, 3, 2, "same", use_bias=False)))
    h = normalized(sg.layers.conv2d(h, 16, 3, 1, "same", use_bias=False))
    h = sg.nn.relu(h + sg.layers.conv2d(x, 16, 1, 2, "same"))
    loss = sg.reduce_mean(sg.square(h - y))
    images, targets = draws(1, 4, 9, 9, 8), draws(2, 4, 5, 5, 16)
    step = sg.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return [loss, step], lambda n: {x: images[n % 4], y: targets[n % 4]}


def test_a_residual_block_trains_as_on_the_processor(library):
    runs = 2 + REPLAYS
    made = played(residual_block, library, runs)
    assert library.counts.convolutions >= 6 * runs
    assert library.counts.captures == 2 and library.counts.replays == runs - 1
    check_alike(played(residual_block, None, runs), made, 5e-5)


GEOMETRIES: dict[str, dict[str, Any]] = {
    "same": {"taps": (3, 3)},
    "strides": {"taps": (3, 2), "strides": (2, 2)},
    "channels first": {"taps": (3, 3), "padding": "VALID", "layout": "NCHW"},
    "explicit": {"taps": (2, 3), "strides": (1, 2), "padding": UNEVEN, "dilations": (2, 1)},
}


def layers(dtype: Any, names: Iterable[str]) -> Model:
    """Convolutions with an epilogue, and their derivatives, all in one graph."""

    def build() -> Any:
        fetches, feeds, rng = [], {}, np.random.default_rng(3)
        for name in names:
            made, fed = net((2, 9, 8, 8), dtype=dtype, outputs=9, **GEOMETRIES[name])()
            fetches += [sg.nn.relu(made[0]), *made[1:]]
            feeds |= fed
        values = {x: rng.standard_normal(value.shape) for x, value in feeds.items()}
        return [sg.cast(each, sg.float32) for each in fetches], lambda n: values

    return build


@pytest.mark.parametrize(
    ("dtype", "names", "tolerance"),
    [
        (sg.float32, ["channels first", "explicit"], 2e-6),
        (sg.float16, ["same"], 2e-3),
        (sg.bfloat16, ["strides"], 2**-7),
    ],
    ids=["float32", "float16", "bfloat16"],
)
def test_sessions_give_what_the_processor_gives(dtype, names, tolerance, library):
    found = played(layers(dtype, names), library, 2)
    assert library.counts.convolutions >= 2 * 3 * len(names)
    check_alike(played(layers(dtype, names), None, 2), found, tolerance)


def asked(session: sg.Session, fetches: Any, feeds: Any) -> list[Convolution]:
    """The convolutions that a session asks the library for."""
    return session.executable(fetches, feeds).compiled.convolutions


def one(inputs: int = 8, outputs: int = 8, size: int = 9, dtype: Any = sg.float32) -> Any:
    x = sg.placeholder(dtype, [2, size, size, inputs])
    w = sg.constant(draws(7, 3, 3, inputs, outputs)[0], dtype)
    return sg.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), {x: draws(8, 2, size, size, inputs)[0]}


@pytest.mark.parametrize(
    ("shape", "is_asked"),
    [
        ({"inputs": 64, "outputs": 64, "size": 16, "dtype": sg.float16}, True),
        ({"inputs": 64, "outputs": 64, "size": 8, "dtype": sg.float16}, False),
        ({"inputs": 3, "outputs": 64, "size": 64, "dtype": sg.float16}, False),
        ({"inputs": 64, "outputs": 4, "size": 64, "dtype": sg.float16}, False),
        ({"inputs": 64, "outputs": 64, "size": 16, "dtype": sg.bfloat16}, True),
        ({"inputs": 64, "outputs": 64, "size": 16}, False),
        ({"inputs": 64, "outputs": 64, "size": 16, "dtype": sg.float64}, False),
    ],
    ids=["large", "little work", "few inputs", "few outputs", "bfloat16", "float32", "float64"],
)
def test_which_are_asked_for(shape, is_asked):
    with sg.Graph().as_default():
        y, feeds = one(**shape)
        step = step_of([y], feeds)
        assert bool(compile_gpu(step, target=GpuTarget(refused=frozenset())).convolutions) == is_asked
        assert not compile_gpu(step).convolutions


def test_float32_is_asked_for_where_it_may_be_rounded():
    with sg.Graph().as_default():
        y, feeds = one(64, 64, 16)
        step = step_of([y], feeds)
    for precision in Precision:
        made = compile_gpu(step, target=GpuTarget(precision, frozenset()))
        assert bool(made.convolutions) == (precision is not Precision.FLOAT32)


def test_no_library_no_convolution(small, one_driver):
    with sg.Graph().as_default(), on(one_driver), sg.Session() as session:
        y, feeds = one()
        session.run(y, feeds)
        assert not asked(session, y, feeds) and not one_driver.counts.convolutions


def test_a_session_may_do_without_the_library(library):
    with sg.Graph().as_default(), on(library), sg.options(cudnn=False):
        y, feeds = one()
        with sg.Session() as session, sg.Session(cudnn=True) as other:
            ours = session.run(y, feeds)
            assert not asked(session, y, feeds) and not library.counts.convolutions
            check_alike([other.run(y, feeds)], [ours])
            assert library.counts.convolutions


def test_what_the_library_does_not_do_is_done_by_us(library, monkeypatch):
    looked_at, check = [], convolving.check

    def refuse(convolution: Convolution) -> None:
        looked_at.append(convolution)
        if convolution.made is Made.RESULT and convolution.strides == (2, 2):
            raise UnimplementedError("no algorithm")
        check(convolution)

    monkeypatch.setattr(convolving, "check", refuse)
    model = layers(sg.float32, ["same", "strides"])
    with sg.Graph().as_default(), on(library), sg.Session() as session:
        fetches, feeds = model()
        found = [session.run(fetches, feeds(0)) for _ in range(3)]
        left = asked(session, fetches, feeds(0))
        assert len(left) == len(looked_at) - 1 and all(c in looked_at for c in left)
        before = len(looked_at)
        again = [sg.identity(each) for each in fetches[3:]]
        session.run(again, feeds(0))
        assert len(looked_at) == before, "what is known to be refused is not asked for again"
    check_alike(played(model, None, 3)[:3], found)


def test_a_library_that_does_nothing(library, monkeypatch):
    def refuse(convolution: Convolution) -> None:
        raise UnimplementedError("no algorithm")

    monkeypatch.setattr(convolving, "check", refuse)
    with sg.Graph().as_default(), on(library), sg.Session() as session:
        y, feeds = one()
        session.run(y, feeds)
        assert not asked(session, y, feeds)


def test_precision_is_told_to_the_library(library):
    with sg.Graph().as_default(), on(library), sg.Session(matmul_precision="tf32") as session:
        y, feeds = one()
        session.run(y, feeds)
        assert [c.precision for c in asked(session, y, feeds)] == [Precision.TF32]


def test_where_memory_is_short_there_is_no_workspace(small):
    with sg.Graph().as_default():
        y, feeds = one()
        step = step_of([y], feeds)
        made = compile_gpu(step, target=GpuTarget(refused=frozenset()))
        (convolution,) = made.convolutions
        assert made.scratch >= convolution.room
        least = compile_gpu(step).memory.peak
        made = compile_gpu(step, memory_limit=least, target=GpuTarget(refused=frozenset()))
        assert not made.convolutions and made.memory.peak <= least


def test_the_plan_tells_of_it(library):
    with sg.Graph().as_default(), on(library), sg.Session() as session:
        y, feeds = one()
        text = str(session.plan(y, feeds))
        assert "cuDNN (2 × 9×9 × 8, 3×3 × 8)" in text


def test_algorithms_are_not_chosen_in_a_capture(library, small):
    with sg.Graph().as_default():
        y, feeds = one()
        (convolution,) = compile_gpu(step_of([y], feeds), target=GpuTarget(refused=frozenset())).convolutions
    library.begin_capture()
    with pytest.raises(CaptureError, match="choosing the algorithm of a convolution"):
        library.convolution(convolution)


def test_a_session_survives_one_that_fails(library):
    with sg.Graph().as_default(), on(library), sg.Session() as session:
        y, feeds = one()
        before = session.run(y, feeds)
        library.fail("convolution")
        with pytest.raises(DeviceError, match="convolution"):
            session.run(y, feeds)
        np.testing.assert_array_equal(session.run(y, feeds), before)


def test_filters_that_are_packed_and_results_that_are_not(small):
    """One function before a convolution, none after it where the result is stored as it is."""
    with sg.Graph().as_default():
        y, feeds = one()
        (work,) = compile_gpu(step_of([y], feeds), target=GpuTarget(refused=frozenset())).works.values()
    packing, convolution = work.calls
    assert isinstance(packing, FunctionCall) and isinstance(convolution, Convolution)
    assert [name for name, _ in work.scratch] == [convolution.filter, convolution.workspace]


def test_a_bisection_looks_at_what_the_library_does(library, monkeypatch):
    y, feeds = one(size=4)
    ((x, value),) = feeds.items()
    assert bisected(x, [y], value, library).agrees
    assert library.counts.convolutions
    monkeypatch.setattr(convolving, "convolve", lambda convolution, *arrays: arrays[2].fill(0))
    assert not bisected(x, [y], value, Simulator(convolutions=True)).agrees
    assert bisected(x, [y], value, Simulator(convolutions=True), library=False).agrees
