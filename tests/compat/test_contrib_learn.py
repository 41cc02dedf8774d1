"""contrib.learn: estimators that take arrays. They learn as those of TensorFlow 1.15.5 did."""

import numpy as np
import pytest

from staticgraph.tf1.compat import tf1 as tf
from staticgraph.tf1.summary import FileWriterCache

pytestmark = pytest.mark.takes_long

learn = tf.contrib.learn
X = np.linspace(-2, 2, 16).astype(np.float32).reshape(8, 2)
SIDE = (X.sum(1) > 0).astype(np.int64)
SUM = X.sum(1)


@pytest.fixture(autouse=True)
def _closed_event_files():
    yield
    FileWriterCache.clear()


def columns():
    return learn.infer_real_valued_columns_from_input(X)


def test_linear_models_learn_as_tensorflow(tmp_path):
    regressor = learn.LinearRegressor(columns(), str(tmp_path / "r")).fit(X, SUM, steps=20)
    np.testing.assert_allclose(list(regressor.predict(X))[:2], [-3.4365258, -2.4546614], rtol=1e-5)
    assert sorted(regressor.evaluate(X, SUM, steps=1)) == ["global_step", "loss"]
    classifier = learn.LinearClassifier(columns(), str(tmp_path / "c")).fit(X, SIDE, steps=20)
    metrics = classifier.evaluate(X, SIDE, steps=1)
    wanted = {
        "loss": 0.1972945,
        "accuracy": 1.0,
        "labels/prediction_mean": 0.5,
        "labels/actual_label_mean": 0.5,
        "accuracy/baseline_label_mean": 0.5,
        "auc": 1.0,
        "auc_precision_recall": 1.0,
        "global_step": 20,
        "accuracy/threshold_0.500000_mean": 1.0,
        "precision/positive_threshold_0.500000_mean": 1.0,
        "recall/positive_threshold_0.500000_mean": 1.0,
    }
    assert set(metrics) == set(wanted)
    for key, value in wanted.items():
        assert abs(float(metrics[key]) - value) < 1e-5, key


def test_a_network(tmp_path):
    net = learn.DNNClassifier(
        [8],
        columns(),
        str(tmp_path),
        n_classes=3,
        config=learn.RunConfig(tf_random_seed=1),
        optimizer=tf.train.AdamOptimizer(0.1),
        gradient_clip_norm=5.0,
    )
    net.fit(X, SIDE + 1, steps=60, batch_size=4)
    assert net.evaluate(X, SIDE + 1)["accuracy"] == 1.0
    assert list(net.predict(X)) == (SIDE + 1).tolist()
    assert net.predict_proba(X, as_iterable=False).shape == (8, 3)
    names = net.get_variable_names()
    assert {"dnn/hiddenlayer_0/weights", "dnn/hiddenlayer_0/biases", "dnn/logits/weights"} <= set(names)


def test_a_network_of_numbers(tmp_path):
    net = learn.DNNRegressor(
        [4], columns(), str(tmp_path), optimizer="Adam", config=learn.RunConfig(tf_random_seed=1)
    )
    before = net.fit(X, SUM, steps=1).evaluate(X, SUM)["loss"]
    assert net.fit(X, SUM, steps=100).evaluate(X, SUM)["loss"] < before / 2
    assert net.predict_scores(X, as_iterable=False).shape == (8,)


def model_fn(features, targets, mode, params):
    y = tf.reshape(tf.contrib.layers.fully_connected(features, 1, activation_fn=None), [-1])
    if mode == learn.ModeKeys.INFER:
        return learn.ModelFnOps(mode, predictions={"y": y, "negative": -y})
    loss = tf.losses.mean_squared_error(targets, y)
    step = tf.contrib.layers.optimize_loss(
        loss, tf.contrib.framework.get_global_step(), params["rate"], "SGD"
    )
    return learn.ModelFnOps(mode, {"y": y}, loss, step)


def test_a_model_of_a_function(tmp_path):
    net = learn.Estimator(model_fn, str(tmp_path), params={"rate": 0.1})
    net.fit(X, SUM, steps=30)
    metric = learn.MetricSpec(tf.metrics.mean_absolute_error, prediction_key="y")
    found = net.evaluate(X, SUM, metrics={"error": metric, "other": tf.metrics.mean_squared_error})
    assert found["error"] < 0.1
    assert abs(found["other"] - found["loss"]) < 1e-6
    assert [sorted(example) for example in net.predict(X, outputs=["y"])] == [["y"]] * 8
    np.testing.assert_allclose(net.predict(X, as_iterable=False)["negative"], -SUM, atol=0.2)


def test_a_function_that_returns_a_triple(tmp_path):
    def triple(x, y):
        w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
        found = tf.reduce_sum(w * x, 1)
        loss = tf.constant(0.0) if y is None else tf.losses.mean_squared_error(y, found)
        step = tf.train.GradientDescentOptimizer(0.1)
        return found, loss, None if y is None else step.minimize(loss, tf.train.get_global_step())

    net = learn.SKCompat(learn.Estimator(lambda features, targets: triple(features, targets), str(tmp_path)))
    assert net.fit(X, SUM, steps=50).score(X, SUM)["loss"] < 0.01
    assert net.predict(X).shape == (8,)


