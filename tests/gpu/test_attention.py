"""Attention as one function: with all masks, shapes and types, in training and outside of it."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import FunctionCall
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.gpu.step import GpuCompiled
from staticgraph.compiler.kernel.schedule_gpu.target import GpuTarget
from staticgraph.compiler.lower.program import Launch
from staticgraph.compiler.machine import H200, GpuMachine
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.running import SCHEDULES
from tests.gpu.sessions import check_alike, on
from tests.passes.steps import step_of

Feeds = dict[Any, np.ndarray]
Built = tuple[list[Any], Feeds]


def given(seed: int, *shape: int, dtype: Any = sg.float32, scale: float = 1.0) -> tuple[Any, np.ndarray]:
    """A placeholder, and numbers for it."""
    numbers = np.random.default_rng(seed).standard_normal(shape) * scale
    return sg.placeholder(dtype, shape), numbers.astype(sg.as_dtype(dtype).as_numpy_dtype)


def attention(
    q: Any,
    k: Any,
    v: Any,
    before: Callable[[Any], Any] = lambda s: s,
    after: Callable[[Any], Any] = lambda p: p,
) -> Any:
    """`before` changes the scores, `after` the weights."""
    return sg.matmul(after(sg.nn.softmax(before(sg.matmul(q, k, transpose_b=True)))), v)


def plain(
    *batch: int,
    queries: int = 48,
    keys: int = 0,
    depth: int = 16,
    wide: int = 0,
    dtype: Any = sg.float32,
    before: Callable[[Any], Any] = lambda s: s * 0.25,
    after: Callable[[Any], Any] = lambda p: p,
    train: bool = False,
) -> Callable[[], Built]:
    """Attention, or its value and its gradients."""

    def build() -> Built:
        rows = keys or queries
        q, of_q = given(0, *batch, queries, depth, dtype=dtype)
        k, of_k = given(1, *batch, rows, depth, dtype=dtype)
        v, of_v = given(2, *batch, rows, wide or depth, dtype=dtype)
        out = attention(q, k, v, before, after)
        weights = sg.constant(np.cos(np.arange(out.shape.num_elements())).reshape(out.shape), dtype)
        grads = sg.gradients(out * weights, [q, k, v]) if train else []
        return [out, *grads], {q: of_q, k: of_k, v: of_v}

    return build


def heads(train: bool, batch: int = 2, time: int = 24, count: int = 4, depth: int = 8) -> Callable[[], Built]:
    """The heads of a transformer lie side by side in memory: each is a few columns of a product."""

    def build() -> Built:
        x, of_x = given(0, batch * time, count * depth)
        ws = [sg.constant(given(n, count * depth, count * depth, scale=0.2)[1]) for n in (1, 2, 3)]
        parts = [sg.reshape(sg.matmul(x, w), [batch, time, count, depth]) for w in ws]
        q, k, v = (sg.transpose(part, [0, 2, 1, 3]) for part in parts)
        out = attention(q, k, v, lambda s: causal(s / math.sqrt(depth)))
        out = sg.transpose(out, [0, 2, 1, 3])
        return ([out, *sg.gradients(out * out, [x, *ws])] if train else [out]), {x: of_x}

    return build


def causal(scores: Any) -> Any:
    rows, columns = scores.shape.as_list()[-2:]
    return sg.where(
        sg.broadcast_to(sg.constant(np.tri(rows, columns, dtype=bool)), scores.shape),
        scores,
        sg.fill(scores.shape, sg.constant(-1e9 if scores.dtype is sg.float32 else -3e4, scores.dtype)),
    )


def biased(scores: Any) -> Any:
    rows, columns = scores.shape.as_list()[-2:]
    return scores * 0.25 + sg.constant(np.triu(np.full((rows, columns), -1e9, np.float32), 1))


def padded(scores: Any) -> Any:
    """Each example has keys that are nobody's."""
    examples, *_, columns = scores.shape.as_list()
    kept = np.arange(columns) < columns - 3 - np.arange(examples)[:, None]
    bias = ((~kept) * -1e9).astype(np.float32)
    return scores * 0.25 + sg.constant(bias.reshape(examples, *[1] * (scores.shape.ndims - 2), columns))


def unseen(scores: Any) -> Any:
    """Minus infinity for the first keys, for the last ones, and for all of some queries."""
    rows, columns = scores.shape.as_list()[-2:]
    bias = np.zeros((rows, columns), np.float32)
    bias[:, :100] = bias[5:9, 60:] = bias[20] = -np.inf
    return scores * 0.25 + sg.constant(bias)


