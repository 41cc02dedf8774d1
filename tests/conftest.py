"""What all tests share: an empty default graph, reproducible random inputs, and golden files.

They run on the processor, also where there is a GPU, but for those that ask for one.
"""

import gc
import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from staticgraph.compiler.graph.graph import reset_default_graph
from staticgraph.runtime.cpu import disk_cache as remembered
from tests import bounds, fast

# The same examples every time and no deadline: a test fails because of the code, not of the machine.
hypothesis.settings.register_profile("reproducible", derandomize=True, deadline=None)
hypothesis.settings.load_profile("reproducible")
os.environ.setdefault("SG_DEVICE", "cpu")
# A shell has what it runs in the background ignore Ctrl-C, and every process that the tests start with it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="accept what is printed now as golden text")


@pytest.hookimpl(tryfirst=True)  # the choice of `-m` comes after it
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in fast.chosen(items):
        item.add_marker("fast")


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from looking through thousands of tests again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _objects_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each text is compiled once for all processes of a run, and nothing comes from the user's cache."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    os.environ["SG_CACHE_DIR"] = str(folder / "objects")


@pytest.fixture(autouse=True)
def _empty_default_graph() -> None:
    """Default names of nodes must not depend on which tests ran before."""
    reset_default_graph()


@pytest.fixture(autouse=True)
def _same_random_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no seed, such as the first values of a layer, is the same in every run of a test as well,
    but in the processes that it starts.
    """
    here, same, other = os.getpid(), np.random.default_rng(20160530).bytes, os.urandom
    monkeypatch.setattr(os, "urandom", lambda count: (same if os.getpid() == here else other)(count))
    np.random.seed(20170215)
    random.seed(20170215)


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program is compiled: tests change the compiler, and look at what it does."""
    monkeypatch.setattr(remembered, "key_of", lambda *_: None)


@pytest.fixture(autouse=True)
def _memory_in_bounds() -> Iterator[None]:
    """No test may make compiled code write beyond its memory, even where nobody would see it."""
    yield
    assert not bounds.violations(), "compiled code wrote beyond a block of memory"


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
