"""`tf.contrib.opt`: optimizers outside the graph, and what is added to others."""

import sys

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf

opt = tf.contrib.opt


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


class Descent(opt.ExternalOptimizerInterface):
    """Steps down the gradient, kept between bounds."""

    def _minimize(
        self,
        initial_val,
        loss_grad_func,
        equality_funcs,
        equality_grad_funcs,
        inequality_funcs,
        inequality_grad_funcs,
        packed_bounds,
        step_callback,
        optimizer_kwargs,
    ):
        self.seen = [f(initial_val)[0] for f in (*equality_funcs, *inequality_grad_funcs)]
        low, high = np.transpose(packed_bounds)
        vector = initial_val
        for _ in range(optimizer_kwargs["steps"]):
            gradient = loss_grad_func(vector)[1]
            vector = np.clip(vector - 0.25 * gradient, low, high)
            step_callback(vector)
        return vector


def test_variables_are_one_vector_for_the_optimizer():
    matrix, number = tf.Variable([[7.0, 7.0], [7.0, 7.0]]), tf.Variable(3.0)
    unused = tf.Variable([1.0, 2.0])
    scale = tf.placeholder(tf.float32)
    loss = scale * (tf.reduce_sum(tf.square(matrix)) + tf.square(number - 1.0))
    made = Descent(
        loss,
        equalities=[number - 2.0],
        inequalities=[matrix[0, 1]],
        steps=40,
        var_to_bounds={matrix: ([1, None], np.inf)},
    )
    losses, steps = [], []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        made.minimize(
            feed_dict={scale: 1.0}, fetches=[loss], loss_callback=losses.append, step_callback=steps.append
        )
        np.testing.assert_allclose(sess.run(matrix), [[1, 0], [1, 0]], atol=1e-5)
        assert sess.run(number) == pytest.approx(1.0)
        assert sess.run(unused).tolist() == [1.0, 2.0]
    assert made.seen[0] == 1.0
    np.testing.assert_array_equal(made.seen[1], [0, 1, 0, 0, 0, 0, 0])
    assert len(losses) == len(steps) == 40
    assert losses[0] == 4 * 49 + 4
    assert steps[0].shape == (7,)


def test_a_session_is_needed():
    made = Descent(tf.square(tf.Variable(3.0)), steps=1)
    with pytest.raises(ValueError, match="none is the default"):
        made.minimize()


def test_nothing_to_optimize():
    with pytest.raises(ValueError, match="No variables to optimize"):
        Descent(tf.constant(1.0))


def test_the_base_class_has_no_method_of_its_own():
    made = opt.ExternalOptimizerInterface(tf.square(tf.Variable(3.0)))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(NotImplementedError, match="_minimize"):
            made.minimize(sess)


def test_scipy_is_asked_for_where_it_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    made = opt.ScipyOptimizerInterface(tf.square(tf.Variable(3.0)))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(ImportError, match="pip install scipy"):
            made.minimize(sess)


@pytest.mark.parametrize("name", ["bounds", "jac", "constraints", "callback"])
def test_what_the_interface_gives_scipy_itself_is_refused(name):
    made = opt.ScipyOptimizerInterface(tf.square(tf.Variable(3.0)), **{name: None})
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(ValueError, match=name):
            made.minimize(sess)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0, 0]),
        ({"method": "CG"}, [0, 0]),
        ({"options": {"maxiter": 100}}, [0, 0]),
        ({"bounded": ([1, 2], np.inf)}, [1, 2]),
        ({"bounded": (-np.inf, [None, -1.0])}, [0, -1]),
        ({"method": "SLSQP", "constrained": True}, [1, 1]),
    ],
)
def test_scipy_finds_the_least_value(options, expected):
    pytest.importorskip("scipy")
    vector = tf.Variable([7.0, 7.0])
    arguments = {key: options[key] for key in ("method", "options") if key in options}
    if "bounded" in options:
        arguments["var_to_bounds"] = {vector: options["bounded"]}
    if "constrained" in options:
        arguments |= {"equalities": [vector[1] - 1.0], "inequalities": [vector[0] - 1.0]}
    made = opt.ScipyOptimizerInterface(tf.reduce_sum(tf.square(vector)), **arguments)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        made.minimize(sess)
        np.testing.assert_allclose(sess.run(vector), expected, atol=1e-4)


def trained(step, watched, steps=3):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            sess.run(step)
        return sess.run(watched)


def test_weight_decay_comes_before_the_step_and_only_where_it_is_asked_for():
    """The gradient is that of the weights before the decay."""
    w, b = tf.Variable([1.0, -2.0]), tf.Variable([3.0])
    made = opt.MomentumWOptimizer(0.01, 0.1, 0.9)
    step = made.minimize(tf.reduce_sum(w * w) + tf.reduce_sum(b * b), decay_var_list=[w])

    def expected(x, decay):
        x, accumulation = np.float64(x), 0.0
        for _ in range(3):
            accumulation = 0.9 * accumulation + 2 * x
            x = x - decay * x - 0.1 * accumulation
        return x

    found = trained(step, [w, b])
    np.testing.assert_allclose(found[0], expected([1.0, -2.0], 0.01), rtol=1e-5)
    np.testing.assert_allclose(found[1], expected([3.0], 0.0), rtol=1e-5)


def test_weight_decay_of_a_sparse_gradient_touches_its_rows_once():
    w = tf.Variable([[1.0], [2.0], [4.0]])
    extended = opt.extend_with_decoupled_weight_decay(tf.train.GradientDescentOptimizer)
    step = extended(0.5, learning_rate=0.1).minimize(tf.reduce_sum(tf.gather(w, [0, 2, 0])))
    np.testing.assert_allclose(trained(step, w, 1).ravel(), [0.5 - 0.2, 2.0, 2.0 - 0.1], rtol=1e-6)


def test_averages_are_saved_in_place_of_variables(tmp_path):
    w = tf.Variable([8.0], name="w")
    made = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.5), average_decay=0.5)
    with pytest.raises(RuntimeError, match="minimize"):
        made.swapping_saver()
    step = made.minimize(tf.reduce_sum(w * w))
    saver = made.swapping_saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(step)
        path = saver.save(sess, str(tmp_path / "model"))
        assert sess.run(w).tolist() == [0.0]
        tf.train.Saver({"w": w}).restore(sess, path)
        assert sess.run(w).tolist() == [4.0]


def test_a_shard_sums_over_itself():
    w = tf.Variable([8.0])
    made = tf.contrib.tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.25, 0.9))
    assert trained(made.minimize(tf.reduce_sum(w * w)), w, 1).tolist() == [4.0]
    assert made.get_slot_names() == ["momentum"]
    with pytest.raises(ValueError, match="reduction"):
        tf.contrib.tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.25, 0.9), reduction="none")


def test_there_are_no_tpus():
    with pytest.raises(NotImplementedError, match="no TPUs"):
        tf.contrib.cluster_resolver.TPUClusterResolver("name", zone=None, project=None)
