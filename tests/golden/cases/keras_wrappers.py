"""`tf.keras.wrappers.scikit_learn`: labels of several kinds, predictions, scores, parameters."""

import numpy as np

from tests.golden.cases.legacy import old
from tests.golden.runner import answer, error

X = np.array([[0.0, 1.0], [1.0, -1.0], [2.0, 0.5], [-1.0, 2.0], [0.5, 0.5]], np.float32)
WORDS = np.array(["b", "a", "c", "a", "b"])
NUMBERS = np.array([1.0, -2.0, 3.0, 0.0, 0.5], np.float32)


def wrappers(tf):
    return old(tf).keras.wrappers.scikit_learn


def builder(tf, outputs, activation, loss, metrics=("accuracy",)):
    def build(rate=0.5, start="ones"):
        layer = tf.keras.layers.Dense(
            outputs, activation=activation, input_shape=[2], kernel_initializer=start)
        model = tf.keras.Sequential([layer])
        model.compile(tf.keras.optimizers.SGD(rate), loss, metrics=list(metrics))
        return model

    return build


def classified(tf, labels, *described):
    net = wrappers(tf).KerasClassifier(builder(tf, *described), rate=0.25, epochs=3, batch_size=2, verbose=0)
    net.fit(X, labels, shuffle=False)
    return [net.classes_.tolist(), net.n_classes_, net.predict(X).tolist(),
            np.round(net.predict_proba(X), 4).tolist(), round(float(net.score(X, labels)), 4)]  # fmt: skip


def fitted(tf, **params):
    net = wrappers(tf).KerasRegressor(
        builder(tf, 1, None, "mse", params.pop("metrics", ())), epochs=2, batch_size=5, verbose=0, **params)
    net.fit(X, NUMBERS)
    return [np.round(net.predict(X), 4).tolist(), round(float(net.score(X, NUMBERS)), 4)]


def parameters(tf):
    net = wrappers(tf).KerasRegressor(builder(tf, 1, None, "mse"), rate=0.1)
    return [sorted(net.get_params(deep=False)), net.set_params(epochs=4) is net, net.get_params()["epochs"],
            net.filter_sk_params(net.build_fn),
            net.filter_sk_params(tf.keras.Sequential.fit, {"verbose": 0})]  # fmt: skip


CASES = [
    answer("classes of words",
           lambda tf: classified(tf, WORDS, 3, "softmax", "sparse_categorical_crossentropy")),
    answer("classes in rows", lambda tf: classified(tf, WORDS, 3, "softmax", "categorical_crossentropy")),
    answer("two classes", lambda tf: classified(tf, WORDS == "a", 1, "sigmoid", "binary_crossentropy")),
    answer("a regressor", fitted),
    answer("a regressor with metrics", lambda tf: fitted(tf, metrics=["mae"], start="zeros")),
    answer("parameters of a wrapper", parameters),
    error("an unknown parameter",
          lambda tf: wrappers(tf).KerasRegressor(builder(tf, 1, None, "mse"), depth=3)),
    error("a score without accuracy", lambda tf: classified(
        tf, WORDS == "a", 1, "sigmoid", "binary_crossentropy", ())),
    error("labels of three axes", lambda tf: wrappers(tf).KerasClassifier(
        builder(tf, 1, "sigmoid", "binary_crossentropy")).fit(X, np.zeros([5, 1, 1]))),
]
