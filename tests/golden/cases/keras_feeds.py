"""Inputs that Keras takes and refuses: targets, datasets, tensors; and its reports of a run."""

import numpy as np

from tests.golden.cases.keras_layers import drawn, fixed, measures
from tests.golden.runner import answer, runs

N = 12
X = np.arange(N * 4, dtype=np.float32).reshape(N, 4) / 50.0
Y = X[:, :1] * 2.0
W = np.linspace(0.0, 1.0, N).astype(np.float32)

# Targets

CLASSES = np.arange(N) % 3
ROWS = np.eye(3)[CLASSES]
TARGETS = {
    "numbers": CLASSES,
    "column": CLASSES[:, None],
    "fractions": np.linspace(0.0, 1.0, N),
    "rows of 3": ROWS,
    "integer rows of 3": ROWS.astype(int),
    "rows of 2": np.eye(2)[np.arange(N) % 2],
    "steps of 3": np.eye(3)[np.arange(2 * N) % 3].reshape(N, 2, 3),
    "steps of 1": (np.arange(2 * N) % 3).reshape(N, 2, 1),
    "one step of 3": np.ones((N, 1, 3)),
}
LOSSES = (
    "mse", "mae", "hinge", "poisson", "binary_crossentropy", "categorical_crossentropy",
    "sparse_categorical_crossentropy", "CategoricalCrossentropy", "MeanSquaredError", "Huber",
)


def refused(tf, call):
    """Return True if a call raises, and what is an error of the user's in TensorFlow too."""
    try:
        call()
    except (ValueError, TypeError, tf.errors.InvalidArgumentError):
        return "refused"
    return "taken"


def targets(loss, *sizes):
    """Which targets a model with outputs of these sizes takes for a loss."""

    def build(tf):
        keras = tf.keras
        last = [keras.layers.Reshape(sizes)] if len(sizes) > 1 else []
        units = int(np.prod(sizes))
        model = keras.Sequential([keras.layers.Dense(units, "sigmoid", input_shape=(4,)), *last])
        model.compile("sgd", loss if loss.islower() else getattr(keras.losses, loss)())
        return {
            name: refused(tf, lambda given=given: model.test_on_batch(X, given))
            for name, given in TARGETS.items()
            # TensorFlow broadcasts targets of another rank if their sizes happen to allow that.
            if given.ndim <= len(sizes) + 1
        }

    return build


# Datasets and tensors


def dataset(tf, *arrays):
    return tf.data.Dataset.from_tensor_slices(arrays if len(arrays) > 1 else arrays[0])


def model_of(tf):
    model = fixed(tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))]))
    model.compile(tf.keras.optimizers.SGD(0.01), "mse", metrics=["mae"])
    return model


def fitted(give, **options):
    """The history of a model, and its weights afterwards."""

    def build(tf):
        model = model_of(tf)
        args, more = give(tf)
        found = model.fit(*args, **{"verbose": 0, "epochs": 3, "shuffle": False, **more, **options}).history
        return [np.array(found[name], np.float32) for name in sorted(found)] + model.get_weights()

    return build


def refuses(give, **options):
    def build(tf):
        args, more = give(tf)
        return refused(tf, lambda: model_of(tf).fit(*args, **{"verbose": 0, **more, **options}))

    return build


def batches(size, *arrays, repeat=False, **more):
    def give(tf):
        made = dataset(tf, *arrays).batch(size)
        return [made.repeat() if repeat else made], more

    return give


def validated(size, **options):
    return lambda tf: ([X, Y], {"validation_data": dataset(tf, X, Y).batch(size), **options})


def next_tensors(tf):
    return list(tf.data.make_one_shot_iterator(dataset(tf, X, Y).batch(4).repeat()).get_next())


