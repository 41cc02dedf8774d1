"""NVIDIA's compiler makes code of all that real graphs need, for each architecture, and spills nothing."""

from collections.abc import Callable
from functools import cache
from itertools import islice

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.capture.capture import capture
from staticgraph.compiler.capture.step import CaptureRequest, Step
from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.gpu.compile_open import compile_gpu_open
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.size_contexts import answering
from staticgraph.compiler.graph.sizes import symbol
from staticgraph.runtime.gpu.cuda import nvrtc
from staticgraph.runtime.gpu.cuda.nvrtc import ARCHITECTURES
from tests.gpu.test_open_sizes import MODELS
from tests.gpu.test_registry import BATCHES
from tests.ops.harness import Build, dtype_choices, uses
from tests.passes.steps import step_of
from tests.repetitions import share

pytestmark = pytest.mark.skipif(
    not nvrtc.available(), reason="NVRTC is not here: pip install nvidia-cuda-nvrtc"
)

Graph = tuple[list, dict]  # fetches and feeds


def placeholder(*shape: int, dtype: sg.DType = sg.float32) -> tuple:
    """A placeholder, and something to feed it."""
    x = sg.placeholder(dtype, shape)
    return x, np.ones(shape, dtype.as_numpy_dtype)


def softmax() -> Graph:
    fetches, feeds = [], {}
    for shape in ((256, 100), (64, 1000), (16, 30000), (3, 5, 7, 33)):
        x, value = placeholder(*shape)
        y = sg.nn.softmax(x)
        fetches += [y, sg.gradients(sg.reduce_sum(sg.square(y)), x)[0], sg.nn.log_softmax(x)]
        feeds[x] = value
    return fetches, feeds


def normalized(x: sg.Tensor) -> sg.Tensor:
    """Each row with mean 0 and variance 1, times a variable."""
    scale = sg.cast(sg.Variable(sg.ones(x.shape[-1:])), x.dtype)
    mean, variance = sg.nn.moments(x, [-1], keep_dims=True)
    return (x - mean) * sg.rsqrt(variance + sg.cast(1e-5, x.dtype)) * scale


def layer_norm() -> Graph:
    fetches, feeds = [], {}
    for dtype, width in ((sg.float32, 768), (sg.float16, 1024), (sg.bfloat16, 4096)):
        x, value = placeholder(128, width, dtype=dtype)
        y = normalized(x)
        fetches += [y, sg.gradients(sg.reduce_sum(y * y), x)[0]]
        feeds[x] = value
    return fetches, feeds


def wide() -> Graph:
    """Rows that need many registers: losses, norms and sums beside them, as in large models."""
    fetches, feeds = [], {}
    for rows, width in ((8192, 1024), (8192, 1000), (300, 4096), (300, 16384)):
        x, feeds_x = placeholder(rows, width)
        y, feeds_y = placeholder(rows, width)
        labels, feeds_labels = placeholder(rows, dtype=sg.int32)
        feeds |= {x: feeds_x, y: feeds_y, labels: feeds_labels}
        losses = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
        fetches += [losses, sg.gradients(losses, x)[0], *sg.gradients(sg.reduce_mean(losses), x)]
        fetches += [sg.nn.softmax(x), normalized(x), *sg.gradients(sg.nn.softmax(x), x, y)]
        fetches += sg.gradients(normalized(x), x, y)
        total = x + y + sg.Variable(sg.zeros([width]))
        fetches += [total, normalized(total)]
    return fetches, feeds


def convolutions() -> Graph:
    x, images = placeholder(16, 12, 12, 3)
    labels, y = placeholder(16, dtype=sg.int32)
    h = sg.layers.conv2d(x, 8, 3, activation=sg.nn.relu, padding="same")
    h = sg.layers.max_pooling2d(sg.layers.batch_normalization(h, training=True), 2, 2)
    h = sg.layers.average_pooling2d(sg.layers.separable_conv2d(h, 12, 3, padding="same"), 2, 2)
    logits = sg.layers.dense(sg.layers.flatten(h), 10)
    loss = sg.losses.sparse_softmax_cross_entropy(labels, logits)
    return [loss, sg.train.MomentumOptimizer(0.1, 0.9).minimize(loss)], {x: images, labels: y}


def adam() -> Graph:
    x, value = placeholder(32, 784)
    h = sg.nn.dropout(sg.layers.dense(x, 100, activation=sg.nn.relu), 0.5)
    loss = sg.reduce_mean(sg.square(sg.layers.dense(h, 10))) + 1e-4 * sg.global_norm(sg.trainable_variables())
    return [loss, sg.train.AdamOptimizer().minimize(loss)], {x: value}


def recurrent() -> Graph:
    x, value = placeholder(8, 12, 20)
    out, state = sg.nn.dynamic_rnn(sg.nn.rnn_cell.LSTMCell(24), x, dtype=sg.float32)
    loss = sg.reduce_mean(out * out) + sg.reduce_sum(state.c)
    return [loss, sg.train.RMSPropOptimizer(0.1).minimize(loss)], {x: value}


