"""Training of the models of Keras: losses, metrics, optimizers, and what `fit` reports."""

import numpy as np

from tests.golden.cases.keras_layers import drawn, fixed, measures
from tests.golden.draws import given, ints, real
from tests.golden.runner import value

X, Y = drawn("x", 23, 4), drawn("y", 23, 2)
CLASSES = np.arange(23) % 3


def dense_model(tf, units=2, activation=None, **options):
    keras = tf.keras
    return fixed(keras.Sequential([
        keras.layers.Dense(5, activation="tanh", input_shape=(4,), **options),
        keras.layers.Dense(units, activation=activation),
    ]))


def reported(history):
    """The names of what was reported, as numbers of characters, and the values."""
    names = sorted(history.history)
    values = [np.asarray(history.history[name], np.float32) for name in names]
    return [np.array([len(name) for name in names]), np.array(values)]


def fits(name, make, compiled, x=X, y=Y, tolerance=20.0, **options):
    """The history of a model, its weights afterwards, what it predicts and how that is judged."""

    def build(tf):
        model = make(tf)
        model.compile(**compiled(tf))
        history = model.fit(x, y, **{"batch_size": 6, "epochs": 3, "shuffle": False, "verbose": 0, **options})
        judged = np.asarray(model.evaluate(x, y, batch_size=5, verbose=0), np.float32)
        predicted = model.predict(x, batch_size=7)
        predicted = predicted if isinstance(predicted, list) else [predicted]
        return [*reported(history), *model.get_weights(), judged, *predicted]

    return measures(name, build, tolerance)


def optimizer(name, make, steps=5):
    """The weights of a model after each of some steps, some of them those of an embedding."""

    def build(tf):
        keras = tf.keras
        model = fixed(keras.Sequential([
            keras.layers.Embedding(6, 3, input_length=4), keras.layers.Flatten(), keras.layers.Dense(2),
        ]))
        model.compile(make(tf), "mse")
        numbers = (np.arange(32).reshape(8, 4) * 7) % 5  # the last row of the table is never used
        seen = []
        for _ in range(steps):
            model.train_on_batch(numbers, drawn("target", 8, 2))
            seen += model.get_weights()
        return seen

    return measures(name, build, tolerance=20.0)


def keras_optimizer(kind, *args, **options):
    return lambda tf: getattr(tf.keras.optimizers, kind)(*args, **options)


def metric(name, make, y, p, weights=None):
    """A metric after each of three batches."""

    def build(tf):
        K = tf.keras.backend
        made = make(tf)
        size = len(y) // 3
        result, seen = made.result(), []
        session = K.get_session()
        for i in range(3):
            part = slice(i * size, (i + 1) * size)
            extra = {} if weights is None else {"sample_weight": K.constant(weights[part])}
            update = made.update_state(K.constant(y[part]), K.constant(p[part]), **extra)
            session = K.get_session()
            session.run(update)
            seen.append(session.run(result))
        return seen

    return measures("metric %s" % name, build, tolerance=4.0)


def metrics():
    yes = (np.arange(12) % 3 == 0).astype("float32")
    scores = drawn("scores", 12, low=0.0, high=1.0)
    rows, kinds = drawn("rows", 12, 4, low=0.0, high=1.0), np.eye(4, dtype="float32")[np.arange(12) % 4]
    weights = drawn("weights", 12, low=0.1, high=2.0)

    def of(kind, *args, **options):
        return lambda tf: getattr(tf.keras.metrics, kind)(*args, **options)

    yield metric("BinaryAccuracy", of("BinaryAccuracy"), yes, scores)
    for name in ("Accuracy", "AUC", "Precision", "Recall", "TruePositives", "TrueNegatives", "FalsePositives",
                 "FalseNegatives", "RootMeanSquaredError"):
        yield metric(name, of(name), yes, scores)
        yield metric("%s, weights" % name, of(name), yes, scores, weights)
    for name in ("CategoricalAccuracy", "CategoricalCrossentropy", "KLDivergence", "CosineSimilarity",
                 "Poisson", "CategoricalHinge", "MeanAbsoluteError", "LogCoshError",
                 "MeanSquaredLogarithmicError"):
        yield metric(name, of(name), kinds, rows)
        yield metric("%s, weights" % name, of(name), kinds, rows, weights)
    yield metric("TopKCategoricalAccuracy", of("TopKCategoricalAccuracy", 2), kinds, rows)
    yield metric(
        "SparseCategoricalAccuracy", of("SparseCategoricalAccuracy"), np.arange(12.0)[:, None] % 4, rows
    )
    yield metric(
        "SparseTopKCategoricalAccuracy", of("SparseTopKCategoricalAccuracy", 2), np.arange(12.0) % 4, rows
    )
    yield metric("AUC of precision and recall", of("AUC", 20, "PR"), yes, scores)
    yield metric("AUC, minoring", of("AUC", 20, "ROC", "minoring"), yes, scores)
    yield metric("Precision at thresholds", of("Precision", [0.2, 0.6]), yes, scores)
    yield metric("Recall of a class", of("Recall", class_id=2), kinds, rows)
    yield metric("Precision of the largest", of("Precision", top_k=2), kinds, rows)
    yield metric("SensitivityAtSpecificity", of("SensitivityAtSpecificity", 0.5), yes, scores)
    yield metric("SpecificityAtSensitivity", of("SpecificityAtSensitivity", 0.5), yes, scores)
    yield metric("MeanIoU", of("MeanIoU", 3), np.arange(12.0) % 3, np.arange(12.0) % 2)
    yield metric("MeanRelativeError", of("MeanRelativeError", [2.0, 1.0, 0.0, 3.0]), yes, scores)