def judged(tf):
    model = model_of(tf)
    pairs, inputs = dataset(tf, X, Y).batch(5), dataset(tf, X).batch(5)
    made = [
        model.evaluate(pairs, verbose=0), model.evaluate(pairs.repeat(), steps=2, verbose=0),
        model.evaluate(*next_tensors(tf), steps=3, verbose=0), model.predict(inputs), model.predict(pairs),
        model.predict(pairs, steps=2), model.predict(tf.constant(X), steps=1),
        model.test_on_batch(tf.constant(X), tf.constant(Y)),
    ]
    return [np.asarray(each, np.float32) for each in made]


# Functions, metrics of layers, masks


def functions(tf):
    K = tf.keras.backend
    v, x, z, seen = K.variable(1.0), K.placeholder([None]), K.placeholder([]), []
    one = np.array([1.0], np.float32)
    made = []
    first = K.function([x], [x * 2], updates=[K.update_add(v, 1.0)], fetches=[K.update_add(v, 10.0)])
    made += [*first([one]), K.get_value(v), *first([one]), K.get_value(v)]
    nested = K.function([x], [[x * 2], (x * 4, x + 1)])([one])
    made += [nested[0][0], *nested[1]]
    watched, y = K.function([x], [x * 1.0]), x * 3
    watched.fetches, watched.fetch_callbacks = [y], {y: seen.append}
    made += [*watched([one]), *seen]
    made += K.function([x], [x + z], feed_dict={z: 5.0})([one])
    made += K.function([x], [x + 1])([tf.constant([7.0])])
    made += [*K.function([x], [x + v], updates=[(v, v * 2)])([one]), K.get_value(v)]
    return made


def refused_functions(tf):
    K = tf.keras.backend
    x = K.placeholder([None])
    return [
        refused(tf, lambda: K.function([x], [x * 1.0], nothing=1)),
        refused(tf, lambda: K.function([x], [x * 1.0], updates=5)),
    ]


def watching(tf, kind):
    class Watching(tf.keras.layers.Layer):
        def __init__(self, **options):
            tf.keras.layers.Layer.__init__(self, **options)
            self.mean, self.sum = tf.keras.metrics.Mean(name="m"), tf.keras.metrics.Sum(name="s")

        def call(self, inputs):
            if kind == "metrics":
                self.add_metric(self.mean(inputs))
                self.add_metric(self.sum(inputs), name="renamed")
            if kind == "mean":
                self.add_metric(tf.reduce_sum(inputs), aggregation="mean", name="q")
            if kind == "neither":
                self.add_metric(tf.reduce_sum(inputs), name="q")
            return inputs

    layers = tf.keras.layers
    model = fixed(tf.keras.Sequential([layers.InputLayer((4,)), Watching(), layers.Dense(1)]))
    model.compile(tf.keras.optimizers.SGD(0.0), "mse")
    return model


def seeded(build):
    """Random numbers of the backend: NumPy's global generator draws the seeds of operations."""

    def both_seeds(tf):
        tf.set_random_seed(87)
        np.random.seed(12)
        return build(tf.keras.backend, tf)

    return both_seeds


def disturbed(tf, layer):
    return layer(tf.ones([4, 5]), training=True)


def sums_of_rows(tf):
    """Weights of fewer axes than the values."""
    metric = tf.keras.metrics.Sum()
    value = metric([[[1.0, 2.0], [3.0, 2.0], [0.5, 4.0]]], sample_weight=[0.5])
    mean = tf.keras.metrics.Mean()
    middle = mean([[[1.0, 2.0], [3.0, 2.0], [0.5, 4.0]]], sample_weight=[0.5])
    area = tf.keras.metrics.AUC(4)
    hits = tf.keras.metrics.TruePositives([0.2, 0.6])
    updates = [m.update_state([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.7]) for m in (area, hits)]
    counts = [area.true_positives, area.false_negatives, hits.accumulator]
    sess = tf.keras.backend.get_session()
    sess.run([v.initializer for m in (metric, mean, area, hits) for v in m.variables])
    sess.run(updates)
    return [*sess.run([value, middle, *counts])]


