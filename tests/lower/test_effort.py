"""Operations and bytes of kernels, counted by hand."""

import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.compile import optimize
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.lower.flop_count import effort
from staticgraph.compiler.lower.lower import lower
from staticgraph.compiler.lower.program import Launch


def efforts(*results):
    builder = results[0].recorder
    params = tuple(n.outputs[0] for n in builder.table.values() if n.op.name == "parameter")
    program = lower(optimize(Function(params, results)), len(results), {})
    return [effort(i.work) for i in program.instructions if isinstance(i, Launch)]


def param(*shape, dtype="float32"):
    return Builder().parameter("p", dtype, shape)


def test_elementwise():
    x = param(10, 20)
    (found,) = efforts(ops.tanh(x) * x)
    assert (found.flops, found.bytes) == (2 * 200, 2 * 4 * 200)
    assert found.intensity == pytest.approx(0.25)


def test_a_product_is_two_operations_per_pair():
    build = Builder()
    x, w = build.parameter("x", "float32", (8, 16)), build.parameter("w", "float32", (16, 4))
    (found,) = efforts(ops.matmul(x, w))
    assert (found.flops, found.bytes) == (2 * 8 * 16 * 4, 4 * (8 * 16 + 16 * 4 + 8 * 4))


def test_what_reads_fewer_indices_is_computed_less_often():
    """A softmax does one sum per row, and one exponential per element."""
    x = param(100, 50)
    total = sum(e.flops for e in efforts(ops.softmax(x)))
    assert 5 * 5000 <= total <= 5 * 5000 + 100


def test_casts_comparisons_and_integers_are_no_floating_operations():
    (found,) = efforts(ops.cast(param(10, dtype="int32") + 1, float32))
    assert (found.flops, found.bytes) == (0, 80)


def test_a_routine_is_counted_by_its_loops():
    x = param(4, 100)
    (found,) = efforts(ops.cumsum(x, 1))
    assert 300 <= found.flops <= 800
