"""Nested lists that hold tensors are operands wherever arrays are, as in TensorFlow 1.15."""

import numpy as np
import pytest

import staticgraph as sg

# Each takes a whole number of value 1 and a real one of value 2.
CALLS = {
    "tensor_scatter_add": (lambda i, f: sg.tensor_scatter_add(sg.zeros([2, 1]), [[i]], [[f]]), [[0], [2]]),
    "scatter_nd": (lambda i, f: sg.scatter_nd([[i]], [[f, 3.0]], [2, 2]), [[0, 0], [2, 3]]),
    "gather": (lambda i, f: sg.gather([5, 6], [[i, 0]]), [[6, 5]]),
    "gather_nd": (lambda i, f: sg.gather_nd([[1, 2], [3, 4]], [[i, 0]]), [3]),
    "one_hot": (lambda i, f: sg.one_hot([[i], [0]], 2), [[[0, 1]], [[1, 0]]]),
    "matrix_diag": (lambda i, f: sg.matrix_diag([[f, 1.0]]), [[[2, 0], [0, 1]]]),
    "cholesky": (lambda i, f: sg.cholesky([[4.0, 0.0], [0.0, f * f]]), [[2, 0], [0, 2]]),
    "matrix_inverse": (lambda i, f: sg.matrix_inverse([[f, 0.0], [0.0, 1.0]]), [[0.5, 0], [0, 1]]),
    "in_top_k": (lambda i, f: sg.nn.in_top_k([[f, 1.0, 3.0]], [i], 2), [False]),
    "softmax": (lambda i, f: sg.nn.softmax([[f, 2.0]]), [[0.5, 0.5]]),
    "concat": (lambda i, f: sg.concat([[[f, 1.0]], [[0.0, f]]], 0), [[2, 1], [0, 2]]),
    "squeeze": (lambda i, f: sg.squeeze([[f]]), 2),
    "reverse_sequence": (lambda i, f: sg.reverse_sequence([[f, 1.0]], [i + 1], seq_axis=1), [[1, 2]]),
}


@pytest.mark.parametrize("name", CALLS)
def test_nested_lists_of_tensors_and_numbers(name):
    call, wanted = CALLS[name]
    with sg.Session() as session:
        i, f = sg.placeholder(sg.int32, []), sg.placeholder(sg.float32, [])
        np.testing.assert_allclose(session.run(call(i, f), {i: 1, f: 2.0}), wanted, rtol=1e-6)


def test_a_variable_in_a_nested_list_gives_its_dtype():
    with sg.Session() as session:
        v = sg.Variable(np.float64(2.0))
        made = sg.matrix_inverse([[v, 0.0], [0.0, 1.0]])
        session.run(sg.global_variables_initializer())
        assert made.dtype == sg.float64
        np.testing.assert_allclose(session.run(made), [[0.5, 0], [0, 1]])
