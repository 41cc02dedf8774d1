"""Seeds of networks of an estimator: initial weights and dropout are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf

# From TensorFlow 1.15.5: second seeds of the random operations, and the losses of three steps and afterwards.
SEEDS = [30, 54, 99, 123, 168]
LOSSES = {
    "DNNClassifier": ([27.704777, 23.130318, 23.583332], 0.6693281),
    "DNNLinearCombinedClassifier": ([27.704777, 24.471254, 26.59957], 0.7339022),
}


def examples():
    rng = np.random.RandomState(0)
    return {"x": tf.constant(rng.randn(32, 4).astype(np.float32))}, tf.constant(rng.randint(0, 2, (32, 1)))


class Watch(tf.train.SessionRunHook):
    def __init__(self):
        self.seeds, self.losses = [], []

    def begin(self):
        graph = tf.get_default_graph()
        found = [op for op in graph.get_operations() if op.type == "RandomUniform"]
        self.seeds = [op.get_attr("seed2") for op in found]

    def before_run(self, run_context):
        return tf.train.SessionRunArgs([f"{run_context.session.graph.get_collection('losses')[0].name}"])

    def after_run(self, run_context, run_values):
        self.losses += run_values.results


@pytest.mark.takes_long
@pytest.mark.parametrize("name", LOSSES)
def test_dropout_draws_what_tensorflow_draws(name, tmp_path):
    columns = [tf.feature_column.numeric_column("x", (4,))]
    config = tf.estimator.RunConfig(tf_random_seed=7, model_dir=str(tmp_path))
    if name == "DNNClassifier":
        made = tf.estimator.DNNClassifier([8, 4], columns, dropout=0.5, config=config)
    else:
        made = tf.estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=columns, dnn_feature_columns=columns, dnn_hidden_units=[8, 4],
            dnn_dropout=0.5, config=config,
        )  # fmt: skip
    watch = Watch()
    made.train(examples, steps=3, hooks=[watch])
    losses, average = LOSSES[name]
    assert watch.seeds == SEEDS
    np.testing.assert_allclose(watch.losses, losses, rtol=1e-5)
    np.testing.assert_allclose(made.evaluate(examples, steps=1)["average_loss"], average, rtol=1e-5)
