"""Derivatives that scripts register by name."""

from collections.abc import Iterator

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.graph import default_derivatives
from staticgraph.differentiation import gradient_functions
from tests.sessions import evaluated


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """Forget what a test has registered after it."""
    tables = gradient_functions.registered, default_derivatives
    before = [table.copy() for table in tables]
    yield
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)


def test_guided_relu():
    """The derivative of each ReLU is cut where it is negative."""

    @sg.RegisterGradient("GuidedRelu")
    def _guided(op: sg.Operation, grad: sg.Tensor) -> sg.Tensor:
        passed = sg.cast(op.outputs[0] > 0, sg.float32)
        return sg.nn.relu(grad) * passed

    x = sg.placeholder(sg.float32, [4], name="x")
    with sg.get_default_graph().gradient_override_map({"Relu": "GuidedRelu"}):
        y = sg.nn.relu(x)
    assert y.name == "Relu:0"
    (grad,) = sg.gradients(y * [1.0, 1.0, -1.0, -1.0], x)
    values, by_x = evaluated([y, grad], {x: [2.0, -2.0, 2.0, -2.0]})
    np.testing.assert_array_equal(values, [2, 0, 2, 0])
    np.testing.assert_array_equal(by_x, [1, 0, 0, 0])


def test_reversed_gradient_and_a_list_as_result():
    @sg.RegisterGradient("Flip")
    def _flip(op: sg.Operation, grad: sg.Tensor) -> list[sg.Tensor]:
        return [sg.negative(grad) * 3.0]

    v = sg.Variable([1.0, 2.0])
    with sg.get_default_graph().gradient_override_map({"Identity": "Flip"}):
        y = sg.identity(v * 2.0)
    train = sg.train.GradientDescentOptimizer(1.0).minimize(sg.reduce_sum(y))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sess.run(train)
        np.testing.assert_array_equal(sess.run(v), [7, 8])


def test_a_function_in_python():
    @sg.RegisterGradient("Cubed")
    def _cubed(op: sg.Operation, grad: sg.Tensor) -> sg.Tensor:
        return 3.0 * sg.square(op.inputs[0]) * grad

    x = sg.placeholder(sg.float32, [2])
    with sg.get_default_graph().gradient_override_map({"PyFunc": "Cubed"}):
        y = sg.py_func(lambda a: a**3, [x], sg.float32)
    y.set_shape([2])
    (grad,) = sg.gradients(y, x)
    np.testing.assert_allclose(evaluated(grad, {x: [2.0, -1.0]}), [12, 3])


def test_inputs_without_a_derivative():
    @sg.RegisterGradient("Second")
    def _second(op: sg.Operation, grad: sg.Tensor) -> tuple[None, sg.Tensor]:
        return None, grad * 10.0

    x, y = sg.placeholder(sg.float32, [2]), sg.placeholder(sg.float32, [2])
    with sg.get_default_graph().gradient_override_map({"Mul": "Second"}):
        z = x * y
    by_x, by_y = sg.gradients(z, [x, y])
    assert by_x is None  # as in TF1
    np.testing.assert_array_equal(evaluated(by_y, {x: [1.0, 2.0], y: [3.0, 4.0]}), [10, 10])


def test_what_is_an_attribute_here_may_have_a_none():
    @sg.RegisterGradient("Halved")
    def _halved(op: sg.Operation, grad: sg.Tensor) -> list[sg.Tensor | None]:
        return [sg.fill(op.inputs[0].shape, grad * 0.5), None]

    x = sg.placeholder(sg.float32, [3])
    with sg.get_default_graph().gradient_override_map({"Sum": "Halved"}):
        y = sg.reduce_sum(x)
    np.testing.assert_array_equal(evaluated(sg.gradients(y, x)[0], {x: [1.0, 2.0, 3.0]}), [0.5, 0.5, 0.5])


def test_inner_maps_add_to_outer_ones():
    sg.RegisterGradient("Twice")(lambda op, grad: grad * 2.0)
    sg.NotDifferentiable("Never")
    x = sg.placeholder(sg.float32, [])
    graph = sg.get_default_graph()
    with graph.gradient_override_map({"Tanh": "Twice", "Exp": "Twice"}):
        with graph.gradient_override_map({"Exp": "Never"}):
            inner = sg.tanh(x) + sg.exp(x)
        outer = sg.exp(x)
    grads = [sg.gradients(y, x)[0] for y in (inner, outer, sg.tanh(x))]
    np.testing.assert_array_equal(evaluated(grads, {x: 0.0}), [2, 2, 1])


def test_an_op_that_has_no_derivative_gets_one():
    sg.RegisterGradient("Round")(lambda op, grad: grad)
    x = sg.placeholder(sg.float32, [])
    assert evaluated(sg.gradients(sg.round(x) * 3.0, x)[0], {x: 0.4}) == 3


