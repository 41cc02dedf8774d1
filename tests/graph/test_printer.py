"""The text of Functions, and of those inside them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.printer import attribute_text, function_text
from tests.passes.steps import step_of


def text_of(fetch: sg.Tensor, x: sg.Tensor) -> str:
    step = step_of([fetch], {x: np.zeros(x.shape.as_list())})
    return re.sub(r"family=\d+", "family=N", function_text(step.function))


def test_the_body_of_a_loop_is_below_it():
    x = sg.placeholder(sg.float32, [3], name="x")
    y = sg.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, sg.sin(y) * x), [0, x])[1]
    assert (
        text_of(y, x)
        == """\
(v0: float32[3]) -> (v14):
  v1 = constant(value=0: int32[])
  v2 = constant(value=True: bool[])
  v3, v4 = loop(v2, v1, v0, v0, carried=2, family=N, bound=5, exact=True, brief=False): int32[], float32[3]
    body(v5: int32[], v6: float32[3], v7: float32[3]) -> (v12, v10, v13):
      v8 = constant(value=5: int32[])
      v9 = constant(value=1: int32[])
      v10 = add(v5, v9): int32[]
      v11 = sin(v6): float32[3]
      v12 = less(v10, v8): bool[]
      v13 = multiply(v11, v7): float32[3]
  v14 = identity(v4): float32[3]
"""
    )


def test_each_branch_is_below_its_node_and_nested_ones_are_further_in():
    x = sg.placeholder(sg.float32, [], name="x")
    y = sg.cond(x > 0, lambda: x, lambda: sg.cond(x > -1, lambda: x * x, lambda: sg.exp(x)))
    assert (
        text_of(y, x)
        == """\
(v0: float32[]) -> (v20):
  v1 = constant(value=0: int32[])
  v2 = constant(value=0.0: float32[])
  v3 = greater(v0, v2): bool[]
  v4 = constant(value=1: int32[])
  v5 = select(v3, v1, v4): int32[]
  v6 = branch(v5, v0): float32[]
    branches[0](v7: float32[]) -> (v7):
    branches[1](v8: float32[]) -> (v19):
      v9 = constant(value=0: int32[])
      v10 = constant(value=-1.0: float32[])
      v11 = constant(value=1: int32[])
      v12 = greater(v8, v10): bool[]
      v13 = select(v12, v9, v11): int32[]
      v14 = branch(v13, v8): float32[]
        branches[0](v15: float32[]) -> (v16):
          v16 = multiply(v15, v15): float32[]
        branches[1](v17: float32[]) -> (v18):
          v18 = exp(v17): float32[]
      v19 = identity(v14): float32[]
  v20 = identity(v6): float32[]
"""
    )


def test_an_effect_tells_the_operation_that_it_carries_out():
    x = sg.placeholder(sg.float32, [], name="x")
    assert "effect(v1, v0, v0, operation=show): int32[]" in text_of(sg.Print(x, [x], name="show"), x)


@pytest.mark.parametrize(
    "value, text",
    [((), "()"), ((1,), "(1,)"), ("a", "'a'"), (None, "None"), ((None, sg.int32), "(None, int32)")],
)
def test_attributes(value, text):
    assert attribute_text(value) == text


def test_no_value_of_a_text_has_two_meanings():
    """A constant that a loop and its body share is written in both, under different names."""
    x = sg.placeholder(sg.float32, [3], name="x")
    y = sg.while_loop(lambda y: sg.reduce_sum(y) < 5.0, lambda y: y + np.float32(5.0), [x * 5.0])
    made = [line.split(" = ")[0].strip() for line in text_of(y, x).splitlines() if " = constant(" in line]
    assert len(made) == len(set(made)) == 2
