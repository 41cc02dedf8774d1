"""The cases that `by_turns` and `takes_long` leave to other turns, as pytest collects them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import repetitions

ROOT = Path(__file__).resolve().parent.parent

CONFTEST = """
from tests import repetitions

def pytest_collection_modifyitems(items):
    for turn in [*map(str, range(9)), repetitions.ALL]:
        repetitions.begin(turn)
        left = {id(item) for item in repetitions.repeated(items)}
        print(*(f"{turn} {item.nodeid}" for item in items if id(item) not in left), sep="\\n")
"""

INI = """
[pytest]
markers =
    by_turns: of repetitions
    takes_long: of repetitions
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

@pytest.mark.takes_long(3)
@pytest.mark.parametrize("n", range(7))
def test_thirds(n): pass

@pytest.mark.takes_long(3)
@pytest.mark.parametrize("n", range(4))
def test_other_thirds(n): pass

@pytest.mark.takes_long(3)
def test_one(): pass

@pytest.mark.takes_long(3)
@pytest.mark.by_turns("dtype")
@pytest.mark.parametrize("dtype", ["f", "d", "i"])
@pytest.mark.parametrize("n", range(9))
def test_both(n, dtype): pass

@pytest.mark.takes_long(2, of=lambda params: params["op"])
@pytest.mark.parametrize(("op", "dtype"), [(*pair,) for pair in "af ad ai bf cf ci".split()])
def test_ops(op, dtype): pass

@pytest.mark.parametrize("n", range(2))
def test_all(n): pass
"""

FIRST = {
    "test_dtypes": ["shape0-f", "shape1-d", "shape2-f", "shape3-d", "shape4-f"],
    "test_widths": ["a-1-False-16", "a-1-True-32", "b-1-False-64", "b-1-True-16"],
    "test_pairs": ["f-0.5-7", "f-0.5-9", "d-0.25-8"],
    "test_all": ["0", "1"],
}
SHARES = {  # the numbers of cases in each turn of three
    "test_thirds": [2, 2, 3],
    "test_other_thirds": [1, 1, 2],
    "test_both": [3, 3, 3],
    "test_one": [0, 0, 1],
}


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[str]]]:
    """The cases that are left of each test, by turns."""
    folder = tmp_path_factory.mktemp("repetitions")
    for name, text in {"conftest.py": CONFTEST, "test_it.py": TESTS, "pytest.ini": INI}.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-s", "--collect-only", "-p", "no:cacheprovider", folder]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    found: dict[str, dict[str, list[str]]] = {}
    for line in done.stdout.splitlines():
        turn, _, name = line.partition(" test_it.py::")
        if name:
            test, _, case = name.rstrip("]").partition("[")
            found.setdefault(turn, {}).setdefault(test, []).append(case)
    assert found, done.stdout + done.stderr
    return found


@pytest.mark.parametrize("test", FIRST)
def test_each_case_has_one_value_and_each_value_its_turn(test: str, collected: Any):
    assert collected["0"][test] == FIRST[test]


def test_the_next_turn_has_others(collected: Any):
    made = ["shape0-d", "shape1-f", "shape2-d", "shape3-f", "shape4-d"]
    assert sorted(collected["1"]["test_dtypes"]) == made


@pytest.mark.parametrize("test", SHARES)
def test_turns_have_shares(test: str, collected: Any):
    turns = [collected[turn].get(test, []) for turn in "012"]
    assert sorted(map(len, turns)) == SHARES[test]


def test_each_turn_has_some_of_each(collected: Any):
    for turn in map(str, range(9)):
        assert {case[0] for case in collected[turn]["test_ops"]} == {"a", "b", "c"}
        assert len(collected[turn]["test_ops"]) < 6


@pytest.mark.parametrize("test", [*FIRST, *SHARES, "test_ops"])
def test_a_few_turns_have_all(test: str, collected: Any):
    everything, turns = collected[repetitions.ALL][test], 9 if test == "test_both" else 3
    ran = [collected[str(turn)].get(test, []) for turn in range(turns)]
    assert sorted(everything) == sorted(set().union(*ran))
    assert len(everything) > len(min(ran)) or test == "test_all"


def test_a_share_of_anything_is_never_nothing():
    assert repetitions.share("abcdefg", 3) in (["a", "d", "g"], ["b", "e"], ["c", "f"], [*"abcdefg"])
    assert repetitions.share("a", 3) == ["a"] and repetitions.share("", 3) == []


def test_the_turn_of_a_tree_is_the_number_of_its_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(repetitions.VARIABLE, raising=False)
    assert repetitions.of_tree(tmp_path) == "0"
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    assert repetitions.of_tree(tmp_path) == "0"
    for message in ("first", "second"):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", message], check=True)
    assert repetitions.of_tree(tmp_path) == "2"
    monkeypatch.setenv(repetitions.VARIABLE, "5")
    assert repetitions.of_tree(tmp_path) == "5"