def transformer() -> Graph:
    ids, words = placeholder(4, 16, dtype=sg.int32)
    x = sg.nn.embedding_lookup(sg.get_variable("words", [100, 32]), ids)

    def heads(x: sg.Tensor) -> sg.Tensor:
        return sg.transpose(sg.reshape(sg.layers.dense(x, 32, use_bias=False), [4, 16, 4, 8]), [0, 2, 1, 3])

    q, k, v = heads(x), heads(x), heads(x)
    mask = sg.matrix_band_part(sg.ones([16, 16]), -1, 0)
    weights = sg.nn.softmax(sg.matmul(q, k, transpose_b=True) / 8.0**0.5 - 1e9 * (1.0 - mask))
    mixed = sg.reshape(sg.transpose(sg.matmul(weights, v), [0, 2, 1, 3]), [4, 16, 32])
    x = normalized(x + sg.layers.dense(mixed, 32))
    x += sg.layers.dense(sg.layers.dense(x, 64, activation=sg.nn.elu), 32)
    loss = sg.losses.sparse_softmax_cross_entropy(ids, sg.layers.dense(x, 100))
    return [loss, sg.train.AdamOptimizer(0.001).minimize(loss)], {ids: words}


def attention() -> Graph:
    fetches, feeds = [], {}
    for time, dtype in ((100, sg.float32), (520, sg.float32), (64, sg.float16)):
        (q, of_q), (k, of_k), (v, of_v) = (placeholder(16, 8, time, 64, dtype=dtype) for _ in range(3))
        feeds |= {q: of_q, k: of_k, v: of_v}
        scores = sg.matmul(q, k, transpose_b=True) / sg.cast(8.0, dtype)
        mask = sg.cast(sg.matrix_band_part(sg.ones([time, time]), -1, 0), dtype)
        weights = sg.nn.softmax(scores - sg.cast(1e4, dtype) * (1 - mask))
        out = sg.matmul(weights, v)
        fetches += [out] if time == 520 else sg.gradients(out * out, [q, k, v])
    return fetches, feeds


def reductions() -> Graph:
    x, value = placeholder(40, 50, 60)
    fetches = [sg.reduce_max(x), sg.argmax(x, 1), sg.reduce_prod(x, [0, 2]), sg.reduce_logsumexp(x, 2)]
    fetches += [sg.reduce_any(x > 1.0, 0), sg.reduce_min(sg.cast(x, sg.int64), 1), sg.norm(x)]
    return [*fetches, sg.cumsum(x, 1), sg.reduce_sum(sg.cast(x, sg.float64), [0, 1])], {x: value}


def movements() -> Graph:
    x, value = placeholder(33, 65, 10)
    at, places = placeholder(7, dtype=sg.int32)
    fetches = [sg.transpose(x, [2, 1, 0]), sg.gather(x, at), sg.reverse(x, [1]), sg.tile(x, [1, 2, 1])]
    fetches += [sg.nn.top_k(x, 3)[0], sg.sort(x), sg.pad(x, [[1, 1], [0, 2], [3, 0]]), sg.one_hot(at, 12)]
    fetches += [sg.unsorted_segment_sum(x[:7], at, 9), sg.concat([x, x[:, :3]], 1), sg.where(x > 0.0, x, -x)]
    return [*fetches, sg.image.resize_bilinear(x[sg.newaxis], [20, 30])], {x: value, at: places}


def orders() -> Graph:
    """Running totals and what is sorted, in rows of all lengths; a single digit is the same as others."""
    x, value = placeholder(5000)
    rows, several = placeholder(40, 300, dtype=sg.bfloat16)
    long, wide = placeholder(1000, 24, dtype=sg.float64)
    small, bytes_ = placeholder(9000, dtype=sg.int8)
    ids, places = placeholder(20_000, dtype=sg.int32)
    fetches = [sg.cumsum(x, exclusive=True), sg.math.cumulative_logsumexp(rows, 1), sg.cumsum(long, 0)]
    fetches += [sg.sort(small), *sg.nn.top_k(x, 5), sg.nn.top_k(sg.transpose(long), 300)[1]]
    fetches += [sg.unsorted_segment_sum(ids, ids, 100), sg.random_shuffle(sg.range(2000))]
    return fetches, {x: value, rows: several, long: wide, small: bytes_, ids: places}


