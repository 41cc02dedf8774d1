"""Estimators from end to end: files, logs, exports, and what does not depend on TensorFlow's answers."""

import glob
import os

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compat import tf1
from staticgraph.compiler.graph.errors import InvalidArgumentError, UnimplementedError
from staticgraph.tf1.estimator.heads import classifier_head
from staticgraph.tf1.summary import FileWriterCache

pytestmark = pytest.mark.takes_long

X = np.float32([[0.0], [1.0], [2.0], [3.0]])
MAKE = sg.estimator.inputs.numpy_input_fn


@pytest.fixture(autouse=True)
def _closed_event_files():
    yield
    FileWriterCache.clear()


def line(features, labels, mode, params):
    """A line that is learned."""
    w = sg.get_variable("w", [], initializer=sg.constant_initializer(params["begin"]))
    y = w * features["x"]
    if mode == sg.estimator.ModeKeys.PREDICT:
        outputs = {"line": sg.estimator.export.PredictOutput({"y": y})}
        return sg.estimator.EstimatorSpec(mode, {"y": y}, export_outputs=outputs)
    loss = sg.losses.mean_squared_error(labels, y)
    sg.summary.scalar("slope", w)
    step = sg.train.GradientDescentOptimizer(0.05).minimize(loss, sg.train.get_global_step())
    metrics = {"error": sg.metrics.mean_absolute_error(labels, y)}
    return sg.estimator.EstimatorSpec(mode, y, loss, step, metrics)


def made(folder, **options):
    return sg.estimator.Estimator(line, str(folder), params={"begin": 1.0}, **options)


def data(epochs=None, y=True):
    return MAKE({"x": X}, 2 * X if y else None, 4, num_epochs=epochs, shuffle=False)


def tags(folder):
    """The tags of the summaries in a folder's event files."""
    FileWriterCache.clear()
    paths = glob.glob(os.path.join(folder, "*tfevents*"))
    events = (event for path in paths for event in sg.summary.summary_iterator(path))
    return {value.tag for event in events for value in event.summary.value}


def test_training_writes_checkpoints_and_summaries(tmp_path):
    config = sg.estimator.RunConfig(
        save_checkpoints_steps=2, keep_checkpoint_max=2, log_step_count_steps=2, save_summary_steps=1
    )
    net = made(tmp_path, config=config).train(data(), steps=6)
    assert sorted(p.name for p in tmp_path.glob("model.ckpt*"))[0].startswith("model.ckpt-4")
    assert net.latest_checkpoint() == str(tmp_path / "model.ckpt-6")
    assert {"loss", "slope", "global_step/sec"} <= tags(tmp_path)
    net.evaluate(data(1), name="test")
    assert {"loss", "error", "checkpoint_path"} <= tags(net.eval_dir("test"))


def test_training_says_what_it_does(tmp_path, caplog):
    with caplog.at_level("INFO", "tensorflow"):
        made(tmp_path).train(data(), steps=1).evaluate(data(1), steps=1)
    said = "\n".join(caplog.messages)
    for text in (
        "Using config: {",
        "Calling model_fn.",
        "Saving checkpoints for 0 into",
        "loss = ",
        "Loss for final step: ",
        "Evaluation [1/1]",
        "Saving dict for global step 1: error = ",
    ):
        assert text in said


def test_an_input_without_examples_is_a_warning(tmp_path, caplog):
    made(tmp_path).train(lambda: sg.data.Dataset.from_tensor_slices(({"x": X}, X)).take(0))
    assert "made no steps" in caplog.text


def test_the_seed_decides_the_variables(tmp_path):
    def model_fn(features, labels, mode):
        y = sg.layers.dense(features["x"], 3)
        return sg.estimator.EstimatorSpec(mode, y)

    def predicted(seed):
        config = sg.estimator.RunConfig(str(tmp_path), tf_random_seed=seed)
        net = sg.estimator.Estimator(model_fn, config=config)
        return np.array(list(net.predict(data(1, y=False))))

    np.testing.assert_array_equal(predicted(7), predicted(7))
    assert (predicted(7) != predicted(8)).any()


