"""Derivatives of groups of numbers that are computed together: NaN in one leaves the others alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg

IDS = [0, 0, 1, 1, 1, 2, 2]  # groups of rows
MIXED = [2, 0, 1, 2, 1, 0, 1]

SORTED: dict[str, Callable[[Any], Any]] = {
    f"segment_{name}": lambda x, name=name: getattr(sg, f"segment_{name}")(x, IDS)
    for name in ("sum", "mean", "prod", "max", "min")
}
UNSORTED: dict[str, Callable[[Any], Any]] = {
    f"unsorted_segment_{name}": lambda x, name=name: getattr(sg.math, f"unsorted_segment_{name}")(x, MIXED, 3)
    for name in ("sum", "mean", "prod", "max", "min", "sqrt_n")
}
ROWS: dict[str, Callable[[Any], Any]] = {
    "reduce_prod": lambda x: sg.reduce_prod(x, axis=1),
    "reduce_logsumexp": lambda x: sg.reduce_logsumexp(x, axis=1),
    "cumsum": lambda x: sg.cumsum(x, axis=1),
    "cumprod": lambda x: sg.cumprod(x, axis=1),
    "softmax": sg.nn.softmax,
    "sort": lambda x: sg.sort(x, axis=1),
}


@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_beside_an_element_that_no_result_has(reverse: bool):
    values = np.random.default_rng(6).uniform(0.5, 1.5, (4, 3))
    x = sg.placeholder(sg.float64, [4, 3])
    gradient = sg.gradients(sg.cumprod(x, exclusive=True, reverse=reverse), x)[0]
    unused, used = (0, slice(1, None)) if reverse else (3, slice(0, 3))
    with sg.Session() as session:
        wanted = session.run(gradient, {x: values})
        for wrong in (np.nan, np.inf, 1e200):
            values[unused] = wrong
            np.testing.assert_allclose(session.run(gradient, {x: values})[used], wanted[used], 1e-12)


@pytest.mark.takes_long
@pytest.mark.parametrize("groups", ["IDS", "MIXED", "rows"])
def test_derivatives_of_other_groups(groups: str):
    functions, group = {
        "IDS": (SORTED, np.array(IDS)), "MIXED": (UNSORTED, np.array(MIXED)), "rows": (ROWS, np.arange(7)),
    }[groups]  # fmt: skip
    values = np.random.default_rng(5).uniform(0.5, 1.5, (7, 3))
    x = sg.placeholder(sg.float64, [7, 3])
    first = {name: sg.gradients(make(x), x)[0] for name, make in functions.items()}
    second = {name: sg.gradients(sg.square(g), x)[0] for name, g in first.items()}
    fetches = [first, {name: g for name, g in second.items() if g is not None}]
    with sg.Session() as session:
        usual = session.run(fetches, {x: values})
        for row in range(7):
            for wrong in (np.nan, np.inf, -np.inf, 1e200, 0.0):
                changed = values.copy()
                changed[row] = wrong
                changed[(row + 1) % 7 if group[(row + 1) % 7] == group[row] else row] = wrong
                others = group != group[row]
                found = session.run(fetches, {x: changed})
                for mine, wanted in zip(found, usual, strict=True):
                    for name in mine:
                        told = f"{name} with {wrong} in row {row}"
                        np.testing.assert_allclose(
                            mine[name][others], wanted[name][others], 1e-9, 1e-12, err_msg=told
                        )