def dropped(weights: Any) -> Any:
    return sg.nn.dropout(weights, rate=0.3, seed=5)


def sigmoid_rows(keys: int = 36) -> Built:
    """Other rows than those of a softmax."""
    q, of_q = given(0, 3, 40, 24)
    k, of_k = given(1, 3, keys, 24)
    v, of_v = given(2, 3, keys, 8)
    gates = sg.sigmoid(sg.matmul(q, k, transpose_b=True))
    weights = gates / (1.0 + sg.reduce_sum(gates, -1, keepdims=True))
    return [sg.tanh(sg.matmul(weights, v)) * 2.0], {q: of_q, k: of_k, v: of_v}


def shared_keys(keys: int = 28) -> Built:
    """All heads have the same keys and values."""
    q, of_q = given(0, 2, 3, 40, 16)
    k, of_k = given(1, 2, 1, keys, 16)
    v, of_v = given(2, 2, 1, keys, 16)
    out = attention(q, sg.broadcast_to(k, [2, 3, keys, 16]), sg.broadcast_to(v, [2, 3, keys, 16]))
    return [out], {q: of_q, k: of_k, v: of_v}


def seen() -> Built:
    """Weights that are fetched."""
    q, of_q = given(0, 2, 40, 16)
    k, of_k = given(1, 2, 40, 16)
    weights = sg.nn.softmax(sg.matmul(q, k, transpose_b=True) * 0.25)
    return [weights, sg.matmul(weights, k)], {q: of_q, k: of_k}


def weights_in_values() -> Built:
    """Attention whose values are made of its weights."""
    q, of_q = given(0, 2, 40, 16)
    k, of_k = given(1, 2, 40, 16)
    weights = sg.nn.softmax(sg.matmul(q, k, transpose_b=True))
    return [sg.matmul(weights, sg.sqrt(weights))], {q: of_q, k: of_k}


def seen_by_the_host() -> Built:
    q, of_q = given(0, 2, 40, 16)
    k, of_k = given(1, 2, 40, 16)
    weights = sg.nn.softmax(sg.matmul(q, k, transpose_b=True))
    powers = sg.real(sg.exp(sg.cast(weights, sg.complex64)))
    return [powers, sg.matmul(weights, k)], {q: of_q, k: of_k}


def used_before() -> Built:
    """Others that read the weights have to wait."""
    q, of_q = given(0, 2, 40, 16)
    k, of_k = given(1, 2, 40, 16)
    weights = sg.nn.softmax(sg.matmul(q, k, transpose_b=True))
    return [sg.cumsum(weights, 1), sg.matmul(weights, k)], {q: of_q, k: of_k}


def mixed() -> Built:
    """Scores of 16-bit numbers, values of 32 bits: tensor cores would not take all of these."""
    q, of_q = given(0, 2, 24, 16, dtype=sg.float16)
    k, of_k = given(1, 2, 28, 16, dtype=sg.float16)
    v, of_v = given(2, 2, 28, 8)
    scores = sg.cast(sg.matmul(q, k, transpose_b=True), sg.float32)
    return [sg.matmul(sg.nn.softmax(scores), v)], {q: of_q, k: of_k, v: of_v}


def rows_alone() -> Built:
    q, of_q = given(0, 2, 40, 16)
    k, of_k = given(1, 2, 40, 16)
    return [sg.nn.softmax(sg.matmul(q, k, transpose_b=True))], {q: of_q, k: of_k}


