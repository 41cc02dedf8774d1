"""Loops whose bodies are tiny: what a round costs if their length is known, and if the data decide."""

from __future__ import annotations

from typing import Any

import numpy as np

import staticgraph as sg
from gpu_stages.setting import Setting, seconds_per_call

ROUNDS = 1000
MOST_KNOWN, MOST_DECIDED = 3.0, 12.0  # microseconds a round


def run(setting: Setting) -> None:
    """The stage."""
    rounds = setting.sized(ROUNDS, 12)
    for name, build, most in (
        ("that the data decide", _decided, MOST_DECIDED),
        ("that the data decide, with rows of a tensor", _decided_rows, MOST_DECIDED),
        ("of a known length, with rows of a tensor", _scan, MOST_KNOWN),
        ("of a known length", _known, MOST_KNOWN),
    ):
        if setting.within(name, 4):
            with setting.findings.trying(name):
                _timed(setting, name, build, most, rounds)


def _timed(setting: Setting, name: str, build: Any, most: float, rounds: int) -> None:
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, [8])
        result, expected = build(x, rounds)
        feeds = {x: np.linspace(0, 1, 8, dtype=np.float32)}
        with setting.session() as session:
            for _ in range(2):
                found = session.run(result, feeds)
            took = seconds_per_call(lambda: session.run(result, feeds), lambda: None)
    right = np.allclose(found, expected(feeds[x]), rtol=1e-4)
    setting.findings.check(f"a loop {name} is right", bool(right))
    what = f"a round of a loop {name}"
    setting.findings.measured(what, 1e6 * took / rounds, "us", None if setting.small else most, most=True)


def _known(x: Any, rounds: int) -> tuple[Any, Any]:
    _, y = sg.while_loop(lambda i, y: i < rounds, lambda i, y: (i + 1, y * 0.999 + 0.5), [0, x])

    def expected(value: np.ndarray) -> np.ndarray:
        for _ in range(rounds):
            value = value * np.float32(0.999) + np.float32(0.5)
        return value

    return y, expected


def _scan(x: Any, rounds: int) -> tuple[Any, Any]:
    rows = sg.tile(x[None], [rounds, 1])
    y = sg.scan(lambda total, row: total * 0.5 + row, rows)

    def expected(value: np.ndarray) -> np.ndarray:
        found = [value]
        for _ in range(rounds - 1):
            found.append(found[-1] * np.float32(0.5) + value)
        return np.stack(found)

    return y, expected


def _decided_rows(x: Any, rounds: int) -> tuple[Any, Any]:
    """The same, and what there was after each round."""
    rows = sg.TensorArray(sg.float32, rounds + 1).unstack(sg.zeros([rounds + 1, 16]))
    x = sg.tile(x, [2])
    _, _, rows = sg.while_loop(
        lambda i, y, rows: sg.reduce_max(y) < rounds,
        lambda i, y, rows: (i + 1, y + 1.0, rows.write(i, y)),
        [0, x, rows],
    )

    def expected(value: np.ndarray) -> np.ndarray:
        found = np.zeros((rounds + 1, 16), np.float32)
        found[: rounds - 1] = np.tile(value, 2) + np.arange(rounds - 1, dtype=np.float32)[:, None]
        return found

    return rows.stack(), expected


def _decided(x: Any, rounds: int) -> tuple[Any, Any]:
    """A sum of small numbers, until it is large enough."""
    y = sg.while_loop(lambda y: sg.reduce_max(y) < rounds, lambda y: y + 1.0, [x])
    return y, lambda value: value + np.float32(rounds - 1)
