"""Bits of results do not depend on the sizes that ran before, nor on the number of threads."""

from __future__ import annotations

import hashlib
import warnings

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import RecompileWarning

pytestmark = pytest.mark.takes_long

SIZES = (0, 1, 2, 5, 17, 33, 64, 100)
ORDERS = 16  # each size is the first one twice, in different numbers of threads
PER_ORDER = 4  # sizes that run in one order


def labels(logits):
    return sg.reduce_mean(sg.square(logits - 0.25), -1)


def perceptron():
    x = sg.placeholder(sg.float32, [None, 20], name="x")
    logits = sg.layers.dense(sg.layers.dense(x, 33, activation=sg.tanh), 4)
    loss = sg.reduce_sum(labels(logits))
    return [loss, logits], [sg.train.AdamOptimizer(1e-3).minimize(loss)], [x]


def convolutions():
    x = sg.placeholder(sg.float32, [None, 8, 8, 2], name="x")
    net = sg.layers.conv2d(x, 6, 3, padding="same", activation=sg.nn.relu)
    net = sg.layers.max_pooling2d(net, 2, 2)
    logits = sg.reduce_mean(sg.layers.conv2d(net, 3, 3), [1, 2])
    loss = sg.reduce_sum(labels(logits))
    return [loss, logits], [sg.train.GradientDescentOptimizer(1e-3).minimize(loss)], [x]


def attention():
    x = sg.placeholder(sg.float32, [None, 6, 8], name="x")
    q, k, v = (sg.layers.dense(x, 8) for _ in range(3))
    out = x + sg.matmul(sg.nn.softmax(sg.matmul(q, k, transpose_b=True)), v)
    loss = sg.reduce_sum(sg.square(out))
    return [loss, out], [sg.train.GradientDescentOptimizer(1e-3).minimize(loss)], [x]


def normalized():
    x = sg.placeholder(sg.float32, [None, 12], name="x")
    net = sg.layers.batch_normalization(sg.layers.dense(x, 9), training=True)
    loss = sg.reduce_sum(sg.square(net - 0.5))
    return [loss, net], [sg.train.GradientDescentOptimizer(1e-3).minimize(loss)], [x]


def recurrent():
    x = sg.placeholder(sg.float32, [None, 5, 3], name="x")
    cell = sg.nn.rnn_cell.LSTMCell(7)
    out, _ = sg.nn.dynamic_rnn(cell, x, dtype=sg.float32)
    loss = sg.reduce_sum(sg.square(out))
    return [loss, out], [sg.train.GradientDescentOptimizer(1e-3).minimize(loss)], [x]


def embedding():
    x = sg.placeholder(sg.int32, [None, 6], name="x")
    table = sg.get_variable("table", [30, 8])
    out = sg.reduce_mean(sg.nn.embedding_lookup(table, x), 1)
    loss = sg.reduce_sum(sg.square(out))
    return [loss, out], [sg.train.GradientDescentOptimizer(1e-2).minimize(loss)], [x]


def draws():
    x = sg.placeholder(sg.float32, [None, 6], name="x")
    noise = sg.random_uniform(sg.shape(x), seed=3)
    return [sg.nn.dropout(x, 0.5, seed=4) + noise], [], [x]


def loop():
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    w = sg.get_variable("w", [4, 4])
    step = lambda i, y: [i + 1, sg.tanh(sg.matmul(y, w))]  # noqa: E731
    _, out = sg.while_loop(lambda i, y: i < 3, step, [sg.constant(0), x])
    loss = sg.reduce_sum(out)
    return [loss, out, sg.gradients(loss, w)[0]], [], [x]


NETS = {
    f.__name__: f
    for f in (perceptron, convolutions, attention, normalized, recurrent, embedding, draws, loop)
}


def digest(arrays):
    made = hashlib.sha256()
    for each in arrays:
        made.update(repr(np.shape(each)).encode() + np.asarray(each).tobytes())
    return made.hexdigest()


@pytest.mark.parametrize("name", NETS)
def test_orders_of_sizes(name):
    check(name, ORDERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", NETS)
def test_fifty_orders_of_sizes(name):
    check(name, 50)


def check(name, orders):
    graph = sg.Graph()
    with graph.as_default():
        sg.set_random_seed(7)
        fetches, targets, (x,) = NETS[name]()
        variables = sg.global_variables()
    rng = np.random.default_rng(3)
    start = [np.abs(rng.uniform(-1, 1, v.shape.as_list())).astype("f4") for v in variables]

    def batch(rows):
        shape = [rows, *x.shape.as_list()[1:]]
        values = np.random.default_rng(rows).uniform(-1, 1, shape)
        return (np.abs(values) * 20).astype("i4") if x.dtype.is_integer else values.astype("f4")

    given = {rows: batch(rows) for rows in SIZES}
    wanted: dict[int, str] = {}
    threads = sg.get_num_threads()
    try:
        for order in range(orders):
            sg.set_num_threads((1, 2, 3, 7)[(order + order // len(SIZES)) % 4])
            with warnings.catch_warnings(), sg.Session(graph=graph, device="cpu", open_sizes=True) as session:
                warnings.simplefilter("ignore", RecompileWarning)
                # A random op draws anew in each run of a session: then only the first run is compared.
                first = SIZES[order % len(SIZES)]
                others = rng.permutation([n for n in SIZES if n != first])[: PER_ORDER - 1].tolist()
                for rows in [first, *([] if name == "draws" else others)]:
                    for variable, value in zip(variables, start, strict=True):
                        variable.load(value, session)
                    made = session.run([fetches, targets], {x: given[rows]})[0]
                    found = digest([*made, *session.run(variables)])
                    assert wanted.setdefault(rows, found) == found, (order, rows)
    finally:
        sg.set_num_threads(threads)
    assert len(wanted) == len(SIZES)