def test_a_function_or_arrays(tmp_path):
    net = learn.LinearRegressor([tf.contrib.layers.real_valued_column("x", 2)], str(tmp_path))
    net.fit(input_fn=lambda: ({"x": tf.constant(X)}, tf.constant(SUM)), steps=20)
    np.testing.assert_allclose(list(net.predict({"x": X}))[:2], [-3.4365258, -2.4546614], rtol=1e-5)
    with pytest.raises(ValueError, match="one of x and input_fn"):
        net.fit()


def test_old_columns():
    layers = tf.contrib.layers
    word = layers.sparse_column_with_keys("word", ["a", "b"])
    age = layers.bucketized_column(layers.real_valued_column("age"), [18.0])
    both = layers.crossed_column([layers.sparse_column_with_hash_bucket("word", 10), age], 100)
    dense = [age, layers.one_hot_column(word), layers.embedding_column(word, 3)]
    features = {"word": tf.constant([["a"], ["b"]]), "age": tf.constant([[3.0], [30.0]])}
    assert layers.input_from_feature_columns(features, dense).shape.as_list() == [2, 7]
    logits, variables, bias = layers.weighted_sum_from_feature_columns(features, [word, both], 2)
    assert logits.shape.as_list() == [2, 2]
    assert {column.name: v[0].shape.as_list() for column, v in variables.items()} == {
        "word": [2, 2],
        "age_bucketized_X_word": [100, 2],
    }
    assert bias.shape.as_list() == [2]
    with pytest.raises(NotImplementedError, match="combiner='mean'"):
        layers.sparse_column_with_keys("word", ["a"], combiner="mean")


def test_an_experiment(tmp_path):
    def experiment_fn(output_dir):
        return learn.Experiment(
            learn.LinearRegressor(columns(), output_dir),
            train_input_fn=lambda: (tf.constant(X), tf.constant(SUM)),
            eval_input_fn=lambda: (tf.constant(X), tf.constant(SUM)),
            train_steps=20,
            eval_steps=1,
            min_eval_frequency=8,
        )

    metrics, exported = learn.learn_runner.run(experiment_fn, str(tmp_path))
    assert (int(metrics["global_step"]), exported) == (20, [])
    assert len(list((tmp_path / "eval").iterdir())) >= 1
    with pytest.raises(ValueError, match="non-existent task fly"):
        learn.learn_runner.run(experiment_fn, str(tmp_path), "fly")


def test_strategies_by_old_parameters(caplog):
    strategies = tf.contrib.distribute
    assert strategies.MirroredStrategy(num_gpus=2).num_replicas_in_sync == 2
    for made in (
        strategies.MirroredStrategy(num_gpus=1),
        strategies.CollectiveAllReduceStrategy(num_gpus_per_worker=2),
        strategies.ParameterServerStrategy(),
    ):
        assert made.num_replicas_in_sync == 1
    assert "one replica instead of 2" in caplog.text
    assert isinstance(made, tf.distribute.experimental.ParameterServerStrategy)


def test_wide_and_deep_models_learn_as_tensorflow(tmp_path):
    wide = learn.DNNLinearCombinedClassifier(str(tmp_path / "c"), linear_feature_columns=columns())
    metrics = wide.fit(X, SIDE, steps=20).evaluate(X, SIDE, steps=1)
    assert abs(float(metrics["loss"]) - 0.1972945) < 1e-6
    sgd = tf.train.GradientDescentOptimizer(0.1)
    regressor = learn.DNNLinearCombinedRegressor(
        str(tmp_path / "r"), linear_feature_columns=columns(), linear_optimizer=sgd
    )
    found = list(regressor.fit(X, SUM, steps=20).predict(X))[:2]
    np.testing.assert_allclose(found, [-3.7333333, -2.6666667], rtol=1e-6)


@pytest.mark.parametrize(("once", "updates"), [(False, 3), (True, 6)])
def test_a_step_of_both_parts_counts_twice(tmp_path, once, updates):
    # As in TensorFlow 1.15, so six steps are three updates unless the program asks for another count.
    made = []

    class Counting(tf.train.GradientDescentOptimizer):
        def apply_gradients(self, *args, **kwargs):
            made.append(tf.get_variable("updates", initializer=0.0, trainable=False).assign_add(1.0))
            with tf.control_dependencies([made[-1]]):
                return super().apply_gradients(*args, **kwargs)

    net = learn.DNNLinearCombinedClassifier(
        str(tmp_path),
        n_classes=3,
        linear_feature_columns=columns(),
        linear_optimizer=Counting(0.1),
        dnn_feature_columns=columns(),
        dnn_hidden_units=[4, 3],
        fix_global_step_increment_bug=once,
    )
    net.fit(X, SIDE, steps=6)
    name = next(name for name in net.get_variable_names() if name.endswith("updates"))
    assert (net.get_variable_value("global_step"), net.get_variable_value(name)) == (6, updates)


@pytest.mark.parametrize("parts", [{}, {"dnn_feature_columns": ["x"]}])
def test_a_combined_model_needs_columns_and_units(tmp_path, parts):
    with pytest.raises(ValueError, match="must be defined"):
        learn.DNNLinearCombinedClassifier(str(tmp_path), **parts)
