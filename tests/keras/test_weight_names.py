"""Weights of Keras layers have the names of TensorFlow 1.15.5, so that its checkpoints fit."""

import pytest

import staticgraph as sg

K = sg.keras.layers


def sequences():
    return sg.placeholder(sg.float32, [2, 6, 3])


class Net(sg.keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.steps, self.last = K.Dense(2), K.TimeDistributed(K.Dense(1)), K.LSTM(2)

    def call(self, x):
        return self.last(self.steps(self.first(x)))


CASES = {
    "SimpleRNN": (lambda: K.SimpleRNN(2)(sequences()), "simple_rnn/kernel recurrent_kernel bias"),
    "GRU": (lambda: K.GRU(2, name="n")(sequences()), "n/kernel recurrent_kernel bias"),
    "LSTM": (lambda: K.LSTM(2)(sequences()), "lstm/kernel recurrent_kernel bias"),
    "stateful LSTM": (
        lambda: K.LSTM(2, stateful=True)(sequences()),
        "lstm/kernel recurrent_kernel bias Variable Variable_1",
    ),
    "both directions": (
        lambda: K.Bidirectional(K.GRU(2))(sequences()),
        "bidirectional/forward_gru/kernel recurrent_kernel bias, "
        "bidirectional/backward_gru/kernel recurrent_kernel bias",
    ),
    "a cell": (lambda: K.RNN(K.LSTMCell(2))(sequences()), "rnn/kernel recurrent_kernel bias"),
    "stacked cells": (
        lambda: K.RNN([K.GRUCell(2), K.GRUCell(3)])(sequences()),
        "rnn/kernel recurrent_kernel bias kernel_1 recurrent_kernel_1 bias_1",
    ),
    "every step": (
        lambda: K.TimeDistributed(K.Dense(2, name="d"))(sequences()),
        "time_distributed/kernel bias",
    ),
    "statistics of every step": (
        lambda: K.TimeDistributed(K.BatchNormalization())(sequences()),
        "time_distributed/gamma beta moving_mean moving_variance",
    ),
    "a model at every step": (
        lambda: K.TimeDistributed(sg.keras.Sequential([K.Dense(2, input_shape=(3,))]))(sequences()),
        "dense/kernel bias",
    ),
    "both directions at every step": (
        lambda: K.TimeDistributed(K.Bidirectional(K.LSTM(2)))(sg.placeholder(sg.float32, [2, 4, 6, 3])),
        "time_distributed/forward_lstm/kernel recurrent_kernel bias, "
        "time_distributed/backward_lstm/kernel recurrent_kernel bias",
    ),
    "a subclass": (
        lambda: Net()(sequences()),
        "net/dense/kernel bias, net/time_distributed/kernel bias, net/lstm/kernel recurrent_kernel bias",
    ),
}


def spelled_out(text):
    """Return all names for lists in which the first name of each has the scope."""
    names = []
    for group in text.split(", "):
        scope, _, rest = group.rpartition("/")
        names += [f"{scope}/{name}:0" for name in rest.split()]
    return names


@pytest.mark.parametrize("case", CASES)
def test_names(case):
    make, expected = CASES[case]
    make()
    assert [v.name for v in sg.global_variables()] == spelled_out(expected)


def test_a_layer_at_every_step_is_trained():
    layer = K.TimeDistributed(K.Dense(1, kernel_initializer="ones", kernel_regularizer="l2"))
    y = layer(sequences())
    assert len(layer.trainable_weights) == 2 and len(layer.losses) == 1
    assert all(g is not None for g in sg.gradients(y, layer.trainable_weights))
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        assert session.run(layer.layer.kernel).tolist() == [[1.0]] * 3
