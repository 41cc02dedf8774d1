"""Fixtures of all tests: an empty default graph, reproducible random inputs, and golden files.

They run on the processor, also where there is a GPU, but for those that ask for one.
"""

import functools
import gc
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import FunctionType
from typing import Any

import hypothesis
import numpy as np
import pytest
from _pytest.runner import runtestprotocol
from hypothesis.internal.conjecture import providers

from staticgraph.compiler.graph.graph import reset_default_graph
from staticgraph.runtime.cpu import compile as compiling
from staticgraph.runtime.cpu.disk import disk_cache as remembered
from staticgraph.runtime.session import Session
from tests import bounds, fast, interpreted, repetitions
from tests.deadlines import Deadlines

# The same examples every time and no deadline: a test fails because of the code, not of the machine.
hypothesis.settings.register_profile("reproducible", derandomize=True, deadline=None)
hypothesis.settings.load_profile("reproducible")
# It also draws numbers that it finds in our modules, in those that have been imported by then.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants
os.environ.setdefault("SG_DEVICE", "cpu")
# The processes of -n share the processors, and threads of NumPy's library would spin there.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Hundreds of processes import this package: without bytecode, each of them would compile it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# A shell has what it runs in the background ignore Ctrl-C, and every process that the tests start with it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="accept what is printed now as golden text")
    parser.addoption(
        "--turn", help="the turn of cases that repeat a check; `all` runs all (tests/repetitions.py)"
    )


@pytest.hookimpl(tryfirst=True)  # the choice of `-m` comes after it
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in interpreted.compiled_in(config.option.markexpr, items):
        item.add_marker("slow")
    if "not slow" in config.option.markexpr and not _is_named(config):
        left = [*repetitions.repeated(items)]
        config.hook.pytest_deselected(items=left)
        gone = set(map(id, left))
        items[:] = [item for item in items if id(item) not in gone]
    for item in fast.chosen(items):
        item.add_marker("fast")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Make no slow tests, a quarter of all, if they are left out anyway and none is named."""
    config = collector.config
    unwanted = config.option.markexpr in ("not slow", "fast") and not _is_named(config)
    marks = getattr(obj, "pytestmark", ()) if unwanted and isinstance(obj, FunctionType | type) else ()
    return [] if any(mark.name == "slow" for mark in marks) else None


def _is_named(config: pytest.Config) -> bool:
    """Return True if tests were asked for by their names: then all their cases are wanted."""
    return any("::" in name for name in config.option.file_or_dir)


def _told_turn(config: pytest.Config) -> str:
    return (
        f"turn {config.option.turn} of repeated cases: --turn {config.option.turn} again, --turn all for all"
    )


def pytest_report_header(config: pytest.Config) -> str:
    return _told_turn(config)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """With -q there is no header: what failed says how to repeat it."""
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.write_line(_told_turn(config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process of `-n` a run of files rather than tests by turns: tests of a file share fixtures and
    kernels. A process that is done takes over half of what another one has left.
    """
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A process of `-n` only reports what says something: the call, and what failed before or after it.

    Its last test alone is told to have ended: that is when all are done.
    """
    if not hasattr(item.config, "workerinput"):
        return None
    _old_objects.freeze()
    for report in _with_room(runtestprotocol, item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    if nextitem is None:
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _with_room(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call a function in a frame so large that all frames above it lie in one block of memory.

    CPython maps memory for frames in blocks of 16 KiB. Where a loop calls functions at the end of a block,
    each call maps and frees the next one, which takes 8 microseconds: 80 times in a test that compiles.
    """
    return function(*args, **named)


# CPython doubles the block until the frame fits: one of a mebibyte, half of which is left.
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=64_600)


BEYOND = "compiled code wrote beyond a block of memory"


