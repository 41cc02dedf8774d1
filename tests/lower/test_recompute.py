"""A limit on memory: values are computed again rather than kept, and results stay the same bit by bit."""

from collections.abc import Callable

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import ResourceExhaustedError
from staticgraph.compiler.lower import lower as lowering
from staticgraph.compiler.lower.program import Launch
from staticgraph.runtime.executable import Executable

pytestmark = pytest.mark.takes_long

ROWS = 512
Net = Callable[[], tuple[sg.Tensor, sg.Tensor, sg.Operation]]


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


def trained(memory_limit: int | None, make: Net = net) -> tuple[list[np.ndarray], Executable]:
    """Losses and weights after some steps, and the program of a step."""
    sg.reset_default_graph()
    x, loss, train = make()
    feeds = {x: np.random.default_rng(5).normal(size=x.shape.as_list()).astype(np.float32)}
    with sg.Session(memory_limit=memory_limit) as sess:
        sess.run(sg.global_variables_initializer())
        losses = [sess.run([loss, train], feeds)[0] for _ in range(4)]
        return [np.array(losses), *sess.run(sg.trainable_variables())], sess.executable([loss, train], feeds)


def convolutional() -> tuple[sg.Tensor, sg.Tensor, sg.Operation]:
    """A net of convolutions with few channels and many, batch normalization between them."""
    x = sg.placeholder(sg.float32, [8, 8, 8, 8], name="x")
    rng = np.random.default_rng(4)
    h = x
    for i in range(3):
        up = sg.Variable(0.2 * rng.normal(size=(1, 1, 8, 64)).astype(np.float32), name=f"up{i}")
        down = sg.Variable(0.1 * rng.normal(size=(3, 3, 64, 8)).astype(np.float32), name=f"down{i}")
        wide = sg.nn.dropout(sg.nn.softplus(sg.nn.conv2d(h, up, 1, "SAME")), rate=0.2, seed=i + 1)
        made = sg.nn.conv2d(sg.nn.tanh(wide) * sg.nn.sigmoid(wide), down, 1, "SAME")
        h, *_ = sg.nn.fused_batch_norm(made, sg.Variable(sg.ones([8])), sg.Variable(sg.zeros([8])))
    loss = sg.reduce_mean(sg.square(h))
    return x, loss, sg.train.MomentumOptimizer(0.01, 0.9).minimize(loss)


def launches(program: Executable) -> list[Launch]:
    return [i for i in program.compiled.program.instructions if isinstance(i, Launch)]


@pytest.mark.parametrize("make", [net, convolutional])
def test_less_memory_the_same_results(make: Net):
    free, whole = trained(None, make)
    peak = whole.compiled.memory.peak
    results, tight = trained(peak * 9 // 10, make)
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


def deep(activation: Callable = sg.nn.relu) -> tuple[sg.Tensor, sg.Tensor, sg.Operation]:
    """Convolutions with activations between them that follow from their results."""
    x = sg.placeholder(sg.float32, [4, 16, 16, 32], name="x")
    rng = np.random.default_rng(4)
    h = x
    for i in range(8):
        w = sg.Variable(0.1 * rng.normal(size=(5, 5, 32, 32)).astype(np.float32), name=f"w{i}")
        h, *_ = sg.nn.fused_batch_norm(
            sg.nn.conv2d(h, w, 1, "SAME"), sg.Variable(sg.ones([32])), sg.Variable(sg.zeros([32]))
        )
        h = activation(h)
    loss = sg.reduce_mean(sg.square(h))
    return x, loss, sg.train.MomentumOptimizer(0.01, 0.9).minimize(loss)


def test_what_takes_hardly_any_time_beside_the_products_is_computed_again(monkeypatch: pytest.MonkeyPatch):
    """Nobody need ask for it, where much memory is needed."""
    kept, whole = trained(None, deep)
    monkeypatch.setattr(lowering, "LARGE_ARENA", 0)
    results, spared = trained(None, deep)
    assert spared.compiled.program.arena < 0.85 * whole.compiled.program.arena
    assert 0 < len(launches(spared)) - len(launches(whole)) <= 8  # one for each layer
    assert spared.compiled.program.in_place == whole.compiled.program.in_place
    for a, b in zip(kept, results, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("make", [net, lambda: deep(lambda h: sg.sin(sg.exp(-h * h)))])
def test_what_takes_time_is_kept(make: Net, monkeypatch: pytest.MonkeyPatch):
    """To move it, beside products that are done in no time; or to compute it."""
    _, whole = trained(None, make)
    monkeypatch.setattr(lowering, "LARGE_ARENA", 0)
    _, same = trained(None, make)
    assert len(launches(same)) == len(launches(whole))
