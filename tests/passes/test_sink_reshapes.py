"""Arithmetic moves before reshapes, means the same there, and needs fewer kernels."""

import math

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import RESHAPES, Function, Value
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.compiler.passes.sink_reshapes import grouped, regrouped, sink_reshapes
from staticgraph.runtime.cpu.executable import evaluate

N = symbol("n")


def after(*results: Value, params: tuple[Value, ...]) -> Function:
    """The Function after the pass: interpreted it gives the same bits, and compiled the same numbers."""
    function = Function(params, results)
    changed = sink_reshapes(function)
    rng = np.random.default_rng(1)
    values = [rng.normal(size=p.shape).astype(p.dtype.numpy) for p in params]
    given = dict(zip(params, values, strict=True))
    expected = interpret(function, given)
    for a, b, c in zip(expected, interpret(changed, given), evaluate(changed, values), strict=True):
        assert a.shape == b.shape and np.array_equal(a, b)
        np.testing.assert_allclose(c, a, rtol=1e-5, atol=1e-5)
    return changed


def kernels(function: Function) -> int:
    return sum(group.root.op.name not in RESHAPES for group in fuse(function).groups)


def gelu(x: Value) -> Value:
    return x * 0.5 * (1.0 + ops.erf(x * math.sqrt(0.5)))


def dense(build: Builder) -> tuple[Value, Value, tuple[Value, ...]]:
    """A product whose rows are then put into batches, a bias, and all parameters."""
    x, w = build.parameter("x", "float32", (12, 5)), build.parameter("w", "float32", (5, 8))
    b = build.parameter("b", "float32", (8,))
    return ops.reshape(ops.matmul(x, w), shape=(3, 4, 8)), b, (x, w, b)


def test_what_follows_a_product_of_rows_in_batches_is_done_on_its_tiles():
    product, b, params = dense(Builder())
    made = after(gelu(product + b), params=params)
    assert kernels(made) == 1
    (result,) = made.results
    assert result.op.name == "reshape" and result.node.inputs[0].shape == (12, 8)


def test_the_scale_of_channels_is_regrouped_for_group_normalisation():
    build = Builder()
    x, m = build.parameter("x", "float32", (2, 9, 4, 2)), build.parameter("m", "float32", (2, 1, 4, 1))
    scale, shift = (build.parameter(name, "float32", (8,)) for name in ("scale", "shift"))
    made = after(ops.reshape(x - m, shape=(2, 3, 3, 8)) * scale + shift, params=(x, m, scale, shift))
    assert kernels(made) == 1


def test_reshapes_on_the_way_and_back_disappear():
    product, b, params = dense(Builder())
    back = ops.reshape(ops.tanh(product + b), shape=(12, 8))
    assert after(back, params=params).op_names == {"parameter", "matmul", "add", "tanh"}


def test_two_operands_may_be_reshaped_alike():
    x = Builder().parameter("x", "float32", (12, 5))
    parts = [ops.reshape(function(x), shape=(3, 4, 5)) for function in (ops.exp, ops.sin)]
    assert kernels(after(parts[0] * parts[1], params=(x,))) == 1


def test_what_depends_on_rows_of_the_reshaped_stays_with_them():
    """One kernel does one row of a softmax after the other, as without the pass."""
    product, _, (x, w, _) = dense(Builder())
    apart = ops.exp(product - ops.reduce_max(product, axis=2, keepdims=True))
    result = apart / ops.reduce_sum(apart, axis=2, keepdims=True)
    assert after(result, params=(x, w)).results == (result,)


@pytest.mark.parametrize("what", ["two results", "read before", "across groups", "an input"])
def test_where_nothing_is_gained_nothing_moves(what):
    build = Builder()
    product, b, params = dense(build)
    column = build.parameter("column", "float32", (4, 1))
    results = {
        "two results": (product + b, ops.reduce_sum(product * b, axis=0)),
        "read before": (product, product + b),
        "across groups": (ops.reshape(product, shape=(3, 2, 2, 8)) + ops.reshape(column, shape=(2, 2, 1)),),
        "an input": (ops.reshape(params[0], shape=(3, 4, 5)) + 1.0,),
    }[what]
    assert after(*results, params=(*params, column)).results == results


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((12, 8), (3, 4, 8), [((12,), (3, 4)), ((8,), (8,))]),
        ((2, 9, 4, 2), (2, 3, 3, 8), [((2,), (2,)), ((9,), (3, 3)), ((4, 2), (8,))]),
        ((5,), (1, 5, 1), [((5,), (1, 5)), ((), (1,))]),
        ((6, 4), (4, 6), None),
        ((0, 4), (0, 3), None),
        ((N * 4, 8), (N, 4, 8), [((N * 4,), (N, 4)), ((8,), (8,))]),
        ((N, 8), (N * 2, 4), [((N, 8), (N * 2, 4))]),
        ((N, 8), (8, N), None),
        ((), (1, 1), [((), (1,)), ((), (1,))]),
    ],
)
def test_axes_are_grouped_by_equal_products(before, after, expected):
    assert grouped(before, after) == expected


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((8,), (1, 4, 2)), ((3, 1), None), ((3, 3, 1), (9, 1, 1)), ((3, 3, 8), (9, 4, 2)), ((), (1, 1, 1))],
)
def test_operands_are_regrouped_if_they_repeat_along_whole_groups(shape, expected):
    grouping = grouped((9, 4, 2), (3, 3, 8))
    assert grouping is not None and regrouped(shape, grouping) == expected


@pytest.mark.parametrize("rows", [None, 6])
def test_a_dense_layer_of_a_sequence_is_one_kernel(rows, rng):
    """As legacy scripts have it: rows of all sequences, a product, and sequences again."""
    x = sg.placeholder("float32", [rows, 4, 5])
    w, b = rng.standard_normal((5, 8)).astype("f4"), rng.standard_normal(8).astype("f4")
    product = sg.matmul(sg.reshape(x, [-1, 5]), w)
    y = sg.nn.relu(sg.reshape(product, [-1, 4, 8]) + b)
    for size in (6, 1) if rows is None else (6,):
        given = rng.standard_normal((size, 4, 5)).astype("f4")
        with sg.Session() as session:
            np.testing.assert_allclose(
                session.run(y, {x: given}), np.maximum(given @ w + b, 0), rtol=1e-5, atol=1e-5
            )
            assert len(session.plan(y, {x: given}).kernels) == 1
