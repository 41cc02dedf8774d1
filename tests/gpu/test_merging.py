"""Small pieces of work that become one launch: fewer launches, in a right order, with the same bits."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall, Parameter, call
from staticgraph.compiler.codegen.cuda.merged import merged, shared_by
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.machine import H200
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.graphs.merging import LaunchGroup, RecordedWork, plan
from staticgraph.runtime.gpu.simulator.build import Unit
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu import test_open_sizes as open_sizes
from tests.gpu.sessions import draws, on
from tests.gpu.test_train_steps import two_layer_net

X, Y = Parameter("x", float32), Parameter("y", float32, written=True)
ADD = call(
    "add",
    [X, Y],
    "y[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x] + 1.0f;",
    (3, 1, 1),
    (64, 1, 1),
)
SQUARE = """
if (threadIdx.x >= 60) return;
y[(blockIdx.y * 2 + blockIdx.x) * 64 + threadIdx.x] *= x[threadIdx.x];
"""
TALL = call("tall", [X, Y], SQUARE, (2, 3, 1), (64, 1, 1))
TOTAL = call(
    "total",
    [X, Y],
    """
SG_SHARED(float, kept, 64);
kept[threadIdx.x] = x[threadIdx.x];
__syncthreads();
y[threadIdx.x] = kept[63 - threadIdx.x] + kept[threadIdx.x / 2];
""",
    (1, 1, 1),
    (64, 1, 1),
    True,
)
LARGE = call("large", [X, Y], "y[0] = x[0];", (1000, 1, 1), (64, 1, 1))


@pytest.mark.parametrize("schedule", [0, 3, 6])
def test_a_merged_function_does_what_its_functions_do(host: str, schedule: int):
    lanes = ((ADD, TOTAL, TOTAL), (TALL,), (ADD,), (TOTAL,))
    lanes = ((TOTAL, TOTAL), *lanes[1:])
    function = merged(tuple(tuple(each.function for each in lane) for lane in lanes))
    assert function.grid == (1 + 6 + 3 + 1, 1, 1) and function.meets
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(400).astype(np.float32) for _ in range(10)]
    apart = [a.copy() for a in arrays]
    pairs = [(0, 1), (1, 0), (2, 3), (4, 5), (6, 7)]  # the second total reads what the first one has written
    alone = Unit([ADD.function, TALL.function, TOTAL.function])
    for (x, y), each in zip(pairs, itertools.chain(*lanes), strict=True):
        alone.run(each.function.name, [apart[x].ctypes.data, apart[y].ctypes.data], schedule)
    addresses = [arrays[n].ctypes.data for pair in pairs for n in pair]
    Unit([function]).run(function.name, addresses, schedule)
    for one, other in zip(arrays, apart, strict=True):
        np.testing.assert_array_equal(one, other)


def test_few_blocks_have_all_registers():
    """If nothing is said on blocks, ptxas keeps to 32 registers and spills the next ones."""
    assert "__launch_bounds__(64, 1)" in merged(((ADD.function,), (TALL.function,))).text
    dense = replace(TALL.function, blocks_per_core=4)
    assert "__launch_bounds__(64, 4)" in merged(((ADD.function,), (dense,))).text


def test_shared_memory_is_counted():
    total, add = TOTAL.function, ADD.function
    assert (total.declared, total.threads, add.declared) == (256, 64, 0)
    assert shared_by([(total,), (add,), (total,)]) == 256  # one text, called twice
    assert shared_by([(total,), (total, total)]) == merged(((total,), (total, total))).declared == 512


def piece(of: FunctionCall, read: int, written: int, size: int = 1) -> RecordedWork:
    given = [(read * 10, (read + size) * 10), (written * 10, (written + size) * 10)]
    return RecordedWork(given[:1], given[1:], None, of, given)


def conflicts(one: RecordedWork, other: RecordedWork) -> bool:
    def meet(some: Any, others: Any) -> bool:
        return any(a < d and c < b for a, b in some for c, d in others)

    return meet(one.writes, [*other.writes, *other.reads]) or meet(one.reads, other.writes)


@pytest.mark.parametrize("seed", range(60))
def test_no_piece_comes_before_what_it_depends_on(seed: int):
    rng = np.random.default_rng(seed)
    kinds = [ADD, TALL, TOTAL, TOTAL, LARGE]
    places = int(rng.integers(4, 40))
    pieces = [
        piece(
            kinds[rng.integers(5)], *(int(n) for n in rng.integers(places, size=2)), int(rng.integers(1, 4))
        )
        for _ in range(rng.integers(2, 60))
    ]
    groups = plan(pieces, H200)
    order = [(p, g) for g, group in enumerate(groups) for p in group.pieces]
    assert sorted(map(id, pieces)) == sorted(id(p) for p, _ in order)
    at = {id(p): n for n, (p, _) in enumerate(order)}
    group_of = {id(p): g for p, g in order}
    lane_of = {id(p): id(lane) for group in groups for lane in group.lanes for p in lane.pieces}
    for n, one in enumerate(pieces):
        for other in pieces[n + 1 :]:
            if conflicts(one, other):
                assert at[id(one)] < at[id(other)]
                if group_of[id(one)] == group_of[id(other)]:
                    assert lane_of[id(one)] == lane_of[id(other)]
    assert all(len({p.call.function.block for p in group.pieces if p.call}) == 1 for group in groups)
    large = [group for group in groups if any(p.call is LARGE for p in group.pieces)]
    assert all(group.is_one_piece for group in large)


def names(groups: list[LaunchGroup]) -> list[list[list[str]]]:
    return [
        [[p.call.function.kind for p in lane.pieces if p.call] for lane in group.lanes] for group in groups
    ]


def test_chains_of_single_blocks_and_independent_pieces_are_one_launch():
    chain = [piece(TOTAL, 0, 1), piece(TOTAL, 1, 2), piece(ADD, 0, 3), piece(LARGE, 3, 4), piece(TOTAL, 2, 5)]
    assert names(plan(chain, H200)) == [[["add"]], [["total", "total", "total"]], [["large"]]] or names(
        plan(chain, H200)
    ) == [[["add"]], [["large"]], [["total", "total", "total"]]]
    beside = [piece(TALL, 0, 1), piece(ADD, 0, 2), piece(ADD, 3, 4)]
    assert names(plan(beside, H200)) == [[["tall"], ["add"], ["add"]]]


def test_shared_memory_of_all_texts_fits():
    """A function that is alone in one lane and follows itself in another has two texts."""
    body = "SG_SHARED(float, kept, 7000);\nkept[threadIdx.x] = x[0];\ny[threadIdx.x] = kept[threadIdx.x];"
    greedy = call("greedy", [X, Y], body, (1, 1, 1), (64, 1, 1), True)
    pieces = [piece(greedy, 0, 1), piece(greedy, 1, 2), piece(greedy, 3, 4)]
    groups = plan(pieces, H200)
    assert names(groups) == [[["greedy", "greedy"]], [["greedy"]]]
    assert names(plan(pieces[:2] + [piece(greedy, 3, 4), piece(greedy, 4, 5)], H200)) == [
        [["greedy"] * 2] * 2
    ]
    assert all(group.function.declared <= 48 << 10 for group in groups)


def lstm() -> tuple[Any, Any]:
    x = sg.placeholder(sg.float32, [4, 3, 8], name="x")
    cell = sg.nn.rnn_cell.LSTMCell(8)
    outputs, _ = sg.nn.static_rnn(cell, sg.unstack(x, axis=1), dtype=sg.float32)
    loss = sg.reduce_mean(sg.square(outputs[-1]))
    return [loss, sg.train.AdamOptimizer(0.01).minimize(loss)], lambda n: {x: draws(1, 4, 3, 8)[n % 4]}


def tables() -> tuple[Any, Any]:
    ids = [sg.placeholder(sg.int32, [6]) for _ in range(3)]
    rows = [sg.nn.embedding_lookup(sg.get_variable(f"t{n}", [20, 4]), i) for n, i in enumerate(ids)]
    loss = sg.reduce_mean(sg.square(sg.layers.dense(sg.concat(rows, 1), 5, sg.nn.tanh)))
    step = sg.train.AdagradOptimizer(0.1).minimize(loss)
    return [loss, step], lambda n: {i: (np.arange(6) * (n + k + 2)) % 20 for k, i in enumerate(ids)}


def loop() -> tuple[Any, Any]:
    x = sg.placeholder(sg.float32, [3, 4])
    w = sg.get_variable("w", [4, 4])
    y = sg.scan(lambda a, row: sg.tanh(a @ w + row), sg.tile(x[:, None], [1, 2, 1]), sg.zeros([2, 4]))
    z = sg.while_loop(lambda a: sg.reduce_sum(a) < 50.0, lambda a: sg.nn.softmax(a) + a * 1.5, [x * x + 1.0])
    return [y, z, sg.reduce_sum(z, 0), sg.reduce_max(x, 1)], lambda n: {x: draws(2, 3, 4)[n % 4]}


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "net": two_layer_net,
    "lstm": lstm,
    "tables": tables,
    "loop": loop,
}


@pytest.mark.takes_long
@pytest.mark.parametrize(
    "name", ["net", "loop", *(pytest.param(name, marks=pytest.mark.slow) for name in ("lstm", "tables"))]
)
def test_launches_are_fewer_and_bits_the_same(host: str, name: str):
    def ran(schedule: int, overlap: bool) -> tuple[list[Any], int]:
        driver = Simulator(schedule)
        with sg.Graph().as_default(), on(driver), sg.Session(overlap=overlap) as session:
            sg.set_random_seed(5)
            fetches, feeds = MODELS[name]()
            session.run(sg.global_variables_initializer())
            made = [session.run(fetches, feeds(n)) for n in range(4)]
            before = driver.counts.launches
            made.append(session.run(fetches, feeds(4)))
            return sg.nest.flatten(
                [made, session.run(sg.global_variables())]
            ), driver.counts.launches - before

    expected, most = ran(3, False)
    for schedule in (0, 3, 6):
        found, launches = ran(schedule, True)
        assert launches < most
        for one, other in zip(found, expected, strict=True):
            if other is not None:
                np.testing.assert_array_equal(one, other)


def test_sizes_that_come_later_use_the_functions_of_the_first(host: str):
    build, sizes = open_sizes.MODELS["small layers"], (7, 3, 33)
    with sg.Graph().as_default(), on(Simulator(3)), sg.Session() as session:
        fetches, feeds = build()
        for _ in range(2):
            session.run(fetches, feeds(7))
        assert session.device is not None
        loaded, driver = session.device.functions, session.device.driver
        launches = {}
        for size in sizes:
            for _ in range(2):
                before = driver.counts.launches  # type: ignore[attr-defined]
                found = session.run(fetches, feeds(size))
                launches[size] = driver.counts.launches - before  # type: ignore[attr-defined]
            with on(Simulator(3)), sg.Session(overlap=False) as alone:
                open_sizes.check_bits(found, alone.run(fetches, feeds(size)))
        assert session.device.functions == loaded and len(set(launches.values())) == 1


def order_of_loading() -> list[str]:
    """The names of functions in the order in which a device loads them."""
    found: list[str] = []
    load = Device.load

    def noting(device: Device, functions: Sequence[CudaFunction]) -> None:
        found.extend(f.name for f in functions)
        load(device, functions)

    with pytest.MonkeyPatch.context() as patch, sg.Graph().as_default(), on(Simulator()):
        patch.setattr(Device, "load", noting)
        with sg.Session() as session:
            fetches, feeds = tables()
            session.run(sg.global_variables_initializer())
            for n in range(2):
                session.run(fetches, feeds(n))
    return found


@pytest.mark.takes_long
def test_functions_are_loaded_in_an_order_that_another_process_has_as_well(host: str):
    """Else it would not find their images on the disk. The seed of hashes differs from process to process."""
    program = "from tests.gpu.test_merging import order_of_loading; print(*order_of_loading())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.split() == order_of_loading() and "merged_" in done.stdout


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not here: pip install nvidia-cuda-nvrtc")
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_merged_functions_compile(architecture: str):
    function = merged(((TOTAL.function, TOTAL.function), (TALL.function,), (ADD.function,)))
    usage = nvrtc.inspect([function], architecture).usage[function.name]
    assert usage.spilled == 0 and usage.shared >= 256