def sequences(K, tf):
    """Labels of padded batches: their cost, and what probabilities stand for."""
    x = K.softmax(K.constant(drawn("steps", 3, 6, 5) * 3.0))
    labels, lengths, steps = K.constant([[0, 1, 3], [2, 0, 0], [1, 1, 0]]), [[3], [1], [2]], [[6], [4], [5]]
    cost = K.ctc_batch_cost(labels, x, tf.constant(steps), tf.constant(lengths))
    (greedy,), scores = K.ctc_decode(x, tf.constant([6, 4, 5]))
    paths, found = K.ctc_decode(x, tf.constant([6, 4, 5]), greedy=False, beam_width=8, top_paths=2)
    sparse = K.ctc_label_dense_to_sparse(labels, tf.constant([3, 1, 2]))
    parts = [sparse.indices, sparse.values, sparse.dense_shape]
    return [cost, tf.gradients(cost, x)[0], greedy, scores, *paths, found, *parts]


def signatures(tf):
    """Shapes and dtypes of outputs, by signatures of inputs."""
    layers = tf.keras.layers
    try:
        spec = tf.TensorSpec
    except AttributeError:  # a name that TensorFlow's programs find, and ours need not
        from staticgraph.compat.tf1 import TensorSpec as spec
    found = [
        layers.Dense(3).compute_output_signature(spec([None, 4], tf.float32)),
        layers.Flatten().compute_output_signature(spec([None, 4, 2], tf.float64)),
        layers.Embedding(5, 2).compute_output_signature(spec([None, 4], tf.int32)),
        layers.Concatenate().compute_output_signature([spec([2, 4], tf.float32), spec([2, 1], tf.float32)]),
    ]
    told = layers.Lambda(lambda t: t, output_shape=(None, 10)).compute_output_shape((5, 10, 20))
    return [[each.shape.as_list(), each.dtype.name] for each in found] + [
        list(told.as_list()),
        list(tf.TensorShape(layers.Dot(1).compute_output_shape([(4, 5), (4, 5)])).as_list())
    ]


def epochs_of(kind):
    """Metrics of a layer are reset between epochs, and between training and validation."""

    def build(tf):
        model = watching(tf, kind)
        data = {"validation_data": (X[:8], Y[:8]), "batch_size": 4, "shuffle": False}
        found = model.fit(X, Y, epochs=3, verbose=0, **data).history
        names = sorted(found)
        judged = model.evaluate(X, Y, batch_size=4, verbose=0)
        return [np.array(each, np.float32) for each in (*(found[name] for name in names), judged)]

    return build


def both_ways(kind, merge, **options):
    """A recurrent layer in both directions, behind an embedding that masks zeros."""

    def build(tf):
        layers = tf.keras.layers
        x = tf.keras.Input([5], dtype="int32")
        inner = getattr(layers, kind)(2, **options)
        y = layers.Bidirectional(inner, merge_mode=merge)(layers.Embedding(6, 3, mask_zero=True)(x))
        y = y if isinstance(y, (list, tuple)) else [y]
        model = fixed(tf.keras.Model(x, [layers.Lambda(lambda t: t * 1.0)(each) for each in y]))
        numbers = np.array([[1, 2, 0, 0, 0], [3, 0, 4, 5, 1], [0, 0, 0, 0, 2], [0, 2, 0, 1, 3]])
        found = model.predict(numbers)
        return found if isinstance(found, list) else [found]

    return build


def zeros_for_masked(tf):
    layers = tf.keras.layers
    x = tf.keras.Input([5, 3])
    options = {"return_sequences": True, "zero_output_for_mask": True}
    made = [layers.RNN(layers.GRUCell(2), unroll=unroll, **options)(layers.Masking()(x)) for unroll in (0, 1)]
    model = fixed(tf.keras.Model(x, made))
    values = drawn("masked", 2, 5, 3)
    values[0, 1:3] = values[1, 4] = 0.0
    return model.predict(values)