def loss(name, *draws, **options):
    def build(tf, *y):
        return getattr(tf.keras.losses, name)(*y, **options)

    return value("loss %s" % " ".join([name, *sorted(options)]), build, *draws,
                 dtypes=("float32",), tolerance=4.0)


def loss_class(name, *draws, **options):
    def build(tf, *y):
        made = getattr(tf.keras.losses, name)(**options)
        return made(y[0], y[1], sample_weight=tf.constant([[0.5], [2.0], [0.0]]))

    return value(
        "class %s %s" % (name, sorted(options.items())), build, *draws, dtypes=("float32",), tolerance=4.0
    )


SCORES = real(3, 4)
SHARES = real(3, 4, low=0.05, high=0.95)
PAIR = ["mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error", "hinge",
        "squared_hinge", "mean_squared_logarithmic_error", "categorical_hinge", "logcosh", "poisson",
        "cosine_similarity",
        "kullback_leibler_divergence", "binary_crossentropy", "categorical_crossentropy"]


def two_outputs(tf):
    layers = tf.keras.layers
    x = tf.keras.Input([4], name="x")
    middle = layers.Dense(5, activation="relu", name="middle")(x)
    first, second = (
        layers.Dense(2, name="first")(middle),
        layers.Dense(1, activation="sigmoid", name="second")(middle),
    )
    return fixed(tf.keras.Model(x, [first, second]))


def normalised(tf):
    layers = tf.keras.layers
    return fixed(tf.keras.Sequential([
        layers.Dense(5, input_shape=(4,)), layers.BatchNormalization(momentum=0.9), layers.Activation("relu"),
        layers.Dense(2),
    ]))


def convolved(tf):
    layers = tf.keras.layers
    return fixed(tf.keras.Sequential([
        layers.Conv2D(3, 3, activation="relu", input_shape=(6, 6, 1)), layers.BatchNormalization(),
        layers.MaxPooling2D(), layers.Flatten(), layers.Dense(3, activation="softmax"),
    ]))


def recurrent(tf):
    layers = tf.keras.layers
    return fixed(tf.keras.Sequential([layers.LSTM(4, input_shape=(5, 2)), layers.Dense(2)]))


def with_layer_losses(tf):
    keras = tf.keras
    x = keras.Input([4])
    h = keras.layers.Dense(5, kernel_regularizer=keras.regularizers.l1_l2(0.01, 0.02),
                           activity_regularizer="l2")(x)
    y = keras.layers.Dense(2, bias_constraint="non_neg", kernel_constraint=keras.constraints.MaxNorm(0.5))(h)
    model = keras.Model(x, y)
    model.add_loss(keras.backend.mean(h))
    return fixed(model)


def simple(loss_name, optimizer_name="sgd", **options):
    return lambda tf: {"optimizer": optimizer_name, "loss": loss_name, **options}


