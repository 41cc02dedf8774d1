"""Random steps over open axes: one session with open sizes gives what interpreted steps of known sizes give.

Sizes are 0, 1, odd and large. A run is refused by both or by none. A step that is compiled more than twice
says which guard failed, or on which value it depends.

`python -m tests.fuzz.test_random_open_steps FIRST COUNT` goes on.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import RecompileWarning, told
from tests.fuzz import open_templates  # noqa: F401 - they are kinds of steps
from tests.fuzz.open_steps import SIZES, Steps
from tests.interpreted import compiling, interpreting

RUNS = 10
TOLD = "guard", "depends on"
pytestmark = pytest.mark.takes_long


def outcomes(
    seed: int, sizes: Sequence[tuple[int, int]], interpreted: bool
) -> tuple[list[Any], list[str], list[str]]:
    """The results or the error of each run, why programs were compiled again, and the names of the steps."""
    with sg.Graph().as_default() as graph:
        sg.set_random_seed(7)
        steps = Steps(sg, seed)
        start = sg.global_variables_initializer()
    found: list[Any] = []
    with interpreting() if interpreted else compiling(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", RecompileWarning)
        with sg.Session(graph=graph, device="cpu", open_sizes=not interpreted) as session:
            session.run(start)
            for number, pair in enumerate(sizes):
                fed = {steps.places[x]: array for x, array in steps.fed(pair, seed + number).items()}
                try:
                    found.append(session.run(steps.fetches, fed))
                except Exception as error:
                    assert told(error), error
                    found.append(error)
            why = [each.why for each in session.compiles if "first run" not in each.why]
    return found, why, steps.names


def check(seed: int) -> None:
    """Compare a graph at ten sizes."""
    random = Random(seed * 7919)
    sizes = [(random.choice(SIZES), random.choice(SIZES)) for _ in range(RUNS)]
    found, why, names = outcomes(seed, sizes, False)
    wanted, _, _ = outcomes(seed, sizes, True)
    for pair, one, two in zip(sizes, found, wanted, strict=True):
        at = f"{seed}: {names} at {pair}"
        if isinstance(one, Exception) or isinstance(two, Exception):
            assert type(one) is type(two), (at, one, two)
            continue
        for name, value in two.items():
            assert_close(f"{at}: {name}", np.asarray(one[name]), np.asarray(value))
    unsaid = [text for text in why[1:] if not any(words in text for words in TOLD)]
    assert not unsaid, (seed, names, unsaid)


def assert_close(where: str, found: np.ndarray, wanted: np.ndarray) -> None:
    """Equal, or close to what the largest number tells."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), where
    if found.dtype.kind != "f" or not found.size:
        np.testing.assert_array_equal(found, wanted, where)
        return
    finite = np.where(np.isfinite(wanted), wanted, 0)
    np.testing.assert_allclose(found, wanted, 1e-3, 1e-3 * (1e-3 + np.abs(finite).max()), err_msg=where)


@pytest.mark.parametrize("seed", range(8))
def test_some_steps(seed: int):
    check(seed)


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    for number in range(first, first + count):
        try:
            check(number)
        except AssertionError as difference:
            print(f"{number}: {str(difference)[:600]}", flush=True)
    print(f"{count} graphs")
