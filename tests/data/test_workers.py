"""Worker processes of `Dataset.map`: which functions they compute, what goes wrong in them, how they end."""

import functools
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.tf1.data import Dataset
from staticgraph.tf1.data.portable import is_portable
from staticgraph.tf1.lookup.tables import MutableHashTable

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2,
    reason="workers need Linux and two processors",
)
OFFSET = np.arange(3)
OFFSET.flags.writeable = False
SEEN = []


@pytest.fixture(autouse=True)
def graph():
    with sg.Graph().as_default():
        yield


def process(x):
    return np.int64(os.getpid())


def die(x):
    if x == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def draw(x):
    return np.float64(np.random.rand())


def called(function, count=8, dtype=sg.int64, calls=2):
    """The values of a function of Python's for some numbers, and the operation that gives them."""
    dataset = Dataset.range(count).map(lambda x: sg.py_func(function, [x], dtype), num_parallel_calls=calls)
    element = dataset.make_one_shot_iterator().get_next()
    with sg.Session() as sess:
        return [sess.run(element) for _ in range(count)]


def is_alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def script(text, **settings):
    """A program of its own that was started."""
    code = "import os, sys, time\nimport numpy as np\nimport staticgraph as sg\n" + textwrap.dedent(text)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **settings},
        start_new_session=True,
    )


class TestChoice:
    def test_functions_of_python_leave_this_process(self):
        found = {int(p) for p in called(process)}
        assert len(found) == 2 and os.getpid() not in found

    def test_the_environment_forbids_it(self, monkeypatch):
        monkeypatch.setenv("SG_DATA_WORKERS", "0")
        assert {int(p) for p in called(process)} == {os.getpid()}

    def test_one_call_at_a_time_stays(self):
        assert {int(p) for p in called(process, calls=1)} == {os.getpid()}

    def test_what_changes_something_here_stays(self):
        seen = []
        called(lambda x: seen.append(int(x)) or x)
        assert sorted(seen) == list(range(8))

    def test_tables_are_those_of_the_session(self):
        table = MutableHashTable(sg.int64, sg.int64, -1)
        dataset = Dataset.range(4).map(table.lookup, num_parallel_calls=2)
        element = dataset.make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            sess.run(table.insert(np.int64([1, 3]), np.int64([10, 30])))
            assert [int(sess.run(element)) for _ in range(4)] == [-1, 10, -1, 30]

    @pytest.mark.parametrize(
        "function",
        [
            process,
            np.sin,
            functools.partial(np.add, 1),
            lambda x: x + OFFSET,
            lambda x: [np.linalg.norm(y) for y in (x, textwrap.dedent("a"))],
        ],
    )
    def test_portable(self, function):
        assert is_portable(function)

    @pytest.mark.parametrize(
        "function",
        [
            SEEN.append,
            lambda x: SEEN,
            lambda x, seen=SEEN: x,
            lambda x: threading.local and (lambda: SEEN)(),
            functools.partial(np.add, np.zeros(2)),
            np.random.default_rng(0).random,
            threading.Lock().acquire,
            ",".join,
        ],
    )
    def test_not_portable(self, function):
        assert not is_portable(function)

    def test_counting_is_not_portable(self):
        count = 0

        def outer(x):
            def inner():
                nonlocal count
                count += 1

            return inner()

        assert not is_portable(outer)


class TestValues:
    def test_of_all_kinds(self):
        def build(n):
            words = sg.strings.join([sg.strings.as_string(n), "é"])
            sparse = sg.SparseTensor([[n]], [n * 10], [4])
            return {"w": words, "s": sparse, "b": sg.cast(n, sg.bfloat16), "e": sg.zeros([0, 2])}

        def values(calls):
            dataset = Dataset.range(4).map(build, num_parallel_calls=calls)
            element = dataset.make_one_shot_iterator().get_next()
            with sg.Session() as sess:
                return [sess.run(element) for _ in range(4)]

        for one, other in zip(values(None), values(2), strict=True):
            assert one["w"] == other["w"] and one["b"] == other["b"] and other["e"].shape == (0, 2)
            assert [a.tolist() for a in one["s"]] == [a.tolist() for a in other["s"]]

    def test_take_what_is_captured_and_earlier_elements(self):
        scale = sg.placeholder(sg.int64, [])
        dataset = Dataset.range(6).map(lambda x: x * x)
        dataset = dataset.map(lambda x: sg.strings.as_string(x * scale), num_parallel_calls=3)
        iterator = dataset.repeat(2).batch(6).make_initializable_iterator()
        element = iterator.get_next()
        with sg.Session() as sess:
            for factor in (2, 3):
                sess.run(iterator.initializer, {scale: factor})
                for _ in range(2):
                    assert [int(w) for w in sess.run(element)] == [n * n * factor for n in range(6)]

    def test_repetitions_use_the_same_workers(self):
        dataset = Dataset.range(2).map(lambda x: sg.py_func(process, [x], sg.int64), num_parallel_calls=2)
        element = dataset.repeat(5).make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            assert len({int(sess.run(element)) for _ in range(10)}) == 2

    def test_stay_apart_where_a_dataset_is_used_twice(self):
        dataset = Dataset.range(5).map(lambda x: sg.strings.as_string(x), num_parallel_calls=2)
        pairs = Dataset.zip((dataset, dataset.take(1).concatenate(dataset), dataset.skip(2)))
        element = pairs.make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            found = [tuple(map(int, sess.run(element))) for _ in range(3)]
        assert found == [(0, 0, 2), (1, 0, 3), (2, 1, 4)]

    def test_random_numbers_differ_and_follow_the_seed(self):
        def drawn():
            return [float(x) for x in called(draw, dtype=sg.float64)]

        np.random.seed(1)
        first, second = drawn(), drawn()
        assert len({*first, *second}) == 16

    def test_unseeded_operations_differ(self):
        dataset = Dataset.range(8).map(
            lambda x: (sg.strings.as_string(x), sg.random_uniform([])), num_parallel_calls=2
        )
        element = dataset.make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            assert len({float(sess.run(element)[1]) for _ in range(8)}) == 8


