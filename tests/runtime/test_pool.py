"""Threads change how fast a step is and nothing else: not results, nor other sessions, forks, or the end."""

import ctypes
import os
import subprocess
import sys
import textwrap
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from unittest import mock

import numpy as np
import pytest
from hypothesis import given

import staticgraph as sg
from staticgraph.compiler import compile as compile_module
from staticgraph.compiler.codegen import llvm_pool
from staticgraph.compiler.kernel import chunk
from staticgraph.compiler.lower import phases
from staticgraph.runtime.devices import cpu_jit
from staticgraph.runtime.devices.pool import Pool
from staticgraph.runtime.executable import evaluate
from staticgraph.runtime.threads import MOST_THREADS
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
        sg.nn.softmax(x), sg.reduce_sum(x), sg.reduce_sum(x, 0), sg.reduce_max(x, 1), sg.argmax(x, 1),
        (x - mean) / sg.sqrt(sg.reduce_mean(sg.square(x - mean))), sg.reduce_any(x > 3.0, 0), sg.cumsum(x, 1),
    ]  # fmt: skip
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
    """What some runs fetch, and the variables after them."""
    fetches, feeds = step
    made = [value for _ in range(runs) for value in session.run(fetches, feeds) if value is not None]
    return [*made, *session.run(sg.global_variables())]


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("make", STEPS)
def test_results_do_not_depend_on_the_number_of_threads(make: Callable[[], Step]):
    step = make()
    found = []
    for number in (1, 2, 3, 4, 8):
        sg.set_num_threads(number)
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            assert session.executable(*step).compiled.parallel
            found.append(outcome(session, step))
    for other in found[1:]:
        assert_same(other, found[0])


@fuzz(20)
@given(functions(15))
def test_random_graphs_in_many_chunks(case):
    function, arguments = case
    expected = evaluate(function, arguments)
    with (
        mock.patch.multiple(chunk, _WORTH=0.0, chunk_count=lambda cost: 3),
        mock.patch.multiple(phases, _REGION_COST=0.0, _PART_COST=1.0),
        mock.patch.object(compile_module, "_emitted", OrderedDict()),
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


# The pool by itself.

WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
RUN = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
HELP = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)


class Bench:
    """A pool of this test, whose work is a Python function of the phase and the chunk."""

    def __init__(self) -> None:
        self.pool = Pool()
        self.address = self.pool.open(64)
        self.words = self.pool._words
        code = llvm_pool.pool_code(cpu_jit.host())
        library = cpu_jit.load(code.codes)
        self._run, self._help = RUN(library[code.run.name]), HELP(library[code.help.name])

    def run(self, counts: list[int], work: Callable[[int, int], object], cost: int = 10**9) -> None:
        function = WORK(lambda table, phase, chunk, private: work(phase, chunk))
        sizes = (ctypes.c_uint16 * len(counts))(*counts)
        address = ctypes.cast(function, ctypes.c_void_p)
        self._run(self.address, address, None, ctypes.addressof(sizes), len(counts), None, cost)

    def record(self, counts: list[int]) -> list[tuple[int, int]]:
        """The phases and chunks of a region in the order in which they are done."""
        done: list[tuple[int, int]] = []
        self.run(counts, lambda phase, chunk: done.append((phase, chunk)))
        return done

    def claim(self) -> int:
        return int(self.words.view(np.uint64)[llvm_pool.CLAIM])

    def help(self, claim: int) -> bool:
        return self._help(self.address, claim, None)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.pool.close()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_chunk_is_done_once_and_phases_follow_each_other(bench: Bench, size: int):
    bench.pool.resize(size)
    counts = [3, 1, 1, 7, 2]
    for _ in range(20):
        done = bench.record(counts)
        assert sorted(done) == [(p, c) for p, n in enumerate(counts) for c in range(n)]
        assert [p for p, _ in done] == sorted(p for p, _ in done)


def test_a_worker_that_never_comes_holds_up_nothing(bench: Bench):
    bench.words[llvm_pool.LIMIT] = 1  # the pool expects a worker, and there is none
    assert bench.record([4, 4]) == [(phase, chunk) for phase in range(2) for chunk in range(4)]


def test_a_worker_that_was_stopped_touches_nothing_later(bench: Bench):
    """It looked at the pool in one phase, and tries to claim in the next one, or in another region."""
    bench.words[llvm_pool.LIMIT] = 1
    seen: list[int] = []
    done: list[tuple[int, int]] = []

    def work(phase: int, chunk: int) -> None:
        done.append((phase, chunk))
        if len(done) == 1:
            seen.append(bench.claim())
        else:
            assert not bench.help(seen[0])

    bench.run([2, 3], work)
    assert not bench.help(seen[0])
    bench.run([2, 3], work)
    assert len(done) == 10
    assert not bench.help(bench.claim())  # there is nothing to do between regions


def test_a_worker_takes_chunks_from_the_other_end(bench: Bench):
    bench.words[llvm_pool.LIMIT] = 1
    done: list[tuple[int, int]] = []

    def work(phase: int, chunk: int) -> None:
        done.append((phase, chunk))
        if len(done) == 1:
            assert bench.help(bench.claim())

    bench.run([3, 1], work)
    assert done == [(0, 0), (0, 2), (0, 1), (1, 0)]