def test_predictions_are_computed_as_they_are_asked_for(tmp_path):
    graph = sg.get_default_graph()
    found = made(tmp_path).predict(data(y=False))
    first = next(found)
    assert sg.get_default_graph() is graph  # and not that of the predictions
    assert [float(next(found)["y"][0]) for _ in range(5)] == [1.0, 2.0, 3.0, 0.0, 1.0]
    assert float(first["y"][0]) == 0.0


def test_nan_stops_training(tmp_path):
    def model_fn(features, labels, mode):
        loss = sg.reduce_mean(sg.log(features["x"] - 1.0))
        return sg.estimator.EstimatorSpec(mode, loss=loss, train_op=sg.train.get_global_step().assign_add(1))

    with pytest.raises(sg.train.NanLossDuringTrainingError):
        sg.estimator.Estimator(model_fn, str(tmp_path)).train(data(), steps=3)


@pytest.mark.parametrize("is_parsing", [False, True])
def test_an_exported_model_predicts_the_same(tmp_path, is_parsing):
    net = made(tmp_path / "net").train(data(), steps=20)
    if is_parsing:
        spec = {"x": sg.io.FixedLenFeature([1], sg.float32)}
        receive = sg.estimator.export.build_parsing_serving_input_receiver_fn(spec)
        feature = sg.messages.example.Feature(float_list={"value": [3.0]})
        fed = [sg.messages.example.Example(features={"feature": {"x": feature}}).SerializeToString()]
        fed = {"examples": fed}
    else:
        receive = sg.estimator.export.build_raw_serving_input_receiver_fn({"x": sg.constant([[1.0]])})
        fed = {"x": [[3.0]]}
    (tmp_path / "words.txt").write_text("a\n")
    extra = {"words.txt": str(tmp_path / "words.txt")}
    folder = net.export_saved_model(str(tmp_path / "export"), receive, assets_extra=extra).decode()
    loaded = sg.load(os.path.join(folder, "serving_default.sg"))
    wanted = list(net.predict(data(1, y=False)))[3]["y"]
    np.testing.assert_allclose(loaded(**fed)["y"][0], wanted, rtol=1e-6)
    files = ["assets.extra", "line.sg", "saved_model.pb", "serving_default.sg", "variables"]
    assert sorted(os.listdir(folder)) == files
    predict = tf1.contrib.predictor.from_saved_model(folder)
    np.testing.assert_allclose(predict(fed)["y"][0], wanted, rtol=1e-6)


def test_a_model_that_was_not_trained_is_not_exported(tmp_path):
    receive = sg.estimator.export.build_raw_serving_input_receiver_fn({"x": sg.constant([[1.0]])})
    with pytest.raises(ValueError, match="find trained model"):
        made(tmp_path).export_saved_model(str(tmp_path), receive)


def test_exporters(tmp_path):
    receive = sg.estimator.export.build_raw_serving_input_receiver_fn({"x": sg.constant([[1.0]])})
    exporters = [
        sg.estimator.LatestExporter("latest", receive, exports_to_keep=2),
        sg.estimator.FinalExporter("final", receive),
        sg.estimator.BestExporter("best", receive),
        sg.estimator.BestExporter(
            "worst", receive, compare_fn=lambda best_eval_result, current_eval_result: False
        ),
    ]
    net = made(tmp_path, config=sg.estimator.RunConfig(save_checkpoints_steps=2))
    metrics, exported = sg.estimator.train_and_evaluate(
        net,
        sg.estimator.TrainSpec(data(), max_steps=6),
        sg.estimator.EvalSpec(data(1), steps=None, exporters=exporters, throttle_secs=0),
    )
    counts = {path.name: len(list(path.iterdir())) for path in (tmp_path / "export").iterdir()}
    assert counts == {"latest": 2, "final": 1, "best": 3, "worst": 1}
    assert metrics["global_step"] == 6
    assert [folder is not None for folder in exported] == [True, True, True, False]


def test_one_of_two_checkpoints_is_evaluated(tmp_path):
    config = sg.estimator.RunConfig(save_checkpoints_steps=1, keep_checkpoint_max=9)
    net = made(tmp_path, config=config).train(data(), steps=3)
    found = [net.evaluate(data(1), checkpoint_path=f"{tmp_path}/model.ckpt-{step}") for step in (1, 3)]
    assert [int(f["global_step"]) for f in found] == [1, 3]
    assert found[0]["loss"] > found[1]["loss"]


