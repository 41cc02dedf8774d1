"""Training steps and loops of `tf.contrib.training` and `tf.contrib.slim`: losses are TensorFlow 1.15.5's."""

import threading

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf

slim = tf.contrib.slim
X = np.linspace(-1.0, 1.0, 12).reshape(4, 3).astype("float32")


def model():
    """A loss with a batch normalization, whose updates a step must run."""
    start = tf.constant_initializer([[0.1], [0.2], [0.3]])
    h = slim.batch_norm(tf.constant(X), is_training=True, decay=0.5, scope="bn")
    out = tf.layers.dense(h, 1, kernel_initializer=start, name="d")
    tf.losses.mean_squared_error(tf.constant([[1.0], [0.0], [2.0], [1.0]]), out)
    return tf.losses.get_total_loss()


@pytest.mark.parametrize(
    ("options", "losses"),
    [
        ({}, SLIM_LOSSES := [1.5910665, 1.0827167, 0.83870572]),
        ({"clip_gradient_norm": 0.1}, [1.5910665, 1.5512605, 1.5127839]),
        ({"gradient_multipliers": {"d/bias": 0.0}}, [1.5910665, 1.4351176, 1.4016321]),
    ],
)
def test_create_train_op_of_slim(options, losses):
    train_op = slim.learning.create_train_op(model(), tf.train.GradientDescentOptimizer(0.1), **options)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [float(session.run(train_op)) for _ in range(3)]
        moving = session.run(slim.get_variables_by_name("moving_mean")[0])
        assert session.run(tf.train.get_global_step()) == 3
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    np.testing.assert_allclose(moving, (1 - 0.5**3) * X.mean(0), rtol=1e-5, atol=1e-6)
    assert train_op in tf.get_collection(tf.GraphKeys.TRAIN_OP)


def test_train_of_slim_stops_after_its_steps_and_goes_on_from_its_checkpoint(tmp_path):
    for steps, last in ((3, 2), (5, 4)):
        with tf.Graph().as_default():
            train_op = slim.learning.create_train_op(model(), tf.train.GradientDescentOptimizer(0.1))
            loss = slim.learning.train(train_op, str(tmp_path), number_of_steps=steps, save_summaries_secs=0)
            if steps == 3:
                np.testing.assert_allclose(loss, SLIM_LOSSES[last], rtol=1e-5)
    reader = tf.train.NewCheckpointReader(tf.train.latest_checkpoint(str(tmp_path)))
    assert reader.get_tensor("global_step") == 5


def test_train_of_slim_saves_last_what_it_trained_last(tmp_path):
    """The thread that saves meanwhile has ended by then."""
    trained = threading.Event()

    class Slow(tf.train.Saver):
        def save(self, session, path, global_step=None):
            thread = threading.current_thread()
            if thread is threading.main_thread():
                made = super().save(session, path, global_step)
                trained.set()
                return made
            while not trained.wait(0.01) and not thread._coord.should_stop():
                pass
            return super().save(session, path, 0)

    train_op = slim.learning.create_train_op(model(), tf.train.GradientDescentOptimizer(0.1))
    slim.learning.train(train_op, str(tmp_path), number_of_steps=20, save_summaries_secs=0, saver=Slow())
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-20")


def test_train_of_contrib_stops_by_a_hook():
    train_op = tf.contrib.training.create_train_op(model(), tf.train.GradientDescentOptimizer(0.1))
    hooks = [tf.train.StopAtStepHook(3)]
    loss = tf.contrib.training.train(
        train_op, None, hooks=hooks, save_summaries_steps=None, save_checkpoint_secs=None
    )
    np.testing.assert_allclose(loss, SLIM_LOSSES[2], rtol=1e-5)


def test_mistakes():
    loss, optimizer = model(), tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="no variables"):
        slim.learning.create_train_op(loss, optimizer, variables_to_train=[])
    with pytest.raises(ValueError, match="must be positive"):
        slim.learning.train(slim.learning.create_train_op(loss, optimizer), None, number_of_steps=0)
    with pytest.raises(ValueError, match="no multipliers"):
        slim.learning.multiply_gradients([], {})
    with pytest.raises(ValueError, match="logdir is None"):
        tf.contrib.training.train(loss, None)


def test_contrib_widens_normal_numbers_without_tails():
    layers = tf.contrib.layers
    made = [
        layers.variance_scaling_initializer(seed=1)([3, 4]),
        layers.xavier_initializer(uniform=False, seed=1)([3, 4]),
        layers.variance_scaling_initializer(1.0, "FAN_AVG", True, seed=1)([3, 4]),
    ]
    with tf.Session() as session:
        found = [value.ravel()[:3] for value in session.run(made)]
    wanted = [
        [-0.7552961707115173, 1.3820862770080566, 0.06081833690404892],
        [-0.4944573938846588, 0.9047877788543701, 0.03981494531035423],
        [-0.48320886492729187, 0.7784286737442017, -0.8322892785072327],
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_function_that_clips_norms():
    variable = tf.Variable([0.0, 0.0])
    [(clipped, same)] = tf.contrib.training.clip_gradient_norms_fn(1.0)([(tf.constant([3.0, 4.0]), variable)])
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(clipped), [0.6, 0.8], rtol=1e-6)
    assert same is variable


def test_gradients_are_summarized_under_the_names_of_tensorflow():
    """Summaries of `create_train_op` end otherwise than those of slim's function, as in TensorFlow 1.15.5."""
    with tf.Graph().as_default():
        x = tf.get_variable("s/x", [3])
        loss, descent = tf.reduce_sum(x * x), tf.train.GradientDescentOptimizer(0.1)
        tf.contrib.slim.learning.create_train_op(loss, descent, summarize_gradients=True)
        made = [each.name for each in tf.get_collection(tf.GraphKeys.SUMMARIES)]
        assert made == ["summarize_grads/s/x_gradient:0", "summarize_grads/s/x_gradient_norm:0"]
        made = [each.name for each in tf.contrib.slim.learning.add_gradients_summaries([(x, x)])]
        assert made == ["s/x/gradient:0", "s/x/gradient_norm:0"]


@pytest.mark.parametrize("told", ["[" * 100_000, "[1]", "{"])
def test_text_that_holds_no_hyperparameters(told):
    with pytest.raises(ValueError, match=r"no JSON|takes an object"):
        tf.contrib.training.HParams(a=1).parse_json(told)


def test_an_empty_list_of_updates_leaves_moving_averages_alone():
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_op = tf.contrib.training.create_train_op(model(), optimizer, update_ops=[])
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train_op)
        np.testing.assert_array_equal(session.run(slim.get_variables_by_name("moving_mean")[0]), np.zeros(3))