def test_the_worker_that_finishes_a_phase_goes_on_with_the_next(bench: Bench):
    bench.words[llvm_pool.LIMIT] = 1
    here, order = threading.get_ident(), []
    first_chunk_runs, may_end = threading.Event(), threading.Event()

    def work(phase: int, chunk: int) -> None:
        order.append((phase, chunk, threading.get_ident() == here))
        if (phase, chunk) == (0, 1):
            first_chunk_runs.set()
            assert may_end.wait(60)

    def helper() -> None:
        while not bench.help(bench.claim()):
            pass

    worker = threading.Thread(target=helper)

    def lead(phase: int, chunk: int) -> None:
        if (phase, chunk) == (0, 0):
            worker.start()
            assert first_chunk_runs.wait(60)
            may_end.set()
        work(phase, chunk)

    bench.run([2, 1], lambda phase, chunk: lead(phase, chunk))
    worker.join()
    assert sorted(order)[-1][:2] == (1, 0)
    assert len(order) == 3


def test_a_second_region_is_done_by_its_own_thread(bench: Bench):
    bench.words[llvm_pool.LIMIT] = 1
    inner: list[tuple[int, int]] = []
    outer: list[int] = []

    def work(phase: int, chunk: int) -> None:
        outer.append(chunk)
        bench.run([2, 2], lambda phase, chunk: inner.append((phase, chunk)))

    bench.run([2], work)
    assert outer == [0, 1] and inner == [(0, 0), (0, 1), (1, 0), (1, 1)] * 2


def test_tickets_may_run_over(bench: Bench):
    bench.pool.resize(2)
    bench.words.view(np.uint32)[llvm_pool.TICKET] = 2**32 - 3
    for _ in range(3):
        assert [phase for phase, _ in bench.record([2, 2])] == [0, 0, 1, 1]
    assert bench.words.view(np.uint32)[llvm_pool.TICKET] == 3


def test_scratch_memory_of_workers_grows(bench: Bench):
    bench.pool.resize(3)
    places = bench.words[llvm_pool.PRIVATE : llvm_pool.PRIVATE + 2]
    small = places.copy()
    assert bench.pool.open(32) == bench.address and (places == small).all()
    assert bench.pool.open(1 << 20) == bench.address and (places != small).all()
    assert (places % 64 == 0).all()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems are not told where threads run")
def test_workers_are_woken_away_from_the_master_and_then_roam(bench: Bench):
    usable = os.sched_getaffinity(0)
    if len(usable) < 2:
        pytest.skip("there is one processor")
    ended = threading.Event()
    moved = threading.Thread(target=ended.wait)  # in the place of a worker, to be seen as it is when woken
    moved.start()
    bench.words[llvm_pool.LIMIT] = bench.words[llvm_pool.SLEEPERS] = 1
    bench.words[llvm_pool.THREADS] = moved.native_id
    bench.record([2])
    assert len(usable - os.sched_getaffinity(moved.native_id)) == 1
    ended.set()
    moved.join()
    bench.words[llvm_pool.LIMIT] = bench.words[llvm_pool.SLEEPERS] = bench.words[llvm_pool.THREADS] = 0
    bench.pool.resize(2)
    (worker,) = bench.pool._workers
    while not bench.words[llvm_pool.SLEEPERS]:
        pass
    bench.record([8])
    while os.sched_getaffinity(worker.native_id) != usable:
        pass


def test_the_pool_of_windows_has_its_calls():
    windows = llvm_pool.pool_code(cpu_jit.host().__class__("x86_64-pc-windows-msvc", "", "", "", 32))
    text = "".join(code.text for code in windows.codes)
    assert "SleepConditionVariableSRW" in text and "pthread" not in text and "$" not in text


# Processes.


def process(script: str, **environment: str) -> str:
    """What a process prints that runs `script` after `network` above and its like are defined."""
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
        [sys.executable, "-W", "error", "-c", text], env={**os.environ, **environment},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


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
    text = process("""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            number = sg.get_num_threads()
            sg.get_num_threads()
        print(number >= 1, [str(w.message).partition(";")[0] for w in caught])
    """, SG_THREADS=value)  # fmt: skip
    assert text == f"True [\"SG_THREADS='{value}': expected a number from 1 to 256\"]\n"


def test_a_small_step_starts_no_threads():
    text = process("""
        with sg.Session() as session:
            session.run(x * 2.0, {x: np.ones((2, 400), np.float32)})
        print([t.name for t in threading.enumerate() if "worker" in t.name])
    """, SG_THREADS="4")  # fmt: skip
    assert text == "[]\n"


@pytest.mark.parametrize(("threads", "begun"), [(1, False), (2, True)])
def test_its_code_is_compiled_while_a_step_is(monkeypatch, threads, begun):
    pool, codes = Pool(), []
    pool.resize(threads)
    monkeypatch.setattr(cpu_jit, "begin", codes.append)
    pool.expect()
    assert codes == ([*llvm_pool.pool_code(cpu_jit.host()).codes] if begun else [])
