"""Which nodes share a kernel: one case per decision of `obstacle`.

The partition is shown as one line per kernel: what it stores, from which ops.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.compile import optimize
from staticgraph.compiler.fusion.fuse import fuse
from staticgraph.compiler.fusion.group import MEMBER_LIMIT
from staticgraph.compiler.fusion.inline_element import template
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.function import Function, Value
from staticgraph.compiler.graph.sizes import AnySize, symbol


def kernels(*results: Value) -> str:
    """The kernels of a Function of `results`, after the other passes."""
    builder = results[0].recorder
    params = [n.outputs[0] for n in builder.table.values() if n.op.name == "parameter"]
    lines = []
    for group in optimize(Function(tuple(params), results)).groups:
        names = [n.op.name for n in group.nodes if n.op.name != "constant"]
        stored = "".join(f", {v.node.op.name}" for v in group.outputs if v.node is not group.root)
        lines.append(f"{group.root.op.name}{stored}: {' '.join(names)}")
    return "\n".join(lines)


def params(*shapes: tuple[int, ...]) -> list[Value]:
    build = Builder()
    return [build.parameter(f"p{i}", "float32", shape) for i, shape in enumerate(shapes)]


def positions(n: int) -> Value:
    return Builder().parameter("positions", "int32", (n, 1))


def elementwise_chain() -> str:
    (x,) = params((64, 64))
    return kernels(ops.tanh(ops.exp(x) * 2 + 1))


def epilogue_of_a_product() -> str:
    """Bias and activation are computed on the tiles of the product."""
    x, w, b = params((32, 64), (64, 16), (16,))
    return kernels(ops.relu(ops.matmul(x, w) + b))


def product_read_twice() -> str:
    x, w = params((32, 64), (64, 64))
    y = ops.matmul(x, w)
    return kernels(ops.matmul(ops.tanh(y), w) + y)


def arithmetic_before_a_product() -> str:
    """A product reads its operands from buffers."""
    x, w = params((32, 64), (64, 16))
    return kernels(ops.matmul(ops.tanh(x), w))


def transposed_operand() -> str:
    """A movement changes how a product reads, and costs nothing."""
    x, w = params((32, 64), (16, 64))
    return kernels(ops.matmul(x, ops.transpose(w, perm=(1, 0))))


def softmax() -> str:
    """Three loops over each row in one kernel."""
    (x,) = params((128, 64))
    return kernels(ops.softmax(x))


def row_reduction() -> str:
    x, y = params((128, 64), (128, 64))
    return kernels(ops.reduce_sum(ops.square(x - y), axis=1))


def row_statistic_used_in_its_row() -> str:
    (x,) = params((128, 64))
    return kernels(x - ops.reduce_mean(x, axis=1, keepdims=True))


def column_statistic_used_in_its_column() -> str:
    """Within the loops over rows, a sum over rows would be taken again for each."""
    (x,) = params((128, 64))
    return kernels(x - ops.reduce_sum(x, axis=0, keepdims=True))


def full_reduction_used_everywhere() -> str:
    (x,) = params((128, 64))
    return kernels(x / ops.reduce_sum(x))


def costly_value_of_two_readers() -> str:
    """It is computed once, and stored; the column sums are taken on the way."""
    (x,) = params((64, 64))
    y = ops.exp(x)
    return kernels(ops.reduce_sum(y, axis=0), ops.transpose(y, perm=(1, 0)))


def cheap_value_of_two_readers() -> str:
    """Computing it again is cheaper than storing it."""
    (x,) = params((64, 64))
    y = x * 2
    return kernels(ops.reduce_sum(y, axis=0), ops.transpose(y, perm=(1, 0)))


def costly_value_repeated() -> str:
    """A column of costly values that every row needs."""
    x, y = params((64,), (256, 64))
    return kernels(ops.exp(ops.sin(x)) * y)


def reshaped_buffer() -> str:
    """Another shape of a buffer is no kernel."""
    x, w = params((32, 64), (64, 16))
    return kernels(ops.reduce_sum(ops.reshape(ops.matmul(x, w), shape=(16, 32)), axis=1))


def joined_pieces() -> str:
    """Each piece of a concatenation computes its own part."""
    x, y = params((8, 64), (8, 64))
    return kernels(ops.concat([ops.tanh(x), y * 2], axis=1))


def result_that_is_read_too() -> str:
    """Stored as a result, and used in the same kernel."""
    x, y = params((64, 64), (64, 64))
    first = ops.tanh(x)
    return kernels(first, first * y + 1)


def updates_of_rows() -> str:
    """A scatter computes each of its updates where it adds it."""
    x, rows = params((1000, 64), (128, 64))
    return kernels(ops.tensor_scatter_add(x, positions(128), ops.tanh(rows) * 2))


def updates_of_rows_in_another_shape() -> str:
    """A division per row finds the row."""
    x, rows = params((1000, 64), (8, 16, 64))
    return kernels(ops.tensor_scatter_add(x, positions(128), ops.reshape(rows * 2, shape=(128, 64))))


def updates_as_many_as_rows() -> str:
    """They might be taken for the rows that change."""
    x, rows = params((128, 64), (8, 16, 64))
    return kernels(ops.tensor_scatter_add(x, positions(128), ops.reshape(rows * 2, shape=(128, 64))))


def updates_from_the_rows_themselves() -> str:
    """They are taken before the first row changes, so that the scatter may work in place."""
    x, rows = params((1000, 64), (128, 64))
    old = ops.gather_nd(x, positions(128))
    return kernels(ops.tensor_scatter_update(x, positions(128), old * rows))


def updates_that_are_sums() -> str:
    """A routine has no loops for reductions."""
    x, rows = params((1000, 64), (128, 64, 4))
    return kernels(ops.tensor_scatter_add(x, positions(128), ops.reduce_sum(rows, axis=2)))


def operand_that_a_routine_reads_again() -> str:
    (x,) = params((64, 64))
    return kernels(ops.top_k(ops.exp(x), k=8)[0])


def value_of_two_joined_kernels() -> str:
    """Nothing but the kernel that computes the product of w reads its tanh: it is not stored."""
    x, w, y = params((16, 64), (64, 64), (16, 64))
    t = ops.tanh(ops.matmul(x, w))
    return kernels(ops.reduce_sum(ops.square(t - y)), (t - y) * (1.0 - t * t))


CASES = [
    (elementwise_chain, "tanh: exp multiply add tanh"),
    (epilogue_of_a_product, "relu: matmul add relu"),
    (product_read_twice, "tanh, matmul: matmul tanh\nadd: matmul add"),
    (arithmetic_before_a_product, "tanh: tanh\nmatmul: matmul"),
    (transposed_operand, "matmul: transpose matmul"),
    (softmax, "realdiv: reduce_max subtract exp reduce_sum realdiv"),
    (row_reduction, "reduce_sum: subtract square reduce_sum"),
    (row_statistic_used_in_its_row, "subtract: reduce_sum multiply subtract"),
    (column_statistic_used_in_its_column, "reduce_sum: reduce_sum\nsubtract: subtract"),
    (full_reduction_used_everywhere, "realdiv: reduce_sum realdiv"),
    (costly_value_of_two_readers, "exp, reduce_sum: exp reduce_sum\ntranspose: transpose"),
    (cheap_value_of_two_readers, "reduce_sum: multiply reduce_sum\ntranspose: multiply transpose"),
    (costly_value_repeated, "exp: sin exp\nmultiply: multiply"),
    (reshaped_buffer, "matmul: matmul\nreshape: reshape\nreduce_sum: reduce_sum"),
    (joined_pieces, "concat: tanh multiply concat"),
    (updates_of_rows, "tensor_scatter_add: tanh multiply tensor_scatter_add"),
    (updates_of_rows_in_another_shape, "tensor_scatter_add: multiply reshape tensor_scatter_add"),
    (updates_as_many_as_rows, "tensor_scatter_add: multiply reshape tensor_scatter_add"),
    (
        updates_from_the_rows_themselves,
        "gather_nd: gather_nd\ntensor_scatter_update: multiply tensor_scatter_update",
    ),
    (updates_that_are_sums, "reduce_sum: reduce_sum\ntensor_scatter_add: tensor_scatter_add"),
    (operand_that_a_routine_reads_again, "exp: exp\ntop_k: top_k"),
    (
        value_of_two_joined_kernels,
        "multiply, subtract: matmul tanh subtract square subtract multiply\nreduce_sum: square reduce_sum",
    ),
    (result_that_is_read_too, "add, tanh: tanh multiply add"),
]


@pytest.mark.parametrize(("case", "expected"), CASES, ids=[c.__name__ for c, _ in CASES])
def test_partition(case: Callable[[], str], expected: str):
    assert case() == expected


def test_columns_are_added_up_row_by_row_if_each_is_read_for_one_sum():
    """A sum in which each column takes part several times, as in a product, stays in registers."""
    x, y, z = params((32, 20), (20, 20), (640, 400))
    best = ops.reduce_max(ops.expand_dims(x, axis=2) + ops.expand_dims(y, axis=0), axis=(1,))
    largest = ops.reduce_max(z * z, axis=(0,))

    def rows(result: Value, *params: Value) -> list[int]:
        return [group.rows for group in optimize(Function(params, (result,))).groups]

    assert (rows(best, x, y), rows(largest, z)) == ([0], [1])


def test_kernels_have_a_limited_size():
    (x,) = params((64,))
    y = x
    for i in range(3 * MEMBER_LIMIT):
        y = ops.sin(y) + float(i)
    fusion = fuse(Function((x,), (y,)))
    sizes = [len(g.nodes) for g in fusion.groups]
    assert len(sizes) > 1
    assert max(sizes) <= MEMBER_LIMIT + 2


def test_each_stored_value_has_one_kernel():
    x, w = params((32, 64), (64, 64))
    h = ops.tanh(ops.matmul(x, w))
    fusion = fuse(Function((x, w), (h, ops.matmul(h, w))))
    stored = [v for g in fusion.groups for v in g.outputs]
    assert len(stored) == len(set(stored))
    assert fusion.group_of(h) is fusion.groups[0]
    assert fusion.group_of(x) is None


def test_the_gradient_of_a_mean_over_an_open_batch_is_in_the_kernel_of_a_closed_one():
    """The batch is a number that a run tells: to multiply with it is arithmetic on tiles of a product."""

    def step(rows: AnySize) -> str:
        x, w, y = params((rows, 20), (20, 10), (rows, 10))
        count = ops.cast(x.recorder.constant(10 * rows, "int64"), dtype=float32)
        apart = ops.matmul(x, w) - y
        one = ops.broadcast_to(x.recorder.constant([[1.0]]), shape=(rows, 10))
        slope = ops.realdiv(one, count) * apart
        return kernels(ops.reduce_sum(ops.square(apart)) * 0.5, ops.matmul(x, slope, transpose_a=True))

    opened, closed = step(symbol("n0")).splitlines(), step(64).splitlines()
    assert len(opened) == len(closed) == 3
    assert "matmul" in opened[0] and "extents" in opened[0] and "realdiv" in opened[0]


def test_rows_of_an_open_length_are_done_in_one_kernel():
    """Values that closed rows keep in a buffer of one row are then stored in full."""

    def softmax_of(length: AnySize) -> str:
        (x,) = params((64, length))
        e = ops.exp(x - ops.reduce_max(x, axis=1, keepdims=True))
        return kernels(ops.realdiv(e, ops.reduce_sum(e, axis=1, keepdims=True)))

    closed, opened = softmax_of(100), softmax_of(symbol("n0"))
    assert closed == "realdiv: reduce_max subtract exp reduce_sum realdiv"
    assert opened.splitlines() == ["realdiv, exp: reduce_max subtract exp reduce_sum realdiv"]


def test_arithmetic_has_one_formula_for_all_sizes():
    x, y, z, row, n = params((3, 4), (5, 6), (1, 4), (1, 6), (symbol("n"), 6))
    wide, high = template(ops.tanh(x).node), template(ops.tanh(y).node)
    assert wide is high
    assert template(ops.tanh(n).node) is wide
    assert template(ops.tanh(z).node) is not wide  # an axis of size one is read at 0
    assert template(ops.add(x, z).node) is template(ops.add(y, row).node)
    assert template(ops.add(x, x).node) is not template(ops.add(x, z).node)
