"""The witness itself: derivatives against central differences, and the rules of reads and assignments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests.witness import structures, tape
from tests.witness.interpreter import Witness
from tests.witness.meanings import MEANINGS
from tests.witness.tape import Node, leaf
from tests.witness.whole import whole_derivatives

assert structures
M = MEANINGS
NAMES = (
    "square reciprocal sqrt rsqrt exp expm1 log log1p sin cos tan tanh sigmoid atan sinh cosh asinh erf erfc "
    "softplus relu abs elu selu softsign negative identity add_n l2_loss reduce_sum reduce_mean reduce_prod "
    "reduce_max reduce_min euclidean_norm softmax log_softmax matrix_inverse matrix_determinant diag_part"
)
AT = leaf(np.array([2, 0, 2]))
CASES: dict[str, Callable[[Node], Node]] = {name: M[name] for name in NAMES.split()} | {
    "divide": lambda x: M["realdiv"](x, x * x + 1.0),
    "pow": lambda x: M["pow"](x, M["sin"](x)),
    "pow of a number": lambda x: M["pow"](x, leaf(3.0)),
    "atan2": lambda x: M["atan2"](x, x * x),
    "select": lambda x: M["select"](leaf(x.value > 1), x * x, x),
    "maximum": lambda x: M["maximum"](x, x * x),
    "cumsum": lambda x: M["cumsum"](x * x, axis=1, exclusive=True, reverse=True),
    "cumprod": lambda x: M["cumprod"](x, axis=0),
    "cumprod of a zero": lambda x: M["cumprod"](x * leaf(np.array([1.0, 0.0, 1.0])), axis=1),
    "reduce_prod of zeros": lambda x: M["reduce_prod"](x * leaf(np.array([1.0, 0.0, 0.0])), axis=1),
    "matmul": lambda x: M["matmul"](x, x * x, transpose_a=True),
    "einsum": lambda x: M["einsum"](x, x, equation="ab,cb->ac"),
    "diagonal of einsum": lambda x: M["einsum"](x, equation="aa->a"),
    "concat": lambda x: M["concat"](x, x * x, axis=1),
    "pad": lambda x: M["pad"](x * x, [[1, 0], [0, 2]]),
    "tile": lambda x: M["tile"](x * x, [2, 1]),
    "gather": lambda x: M["gather"](x * x, AT, axis=1),
    "gather_nd": lambda x: M["gather_nd"](x * x, leaf(np.array([[0, 1], [0, 1]]))),
    "scatter_nd": lambda x: M["scatter_nd"](leaf(AT.value[:, None]), x * x, [4, 3]),
    "segments": lambda x: M["unsorted_segment_sum"](x * x, AT, 3),
    "products of segments": lambda x: M["unsorted_segment_prod"](x, AT, 3),
    "tensor_scatter_update": lambda x: M["tensor_scatter_update"](
        x * x, leaf(np.array([[1]])), M["slice"](x, [0, 0], [1, 3])
    ),
    "strided_slice": lambda x: M["strided_slice"](x * x, [0, 2], [3, 0], [2, -1]),
    "conv2d": lambda x: M["conv2d"](
        tape.reshape(x, (1, 3, 3, 1)),
        tape.reshape(x, (3, 3, 1, 1)),
        (1, 2, 1, 1),
        "SAME",
        "NHWC",
        (1, 1, 1, 1),
    ),
    "max_pool": lambda x: M["max_pool"](
        tape.reshape(x * x, (1, 3, 3, 1)), (1, 2, 2, 1), (1, 1, 1, 1), "SAME", "NHWC"
    ),
    "avg_pool": lambda x: M["avg_pool"](
        tape.reshape(x * x, (1, 3, 3, 1)), (1, 2, 2, 1), (1, 2, 2, 1), "SAME", "NHWC"
    ),
    "cross entropy": lambda x: M["softmax_cross_entropy"](x, M["softmax"](x * x))[0],
    "tensor array": lambda x: M["tensor_array_write"](x, leaf(1), M["reduce_sum"](x * x, axis=0), number=0),
}


def derivative(f: Callable[[Node], Node]) -> Callable[[Node], Node]:
    """The derivative of a weighted sum of what `f` gives."""

    def of(x: Node) -> Node:
        y = f(x)
        weights = leaf(np.cos(np.arange(y.value.size)).reshape(y.shape))
        found = tape.gradients([y], [weights], [lambda node: node is x])[0]
        return leaf(np.zeros(x.shape)) if found is None else found

    return of


def differences(f: Callable[[Node], Node], x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    out = np.empty(x.shape)
    for at in np.ndindex(x.shape):
        sums = []
        for sign in (1, -1):
            near = x.copy()
            near[at] += sign * step
            y = f(Node(near)).value
            sums.append(np.sum(y * np.cos(np.arange(y.size)).reshape(y.shape)))
        out[at] = (sums[0] - sums[1]) / (2 * step)
    return out


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_differences(name: str):
    f = CASES[name]
    x = np.random.default_rng(3).uniform(0.3, 1.9, (3, 3))
    first = derivative(f)
    np.testing.assert_allclose(first(Node(x)).value, differences(f, x), rtol=1e-5, atol=1e-7)
    second = derivative(first)
    np.testing.assert_allclose(second(Node(x)).value, differences(first, x), rtol=1e-5, atol=1e-7)


def test_a_variable_is_read_at_its_turn():
    """As the documentation says it, step by step."""
    v = sg.get_variable("v", initializer=np.float64(1.0))
    before = v.value()
    first = v.assign_add(10.0)
    between = v.read_value()
    used = v * 2.0
    with sg.control_dependencies([first]):
        second = v.assign(sg.add(v, 100.0))
    witness = Witness(sg.get_default_graph())
    witness.run([sg.global_variables_initializer()])
    found = witness.run([before, first, between, used, second, v, second.op])
    assert [float(n) for n in found[:6]] == [1.0, 11.0, 11.0, 22.0, 111.0, 111.0]
    assert found[6] is None


def test_nothing_flows_through_an_assignment():
    v = sg.get_variable("v", initializer=np.float64(1.0))
    x = sg.placeholder(sg.float64, [], name="x")
    assigned = v.assign(3.0 * x)
    y = x + assigned * assigned
    witness = Witness(sg.get_default_graph())
    witness.run([sg.global_variables_initializer()])
    with whole_derivatives():
        grads = sg.gradients(y, [x, v], unconnected_gradients="zero")
    assert [float(g) for g in witness.run(grads, {x: 2.0})] == [1.0, 12.0]


def test_a_run_that_fails_changes_nothing():
    v = sg.get_variable("v", initializer=np.float64(1.0))
    n = sg.placeholder(sg.int32, [], name="n")
    with sg.control_dependencies([v.assign(5.0)]):
        wrong = sg.gather(sg.constant([1.0, 2.0]), n)
    witness = Witness(sg.get_default_graph())
    witness.run([sg.global_variables_initializer()])
    with pytest.raises(IndexError):
        witness.run([wrong], {n: 7})
    assert float(witness.run([v])[0]) == 1.0


def test_a_loop_reads_and_writes_in_each_round():
    v = sg.get_variable("v", initializer=np.float64(1.0))

    def body(i: Any, seen: Any) -> Any:
        with sg.control_dependencies([v.assign(v * 2.0)]):
            return i + 1, seen + v.read_value()

    _, seen = sg.while_loop(lambda i, seen: i < 3, body, [0, sg.constant(0.0, sg.float64)])
    witness = Witness(sg.get_default_graph())
    witness.run([sg.global_variables_initializer()])
    assert [float(n) for n in witness.run([seen, v])] == [14.0, 8.0]


# What TensorFlow 1.15.5 answers to gradients(gradients(y, x), y, [1, -2, 0.5]) at x = [0.4, 0.7, 1.1].
BY_RESULT: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "tanh": (sg.tanh, [-0.759898, 2.417471, -0.800499]),
    "exp": (sg.exp, [1.0, -2.0, 0.5]),
    "sqrt": (sg.sqrt, [-1.25, 1.428571, -0.227273]),
    "rsqrt": (sg.rsqrt, [-3.75, 4.285714, -0.681818]),
    "reciprocal": (sg.reciprocal, [-5.0, 5.714286, -0.909091]),
    "sigmoid": (sg.sigmoid, [-0.197375, 0.672751, -0.25026]),
    "asinh": (sg.asinh, [-0.344828, 0.939597, -0.248869]),
    "elu": (lambda x: sg.nn.elu(x - 0.9), [1.0, -2.0, 0.0]),
    "selu": (lambda x: sg.nn.selu(x - 0.9), [1.0, -2.0, 0.0]),
    "softmax": (sg.nn.softmax, [0.158777, 0.158777, 0.158777]),
    "log_softmax": (sg.nn.log_softmax, [-0.687504, 1.856066, -0.692231]),
    "softplus": (sg.nn.softplus, 0),
    "log": (sg.log, 0),
    "expm1": (sg.expm1, 0),
    "sinh": (sg.sinh, 0),
    "tan": (sg.tan, 0),
    "erf": (sg.erf, 0),
    "pow": (lambda x: sg.pow(1.5 + 0.0 * x, x), [0.405465, -0.81093, 0.202733]),
    "divide": (lambda x: sg.divide(1.0 + x, x), 0),
    "div_no_nan": (lambda x: sg.div_no_nan(1.0 + x, x), 0),
    "norm": (sg.norm, 0),
    "prod": (sg.reduce_prod, 0),
    "cumprod": (sg.cumprod, 0),
    "logsumexp": (sg.reduce_logsumexp, 0),
    "matrix_inverse": (
        lambda x: sg.matrix_inverse(sg.diag(x)),
        [-5.0, 0.357143, -2.954545, 0.357143, 5.714286, 2.402597, -2.954545, 2.402597, -0.909091],
    ),
}


def again(function: Callable[[Any], Any]) -> Any:
    """The second derivative, by the result of the function."""
    x = sg.constant([0.4, 0.7, 1.1], sg.float64)
    y = function(x)
    first = sg.gradients(y, x)
    weights = sg.constant([1.0, -2.0, 0.5], sg.float64)
    return sg.gradients(first, y, [weights], unconnected_gradients="zero")[0]


@pytest.mark.parametrize("name", BY_RESULT)
def test_a_backward_operation_reads_what_that_of_tensorflow_reads(name: str):
    function, known = BY_RESULT[name]
    with sg.Session() as session:
        np.testing.assert_allclose(np.ravel(session.run(again(function))), known, atol=1e-6)
    with sg.Graph().as_default() as graph, whole_derivatives():
        [found] = Witness(graph).run([again(function)])
    np.testing.assert_allclose(np.ravel(found), known, atol=1e-6)


def test_a_derivative_by_what_a_derivative_is_made_of():
    """The cotangent of y is one tensor, which `gradients` gives for each x that it reaches unchanged."""

    def build() -> list[Any]:
        x = sg.constant([0.5, 2.0, -1.0], sg.float64)
        y = sg.identity(x)
        by_x, by_y = sg.gradients(y, [x, y])
        given = sg.constant([3.0, 4.0, 5.0], sg.float64)
        [weighted] = sg.gradients(y, [y], [sg.sin(given)])
        [same] = sg.gradients(y, [y], [y])
        zeros = {"unconnected_gradients": "zero"}
        return [
            *sg.gradients(by_x, [x, by_y], **zeros),
            *sg.gradients(weighted, [given, y], **zeros),
            *sg.gradients(y, [same], **zeros),
        ]

    wanted = [[0, 0, 0], [1, 1, 1], np.cos([3.0, 4.0, 5.0]), [0, 0, 0], [0, 0, 0]]
    with sg.Graph().as_default() as graph, whole_derivatives():
        np.testing.assert_allclose(Witness(graph).run(build()), wanted)
    with sg.Session() as session:
        np.testing.assert_allclose(session.run(build()), wanted)


def test_a_gradient_of_the_program_that_nothing_reaches():
    """The derivative of y by y does not go through the function that made y."""

    def build() -> list[Any]:
        x = sg.constant([0.5, 2.0], sg.float64)
        y = sg.custom_gradient(lambda x: (sg.identity(x), lambda dy: sg.identity(x)))(x)
        return sg.gradients(sg.gradients(y, [y]), [x], unconnected_gradients="zero") + sg.gradients(y, x)

    wanted = [[0, 0], [0.5, 2.0]]
    with sg.Graph().as_default() as graph, whole_derivatives():
        np.testing.assert_array_equal(Witness(graph).run(build()), wanted)
    with sg.Session() as session:
        np.testing.assert_array_equal(session.run(build()), wanted)
