"""LLVM checks the text of whole steps. A run does not ask that of it, so invalid text may end the process."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.cpu import jit


@pytest.fixture(autouse=True)
def checked(monkeypatch):
    """Let nothing be taken from memory or disk, and everything be checked before it is compiled."""
    compiled = jit._compile
    for name, value in {
        "_OBJECTS": {},
        "_LOADED": {},
        "_begin": lambda code: None,
        "_from_disk": lambda code: None,
        "_compile": lambda code, verify: compiled(code, verify=True),
    }.items():
        monkeypatch.setattr(jit, name, value)


def test_two_loops_over_rows_of_a_fed_number():
    """The second one, of the derivative, has as many rows: their number is read before the first."""
    x, n = sg.placeholder(sg.float64, [4, 2]), sg.placeholder(sg.int32, [])
    _, y = sg.while_loop(lambda i, _: i < n, lambda i, y: (i + 1, sg.sin(y)), (0, x))
    (slope,) = sg.gradients(y, [x])
    at = np.linspace(0.5, 1.2, 8).reshape(4, 2)
    with sg.Session() as session:
        for rounds in (3, 5, 0):
            wanted, value = np.ones_like(at), at
            for _ in range(rounds):
                wanted, value = wanted * np.cos(value), np.sin(value)
            np.testing.assert_allclose(session.run(slope, {x: at, n: rounds}), wanted, rtol=1e-12)
