"""Keras models as estimators."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.tf1.keras.estimator import model_to_estimator
from staticgraph.tf1.summary import FileWriterCache

MAKE = sg.estimator.inputs.numpy_input_fn
X = np.random.default_rng(1).normal(size=(32, 3)).astype(np.float32)
Y = (X @ np.float32([[1.0], [-2.0], [0.5]]) + 0.25).astype(np.float32)


@pytest.fixture(autouse=True)
def _closed_event_files():
    yield
    FileWriterCache.clear()


def line(optimizer="adam", metrics=("mae",)):
    model = sg.keras.Sequential([sg.keras.layers.Dense(1, input_shape=[3], name="out")])
    model.compile(optimizer, "mse", list(metrics))
    return model


@pytest.mark.takes_long
@pytest.mark.parametrize(
    "optimizer",
    [lambda: sg.keras.optimizers.Adam(0.1), lambda: sg.train.AdamOptimizer(0.1)],
    ids=["keras", "train"],
)
def test_training_and_evaluation(tmp_path, optimizer):
    net = model_to_estimator(line(optimizer()), model_dir=str(tmp_path))
    net.train(MAKE(X, Y, 8, num_epochs=None, shuffle=True), steps=60)
    net.train(MAKE(X, Y, 8, num_epochs=None, shuffle=True), steps=60)
    metrics = net.evaluate(MAKE(X, Y, 5, shuffle=False))
    assert metrics["global_step"] == 120
    found = np.array([f["out"] for f in net.predict(MAKE(X, shuffle=False))])
    error = np.abs(found - Y)
    assert error.mean() < 0.1
    np.testing.assert_allclose(metrics[next(key for key in metrics if "m" in key)], error.mean(), rtol=1e-4)


def test_it_begins_as_the_model(tmp_path):
    model = line()
    model.fit(X, Y, epochs=2, verbose=0)
    net = model_to_estimator(model, model_dir=str(tmp_path))
    found = np.array([f["out"] for f in net.predict(MAKE(X, shuffle=False))])
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-5, atol=1e-6)


def test_several_inputs_by_name(tmp_path):
    one, two = sg.keras.Input([3], name="one"), sg.keras.Input([3], name="two")
    model = sg.keras.Model([one, two], sg.keras.layers.Dense(1, name="out")(sg.keras.layers.add([one, two])))
    model.compile("sgd", "mse")
    net = model_to_estimator(model, model_dir=str(tmp_path))
    net.train(MAKE({"two": X, "one": X}, {"out": Y}, shuffle=False))
    with pytest.raises(ValueError, match="a feature for each of one, two"):
        net.train(MAKE({"one": X, "three": X}, {"out": Y}, shuffle=False))


def test_a_model_must_be_compiled():
    with pytest.raises(ValueError, match="not been compiled"):
        model_to_estimator(sg.keras.Sequential([sg.keras.layers.Dense(1)]))
    with pytest.raises(ValueError, match="one of keras_model and"):
        model_to_estimator()
