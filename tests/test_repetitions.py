"""The tests that `by_turns` and `one_in` leave to `pytest -m slow`, as pytest collects them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

CONFTEST = """
from tests import repetitions

def pytest_collection_modifyitems(items):
    left = {id(item) for item in repetitions.repeated(items)}
    items[:] = [item for item in items if id(item) not in left]
"""

TESTS = """
import pytest

@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("shape", [[1], [2], [3], [4], [5]])
def test_dtypes(shape, dtype): pass

@pytest.mark.by_turns("width")
@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize(("op", "size"), [("a", 1), ("b", 1)])
def test_widths(op, size, double, width): pass

@pytest.mark.by_turns("dtype", "most")
@pytest.mark.parametrize("n", [7, 8, 9])
@pytest.mark.parametrize(("dtype", "most"), [("f", 0.5), ("d", 0.25)])
def test_pairs(n, dtype, most): pass

@pytest.mark.one_in(3)
@pytest.mark.parametrize("n", range(7))
def test_thirds(n): pass

@pytest.mark.one_in(3)
@pytest.mark.parametrize("n", range(4))
def test_other_thirds(n): pass

@pytest.mark.parametrize("n", range(2))
def test_all(n): pass
"""

ALWAYS = {
    "test_dtypes": ["shape0-f", "shape1-d", "shape2-f", "shape3-d", "shape4-f"],
    "test_widths": ["a-1-False-16", "a-1-True-32", "b-1-False-64", "b-1-True-16"],
    "test_pairs": ["f-0.5-7", "f-0.5-9", "d-0.25-8"],
    "test_thirds": ["0", "3", "6"],
    "test_other_thirds": ["0", "3"],
    "test_all": ["0", "1"],
}


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The cases that are left of each test."""
    folder = tmp_path_factory.mktemp("repetitions")
    for name, text in {"conftest.py": CONFTEST, "test_it.py": TESTS, "pytest.ini": "[pytest]"}.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        if "::" in line:
            test, _, case = line.partition("::")[2].rstrip("]").partition("[")
            found.setdefault(test, []).append(case)
    assert found, done.stdout + done.stderr
    return found


@pytest.mark.parametrize("test", ALWAYS)
def test_each_case_has_one_value_and_each_value_its_turn(test: str, collected: dict[str, list[str]]):
    assert collected[test] == ALWAYS[test]