def test_warm_start_of_some_variables(tmp_path):
    made(tmp_path / "one").train(data(), steps=30)

    def model_fn(features, labels, mode):
        old = sg.get_variable("w", [])
        new = sg.get_variable("v", [], initializer=sg.zeros_initializer())
        return sg.estimator.EstimatorSpec(mode, {"w": old * features["x"], "v": new * features["x"]})

    settings = sg.estimator.WarmStartSettings(str(tmp_path / "one"), vars_to_warm_start="w")
    net = sg.estimator.Estimator(model_fn, str(tmp_path / "two"), warm_start_from=settings)
    found = list(net.predict(data(1, y=False)))[1]
    assert abs(float(found["w"][0]) - 2.0) < 0.1
    assert float(found["v"][0]) == 0.0


def test_a_network_learns_exclusive_or(tmp_path):
    corners = np.float32([[0, 0], [0, 1], [1, 0], [1, 1]])
    answers = np.array([0, 1, 1, 0])
    column = sg.feature_column.numeric_column("corner", 2)
    net = sg.estimator.DNNClassifier(
        [16, 16],
        [column],
        str(tmp_path),
        optimizer=lambda: sg.train.AdamOptimizer(0.03),
        config=sg.estimator.RunConfig(tf_random_seed=1),
    )
    net.train(MAKE({"corner": corners}, answers, 4, num_epochs=None, shuffle=True), steps=150)
    assert net.evaluate(MAKE({"corner": corners}, answers, shuffle=False))["accuracy"] == 1.0
    found = list(net.predict(MAKE({"corner": corners}, shuffle=False)))
    assert [int(f["class_ids"][0]) for f in found] == answers.tolist()
    assert "dnn/hiddenlayer_0/kernel" in net.get_variable_names()


def test_wide_and_deep_from_files(tmp_path):
    """Examples in a file, parsed by the columns' own specification."""
    word = sg.feature_column.categorical_column_with_vocabulary_list("word", ["yes", "no"])
    size = sg.feature_column.numeric_column("size")
    columns = [word, size]
    spec = sg.estimator.classifier_parse_example_spec(columns, "label")
    path = str(tmp_path / "examples")
    feature = sg.messages.example.Feature
    with sg.io.TFRecordWriter(path) as writer:
        for number in range(20):
            kept = {
                "word": feature(bytes_list={"value": [b"yes" if number % 2 else b"no"]}),
                "size": feature(float_list={"value": [number / 20]}),
                "label": feature(int64_list={"value": [number % 2]}),
            }
            writer.write(sg.messages.example.Example(features={"feature": kept}).SerializeToString())

    def input_fn(times=40):
        examples = sg.data.TFRecordDataset(path).repeat(times).batch(10)

        def parse(batch):
            features = sg.io.parse_example(batch, spec)
            return features, features.pop("label")

        return examples.map(parse)

    net = sg.estimator.DNNLinearCombinedClassifier(
        str(tmp_path / "net"),
        [word],
        "Adam",
        [size, sg.feature_column.embedding_column(word, 2)],
        "Adagrad",
        [4],
        config=sg.estimator.RunConfig(tf_random_seed=3),
    )
    for _ in range(2):
        net.train(input_fn)
    assert net.evaluate(lambda: input_fn(1))["accuracy"] > 0.9


def test_labels_outside_are_told_while_running(tmp_path):
    net = sg.estimator.LinearClassifier([sg.feature_column.numeric_column("x")], str(tmp_path))
    with pytest.raises(InvalidArgumentError, match="a label is not from 0 to 1"):
        net.train(MAKE({"x": X}, np.array([0, 1, 2, 0]), shuffle=False))