class TestErrors:
    def test_keep_class_operation_and_line(self):
        dataset = Dataset.from_tensor_slices(["1", "x", "3"]).map(
            lambda s: sg.strings.to_number(s, name="parse"),  # not all are
            num_parallel_calls=2,
        )
        element = dataset.make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            assert sess.run(element) == 1
            with pytest.raises(sg.errors.InvalidArgumentError) as caught:
                sess.run(element)
            assert "# not all are" in str(caught.value) and caught.value.op.name == "parse"
            assert sess.run(element) == 3

    def test_a_worker_that_dies(self):
        dataset = Dataset.range(8).map(
            lambda x: sg.py_func(die, [x], sg.int64),
            num_parallel_calls=2,
        )
        element = dataset.make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            assert [int(sess.run(element)) for _ in range(3)] == [0, 1, 2]
            with pytest.raises(sg.errors.UnknownError, match="was killed by SIGKILL") as caught:
                sess.run(element)
        found = str(caught.value)
        assert "dataset = Dataset.range(8).map(" in found and "SG_DATA_WORKERS=0" in found


class TestEnd:
    def start(self):
        dataset = Dataset.range(10**6).map(lambda x: sg.py_func(process, [x], sg.int64), num_parallel_calls=2)
        iterator = dataset.prefetch(2).make_initializable_iterator()
        element = iterator.get_next()
        sess = sg.Session()
        sess.run(iterator.initializer)
        return sess, iterator, {int(sess.run(element)) for _ in range(4)}

    def end(self, threads):
        gc.collect()
        for thread in threads:
            thread.join(30)

    def test_with_the_session(self):
        sess, _, workers = self.start()
        threads = [t for t in threading.enumerate() if t.name.startswith(("prefetch", "map"))]
        assert all(map(is_alive, workers))
        sess.close()
        self.end(threads)
        assert not any(map(is_alive, workers))

    def test_with_the_iterator(self):
        sess, iterator, workers = self.start()
        threads = [t for t in threading.enumerate() if t.name.startswith(("prefetch", "map"))]
        sess.run(iterator.initializer)
        self.end(threads)
        assert not any(map(is_alive, workers))
        sess.close()

    PROGRAM = """
        def slow(x):
            time.sleep(x and 60)
            return np.int64(os.getpid())

        def fast(x):
            return np.int64(os.getpid())

        function = slow if "slow" in os.environ["KIND"] else fast
        dataset = sg.data.Dataset.range(100).map(lambda x: sg.py_func(function, [x], sg.int64), 2)
        element = dataset.make_one_shot_iterator().get_next()
        sess = sg.Session()
        first = [int(sess.run(element))]
        if function is fast:
            first.append(int(sess.run(element)))
        print(*first, flush=True)
        if function is slow:
            sess.run(element)
        if "kill" in os.environ["KIND"]:
            sys.stdin.read()
    """

    def test_with_the_interpreter(self):
        program = script(self.PROGRAM, KIND="exit")
        out, err = program.communicate(timeout=50)
        assert program.returncode == 0 and err == ""
        assert not any(is_alive(int(p)) for p in out.split())

    def test_with_a_process_that_is_killed(self):
        read, write = os.pipe()  # which ends when nobody has its other end: the workers inherit it
        program = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import os, sys, time\nimport numpy as np\nimport staticgraph as sg\n"
                + textwrap.dedent(self.PROGRAM),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[write],
            env={**os.environ, "KIND": "fast kill"},
        )
        os.close(write)
        assert program.stdout.readline()
        program.kill()
        program.wait()
        assert os.read(read, 1) == b""
        os.close(read)
        program.stdin.close()
        program.stdout.close()

    def test_at_an_interrupt(self):
        program = script(self.PROGRAM, KIND="slow")
        workers = program.stdout.readline().split()
        os.killpg(program.pid, signal.SIGINT)
        _, err = program.communicate(timeout=50)
        assert "KeyboardInterrupt" in err
        assert not any(is_alive(int(p)) for p in workers)
