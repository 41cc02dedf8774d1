"""Values of many sizes at once, as executables for new sizes ask for them."""

from __future__ import annotations

import pytest

from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import evaluate, positive, symbol
from staticgraph.runtime.cpu.open_step import evaluator, types_at

B, T = symbol("B"), symbol("T")


@pytest.mark.fast
def test_many_sizes_are_evaluated_together():
    sizes = [3, B, 4 * B + 2, B * T - 1, (B * 3 + T) // 4, positive(B) * 8, 0, B * B * T + 7 * T]
    at_once = evaluator(sizes)
    for values in ({"B": 0, "T": 5}, {"B": 7, "T": 0}, {"B": 31, "T": 2}):
        assert at_once(values) == [evaluate(size, values) for size in sizes]


@pytest.mark.parametrize("sizes", [[], [0], [1, 2], [1 << 70, B], [B * B * B]])
def test_values_may_be_few_or_large(sizes):
    values = {"B": (1 << 31) - 1}
    assert evaluator(sizes)(values) == [evaluate(size, values) for size in sizes]


def test_only_open_types_are_made_anew():
    types = [TensorType(float32, (2, 3)), TensorType(float32, (B, 4))]
    closed, opened = types_at(types)({"B": 5})
    assert closed is types[0]
    assert opened == TensorType(float32, (5, 4))
