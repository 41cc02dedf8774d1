"""Threads change how fast a step is and nothing else: not results, nor other sessions, forks, or the end."""

import os
import subprocess
import sys
import textwrap
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given

import staticgraph as sg
from staticgraph.compiler import kernel_codes
from staticgraph.compiler.codegen.native import pool as llvm_pool
from staticgraph.compiler.kernel import cost as kernel_cost
from staticgraph.compiler.kernel.schedule_cpu import parallelize as chunk
from staticgraph.compiler.lower import parallel_schedule as phases
from staticgraph.compiler.machine import CPU
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.executable import evaluate
from staticgraph.runtime.cpu.pool import Pool
from staticgraph.runtime.cpu.threads import MOST_THREADS
from tests.fuzz.test_random_graphs import functions, fuzz


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = sg.get_num_threads()
    yield
    sg.set_num_threads(before)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


# Steps that several threads can work on: what to fetch, and the feeds.

Step = tuple[list, dict]


def weights(*shape: int, seed: int = 1) -> sg.Variable:
    return sg.Variable(normal(*shape, seed=seed) * 0.1)


def network() -> Step:
    x, y = sg.constant(normal(64, 300)), sg.constant(normal(64, 10, seed=2))
    hidden = sg.nn.relu(sg.matmul(x, weights(300, 200)) + weights(200))
    loss = sg.reduce_mean(sg.square(sg.matmul(hidden, weights(200, 10)) - y))
    return [loss, sg.train.AdamOptimizer(1e-2).minimize(loss)], {}


def convolutions() -> Step:
    images = sg.placeholder(sg.float32, [None, 20, 20, 3])
    made = sg.nn.relu(sg.nn.conv2d(images, weights(3, 3, 3, 8), [1, 1, 1, 1], "SAME"))
    made = sg.nn.max_pool(made, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    made = sg.nn.conv2d(made, weights(3, 3, 8, 16), [1, 2, 2, 1], "VALID")
    loss = sg.reduce_mean(sg.square(made))
    return [loss, sg.train.MomentumOptimizer(0.1, 0.9).minimize(loss)], {images: normal(8, 20, 20, 3)}


def reductions() -> Step:
    x = sg.placeholder(sg.float32, [None, 501])
    mean = sg.reduce_mean(x)
    fetches = [
        sg.nn.softmax(x),
        sg.reduce_sum(x),
        sg.reduce_sum(x, 0),
        sg.reduce_max(x, 1),
        sg.argmax(x, 1),
        (x - mean) / sg.sqrt(sg.reduce_mean(sg.square(x - mean))),
        sg.reduce_any(x > 3.0, 0),
        sg.cumsum(x, 1),
    ]
    return fetches, {x: normal(203, 501)}


def embedding() -> Step:
    table, rows = weights(1000, 64), np.random.default_rng(3).integers(0, 1000, (64, 20))
    loss = sg.reduce_sum(sg.square(sg.nn.embedding_lookup(table, sg.constant(rows))))
    return [loss, sg.train.GradientDescentOptimizer(0.1).minimize(loss), table], {}


def attention() -> Step:
    x = sg.placeholder(sg.float32, [4, 32, 64])
    q, k, v = (sg.tensordot(x, weights(64, 64, seed=n), [[2], [0]]) for n in range(3))
    mixed = sg.matmul(sg.nn.softmax(sg.matmul(q, k, transpose_b=True) * 0.125), v) + x
    centred = mixed - sg.reduce_mean(mixed, -1, keepdims=True)
    normed = centred * sg.rsqrt(sg.reduce_mean(sg.square(centred), -1, keepdims=True) + 1e-5)
    loss = sg.reduce_mean(sg.square(sg.nn.relu(sg.tensordot(normed, weights(64, 128), [[2], [0]]))))
    return [loss, sg.train.GradientDescentOptimizer(0.1).minimize(loss)], {x: normal(4, 32, 64)}


def noise() -> Step:
    random = sg.random_normal([50_000], seed=4)
    return [random, sg.reduce_sum(random), sg.concat([random, random * 2.0], 0)], {}


STEPS = [network, convolutions, reductions, embedding, attention, noise]


def outcome(session: sg.Session, step: Step, runs: int = 3) -> list[np.ndarray]:
    """Return the fetches of some runs, and the variables after them."""
    fetches, feeds = step
    made = [value for _ in range(runs) for value in session.run(fetches, feeds) if value is not None]
    return [*made, *session.run(sg.global_variables())]


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.takes_long
@pytest.mark.parametrize("make", STEPS)
def test_results_do_not_depend_on_the_number_of_threads(make: Callable[[], Step]):
    step = make()
    found = []
    for number in (1, 2, 3, 4, 8):
        sg.set_num_threads(number)
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            assert session.executable(*step).parallel
            found.append(outcome(session, step))
    for other in found[1:]:
        assert_same(other, found[0])


@pytest.mark.takes_long
@fuzz(10)
@given(functions(15))
def test_random_graphs_in_many_chunks(case):
    function, arguments = case
    expected = evaluate(function, arguments)
    with (
        mock.patch.object(kernel_cost, "CPU", replace(CPU, shared_ns=0.0)),
        mock.patch.object(chunk, "chunk_count", lambda cost: 3),
        mock.patch.object(phases, "CPU", replace(CPU, region_ns=0.0, joined_ns=1.0)),
        mock.patch.object(kernel_codes, "_emitted", OrderedDict()),
    ):
        sg.set_num_threads(3)
        found = evaluate(function, arguments)
        sg.set_num_threads(1)
        assert_same(evaluate(function, arguments), found)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-4)


