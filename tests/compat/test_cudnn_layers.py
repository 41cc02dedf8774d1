"""`tf.contrib.cudnn_rnn`'s layers against their formulas in NumPy, and their names in checkpoints."""

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf

cudnn = tf.contrib.cudnn_rnn
TIME, BATCH, SIZE, UNITS = 4, 3, 5, 2


@pytest.fixture(autouse=True)
def empty_graph():
    tf.reset_default_graph()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def steps(kind, x, weights, state):
    """One layer in one direction over x [time, batch, size], by the equations in cuDNN's manual."""
    outputs = []
    h, c = state
    for now in x:
        if kind == "CudnnLSTM":
            kernel, bias = weights
            i, g, f, o = np.split(np.concatenate([now, h], 1) @ kernel + bias, 4, 1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        elif kind == "CudnnGRU":
            gates, of_input, of_state, gates_bias, input_bias, state_bias = weights
            r, u = np.split(sigmoid(np.concatenate([now, h], 1) @ gates + gates_bias), 2, 1)
            candidate = np.tanh(now @ of_input + input_bias + r * (h @ of_state + state_bias))
            h = u * h + (1 - u) * candidate
        else:
            kernel, bias = weights
            made = np.concatenate([now, h], 1) @ kernel + bias
            h = np.tanh(made) if kind == "CudnnRNNTanh" else np.maximum(made, 0)
        outputs.append(h)
    return np.stack(outputs), (h, c)


def in_order(kind, variables):
    """The variables of each layer and direction: kernels first."""
    count = 6 if kind == "CudnnGRU" else 2
    for at in range(0, len(variables), count):
        yield sorted(variables[at : at + count], key=lambda item: item[0].endswith("bias"))


@pytest.mark.takes_long
@pytest.mark.parametrize("kind", ["CudnnLSTM", "CudnnGRU", "CudnnRNNTanh", "CudnnRNNRelu"])
@pytest.mark.parametrize("directions", [1, 2])
def test_layers_compute_their_formulas(kind, directions):
    rng = np.random.RandomState(1)
    x = rng.randn(TIME, BATCH, SIZE).astype(np.float32)
    parts = 2 if kind == "CudnnLSTM" else 1
    given = [rng.randn(2 * directions, BATCH, UNITS).astype(np.float32) for _ in range(parts)]
    direction = {1: "unidirectional", 2: "bidirectional"}[directions]
    layer = getattr(cudnn, kind)(2, UNITS, direction=direction, bias_initializer=tf.constant_initializer(0.3))
    outputs, state = layer(tf.constant(x), initial_state=tuple(map(tf.constant, given)))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found, last = sess.run([outputs, state])
        variables = [(v.op.name, sess.run(v)) for v in layer.trainable_variables]
    expected, states = x, []
    of_layers = [[value for _, value in each] for each in in_order(kind, variables)]
    for number in range(2):
        made = []
        for side in range(directions):
            at = number * directions + side
            state = (given[0][at], given[-1][at])
            turned = expected[::-1] if side else expected
            out, end = steps(kind, turned, of_layers[at], state)
            made.append(out[::-1] if side else out)
            states.append(end)
        expected = np.concatenate(made, 2)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
    for part in range(parts):
        np.testing.assert_allclose(
            last[part], np.stack([each[part] for each in states]), rtol=2e-5, atol=2e-6
        )


def test_names_are_those_of_checkpoints_and_a_second_call_shares_them():
    layer = cudnn.CudnnLSTM(2, UNITS)
    x = tf.placeholder(tf.float32, [None, None, SIZE])
    layer(x)
    layer(x)
    cell = "cudnn_compatible_lstm_cell"
    prefix = "cudnn_lstm/rnn/multi_rnn_cell/cell_"
    names = [f"{prefix}{n}/{cell}/{part}" for n in (0, 1) for part in ("kernel", "bias")]
    assert [v.op.name for v in tf.global_variables()] == names
    assert layer.input_size == SIZE and layer.canonical_weight_shapes[0] == (UNITS, SIZE)
    other = cudnn.CudnnGRU(1, UNITS, direction="bidirectional", name="both")
    other(x)
    assert other.trainable_variables[0].op.name == (
        "both/stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/cudnn_compatible_gru_cell/gates/kernel"
    )
    assert [
        cudnn.CudnnRNNTanh(1, 1)(x)[0].name.split("/")[0],
        cudnn.CudnnRNNRelu(1, 1)(x)[0].name.split("/")[0],
    ] == ["cudnn_rnn_tanh", "cudnn_rnn_relu"]


def test_lengths_and_the_order_of_axes():
    x = np.random.RandomState(0).randn(TIME, BATCH, SIZE).astype(np.float32)
    layer = cudnn.CudnnGRU(1, UNITS)
    by_time, (last,) = layer(x, sequence_lengths=[1, 4, 2])
    by_batch, (turned,) = layer(x.transpose(1, 0, 2), sequence_lengths=[1, 4, 2], time_major=False)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        first, second, end, end_turned = sess.run([by_time, by_batch, last, turned])
    np.testing.assert_array_equal(first, second.transpose(1, 0, 2))
    np.testing.assert_array_equal(end, end_turned.transpose(1, 0, 2))
    np.testing.assert_array_equal(first[1:, 0], 0)
    np.testing.assert_array_equal(end[0, 2], first[1, 2])


def test_dropout_is_between_layers_and_in_training_only():
    x = np.ones((2, 3, SIZE), np.float32)
    layer = cudnn.CudnnLSTM(2, 8, dropout=0.5, seed=1)
    training, quiet = layer(x)[0], layer(x, training=False)[0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert not np.array_equal(*sess.run([training, quiet]))
        np.testing.assert_array_equal(sess.run(quiet), sess.run(quiet))


@pytest.mark.parametrize(
    "options, text",
    [
        ({"direction": "up"}, "direction is 'up'"),
        ({"input_mode": "skip_input"}, "is not supported"),
        ({"dtype": tf.int32}, "float16, float32 or float64"),
    ],
)
def test_wrong_arguments(options, text):
    with pytest.raises(ValueError, match=text):
        cudnn.CudnnLSTM(1, UNITS, **options)


def test_inputs_need_three_axes():
    with pytest.raises(ValueError, match="3 axes"):
        cudnn.CudnnLSTM(1, UNITS)(np.ones((2, 3), np.float32))
    with pytest.raises(TypeError, match="initial_state is a tuple"):
        cudnn.CudnnGRU(1, UNITS)(np.ones((2, 3, 4), np.float32), initial_state=[1])
