"""Random steps with variables, assignments and derivatives do the same ahead of time as in a session."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError, ShapeError
from tests.ahead.native import Native, built, needs_compiler, same_bits, saved
from tests.fuzz.test_random_graphs import fuzz
from tests.fuzz.test_random_training import Program

pytestmark = needs_compiler
_NUMBERS = itertools.count()  # a library is loaded once under a name


def check(random: Any, steps: int, folder: Path) -> None:
    """Run a random program some times, ahead of time and in a session."""
    with sg.Graph().as_default():
        program = Program(random)
        for _ in range(steps):
            program.step()
        sampled = random.sample(program.values, min(2, len(program.values)))
        tensors = [*(f for f in program.fetches if not isinstance(f, sg.Operation)), *sampled]
        outputs = {f"y{n}": t for n, t in enumerate([*tensors, *(v.value() for v in program.variables)])}
        step = sg.group(*(f.op if hasattr(f, "op") else f for f in program.fetches))
        net = saved(folder / "net.sg", {"step": sg.Signature(outputs, [program.x], step)})
    try:
        made = built(net, f"net{next(_NUMBERS)}", given={"x": (2, 3)})
    except (InvalidArgumentError, ShapeError):  # shapes that only a run knows need not go together
        return
    native = Native(made, folder)
    native.init()
    for _ in range(3):
        x = program.rng.uniform(-1, 1, (2, 3))
        same_bits(native("step", *[x] * len(made.interface.functions[0].inputs)), net(x=x))


@pytest.mark.takes_long
@fuzz(8)
@given(random=st.randoms(use_true_random=False), steps=st.integers(1, 20))
def test_steps(tmp_path_factory: pytest.TempPathFactory, random: Any, steps: int):
    check(random, steps, tmp_path_factory.mktemp("step"))


@pytest.mark.slow
@fuzz(300)
@given(random=st.randoms(use_true_random=False), steps=st.integers(1, 50))
def test_steps_at_length(tmp_path_factory: pytest.TempPathFactory, random: Any, steps: int):
    check(random, steps, tmp_path_factory.mktemp("step"))
