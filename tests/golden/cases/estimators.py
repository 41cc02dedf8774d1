"""Estimators: what they learn, their metrics and predictions, and the names of their variables."""

import glob
import os
import shutil
import tempfile

import numpy as np

from tests.golden.runner import answer, error

X = np.linspace(-2.0, 2.0, 8).astype(np.float32)
Z = np.array([["a"], ["b"], ["a"], ["c"], ["b"], ["a"], ["c"], ["b"]])
SIDE = (X > 0).astype(np.int64)
WEIGHTS = np.array([1, 2, 0, 1, 3, 1, 1, 2], np.float32)


def rounded(value):
    value = np.asarray(value)
    return (
        (np.round(value.astype(np.float64), 3) + 0.0).tolist() if value.dtype.kind == "f" else value.tolist()
    )


def texts(value):
    """Strings as text: JSON has no bytes."""
    if isinstance(value, list):
        return [texts(v) for v in value]
    return value.decode() if isinstance(value, bytes) else value


def inputs(tf, y=None, epochs=1, batch=4):
    data = {"x": X, "z": Z, "w": WEIGHTS}
    return tf.estimator.inputs.numpy_input_fn(data, y, batch, num_epochs=epochs, shuffle=False)


def columns(tf):
    x = tf.feature_column.numeric_column("x")
    return [
        x,
        tf.feature_column.bucketized_column(x, [-1.0, 0.0, 1.0]),
        tf.feature_column.categorical_column_with_vocabulary_list("z", ["a", "b", "c"]),
    ]


def learned(tf, make, y, steps=20, slots=False):
    """Train an estimator in a folder of its own; everything that can be known of it then."""
    folder = tempfile.mkdtemp()
    try:
        estimator = make(folder)
        estimator.train(inputs(tf, y, None), steps=steps)
        metrics = estimator.evaluate(inputs(tf, y))
        predictions = list(estimator.predict(inputs(tf)))
        names = [
            n
            for n in estimator.get_variable_names()
            if slots or not n.split("/")[-1].startswith(("Ftrl", "Ada"))
        ]
        return {
            "metrics": {key: rounded(metrics[key]) for key in sorted(metrics)},
            "predictions": [{k: texts(rounded(p[k])) for k in sorted(p)} for p in predictions[::3]],
            "dtypes": {key: str(predictions[0][key].dtype) for key in sorted(predictions[0])},
            "variables": {name: rounded(estimator.get_variable_value(name)) for name in names},
            "checkpoint": os.path.basename(estimator.latest_checkpoint()),
        }
    finally:
        shutil.rmtree(folder)


def linear_classifier(tf, **options):
    return lambda folder: tf.estimator.LinearClassifier(columns(tf), folder, **options)


def linear_regressor(tf, **options):
    return lambda folder: tf.estimator.LinearRegressor(columns(tf), folder, **options)


def combined(tf, kind, **options):
    return lambda folder: kind(folder, linear_feature_columns=columns(tf), **options)


def model_fn(features, labels, mode, params, tf):
    """A line, with everything in its specification."""
    w = tf.get_variable("w", [], initializer=tf.constant_initializer(params["begin"]))
    b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
    y = w * features["x"] + b
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y, "double": 2.0 * y})
    loss = tf.losses.mean_squared_error(labels, y)
    metrics = {"rmse": tf.metrics.root_mean_squared_error(labels, y)}
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, y, loss, step, metrics)


def line(tf, folder=None, **options):
    def build(features, labels, mode, params):
        return model_fn(features, labels, mode, params, tf)

    return tf.estimator.Estimator(build, folder, params={"begin": 0.5}, **options)


def in_folder(run):
    """A case that has a folder for its files."""

    def build(tf):
        folder = tempfile.mkdtemp()
        try:
            return run(tf, folder)
        finally:
            shutil.rmtree(folder)

    return build


