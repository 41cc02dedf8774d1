"""Whole training steps: captured once, replayed, and as good as on the processor; random numbers included."""

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.sessions import check_alike, draws, on, played

pytestmark = pytest.mark.takes_long

REPLAYS = 5  # in schedules of every kind, three of them by the dice


def two_layer_net():
    x, y = sg.placeholder(sg.float32, [None, 100]), sg.placeholder(sg.float32, [None, 10])
    h = sg.layers.dense(x, 64, activation=sg.nn.relu)
    loss = sg.losses.mean_squared_error(y, sg.layers.dense(h, 10))
    inputs, targets = draws(1, 32, 100), draws(2, 32, 10)
    step = sg.train.AdamOptimizer(1e-2).minimize(loss)
    return [loss, step], lambda n: {x: inputs[n % 4], y: targets[n % 4]}


def digits_cnn():
    """The net of the example, on real digits, with its dropout."""
    from sklearn.datasets import load_digits  # takes seconds, which all who only collect tests would wait for

    path = Path(__file__).parents[2] / "examples" / "digits_cnn.py"
    spec = importlib.util.spec_from_file_location("digits_cnn", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    images, labels = sg.placeholder(sg.float32, [None, 8, 8, 1]), sg.placeholder(sg.int32, [None])
    scores = example.build(images, sg.constant(True))
    loss = sg.reduce_mean(sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))
    digits = load_digits()
    pixels = (digits.images / 16).astype(np.float32)[..., None].reshape(-1, 1, 8, 8, 1)

    def feeds(n: int) -> dict:
        return {images: pixels[5 * n : 5 * n + 5, 0], labels: digits.target[5 * n : 5 * n + 5]}

    return [loss, sg.train.MomentumOptimizer(0.05, 0.9).minimize(loss)], feeds


def lstm():
    x, y = sg.placeholder(sg.float32, [8, 10, 12]), sg.placeholder(sg.int32, [8])
    out, state = sg.nn.dynamic_rnn(sg.nn.rnn_cell.LSTMCell(16), x, dtype=sg.float32)
    logits = sg.layers.dense(state.h, 5) + sg.reduce_mean(out)
    loss = sg.reduce_mean(sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    inputs, labels = draws(3, 8, 10, 12), np.random.default_rng(4).integers(0, 5, (4, 8))
    step = sg.train.GradientDescentOptimizer(0.3).minimize(loss)
    return [loss, step], lambda n: {x: inputs[n % 4], y: labels[n % 4]}


def transformer_block():
    batch, time, width, heads = 2, 12, 32, 4
    x, y = (sg.placeholder(sg.float32, [batch, time, width]) for _ in range(2))

    def norm(h: sg.Tensor) -> sg.Tensor:
        scale, shift = sg.Variable(np.ones(width, np.float32)), sg.Variable(np.zeros(width, np.float32))
        return sg.nn.layer_normalization(h, shift, scale)

    parts = sg.reshape(sg.layers.dense(norm(x), 3 * width), [batch, time, 3, heads, width // heads])
    q, k, v = sg.unstack(sg.transpose(parts, [2, 0, 3, 1, 4]))
    mask = np.where(np.tril(np.ones((time, time), bool)), 0, -1e9).astype(np.float32)
    scores = sg.nn.softmax(sg.matmul(q, k, transpose_b=True) / math.sqrt(width // heads) + mask)
    mixed = sg.transpose(sg.matmul(sg.nn.dropout(scores, 0.9), v), [0, 2, 1, 3])
    h = x + sg.layers.dense(sg.reshape(mixed, [batch, time, width]), width)
    inner = sg.layers.dense(norm(h), 2 * width)
    inner = 0.5 * inner * (1 + sg.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3)))
    loss = sg.reduce_mean(sg.square(h + sg.layers.dense(inner, width) - y))
    inputs, targets = draws(5, batch, time, width), draws(6, batch, time, width)
    step = sg.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return [loss, step], lambda n: {x: inputs[n % 4], y: targets[n % 4]}


MODELS = [two_layer_net, digits_cnn, lstm, transformer_block]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_step_that_is_replayed_trains_as_on_the_processor(model, one_driver):
    """Every run has another order of threads, and of what may be done side by side."""

    def shuffled() -> tuple[list, Callable[[int], dict]]:
        fetches, feeds = model()

        def in_another_order(n: int) -> dict:
            one_driver.schedule = n
            return feeds(n)

        return fetches, in_another_order

    runs = 3 + REPLAYS  # the first one is not captured, two are, for the two slots
    found = played(shuffled, one_driver, runs)
    assert one_driver.counts.captures == 2
    assert one_driver.counts.replays == runs - 1
    check_alike(played(model, None, runs), found, 5e-5)  # what is rounded otherwise grows from step to step


def test_the_order_of_threads_does_not_matter(driver, request):
    """Runs are the same, bit by bit, on any card and at any time."""
    cache = request.config.stash.setdefault(_RESULTS, {})
    found = played(transformer_block, driver, 4)
    flat = [np.asarray(value).tobytes() for run in found for value in run if value is not None]
    assert cache.setdefault("transformer", flat) == flat


_RESULTS = pytest.StashKey[dict]()


def test_large_products_go_to_the_library(one_driver):
    with sg.Graph().as_default(), on(one_driver), sg.Session() as session:
        x = sg.placeholder(sg.float32, [64, 256])
        y = sg.matmul(x, sg.constant(draws(7, 256, 96)[0]))
        values = draws(8, 64, 256)[0]
        session.run(y, {x: values})
        works = session.executable(y, {x: values}).compiled.works.values()
        assert any(isinstance(call, Product) for work in works for call in work.calls)
        assert one_driver.counts.products == 1


def test_tensor_cores_are_used_where_they_may_round(host):
    found = []
    for precision in ("float32", "tf32", "bfloat16"):
        with sg.Graph().as_default(), on(Simulator()), sg.Session(matmul_precision=precision) as session:
            x = sg.placeholder(sg.float32, [64, 64])
            product, fused = sg.matmul(x, x), sg.tanh(sg.matmul(x, x, transpose_b=True))
            values = draws(9, 64, 64)[0]
            session.run([product, fused], {x: values})
            works = session.executable([product, fused], {x: values}).compiled.works.values()
            calls = [call for work in works for call in work.calls]
            found.append([call.precision.value for call in calls if isinstance(call, Product)])
            cores = any(
                "multiply_in_warp" in call.function.text for call in calls if isinstance(call, FunctionCall)
            )
            assert cores == (precision != "float32")
    assert found == [["float32"], ["tf32"], ["bfloat16"]]
