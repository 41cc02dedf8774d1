"""None, text, numbers and lists where ordinary functions and classes take something else.

Each is told where it is first used: what was given, what must be, and the user's line.
"""

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf

layers = tf.keras.layers


def loss():
    return sg.reduce_sum(sg.square(sg.Variable([1.0, 2.0])))


def images():
    return sg.zeros([2, 8, 8, 3])


def model():
    made = tf.keras.Sequential([layers.Dense(2, input_shape=(4,))])
    made.compile("sgd", "mse")
    return made


def fit(**given):
    return model().fit(np.zeros((6, 4), np.float32), np.zeros((6, 2), np.float32), verbose=0, **given)


def run_with_options(options):
    return sg.Session().run(sg.constant(1.0), options=options)


numbers = tf.data.Dataset.range(5)
# By what is wrong: the call, which is given None, text, a number or a list, and what is told.
CALLS = {
    "data_format of a layer": (lambda v: layers.Flatten(data_format=v), ["abc", 3, [1]], "data_format"),
    "data_format": (lambda v: tf.layers.conv2d(images(), 2, 3, data_format=v), [None, 3], "data_format is"),
    "padding": (lambda v: layers.Conv2D(2, 3, padding=v)(images()), [None, 3, [1]], "padding is"),
    "padding of windows": (
        lambda v: tf.layers.max_pooling2d(images(), 2, 2, padding=v),
        [None, 3],
        "padding is",
    ),
    "kernel_size": (lambda v: layers.Conv2D(2, v)(images()), [None, len, 1.5], "kernel_size is"),
    "an initializer": (
        lambda v: layers.Dense(2, kernel_initializer=v)(sg.zeros([2, 4])),
        [{"a": 1}, [1, 2], np.zeros(3)],
        "initializer",
    ),
    "a regularizer": (
        lambda v: layers.Dense(2, kernel_regularizer=v)(sg.zeros([2, 4])),
        [{"a": 1}, [1, 2], np.zeros(3)],
        "regularizer",
    ),
    "an activation": (
        lambda v: layers.Dense(2, activation=v)(sg.zeros([2, 4])),
        [{"a": 1}, [1]],
        "activation",
    ),
    "the function of a layer": (layers.Lambda, [None, "abc", 3, [1]], "function is"),
    "the axis of a layer": (
        lambda v: layers.Concatenate(axis=v)([sg.zeros([2, 3]), sg.zeros([2, 3])]),
        [1.5, "a"],
        "axis is",
    ),
    "batch_size": (lambda v: fit(batch_size=v), ["abc", 1.5, [1], -7], "batch_size is"),
    "epochs": (lambda v: fit(epochs=v), [None, "abc", 1.5, [1]], "epochs is"),
    "callbacks": (lambda v: fit(callbacks=v), ["abc", [3], [tf.keras.callbacks.EarlyStopping]], "callback"),
    "a file of weights": (lambda v: model().load_weights(v), [None, [1], 1.5], "filepath is"),
    "a path": (sg.load, [None, [1], 1.5], "path is"),
    "a path to save": (lambda v: sg.save(v, outputs={"y": sg.constant(1.0)}), [None, [1], 1.5], "path is"),
    "a path of a picture": (lambda v: sg.visualize([loss()], v), [[1], 1.5], "path is"),
    "a path of a meta graph": (tf.train.import_meta_graph, [None, [1], 1.5], "meta_graph_or_file is"),
    "a path of a checkpoint": (
        lambda v: tf.train.Saver([sg.Variable(1.0)]).save(sg.Session(), v),
        [None, [1], 1.5],
        "save_path is",
    ),
    "a path of weights": (sg.read_weights, [None, [1], 1.5], "path is"),
    "a folder of checkpoints": (tf.train.latest_checkpoint, [None, [1], 1.5], "checkpoint_dir is"),
    "a folder of events": (tf.summary.FileWriter, [None, [1], 1.5], "logdir is"),
    "a file of records": (tf.python_io.TFRecordWriter, [None, [1], 1.5], "path is"),
    "a file of elements": (numbers.cache, [None, [1], 1.5], "filename is"),
    "the name of a summary": (lambda v: tf.summary.scalar(v, loss()), [3, [1], len], "name is"),
    "collections": (
        lambda v: tf.summary.scalar("a", loss(), collections=v),
        [3, "abc", len],
        "collections is",
    ),
    "collections of a metric": (
        lambda v: tf.metrics.mean([1.0], metrics_collections=v),
        [3, len],
        "collections is",
    ),
    "a number of an optimizer": (
        lambda v: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=v),
        [None, "abc", [1, 2]],
        "l1_regularization_strength is",
    ),
    "the first sum": (
        lambda v: tf.train.AdagradOptimizer(0.1, initial_accumulator_value=v),
        [None, "0.1", [1, 2]],
        "initial_accumulator_value is",
    ),
    "global_step": (
        lambda v: tf.train.GradientDescentOptimizer(0.1).minimize(loss(), global_step=v),
        ["abc", 3, [1]],
        "global_step is",
    ),
    "boundaries": (lambda v: tf.train.piecewise_constant(0, v, [0.1]), [None, 3], "boundaries is"),
    "hooks": (lambda v: tf.train.MonitoredTrainingSession(hooks=v), [3, len], "hooks is"),
    "seconds": (
        lambda v: tf.train.MonitoredTrainingSession(save_summaries_secs=v),
        ["abc", [1, 2]],
        "interval",
    ),
    "options of a run": (run_with_options, ["abc", 3, [1]], "options is"),
    "the session of a saved graph": (
        lambda v: sg.save("a.sg", outputs={"y": sg.constant(1.0)}, session=v),
        ["abc", 3, [1]],
        "session is",
    ),
    "variables": (lambda v: sg.load_weights("a.npz", v), [3, len], "variables is"),
    "a count": (lambda v: numbers.take(v), [None, "abc", 1.5, sg.constant([1, 2])], "whole numbers"),
    "a transformation": (numbers.apply, [None, "abc", 3], "transformation_func is"),
}


@pytest.mark.parametrize("case", CALLS)
def test_the_message_names_the_argument_and_the_line(case):
    call, values, told = CALLS[case]
    for value in values:
        with pytest.raises((TypeError, ValueError)) as caught:
            call(value)
        text = str(caught.value)
        assert told in " ".join(text.split()) and "test_arguments_of_a_wrong_kind.py" in text, (value, text)


def test_a_number_of_numpy_is_one_size_for_all_axes():
    assert layers.Conv2D(2, np.int64(3)).kernel_size == (3, 3)
