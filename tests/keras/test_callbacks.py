"""Callbacks: what is called when, and what they do."""

import csv
import math

import numpy as np
import pytest

import staticgraph as sg

keras = sg.keras
layers = keras.layers
K = keras.backend

X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
Y = X[:, :1] * 2


@pytest.fixture(autouse=True)
def empty():
    K.clear_session()
    yield
    K.clear_session()


def line(rate=0.1):
    model = keras.Sequential([layers.Dense(1, input_shape=[3], kernel_initializer="zeros")])
    model.compile(keras.optimizers.SGD(rate), "mse")
    return model


def fit(model, *callbacks, epochs=3, **options):
    return model.fit(
        X, Y, **{"batch_size": 4, "epochs": epochs, "verbose": 0, "callbacks": list(callbacks)} | options
    )


def test_what_is_called_when():
    calls = []

    class Recorder(keras.callbacks.Callback):
        def __getattribute__(self, name):
            if name.startswith("on_") and name not in ("on_batch_begin", "on_batch_end"):
                calls.append(name.removeprefix("on_"))
            return super().__getattribute__(name)

        def on_batch_end(self, batch, logs=None):
            assert logs["size"] == 4 and logs["batch"] == batch and "loss" in logs

    fit(line(), Recorder(), epochs=1, validation_data=(X, Y), batch_size=4)
    assert calls[:2] == ["train_begin", "epoch_begin"] and calls[-2:] == ["epoch_end", "train_end"]
    assert calls.count("train_batch_begin") == calls.count("train_batch_end") == 2
    assert calls.count("test_begin") == 1 and calls.index("test_begin") > calls.index("train_batch_end")


def test_early_stopping_restores_the_best_weights():
    model, seen = line(rate=3.0), []  # a rate with which it runs away
    watch = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: seen.append(model.get_weights()[0])
    )
    stop = keras.callbacks.EarlyStopping("loss", patience=2, restore_best_weights=True)
    history = fit(model, watch, stop, epochs=20)
    losses = history.history["loss"]
    assert len(losses) == int(np.argmin(losses)) + 3 and stop.best == min(losses)
    np.testing.assert_array_equal(model.get_weights()[0], seen[int(np.argmin(losses))])


def test_the_learning_rate_follows_a_schedule_and_falls_on_a_plateau():
    model = line()
    history = fit(model, keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1)))
    np.testing.assert_allclose(history.history["lr"], [0.1, 0.05, 0.1 / 3], rtol=1e-6)
    plateau = keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=1e6)
    fit(model, plateau, epochs=4)
    assert float(K.get_value(model.optimizer.lr)) == pytest.approx(0.1 / 3 / 8, rel=1e-5)


def test_a_rate_is_watched_without_logs():
    model = line()
    plateau = keras.callbacks.ReduceLROnPlateau("loss")
    plateau.set_model(model)
    plateau.on_train_begin()
    with pytest.warns(UserWarning, match="loss"):
        plateau.on_epoch_end(0)


def test_validation_every_so_many_epochs_as_numpy_counts():
    history = line().fit(X, Y, epochs=4, verbose=0, validation_data=(X, Y), validation_freq=np.int64(2))
    assert len(history.history["val_loss"]) == 2


def test_checkpoints_are_named_by_their_epoch_and_the_best_is_kept(tmp_path):
    model = line()
    every = keras.callbacks.ModelCheckpoint(tmp_path / "w.{epoch:02d}-{loss:.2f}", save_weights_only=True)
    best = keras.callbacks.ModelCheckpoint(tmp_path / "best", "loss", save_best_only=True)
    history = fit(model, every, best)
    names = [f"w.{i + 1:02d}-{loss:.2f}.index" for i, loss in enumerate(history.history["loss"])]
    assert set(names) <= {path.name for path in tmp_path.iterdir()}
    loaded = keras.models.load_model(tmp_path / "best")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_the_table_of_epochs(tmp_path):
    path = tmp_path / "log.csv"
    model = line()
    history = fit(model, keras.callbacks.CSVLogger(path))
    fit(model, keras.callbacks.CSVLogger(path, append=True), initial_epoch=3, epochs=4)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["0", "1", "2", "3"]
    assert [float(row["loss"]) for row in rows[:3]] == history.history["loss"]


def test_tensorboard_gets_the_loss_of_each_epoch(tmp_path):
    history = fit(line(), keras.callbacks.TensorBoard(tmp_path))
    found = [
        value.simple_value
        for file in tmp_path.iterdir()
        for event in sg.summary.summary_iterator(str(file))
        for value in event.summary.value
        if value.tag == "epoch_loss"
    ]
    np.testing.assert_allclose(found, history.history["loss"], rtol=1e-6)


def test_tensorboard_gets_weights_as_histograms_and_images_when_asked(tmp_path):
    fit(line(), keras.callbacks.TensorBoard(tmp_path, histogram_freq=2, write_images=True), epochs=3)
    values = [
        (event.step, value.tag, value)
        for file in tmp_path.iterdir()
        for event in sg.summary.summary_iterator(str(file))
        for value in event.summary.value
    ]
    histograms = [(step, tag) for step, tag, value in values if value.HasField("histo")]
    assert [step for step, _ in histograms] == [0, 0, 2, 2]
    assert {tag.rpartition("/")[2] for _, tag in histograms} == {"kernel_0", "bias_0"}
    assert sum(value.HasField("image") for _, _, value in values) == 4


def test_a_loss_that_is_no_number_ends_the_training(capsys):
    history = fit(line(rate=math.inf), keras.callbacks.TerminateOnNaN(), epochs=5)
    assert len(history.epoch) == 1
    assert "Invalid loss, terminating training" in capsys.readouterr().out


def test_watching_what_is_not_there_warns():
    with pytest.warns(UserWarning, match="no metric 'val_loss' to watch, only loss"):
        fit(line(), keras.callbacks.EarlyStopping(), epochs=1)


@pytest.mark.parametrize("ending", ["png", "svg", "dot"])
def test_a_model_is_drawn_into_a_file(tmp_path, ending):
    model = line()
    fit(model)
    target = tmp_path / f"model.{ending}"
    picture = keras.utils.plot_model(model, target, show_shapes=True)
    assert target.stat().st_size > 100 and model.layers[0].name in picture.svg
    with pytest.raises(ValueError, match="does not end with a format"):
        keras.utils.plot_model(model, tmp_path / "model.txt")
