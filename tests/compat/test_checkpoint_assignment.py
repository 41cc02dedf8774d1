"""`tf.contrib.framework`: variables set from a checkpoint."""

import pytest

import staticgraph.compat.tf1 as tf

framework = tf.contrib.framework


@pytest.fixture
def path(tmp_path):
    tf.reset_default_graph()
    w = tf.get_variable("w", initializer=[1.0, 2.0])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        saved = tf.train.Saver([w]).save(sess, str(tmp_path / "model"))
    tf.reset_default_graph()
    return saved


def test_an_operation_and_what_to_feed(path):
    w, b = tf.get_variable("w", [2]), tf.get_variable("b", initializer=[3.0])
    step, feeds = framework.assign_from_checkpoint(path, [w, b], ignore_missing_vars=True)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(step, feeds)
        assert [value.tolist() for value in sess.run([w, b])] == [[1.0, 2.0], [3.0]]
    with pytest.raises(tf.errors.NotFoundError, match="'b'"):
        framework.assign_from_checkpoint(path, [w, b])
    with pytest.raises(ValueError, match="shape"):
        framework.assign_from_checkpoint(path, {"w": b})
    with pytest.raises(ValueError, match="empty"):
        framework.assign_from_checkpoint(path, [])


def test_a_function_of_a_session(path):
    square, b = tf.get_variable("square", [1, 2]), tf.get_variable("b", initializer=[3.0])
    restore = tf.contrib.slim.assign_from_checkpoint_fn(
        path, {"w": square, "b": b}, ignore_missing_vars=True, reshape_variables=True
    )
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        restore(sess)
        assert [value.tolist() for value in sess.run([square, b])] == [[[1.0, 2.0]], [3.0]]
    assert tf.contrib.slim.assign_from_checkpoint_fn(path, [b], ignore_missing_vars=True) is None
