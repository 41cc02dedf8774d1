"""Random Functions with loops and branches: compiled equals interpreted, and so it is after each pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from staticgraph.compiler.autodiff.cotangents import Unbounded
from staticgraph.compiler.autodiff.reverse import vjp
from staticgraph.compiler.graph.checks.verify import verify
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.passes.loops import merge_loops
from staticgraph.compiler.passes.pipeline import PIPELINE
from staticgraph.runtime.cpu.executable import evaluate
from tests.fuzz.inner import random_nest
from tests.fuzz.test_random_graphs import fuzz

Case = tuple[Function, list[np.ndarray]]


@st.composite
def nests(draw: st.DrawFn) -> Case:
    return random_nest(draw(st.randoms(use_true_random=False)).randrange)


def check(case: Case) -> None:
    """Interpreted, interpreted after all passes, and compiled."""
    function, arrays = case
    verify(function)
    arguments = dict(zip(function.params, arrays, strict=True))
    wanted = interpret(function, arguments)
    better = PIPELINE(function, [lambda name, before, after: verify(after)])
    for found in (interpret(better, arguments), evaluate(function, arrays)):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.takes_long
@settings(fuzz(20))
@given(nests())
def test_compiled_equals_interpreted(case: Case):
    check(case)


@settings(fuzz(12))
@given(nests())
def test_derivatives_compiled_equal_interpreted(case: Case):
    function, arrays = case
    reals = [v for v in function.results if not v.dtype.is_integer]
    xs = [p for p in function.params if not p.dtype.is_integer]
    grads = vjp(function.params[0].recorder, reals, [None] * len(reals), xs)
    if isinstance(grads, Unbounded):  # data decide the trip count, which the user's graph would tell
        return
    made = merge_loops(Function(function.params, (*reals, *(g for g in grads if g is not None))))
    check((made, arrays))


@pytest.mark.slow
@settings(fuzz(1000))
@given(nests())
def test_compiled_equals_interpreted_at_length(case: Case):
    check(case)