# Each with the functions of attention that it takes.
CASES: dict[str, tuple[Callable[[], Built], int]] = {
    "one axis": (plain(3), 1),
    "no axis": (plain(queries=64), 1),
    "two axes": (plain(2, 3), 1),
    "an axis of one": (plain(1, 3, queries=20), 1),
    "uneven": (plain(2, queries=77, depth=40), 1),
    "cross": (plain(2, queries=20, keys=52, wide=24), 1),
    "long rows": (plain(1, queries=20, keys=300), 1),
    "parts of rows": (plain(2, queries=40, keys=400), 1),
    "parts, uneven": (plain(2, queries=37, keys=397, depth=20, wide=24, before=padded), 1),
    "parts, bias": (plain(1, queries=70, keys=350, before=biased), 1),
    "parts, never seen": (plain(2, queries=40, keys=400, before=unseen), 1),
    "parts, dropped": (plain(1, queries=40, keys=400, after=dropped), 1),
    "parts, float16": (plain(1, queries=40, keys=400, dtype=sg.float16, before=causal), 1),
    "parts, shared keys": (lambda: shared_keys(360), 1),
    "dropped": (plain(2, 2, after=dropped), 1),
    "wide": (plain(1, queries=40, depth=72, wide=136), 1),
    "where": (plain(2, 2, before=causal), 1),
    "bias": (plain(2, 2, before=biased), 1),
    "padding": (plain(2, 2, before=padded), 1),
    "scaled after": (plain(2, after=lambda p: p * 3.0), 1),
    "float16": (plain(2, 2, dtype=sg.float16), 1),
    "bfloat16": (plain(2, 2, dtype=sg.bfloat16), 1),
    "other rows": (sigmoid_rows, 1),
    "shared keys": (shared_keys, 1),
    "seen": (seen, 1),
    "rows alone": (rows_alone, 1),
    "mixed": (mixed, 1),
    "turned": (plain(2, before=lambda s: sg.reverse(s, [2])), 0),
    "turned queries": (plain(2, before=lambda s: sg.reverse(s, [1])), 0),
    "turned batch": (plain(2, 3, before=lambda s: sg.reverse(s, [1])), 0),
    "turned weights": (plain(2, after=lambda p: sg.reverse(p, [0])), 1),
    "turned and long": (plain(2, queries=40, keys=400, before=lambda s: sg.reverse(s, [2])), 0),
    "weights in values": (weights_in_values, 1),
    "seen by the host": (seen_by_the_host, 1),
    "used before": (used_before, 1),
    "heads": (heads(train=False), 1),
    "training": (plain(2, 2, train=True), 2),
    "training, causal": (plain(2, before=causal, train=True), 2),
    "training, uneven": (plain(2, queries=37, keys=21, depth=12, train=True), 2),
    "training, heads": (heads(train=True), 2),
    "training, dropped": (plain(2, after=dropped, train=True), 2),
    "much memory": (lambda: sigmoid_rows(900), 1),
    "training, much memory": (plain(1, queries=40, keys=1100, depth=8, wide=8, train=True), 2),
    "training, long": (plain(1, queries=40, keys=400, train=True), 2),
}
# A compiler takes its time to start, so these are steps of several cases.
BUNDLES = [tuple(CASES)[n::4] for n in range(4)]
TOLERANCES = {"float16": 2e-3, "bfloat16": 2**-7}


@pytest.fixture(autouse=True)
def _small_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of rows are worth it with few blocks."""
    monkeypatch.setattr(Device, "machine", replace(H200, multiprocessors=2))


@pytest.fixture
def large_card(_small_card: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decide for a GPU as large as attention is meant for."""
    monkeypatch.setattr(Device, "machine", H200)


def _target() -> GpuTarget:
    assert isinstance(Device.machine, GpuMachine)  # a fixture has replaced the property
    return GpuTarget(machine=Device.machine)


def compiled(build: Callable[[], Built], target: GpuTarget | None = None) -> GpuCompiled:
    with sg.Graph().as_default():
        return compile_gpu(step_of(*build()), target=target or _target())


def kinds(compiled: GpuCompiled) -> list[str]:
    """Return the kinds of all functions that are called, in order."""
    launches = [i for i in compiled.program.instructions if isinstance(i, Launch)]
    calls = (call for launch in launches for call in compiled.work(launch).calls)
    return [call.function.kind if isinstance(call, FunctionCall) else "product" for call in calls]


def fused(compiled: GpuCompiled) -> list[str]:
    return [kind for kind in kinds(compiled) if kind.endswith("attention")]


def run(names: Iterable[str], driver: Simulator | None, **options: Any) -> dict[str, list[np.ndarray]]:
    with sg.Graph().as_default(), on(driver):
        sg.set_random_seed(3)
        built = {name: CASES[name][0]() for name in names}
        feeds = {x: value for _, given in built.values() for x, value in given.items()}
        with sg.Session(**options) as session:
            return session.run({name: fetches for name, (fetches, _) in built.items()}, feeds)


def same_bits(one: Any, other: Any) -> bool:
    pairs = (pair for name in one for pair in zip(one[name], other[name], strict=True))
    return all(a.tobytes() == b.tobytes() for a, b in pairs)