def test_second_derivative():
    sg.RegisterGradient("Cube")(lambda op, grad: grad * op.inputs[0] ** 3)
    x = sg.placeholder(sg.float32, [])
    with sg.get_default_graph().gradient_override_map({"Exp": "Cube"}):
        y = sg.exp(x)
    (first,) = sg.gradients(y, x)
    assert evaluated(sg.gradients(first, x)[0], {x: 2.0}) == 12


class TestErrors:
    def test_taken(self):
        sg.RegisterGradient("Mine")(lambda op, grad: grad)
        with pytest.raises(KeyError, match="there is a gradient by the name Mine already"):
            sg.RegisterGradient("Mine")(lambda op, grad: grad)
        with pytest.raises(KeyError, match="Relu already"):
            sg.RegisterGradient("Relu")(lambda op, grad: grad)

    def test_not_registered(self):
        x = sg.placeholder(sg.float32, [1])
        with sg.get_default_graph().gradient_override_map({"Relu": "Nowhere"}):
            y = sg.nn.relu(x)
        assert evaluated(y, {x: [2.0]}) == 2
        with pytest.raises(LookupError, match=r"no gradient is registered as 'Nowhere'.*Relu"):
            sg.gradients(y, x)

    def test_too_few(self):
        sg.RegisterGradient("One")(lambda op, grad: [grad])
        x = sg.ones([2])
        with sg.get_default_graph().gradient_override_map({"Mul": "One"}):
            y = sg.multiply(x, x)
        with pytest.raises(ValueError, match="1 derivatives are given for the 2 inputs"):
            sg.gradients(y, x)

    def test_no_strings(self):
        with pytest.raises(TypeError, match="string"):
            sg.RegisterGradient(3)
        with (
            pytest.raises(TypeError, match="strings to strings"),
            sg.get_default_graph().gradient_override_map({"Relu": 3}),
        ):
            pass


# Derivatives by x [2, 3] and w [3] of operations with the gradient of another type: TensorFlow 1.15.5's.
X, W = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), np.array([0.3, -0.6, 0.2], np.float32)
OF_TYPES = {
    "Round Identity": (lambda x, w: sg.round(x * 3.0) / 3.0, [[1, 1, 1], [1, 1, 1]], None),
    "Floor Identity": (lambda x, w: sg.floor(x), [[1, 1, 1], [1, 1, 1]], None),
    "Sign Tanh": (lambda x, w: sg.sign(x), [[0, 0, 0], [0, 0, 0]], None),
    "Sign Relu": (lambda x, w: sg.sign(x), [[0, 0, 0], [1, 1, 1]], None),
    "Relu Floor": (lambda x, w: sg.nn.relu(x), None, None),
    "Mul Maximum": (lambda x, w: x * w, [[0, 1, 0], [0, 1, 1]], [2, 0, 1]),
    "Mul Add": (lambda x, w: x * w, [[1, 1, 1], [1, 1, 1]], [2, 2, 2]),
}


@pytest.mark.parametrize("names", OF_TYPES)
def test_the_gradient_of_another_type_of_operation(names: str):
    build, by_x, by_w = OF_TYPES[names]
    x, w = sg.placeholder(sg.float32, [None, 3]), sg.placeholder(sg.float32, [3])
    with sg.get_default_graph().gradient_override_map(dict([names.split()])):
        y = build(x, w)
    found = sg.gradients(y, [x, w])
    assert [grad is None for grad in found] == [by_x is None, by_w is None]
    wanted = [d for d in (by_x, by_w) if d is not None]
    for made, known in zip(evaluated([g for g in found if g is not None], {x: X, w: W}), wanted, strict=True):
        np.testing.assert_allclose(made, known, rtol=1e-6)


def test_the_gradient_of_another_type_in_a_loop():
    x = sg.placeholder(sg.float32, [None, 3])

    def body(i: sg.Tensor, value: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        with sg.get_default_graph().gradient_override_map({"Round": "Identity"}):
            return i + 1, sg.round(value * 3.9) / 3.0

    _, y = sg.while_loop(lambda i, _: i < 3, body, [0, x])
    np.testing.assert_allclose(evaluated(sg.gradients(y, x)[0], {x: X}), np.full((2, 3), 1.3**3), rtol=1e-5)


@pytest.mark.parametrize("other", ["Identity", "MatMul"])
def test_the_gradient_of_another_type_with_other_inputs(other: str):
    x = sg.placeholder(sg.float32, [2, 3])
    with sg.get_default_graph().gradient_override_map({"Mul": other}):
        y = x * 2.0
    with pytest.raises(ValueError, match=f"the gradient of {other} does not fit the inputs of mul"):
        sg.gradients(y, x)
