"""Whole networks as ONNX models: the same numbers in onnxruntime, and again when we read them back."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from tests.onnx.exporting import agrees, operators


def image(rng, *shape: int) -> np.ndarray:
    return rng.random(shape, np.float32)


def perceptron(x):
    h = sg.layers.dense(x, 30, activation=sg.nn.relu)
    return sg.nn.softmax(sg.layers.dense(h, 10), name="probabilities")


def lenet(x):
    h = sg.layers.conv2d(x, 6, 5, padding="same", activation=sg.nn.relu)
    h = sg.layers.max_pooling2d(h, 2, 2)
    h = sg.layers.conv2d(h, 16, 5, activation=sg.nn.relu)
    h = sg.layers.flatten(sg.layers.max_pooling2d(h, 2, 2))
    h = sg.layers.dense(h, 120, activation=sg.nn.relu)
    return sg.layers.dense(sg.layers.dense(h, 84, activation=sg.nn.relu), 10)


def resnet(x, blocks=((3, 64), (4, 128), (6, 256), (3, 512))):
    def layer(h, channels, size, stride=1, activation=sg.nn.relu):
        h = sg.layers.conv2d(h, channels, size, stride, padding="same", use_bias=False)
        return activation(sg.layers.batch_normalization(h, training=False))

    h = sg.layers.max_pooling2d(layer(x, 64, 7, 2), 3, 2, padding="same")
    for group, (count, channels) in enumerate(blocks):
        for block in range(count):
            stride = 2 if group and not block else 1
            straight = h if block else layer(h, 4 * channels, 1, stride, sg.identity)
            h = layer(layer(h, channels, 1, stride), channels, 3)
            h = sg.nn.relu(layer(h, 4 * channels, 1, 1, sg.identity) + straight)
    return sg.layers.dense(sg.reduce_mean(h, [1, 2]), 1000)


def transformer(ids, width=16, heads=4):
    h = sg.nn.embedding_lookup(sg.get_variable("embedding", [50, width]), ids)
    batch, length = sg.unstack(sg.shape(ids))

    def normalized(x):
        mean, variance = sg.nn.moments(x, [-1], keep_dims=True)
        gain = sg.Variable(sg.ones([width]), name="gain")
        return (x - mean) * sg.rsqrt(variance + 1e-5) * gain

    def split(x):
        return sg.transpose(sg.reshape(x, [batch, length, heads, width // heads]), [0, 2, 1, 3])

    query, key, value = (split(sg.layers.dense(normalized(h), width)) for _ in range(3))
    mask = sg.matrix_band_part(sg.ones([length, length]), -1, 0)
    scores = sg.nn.softmax(sg.matmul(query, key, transpose_b=True) / 2.0 - 1e9 * (1 - mask))
    seen = sg.reshape(sg.transpose(sg.matmul(scores, value), [0, 2, 1, 3]), [batch, length, width])
    h = h + sg.layers.dense(seen, width)
    inner = sg.layers.dense(normalized(h), 4 * width)
    return h + sg.layers.dense(0.5 * inner * (1 + sg.erf(inner / np.float32(np.sqrt(2)))), width)


def test_perceptron(rng):
    x = sg.placeholder(sg.float32, [None, 20], name="x")
    model = agrees(perceptron(x), {x: image(rng, 4, 20)})
    assert operators(model) == {"MatMul": 2, "Add": 2, "Relu": 1, "Softmax": 1}


def test_lenet_has_a_transpose_at_either_end(rng):
    x = sg.placeholder(sg.float32, [None, 28, 28, 1], name="image")
    model = agrees(lenet(x), {x: image(rng, 3, 28, 28, 1)})
    assert operators(model) == {
        "Transpose": 2,
        "Conv": 2,
        "MaxPool": 2,
        "Relu": 4,
        "Reshape": 1,
        "MatMul": 3,
        "Add": 5,
    }


def test_channels_first_needs_no_transpose(rng):
    x = sg.placeholder(sg.float32, [None, 3, 8, 8], name="image")
    h = sg.transpose(x, [0, 2, 3, 1])  # as a user writes who wants the CPU's layout
    h = sg.transpose(sg.nn.relu(sg.layers.conv2d(h, 4, 3)), [0, 3, 1, 2])
    model = agrees(h, {x: image(rng, 2, 3, 8, 8)})
    assert operators(model)["Transpose"] == 2


def test_images_of_any_size(rng):
    x = sg.placeholder(sg.float32, [None, None, None, 3], name="image")
    h = sg.layers.conv2d(x, 4, 3, 2, padding="same", activation=sg.nn.relu)
    h = sg.layers.conv2d(h, 4, 1, 2, padding="same")
    h = sg.layers.average_pooling2d(sg.pad(h, [[0, 0], [1, 1], [1, 2], [0, 0]]), 3, 2, padding="same")
    model = agrees(sg.reduce_max(sg.concat([h, -h], 3), [1, 2]), {x: image(rng, 2, 13, 9, 3)})
    assert operators(model)["Transpose"] == 1


def test_convolutions_of_all_kinds(rng):
    x = sg.placeholder(sg.float32, [None, 8, 8, 4], name="image")
    h = sg.layers.separable_conv2d(x, 6, 3, dilation_rate=2, padding="same")
    h = sg.layers.conv2d_transpose(h, 4, 3, 2, padding="same")
    h = sg.nn.local_response_normalization(h)
    agrees(sg.image.resize_bilinear(h, [10, 12]), {x: image(rng, 2, 8, 8, 4)})


def test_a_small_residual_network(rng):
    x = sg.placeholder(sg.float32, [None, 16, 16, 3], name="image")
    model = agrees(resnet(x, ((2, 4), (2, 8))), {x: image(rng, 2, 16, 16, 3)}, rtol=1e-4)
    assert operators(model)["Transpose"] == 1


@pytest.mark.slow
def test_resnet50(rng):
    x = sg.placeholder(sg.float32, [None, 64, 64, 3], name="image")
    model = agrees(resnet(x), {x: image(rng, 2, 64, 64, 3)}, rtol=1e-3)
    assert operators(model)["Conv"] == 53
    assert operators(model)["Transpose"] == 1


def test_keras_model(rng):
    layers = [
        sg.keras.layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 1)),
        sg.keras.layers.BatchNormalization(),
        sg.keras.layers.GlobalAveragePooling2D(),
        sg.keras.layers.Dropout(0.5),
        sg.keras.layers.Dense(3, activation="softmax"),
    ]
    net = sg.keras.Sequential(layers)
    model = agrees(net.output, {net.input: image(rng, 2, 8, 8, 1)})
    assert not operators(model)["RandomUniform"]  # a model is for inference: keras's phase has its default


def test_an_image_network_of_any_size(rng):
    x = sg.placeholder(sg.float32, [None, None, None, 3], name="image")
    h = sg.layers.conv2d(x, 4, 3, padding="same", activation=sg.nn.relu)
    low = sg.layers.conv2d(sg.layers.max_pooling2d(h, 2, 2), 4, 3, padding="same")
    back = sg.image.resize_nearest_neighbor(low, sg.shape(h)[1:3])
    model = agrees(sg.concat([back, h], 3), {x: image(rng, 1, 8, 10, 3)})
    assert operators(model)["Transpose"] == 2


def test_keras_lstm(rng):
    x = sg.placeholder(sg.float32, [None, 6, 3], name="x")
    layer = sg.keras.layers.Bidirectional(sg.keras.layers.LSTM(4))
    assert operators(agrees(layer(x), {x: image(rng, 2, 6, 3)}))["Loop"] == 2


def test_unrolled_lstm(rng):
    x = sg.placeholder(sg.float32, [None, 7, 5], name="sequence")
    outputs, state = sg.nn.static_rnn(sg.nn.rnn_cell.LSTMCell(8), sg.unstack(x, axis=1), dtype=sg.float32)
    agrees([outputs[-1], state.c], {x: image(rng, 3, 7, 5)})


def test_lstm_as_a_loop(rng):
    x = sg.placeholder(sg.float32, [None, None, 5], name="sequence")
    outputs, state = sg.nn.dynamic_rnn(sg.nn.rnn_cell.LSTMCell(8), x, dtype=sg.float32)
    model = agrees([outputs, state.h], {x: image(rng, 3, 7, 5)})
    assert operators(model)["Loop"] == 1


def test_sequences_of_many_lengths(rng):
    x = sg.placeholder(sg.float32, [None, None, 5], name="sequence")
    lengths = sg.placeholder(sg.int32, [None], name="lengths")
    cell = sg.nn.rnn_cell.GRUCell(8)
    outputs, state = sg.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=sg.float32)
    agrees([outputs, state], {x: image(rng, 3, 7, 5), lengths: np.array([3, 7, 1], np.int32)})


def test_transformer(rng):
    ids = sg.placeholder(sg.int32, [None, None], name="ids")
    model = agrees(transformer(ids), {ids: rng.integers(0, 50, (2, 6), np.int32)})
    assert not operators(model)["Einsum"]


@pytest.mark.parametrize("count", [0, 3, 5])
def test_loops_and_branches(count):
    x = sg.placeholder(sg.float32, [3], name="x")
    n = sg.placeholder(sg.int32, [], name="n")

    def body(i, y):
        shrinks = sg.reduce_sum(y) > 10.0
        return i + 1, sg.cond(shrinks, lambda: y - x, lambda: y * 2.0 + x)

    _, looped = sg.while_loop(lambda i, y: i < n, body, [0, x])
    chosen = sg.case([(n < 2, lambda: x), (n < 4, lambda: x * 2.0)], default=lambda: looped)
    switched = sg.switch_case(n - 3, [lambda: x, lambda: -x, lambda: x * 5.0])
    agrees([looped, chosen, switched], {x: np.array([1, 2, 3], np.float32), n: np.array(count, np.int32)})


def test_functions_over_rows(rng):
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    squares = sg.map_fn(lambda row: sg.reduce_sum(row * row), x)
    total = sg.foldl(lambda total, row: total + row, x)
    smooth = sg.scan(lambda mean, row: mean * 0.5 + row, x)
    agrees([squares, total, smooth], {x: image(rng, 4, 3)})


def test_sizes_that_values_decide(rng):
    x = sg.placeholder(sg.float32, [None], name="x")
    agrees(
        [sg.boolean_mask(x, x > 0.5), sg.where(x > 0.5), sg.unique(x)[0], sg.argsort(x)], {x: image(rng, 6)}
    )


def test_a_long_chain():
    x = sg.placeholder(sg.float32, [2], name="x")
    y = x
    for _ in range(3000):
        y = y + 1.0
    assert operators(sg.onnx.export(y)) == {"Add": 3000}


def test_nested_loops():
    x = sg.placeholder(sg.float32, [2], name="x")

    def outer(i, total):
        _, inner = sg.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t * 1.5 + x), [0, total])
        return i + 1, inner

    _, y = sg.while_loop(lambda i, t: i < 4, outer, [0, x])
    agrees(y, {x: np.array([1, -2], np.float32)})


@pytest.mark.takes_long
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        pytest.param(perceptron, (20,), id="perceptron"),
        pytest.param(lenet, (28, 28, 1), id="lenet"),
        pytest.param(lambda x: resnet(x, ((1, 4), (2, 8))), (16, 16, 3), id="residual"),
        pytest.param(
            lambda x: sg.nn.dynamic_rnn(sg.nn.rnn_cell.GRUCell(4), x, dtype=sg.float32)[0], (7, 5), id="gru"
        ),
        pytest.param(lambda x: transformer(sg.cast(x * 49.0, sg.int32)), (6,), id="transformer"),
    ],
)
def test_what_is_written_can_be_read_back(rng, make, shape):
    x = sg.placeholder(sg.float32, [None, *shape], name="x")
    y, fed = make(x), image(rng, 2, *shape)
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        wanted = session.run(y, {x: fed})
        model = sg.onnx.export({"y": y}, session=session)
    loaded = sg.onnx.load(model.SerializeToString())
    with sg.Session(graph=loaded.graph) as session:
        found = session.run(loaded.outputs["y"], {loaded.inputs["x"]: fed})
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)