def test_a_cluster_is_refused(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:1"]}}')
    with pytest.raises(UnimplementedError, match="2 tasks"):
        sg.estimator.RunConfig()


def test_a_config_does_not_change():
    config = sg.estimator.RunConfig("here")
    with pytest.raises(AttributeError, match=r"config.replace\(model_dir=...\)"):
        config.model_dir = "there"
    assert config.model_dir == "here"


class Frame:
    """As much of a pandas DataFrame as an input needs."""

    def __init__(self, **columns):
        self._columns = {name: Series(values) for name, values in columns.items()}
        self.columns = list(columns)
        self.index = np.arange(len(next(iter(columns.values()))))

    def copy(self):
        return self

    def __contains__(self, name):
        return name in self._columns

    def __getitem__(self, name):
        return self._columns[name]


class Series:
    """A column of a `Frame`."""

    def __init__(self, values):
        self._values = np.asarray(values)
        self.index = np.arange(len(self._values))

    def to_numpy(self):
        return self._values


def test_frames_are_inputs():
    frame = Frame(size=[1.0, 2.0, 3.0], word=["a", "b", "c"])
    make = sg.estimator.inputs.pandas_input_fn
    features, labels = make(frame, Series([1, 0, 1]), batch_size=2, shuffle=False)()
    with sg.Session() as sess:
        found, answers = sess.run([features, labels])
    assert found["word"].tolist() == [b"a", b"b"]
    assert answers.tolist() == [1, 0]
    with pytest.raises(ValueError, match="has a column of that name"):
        make(Frame(target=[1.0]), Series([1]), shuffle=False)
    with pytest.raises(ValueError, match="mismatched"):
        make(frame, Series([1, 0]), shuffle=False)


def test_shuffled_inputs_have_every_example_in_each_epoch():
    batch = MAKE({"x": np.arange(10)}, batch_size=5, num_epochs=2, shuffle=True)()["x"]
    with sg.Session() as sess:
        epochs = [np.concatenate([sess.run(batch), sess.run(batch)]) for _ in range(2)]
    assert [sorted(epoch.tolist()) for epoch in epochs] == [list(range(10))] * 2
    assert epochs[0].tolist() != epochs[1].tolist()


@pytest.mark.parametrize("reduction", ["sum_over_batch_size", sg.losses.Reduction.SUM_OVER_BATCH_SIZE])
def test_heads_of_models_of_ones_own(reduction):
    features = {"x": sg.constant(X), "weight": sg.constant([1.0, 0.0, 2.0, 1.0])}
    head = sg.estimator.BinaryClassHead("weight", [0.25], loss_reduction=reduction, name="side")
    logits = features["x"] - 1.5
    labels = sg.constant([0, 0, 1, 1])
    spec = head.create_estimator_spec(features, sg.estimator.ModeKeys.EVAL, logits, labels)
    metrics = {name: metric[1] for name, metric in spec.eval_metric_ops.items()}
    with sg.Session() as sess:
        sess.run(sg.local_variables_initializer())
        loss, found = sess.run([spec.loss, metrics])
    each = np.log1p(np.exp(-np.abs(X[:, 0] - 1.5)))
    np.testing.assert_allclose(loss, (each * [1, 0, 2, 1]).sum() / 4, rtol=1e-5)
    assert found["accuracy/side"] == 1.0
    assert found["precision/positive_threshold_0.25/side"] == 1.0  # the example that is wrong has no weight


def test_the_area_under_precision_and_recall_is_that_of_the_head():
    """Values of TensorFlow 1.15.5: heads interpolate, those of canned classifiers do not."""
    rng = np.random.RandomState(0)
    labels, logits, weights = rng.randint(0, 2, (12, 1)), rng.randn(12, 1), rng.rand(12, 1)

    def area(head):
        spec = head.create_estimator_spec(
            {"w": sg.constant(weights.astype(np.float32))},
            sg.estimator.ModeKeys.EVAL,
            sg.constant(logits.astype(np.float32)),
            labels=sg.constant(labels),
        )
        value, update = spec.eval_metric_ops["auc_precision_recall"]
        with sg.Session() as sess:
            sess.run(sg.local_variables_initializer())
            sess.run(update)
            return sess.run(value)

    assert area(sg.estimator.BinaryClassHead("w")) == pytest.approx(0.754299, abs=2e-6)
    assert area(classifier_head(2, "w", None, "weighted_sum")) == pytest.approx(0.752168, abs=2e-6)
