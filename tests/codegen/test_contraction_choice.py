"""Whatever is chosen of a product, its results have the same bits."""

from dataclasses import replace

import numpy as np
import pytest

from staticgraph.compiler.codegen.gemm.choice import NO_CHOICE, Choice, from_record, rounds, to_record
from staticgraph.compiler.codegen.gemm.gemm import emit
from staticgraph.compiler.codegen.gemm.plan import direction
from staticgraph.compiler.codegen.gemm.tiles import Along
from staticgraph.compiler.graph.dtypes import bfloat16, float64
from tests.codegen.contraction_cases import Conv, inputs, matmul, processor, run, widened

CASES = {
    "small": matmul(64, 10, 100),
    "narrow end": matmul(64, 100, 300),
    "slices": matmul(16, 24, 5000),
    "first turned": matmul(130, 70, 40, turn_a=True),
    "second turned": matmul(40, 130, 300, turn_b=True),
    "wide": matmul(40, 1100, 70, c=lambda x, at: x * 0.5),
    "far": matmul(40, 2048, 300),
    "doubles": matmul(33, 50, 200, dtype=float64),
    "narrow elements": widened(33, 50, 200, False, False, bfloat16),
    "image": Conv((2, 9, 9, 5), (3, 3), 20, before=1, after=1).contraction("y"),
    "weights": Conv((2, 9, 9, 5), (3, 3), 20, before=1, after=1).contraction("w"),
    "input": Conv((2, 9, 9, 20), (3, 3), 20, before=1, after=1).contraction("x"),
}


# Each case with a width of vectors, by turns.
TURNS = [(name, (32, 64)[number % 2]) for number, name in enumerate(CASES)]
OTHERS = [(name, (64, 32)[number % 2]) for number, name in enumerate(CASES)]


@pytest.mark.takes_long
@pytest.mark.parametrize(("name", "vector_bytes"), TURNS)
def test_results_have_the_same_bits(name: str, vector_bytes: int, rng: np.random.Generator):
    check(name, vector_bytes, rng)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "vector_bytes"), OTHERS)
def test_results_of_the_other_width_have_the_same_bits(
    name: str, vector_bytes: int, rng: np.random.Generator
):
    check(name, vector_bytes, rng)


def check(name: str, vector_bytes: int, rng: np.random.Generator) -> None:
    c, target = CASES[name], processor(vector_bytes)
    arrays = inputs(c, rng)
    usual = run(c, arrays, vector_bytes)
    sizes = c.row_count, c.lanes.extent, c.depth
    changes = [x for group in rounds(*sizes, target.lanes([c.dtype]), target.registers) for x in group]
    several = {name: value for change in changes[::2] for name, value in change.items()}
    codes = {emit(c, target)}
    for change in (*changes, several):
        choice = replace(NO_CHOICE, **change)
        codes.add(emit(c, target, choice))
        made = run(c, arrays, vector_bytes, choice)
        assert all(made[key].tobytes() == usual[key].tobytes() for key in usual), change
    assert (len(codes) > 1) == (direction(c, target) is Along.COLUMNS)


def test_records_are_read_back():
    choice = Choice(rows=4, pieces=3, pack_b=False, depth=256, single=True)
    assert from_record(to_record(choice)) == choice
    assert from_record(to_record(NO_CHOICE)) == NO_CHOICE == from_record({})


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        "rows",
        {"columns": 3},
        {"rows": "4"},
        {"rows": 4.0},
        {"rows": True},
        {"rows": 0},
        {"rows": -1},
        {"rows": 17},
        {"pieces": 1 << 40},
        {"pack_a": 1},
        {"pack_a": None},
        {"rows": [4]},
    ],
)
def test_other_records_are_refused(record: object):
    with pytest.raises(ValueError, match=r"choice|is"):
        from_record(record)
