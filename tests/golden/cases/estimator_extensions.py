"""Estimators made of others, early stopping, evaluation in the middle of a training."""

import glob
import os
import shutil
import tempfile

from tests.golden.cases.estimators import X, columns, inputs, learned, rounded, texts
from tests.golden.runner import answer, error

Y = (2.0 * X + 1.0).astype("float32")


def regressor(tf, folder=None, **options):
    return tf.estimator.LinearRegressor(columns(tf)[:1], folder, **options)


def with_metric(tf, add, *names):
    """An estimator with a metric more, that takes `names`."""

    def metric(labels, predictions):
        return {"worst": tf.metrics.mean_absolute_error(labels, predictions["predictions"])}

    def weighed(features, labels, predictions, config):
        del config
        return {"average_loss": tf.metrics.mean(labels - predictions["predictions"] + features["x"])}

    return lambda folder: add(regressor(tf, folder), weighed if names else metric)


def clipped(tf):
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    return lambda folder: regressor(
        tf, folder, optimizer=tf.contrib.estimator.clip_gradients_by_norm(optimizer, 0.25)
    )


def in_a_folder(use):
    folder = tempfile.mkdtemp()
    try:
        return use(folder)
    finally:
        shutil.rmtree(folder)


def forwarded(tf, keys):
    def use(folder):
        made = tf.contrib.estimator.forward_features(regressor(tf, folder), keys)
        made.train(inputs(tf, Y, None), steps=2)
        return [{k: texts(rounded(p[k])) for k in sorted(p)} for p in made.predict(inputs(tf))][:3]

    return in_a_folder(use)


def stopped(tf, name, *arguments, **options):
    """The step at which each of five trainings of two steps ends, with evaluations between them."""

    def use(folder):
        made = regressor(tf, folder, optimizer=tf.train.GradientDescentOptimizer(0.05))
        ends = []
        for _ in range(5):
            hook = getattr(tf.estimator.experimental, name)(
                made, *arguments, run_every_secs=None, run_every_steps=1, **options
            )
            made.train(inputs(tf, Y, None), hooks=[hook], steps=2)
            made.evaluate(inputs(tf, Y))
            ends.append(int(made.get_variable_value("global_step")))
        return [ends, [each for each in made.get_variable_names() if "stop" in each]]

    return in_a_folder(use)


def in_memory(tf, **options):
    """The steps and losses that a hook writes while an estimator trains."""

    def use(folder):
        made = regressor(tf, folder, optimizer=tf.train.GradientDescentOptimizer(0.05))

        def rows():
            return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(4)

        hook = tf.estimator.experimental.InMemoryEvaluatorHook(made, rows, **options)
        made.train(inputs(tf, Y, None), hooks=[hook], steps=5)
        tf.summary.FileWriterCache.clear()
        read = tf.summary.summary_iterator if hasattr(tf, "messages") else tf.train.summary_iterator
        found = []
        for path in sorted(glob.glob(os.path.join(folder, "eval*", "*tfevents*"))):
            for event in read(path):
                found += [[os.path.basename(os.path.dirname(path)), event.step, each.tag,
                           round(each.simple_value, 3)]
                          for each in sorted(event.summary.value, key=lambda v: v.tag)
                          if each.HasField("simple_value")]  # fmt: skip
        return found

    return in_a_folder(use)


def asks(tf, **options):
    return tf.estimator.experimental.make_early_stopping_hook(regressor(tf), lambda: True, **options)


CASES = [
    answer("add_metrics", lambda tf: learned(tf, with_metric(tf, tf.estimator.add_metrics), Y)),
    answer("add_metrics of contrib that replaces one",
           lambda tf: learned(tf, with_metric(tf, tf.contrib.estimator.add_metrics, "all"), Y)),
    answer("clip_gradients_by_norm", lambda tf: learned(tf, clipped(tf), Y)),
    answer("forward_features", lambda tf: forwarded(tf, "z")),
    answer("forward_features of two", lambda tf: forwarded(tf, ["z", "w"])),
    answer("forward_features of all", lambda tf: forwarded(tf, None)),
    answer("stop_if_lower", lambda tf: stopped(tf, "stop_if_lower_hook", "average_loss", 100.0)),
    answer("stop_if_lower not yet", lambda tf: stopped(tf, "stop_if_lower_hook", "average_loss", -1.0)),
    answer("stop_if_higher later", lambda tf: stopped(
        tf, "stop_if_higher_hook", "average_loss", 0.0, min_steps=7)),
    answer("stop_if_no_increase", lambda tf: stopped(tf, "stop_if_no_increase_hook", "loss", 4)),
    answer("stop_if_no_decrease", lambda tf: stopped(tf, "stop_if_no_decrease_hook", "loss", 1)),
    answer("InMemoryEvaluatorHook", lambda tf: in_memory(tf, every_n_iter=2)),
    answer("InMemoryEvaluatorHook with a name", lambda tf: in_memory(tf, steps=1, name="few")),
    error("add_metrics of another argument",
          lambda tf: tf.estimator.add_metrics(regressor(tf), lambda labels, more: {})),
    error("forward_features by a number", lambda tf: tf.contrib.estimator.forward_features(regressor(tf), 3)),
    error("forward_features by numbers",
          lambda tf: tf.contrib.estimator.forward_features(regressor(tf), [3])),
    error("forward_features of none", lambda tf: forwarded(tf, "nothing")),
    error("two intervals", lambda tf: asks(tf, run_every_steps=3)),
    error("no interval", lambda tf: asks(tf, run_every_secs=None)),
    error("early stopping of no estimator",
          lambda tf: tf.estimator.experimental.make_early_stopping_hook(3, lambda: True)),
    error("no function to ask", lambda tf: tf.estimator.experimental.make_early_stopping_hook(
        regressor(tf), True)),
    error("an evaluation every 0 steps", lambda tf: in_memory(tf, every_n_iter=0)),
]
