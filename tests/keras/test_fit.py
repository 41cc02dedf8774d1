"""Training: what `fit`, `evaluate` and `predict` do with data in all its forms."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError

keras = sg.keras
layers = keras.layers
K = keras.backend

X = np.linspace(-1, 1, 60, dtype="float32").reshape(20, 3)
Y = X @ np.array([[1.0], [-2.0], [0.5]], dtype="float32")


@pytest.fixture(autouse=True)
def empty():
    K.clear_session()
    np.random.seed(0)
    yield
    K.clear_session()


def line(**options):
    model = keras.Sequential([layers.Dense(1, input_shape=[3], kernel_initializer="zeros")])
    model.compile(**{"optimizer": keras.optimizers.SGD(0.3), "loss": "mse"} | options)
    return model


def test_fit_finds_the_line():
    model = line()
    history = model.fit(X, Y, epochs=60, batch_size=5, verbose=0)
    losses = history.history["loss"]
    assert history.epoch == list(range(60)) and losses[-1] < 1e-3 < losses[0]
    np.testing.assert_allclose(model.predict(X), Y, atol=0.1)


def test_a_step_is_one_prepared_function_for_each_kind():
    model = line(metrics=["mae"])
    model.fit(X, Y, epochs=2, validation_data=(X, Y), verbose=0)
    model.predict(X)
    assert {key[0] for key in model._training["functions"]} == {"train", "test", "predict"}
    functions = dict(model._training["functions"])
    model.fit(X, Y, epochs=2, validation_data=(X, Y), verbose=0)
    assert model._training["functions"] == functions


def test_the_last_batch_may_be_smaller():
    model = line()
    assert model.predict(X, batch_size=7).shape == (20, 1)
    first, second = (
        model.evaluate(X, Y, batch_size=7, verbose=0),
        model.evaluate(X, Y, batch_size=20, verbose=0),
    )
    np.testing.assert_allclose(first, second, rtol=1e-5)


def test_generators_and_sequences_train_like_arrays():
    def batches():
        while True:
            for start in range(0, 20, 5):
                yield X[start : start + 5], Y[start : start + 5]

    class Parts(keras.utils.Sequence):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return X[index * 5 : index * 5 + 5], Y[index * 5 : index * 5 + 5]

    fitted = []
    for data in ((X, Y), (batches(),), (Parts(),)):
        model = line()
        options = {"batch_size": 5} if len(data) == 2 else {"steps_per_epoch": 4}
        model.fit(*data, epochs=3, shuffle=False, verbose=0, **options)
        fitted.append(model.get_weights()[0])
    np.testing.assert_allclose(fitted[1], fitted[0], rtol=1e-6)
    np.testing.assert_allclose(fitted[2], fitted[0], rtol=1e-6)
    assert model.predict_generator(Parts()).shape == (20, 1)
    np.testing.assert_allclose(model.evaluate_generator(Parts()), model.evaluate(X, Y, verbose=0), rtol=1e-5)


def test_a_generator_that_ends_is_told():
    model = line()
    with pytest.raises(ValueError, match="ended before it gave 5 batches"):
        model.fit_generator(iter([(X, Y)] * 3), steps_per_epoch=5, verbose=0)


def test_data_by_names_and_inputs_in_lists():
    a, b = keras.Input([3], name="a"), keras.Input([2], name="b")
    model = keras.Model([a, b], layers.Dense(1, name="sum")(layers.concatenate([a, b])))
    model.compile("sgd", {"sum": "mse"})
    other = X[:, :2]
    by_name = model.evaluate({"b": other, "a": X}, {"sum": Y}, verbose=0)
    assert by_name == model.evaluate([X, other], Y, verbose=0)


def test_what_does_not_fit_is_told_with_its_name():
    model = line()
    with pytest.raises(FeedError, match=r"dense_input must have shape \(\?, 3\), the array has \[20, 4\]"):
        model.predict(np.zeros([20, 4]))
    with pytest.raises(FeedError, match="as many samples"):
        model.fit(X, Y[:7], verbose=0)
    with pytest.raises(RuntimeError, match="compile"):
        keras.Sequential([layers.Dense(1, input_shape=[3])]).fit(X, Y, verbose=0)


def test_targets_of_one_axis_are_columns():
    model = line()
    np.testing.assert_allclose(model.evaluate(X, Y[:, 0], verbose=0), model.evaluate(X, Y, verbose=0))


def test_metrics_begin_anew_with_each_epoch_and_batch():
    model = line(metrics=["mae"])
    first = model.test_on_batch(X, Y)
    assert model.test_on_batch(X, Y) == first
    assert model.evaluate(X, Y, verbose=0)[1] == pytest.approx(float(first[1]), rel=1e-5)


def test_a_model_can_be_trained_in_a_session_of_the_program():
    model = line()
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        model.fit(X, Y, epochs=1, verbose=0)
        fetched = sess.run(model.output, {model.input: X})
        np.testing.assert_allclose(fetched, model.predict(X))


def test_verbose_output(capsys):
    model = line(metrics=["mae"])
    model.fit(X, Y, epochs=2, batch_size=10, validation_data=(X, Y), verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Train on 20 samples, validate on 20 samples"
    assert lines[1] == "Epoch 1/2" and lines[3] == "Epoch 2/2" and len(lines) == 5
    for shown in lines[2::2]:
        assert shown.startswith("20/20 [==============================] - ")
        assert all(
            name in shown
            for name in (
                " - loss: ",
                " - mean_absolute_error: ",
                " - val_loss: ",
                " - val_mean_absolute_error: ",
            )
        )
    model.fit(X, Y, epochs=1, verbose=2)
    assert capsys.readouterr().out.count(" - loss: ") == 1
    model.fit(X, Y, epochs=1, verbose=0)
    assert capsys.readouterr().out == ""


def test_frozen_layers_stay_and_adversaries_take_turns():
    noise = keras.Input([3])
    generator = keras.Sequential([layers.Dense(3, input_shape=[3])])
    critic = keras.Sequential([layers.BatchNormalization(input_shape=[3]), layers.Dense(1)])
    critic.compile("sgd", "mse")
    critic.trainable = False
    both = keras.Model(noise, critic(generator(noise)))
    both.compile("sgd", "mse")
    before = critic.get_weights()
    both.train_on_batch(X, Y)
    for old, new in zip(before, critic.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    critic.train_on_batch(X, Y)
    assert all((old != new).any() for old, new in zip(before, critic.get_weights(), strict=True))


def test_changing_the_learning_rate_of_a_compiled_model():
    model = line()
    model.train_on_batch(X, Y)
    K.set_value(model.optimizer.lr, 0.0)
    before = model.get_weights()[0]
    model.train_on_batch(X, Y)
    np.testing.assert_array_equal(model.get_weights()[0], before)
    assert K.get_value(model.optimizer.learning_rate) == 0.0


@pytest.mark.parametrize("name, moved", [("Adam", True), ("Nadam", False), ("RMSprop", False)])
def test_averages_of_rows_without_a_gradient_decay(name, moved):
    """All averages decay, as in TF1; whether such rows move is the optimizer's own."""
    w = sg.Variable(np.ones([3, 2], "float32"))
    optimizer = getattr(keras.optimizers, name)(0.1)
    row = sg.placeholder(sg.int32, [1])
    step = optimizer.minimize(sg.reduce_sum(sg.gather(w, row)), [w])
    average = optimizer.get_slot(w, optimizer.get_slot_names()[-1])
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sess.run(step, {row: [0]})
        (before, decaying), _ = sess.run([w, average]), sess.run(step, {row: [1]})
        after, decayed = sess.run([w, average])
    assert decayed[0, 0] < decaying[0, 0] and decayed[2, 0] == 0
    assert bool(after[0, 0] != before[0, 0]) is moved
    assert after[1, 0] < before[1, 0] and after[2, 0] == 1


