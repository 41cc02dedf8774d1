"""Linear operators beyond what TensorFlow answers: classes of one's own, variables, and what it refuses."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.linear_algebra.operators.base import LinearOperator


class Shift(LinearOperator):
    """A matrix that moves numbers down by one: a class that defines no more than it must."""

    def __init__(self, size):
        self._size = size
        super().__init__(sg.float32, is_square=True, name="shift")

    def _shape(self):
        return sg.TensorShape([self._size, self._size])

    def _shape_tensor(self):
        return sg.constant([self._size, self._size])

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return sg.roll(sg.linalg.adjoint(x) if adjoint_arg else x, -1 if adjoint else 1, axis=-2)


def test_a_class_of_ones_own_has_all_methods():
    shift, moved = Shift(3), np.roll(np.eye(3), 1, axis=0)
    with sg.Session() as sess:
        made = [shift.to_dense(), shift.adjoint().to_dense(), shift.inverse().to_dense(), shift.determinant()]
        dense, adjoint, inverse, determinant = sess.run(made)
        solved, trace = sess.run([shift.solvevec([1.0, 2.0, 3.0]), shift.trace()])
    np.testing.assert_array_equal(dense, moved)
    np.testing.assert_array_equal(adjoint, moved.T)
    np.testing.assert_allclose(inverse, moved.T, atol=1e-6)
    np.testing.assert_allclose([determinant, trace, *solved], [1, 0, 2, 3, 1], atol=1e-6)


def test_a_variable_is_read_whenever_the_operator_is_used():
    scale = sg.Variable([1.0, 2.0])
    operator = sg.linalg.LinearOperatorDiag(scale)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        before = operator.trace()
        sess.run(scale.assign([3.0, 4.0]))
        assert sess.run([before, operator.trace()]) == [7.0, 7.0]
        np.testing.assert_array_equal(sess.run(sg.gradients(operator.determinant(), scale)[0]), [4.0, 3.0])


def test_a_batch_of_diagonals_is_added_to_one_matrix():
    """TensorFlow refuses it, and gives a batch of identities no batch."""
    batch = sg.linalg.LinearOperatorDiag([[1.0, 2.0], [3.0, 4.0]])
    total = sg.Session().run(batch.add_to_tensor(sg.ones([2, 2])))
    np.testing.assert_array_equal(total, [[[2, 1], [1, 3]], [[4, 1], [1, 5]]])
    assert sg.linalg.LinearOperatorIdentity(2, [3]).add_to_tensor(sg.ones([2, 2])).shape.as_list() == [
        3,
        2,
        2,
    ]


def test_a_product_of_matrices_that_are_not_square_has_a_determinant():
    parts = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]]), np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
    operators = [sg.linalg.LinearOperatorFullMatrix(part) for part in parts]
    product = sg.linalg.LinearOperatorComposition(operators, is_square=True)
    found = sg.Session().run([product.determinant(), product.log_abs_determinant()])
    wanted = np.linalg.det(parts[0] @ parts[1])
    np.testing.assert_allclose(found, [wanted, np.log(abs(wanted))])


def test_errors_name_the_operator_and_the_sizes():
    operator = sg.linalg.LinearOperatorDiag([1.0, 2.0], name="scales")
    with pytest.raises(
        ValueError, match=r"scales: x has shape \(3, 4\), and the operator \(2, 2\)[^$]*must be 2"
    ):
        operator.matmul(sg.ones([3, 4]))
    with pytest.raises(TypeError, match=r"scales: x is float64, and the operator is float32[^$]*sg\.cast"):
        operator.matmul(sg.ones([2, 4], sg.float64))
    with pytest.raises(ValueError, match=r"has no Cholesky factor[^$]*is_positive_definite=True"):
        operator.cholesky()
    with pytest.raises(NotImplementedError, match=r"is not square[^$]*sg\.linalg\.lstsq"):
        sg.linalg.LinearOperatorFullMatrix(sg.ones([2, 3])).solve(sg.ones([2, 1]))