def restarted(tf, folder):
    """Training that goes on where it ended, in steps and in all."""
    found = []
    for options in ({"steps": 3}, {"steps": 2}, {"max_steps": 4}, {"max_steps": 8}):
        made = line(tf, folder).train(inputs(tf, 3 * X, None), **options)
        found.append([int(made.get_variable_value("global_step")), rounded(made.get_variable_value("w"))])
    return found


def to_the_end(tf, folder):
    """Training until the input ends; a last batch that is smaller."""
    made = line(tf, folder).train(inputs(tf, 3 * X, 2, batch=5))
    return [int(made.get_variable_value("global_step")), rounded(made.get_variable_value("w"))]


def datasets(tf, folder):
    """Inputs that are datasets, of the modes that they are called with."""
    modes = []

    def input_fn(mode, params):
        modes.append([mode, sorted(params)])
        return tf.data.Dataset.from_tensor_slices(({"x": X}, 3 * X)).repeat(2).batch(4)

    made = line(tf, folder).train(input_fn)
    metrics = made.evaluate(input_fn, steps=3, name="part")
    found = list(
        made.predict(lambda: tf.data.Dataset.from_tensor_slices({"x": X}).batch(3), predict_keys="y")
    )
    kept = sorted(os.path.basename(p) for p in glob.glob(folder + "/eval*"))
    return [modes, {k: rounded(metrics[k]) for k in sorted(metrics)}, [rounded(p["y"]) for p in found], kept]


def whole_batches(tf, folder):
    made = line(tf, folder).train(inputs(tf, 3 * X), steps=1)
    found = made.predict(inputs(tf, batch=5), yield_single_examples=False)
    return [rounded(batch["double"]) for batch in found]


def train_and_evaluate(tf, folder):
    config = tf.estimator.RunConfig(folder, save_checkpoints_steps=3, keep_checkpoint_max=2)
    made = line(tf, config=config)
    result, exports = tf.estimator.train_and_evaluate(
        made,
        tf.estimator.TrainSpec(inputs(tf, 3 * X, None), max_steps=7),
        tf.estimator.EvalSpec(inputs(tf, 3 * X), steps=None, throttle_secs=0),
    )
    with open(os.path.join(folder, "checkpoint")) as file:
        state = file.read().splitlines()
    return [{k: rounded(result[k]) for k in sorted(result)}, len(exports), state]


def calls(tf, folder):
    """The order in which hooks are called."""
    said = []

    class Hook(tf.train.SessionRunHook):
        def begin(self):
            said.append("begin")

        def after_create_session(self, session, coord):
            said.append("created")

        def after_run(self, run_context, run_values):
            said.append("run")

        def end(self, session):
            said.append("end")

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            said.append("saved %d" % global_step_value)

    made = line(tf, folder)
    made.train(inputs(tf, 3 * X, None), [Hook()], steps=2, saving_listeners=[Listener()])
    made.evaluate(inputs(tf, 3 * X), hooks=[Hook()], steps=1)
    list(made.predict(inputs(tf), hooks=[Hook()]))
    return said


def warm_started(tf, folder):
    line(tf, folder).train(inputs(tf, 3 * X, None), steps=4)
    second = line(tf, os.path.join(folder, "second"), warm_start_from=folder)
    return [rounded(p["y"]) for p in second.predict(inputs(tf))][:2]


def settings(tf):
    config = tf.estimator.RunConfig("some/folder", save_checkpoints_steps=5)
    other = config.replace(save_checkpoints_secs=7, tf_random_seed=3)
    names = (
        "model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps",
        "save_checkpoints_secs", "keep_checkpoint_max", "keep_checkpoint_every_n_hours",
        "log_step_count_steps", "task_type", "task_id", "is_chief", "num_ps_replicas", "num_worker_replicas",
        "master", "evaluation_master", "global_id_in_cluster", "session_creation_timeout_secs",
    )
    return [[getattr(c, name) for name in names] for c in (tf.estimator.RunConfig(), config, other)]


