"""Trip counts of loops, as far as they can be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.passes.trip_count import most_rounds


def rounds(cond: Callable[..., Value], step: Callable[..., Value], first: Any, dtype: str = "int32"):
    """The answer for a counter, beside a number that nothing is known of."""
    build = Builder()
    init = [build.constant(np.array(first), dtype), build.parameter("data", "float32", ())]
    count, data = (
        build.fresh_parameter("carried", init[0].type),
        build.fresh_parameter("carried", init[1].type),
    )
    made = [step(count), data * 2.0]
    return most_rounds(init, [count, data], [cond(*made), *made])


def python_rounds(cond: Callable[..., bool], step: Callable[[int], int], first: int) -> int:
    count = 0
    while cond(first):
        first, count = step(first), count + 1
    return count


STEPS: dict[str, Callable] = {
    "plus 1": lambda i: i + 1,
    "plus 3": lambda i: i + 3,
    "1 plus": lambda i: 1 + i,
    "minus 1": lambda i: i - 1,
    "minus 4": lambda i: i - 4,
}
CONDITIONS: dict[str, tuple[Callable, Callable]] = {
    "<": (ops.less, lambda i, n: i < n),
    "<=": (ops.less_equal, lambda i, n: i <= n),
    ">": (ops.greater, lambda i, n: i > n),
    ">=": (ops.greater_equal, lambda i, n: i >= n),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_counters(step: str, condition: str):
    """Exactly what Python counts, where a loop ends at all."""
    compare, plain = CONDITIONS[condition]
    towards = ("plus" in step) == (condition in ("<", "<="))
    for first in (-3, 0, 5, 6, 20):
        count = python_rounds(lambda i: plain(i, 6), STEPS[step], first) if towards else None
        assert rounds(lambda i, x: compare(i, 6), STEPS[step], first) == (count, towards), first


def test_the_bound_may_stand_first():
    build = Builder()
    start, param = build.constant(0, "int32"), build.parameter("i", "int32", ())
    made = param + 1
    assert most_rounds([start], [param], [ops.greater(build.constant(6, "int32"), made), made]) == (6, True)


def test_the_smallest_of_several_bounds_and_data_make_it_inexact():
    both = rounds(lambda i, x: ops.logical_and(i < 7, i < 4), lambda i: i + 1, 0)
    assert both == (4, False)
    assert rounds(lambda i, x: ops.logical_and(i < 7, x < 4.0), lambda i: i + 1, 0) == (7, False)


@pytest.mark.parametrize(
    "cond, step, first, dtype",
    [
        (lambda i, x: x < 4.0, lambda i: i + 1, 0, "int32"),  # data decide
        (lambda i, x: ops.logical_or(i < 7, x < 4.0), lambda i: i + 1, 0, "int32"),
        (lambda i, x: i < 7, lambda i: i * 2, 1, "int32"),  # no counter
        (lambda i, x: i < 7, lambda i: i + 0, 1, "int32"),  # stands still
        (lambda i, x: i < 7.0, lambda i: i + 1.0, 1, "float32"),  # rounding may add a round
    ],
)
def test_what_cannot_be_told(cond, step, first, dtype):
    assert rounds(cond, step, first, dtype) == (None, False)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("step", [1, 3, 100, -1, -5, 255])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_counters_that_may_wrap_around(dtype: str, step: int, condition: str):
    """NumPy counts on when a number wraps around; what is told is what it counts."""
    compare, plain = CONDITIONS[condition]
    info = np.iinfo(dtype)
    span = int(info.max) - int(info.min) + 1
    step = (step - int(info.min)) % span + int(info.min)

    def after(i: int) -> int:
        return (i + step - int(info.min)) % span + int(info.min)

    for first in (int(info.min), 0, 5, 120, int(info.max)):
        for limit in (int(info.min), 0, 7, 119, int(info.max)):
            i, count = first, 0
            while plain(i, limit) and count <= span:
                i, count = after(i), count + 1
            told, exact = rounds(
                lambda i, x, n=limit: compare(i, i.recorder.constant(n, dtype)),
                lambda i: i + i.recorder.constant(step, dtype),
                first,
                dtype,
            )
            assert told is None or (exact and told == count), (first, limit)
