"""Memory of a step is known before it runs, and adds up."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.lower.buffer_assignment import size_text


def step(sess: sg.Session):
    x = sg.placeholder(sg.float32, [8, 16], name="x")
    w = sg.Variable(np.ones((16, 32), np.float32), name="w")
    h = sg.matmul(x, w)
    loss = sg.reduce_mean(sg.matmul(sg.nn.relu(h), h, transpose_b=True))
    train = sg.train.GradientDescentOptimizer(0.1).minimize(loss)
    sess.run(sg.global_variables_initializer())
    return sess.executable([loss, train], {x: np.ones((8, 16), np.float32)}).compiled


def test_the_parts_of_a_training_step():
    with sg.Session() as sess:
        compiled = step(sess)
    use = compiled.memory
    assert use.feeds == 8 * 16 * 4
    assert use.variables == 16 * 32 * 4
    assert use.fetches == 4
    assert use.arena == compiled.program.arena > 0
    assert use.peak == sum(
        (use.arena, use.constants, use.feeds, use.variables, use.new_values, use.fetches, use.scratch)
    )


def test_the_largest_values_are_listed_with_their_lines():
    with sg.Session() as sess:
        use = step(sess).memory
    sizes = [v.type.size * v.type.dtype.size for v in use.largest]
    assert sizes == sorted(sizes, reverse=True) and sum(sizes) <= use.arena
    text = str(use)
    assert text.startswith(size_text(use.peak))
    assert "test_memory_use.py:" in text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1536, "1.5 KB"),
        (3 << 20, "3.0 MB"),
        (5 << 40, "5.0 TB"),
        (5 << 50, "5.0 PB"),
    ],
)
def test_sizes_as_text(size: int, text: str):
    assert size_text(size) == text
