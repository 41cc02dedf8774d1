"""Random graphs of all dtypes, empty axes and special numbers: compiled code and NumPy agree, errors too.

`python -m tests.fuzz.test_random_odd_values FIRST COUNT` goes on; half of its graphs have open sizes.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import told
from tests.everywhere import interpreting
from tests.fuzz.odd_values import Drawn, Generator

# What rounding may cost, relative and absolute: chains of steps round in another order.
TOLERANCE = {
    "float16": (2e-2, 2e-3),
    "bfloat16": (1e-1, 1e-2),
    "float64": (1e-6, 1e-8),
    "float32": (1e-3, 1e-4),
}


def outcome(drawn: Drawn, interpreted: bool) -> list[np.ndarray] | Exception:
    """The results of a run, or its error."""
    with interpreting() if interpreted else nullcontext(), sg.Session(graph=drawn.graph) as session:
        try:
            return [np.asarray(v) for v in session.run(drawn.fetches, drawn.feeds)]
        except Exception as error:
            assert told(error), error
            return error


def compare(seed: int, is_open: bool) -> bool:
    """Compare one graph; False if there is nothing to compare."""
    drawn = Generator(seed, is_open).draw()
    if not drawn.fetches:
        return False
    found, wanted = (outcome(drawn, interpreted) for interpreted in (False, True))
    if isinstance(found, Exception) or isinstance(wanted, Exception):
        assert type(found) is type(wanted), f"seed {seed}: {found!r} and {wanted!r}"
        return True
    for tensor, one, other in zip(drawn.fetches, found, wanted, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), f"seed {seed}: {tensor}"
        assert _agree(tensor.dtype, one, other), f"seed {seed}: {tensor.op.type} {one} {other}"
    return True


def _agree(dtype: Any, one: np.ndarray, other: np.ndarray) -> bool:
    if not (dtype.is_floating or dtype.is_complex):
        return bool(np.array_equal(one, other))
    name = {"complex64": "float32", "complex128": "float32"}.get(dtype.name, dtype.name)  # of casts, too
    relative, absolute = TOLERANCE[name]
    one, other = (a.astype(np.complex128) for a in (one, other))
    return bool(np.allclose(one, other, relative, absolute, equal_nan=True))


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("first", [0, 5])
def test_some_graphs(first: int, is_open: bool):
    compared = [compare(seed, is_open) for seed in range(first, first + 5)]
    assert any(compared)


if __name__ == "__main__":
    begin, count = map(int, sys.argv[1:])
    for number in range(begin, begin + count):
        compare(number, number % 2 == 1)
    print(f"{count} graphs, all alike")
