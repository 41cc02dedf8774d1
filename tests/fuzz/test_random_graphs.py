"""Random graphs: compiled equals interpreted, optimised equals plain, and rewriting comes to rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from staticgraph.compiler.compile import optimize
from staticgraph.compiler.graph.checks.verify import verify
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.passes.pipeline import PIPELINE
from staticgraph.compiler.passes.simplify import simplify
from staticgraph.runtime.cpu.executable import evaluate
from tests.fuzz.graphs import random_function, widened

pytestmark = pytest.mark.takes_long

Case = tuple[Function, list[np.ndarray]]
UNIT = {2: 2e-2, 4: 1e-4, 8: 1e-8}  # what may differ, by bytes per element


@st.composite
def functions(draw: st.DrawFn, most: int = 25) -> Case:
    """A Function of up to `most` ops, and its arguments."""
    steps = draw(st.integers(1, most))
    return random_function(draw(st.randoms(use_true_random=False)).randrange, steps)


def fuzz(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
        ],
    )


def meaning(function: Function, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    return interpret(function, dict(zip(function.params, arrays, strict=True)))


def assert_close(function: Function, arrays: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> None:
    """Equal to the meaning, up to some times what rounding to float32 itself changes there."""
    exact = meaning(widened(function), arrays)
    for result, wanted, wide, got in zip(
        function.results, meaning(function, arrays), exact, found, strict=True
    ):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), result
        size = result.dtype.size
        if result.dtype.is_complex:
            got, wanted, wide = (np.stack([z.real, z.imag]) for z in (got, wanted, wide))
            size //= 2
        elif not result.dtype.is_floating:
            np.testing.assert_array_equal(got, wanted)
            continue
        clear = is_number(wanted) == is_number(wide)  # elsewhere rounding decides whether there is a number
        np.testing.assert_array_equal(is_number(got)[clear], is_number(wanted)[clear])
        finite = is_number(wanted) & is_number(wide) & is_number(got)
        scale = float(np.abs(wanted[finite]).max(initial=1.0))
        noise = float(np.abs(wanted.astype(np.float64) - wide)[finite].max(initial=0.0))
        unit = UNIT[size]
        np.testing.assert_allclose(got[finite], wanted[finite], rtol=unit, atol=unit * scale + 50 * noise)


def is_number(array: np.ndarray) -> np.ndarray:
    """Return an array that is True at elements that are finite and far from overflow."""
    return np.abs(array.astype(np.float64)) < 1e30


def check_compiled(function: Function, arrays: list[np.ndarray]) -> None:
    verify(function)
    assert_close(function, arrays, evaluate(function, arrays))


def check_optimised(function: Function, arrays: list[np.ndarray]) -> None:
    better = PIPELINE(function, [lambda name, before, after: verify(after)])
    assert_close(function, arrays, meaning(better, arrays))


@settings(fuzz(10))  # to compile one takes a second; `pytest -m slow` takes 2000
@given(functions())
def test_compiled_equals_interpreted(case: Case):
    check_compiled(*case)


@settings(fuzz(50))
@given(functions())
def test_optimised_equals_plain(case: Case):
    check_optimised(*case)


@settings(fuzz(30))
@given(functions())
def test_simplification_comes_to_rest(case: Case):
    once = simplify(case[0])
    assert simplify(once).results == once.results


@settings(fuzz(30))
@given(functions())
def test_kernels_can_run_in_their_order(case: Case):
    """Each kernel needs only params, constants and what kernels before it store: no cycle between kernels."""
    fusion = optimize(case[0])
    stored = set(fusion.function.params)
    for group in fusion.groups:
        inside = {v for node in group.nodes for v in node.outputs}
        for value in {v for node in group.nodes for v in node.inputs} - inside:
            ready = value in stored or value.constant is not None
            assert ready or not value.size, (group.root, value)  # nothing is read of what has no elements
        stored.update(group.outputs)
    assert {r for r in fusion.function.results if r.constant is None} <= stored


@pytest.mark.slow
@settings(fuzz(2000))
@given(functions(60))
def test_compiled_equals_interpreted_at_length(case: Case):
    check_compiled(*case)