CASES = [
    [loss(name, SHARES, SHARES) for name in PAIR],
    loss("binary_crossentropy", SHARES, SCORES, from_logits=True),
    loss("categorical_crossentropy", SHARES, SCORES, from_logits=True, label_smoothing=0.1),
    loss("sparse_categorical_crossentropy", ints(3, low=0, high=3), SCORES, from_logits=True),
    [loss_class(name, SHARES, SHARES) for name in
     ("MeanSquaredError", "BinaryCrossentropy", "CategoricalCrossentropy", "Huber", "KLDivergence", "LogCosh",
      "CosineSimilarity", "Hinge")],
    loss_class("MeanSquaredError", SHARES, SHARES, reduction="sum"),
    loss_class("MeanSquaredError", given([[1.0], [2.0], [3.0]]), given([[0.0], [2.0], [5.0]]),
               reduction="none"),
    list(metrics()),
    [optimizer(name, keras_optimizer(kind, *args, **options)) for name, kind, args, options in (
        ("SGD", "SGD", (0.1,), {}), ("SGD, momentum", "SGD", (0.1, 0.9), {}),
        ("SGD, nesterov", "SGD", (0.1, 0.9, True), {}), ("SGD, decay", "SGD", (0.1,), {"decay": 0.5}),
        ("SGD, clipnorm", "SGD", (0.1,), {"clipnorm": 0.1}),
        ("SGD, clipvalue", "SGD", (0.1,), {"clipvalue": 0.01}),
        ("Adam", "Adam", (0.1,), {}), ("Adam, amsgrad", "Adam", (0.1,), {"amsgrad": True}),
        ("RMSprop", "RMSprop", (0.1,), {}), ("RMSprop, momentum", "RMSprop", (0.1,), {"momentum": 0.9}),
        ("RMSprop, centered", "RMSprop", (0.1,), {"centered": True}),
        ("RMSprop, momentum, centered", "RMSprop", (0.1,), {"centered": True, "momentum": 0.9}),
        ("Adagrad", "Adagrad", (0.1,), {}), ("Adadelta", "Adadelta", (1.0,), {}),
        ("Adamax", "Adamax", (0.1,), {}), ("Nadam", "Nadam", (0.1,), {}), ("Ftrl", "Ftrl", (0.1,), {}),
        ("Ftrl, penalties", "Ftrl", (0.1,), {"l1_regularization_strength": 0.01,
                                             "l2_regularization_strength": 0.02}))],
    optimizer("a schedule", lambda tf: tf.keras.optimizers.SGD(
        tf.keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5))),
    optimizer("an optimizer of tf.train", lambda tf: tf.train.AdamOptimizer(0.1)),
    fits("fit", dense_model, simple("mse", metrics=["mae", "mape"])),
    fits("fit, validation split", dense_model, simple("mse", metrics=["mse"]), validation_split=0.3),
    fits("fit, validation data", dense_model, simple("mae", "adam"), validation_data=(X[:5], Y[:5])),
    fits("fit, classes", lambda tf: dense_model(tf, 3, "softmax"),
         simple("sparse_categorical_crossentropy", "adam", metrics=["accuracy"]), y=CLASSES),
    fits("fit, rows of classes", lambda tf: dense_model(tf, 3, "softmax"),
         simple("categorical_crossentropy", "rmsprop", metrics=["accuracy", "categorical_crossentropy"]),
         y=np.eye(3)[CLASSES]),
    fits("fit, yes or no", lambda tf: dense_model(tf, 1, "sigmoid"),
         lambda tf: {"optimizer": "sgd", "loss": "binary_crossentropy",
                     "metrics": ["accuracy", tf.keras.metrics.Precision(name="precision")]},
         y=CLASSES == 1),
    fits("fit, weights of samples", dense_model, simple("mse", metrics=["mae"], weighted_metrics=["mae"]),
         sample_weight=np.linspace(0.1, 2.0, 23)),
    fits("fit, weights of classes", lambda tf: dense_model(tf, 3, "softmax"),
         simple("sparse_categorical_crossentropy", metrics=["accuracy"]), y=CLASSES,
         class_weight={0: 1.0, 1: 3.0, 2: 0.5}),
    fits("fit, two outputs", two_outputs,
         simple({"first": "mse", "second": "binary_crossentropy"},
                metrics={"first": "mae", "second": "accuracy"},
                loss_weights={"first": 0.5, "second": 2.0}), y=[Y, (CLASSES == 1)[:, None]]),
    fits("fit, batch normalization", normalised, simple("mse"), tolerance=50.0),
    fits("fit, convolution", convolved, simple("categorical_crossentropy", metrics=["accuracy"]),
         x=drawn("images", 23, 6, 6, 1), y=np.eye(3)[CLASSES], tolerance=50.0),
    fits("fit, recurrent", recurrent, simple("mse"), x=drawn("series", 23, 5, 2), tolerance=50.0),
    fits("fit, losses of layers", with_layer_losses, simple("mse")),
    fits("fit, from the second epoch on", dense_model, simple("mse"), initial_epoch=1),
]
