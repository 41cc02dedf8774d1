"""Feature columns: what layers make of them, and the names, shapes and specifications that follow from
them.
"""

import numpy as np

from tests.golden.runner import answer, error, shape

WORDS = [["a", "q"], ["b", ""], ["c", "zz"]]
NUMBERS = [[1.5, -2.0], [0.0, 7.0], [3.0, 0.25]]


def evaluated(tf, *tensors):
    """The values after all variables and tables are initialised."""
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return [(np.round(value, 5) + 0.0).tolist() for value in sess.run(list(tensors))]


def numbered(shape, dtype=None, partition_info=None):
    """An initializer: 0, 0.1, 0.2 and so on."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 10


def features(tf):
    ids = np.array([[1, 3], [-1, 0], [2, 9]])
    bag = {"indices": [[0, 0], [0, 2], [2, 1]], "dense_shape": [3, 3]}
    return {
        "x": tf.constant([0.5, -1.0, 2.0]),
        "pair": tf.constant(NUMBERS),
        "count": tf.constant([3, 4, 5]),
        "cube": tf.reshape(tf.range(12.0), [3, 2, 2]),
        "word": tf.constant(WORDS),
        "single": tf.constant(["b", "x", "a"]),
        "id": tf.constant(ids),
        "bag": tf.SparseTensor(values=["a", "b", "a"], **bag),
        "weight": tf.SparseTensor(values=[2.0, 0.5, 4.0], **bag),
        "heights": tf.constant([[1.0, 2.0], [3.0, 0.5], [0.0, 1.0]]),
    }


def numeric(tf):
    return tf.feature_column.numeric_column("x")


def bucketized(tf, key="x", shape=1):
    return tf.feature_column.bucketized_column(tf.feature_column.numeric_column(key, shape), [-1.0, 0.0, 2.0])


def listed(tf, key="word", **options):
    return tf.feature_column.categorical_column_with_vocabulary_list(key, ["a", "b", "zz"], **options)


def hashed(tf, key="word", size=5, **options):
    return tf.feature_column.categorical_column_with_hash_bucket(key, size, **options)


def identity(tf, default=0):
    return tf.feature_column.categorical_column_with_identity("id", 5, default)


def weighted(tf):
    return tf.feature_column.weighted_categorical_column(listed(tf, "bag"), "weight")


def embedding(tf, column, **options):
    return tf.feature_column.embedding_column(column, 2, initializer=Numbered(tf), **options)


class Numbered:
    """`numbered` as an initializer that both libraries take."""

    def __init__(self, tf):
        self._tf = tf

    def __call__(self, shape, dtype=None, partition_info=None):
        return self._tf.constant(numbered([int(n) for n in shape]))


def crossed(tf, *keys, **options):
    return tf.feature_column.crossed_column(list(keys), 11, **options)


DENSE = {
    "numeric": numeric,
    "numeric of a shape": lambda tf: tf.feature_column.numeric_column("cube", [2, 2]),
    "numeric of integers": lambda tf: tf.feature_column.numeric_column("count", dtype=tf.int64),
    "numeric normalized": lambda tf: tf.feature_column.numeric_column(
        "x", normalizer_fn=lambda x: x * 2.0 - 1.0
    ),
    "bucketized": bucketized,
    "bucketized pair": lambda tf: bucketized(tf, "pair", 2),
    "indicator of a list": lambda tf: tf.feature_column.indicator_column(listed(tf)),
    "indicator of a bag": lambda tf: tf.feature_column.indicator_column(listed(tf, "bag")),
    "indicator of a list with buckets": lambda tf: tf.feature_column.indicator_column(
        listed(tf, num_oov_buckets=3)
    ),
    "indicator of a list with a default": lambda tf: tf.feature_column.indicator_column(
        listed(tf, default_value=2)
    ),
    "indicator of a hash": lambda tf: tf.feature_column.indicator_column(hashed(tf)),
    "indicator of a hash of integers": lambda tf: tf.feature_column.indicator_column(
        hashed(tf, "id", dtype=tf.int64)
    ),
    "indicator of numbers": lambda tf: tf.feature_column.indicator_column(identity(tf)),
    "indicator of weights": lambda tf: tf.feature_column.indicator_column(weighted(tf)),
    "indicator of a cross": lambda tf: tf.feature_column.indicator_column(crossed(tf, "word", "single")),
    "indicator of a cross of columns": lambda tf: tf.feature_column.indicator_column(
        crossed(tf, "single", listed(tf), bucketized(tf))
    ),
    "indicator of a cross of a bag": lambda tf: tf.feature_column.indicator_column(
        crossed(tf, "id", "bag", hash_key=7)
    ),
    "embedding": lambda tf: embedding(tf, listed(tf)),
    "embedding, sum": lambda tf: embedding(tf, listed(tf), combiner="sum"),
    "embedding, sqrtn": lambda tf: embedding(tf, hashed(tf), combiner="sqrtn"),
    "embedding of weights": lambda tf: embedding(tf, weighted(tf)),
    "embedding of a cross": lambda tf: embedding(tf, crossed(tf, "word", identity(tf))),
    "embedding, norm": lambda tf: embedding(tf, identity(tf), max_norm=0.5),
}

CATEGORIES = {
    "bucketized pair": lambda tf: bucketized(tf, "pair", 2),
    "list": listed,
    "bag": lambda tf: listed(tf, "bag"),
    "hash": hashed,
    "numbers": identity,
    "weights": weighted,
    "cross": lambda tf: crossed(tf, "word", bucketized(tf)),
    "numeric": lambda tf: tf.feature_column.numeric_column("pair", 2),
}


def layer(tf, column):
    out = tf.feature_column.input_layer(features(tf), [column])
    return [evaluated(tf, out), out.shape.as_list()[1], [v.name for v in tf.global_variables()]]


def of_unknown_rank(tf):
    """Layers of sparse features that are fed, and of whose shape the graph knows nothing."""
    bag, weight = tf.sparse_placeholder(tf.string), tf.sparse_placeholder(tf.float32)
    given = {"bag": bag, "weight": weight}
    places, sizes = np.array([[0, 0], [0, 2], [2, 1]]), np.array([3, 3])
    feeds = {
        bag: tf.SparseTensorValue(places, np.array(["a", "b", "a"], object), sizes),
        weight: tf.SparseTensorValue(places, np.array([2.0, 0.5, 4.0], np.float32), sizes),
    }
    counted = tf.feature_column.input_layer(given, [tf.feature_column.indicator_column(weighted(tf))])
    total = tf.feature_column.linear_model(given, [weighted(tf)])
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        weights = next(v for v in tf.global_variables() if v.shape.as_list() == [3, 1])
        sess.run(weights.assign(numbered([3, 1]) + 1))
        return [np.round(value, 5).tolist() for value in sess.run([counted, total], feeds)]


def linear(tf, column, units, combiner):
    """A linear model whose weights are not zero."""
    out = tf.feature_column.linear_model(features(tf), [column], units, combiner)
    variables = tf.trainable_variables()
    given = [tf.assign(v, numbered(v.shape.as_list()) + 1.0) for v in variables]
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        sess.run(given)
        value = (np.round(sess.run(out), 4) + 0.0).tolist()
    return [value, [[v.name, v.shape.as_list()] for v in variables]]


def everything(tf):
    return [make(tf) for make in DENSE.values()]


def names(tf):
    return [column.name for column in everything(tf)]


def specification(tf):
    columns = [numeric(tf), listed(tf, "w"), weighted(tf), crossed(tf, "c", "d"), identity(tf)]
    columns.append(tf.feature_column.numeric_column("y", [2], default_value=1, dtype=tf.float32))
    found = tf.feature_column.make_parse_example_spec(columns)
    return [
        [key, type(found[key]).__name__, found[key].dtype.name, list(getattr(found[key], "shape", []))]
        for key in sorted(found)
    ]


def together(tf):
    """Many columns in one layer, and what is told of each."""
    columns = [
        numeric(tf),
        bucketized(tf),
        embedding(tf, listed(tf)),
        tf.feature_column.indicator_column(hashed(tf)),
    ]
    variables, outputs = {}, {}
    out = tf.feature_column.input_layer(
        features(tf), columns, cols_to_vars=variables, cols_to_output_tensors=outputs
    )
    told = sorted([c.name, [v.name for v in variables[c]], outputs[c].shape.as_list()] for c in columns)
    model = {}
    tf.feature_column.linear_model(features(tf), [numeric(tf), listed(tf)], 2, cols_to_vars=model)
    weights = sorted([getattr(c, "name", c), [v.name for v in found]] for c, found in model.items())
    return [evaluated(tf, out), told, weights, len(tf.get_collection(tf.GraphKeys.MODEL_VARIABLES))]


def shared(tf):
    one, other = listed(tf), listed(tf, "single")
    columns = tf.feature_column.shared_embedding_columns([one, other], 2, initializer=Numbered(tf))
    out = tf.feature_column.input_layer(features(tf), columns)
    return [evaluated(tf, out), [v.name for v in tf.global_variables()], [c.name for c in columns]]


def twice(tf):
    column = [numeric(tf), embedding(tf, listed(tf))]
    for _ in range(2):
        tf.feature_column.input_layer(features(tf), column)
        tf.feature_column.linear_model(features(tf), [numeric(tf)])
    return [v.name for v in tf.global_variables()]


def gradients(tf):
    """Of a table, with respect to rows that are there once, twice and never."""
    out = tf.feature_column.input_layer(features(tf), [embedding(tf, listed(tf))])
    grad = tf.gradients(tf.reduce_sum(out * [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), tf.trainable_variables())
    return evaluated(tf, tf.convert_to_tensor(grad[0]))


def from_file(tf):
    import os
    import tempfile

    handle, path = tempfile.mkstemp()
    with os.fdopen(handle, "w") as file:
        file.write("a\nq\nzz\nb\n")
    try:
        found = []
        for options in ({}, {"vocabulary_size": 3}, {"num_oov_buckets": 2}, {"default_value": 0}):
            column = tf.feature_column.categorical_column_with_vocabulary_file("word", path, **options)
            out = tf.feature_column.input_layer(features(tf), [tf.feature_column.indicator_column(column)])
            found.append(evaluated(tf, out))
    finally:
        os.remove(path)
    return found


CASES = [
    [
        answer("input_layer: " + name, lambda tf, make=make: layer(tf, make(tf)))
        for name, make in DENSE.items()
    ],
    [
        answer(
            "linear_model: %s, %d, %s" % (name, units, combiner),
            lambda tf, make=make, units=units, combiner=combiner: linear(tf, make(tf), units, combiner),
        )
        for name, make in CATEGORIES.items()
        for units, combiner in ((1, "sum"), (2, "mean"))
    ],
    answer("names", names),
    answer("make_parse_example_spec", specification),
    answer("columns together", together),
    answer("shared embedding", shared),
    answer("layers made twice", twice),
    answer("gradient of an embedding", gradients),
    answer("vocabulary file", from_file),
    shape(
        "unknown batch",
        lambda tf: tf.feature_column.input_layer(
            {"x": tf.placeholder(tf.float32, [None, 1])}, [numeric(tf), bucketized(tf)]
        ),
    ),
    error("boundaries that fall", lambda tf: tf.feature_column.bucketized_column(numeric(tf), [1.0, 0.0])),
    error("no boundaries", lambda tf: tf.feature_column.bucketized_column(numeric(tf), [])),
    error("bucketized of words", lambda tf: tf.feature_column.bucketized_column(listed(tf), [1.0])),
    error("numeric of strings", lambda tf: tf.feature_column.numeric_column("x", dtype=tf.string)),
    error("numeric of no size", lambda tf: tf.feature_column.numeric_column("x", [0])),
    error("numeric of half a size", lambda tf: tf.feature_column.numeric_column("x", [1.5])),
    error("numeric with another default", lambda tf: (
        tf.feature_column.numeric_column("x", [2], default_value=[1.0])
    )),
    error("numeric with a text", lambda tf: tf.feature_column.numeric_column("x", default_value="1")),
    error("normalizer", lambda tf: tf.feature_column.numeric_column("x", normalizer_fn=3)),
    error("no buckets", lambda tf: hashed(tf, size=0)),
    error("hash of floats", lambda tf: hashed(tf, dtype=tf.float32)),
    error("empty list", lambda tf: tf.feature_column.categorical_column_with_vocabulary_list("x", [])),
    error("equal words", lambda tf: (
        tf.feature_column.categorical_column_with_vocabulary_list("x", ["a", "a"])
    )),
    error("default and buckets", lambda tf: listed(tf, default_value=0, num_oov_buckets=1)),
    error("list of floats", lambda tf: tf.feature_column.categorical_column_with_vocabulary_list("x", [1.5])),
    error("default outside", lambda tf: identity(tf, 5)),
    error("one key", lambda tf: crossed(tf, "word")),
    error("cross of a hash", lambda tf: crossed(tf, "id", hashed(tf))),
    error("cross of numbers", lambda tf: crossed(tf, "id", numeric(tf))),
    error("no dimension", lambda tf: tf.feature_column.embedding_column(listed(tf), 0)),
    answer("sparse features of unknown rank", of_unknown_rank),
    error("initializer", lambda tf: tf.feature_column.embedding_column(listed(tf), 2, initializer=3)),
    error("half a checkpoint", lambda tf: (
        tf.feature_column.embedding_column(listed(tf), 2, ckpt_to_load_from="x")
    )),
    error("shared by two kinds", lambda tf: (
        tf.feature_column.shared_embedding_columns([listed(tf), hashed(tf)], 2)
    )),
    error("weights of strings", lambda tf: (
        tf.feature_column.weighted_categorical_column(listed(tf), "w", tf.string)
    )),
    error("categories in a layer", lambda tf: layer(tf, listed(tf))),
    error("no columns", lambda tf: tf.feature_column.input_layer(features(tf), [])),
    error("columns in a dict", lambda tf: tf.feature_column.input_layer(features(tf), {"x": numeric(tf)})),
    error("no column", lambda tf: tf.feature_column.input_layer(features(tf), ["x"])),
    error("two of one name", lambda tf: (
        tf.feature_column.input_layer(features(tf), [numeric(tf), numeric(tf)])
    )),
    error("no feature", lambda tf: tf.feature_column.input_layer({}, [numeric(tf)])),
    error("feature of rank 0", lambda tf: (
        tf.feature_column.input_layer({"x": tf.constant(1.0)}, [numeric(tf)])
    )),
    error("sparse numbers", lambda tf: (
        tf.feature_column.input_layer({"x": features(tf)["weight"]}, [numeric(tf)])
    )),
    error("words as numbers", lambda tf: layer(tf, embedding(tf, hashed(tf, "id")))),
    error("identity of words", lambda tf: (
        tf.feature_column.linear_model({"id": tf.constant(["a"])}, [identity(tf)])
    )),
    error("identity outside", lambda tf: tf.feature_column.input_layer(
        features(tf), [tf.feature_column.indicator_column(identity(tf, None))]
    )),
    error("batches of two sizes", lambda tf: tf.feature_column.input_layer(
        {"x": tf.zeros([3, 1]), "y": tf.zeros([2, 1])}, [numeric(tf), tf.feature_column.numeric_column("y")]
    )),
]
