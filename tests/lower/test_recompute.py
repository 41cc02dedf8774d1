"""A limit on memory: values are computed again rather than kept, and results stay the same bit by bit."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import ResourceExhaustedError
from staticgraph.compiler.lower.program import Launch
from staticgraph.runtime.executable import Executable

ROWS = 512


def net() -> tuple[sg.Tensor, sg.Tensor, sg.Operation]:
    """A deep net of narrow products whose activations are wide: keeping them is what takes memory."""
    x = sg.placeholder(sg.float32, [ROWS, 8], name="x")
    rng = np.random.default_rng(3)
    h = x
    for i in range(4):
        wide = sg.matmul(h, sg.Variable(rng.normal(size=(8, 64)).astype(np.float32), name=f"up{i}"))
        wide = sg.nn.dropout(sg.nn.softplus(wide), rate=0.2, seed=i + 1)
        wide = sg.nn.tanh(wide) * sg.nn.sigmoid(wide)
        h = sg.matmul(wide, sg.Variable(rng.normal(size=(64, 8)).astype(np.float32), name=f"down{i}"))
    loss = sg.reduce_mean(sg.square(h))
    return x, loss, sg.train.AdamOptimizer(0.01).minimize(loss)


def trained(memory_limit: int | None) -> tuple[list[np.ndarray], Executable]:
    """Losses and weights after some steps, and the program of a step."""
    sg.reset_default_graph()
    x, loss, train = net()
    feeds = {x: np.random.default_rng(5).normal(size=(ROWS, 8)).astype(np.float32)}
    with sg.Session(memory_limit=memory_limit) as sess:
        sess.run(sg.global_variables_initializer())
        losses = [sess.run([loss, train], feeds)[0] for _ in range(4)]
        return [np.array(losses), *sess.run(sg.trainable_variables())], sess.executable([loss, train], feeds)


def launches(program: Executable) -> list[Launch]:
    return [i for i in program.compiled.program.instructions if isinstance(i, Launch)]


def test_less_memory_the_same_results():
    free, whole = trained(None)
    peak = whole.compiled.memory.peak
    results, tight = trained(peak * 9 // 10)
    assert tight.compiled.memory.peak <= peak * 9 // 10
    assert len(launches(tight)) > len(launches(whole))
    for a, b in zip(free, results, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_limit_that_is_not_reached_changes_nothing():
    _, whole = trained(None)
    _, same = trained(whole.compiled.memory.peak)
    assert len(launches(same)) == len(launches(whole))


def test_what_cannot_fit_is_refused():
    with pytest.raises(ResourceExhaustedError, match=r"may have 10\.0 KB") as caught:
        trained(10 * 1024)
    assert "test_recompute.py" in str(caught.value)
    assert "smaller batch" in str(caught.value)
