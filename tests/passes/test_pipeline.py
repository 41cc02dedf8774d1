"""Expansion of composites, simplification, and the order of passes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.checks.verify import verify
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.opdef import OPS, Kind
from staticgraph.compiler.graph.printer import function_text
from staticgraph.compiler.passes import winograd
from staticgraph.compiler.passes.expand import expand
from staticgraph.compiler.passes.pipeline import OPS_OF, PIPELINE, Pipeline
from staticgraph.compiler.passes.simplify import simplify


def parameter(*shape: int, dtype: str = "float32") -> Value:
    return Builder().parameter("x", dtype, shape)


def names(function: Function) -> list[str]:
    return [n.op.name for n in function.nodes if n.op.name not in ("parameter", "constant")]


def test_composites_become_what_they_are_written_in():
    x = parameter(4, 3)
    function = Function((x,), (ops.softmax(x),))
    expanded = expand(function)
    verify(expanded)
    assert not any(n.op.kind is Kind.COMPOSITE for n in expanded.nodes)
    array = np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(interpret(expanded, {x: array}), interpret(function, {x: array}), rtol=1e-6)


def test_composites_of_composites():
    """An expansion may be written in ops that are composite again."""
    x = parameter(4, 3)
    y = ops.reduce_mean(ops.softmax(ops.log_softmax(x)), axis=0)
    expanded = expand(Function((x,), (y,)))
    assert not any(n.op.kind is Kind.COMPOSITE for n in expanded.nodes)


@pytest.mark.parametrize("marker", ["identity", "stop_gradient"])
def test_markers_disappear(marker: str):
    x = parameter(3)
    assert expand(Function((x,), (OPS[marker](x),))).results == (x,)


def test_watched_and_overridden_values():
    build = Builder()
    x, fed = build.parameter("x", "float32", (3,)), build.parameter("fed", "float32", (3,))
    function = Function((x, fed), (ops.watch(x, key="x"), ops.override(x, fed)))
    assert expand(function).results == (x, fed)


def test_expansion_of_nothing_changes_nothing():
    x = parameter(3)
    function = Function((x,), (ops.exp(x),))
    assert expand(function) is function


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda x: x * 1 + 0, []),
        (lambda x: ops.subtract(ops.exp(x), 1), ["expm1"]),
        (lambda x: ops.log(1 + ops.exp(x)), ["softplus"]),
        (lambda x: ops.transpose(ops.transpose(x, perm=(1, 0)), perm=(1, 0)), []),
        (lambda x: (x * 2) * 3, ["multiply"]),
        (lambda x: ops.reshape(ops.reshape(x, shape=(12,)), shape=(3, 4)), []),
        (lambda x: ops.realdiv(1, ops.sqrt(x)), ["rsqrt"]),
        (lambda x: ops.select(ops.logical_not(ops.less(x, 0)), x, x), []),
        (lambda x: x - x, ["subtract"]),
    ],
)
def test_simplification(before, after: list[str]):
    x = parameter(3, 4)
    function = simplify(Function((x,), (before(x),)))
    verify(function)
    assert names(function) == after


def test_a_rewriting_goes_on_where_another_made_it_possible():
    """Constants meet first, and then the product with one disappears."""
    x = parameter(3)
    assert simplify(Function((x,), ((x * 2) * 0.5,))).results == (x,)


def test_a_long_chain_is_rewritten_without_recursion():
    x = parameter(3)
    y = x
    for _ in range(3000):
        y = ops.sin(y) * 1
    assert names(simplify(Function((x,), (y,)))) == ["sin"] * 3000


def test_observers_see_each_pass():
    x = parameter(3)
    seen = []
    function = Function((x,), (ops.softplus(x) * 1,))
    result = PIPELINE(function, [lambda name, before, after: seen.append((name, before, after))])
    assert [name for name, _, _ in seen] == [p.__name__ for p in PIPELINE.passes]
    assert seen[0][1] is function
    assert all(a[2] is b[1] for a, b in itertools.pairwise(seen))
    assert seen[-1][2] is result


def test_a_pipeline_of_nothing():
    x = parameter(3)
    function = Function((x,), (x,))
    assert Pipeline(())(function) is function


def test_text_before_and_after():
    x = parameter(2)
    assert function_text(PIPELINE(Function((x,), (ops.log(ops.identity(x) + 1),)))) == (
        "(v0: float32[2]) -> (v1):\n  v1 = log1p(v0): float32[2]\n"
    )


def test_passes_that_are_for_few_ops_see_all_of_them():
    assert OPS_OF["fewer_products"] == {*winograd.FORWARD, "conv_filter"}
    assert OPS_OF.keys() <= {each.__name__ for each in PIPELINE.passes}
    assert {name for names in OPS_OF.values() for name in names} <= {*OPS}