def test_empty_tensors():
    x = sg.placeholder(sg.float32, [None, 300])
    fetches = [sg.nn.softmax(x), sg.reduce_sum(x, 0), sg.matmul(x, sg.ones([300, 300]))]
    with sg.Session() as session:
        large = session.run(fetches, {x: np.ones((200, 300))})
        empty = session.run(fetches, {x: np.ones((0, 300))})
    assert large[2][7, 7] == 300
    assert [e.shape for e in empty] == [(0, 300), (300,), (0, 300)]


def test_the_number_of_threads_changes_between_runs():
    step = network()
    with sg.Session() as session, sg.Session() as other:
        for each in (session, other):
            each.run(sg.global_variables_initializer())
        sg.set_num_threads(1)
        expected = outcome(other, step, runs=10)
        found = []
        for number in (4, 1, 2, 8, 3, 1, 6, 2, 1, 4):
            sg.set_num_threads(number)
            assert sg.get_num_threads() == number
            found += [v for v in session.run(*step) if v is not None]
            assert len([t for t in threading.enumerate() if "staticgraph worker" in t.name]) == number - 1
        assert_same(found, expected[:10])


def test_sessions_on_two_threads():
    steps = [network(), reductions()]
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        expected = [outcome(session, steps[0], runs=30), outcome(session, steps[1], runs=30)]
    sg.set_num_threads(3)
    found: dict[int, list[np.ndarray]] = {}
    graph = sg.get_default_graph()

    def work(number: int) -> None:
        with graph.as_default(), sg.Session() as session:
            session.run(sg.global_variables_initializer())
            if number:  # as in the session above, where the network was trained before
                outcome(session, steps[0], runs=30)
            found[number] = outcome(session, steps[number], runs=30)

    threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in (0, 1):
        assert_same(found[number], expected[number])


@pytest.mark.parametrize("number", [0, -1, MOST_THREADS + 1])
def test_numbers_out_of_range(number: int):
    with pytest.raises(ValueError, match=rf"set_num_threads\({number}\): expected 1 "):
        sg.set_num_threads(number)


@pytest.mark.parametrize("number", [2.0, "2", None, True])
def test_numbers_of_another_type(number):
    with pytest.raises(TypeError, match="expected an integer, not"):
        sg.set_num_threads(number)


# Processes.


def process(script: str, **environment: str) -> str:
    """Return the output of a process that runs `script` after `network` above and its like are defined."""
    head = """
        import os, sys, threading, warnings
        import numpy as np
        import staticgraph as sg
        warnings.filterwarnings("ignore", category=DeprecationWarning)  # of fork beside threads
        x = sg.placeholder(sg.float32, [None, 400])
        out = sg.reduce_sum(sg.exp(sg.matmul(x, sg.ones([400, 300]) * 1e-3)))
        feed = {x: np.ones((200, 400), np.float32)}
    """
    text = textwrap.dedent(head) + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.takes_long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_processes():
    """Before the pool starts, after that, and while a region runs on another thread."""
    text = process("""
        def child(session, expected):
            pid = os.fork()
            if not pid:
                same = [session.run(out, feed) == expected for _ in range(3)]
                workers = sum("worker" in t.name for t in threading.enumerate())
                os._exit(0 if all(same) and workers == 2 else 1)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

        with sg.Session() as session, sg.Session() as other:
            sg.set_num_threads(1)
            expected = session.run(out, feed)
            sg.set_num_threads(3)
            print(child(session, expected))
            print(session.run(out, feed) == expected, child(session, expected))
            ended = threading.Event()

            def busy():
                while not ended.is_set():
                    other.run(out, feed)

            thread = threading.Thread(target=busy)
            thread.start()
            print([child(session, expected) for _ in range(5)])
            ended.set()
            thread.join()
            print(session.run(out, feed) == expected)
    """)
    assert text.split("\n") == ["0", "True 0", "[0, 0, 0, 0, 0]", "True", ""]


def test_the_process_ends_while_threads_work():
    text = process("""
        sg.set_num_threads(4)
        session = sg.Session()
        started = threading.Event()

        def busy():
            while True:
                session.run(out, feed)
                started.set()

        threading.Thread(target=busy, daemon=True).start()
        started.wait()
        print("end")
    """)
    assert text == "end\n"


def test_the_environment_chooses():
    text = process("print(sg.get_num_threads())", SG_THREADS="3")
    assert text == "3\n"


@pytest.mark.parametrize("value", ["0", "many", "-2", "1000"])
def test_what_the_environment_may_not_say(value: str):
    text = process(
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            number = sg.get_num_threads()
            sg.get_num_threads()
        print(number >= 1, [str(w.message).partition(";")[0] for w in caught])
    """,
        SG_THREADS=value,
    )
    assert text == f"True [\"SG_THREADS='{value}': expected a number from 1 to 256\"]\n"


def test_a_small_step_starts_no_threads():
    text = process(
        """
        with sg.Session() as session:
            session.run(x * 2.0, {x: np.ones((2, 400), np.float32)})
        print([t.name for t in threading.enumerate() if "worker" in t.name])
    """,
        SG_THREADS="4",
    )
    assert text == "[]\n"


@pytest.mark.parametrize(("threads", "begun"), [(1, False), (2, True)])
def test_its_code_is_compiled_while_a_step_is(monkeypatch, threads, begun):
    pool, codes = Pool(), []
    pool.resize(threads)
    monkeypatch.setattr(cpu_jit, "begin", codes.append)
    pool.expect()
    assert codes == ([*llvm_pool.pool_code(cpu_jit.host()).codes] if begun else [])
