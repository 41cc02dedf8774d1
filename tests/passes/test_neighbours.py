"""Why kernels of which one reads what the other stores are two."""

import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.compile import optimize
from staticgraph.compiler.fusion.group import is_alias
from staticgraph.compiler.fusion.neighbours import neighbours
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function


def reasons(*results):
    """`maker -> reader: reason`, by the roots."""
    builder = results[0].recorder
    params = tuple(n.outputs[0] for n in builder.table.values() if n.op.name == "parameter")
    fusion = optimize(Function(params, results))
    for group in fusion.groups:
        assert group.root in fusion.apart and (fusion.apart[group.root] or is_alias(group.root))
    return [f"{n.maker.root.op.name} -> {n.reader.root.op.name}: {n.reason}" for n in neighbours(fusion)]


def params(*shapes):
    build = Builder()
    return [build.parameter(f"p{i}", "float32", shape) for i, shape in enumerate(shapes)]


def operand():
    x, w = params((32, 64), (64, 16))
    return [ops.matmul(ops.tanh(x), w)]


def read_twice():
    x, w = params((32, 64), (64, 64))
    y = ops.matmul(x, w)
    return [ops.matmul(ops.tanh(y), w) + y]


def through_a_reshape():
    x, w = params((32, 64), (32, 64))
    return [ops.matmul(ops.reshape(ops.exp(x), (64, 32)), w)]


def routine():
    (x,) = params((32, 64))
    return [ops.cumsum(ops.cumsum(x, 1), 0)]


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (operand, ["tanh -> matmul: a product reads its operands from memory"]),
        (read_twice, ["tanh -> add: a product reads its operands from memory; a product shares its loops"]),
        (through_a_reshape, ["exp -> matmul: "]),
        (routine, ["cumsum -> cumsum: it is no formula of single elements"]),
    ],
)
def test_the_reason(graph, expected):
    found = reasons(*graph())
    assert len(found) == len(expected) and all(
        f.startswith(e) for f, e in zip(found, expected, strict=True)
    ), found


def test_one_kernel_has_no_neighbours():
    x, w = params((32, 64), (64, 16))
    assert reasons(ops.relu(ops.matmul(x, w))) == []