class _OldObjects:
    """Keeps the collector of garbage from looking through modules, caches and thousands of tests again and
    again: what is left after a look at all objects that took long is not looked at any more.
    """

    LONG = 0.05  # seconds of CPU time

    def __init__(self) -> None:
        self.began, self.long = 0.0, False

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        """Callback of the collector."""
        if info["generation"] == 2 and phase == "start":
            self.began = time.thread_time()
        elif info["generation"] == 2:
            self.long = self.long or time.thread_time() - self.began > self.LONG

    def freeze(self) -> None:
        if self.long:
            gc.collect()
            gc.freeze()
            self.long = False


_old_objects = _OldObjects()


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """All that collection makes stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()  # one look at all, as each takes a second
    gc.freeze()
    gc.enable()
    gc.set_threshold(5000, 10, 50)  # looks are rare: most of what a test makes is gone when it ends
    gc.callbacks.append(_old_objects)


def pytest_runtest_logstart() -> None:
    _old_objects.freeze()


_MEMORY = Path("/dev/shm")  # a file system in memory
_ROOM = 2 << 30  # bytes that must be free there; the cache of compiled code takes an eighth of them at most


def pytest_configure(config: pytest.Config) -> None:
    """Each text is compiled once for all processes of a run, and nothing comes from the user's cache.

    The cache lies in memory if there is room: a run writes a hundred thousand small files, and a disk takes
    a tenth of the time for them.
    """
    config.pluginmanager.register(Deadlines(), "deadlines")
    config.option.turn = config.option.turn or repetitions.of_tree()  # the processes of -n are given options
    repetitions.begin(config.option.turn)
    if hasattr(config, "workerinput"):
        return  # the process that starts the others has chosen
    roomy = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM
    folder = tempfile.mkdtemp(prefix="staticgraph-tests-", dir=_MEMORY if roomy else None)
    config.add_cleanup(functools.partial(shutil.rmtree, folder, ignore_errors=True))
    os.environ["SG_CACHE_DIR"] = os.path.join(folder, "objects")


@pytest.fixture
def sess() -> Iterator[Session]:
    """A session of the test's own."""
    with Session() as session:
        yield session


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The steps that were compiled, in order."""
    steps: list[Any] = []
    compile_ = compiling.compile

    def record(step: Any, *rest: Any, **named: Any) -> Any:
        steps.append(step)
        return compile_(step, *rest, **named)

    monkeypatch.setattr(compiling, "compile", record)
    return steps


@pytest.fixture(autouse=True, scope="session")
def _nothing_remembered() -> Iterator[None]:
    """Every program is compiled: tests change the compiler, and look at what it does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remembered, "key_of", lambda *_: None)
        yield


@pytest.fixture(autouse=True)
def _on_its_own(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test is the same whichever ran before it: it begins with an empty default graph, whose nodes get
    the default names, and what has no seed, such as the first values of a layer, is the same in every run,
    but in the processes that it starts.

    No test may make compiled code write beyond its memory, even where nobody would see it.
    """
    reset_default_graph()
    here, same, other = os.getpid(), np.random.default_rng(20160530).bytes, os.urandom
    os.urandom = lambda count: (same if os.getpid() == here else other)(count)
    np.random.seed(20170215)
    random.seed(20170215)
    with interpreted.interpreting() if interpreted.is_now(request.node) else nullcontext():
        yield
    os.urandom = other
    assert not bounds.violations(), BEYOND


@pytest.fixture(autouse=True, scope="module")
def _within_memory() -> Iterator[None]:
    """No test of a file may make compiled code write beyond memory that is older than the test."""
    yield
    assert not bounds.violations(everywhere=True), BEYOND


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run of a test."""
    return np.random.default_rng(20151109)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("softmax.txt", text)` compares with `golden/softmax.txt` beside the test's file.

    `pytest --update-golden` writes the file instead; its difference is then reviewed like code.
    """
    folder = Path(request.path).parent / "golden"

    def check(name: str, text: str) -> None:
        path = folder / name
        if request.config.getoption("--update-golden"):
            folder.mkdir(exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"{path} is missing: run pytest --update-golden and read what it wrote"
        assert text == path.read_text()

    return check