@pytest.mark.parametrize("optimizer", ["sgd", "adam", sg.train.AdamOptimizer()])
def test_a_model_without_trained_weights_counts_its_steps(optimizer, caplog):
    """TensorFlow 1.15.5 trains such models, so that moving averages and metrics may be watched."""
    x = keras.Input([3])
    model = keras.Model(x, layers.Dense(1, trainable=False)(x))
    model.compile(optimizer, "mse", metrics=["mae"])
    history = model.fit(X, np.ones([len(X), 1]), epochs=2, verbose=0).history
    assert history["loss"][0] == pytest.approx(history["loss"][1], rel=1e-6) and "no trainable" in caplog.text
    if isinstance(optimizer, str):
        assert keras.backend.get_value(model.optimizer.iterations) == 2 * -(-len(X) // 32)


@pytest.mark.parametrize("known", ["by build", "by data"])
def test_a_model_may_be_compiled_before_it_is_built(known):
    model = keras.Sequential([layers.Dense(2), layers.Dense(1)])
    model.compile("sgd", "mse")
    if known == "by build":
        model.build((None, 3))
    history = model.fit(X, np.ones([len(X), 1]), epochs=3, verbose=0).history["loss"]
    assert history[2] < history[0] and model.count_params() == 11


def test_each_graph_has_its_own_session_to_which_a_program_may_return():
    """Models of two graphs in turn, as a program has that compares them: the weights of each stay."""
    models, data = {}, np.ones([4, 3], "float32")
    for graph in (sg.Graph(), sg.Graph()):
        with graph.as_default():
            model = keras.Sequential([keras.layers.Dense(2, input_shape=[3])])
            model.compile("sgd", "mse")
            model.fit(data, data[:, :2], verbose=0)
            models[graph] = model, model.predict(data), K.get_session()
            assert models[graph][2].graph is graph
    for graph, (model, before, session) in models.items():
        with graph.as_default():
            np.testing.assert_array_equal(model.predict(data), before)
            assert K.get_session() is session
    (first, (_, _, kept)), (last, (_, _, closed)) = models.items()
    with last.as_default():
        mine = sg.Session()
        K.set_session(mine)
        assert K.get_session() is mine
    with first.as_default():
        assert K.get_session() is kept
    assert closed is not mine
    with sg.Graph().as_default():
        assert K.get_session() not in (kept, closed, mine)
