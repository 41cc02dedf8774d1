"""Layers of feature columns in `tf.keras`: values, names of variables, models built from dicts."""

import numpy as np

from tests.golden.cases.feature_columns import (
    bucketized,
    evaluated,
    features,
    hashed,
    listed,
    numbered,
    numeric,
)
from tests.golden.cases.sequence_columns import features as steps_of
from tests.golden.runner import answer, error


def fc(tf):
    return tf.feature_column


def embedded(tf, column, **options):
    return fc(tf).embedding_column(column, 2, initializer=numbered, **options)


def some(tf):
    return [numeric(tf), bucketized(tf), embedded(tf, listed(tf)), fc(tf).indicator_column(hashed(tf))]


def layer(tf, columns):
    return tf.keras.layers.DenseFeatures(columns)(features(tf))


def sequence(tf, *columns):
    return tf.keras.experimental.SequenceFeatures(list(columns))(steps_of(tf))


def ids(tf):
    return fc(tf).sequence_categorical_column_with_identity("id", 3)


def variables(tf):
    made = tf.keras.layers.DenseFeatures(some(tf))
    made(features(tf))
    made(features(tf))
    return [made.name, [v.name for v in made.trainable_weights], [v.name for v in tf.global_variables()]]


def frozen(tf):
    made = tf.keras.layers.DenseFeatures([embedded(tf, listed(tf), trainable=False)], name="columns")
    made(features(tf))
    return [[v.name for v in made.weights], [v.name for v in made.trainable_weights]]


ROWS = {"x": np.array([0.5, -1.0, 2.0, 0.25], np.float32), "word": np.array(["a", "b", "zz", "a"])}
TARGETS = np.array([1.0, 0.0, 2.0, 0.5], np.float32)


def trained(tf, data):
    """A model that is built from features by names when it first sees them."""
    model = tf.keras.Sequential([
        tf.keras.layers.DenseFeatures([numeric(tf), embedded(tf, hashed(tf))]),
        tf.keras.layers.Dense(1, kernel_initializer="ones"),
    ])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    with tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        return data(tf, model)


def by_arrays(tf, model):
    model.fit(ROWS, TARGETS, batch_size=2, epochs=3, shuffle=False, verbose=0)
    return [np.round(w, 4).tolist() for w in model.get_weights()]


def by_dataset(tf, model):
    rows = tf.data.Dataset.from_tensor_slices((ROWS, TARGETS)).batch(2)
    model.fit(rows, epochs=3, verbose=0)
    return [np.round(w, 4).tolist() for w in model.get_weights()]


def between(tf):
    inputs = {"x": tf.keras.Input([1], name="x"), "word": tf.keras.Input([1], name="word", dtype=tf.string)}
    out = tf.keras.layers.Dense(1, kernel_initializer="ones")(
        tf.keras.layers.DenseFeatures([numeric(tf), embedded(tf, listed(tf))])(inputs))
    return [out.shape.as_list(), [v.name for v in tf.global_variables()]]


def rates(tf, kind, **options):
    schedule = getattr(tf.keras.experimental, kind)(0.5, 10, **options)
    with tf.Session() as sess:
        return [round(float(sess.run(schedule(tf.constant(step)))), 5) for step in (0, 3, 10, 25)]


def again(tf, columns, custom_objects=None):
    """A layer of the config of another one: classes of columns, values, and some of the config."""
    first = tf.keras.layers.DenseFeatures(columns, name="columns", trainable=False)
    config = first.get_config()
    made = tf.keras.layers.DenseFeatures.from_config(config, custom_objects)
    kinds = [each["class_name"] for each in config["feature_columns"]]
    return [made.name, made.trainable, sorted(config), kinds, config["feature_columns"][0]["config"]["key"],
            evaluated(tf, made(features(tf)))]  # fmt: skip


def doubled(x):
    return 2.0 * x


def configured(tf):
    x = fc(tf).numeric_column("pair", shape=2, normalizer_fn=doubled, dtype=tf.float64)
    counts = fc(tf).indicator_column(listed(tf))
    return again(tf, [x, counts], {"doubled": doubled})


CASES = [
    answer("DenseFeatures of a config", configured),
    answer("DenseFeatures", lambda tf: evaluated(tf, layer(tf, some(tf)))),
    answer("DenseFeatures of one column", lambda tf: evaluated(tf, layer(tf, numeric(tf)))),
    answer("variables of DenseFeatures", variables),
    answer("variables that are not trained", frozen),
    answer("DenseFeatures trained by arrays", lambda tf: trained(tf, by_arrays)),
    answer("DenseFeatures trained by a dataset", lambda tf: trained(tf, by_dataset)),
    answer("DenseFeatures between inputs and outputs", between),
    answer("SequenceFeatures", lambda tf: evaluated(tf, *sequence(
        tf, fc(tf).sequence_numeric_column("heat"), embedded(tf, ids(tf))))),
    answer("SequenceFeatures of pairs", lambda tf: evaluated(tf, *sequence(
        tf, fc(tf).sequence_numeric_column("heat", shape=2)))),
    answer("variables of SequenceFeatures", lambda tf: [
        sequence(tf, embedded(tf, ids(tf)), fc(tf).sequence_numeric_column("heat")) and None,
        [v.name for v in tf.global_variables()]]),
    answer("CosineDecay", lambda tf: rates(tf, "CosineDecay", alpha=0.1)),
    answer("CosineDecayRestarts", lambda tf: rates(tf, "CosineDecayRestarts", t_mul=1.5, m_mul=0.5)),
    answer("LinearCosineDecay", lambda tf: rates(tf, "LinearCosineDecay", num_periods=2.0)),
    answer("config of CosineDecay", lambda tf: tf.keras.experimental.CosineDecay(0.5, 10).get_config()),
    error("DenseFeatures of a categorical column", lambda tf: tf.keras.layers.DenseFeatures([listed(tf)])),
    error("DenseFeatures of no columns", lambda tf: tf.keras.layers.DenseFeatures([])),
    error("DenseFeatures of an array",
          lambda tf: tf.keras.layers.DenseFeatures(numeric(tf))(tf.zeros([2, 1]))),
    error("SequenceFeatures of dense columns", lambda tf: sequence(tf, numeric(tf))),
    error("DenseFeatures of sequences", lambda tf: tf.keras.layers.DenseFeatures(
        embedded(tf, ids(tf)))(steps_of(tf))),
]
