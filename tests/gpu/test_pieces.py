"""Sums that are pieces of one tensor, as those of a global norm: each has all threads that it needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.sessions import check_alike, draws, on
from tests.passes.steps import step_of


def norm_of_several() -> tuple[Any, dict[Any, Any]]:
    """The norm of many gradients, one of them without elements to sum twice."""
    shapes = [(65, 70), (65, 70), (3, 2, 1), (5000,), ()]
    feeds = {sg.placeholder(sg.float32, shape): draws(n, *shape)[0] for n, shape in enumerate(shapes)}
    clipped, norm = sg.clip_by_global_norm([*feeds], 0.5)
    return [norm, *clipped], feeds


def all_finite() -> tuple[Any, dict[Any, Any]]:
    feeds = {sg.placeholder(sg.float32, [4000]): draws(n, 4000)[0] for n in range(3)}
    [*feeds.values()][2][1234] = np.inf
    return sg.stack([sg.reduce_all(sg.is_finite(x)) for x in feeds]), feeds


def sums_of_one() -> tuple[Any, dict[Any, Any]]:
    """Several of the same numbers, and numbers beside them."""
    x = sg.placeholder(sg.float32, [None, 60])
    parts = [sg.reduce_mean(x), sg.reduce_max(x), sg.reduce_min(x[3:9]), x[1, 2]]
    return sg.tanh(sg.stack(parts)), {x: draws(7, 90, 60)[0]}


def gathered() -> tuple[Any, dict[Any, Any]]:
    """Of rows that the data choose, whose numbers are kept in bounds."""
    x, at = sg.placeholder(sg.float32, [40, 60]), sg.placeholder(sg.int32, [80])
    rows = sg.gather(x, at)
    places = np.random.default_rng(0).integers(0, 40, 80)
    return sg.stack([sg.reduce_sum(rows * 0.5), sg.reduce_sum(rows)]), {x: draws(8, 40, 60)[0], at: places}


def repeated() -> tuple[Any, dict[Any, Any]]:
    """Sums that are the same at all places of a piece, or at those of an axis, as a minibatch's deviation."""
    x = sg.placeholder(sg.float32, [3, 70, 80])
    whole = sg.broadcast_to(sg.reduce_sum(0.5 * x), [3, 70, 1])
    each = sg.tile(sg.reduce_sum(x, [1, 2], keepdims=True), [1, 70, 2])
    return sg.concat([x, whole, each], 2), {x: draws(9, 3, 70, 80)[0]}


CASES = [norm_of_several, all_finite, sums_of_one, gathered, repeated]


@pytest.mark.takes_long
@pytest.mark.parametrize("opens", [False, True], ids=["closed", "open sizes"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_sums_side_by_side_are_those_of_the_processor(host: str, case: Any, opens: bool):
    found = []
    for driver in (None, Simulator(3)):
        with sg.Graph().as_default(), on(driver), sg.Session(open_sizes=opens) as session:
            fetches, feeds = case()
            found.append([session.run(fetches, feeds) for _ in range(3)])
    check_alike(*found, 1e-5)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_no_thread_adds_up_thousands_of_numbers(case: Any):
    """A single one took seconds for the norm of a net's gradients."""
    with sg.Graph().as_default():
        fetches, feeds = case()
        made = compile_gpu(step_of(fetches if isinstance(fetches, list) else [fetches], feeds))
    functions = [
        call.function for work in made.works.values() for call in work.calls if isinstance(call, FunctionCall)
    ]
    assert functions and min(function.threads for function in functions) >= 32


def test_sums_side_by_side_do_not_wait_for_each_other(host: str):
    """Each has memory of its own for what its blocks have found."""
    with sg.Graph().as_default():
        feeds = {sg.placeholder(sg.float32, [400_000]): draws(n, 400_000)[0] for n in range(3)}
        made = compile_gpu(step_of([sg.stack([sg.reduce_sum(x) for x in feeds])], feeds))
    (work,) = made.works.values()
    assert len(work.calls) == 6 and len({name for name, _ in work.scratch}) == 3
