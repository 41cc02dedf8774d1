"""Layers and models: what they own, how they are called again, and what happens in training only."""

from functools import partial

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import GraphError, ShapeError

keras = sg.keras
layers = keras.layers
K = keras.backend

X = np.random.RandomState(0).randn(40, 4).astype("float32") * 3 + 1


@pytest.fixture(autouse=True)
def empty():
    K.clear_session()
    yield
    K.clear_session()


def normalised():
    model = keras.Sequential([layers.BatchNormalization(momentum=0.5, input_shape=[4]), layers.Dense(1)])
    return model, model.layers[0]


def moving(layer):
    return K.batch_get_value([layer.moving_mean, layer.moving_variance])


def expected_moving(steps):
    rest = 0.5**steps
    return X.mean(0) * (1 - rest), X.var(0) * (1 - rest) + rest


def assert_moved(layer, steps):
    for found, wanted in zip(moving(layer), expected_moving(steps), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_fit_moves_the_averages_and_evaluate_does_not():
    model, layer = normalised()
    model.compile("sgd", "mse")
    model.fit(X, X[:, :1], batch_size=40, epochs=2, verbose=0)
    assert_moved(layer, 2)
    model.evaluate(X, X[:, :1], verbose=0)
    model.predict(X)
    assert_moved(layer, 2)


@pytest.mark.parametrize(
    "make", [lambda: sg.train.GradientDescentOptimizer(0.01), lambda: keras.optimizers.SGD(0.01)]
)
def test_train_operations_move_the_averages(make):
    x = sg.placeholder(sg.float32, [None, 4])
    layer = layers.BatchNormalization(momentum=0.5)
    loss = sg.reduce_mean(sg.square(layers.Dense(1)(layer(x, training=True))))
    step = make().minimize(loss, var_list=sg.trainable_variables())
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sess.run(step, {x: X})
        sess.run(step, {x: X})
        assert_moved(layer, 2)


def test_an_optimizer_of_train_moves_the_averages_in_fit():
    model, layer = normalised()
    model.compile(sg.train.GradientDescentOptimizer(0.01), "mse")
    model.fit(X, X[:, :1], batch_size=40, epochs=2, verbose=0)
    assert_moved(layer, 2)


def test_the_learning_phase_can_be_fed_and_set():
    x = keras.Input([4])
    y = layers.Dropout(0.5)(x)
    with sg.Session() as sess:
        data = np.ones([200, 4], "float32")
        assert (sess.run(y, {x: data}) == 1).all()
        assert set(np.unique(sess.run(y, {x: data, K.learning_phase(): True}))) == {0.0, 2.0}
    K.clear_session()
    K.set_learning_phase(1)
    made = K.eval(layers.GaussianNoise(1.0)(sg.zeros([3, 4])))
    assert made.std() > 0


def test_dropout_works_in_fit_only():
    x = keras.Input([4])
    model = keras.Model(x, layers.Dropout(0.9)(layers.Dense(4, kernel_initializer="ones")(x)))
    model.compile(keras.optimizers.SGD(0.0), "mse")
    trained = {float(model.train_on_batch(X, X)) for _ in range(4)}
    judged = {float(model.test_on_batch(X, X)) for _ in range(4)}
    assert len(trained) == 4 and len(judged) == 1


def test_a_layer_may_be_shared_and_a_model_called_again():
    shared = layers.Dense(2)
    a, b = keras.Input([4]), keras.Input([4])
    inner = keras.Model(a, shared(a))
    model = keras.Model([a, b], layers.subtract([inner(a), inner(b)]))
    assert len(model.weights) == 2
    np.testing.assert_allclose(model.predict([X, X]), 0.0, atol=1e-6)
    with pytest.raises(AttributeError, match="has been called"):
        _ = shared.output


def test_operations_between_layers_are_part_of_a_model():
    x = keras.Input([4])
    y = sg.concat([layers.Dense(2, kernel_initializer="ones")(x) * 2.0 + 1.0, x], axis=1)
    model = keras.Model(x, y)
    again = keras.Input([4])
    outer = keras.Model(again, model(again * 1.0))
    np.testing.assert_allclose(outer.predict(X), model.predict(X), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="not a layer"):
        model.to_json()


class Block(keras.Model):
    """Layers in attributes, in a list that grows, and a variable of its own."""

    def __init__(self):
        super().__init__(name="block")
        self.parts = []
        for size in (3, 2):
            self.parts.append(layers.Dense(size))
        self.drop = layers.Dropout(0.5)
        self.scale = sg.Variable(1.0, name="scale")

    def call(self, inputs, training=None):
        for part in self.parts:
            inputs = part(inputs)
        return self.drop(inputs, training=training) * self.scale


def test_a_subclass_is_built_by_its_first_data():
    model = Block()
    model.compile("adam", "mse")
    model.fit(X, X[:, :2], epochs=1, verbose=0)
    assert len(model.trainable_weights) == 5 and model.predict(X).shape == (40, 2)
    assert [part.name for part in model.layers] == ["dense", "dense_1", "dropout"]


def test_losses_of_layers_are_added_once_and_only_where_they_belong():
    x, other = keras.Input([4]), keras.Input([4])
    layer = layers.Dense(2, kernel_regularizer="l2", activity_regularizer="l1")
    first, second = keras.Model(x, layer(x)), keras.Model(other, layer(other))
    assert len(layer.losses) == 3 and len(first.losses) == len(second.losses) == 2
    first.compile("sgd", "mse")
    w = layer.get_weights()[0]
    wanted = 0.01 * (w**2).sum() + 0.01 * np.abs(X @ w).sum() / 40
    targets = first.predict(X)
    assert first.evaluate(X, targets, batch_size=40, verbose=0) == pytest.approx(wanted, rel=1e-4)


def test_weights_can_be_given_and_constraints_hold():
    layer = layers.Dense(1, weights=[np.full([4, 1], 2.0), np.zeros(1)], kernel_constraint="unit_norm")
    model = keras.Sequential([layers.InputLayer([4]), layer])
    model.compile("sgd", "mse")
    np.testing.assert_allclose(model.predict(X), X.sum(1, keepdims=True) * 2, rtol=1e-5)
    model.train_on_batch(X, X[:, :1])
    assert np.linalg.norm(layer.get_weights()[0]) == pytest.approx(1.0, rel=1e-4)


def test_a_stateful_layer_remembers_until_it_is_reset():
    model = keras.Sequential([layers.LSTM(3, stateful=True, batch_input_shape=(2, 5, 4))])
    data = X.reshape(2, 20, 4)[:, :5]
    first = model.predict(data, batch_size=2)
    assert np.abs(model.predict(data, batch_size=2) - first).max() > 1e-4
    model.reset_states()
    np.testing.assert_allclose(model.predict(data, batch_size=2), first, rtol=1e-6)


@pytest.mark.takes_long
def test_a_loop_and_its_unrolled_form_are_equal_and_any_length_will_do():
    data = X.reshape(4, 10, 4)
    looped = keras.Sequential([layers.GRU(3, input_shape=(None, 4))])
    unrolled = keras.Sequential(
        [layers.GRU(3, unroll=True, input_shape=(10, 4), weights=looped.get_weights())]
    )
    np.testing.assert_allclose(looped.predict(data), unrolled.predict(data), atol=1e-6)
    assert looped.predict(data[:, :7]).shape == (4, 3)


def test_states_go_from_one_layer_to_another():
    x, later = keras.Input([5, 4]), keras.Input([3, 4])
    _, *states = layers.LSTM(2, return_state=True)(x)
    out = layers.LSTM(2, return_sequences=True)(later, initial_state=states)
    model = keras.Model([x, later], out)
    data = X.reshape(2, 20, 4)
    one = model.predict([data[:, :5], data[:, 5:8]])
    two = model.predict([data[:, 8:13], data[:, 5:8]])
    assert one.shape == (2, 3, 2) and np.abs(one - two).max() > 1e-4


def test_errors_name_the_layer():
    with pytest.raises(ShapeError, match=r"layer conv2d: its input .* expected ndim=4, found ndim=2"):
        layers.Conv2D(3, 3)(keras.Input([4]))
    with pytest.raises(GraphError, match="does not come from the inputs"):
        keras.Model(keras.Input([4]), layers.Dense(1)(keras.Input([4])))
    with pytest.raises(TypeError, match="unknown argument 'unitz'"):
        layers.Dense(3, unitz=4)
    inputs = {"shape": keras.Input, "batch_shape": keras.Input}
    firsts = dict.fromkeys(["input_shape", "batch_input_shape"], partial(layers.Dense, 1))
    for name, make in {**inputs, **firsts}.items():
        with pytest.raises(TypeError, match=rf"^{name} is 3, .* list of sizes") as raised:
            make(**{name: 3})
        assert "test_layers.py" in str(raised.value) and f"write {name}=[3]" in str(raised.value)
    with pytest.raises(TypeError, match=r"^input_shape is 3, .* list of sizes"):
        layers.InputLayer(3)
    with pytest.raises(ValueError, match="no layer named 'nothing'"):
        keras.Sequential([layers.Dense(1, input_shape=[2])]).get_layer("nothing")


def test_clear_session_begins_names_and_graphs_anew():
    graph = sg.get_default_graph()
    assert layers.Dense(1).name == "dense" and layers.Dense(1).name == "dense_1"
    K.clear_session()
    assert sg.get_default_graph() is not graph and layers.Dense(1).name == "dense"


def test_arguments_by_position_are_those_of_keras():
    layer = layers.GRU(3, "relu", "sigmoid", False)
    found = layer.get_config()
    assert (found["activation"], found["recurrent_activation"], found["use_bias"]) == (
        "relu",
        "sigmoid",
        False,
    )
    assert layers.LSTM(3, "relu").cell.activation is keras.activations.relu


def test_states_between_batches_are_no_weights():
    layer = sg.keras.layers.LSTM(2, stateful=True)
    model = sg.keras.Model(x := sg.keras.Input(batch_shape=[2, 3, 4]), layer(x))
    assert len(model.weights) == len(model.get_weights()) == 3  # as in TensorFlow 1.15.5
    data = np.ones([2, 3, 4], "float32")
    first, second = model.predict(data, 2), model.predict(data, 2)
    assert not np.array_equal(first, second)
    model.reset_states()
    assert np.array_equal(model.predict(data, 2), first)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda K: K.Dense(3), (None, 4)),
        (lambda K: K.Conv2D(3, 2), [None, 4, 4, 1]),
        (lambda K: K.LocallyConnected1D(3, 2), (None, 4, 2)),
        (lambda K: K.LSTM(3), (None, 5, 2)),
        (lambda K: K.GRU(3), [2, 5, 2]),
        (lambda K: K.ConvLSTM2D(3, 2), (None, 5, 4, 4, 1)),
        (lambda K: K.BatchNormalization(), (None, 4)),
        (lambda K: K.LSTMCell(3), (None, 4)),
    ],
)
def test_build_takes_a_shape_in_any_form(make, shape):
    layer = make(sg.keras.layers)
    layer.build(shape)
    assert layer.built and layer.weights