CASES = [
    [answer("targets: %s of %s" % (loss, sizes), targets(loss, *sizes))
     for loss in LOSSES for sizes in ((1,), (3,), (2, 3), (2, 1))
     if sizes[-1] > 1 or not loss.startswith("sparse")],  # of one class, all other numbers are out of range
    [
        measures(name, fitted(give, **options), tolerance=20.0)
        for name, give, options in (
            ("fit a dataset", batches(5, X, Y), {}),
            ("fit a dataset by steps", batches(4, X, Y, repeat=True), {"steps_per_epoch": 2}),
            ("fit a dataset that runs out", batches(4, X, Y), {"steps_per_epoch": 2}),
            ("fit a dataset with weights", batches(4, X, Y, W), {}),
            ("fit a dataset of doubles", batches(4, X.astype("float64"), Y.astype("float64")), {}),
            ("fit a dataset of vectors", batches(4, X, Y[:, 0]), {}),
            ("fit a dataset of dictionaries", batches(4, {"dense_input": X}, Y), {}),
            ("fit tensors", lambda tf: ([tf.constant(X), tf.constant(Y)], {}), {"steps_per_epoch": 2}),
            ("fit the next tensors", lambda tf: (next_tensors(tf), {}), {"steps_per_epoch": 3}),
            ("validate a dataset", validated(5), {}),
            ("validate steps of a dataset", validated(4), {"validation_steps": 2}),
        )
    ],
    [
        answer("refused: %s" % name, refuses(give, **options))
        for name, give, options in (
            ("a dataset without an end", batches(4, X, Y, repeat=True), {}),
            ("tensors without steps", lambda tf: ([tf.constant(X), tf.constant(Y)], {}), {}),
            ("targets beside a dataset", batches(4, X, Y, y=Y), {}),
            ("a batch size beside a dataset", batches(4, X, Y), {"batch_size": 3}),
            ("a split of a dataset", batches(4, X, Y), {"validation_split": 0.3}),
            ("weights beside a dataset", batches(4, X, Y), {"sample_weight": W}),
        )
    ],
    measures("evaluate and predict datasets and tensors", judged, tolerance=20.0),
    measures("functions", functions),
    answer("refused functions", refused_functions),
    [measures("metrics of layers: %s" % kind, epochs_of(kind), 20.0) for kind in ("metrics", "mean")],
    answer("metrics of layers: neither", lambda tf: refused(tf, lambda: watching(tf, "neither"))),
    [measures("both ways: %s %s %s" % (kind, merge, len(options)), both_ways(kind, merge, **options), 4.0)
     for kind, merge, options in (
         ("LSTM", "concat", {"return_sequences": True}),
         ("GRU", "sum", {"return_sequences": True}),
         ("SimpleRNN", None, {"return_sequences": True}),
         ("GRU", "concat", {}),
         ("LSTM", "ave", {"return_sequences": True, "return_state": True}),
     )],
    measures("zeros for masked steps", zeros_for_masked, tolerance=4.0),
    measures("sums of rows", sums_of_rows),
    runs("sequences", lambda tf: sequences(tf.keras.backend, tf), times=1, tolerance=4.0),
    answer("signatures", signatures),
    [runs("seeds of NumPy: %s" % name, seeded(build)) for name, build in (
        ("uniform", lambda K, tf: K.random_uniform([3, 2])),
        ("normal", lambda K, tf: K.random_normal([3, 2])),
        ("truncated", lambda K, tf: K.truncated_normal([3, 2])),
        ("binomial", lambda K, tf: K.random_binomial([3, 4], 0.5)),
        ("dropout", lambda K, tf: K.dropout(tf.ones([6, 5]), 0.4, noise_shape=(6, 1))),
        ("uniform variable", lambda K, tf: K.random_uniform_variable([3, 2], -1.0, 1.0).initialized_value()),
        ("normal variable", lambda K, tf: K.random_normal_variable([3, 2], 0.0, 1.0).initialized_value()),
        ("noise", lambda K, tf: disturbed(tf, tf.keras.layers.GaussianNoise(0.5))),
        ("dropout of noise", lambda K, tf: disturbed(tf, tf.keras.layers.GaussianDropout(0.4))),
        ("alpha dropout", lambda K, tf: disturbed(tf, tf.keras.layers.AlphaDropout(0.4))),
    )],
]
