"""Kernels of equal structure are generated once."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import compile as compile_module
from staticgraph.runtime import compiling


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list:
    """The kernels that were generated, from an empty cache."""
    works: list = []
    generate = compile_module._generate

    def record(work, target):
        works.append(work)
        return generate(work, target)

    monkeypatch.setattr(compile_module, "_emitted", type(compile_module._emitted)())
    monkeypatch.setattr(compile_module, "_generate", record)
    monkeypatch.setattr(compiling, "KEPT", None)
    return works


def layers(count: int) -> sg.Operation:
    """A train step of `count` equal layers."""
    sg.reset_default_graph()
    h = sg.placeholder(sg.float32, [8, 16], name="x")
    for _ in range(count):
        h = sg.layers.dense(h, 16, activation=sg.nn.tanh)
    return sg.train.AdamOptimizer().minimize(sg.reduce_mean(sg.square(h)))


def test_more_equal_layers_need_no_more_code(generated):
    counts = []
    for layer_count in (4, 12):
        generated.clear()
        compile_module._emitted.clear()
        step = layers(layer_count)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            sess.run(step, {"x:0": np.ones((8, 16))})
        counts.append(len(generated))
    assert counts[0] == counts[1]


def test_random_initializers_of_equal_shape_share_code(generated):
    for seed in (1, 2, 3):
        sg.get_variable(f"w{seed}", [300, 400], initializer=sg.random_normal_initializer(seed=seed))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        values = sess.run(sg.global_variables())
    assert len(generated) == 1
    assert not np.array_equal(values[0], values[1])
