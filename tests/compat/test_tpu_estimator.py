"""TPUEstimator on a machine without TPUs."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import UnimplementedError
from staticgraph.tf1.compat import tf1 as tf
from staticgraph.tf1.summary import FileWriterCache

tpu = tf.contrib.tpu
X = np.float32([0.0, 1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def _closed_event_files():
    yield
    FileWriterCache.clear()


def model_fn(features, labels, mode, params):
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    y = w * features
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tpu.TPUEstimatorSpec(mode, predictions={"y": y})
    loss = tf.losses.mean_squared_error(labels, y)
    optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(params["rate"]))

    def metric_fn(labels, y):
        return {"size": tf.metrics.mean(tf.size(labels)), "error": tf.metrics.mean_absolute_error(labels, y)}

    def host_fn(step):
        params["said"].append(step.name)
        return [tf.assign_add(tf.get_variable("calls", [], tf.int64, tf.zeros_initializer()), 1)]

    return tpu.TPUEstimatorSpec(
        mode,
        loss=loss,
        train_op=optimizer.minimize(loss, tf.train.get_global_step()),
        eval_metrics=(metric_fn, [labels, y]),
        host_call=(host_fn, {"step": tf.train.get_global_step()}),
    )


def input_fn(params):
    examples = tf.data.Dataset.from_tensor_slices((X, 2 * X)).repeat(4)
    return examples.batch(params["batch_size"], drop_remainder=True)


def made(folder, use_tpu=False, **params):
    config = tpu.RunConfig(
        model_dir=str(folder),
        save_checkpoints_steps=100,
        tpu_config=tpu.TPUConfig(iterations_per_loop=5),
        log_step_count_steps=2,
    )
    return tpu.TPUEstimator(
        model_fn,
        config=config,
        params={"rate": 0.1, "said": [], **params},
        use_tpu=use_tpu,
        train_batch_size=4,
        eval_batch_size=2,
        predict_batch_size=3,
    )


def test_functions_are_told_the_size_of_their_batches(tmp_path, caplog):
    net = made(tmp_path)
    with caplog.at_level("INFO", "tensorflow"):
        net.train(input_fn)
    metrics = net.evaluate(input_fn, steps=2)
    assert metrics["global_step"] == 4
    assert metrics["size"] == 2
    found = list(net.predict(input_fn))
    assert len(found) == 15
    assert float(found[1]["y"]) > 1.5
    assert net.get_variable_value("calls") == 4
    assert "examples/sec: " in caplog.text


def test_settings_of_tpus_are_kept(tmp_path):
    config = made(tmp_path).config
    assert config.tpu_config.iterations_per_loop == 5
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs) == (100, None)
    assert config.replace(save_checkpoints_secs=9).tpu_config is config.tpu_config


def test_a_tpu_is_refused_when_it_is_used(tmp_path):
    with pytest.raises(UnimplementedError, match="use_tpu=False"):
        made(tmp_path, use_tpu=True).train(input_fn)


def test_params_of_the_estimator_are_reserved(tmp_path):
    with pytest.raises(ValueError, match="reserved"):
        made(tmp_path, batch_size=3)


def test_an_input_without_params_is_refused(tmp_path):
    with pytest.raises(ValueError, match="does not include params argument"):
        made(tmp_path).train(lambda: sg.data.Dataset.from_tensors(X))