def batches(tf, x, y=None, **options):
    """The batches of an input, with the first of a dict's."""
    made = tf.estimator.inputs.numpy_input_fn(x, y, shuffle=False, **options)()
    with tf.train.MonitoredSession() as sess:
        found = []
        while not sess.should_stop() and len(found) < 6:
            found.append(sess.run(made))
    return [
        [rounded(f) if not isinstance(f, dict) else {k: rounded(f[k]) for k in sorted(f)} for f in each]
        if isinstance(each, tuple) else rounded(each["x"] if isinstance(each, dict) else each)
        for each in found
    ]


def spec(tf, mode="infer", **parts):
    return tf.estimator.EstimatorSpec(mode, **parts)


def returned(tf, made):
    """An estimator whose model function returns `made`."""
    return tf.estimator.Estimator(lambda features, labels, mode: made, "x").train(inputs(tf, X))


CASES = [
    answer("LinearClassifier", lambda tf: learned(tf, linear_classifier(tf), SIDE)),
    answer("LinearClassifier of words", lambda tf: learned(
        tf, linear_classifier(tf, n_classes=3, label_vocabulary=["a", "b", "c"]), Z
    )),
    answer("LinearClassifier of 3", lambda tf: learned(tf, linear_classifier(tf, n_classes=3), SIDE + 1)),
    answer("LinearClassifier with weights", lambda tf: (
        learned(tf, linear_classifier(tf, weight_column="w"), SIDE)
    )),
    answer("LinearClassifier, mean, SGD", lambda tf: learned(tf, linear_classifier(
        tf, loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE, optimizer="SGD", sparse_combiner="mean"
    ), SIDE)),
    answer("LinearClassifier, Adam", lambda tf: learned(
        tf, linear_classifier(tf, optimizer=lambda: tf.train.AdamOptimizer(0.1)), SIDE
    )),
    answer("LinearRegressor", lambda tf: learned(tf, linear_regressor(tf), 2 * X + 1)),
    answer("LinearRegressor of 2", lambda tf: learned(
        tf, linear_regressor(tf, label_dimension=2), np.stack([X, 1 - X], 1)
    )),
    answer("LinearRegressor with weights", lambda tf: (
        learned(tf, linear_regressor(tf, weight_column="w"), X * X)
    )),
    answer("BaselineClassifier", lambda tf: learned(
        tf, lambda folder: tf.estimator.BaselineClassifier(folder, n_classes=3), SIDE + 1
    )),
    answer("BaselineRegressor", lambda tf: (
        learned(tf, lambda folder: tf.estimator.BaselineRegressor(folder), X + 1)
    )),
    answer("DNNLinearCombinedRegressor without a network", lambda tf: learned(
        tf, combined(tf, tf.estimator.DNNLinearCombinedRegressor), X
    )),
    answer("DNNLinearCombinedClassifier without a network", lambda tf: learned(
        tf, combined(tf, tf.estimator.DNNLinearCombinedClassifier, linear_optimizer="Adagrad"), SIDE
    )),
    answer("Estimator, to the end", in_folder(to_the_end)),
    answer("Estimator, restarted", in_folder(restarted)),
    answer("Estimator, datasets", in_folder(datasets)),
    answer("Estimator, whole batches", in_folder(whole_batches)),
    answer("Estimator, hooks", in_folder(calls)),
    answer("Estimator, warm start", in_folder(warm_started)),
    answer("train_and_evaluate", in_folder(train_and_evaluate)),
    answer("RunConfig", settings),
    answer("numpy_input_fn", lambda tf: batches(tf, {"x": X, "z": X}, SIDE, batch_size=3, num_epochs=2)),
    answer("numpy_input_fn without end", lambda tf: batches(tf, {"x": X}, batch_size=5, num_epochs=None)),
    answer("numpy_input_fn of an array", lambda tf: batches(tf, X, SIDE, batch_size=6)),
    answer("numpy_input_fn with labels in a dict", lambda tf: (
        batches(tf, {"x": X}, {"p": X, "q": SIDE}, batch_size=8)
    )),
    answer("parsing", lambda tf: [
        [key, list(found.shape), found.dtype.name]
        for key, found in sorted(tf.estimator.regressor_parse_example_spec(
            columns(tf)[:2], "y", label_dimension=2, weight_column="w"
        ).items())
    ]),
    error("both limits", lambda tf: line(tf, "x").train(inputs(tf, X), steps=1, max_steps=1)),
    error("no steps", lambda tf: line(tf, "x").train(inputs(tf, X), steps=0)),
    error("hooks of another kind", lambda tf: line(tf, "x").train(inputs(tf, X), hooks=["x"], steps=1)),
    error("no model_fn", lambda tf: tf.estimator.Estimator(None, "x")),
    error("model_fn without features", lambda tf: tf.estimator.Estimator(lambda labels: 0, "x")),
    error("model_fn with others", lambda tf: (
        tf.estimator.Estimator(lambda features, labels, mode, extra: 0, "x")
    )),
    error("params that nobody takes", lambda tf: (
        tf.estimator.Estimator(lambda features: 0, "x", params={"a": 1})
    )),
    error("no specification", lambda tf: returned(tf, None)),
    error("two folders", lambda tf: tf.estimator.Estimator(
        lambda features: 0, "x", config=tf.estimator.RunConfig("y")
    )),
    error("config of another kind", lambda tf: tf.estimator.Estimator(lambda features: 0, "x", config={})),
    error("values of no variable", lambda tf: line(tf, "x").get_variable_value("w")),
    error("shuffle is not said", lambda tf: tf.estimator.inputs.numpy_input_fn({"x": X})),
    error("other lengths", lambda tf: tf.estimator.inputs.numpy_input_fn({"x": X}, X[:3], shuffle=False)()),
    error("input of a list", lambda tf: tf.estimator.inputs.numpy_input_fn([X], shuffle=False)()),
    error("both intervals", lambda tf: (
        tf.estimator.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1)
    )),
    error("a negative interval", lambda tf: tf.estimator.RunConfig(save_checkpoints_steps=-1)),
    error("an unknown setting", lambda tf: tf.estimator.RunConfig().replace(nothing=1)),
    error("a seed of another kind", lambda tf: tf.estimator.RunConfig(tf_random_seed=1.5)),
    error("no predictions", lambda tf: spec(tf)),
    error("no loss", lambda tf: spec(tf, "eval", predictions=tf.zeros([2]))),
    error("no training step", lambda tf: spec(tf, "train", loss=tf.constant(1.0))),
    error("a loss of two", lambda tf: spec(tf, "eval", loss=tf.zeros([2]))),
    error("metrics of another kind", lambda tf: (
        spec(tf, "eval", loss=tf.constant(1.0), eval_metric_ops={"a": 1})
    )),
    error("outputs of another kind", lambda tf: spec(tf, predictions=tf.zeros([2]), export_outputs={"a": 1})),
    error("predictions of another kind", lambda tf: spec(tf, predictions={"a": 1})),
    error("a classifier of floats", lambda tf: learned(tf, linear_classifier(tf, n_classes=3), X)),
    error("labels of two", lambda tf: learned(tf, linear_classifier(tf), np.stack([SIDE, SIDE], 1))),
    error("labels outside", lambda tf: learned(tf, linear_classifier(tf), SIDE + 1)),
    error("a vocabulary of another size", lambda tf: learned(
        tf, linear_classifier(tf, n_classes=4, label_vocabulary=["a"]), Z
    )),
    error("an unknown optimizer", lambda tf: learned(tf, linear_classifier(tf, optimizer="Newton"), SIDE)),
    error("no columns", lambda tf: tf.estimator.DNNLinearCombinedRegressor()),
    error("EvalSpec, no input", lambda tf: tf.estimator.EvalSpec(3)),
    error("TrainSpec, no steps", lambda tf: tf.estimator.TrainSpec(lambda: 0, max_steps=0)),
    error("train_and_evaluate without specifications", lambda tf: (
        tf.estimator.train_and_evaluate(line(tf, "x"), 1, 2)
    )),
]
