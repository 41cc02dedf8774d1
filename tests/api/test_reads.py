"""When variables are read, and derivatives around assignments: in every place where programs run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests.everywhere import PLACES, check_everywhere
from tests.golden import store
from tests.golden.cases import reads
from tests.golden.cases.reads import IDIOMS, LOSSES, WRITES

RECORDED = store.load("reads")


def named(fetches: Any) -> dict[str, Any]:
    return {f"y{n}": sg.identity(t) for n, t in enumerate(fetches)}


def recorded(name: str) -> list[dict[str, np.ndarray]]:
    """What TensorFlow gave in two runs."""
    outcome = RECORDED[name]
    return [
        {f"y{key.split()[-1]}": value for key, value in outcome.items() if key.startswith(f"run {run} ")}
        for run in (0, 1)
    ]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    **{
        f"{write}, {place}": reads.program(reads.PLACES[place], WRITES[write])
        for write, place in (
            ("assign", "straight"), ("scatter_add", "straight"), ("assign_add", "in a branch"),
            ("scatter_update", "in a loop"), ("assign", "around Python"), ("assign_add", "Python in a loop"),
        )
    },
    **{
        f"derivatives: {write}, {place}": reads.derivative(LOSSES[place], WRITES[write])
        for write, place in (
            ("assign", "straight"), ("assign", "in a branch"), ("assign_add", "in a loop"),
            ("scatter_update", "straight"),
        )
    },
    **{idiom.__name__.replace("_", " "): idiom for idiom in IDIOMS},
}  # fmt: skip
WITHOUT_OBJECT = {name for name in PROGRAMS if "in a" in name}  # a C compiler takes long


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_tensorflow_everywhere(name: str):
    places = [p for p in PLACES if p != "object" or name not in WITHOUT_OBJECT]
    check_everywhere(lambda: named(PROGRAMS[name](sg)), {}, {}, places=places, expected=recorded(name))
