"""Functions: interning, folding, traversal, substitution, verification."""

from __future__ import annotations

import numpy as np
import pytest

from staticgraph.compiler import ops
from staticgraph.compiler.graph import builder
from staticgraph.compiler.graph.builder import FOLD_LIMIT, Builder, number
from staticgraph.compiler.graph.checks.verify import InvalidFunction, verify
from staticgraph.compiler.graph.errors import ShapeError
from staticgraph.compiler.graph.function import Function, Literal, Node, substitute, toposort, transform
from staticgraph.compiler.graph.interpret import interpret
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.size_contexts import answering
from staticgraph.compiler.graph.sizes import symbol


@pytest.fixture
def build() -> Builder:
    return Builder()


def test_equal_nodes_are_one(build: Builder):
    x, y = build.parameter("x", "float32", (2,)), build.parameter("y", "float32", (2,))
    assert ops.exp(x) is ops.exp(x)
    assert ops.add(x, y) is ops.add(y, x)
    assert ops.subtract(x, y) is not ops.subtract(y, x)
    assert ops.reduce_sum(x, axis=0) is not ops.reduce_sum(x, axis=0, keepdims=True)
    assert build.constant([1.0, 2.0]) is build.constant(np.array([1, 2], np.float32))


def test_constants_differ_by_bits_dtype_and_shape(build: Builder):
    zeros = [build.constant(v) for v in (0.0, -0.0, 0, False, [0.0], np.float64(0))]
    assert len(set(zeros)) == 6


def test_constants_fold(build: Builder):
    made = ops.add(build.constant([1.0, 2.0]), 1.0)
    np.testing.assert_array_equal(made.constant, [2, 3])
    assert made.constant.dtype == np.float32


def test_large_constants_do_not_fold(build: Builder):
    assert ops.fill(dims=[FOLD_LIMIT + 1], value=build.constant(1.0)).constant is None


def test_marks_do_not_fold_and_do_not_merge(build: Builder):
    two = build.constant(2.0)
    a, b = ops.watch(two, key="a"), ops.watch(two, key="b")
    assert a is not b
    assert a.constant is None
    assert ops.override(two, build.constant(3.0)).constant is None


def test_shapes_fold_though_values_are_not_known(build: Builder):
    x = build.parameter("x", "float32", (2, 3))
    np.testing.assert_array_equal(ops.shape_of(x).constant, [2, 3])
    assert ops.size_of(x).constant == 6


@pytest.mark.parametrize(
    ("value", "expected"),
    [([2.0, 2.0], 2), (3, 3), ([1.0, 2.0], None), (np.nan, None), ([], None), (True, True)],
)
def test_number(value, expected, build: Builder):
    assert number(build.constant(value)) == expected


def test_errors_name_the_op_its_operands_and_the_line(build: Builder):
    a, b = build.parameter("a", "float32", (2, 3)), build.parameter("b", "float32", (4, 5))
    with pytest.raises(ShapeError, match=r"^matmul\(float32\[2, 3\], float32\[4, 5\]\): "):
        ops.matmul(a, b)


def test_nodes_come_after_their_inputs_and_dead_ones_are_left_out(build: Builder):
    x = build.parameter("x", "float32", (2,))
    y = ops.exp(x)
    ops.sin(y)
    z = y + x
    assert [n.op.name for n in toposort([z])] == ["parameter", "exp", "add"]


def test_users(build: Builder):
    x = build.parameter("x", "float32", (2,))
    y = x * x
    z = ops.exp(x) + y
    users = Function((x,), (z,)).users
    assert [n.op.name for n in users[x]] == ["multiply", "exp"]
    assert z not in users


def test_substitute(build: Builder):
    x, y = build.parameter("x", "float32", (2,)), build.parameter("y", "float32", (2,))
    untouched = ops.exp(x)
    made = substitute([untouched, ops.sin(untouched) + y], {y: x})
    assert made == [untouched, ops.sin(untouched) + x]


def test_what_is_replaced_stays_so_where_another_output_of_its_node_is_made_anew(build: Builder):
    x, y = build.parameter("x", "float32", (4,)), build.parameter("y", "float32", (4,))
    top, indices = ops.top_k(x, k=2)
    other = ops.sin(top)
    value, place = substitute([top, indices], {x: y, top: other})
    assert value is other and place.node.inputs == (y,)


def test_substituted_nodes_come_from_the_lines_of_the_old_ones(build: Builder):
    x, y = build.parameter("x", "float32", (2,)), build.parameter("y", "float32", (2,))
    with build.at(user_frame()):
        old = ops.sin(y)
    (made,) = substitute([old], {y: x})
    assert made.node.where is old.node.where is not None


def test_transform_keeps_params_and_rebuilds_inputs_first(build: Builder):
    x = build.parameter("x", "float32", (2,))
    function = Function((x,), (ops.exp(ops.sin(x)),))
    swapped = {"sin": ops.cos, "exp": ops.tanh}
    made = transform(function, lambda node, inputs: swapped[node.op.name](*inputs))
    assert made.params == (x,)
    assert made.results == (ops.tanh(ops.cos(x)),)


def test_interpret_needs_every_param(build: Builder):
    x = build.parameter("x", "float32", (2,))
    with pytest.raises(TypeError, match="pass one for each param"):
        interpret(Function((x,), (ops.exp(x),)), {})


def test_verify(build: Builder):
    x = build.parameter("x", "float32", (2,))
    verify(Function((x,), (ops.exp(x),)))
    with pytest.raises(InvalidFunction, match="does not list"):
        verify(Function((), (ops.exp(x),)))
    wrong = Node(ops.exp, (x,), {}, (TensorType(x.dtype, (3,)),), 100, None, build)
    with pytest.raises(InvalidFunction, match="its op gives"):
        verify(Function((x,), wrong.outputs))
    other = Builder().parameter("y", "float32", (2,))
    with pytest.raises(InvalidFunction, match="two builders"):
        verify(Function((x, other), (ops.exp(x), ops.exp(other))))


@pytest.mark.parametrize(
    "array", [np.zeros((0, 3), np.float32), np.array(2.5), np.array([True]), np.arange(3)]
)
def test_literals(array: np.ndarray, build: Builder):
    dtype = build.constant(array).dtype
    literal = Literal.of(array, dtype)
    assert literal == Literal.of(array.copy(), dtype)
    np.testing.assert_array_equal(literal.array, array)
    assert literal.array.shape == array.shape
    assert not literal.array.flags.writeable


def test_alike_nodes_have_the_very_same_types(monkeypatch):
    asked_for = []
    real = builder.result_types
    monkeypatch.setattr(
        builder, "result_types", lambda op, *rest: asked_for.append(op.name) or real(op, *rest)
    )
    build = Builder()
    x, y = (build.parameter(name, "float32", (3, 4)) for name in "xy")
    a, b = (ops.exp(ops.matmul(v, v, transpose_b=True)) for v in (ops.tanh(x), ops.tanh(y)))
    assert a is not b and a.type is b.type
    assert [*map(asked_for.count, ("parameter", "tanh", "exp"))] == [2, 1, 1]


def test_a_type_that_depends_on_an_answer_asks_each_time():
    build, questions = Builder(), []
    x, y = (build.parameter(name, "float32", (symbol("n0"),)) for name in "xy")

    def answer(question) -> bool:
        questions.append(question.about)
        return False

    with answering(answer):
        values = [ops.squeeze(ops.exp(v)) for v in (x, y)]
    assert questions == ["n0 == 1"] * 2 and values[0].type == values[1].type
