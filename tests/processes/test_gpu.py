"""Several processes with a GPU each, which the simulator stands for."""

from __future__ import annotations

import pytest

import staticgraph as sg
from staticgraph.compiler.graph.world import MEMBERSHIP, SingleProcess
from staticgraph.runtime.gpu.placement import card_number
from tests.processes.launching import launched

pytestmark = pytest.mark.takes_long

HEAD = """
        from staticgraph.runtime.gpu.simulator.driver import Simulator
        from tests.gpu.sessions import on
        from tests.processes.fake_nccl import FakeNccl
        dist = sg.distribute
        dist.init(timeout=20)
        n, rank = dist.size(), dist.rank()
        card = Simulator()
        card.card_number = str(rank * {cards})
        card.nccl = FakeNccl(card) if {nccl} else None
"""


@pytest.mark.parametrize(
    "ways",
    [
        pytest.param((True, 1), id="NCCL"),
        pytest.param((True, 0), id="one card"),
        pytest.param((False, 1), id="no NCCL", marks=pytest.mark.slow),  # does what one card does
    ],
)
def test_first_values_sums_and_errors_are_those_of_processors(ways: tuple[bool, int]):
    nccl, cards = ways
    program = (
        HEAD.format(nccl=nccl, cards=cards)
        + """
        x = sg.placeholder("float32", [2])
        w = sg.get_variable("w", [2], initializer=sg.constant_initializer(float(rank + 1)))
        step = dist.Optimizer(sg.train.GradientDescentOptimizer(0.5)).minimize(sg.reduce_sum(w * x))
        with on(card), sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            for _ in range(4):
                sess.run(step, {x: np.float32([1, rank])})
            say("VALUES", sess.run(w).tolist())
            try:
                sess.run(step, {x: np.zeros(2 + rank, np.float32)})
            except Exception as error:
                say("CAUGHT", rank, type(error).__name__)
            sess.run(step, {x: np.float32([1, rank])})
            say("VALUES", sess.run(w).tolist())
            other = dist.all_reduce(sg.zeros([3 + rank]))
            try:
                sess.run(other)
            except Exception as error:
                say("CAUGHT", rank, type(error).__name__, "another step" in str(error))
        say("NCCL", bool(card.nccl and card.nccl.calls))
    """
    )
    said = launched(2, program)
    assert said.count("VALUES [-1.0, 0.0]") == said.count("VALUES [-1.5, -0.25]") == 2, said
    for line in (
        "0 PeerError",
        "1 FeedError",
        "0 FailedPreconditionError True",
        "1 FailedPreconditionError True",
    ):
        assert said.count(f"CAUGHT {line}") == 1, said
    assert said.count(f"NCCL {bool(nccl and cards)}") == 2, said


@pytest.mark.parametrize(
    ("asked", "listed", "cards", "number"),
    [("", "", 4, 3), ("", "", 2, 1), ("", "", 0, 0), ("2", "1", 4, 2), ("", "1", 4, 1), ("", "2,3", 4, 2)],
)
def test_each_process_takes_a_card(
    asked: str, listed: str, cards: int, number: int, monkeypatch: pytest.MonkeyPatch
):
    """Processes on one machine have one each, unless a session names it."""
    world = SingleProcess()
    world.local_rank, world.local_size = 3, 4
    monkeypatch.setattr(MEMBERSHIP, "world", world)
    config = sg.ConfigProto()
    config.gpu_options.visible_device_list = listed
    assert card_number(asked, config, cards) == number


def test_results_of_nccl_are_those_of_numpy():
    program = (
        HEAD.format(nccl=True, cards=1)
        + """
        def fed(rank, dtype):
            return np.random.RandomState(rank).uniform(-4, 4, (12, 3)).astype(dtype)
        def rows(array, part):
            return array[part * 12 // n : (part + 1) * 12 // n]
        for dtype in ("float32", "float64", "int32", "uint8", "int16"):
            x = sg.placeholder(dtype, [12, 3])
            made = [
                dist.all_reduce(x), dist.all_reduce(x, "max"), dist.all_gather(x), dist.reduce_scatter(x),
                dist.broadcast(x, n - 1), dist.all_to_all(x),
            ]
            all_fed = [fed(r, dtype) for r in range(n)]
            total = sum(all_fed[1:], all_fed[0])
            wanted = [
                total, np.maximum.reduce(all_fed), np.concatenate(all_fed), rows(total, rank), all_fed[-1],
                np.concatenate([rows(a, rank) for a in all_fed]),
            ]
            del card.nccl.calls[:]
            with on(card), sg.Session() as sess:
                for _ in range(3):
                    for got, want in zip(sess.run(made, {x: all_fed[rank]}), wanted):
                        assert got.dtype == want.dtype and got.shape == want.shape
                        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
            say("CALLS", dtype, len(card.nccl.calls))
            card = Simulator()
            card.card_number, card.nccl = str(rank), FakeNccl(card)
    """
    )
    said = launched(2, program)
    for dtype in ("float32", "float64", "int32", "uint8"):
        assert said.count(f"CALLS {dtype} 18") == 2, said
    assert said.count("CALLS int16 15") == 2, said  # of which NCCL has no maximum
