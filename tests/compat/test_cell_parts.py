"""Private names of TensorFlow's files of cells. Numbers are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf

core = tf.contrib.rnn.python.ops.core_rnn_cell
cells = tf.python.ops.rnn_cell_impl


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


def names():
    return [(variable.name, variable.shape.as_list()) for variable in tf.global_variables()]


def test_linear_is_a_product_with_variables_of_the_scope():
    x, y = tf.ones([2, 3]), tf.ones([2, 1])
    with tf.variable_scope("a"):
        made = core._linear([x, y], 2, True, tf.constant_initializer(0.5), tf.ones_initializer())
    with tf.variable_scope("b"):
        alone = core._linear(x, 5, False)
    assert names() == [("a/kernel:0", [4, 2]), ("a/bias:0", [2]), ("b/kernel:0", [3, 5])]
    assert alone.shape.as_list() == [2, 5]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(made).tolist() == [[4.5, 4.5], [4.5, 4.5]]


def test_a_linear_map_makes_its_variables_once():
    x = tf.ones([2, 3])
    with tf.variable_scope("map"):
        map = core._Linear([x, x], 2, True, kernel_initializer=tf.ones_initializer())
    made = map([x, x]), map([2 * x, x])
    assert names() == [("map/kernel:0", [6, 2]), ("map/bias:0", [2])]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(sess.run(made), [np.full([2, 2], 6.0), np.full([2, 2], 9.0)])


@pytest.mark.parametrize("args", [None, []], ids=str)
def test_linear_needs_matrices(args):
    with pytest.raises(ValueError, match="must be specified"):
        core._linear(args, 2, True)


def test_sizes_are_joined():
    assert cells._concat(3, 4, static=True) == [3, 4]
    assert cells._concat(tf.TensorShape([None, 2]), 4, static=True) == [None, 2, 4]
    assert cells._concat(tf.constant([3, 2]), [4], static=True) == [3, 2, 4]
    assert cells._concat(tf.placeholder(tf.int32, []), 4, static=True) is None
    n = tf.placeholder(tf.int32, [])
    with tf.Session() as sess:
        assert sess.run(cells._concat(n, tf.TensorShape([2, 3])), {n: 5}).tolist() == [5, 2, 3]


def test_states_of_zeros():
    made = cells._zero_state_tensors((2, tf.TensorShape([3, 4])), 5, tf.float32)
    assert [each.shape.as_list() for each in made] == [[5, 2], [5, 3, 4]]


def test_what_is_no_cell_is_refused():
    cells.assert_like_rnncell("cell", tf.nn.rnn_cell.GRUCell(2))
    with pytest.raises(TypeError, match="no output_size, state_size, zero_state or get_initial_state"):
        cells.assert_like_rnncell("cell", lambda x, state: (x, state))


def test_a_cell_that_makes_its_variables_in_build():
    class Sum(cells.LayerRNNCell):
        state_size = output_size = 2

        def build(self, shape):
            self.kernel = self.add_variable(cells._WEIGHTS_VARIABLE_NAME, [shape[1].value, 2])
            self.built = True

        def call(self, inputs, state):
            state += tf.matmul(inputs, self.kernel)
            return state, state

    outputs, _ = tf.nn.dynamic_rnn(Sum(name="sum"), tf.ones([1, 4, 3]), dtype=tf.float32)
    assert names() == [("rnn/sum/kernel:0", [3, 2])]
    assert outputs.shape.as_list() == [1, 4, 2]
