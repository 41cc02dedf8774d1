"""Sessions on a card: what a graph gives there is what it gives on the processor."""

import numpy as np
import pytest

import staticgraph as sg
from tests.gpu.sessions import check_alike, draws, played

pytestmark = pytest.mark.takes_long


def convolutions():
    x, y = sg.placeholder(sg.float32, [None, 8, 8, 1]), sg.placeholder(sg.int32, [None])
    h = sg.layers.conv2d(x, 8, 3, activation=sg.nn.relu, padding="same", use_bias=False)
    h = sg.layers.batch_normalization(sg.layers.max_pooling2d(h, 2, 2), training=True)
    h = sg.layers.conv2d(h, 8, 3, activation=sg.nn.relu, use_bias=False)
    logits = sg.layers.dense(sg.layers.flatten(h), 10)
    loss = sg.reduce_mean(sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    images, labels = draws(1, 8, 8, 8, 1), np.random.default_rng(2).integers(0, 10, (4, 8))
    step = sg.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return [loss, step], lambda n: {x: images[n % 4], y: labels[n % 4]}


def dropout():
    x = sg.placeholder(sg.float32, [None, 40])
    h = sg.nn.dropout(sg.layers.dense(x, 30, activation=sg.nn.tanh), 0.5)
    loss = sg.reduce_mean(sg.square(sg.layers.dense(h, 3)))
    values = draws(3, 16, 40)
    return [loss, h, sg.train.AdamOptimizer(0.01).minimize(loss)], lambda n: {x: values[n % 4][: 8 + n % 2]}


def recurrent():
    x = sg.placeholder(sg.float32, [4, 7, 5])
    out, state = sg.nn.dynamic_rnn(sg.nn.rnn_cell.LSTMCell(6), x, dtype=sg.float32)
    loss = sg.reduce_mean(out * out) + sg.reduce_sum(state.c)
    values = draws(4, 4, 7, 5)
    step = sg.train.GradientDescentOptimizer(0.1).minimize(loss)
    return [loss, step], lambda n: {x: values[n % 4]}


def loop_until():
    """The card finds out how many rounds there are."""
    x = sg.placeholder(sg.float32, [3])
    rounds, grown = sg.while_loop(
        lambda i, v: sg.reduce_sum(v) < 100.0, lambda i, v: (i + 1, v * 1.5), [sg.constant(0), x]
    )
    start = np.array([1, 2, 3], np.float32)
    return [rounds, grown, sg.gradients(grown, x)[0]], lambda n: {x: start * (n + 1)}


def loop_with_rows():
    """Rows are read and written at a counter whose end the data decide."""
    x = sg.placeholder(sg.float32, [6, 16])
    array = sg.TensorArray(sg.float32, 6).unstack(x)
    out = sg.TensorArray(sg.float32, 6)

    def body(i, total, out):
        row = array.read(i) * 2.0
        return i + 1, total + row, out.write(i, total + row)

    count, total, out = sg.while_loop(
        lambda i, total, out: sg.logical_and(i < 6, sg.reduce_sum(total) < 20.0),
        body,
        [sg.constant(0), sg.zeros([16]), out],
    )
    values = draws(5, 6, 16) + 0.3
    return [count, total, out.stack()], lambda n: {x: values[n % 4]}


def scans():
    x = sg.placeholder(sg.float32, [6, 4])
    running = sg.scan(lambda a, e: a * 0.5 + e, x)
    mapped = sg.map_fn(lambda e: sg.reduce_sum(e) * e, x)
    values = draws(6, 6, 4)
    gradient = sg.gradients(sg.reduce_sum(running * mapped), x)[0]
    return [running, mapped, gradient], lambda n: {x: values[n % 4]}


def branches():
    x, w = sg.placeholder(sg.float32, [3]), sg.Variable(1.0)
    value = sg.cond(sg.reduce_sum(x) > 3, lambda: x * 2 * w, lambda: sg.exp(x) - w)
    with sg.control_dependencies([value]):
        more = sg.assign_add(w, 0.5)
    return [value, more], lambda n: {x: np.array([0.2, 0.4, 2.0], np.float32) * (n % 3)}


def calls_of_numpy():
    """Some ops have no kernel: they split the program."""
    x, w = sg.placeholder(sg.float32, [3, 3]), sg.Variable(np.eye(3, dtype=np.float32))
    values = sg.linalg.sqrtm(x + w)
    ordered = sg.py_func(lambda a: np.sort(a), [values], sg.float32)
    more = sg.assign_add(w, sg.matmul(x, x) * 0.1)
    inverse = sg.linalg.inv(x + w)
    matrices = draws(7, 3, 3) + 4 * np.eye(3, dtype=np.float32)
    return [values, ordered, more, inverse], lambda n: {x: matrices[n % 4]}


def routines():
    x = sg.placeholder(sg.float32, [5, 7])
    top = sg.nn.top_k(x, 3)
    found = [
        top.values,
        top.indices,
        sg.cumsum(x, axis=1),
        sg.sort(x, axis=0),
        sg.argmax(x, 1),
        sg.gather(x, [4, 1, 1]),
        sg.math.unsorted_segment_sum(x, [0, 1, 0, 2, 1], 3),
        sg.random_uniform([10]),
        sg.truncated_normal([11]),
        sg.random_shuffle(sg.range(9)),
    ]
    values = draws(8, 5, 7)
    return found, lambda n: {x: values[n % 4]}


def narrow_numbers():
    x = sg.placeholder(sg.float16, [6, 8])
    values = draws(9, 6, 8).astype(np.float16)
    wide = sg.cast(sg.exp(sg.cast(x, sg.bfloat16)), sg.float32)
    return [sg.reduce_sum(x * 2, 1), wide, sg.matmul(x, x, transpose_b=True)], lambda n: {x: values[n % 4]}


def sparse_updates():
    table = sg.Variable(draws(10, 50, 8)[0])
    ids = sg.placeholder(sg.int32, [None, 4])
    found = sg.reduce_mean(sg.nn.embedding_lookup(table, ids), 1)
    loss = sg.reduce_sum(found * found)
    numbers = np.random.default_rng(11).integers(0, 50, (4, 4, 4))
    return [loss, sg.train.AdagradOptimizer(0.1).minimize(loss)], lambda n: {ids: numbers[n % 4][: 3 + n % 2]}


def nothing_in_it():
    x = sg.placeholder(sg.float32, [0, 4])
    return [sg.reduce_sum(x), sg.reduce_sum(x, 1), x * 2], lambda n: {x: np.zeros((0, 4), np.float32)}


MODELS = [
    convolutions,
    dropout,
    recurrent,
    loop_until,
    loop_with_rows,
    scans,
    branches,
    calls_of_numpy,
    routines,
    narrow_numbers,
    sparse_updates,
    nothing_in_it,
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_card_gives_what_the_processor_gives(model, one_driver):
    check_alike(played(model, None, 6), played(model, one_driver, 6))


def test_the_device_of_a_session_is_a_switch(host):
    x = sg.constant([1.0, 2.0]) * 3
    with sg.Session(device="standin") as session:
        assert session.settings.device == "standin"
        np.testing.assert_array_equal(session.run(x), [3, 6])
        assert [each.functions for each in session.compiles] == [0]  # it is a constant


def test_a_scalar_that_the_host_sets_stays_one(host):
    v = sg.Variable(1, name="count")
    more = sg.assign_add(v, 2)
    with sg.Session(device="standin") as session:
        v.load(5, session)
        assert session.run(more) == 7 and np.shape(session.run(v)) == ()
        v.load(1, session)
        assert session.run(more) == 3
        assert repr(session.device) == "<Device GPU:0, 'stand-in'>"
