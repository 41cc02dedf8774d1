"""No native function leaves its memory, and no two threads meet in the pool's, as sanitizers see it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from staticgraph.compiler.codegen.native.dispatch import dispatch
from staticgraph.compiler.codegen.native.find import find
from staticgraph.compiler.codegen.native.pool import pool_code
from staticgraph.runtime.cpu import jit
from tests.codegen.sanitizers import checked, library, needs
from tests.codegen.test_llvm_pool import spread

pytestmark = pytest.mark.takes_long

CALLS = "tests/runtime/test_dispatch.py", "tests/runtime/test_known_runs.py"
POOL = "tests/codegen/test_llvm_pool.py"


def calls(folder: Path, plant: Callable[[str], str] = str) -> Path:
    return library(folder, "address", [dispatch.code(), find.code()], plant)


def pool(folder: Path, sanitizer: str, plant: Callable[[str], str] = str) -> Path:
    return library(folder, sanitizer, [*pool_code(jit.host()).codes, spread.code()], plant)


@needs("address")
def test_calls_stay_within_their_memory(tmp_path: Path):
    done = checked("address", calls(tmp_path), *CALLS)
    assert done.returncode == 0, done.stdout + done.stderr


@needs("address")
def test_the_pool_stays_within_its_memory(tmp_path: Path):
    done = checked("address", pool(tmp_path, "address"), POOL)
    assert done.returncode == 0, done.stdout + done.stderr


@needs("thread")
def test_the_pool_has_no_data_races(tmp_path: Path):
    done = checked("thread", pool(tmp_path, "thread"), POOL)
    assert done.returncode == 0, done.stdout + done.stderr


def one_more(function: str) -> Callable[[str], str]:
    """A loop of a function goes one step too far."""

    def plant(text: str) -> str:
        definition = re.search(rf"(?ms)^define \w+ \w+ @{function}\(.*?^}}", text)
        assert definition is not None
        longer = definition[0].replace("icmp slt i64", "icmp sle i64", 1)
        assert longer != definition[0]
        return text.replace(definition[0], longer)

    return plant


@needs("address")
@pytest.mark.parametrize(
    ("function", "test", "found"),
    [
        ("same", "tests/runtime/test_known_runs.py", "heap-buffer-overflow"),
        ("collect", "tests/runtime/test_dispatch.py", "dynamic-stack-buffer-overflow"),
    ],
)
def test_a_read_past_the_end_is_found(tmp_path: Path, function: str, test: str, found: str):
    done = checked("address", calls(tmp_path, one_more(function)), test)
    assert done.returncode != 0
    assert re.search(rf"AddressSanitizer: {found}.*\n", done.stderr), done.stdout + done.stderr


@needs("thread")
def test_a_race_is_found(tmp_path: Path):
    """Claims that order nothing."""

    def plant(text: str) -> str:
        weaker = re.sub(r" (acquire|release|acq_rel|seq_cst)\b", " monotonic", text)
        assert weaker != text
        return weaker

    done = checked("thread", pool(tmp_path, "thread", plant), POOL)
    assert done.returncode != 0
    assert "ThreadSanitizer: data race" in done.stderr, done.stdout + done.stderr
