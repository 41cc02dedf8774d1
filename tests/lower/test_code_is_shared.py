"""Kernels of equal structure are generated once."""

from collections import Counter

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import compile as compile_module
from staticgraph.compiler import kernel_codes
from staticgraph.compiler.lower import kernel_dedup as alike
from staticgraph.runtime.cpu.disk import disk_cache


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list:
    """The kernels that were generated, from an empty cache."""
    works: list = []
    generate, keep = kernel_codes._generated, kernel_codes.keep

    def record(work, *arguments):
        works.append(work)
        return generate(work, *arguments)

    def record_product(work, *arguments):
        works.append(work)
        return keep(work, *arguments)

    monkeypatch.setattr(kernel_codes, "keep", record_product)
    monkeypatch.setattr(kernel_codes, "_emitted", type(kernel_codes._emitted)())
    monkeypatch.setattr(kernel_codes, "_generated", record)
    monkeypatch.setattr(disk_cache, "KEPT", None)
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
        kernel_codes._emitted.clear()
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


def convolutions(count: int) -> sg.Operation:
    """A train step of `count` equal layers that are done by groups of images."""
    sg.reset_default_graph()
    h = sg.placeholder(sg.float32, [16, 16, 16, 32], name="x")
    for _ in range(count):
        h = sg.layers.conv2d(h, 32, 3, padding="same", activation=sg.nn.tanh)
    return sg.train.GradientDescentOptimizer(0.1).minimize(sg.reduce_mean(sg.square(h)))


@pytest.mark.takes_long
def test_more_equal_convolutions_are_neither_fused_nor_built_again(monkeypatch: pytest.MonkeyPatch):
    """The loops over groups of images have the same bodies, one for each derivative."""
    done: Counter = Counter()

    def count(module, name: str) -> None:
        function = getattr(module, name)

        def counted(*args, **options):
            done[name] += 1
            return function(*args, **options)

        monkeypatch.setattr(module, name, counted)

    count(compile_module, "fuse")
    count(alike, "build_kernel")
    found = []
    for layer_count in (3, 9):
        done.clear()
        step = convolutions(layer_count)
        with sg.Session() as sess:
            sess.executable(step, {"x:0": np.ones((16, 16, 16, 32))})
        found.append(dict(done))
    assert found[0] == found[1]