def scalars() -> Graph:
    fetches, feeds = [], {}
    for dtype in (sg.float16, sg.bfloat16, sg.float32, sg.float64):
        x, feeds_x = placeholder(1000, dtype=dtype)
        feeds[x] = feeds_x
        fetches += [f(x) for f in (sg.tanh, sg.exp, sg.log1p, sg.erf, sg.sigmoid, sg.sin, sg.sqrt, sg.floor)]
        fetches += [x**x, sg.floormod(x, x + x), sg.cast(x, sg.int32), sg.nn.softplus(x), sg.lgamma(x)]
    for dtype in (sg.int8, sg.int32, sg.int64, sg.uint8):
        n, feeds[n] = placeholder(1000, dtype=dtype)
        fetches += [n // (n + n), n % n, n * n - n, sg.cast(n, sg.float32), sg.maximum(n, n + n)]
    return [*fetches, sg.random_normal([100]), sg.truncated_normal([100]), sg.random_uniform([9, 9])], feeds


GRAPHS: dict[str, Callable[[], Graph]] = {
    build.__name__: build
    for build in (
        softmax,
        layer_norm,
        wide,
        convolutions,
        adam,
        recurrent,
        transformer,
        attention,
        reductions,
        movements,
        orders,
        scalars,
    )
}


@cache
def functions(name: str) -> tuple[CudaFunction, ...]:
    """Return the functions that a graph needs of a GPU."""
    with sg.Graph().as_default():
        sg.set_random_seed(1)
        fetches, feeds = GRAPHS[name]()
        return tuple(compile_gpu(step_of(fetches, feeds)).functions)


def open_functions(model: Callable[[], tuple]) -> list[CudaFunction]:
    """Return the functions that take sizes of a graph with one open size."""
    with sg.Graph().as_default() as graph:
        fetches, feeds = model()
        flat = [y for each in fetches for y in (each if isinstance(each, list) else [each])]
        shapes = {x: [symbol("n0") if n is None else n for n in x.shape.as_list()] for x in feeds(1)}
        types = {x: TensorType(x.dtype, tuple(shape)) for x, shape in shapes.items()}
        step = capture(CaptureRequest(graph, flat, (), types))
        assert isinstance(step, Step)
        works = [work for work in compile_gpu_open(step).works if work is not None]
        calls = [c for work in works for c in work.calls if isinstance(c, FunctionCall) and c.sizes]
        assert calls
        return [call.function for call in calls]


def scales() -> tuple:
    """Rows of a batch norm's gradient beside a sum over them: five scales for each of 960 columns."""
    x, d = (sg.placeholder(sg.float32, [None, 960]) for _ in range(2))
    a, b, c, e, g = (sg.placeholder(sg.float32, [960]) for _ in range(5))
    fetches = [g * (d - a - (x - b) * c * c * e), sg.reduce_sum(d, 0)]
    return (
        fetches,
        lambda n: (
            {each: np.ones((n, 960)) for each in (x, d)} | {each: np.ones(960) for each in (a, b, c, e, g)}
        ),
    )


def test_scales_of_many_columns_are_loaded_for_each_row():
    """The assembler would keep all of them in registers from one row to the next, and spill most."""
    with answering(lambda question: False):
        (function,) = (each for each in open_functions(scales) if each.kind == "rows")
    assert "anew_in_warp(lane)" in function.body
    assert not nvrtc.inspect([function], WRITTEN_FOR).usage[function.name].spilled


WRITTEN_FOR = "sm_90"  # what kernels are written for
OTHERS = tuple(a for a in ARCHITECTURES if a != WRITTEN_FOR)


@cache
def everything(one_in: int = 1) -> dict[str, CudaFunction]:
    """Functions that all graphs need, or one in so many by turns, by name, and those that take sizes."""
    with answering(lambda question: False):  # the size is not special
        opened = [f for model in share(MODELS.values(), one_in) for f in open_functions(model)]
    closed = (f for name in share(GRAPHS, one_in) for f in functions(name))
    return {f.name: f for f in (*closed, *opened)}


@pytest.mark.parametrize("architecture", (WRITTEN_FOR, *OTHERS))
def test_every_function_compiles_and_keeps_its_numbers_in_registers(architecture: str):
    """Of a third of the graphs, every second function for the architecture that it is written for, and for
    each of the others every twentieth function, by turns.
    """
    asked = everything(3)
    names = share(asked, 2)
    if architecture != WRITTEN_FOR:
        scalars = {f.name for f in functions("scalars")}
        names = share([name for name in asked if name not in scalars], 20, 4 * OTHERS.index(architecture))
    check({name: asked[name] for name in names}, architecture)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", (WRITTEN_FOR, *OTHERS))
def test_every_function_compiles_for_every_architecture(architecture: str):
    check(everything(), architecture)


def check(asked: dict[str, CudaFunction], architecture: str) -> None:
    made = nvrtc.inspect(list(asked.values()), architecture)
    assert made.usage.keys() == asked.keys()
    assert not {name: used for name, used in made.usage.items() if used.spilled}
    for name, used in made.usage.items():
        warps = -(-int(np.prod(asked[name].block)) // 32)
        assert used.shared <= 48 << 10, name
        assert used.registers * warps * 32 <= 65536, name  # those of a multiprocessor


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(BATCHES)))
def test_functions_of_every_op_compile(number: int):
    """The ops take the architectures by turns."""
    build = Build()
    found = [
        result
        for op in BATCHES[number]
        for choice in islice(dtype_choices(op), 1)
        for use in islice(uses(op, choice), 3)
        for result in build.add(use)[1]
    ]
    function = build.function(found)
    step = Step(function, tuple(function.params), (), (), (), len(found), ())
    made = nvrtc.inspect(compile_gpu(step).functions, ARCHITECTURES[number % len(ARCHITECTURES)])
    assert not {name: used for name, used in made.usage.items() if used.spilled}
