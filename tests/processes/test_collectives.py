"""Collectives among several processes, against NumPy; natively, and by their meaning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import FailedPreconditionError, ShapeError
from tests.processes.launching import launched

pytestmark = pytest.mark.takes_long

# Each process knows what all others feed: so it can tell the result of each collective and each gradient.
EXCHANGE = """
    dist = sg.distribute
    n, rank = dist.size(), dist.rank()
    def fed(rank, dtype):
        values = np.random.RandomState(rank).uniform(-4, 4, (12, 3))
        return values.astype(dtype)
    def rows(array, part):
        return array[part * 12 // n : (part + 1) * 12 // n]
    for device in {devices}:
        for dtype in {dtypes}:
            x = sg.placeholder(dtype, [12, 3])
            made = [
                dist.all_reduce(x), dist.all_reduce(x, "max"), dist.all_reduce(x, "min"),
                dist.all_gather(x), dist.reduce_scatter(x), dist.broadcast(x, n - 1), dist.all_to_all(x),
            ]
            all_fed = [fed(r, dtype) for r in range(n)]
            total = sum(all_fed[1:], all_fed[0])
            wanted = [
                total, np.maximum.reduce(all_fed), np.minimum.reduce(all_fed), np.concatenate(all_fed),
                rows(total, rank), all_fed[-1], np.concatenate([rows(a, rank) for a in all_fed]),
            ]
            with sg.Session(device=device) as sess:
                for got, want in zip(sess.run(made, {{x: all_fed[rank]}}), wanted):
                    assert got.dtype == want.dtype and got.shape == want.shape
                    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    assert dist.local_rank() == rank and dist.local_size() == n
    say("fits", rank)
"""


@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_results_are_those_of_numpy(processes: int):
    dtypes = ["float32", "float64", "int32", "uint8"]
    said = launched(processes, EXCHANGE.format(dtypes=dtypes, devices=["cpu"]))
    assert said.count("fits") == processes


def test_the_meaning_of_an_op_is_an_exchange_too():
    program = """
        from staticgraph.compiler import ops
        from staticgraph.compiler.graph.opdef import OPS
        n, rank = sg.distribute.size(), sg.distribute.rank()
        x = np.arange(4, dtype=np.float32).reshape(4, 1) + 10 * rank
        meaning = lambda name, **attrs: OPS[name].meaning(x, workers=n, **attrs).ravel().tolist()
        assert meaning("all_reduce", combine="sum") == [10.0, 12.0, 14.0, 16.0]
        assert meaning("all_gather") == [0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0]
        assert meaning("reduce_scatter", combine="max") == [10.0 + 2 * rank, 11.0 + 2 * rank]
        assert meaning("broadcast", root=1) == [10.0, 11.0, 12.0, 13.0]
        assert meaning("all_to_all") == [2.0 * rank, 2.0 * rank + 1, 10 + 2.0 * rank, 11 + 2.0 * rank]
        say("fits")
    """
    assert launched(2, program).count("fits") == 2


def test_gradients_are_those_of_the_sum_of_all_losses():
    """By central differences: each process moves one element of one process, and all compute their losses."""
    program = """
        dist = sg.distribute
        n, rank = dist.size(), dist.rank()
        x, weight = sg.placeholder("float64", [4, 2]), sg.placeholder("float64", [])
        made = [
            dist.all_reduce(x), dist.all_reduce(x, "mean"), dist.all_gather(x), dist.reduce_scatter(x),
            dist.broadcast(x, 1), dist.all_to_all(x),
        ]
        scale = 1.0 + rank
        losses = [scale * sg.reduce_sum(sg.sin(y + weight * sg.reduce_sum(y))) for y in made]
        slopes = [sg.gradients(loss, x)[0] for loss in losses]
        here = np.random.RandomState(rank).randn(4, 2)
        with sg.Session() as sess:
            found = sess.run(slopes, {x: here, weight: 0.3})
            for moved in range(n):
                for at in np.ndindex(4, 2):
                    ends = []
                    for step in (1e-5, -1e-5):
                        there = here.copy()
                        there[at] += step * (rank == moved)
                        total = [dist.all_reduce(loss) for loss in losses] if not ends else total
                        ends.append(sess.run(total, {x: there, weight: 0.3}))
                    if rank == moved:
                        for slope, high, low in zip(found, *ends):
                            np.testing.assert_allclose(slope[at], (high - low) / 2e-5, rtol=1e-5, atol=1e-7)
        say("fits")
    """
    assert launched(2, program).count("fits") == 2


def test_a_step_calls_mpi_without_python():
    """While a step runs, Python is asked for nothing, though it waits for three exchanges."""
    program = """
        import sys
        dist = sg.distribute
        x = sg.placeholder("float32", [1000])
        y = dist.all_reduce(sg.tanh(dist.all_reduce(sg.sin(x)))) * 2
        seen = []
        with sg.Session() as sess:
            from staticgraph.runtime.cpu.executable import CpuExecutable
            CpuExecutable._run_host = lambda self, index, table: seen.append(index) or 0
            for _ in range(3):
                sess.run(y, {x: np.ones(1000)})
        assert [index for index in seen if index >= 0] == [], seen
        say("fits")
    """
    assert launched(2, program).count("fits") == 2


def test_known_steps_run_natively_and_are_loaded_from_disk(tmp_path: Path):
    """Neither does Python call a step, nor is it compiled by processes that start later."""
    program = """
        from staticgraph.compiler.graph.world import MEMBERSHIP
        from staticgraph.runtime.cpu.disk import disk_cache
        from staticgraph.runtime.cpu.executable import CpuExecutable
        dist = sg.distribute
        rows = np.random.RandomState(dist.rank()).randn(8, 6).astype(np.float32)
        compiled, recall = [], disk_cache.recall
        def recalled(key, step):
            found = recall(key, step)
            compiled.append(found is None)
            return found
        disk_cache.recall = recalled
        for kind in ({}, {"shards": 4}, {"shard_state": True}):
            with sg.Graph().as_default(), sg.Session() as sess:
                x = sg.placeholder("float32", [None, 6])
                start = sg.random_normal_initializer(seed=1)
                y = sg.layers.dense(x, 5, activation=sg.nn.tanh, kernel_initializer=start)
                opt = dist.Optimizer(sg.train.AdamOptimizer(0.1), **kind)
                step = opt.minimize(sg.reduce_mean(y * y))
                sess.run(sg.global_variables_initializer())
                for _ in range(4):
                    sess.run(step, {x: rows})
                runs, call = MEMBERSHIP.world.peers.runs[0], CpuExecutable.__call__
                CpuExecutable.__call__ = None
                for _ in range(3):
                    sess.run(step, {x: rows})
                CpuExecutable.__call__ = call
                assert MEMBERSHIP.world.peers.runs[0] == runs + 3
                bits = b"".join(v.tobytes() for v in sess.run(sg.trainable_variables()))
            say("BITS", sorted(kind), bits.hex())
        say("COMPILED", sum(compiled))
    """
    first, second = (launched(2, program, SG_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert "COMPILED 0" not in first and second.count("COMPILED 0") == 2, first + second
    bits = [sorted(line for line in said.splitlines() if "BITS" in line) for said in (first, second)]
    assert len(set(bits[0])) == 3 and bits[0] == bits[1]


def test_gradients_travel_while_others_are_computed():
    """The plan tells with which kernels an exchange overlaps; the last one has none left to overlap with."""
    program = """
        dist = sg.distribute
        x = h = sg.placeholder("float32", [32, 64])
        for _ in range(3):
            h = sg.layers.dense(h, 64, activation=sg.nn.tanh)
        opt = dist.Optimizer(sg.train.AdamOptimizer(0.01), bucket_bytes=1 << 14)
        step = opt.minimize(sg.reduce_mean(h * h))
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            plan = sess.plan(step, {x: np.ones((32, 64))})
        assert [each.bytes for each in plan.exchanges] == [(64 * 64 + 64) * 4] * 3
        first, second, last = ("".join(each.meanwhile) for each in plan.exchanges)
        assert "matmul" in first and "matmul" in second and "matmul" not in last
        assert "all_reduce of 16.2 KB, meanwhile" in str(plan)
        say("fits")
    """
    assert launched(2, program).count("fits") == 2


def test_a_profile_tells_the_time_waited_of_all_processes():
    program = """
        import time
        dist = sg.distribute
        x = sg.placeholder("float32", [None])
        y = dist.all_reduce(sg.sin(x))
        with sg.Session() as sess:
            for _ in range(3):
                sess.run(y, {x: np.ones(1000)})
            with sess.profile() as profile:
                for _ in range(2):
                    if dist.rank() == 1:
                        time.sleep(0.3)
                    sess.run(y, {x: np.ones(1000)})
        [times] = profile.steps
        [exchange] = [each for each in times.kernels if each.is_exchange]
        assert 0 < exchange.waited <= exchange.nanoseconds and exchange.launches == 2
        assert times.waited == exchange.waited
        assert "of it waiting for other processes (" in str(profile)
        [merged] = of_all = profile.of_all_processes()
        first, second = merged.ranks
        assert first.waits.keys() == {exchange.name} and first.waited > 0.3e9 > second.waited
        assert (first, second)[dist.rank()].waited == exchange.waited
        assert "2 processes; process 1 waits least" in str(merged) == str(of_all)
        say("fits")
    """
    assert launched(2, program).count("fits") == 2


def test_inside_of_loops_and_branches():
    program = """
        dist = sg.distribute
        x = sg.placeholder("float32", [])
        def body(i, total):
            return i + 1, total + dist.all_reduce(x * sg.cast(i, "float32"))
        _, looped = sg.while_loop(lambda i, total: i < 5, body, [0, 0.0])
        otherwise = lambda: sg.zeros([2 * dist.size()])
        branched = sg.cond(looped > 0, lambda: dist.all_gather([x, looped]), otherwise)
        with sg.Session() as sess:
            got = sess.run([looped, branched], {x: 1.0 + dist.rank()})
        assert got[0] == 30.0 and got[1].tolist() == [1, 30, 2, 30], got
        say("fits")
    """
    assert launched(2, program).count("fits") == 2


def test_among_one_process_each_gives_back_what_it_takes():
    dist, x = sg.distribute, sg.constant([[1.0, 2.0], [3.0, 4.0]])
    assert (dist.size(), dist.rank(), dist.local_size(), dist.local_rank()) == (1, 0, 1, 0)
    made = [dist.all_reduce(x, op) for op in ("sum", "mean", "product", "min", "max")]
    made += [dist.all_gather(x), dist.reduce_scatter(x), dist.broadcast(x), dist.all_to_all(x)]
    with sg.Session() as sess:
        for got in sess.run(made):
            np.testing.assert_array_equal(got, [[1, 2], [3, 4]])


def test_narrow_numbers_are_combined_in_wider_ones():
    dist = sg.distribute
    made = [dist.all_reduce(sg.cast([1.0, 2.0], "float16")), dist.all_reduce(sg.constant([True]), "max")]
    assert [each.dtype.name for each in made] == ["float16", "bool"]
    with sg.Session() as sess:
        assert [each.tolist() for each in sess.run(made)] == [[1.0, 2.0], [True]]


def test_both_parts_of_complex_numbers_are_combined():
    dist = sg.distribute
    x = sg.placeholder("complex64", [2])
    made = [dist.all_reduce(x), dist.all_reduce(x, "mean"), dist.reduce_scatter(x), dist.all_gather(x)]
    with sg.Session() as sess:
        for got in sess.run(made, {x: [1 + 2j, 3 - 4j]}):
            assert got.dtype == np.complex64 and got.tolist() == [1 + 2j, 3 - 4j]
    with pytest.raises(TypeError, match="the max of complex numbers is not supported"):
        dist.all_reduce(x, "max")


def test_bad_arguments():
    dist, x = sg.distribute, sg.zeros([3, 2])
    with pytest.raises(TypeError, match="is string, and must be a number or a truth value"):
        dist.all_reduce(sg.constant(["a"]))
    with pytest.raises(ValueError, match="timeout is 'x', and must be a number of seconds"):
        dist.init(timeout="x")
    with pytest.raises(ValueError, match="op is 'add', and must be one of sum, mean"):
        dist.all_reduce(x, "add")
    with pytest.raises(TypeError, match="the mean of int32 is no int32"):
        dist.all_reduce(sg.constant([1]), "mean")
    with pytest.raises(ShapeError, match="root is process 1, and there are 1"):
        dist.broadcast(x, 1)
    with pytest.raises(ShapeError, match="all_gather needs at least one axis"):
        dist.all_gather(1.0)


def test_a_graph_for_other_processes_is_refused():
    from staticgraph.compiler import ops

    x = ops.all_reduce(sg.zeros([3]), workers=4)
    with (
        sg.Session() as sess,
        pytest.raises(FailedPreconditionError, match="was made for 4 processes, and this one is of 1"),
    ):
        sess.run(x)
