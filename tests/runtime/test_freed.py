"""Memory that is given back: graphs with all that is theirs, and files that were refused."""

import contextlib
import gc
import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.disk import write_behind
from tests.fuzz_readers.readers import READERS

DATA = np.ones((4, 3), np.float32)


def layers() -> Any:
    x = sg.constant(DATA)
    with sg.variable_scope("net", reuse=sg.AUTO_REUSE):
        hidden = sg.layers.batch_normalization(sg.layers.dense(x, 8, sg.nn.relu), training=True)
        w = sg.get_variable("w", [8, 2])
    loss = sg.reduce_sum(sg.nn.dropout(sg.matmul(hidden, w), 0.5))
    sg.summary.scalar("loss", loss)
    return [sg.train.AdamOptimizer().minimize(loss), sg.summary.merge_all()]


def loops() -> Any:
    array = sg.TensorArray(sg.float32, 3)
    i, array = sg.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, [1.0])), [0, array])
    y = sg.cond(i > 2, lambda: array.stack() * 2.0, lambda: array.stack())
    return [sg.map_fn(lambda row: row * row, y), sg.py_func(np.sum, [y], sg.float32)]


def recurrent() -> Any:
    cell = sg.nn.rnn_cell.LSTMCell(4)
    return sg.nn.dynamic_rnn(cell, sg.constant(DATA[None]), dtype=sg.float32)[0]


def data() -> Any:
    batches = sg.data.Dataset.from_tensor_slices(DATA).map(lambda row: row + 1.0).shuffle(4).batch(2)
    return sg.data.make_one_shot_iterator(batches).get_next()


def queues() -> Any:
    queue = sg.FIFOQueue(4, sg.float32, [[]], shared_name="numbers")
    with sg.control_dependencies([queue.enqueue(1.0)]):
        return queue.dequeue() * 2.0


def keras() -> Any:
    model = sg.keras.Sequential([sg.keras.layers.Dense(4, activation="relu"), sg.keras.layers.Dense(1)])
    return model(sg.constant(DATA))


def gradients_of_its_own() -> Any:
    @sg.custom_gradient
    def twice(x: sg.Tensor) -> Any:
        return x * 2.0, lambda g: g * 3.0

    x = sg.constant(DATA)
    return sg.gradients(twice(x), x)


@pytest.mark.parametrize("build", [layers, loops, recurrent, data, queues, keras, gradients_of_its_own])
def test_a_graph_is_freed(build: Callable[[], Any]):
    def use() -> list[weakref.ref]:
        with sg.Graph().as_default() as graph, sg.Session() as session:
            fetches = build()
            session.run([sg.global_variables_initializer(), sg.tables_initializer()])
            session.run(fetches)
            return [weakref.ref(graph), weakref.ref(session)]

    use()  # what is made once for all stays
    refs = use()
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


@pytest.mark.takes_long
def test_a_loop_that_makes_graphs_does_not_fill_the_memory(monkeypatch):
    from staticgraph.compiler.support import gc_pause as collector

    often = 20_000  # objects: a graph and its step make about 3,000
    for name, value in {"_LEAST": often, "_limit": often, "_made": 0}.items():
        monkeypatch.setattr(collector, name, value)
    gc.collect()
    refs = []
    before = len(gc.get_objects())
    for _ in range(40):
        with sg.Graph().as_default() as graph, sg.Session() as session:
            y = sg.constant(DATA)
            for _ in range(100):
                y = sg.tanh(y)
            session.run(y)
        refs.append(weakref.ref(graph))
    del graph, session, y
    assert sum(ref() is not None for ref in refs) < 40
    assert len(gc.get_objects()) < before + 2 * often  # what is frozen meanwhile is not counted


@pytest.mark.takes_long
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files cannot be counted here")
@pytest.mark.parametrize("name", READERS)
def test_files_that_are_refused_are_closed_at_once(name: str, tmp_path):
    reader = READERS[name]
    seed = reader.seeds()[0]
    damaged = [seed[:-1], seed[: len(seed) // 2], seed[:3], b"", seed + b"\0", b"\xff" + seed[1:]]
    places = range(0, len(seed), max(len(seed) // 20, 1))
    damaged += [seed[:at] + bytes([seed[at] ^ 1]) + seed[at + 1 :] for at in places]
    gc.collect()
    gc.disable()
    try:
        before = open_files()
        for data in damaged:
            reader.attempt(data, tmp_path)
        assert open_files() <= before  # some may have been closed: those of other tests' processes
    finally:
        gc.enable()


def open_files() -> set[tuple[str, str]]:
    """The numbers and names of the files that this process has open, once earlier tests' code is stored."""
    write_behind.flush()
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the list itself
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
    return found
