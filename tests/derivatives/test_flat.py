"""Second derivatives of what is linear between kinks: zeros, as TensorFlow 1.15 gives, and not None."""

import numpy as np
import pytest

import staticgraph as sg

X = np.array([-2.0, -0.0, 0.0, 1.0, 6.0, 7.0], np.float32)
LINEAR = {
    "relu": sg.nn.relu,
    "relu6": sg.nn.relu6,
    "leaky_relu": sg.nn.leaky_relu,
    "crelu": sg.nn.crelu,
    "a loop": lambda x: sg.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, sg.nn.relu(2.0 * y)], [0, x])[
        1
    ],
    "a branch": lambda x: sg.cond(x[0] > 0, lambda: sg.nn.relu(x), lambda: sg.nn.relu6(x)),
}
POOLS = {
    "max_pool": lambda x: sg.nn.max_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
    "max_pool3d": lambda x: sg.nn.max_pool3d(x[..., None], [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME"),
}


def second(y, x):
    (first,) = sg.gradients(y, [x])
    return sg.gradients(first, [x])[0]


@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in LINEAR.items()])
def test_between_kinks_and_at_them(function):
    x = sg.placeholder(sg.float32, [6])
    found = second(function(x), x)
    whole = sg.hessians(sg.reduce_sum(function(x)), x)[0]
    with sg.Session() as session:
        twice, matrix = session.run([found, whole], {x: X})
    assert twice.tolist() == [0.0] * 6
    assert matrix.tolist() == np.zeros([6, 6]).tolist()


@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in POOLS.items()])
def test_of_pools(function):
    x = sg.placeholder(sg.float32, [1, 3, 4, 2])
    found = second(function(x), x)
    assert (
        sg.Session().run(found, {x: np.ones(x.shape.as_list())}).tolist() == np.zeros([1, 3, 4, 2]).tolist()
    )


def test_zeros_add_nothing_to_a_way_that_is_not_flat():
    """The way through the features of ReluGrad makes no operations where another way leads to x."""
    x = sg.placeholder(sg.float32, [6])
    found = second(sg.nn.relu(x) * x, x)
    assert sg.Session().run(found, {x: X}).tolist() == [0.0, 0.0, 0.0, 2.0, 2.0, 2.0]
    assert "ZerosLike" not in {op.type for op in found.graph.get_operations()}


def test_what_has_no_derivative_has_none_all_the_same():
    x = sg.placeholder(sg.float32, [6])
    assert sg.gradients(sg.floor(sg.nn.relu(x)), [x]) == [None]
    assert sg.gradients(sg.gradients(3.0 * x, [x]), [x]) == [None]
    middle = 2.0 * x
    (first,) = sg.gradients(sg.nn.relu(middle), [middle])
    assert sg.gradients(first, [x], stop_gradients=[middle]) == [None]


def test_of_sign_beside_what_is_infinite():
    """As TensorFlow: the derivative of `sign` is zero, whatever cotangent it receives."""
    x = sg.placeholder(sg.float32, [4])
    (found,) = sg.gradients(sg.sign(x) * x, [x])
    assert sg.Session().run(found, {x: [np.inf, -np.inf, np.nan, 2.0]}).tolist() == [1.0, -1.0, 0.0, 1.0]