@pytest.mark.takes_long
@pytest.mark.parametrize("name", CASES)
def test_attention_is_one_function(name):
    made = compiled(CASES[name][0])
    assert len(fused(made)) == CASES[name][1]
    assert ("online_attention" in fused(made)) == name.startswith("parts")
    assert ("rows" in kinds(made)) == (CASES[name][1] == 0)


@pytest.mark.takes_long(2)  # the texts of all of them have been looked at
@pytest.mark.parametrize("names", BUNDLES, ids=lambda names: names[0])
def test_attention_is_what_it_is_on_the_processor(names, host):
    wanted = run(names, None)
    found = [run(names, Simulator(schedule)) for schedule in SCHEDULES]
    for name in names:
        check_alike(found[0][name], wanted[name], TOLERANCES.get(name.split()[-1], 2e-6))
    assert all(same_bits(found[0], other) for other in found[1:])


@pytest.mark.takes_long
def test_tensor_cores_may_multiply(host):
    names = ["two axes", "uneven", "parts, uneven", "training, heads"]
    wanted = run(names, None)
    found = [run(names, Simulator(schedule), matmul_precision="tf32") for schedule in SCHEDULES]
    check_alike(found[0], wanted, 4e-3)
    assert all(same_bits(found[0], other) for other in found[1:])
    for name in names:
        assert np.abs(found[0][name][0] - wanted[name][0]).max() > 1e-5


def test_rows_that_no_block_has_room_for_stay_apart():
    made = compiled(lambda: sigmoid_rows(4000))
    assert not fused(made)
    assert "rows" in kinds(made)


def many(*batch: int, **sizes: Any) -> GpuCompiled:
    """Return the schedule of attention of a size that is not run."""

    def build() -> Built:
        (built,), feeds = plain(*batch, **sizes)()
        return [built], feeds

    return compiled(build)


@pytest.mark.usefixtures("large_card")
def test_long_products_are_done_by_the_library():
    """As it is sooner on a card; a function for all of it is for short ones."""
    assert fused(many(8, 8, queries=128, depth=32)) == ["attention"]
    assert not fused(many(8, 8, queries=256, depth=64))
    assert fused(many(64, queries=64, depth=64)) == ["attention"]
    assert not fused(many(64, 8, queries=64, depth=64, dtype=sg.float16))


@pytest.mark.usefixtures("large_card")
def test_few_blocks_do_not_go_through_many_keys():
    assert not fused(compiled(plain(2, queries=40, keys=901, depth=64)))
    assert fused(compiled(plain(90, queries=40, keys=902, depth=4))) == ["online_attention"]


def test_scores_that_would_take_much_memory_stay_on_the_chip(monkeypatch):
    monkeypatch.setattr("staticgraph.compiler.kernel.schedule_gpu.attention.attention._MUCH", 1 << 20)
    assert fused(many(2, queries=512, depth=64)) == ["online_attention"]


def test_rows_that_need_it_get_more_shared_memory():
    """Weights that a gradient reads, of 1,500 keys: more than a block has without being asked."""
    build = plain(1, queries=40, keys=1500, depth=16, train=True)
    made = compiled(build)
    assert "attention" in fused(made)
    function = next(f for f in made.functions if f.kind == "attention" and f.shared)
    assert 48 << 10 < function.shared <= H200.block_shared_bytes
    assert "SG_SHARED" not in function.text and function.text.count("SG_GIVEN") >= 2
    starts = sorted(int(n) for n in re.findall(r"SG_GIVEN\(.*, (\d+)\);", function.text))
    assert starts[0] == 0 and all(n % 16 == 0 for n in starts) and starts[-1] < function.shared
    less = compiled(
        build, replace(_target(), machine=replace(_target().machine, block_shared_bytes=48 << 10))
    )
    assert not any(f.shared for f in less.functions)


def test_what_the_library_does_better():
    assert not fused(compiled(plain(2, queries=4)))
    assert not fused(compiled(plain(2, depth=130)))
    assert kinds(compiled(plain(2, wide=130))) == ["attention", "product"]  # which makes the weights


def test_it_can_be_left_out():
    with sg.Graph().as_default():
        made = compile_gpu(step_of(*CASES["heads"][0]()), without={"join"}, target=_target())
    assert not fused(made)


def test_scores_and_weights_take_no_memory():
    scores = 2 * 48 * 48 * 4
    made = compiled(plain(2))
    assert made.program.arena + made.scratch < scores
    with sg.Graph().as_default():
        apart = compile_gpu(step_of(*plain(2)()), without={"join"}, target=_target())
    assert apart.program.arena >= scores
