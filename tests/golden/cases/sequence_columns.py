"""Feature columns of sequences: steps, their numbers, names of variables, errors."""

import numpy as np

from tests.golden.cases.feature_columns import evaluated, numbered
from tests.golden.runner import answer, error

AT = [[0, 0], [0, 1], [0, 2], [2, 0], [2, 1]]
CUBES = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [2, 3, 1]]


def fc(tf):
    return tf.feature_column


def sequence(tf, values, at=AT, shape=(4, 4)):
    return tf.SparseTensor(indices=at, values=values, dense_shape=list(shape))


def features(tf):
    return {
        "id": sequence(tf, np.array([1, 0, 2, 2, 1], np.int64)),
        "word": sequence(tf, ["a", "b", "zz", "a", "q"]),
        "heat": sequence(tf, np.array([0.5, -1.0, 2.0, 3.0, 7.0], np.float32)),
        "words": sequence(tf, ["a", "b", "zz", "a", "b"], CUBES, (3, 4, 2)),
        "cube": sequence(tf, np.arange(5, dtype=np.float32), CUBES, (3, 4, 2)),
    }


def numeric(tf, key, **options):
    return tf.contrib.feature_column.sequence_numeric_column(key, **options)


def ids(tf):
    return fc(tf).sequence_categorical_column_with_identity("id", 3)


def words(tf, key="word", **options):
    return fc(tf).sequence_categorical_column_with_vocabulary_list(key, ["a", "b", "zz"], **options)


def embedded(tf, column, **options):
    return fc(tf).embedding_column(column, 2, initializer=numbered, **options)


def steps(tf, *columns):
    return tf.contrib.feature_column.sequence_input_layer(features(tf), list(columns))


LAYERS = {
    "embedding": lambda tf: steps(tf, embedded(tf, ids(tf))),
    "indicator": lambda tf: steps(tf, fc(tf).indicator_column(words(tf))),
    "indicator with buckets": lambda tf: steps(tf, fc(tf).indicator_column(words(tf, num_oov_buckets=2))),
    "hashed": lambda tf: steps(tf, fc(tf).indicator_column(
        fc(tf).sequence_categorical_column_with_hash_bucket("word", 4))),
    "numbers": lambda tf: steps(tf, numeric(tf, "heat")),
    "numbers with a default": lambda tf: steps(tf, numeric(tf, "heat", default_value=-9.0)),
    "numbers of pairs": lambda tf: steps(tf, numeric(tf, "heat", shape=2)),
    "numbers of matrices": lambda tf: steps(tf, numeric(tf, "heat", shape=[1, 2])),
    "normalized numbers": lambda tf: steps(tf, numeric(tf,
        "heat", normalizer_fn=lambda x: tf.sparse.reshape(x, [2, 8]))),
    "several": lambda tf: steps(tf, numeric(tf, "heat"), embedded(tf, ids(tf)),
                                fc(tf).indicator_column(words(tf))),
    "words of steps": lambda tf: steps(tf, embedded(tf, words(tf, "words"))),
    "sums of words of steps": lambda tf: steps(tf, embedded(tf, words(tf, "words"), combiner="sum")),
    "counts of words of steps": lambda tf: steps(tf, fc(tf).indicator_column(words(tf, "words"))),
    "numbers of a cube": lambda tf: steps(tf, numeric(tf, "cube", shape=2)),
    "shared": lambda tf: steps(tf, *fc(tf).shared_embedding_columns(
        [ids(tf), fc(tf).sequence_categorical_column_with_identity("ids", 3)], 2, initializer=numbered)[:1]),
}


def names(tf):
    steps(tf, embedded(tf, ids(tf)), fc(tf).indicator_column(words(tf)))
    return [v.name for v in tf.global_variables()]


CASES = [
    [answer("steps: " + name, lambda tf, build=build: evaluated(tf, *build(tf)))
     for name, build in LAYERS.items()],
    answer("names of variables of steps", names),
    answer("features of sequences to parse", lambda tf: {
        key: type(value).__name__ for key, value in fc(tf).make_parse_example_spec(
            [numeric(tf, "heat"), embedded(tf, ids(tf))]).items()}),
    answer("types of steps", lambda tf: [t.dtype.name for t in steps(
        tf, numeric(tf, "heat"), embedded(tf, ids(tf)))]),
    error("one row of a sequence", lambda tf: fc(tf).input_layer(features(tf), [embedded(tf, ids(tf))])),
    error("one count of a sequence",
          lambda tf: fc(tf).input_layer(features(tf), [fc(tf).indicator_column(ids(tf))])),
    error("steps of no sequence", lambda tf: steps(tf, embedded(
        tf, fc(tf).categorical_column_with_identity("id", 3)))),
    error("steps of a categorical column", lambda tf: steps(tf, ids(tf))),
    error("steps of no columns", lambda tf: steps(tf)),
    error("steps of a negative shape", lambda tf: numeric(tf, "heat", shape=0)),
    error("steps of strings", lambda tf: numeric(tf, "heat", dtype=tf.string)),
    error("a normalizer that is no function",
          lambda tf: numeric(tf, "heat", normalizer_fn="x")),
    error("different numbers of steps", lambda tf: steps(
        tf, numeric(tf, "heat", shape=2), fc(tf).indicator_column(words(tf)))[1]),
]
