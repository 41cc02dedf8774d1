"""Products in all their forms, equations, and systems of equations."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from tests.ops.meaning import gradients, meaning


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ij -> ji", [(2, 3)]),
        ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 5)]),
        ("abc,cd,bd->a", [(2, 3, 4), (4, 5), (3, 5)]),
        ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]),
        ("i...,i->...", [(2, 3, 4), (2,)]),
    ],
)
def test_einsum_has_the_static_shape_of_numpy(equation, shapes):
    wanted = np.einsum(equation, *(np.zeros(s) for s in shapes)).shape
    assert sg.einsum(equation, *(sg.zeros(s) for s in shapes)).shape.as_list() == list(wanted)


@pytest.mark.parametrize("equation", ["ii->i", "ij,jk->il", "ij", "ij,j->ii"])
def test_einsum_refuses(equation):
    with pytest.raises(ValueError):
        sg.einsum(equation, sg.zeros([2, 2]), sg.zeros([2]))


@pytest.mark.parametrize("axes", [0, 1, 2, [[0, 2], [1, 0]], [[-1], [0]]])
def test_tensordot_pairs_axes_as_numpy_does(axes, rng):
    a, b = rng.normal(size=(4, 3, 3)), rng.normal(size=(3, 3 if axes == 2 else 4, 2))
    if axes == 2:
        b = rng.normal(size=(3, 3, 2))
    made = sg.tensordot(sg.constant(a), sg.constant(b), axes)
    assert made.shape.as_list() == list(np.tensordot(a, b, axes).shape)
    equation = made.op.attrs["equation"]
    np.testing.assert_allclose(
        meaning(lambda a, b: ops.einsum([a, b], equation=equation), a, b), np.tensordot(a, b, axes)
    )


def test_matmul_says_which_sizes_disagree():
    with pytest.raises(sg.errors.ShapeError, match=r"length 784.*length 800"):
        sg.matmul(sg.zeros([32, 784]), sg.zeros([800, 10]))


def test_matmul_names():
    a, b = sg.placeholder(sg.float32, [None, 4]), sg.zeros([4, 3])
    assert [sg.matmul(a, b).op.name, (a @ b).op.name] == ["MatMul", "matmul_1"]
    assert sg.matmul(sg.zeros([2, 3, 4]), sg.zeros([2, 4, 5])).op.type == "BatchMatMulV2"


def positive_definite(rng, n=3):
    x = rng.normal(size=(n, n))
    return x @ x.T + n * np.eye(n)


@pytest.mark.parametrize(
    "function",
    [
        ops.matrix_inverse,
        lambda x: ops.matrix_inverse(x, adjoint=True),
        ops.matrix_determinant,
        lambda x: ops.log_matrix_determinant(x)[1],
        ops.cholesky,
        lambda x: ops.matrix_solve(x, x[:, :2] * x[:, :2]),
        lambda x: ops.matrix_solve(x, x[:, :2] * x[:, :2], adjoint=True),
        lambda x: ops.matrix_triangular_solve(x, x[:, :2] * x[:, :2]),
        lambda x: ops.matrix_triangular_solve(x, x[:, :2] * x[:, :2], lower=False, adjoint=True),
    ],
)
def test_gradients_of_decompositions(function, rng):
    """Along a symmetric direction, for what Cholesky's gradient is by a symmetric matrix."""
    x, direction = positive_definite(rng), positive_definite(rng)
    (by_x,) = gradients(function, x)
    h = 1e-6
    change = meaning(function, x + h * direction).sum() - meaning(function, x - h * direction).sum()
    np.testing.assert_allclose((by_x * direction).sum(), change / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("solve", [sg.linalg.solve, sg.linalg.triangular_solve, sg.linalg.cholesky_solve])
@pytest.mark.parametrize("shapes", [((3, 3), (4, 3, 2)), ((4, 3, 3), (3, 2)), ((2, 1, 3, 3), (4, 3, 1))])
@pytest.mark.parametrize("known", [True, False])
def test_gradients_of_systems_whose_batches_broadcast_are_those_of_repeated_ones(solve, shapes, known, rng):
    arrays = [rng.normal(size=shape) for shape in shapes]
    arrays[0] += 4.0 * np.eye(3)
    batch = np.broadcast_shapes(*(shape[:-2] for shape in shapes))
    a, b = inputs = [
        sg.placeholder(sg.float64, shape if known else [None] * (len(shape) - 2) + list(shape[-2:]))
        for shape in shapes
    ]
    weights = rng.normal(size=(*batch, *shapes[1][-2:]))
    loss = sg.reduce_sum(solve(a, b) * weights)
    repeated = [sg.broadcast_to(x, [*batch, *shape[-2:]]) for x, shape in zip(inputs, shapes, strict=True)]
    wanted = sg.reduce_sum(solve(*repeated) * weights)
    with sg.Session() as sess:
        found, expected = sess.run(
            [sg.gradients(loss, inputs), sg.gradients(wanted, inputs)], dict(zip(inputs, arrays, strict=True))
        )
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-12)
