"""Random programs compute in a session what the witness computes, and what TensorFlow 1.15.5 answered.

The witness carries out the user's graph without the compiler. `tools/fuzz/programs.py` compares thousands
of programs, and makes those that differ small; `tools/record/random_programs.py` asks TensorFlow.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests.everywhere import Outcome
from tests.golden import store
from tests.witness import recorded
from tests.witness.check import Difference, check
from tests.witness.generator import Generator
from tests.witness.meanings import MEANINGS
from tests.witness.open_sizes import OpenGenerator, check_open
from tests.witness.programs import Program
from tests.witness.shrink import shrunk

pytestmark = pytest.mark.takes_long

PARTS = 20


@cache
def answers() -> dict[str, dict[str, Any]]:
    return store.load(recorded.NAME, recorded.FOLDER)


def known(seed: int, program: Program) -> list[Outcome] | None:
    """Return the answers of TensorFlow, None for what it cannot do."""
    found = answers().get(str(seed))
    if found is None:
        return None
    stale = "the generator has changed: run tools/record/random_programs.py"
    assert found["script"] == recorded.fingerprint(program), stale
    runs: list[dict[str, Any]] = [{} for _ in program.runs]
    for key, value in found.items():
        if key != "script":
            run, name = key.split("/")
            runs[int(run)][name] = value
    return [Outcome(results, "", {}) for results in runs]


def test_most_programs_were_recorded():
    assert len(answers()) > 0.95 * recorded.PROGRAMS


@pytest.mark.parametrize("part", range(0, PARTS, 2))
def test_programs(part: int):
    check_part(part)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(1, PARTS, 2))
def test_the_other_half_of_programs(part: int):
    check_part(part)


def check_part(part: int) -> None:
    for seed in range(part, recorded.PROGRAMS, PARTS):
        program = Generator(seed, recorded.SIZE).program()
        try:
            check(program, known=known(seed, program))
        except Difference as found:
            raise AssertionError(f"program {seed}: {found}\n\n{program.script()}") from None


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_programs_everywhere(seed: int):
    check(Generator(seed, 8).program(), ("interpreter", "file", "graph_def", "object"))


@pytest.mark.parametrize("part", range(10))
def test_programs_with_open_sizes(part: int):
    """Each at ten sizes of its batch, of a length, or of both."""
    for seed in range(part, 30, 10):
        program = OpenGenerator(seed).program()
        try:
            check_open(program)
        except Difference as found:
            raise AssertionError(f"program {seed}: {found}\n\n{program.script()}") from None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2000, 2040))
def test_programs_on_the_simulator(seed: int):
    check(Generator(seed, 8).program(), ("gpu",))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_large_programs(part: int):
    for seed in range(3000 + part, 3400, 20):
        check(Generator(seed, 30, deep=True).program())


def test_a_difference_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch):
    right = MEANINGS["sin"]
    monkeypatch.setitem(MEANINGS, "sin", lambda x: right(x) + 0.01)

    def differs(program: Program) -> bool:
        try:
            check(program)
        except Difference:
            return True
        except Exception:
            return False
        return False

    program = next(filter(differs, (Generator(seed, 12).program() for seed in range(50))))
    small = shrunk(program, differs, most=150)
    assert differs(small)
    assert "tf.sin(" in small.script()
    assert len(small.statements) <= 6 < len(program.statements)


def test_a_script_is_the_program(capsys: pytest.CaptureFixture[str]):
    """A script that is printed for people builds the same graph."""
    program = Generator(11, 20).program()
    lines = program.script().splitlines()
    assert lines[1].startswith("import tensorflow as tf")
    with sg.Graph().as_default() as graph:
        program.build(sg)
        ops = [op.type for op in graph.get_operations()]
    assert len(ops) > len(program.statements)
    compile("\n".join(lines), "script", "exec")


def test_the_same_seed_gives_the_same_program():
    scripts = {Generator(5, 20).program().script() for _ in range(2)}
    assert len(scripts) == 1
    assert not np.isnan(Generator(5, 20).random.random())
