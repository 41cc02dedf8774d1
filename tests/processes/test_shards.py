"""A batch in fixed shards: the same bits for any number of processes, and the numbers of the whole batch."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.errors import ShapeError, UnimplementedError
from staticgraph.distribute.shards import added, subtrees
from tests.processes.launching import launched

pytestmark = pytest.mark.takes_long

SCRIPT = Path(__file__).parent / "scripts" / "same_bits.py"
DECAY = sg.train.GradientDescentOptimizer


@pytest.mark.parametrize(
    ("net", "processes"),
    [("cnn", (1, 2)), ("lstm", (1, 3)), pytest.param("cnn", (1, 2, 4, 8), marks=pytest.mark.slow)],
)
def test_any_number_of_processes_writes_the_same_checkpoint(
    net: str, processes: tuple[int, ...], tmp_path: Path
):
    """With batch normalization, dropout, an embedding and Adam. tools/processes.py takes more steps."""
    hashes, files = Counter[str](), set()
    for count in processes:
        place = tmp_path / str(count) / "model"
        place.parent.mkdir()
        said = launched(count, SCRIPT, net, "3", "1", str(place))
        found = re.findall("HASH (.*)", said)
        assert len(found) == count, said
        hashes.update(found)
        files.add(b"".join(p.read_bytes() for p in sorted(place.parent.glob("model*"))))
    assert len(hashes) == 1, hashes
    assert len(files) == 1


def test_more_threads_compute_the_same_bits():
    one, two = (launched(1, SCRIPT, "cnn", "3", "1", SG_THREADS=n) for n in ("1", "2"))
    assert one == two


def trained(shards: int | None, op: str = "mean", steps: int = 5) -> list[np.ndarray]:
    """The variables of a net after some steps with all rows of a batch."""
    rng = np.random.RandomState(0)
    rows, kinds = rng.randn(16, 6).astype(np.float32), rng.randint(0, 3, 16)
    with sg.Graph().as_default():
        sg.set_random_seed(1)
        x, y = sg.placeholder("float32", [None, 6]), sg.placeholder("int32", [None])
        h = sg.layers.dense(x, 8, activation=sg.nn.tanh)
        h += sg.nn.embedding_lookup(sg.get_variable("table", [3, 8]), y)
        losses = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=sg.layers.dense(h, 3))
        loss = (sg.reduce_mean if op == "mean" else sg.reduce_sum)(losses)
        opt = sg.train.MomentumOptimizer(0.05, 0.9)
        step = (sg.distribute.Optimizer(opt, op, shards=shards) if shards else opt).minimize(loss)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            for _ in range(steps):
                sess.run(step, {x: rows, y: kinds})
            return sess.run(sg.trainable_variables())


@pytest.mark.parametrize("op", ["mean", "sum"])
def test_shards_learn_what_the_whole_batch_learns(op: str):
    for one, other in zip(trained(None, op), trained(4, op), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_a_mean_loss_and_its_shards():
    x = sg.placeholder("float32", [None])
    w = sg.get_variable("w", [], initializer=sg.ones_initializer())
    opt = sg.distribute.Optimizer(DECAY(0.5), shards=2)
    step = opt.minimize(sg.reduce_mean(w * x))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        assert sess.run([opt.loss, step], {x: [1, 2, 3, 6]})[0] == 3.0
        assert sess.run(w) == 1.0 - 0.5 * 3.0


@pytest.mark.parametrize("by_program", [False, True])
def test_moving_averages_are_the_mean_of_those_of_shards(by_program: bool):
    x = sg.placeholder("float32", [None, 2])
    y = sg.layers.batch_normalization(x, training=True, momentum=0.9, fused=False)
    w = sg.get_variable("w", [2])
    opt = sg.distribute.Optimizer(DECAY(0.1), shards=2)
    with sg.control_dependencies(sg.get_collection(sg.GraphKeys.UPDATE_OPS) if by_program else []):
        step = opt.minimize(sg.reduce_mean(y * w))
    rows = np.random.RandomState(0).randn(8, 2).astype(np.float32)
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sess.run(step, {x: rows})
        found = {v.op.name.rpartition("/")[2]: sess.run(v) for v in sg.global_variables()}
    means = [rows[n::2].mean(0) for n in (0, 1)]
    variances = [rows[n::2].var(0) for n in (0, 1)]
    np.testing.assert_allclose(found["moving_mean"], 0.1 * np.mean(means, 0), rtol=1e-5)
    np.testing.assert_allclose(found["moving_variance"], 0.9 + 0.1 * np.mean(variances, 0), rtol=1e-5)


def test_each_shard_and_step_draws_other_numbers():
    sg.set_random_seed(3)
    x = sg.placeholder("float32", [None, 5])
    w = sg.get_variable("w", [5], initializer=sg.zeros_initializer())
    drawn = sg.nn.dropout(x, rate=0.5)
    _, looped = sg.while_loop(  # the rounds of a loop draw other numbers, too
        lambda i, total: i < 3, lambda i, total: (i + 1, total + sg.random_uniform([5])), [0, sg.zeros([5])]
    )
    opt = sg.distribute.Optimizer(DECAY(1.0), "sum", shards=4)
    gradient, _ = opt.compute_gradients(sg.reduce_sum(drawn * w) + sg.reduce_sum(looped * w))[0]
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        ones = np.ones((4, 5), np.float32)
        first, second = (sess.run(gradient, {x: ones}) for _ in range(2))
    assert len(set(np.round([*first, *second], 4))) == 10
    assert 4.0 < first.mean() < 16.0  # 4 * 5 dropped ones of which a half is 2, and 4 * 3 uniform numbers


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8])
def test_subtrees_hold_each_shard_once_and_add_in_one_order(workers: int):
    held = [list(range(first, 8, step)) for first, step in subtrees(8, workers)]
    assert sorted(n for each in held for n in each) == list(range(8))
    assert max(map(len, held)) <= 2 * -(-8 // workers)
    if 8 % workers == 0:
        assert held == [list(range(rank, 8, workers)) for rank in range(workers)]

    def text(first: int, step: int) -> str:
        if step == 8:
            return str(first)
        return f"({text(first, 2 * step)}+{text(first + step, 2 * step)})"

    parts = {each: text(*each) for each in subtrees(8, workers)}
    assert added(parts, lambda a, b: f"({a}+{b})") == "(((0+4)+(2+6))+((1+5)+(3+7)))"


def test_shards_that_cannot_be():
    dist = sg.distribute
    for shards in (0, 6, True, 2.0):
        with pytest.raises(ValueError, match="must be a power of two"):
            dist.Optimizer(DECAY(0.1), shards=shards)
    with pytest.raises(ValueError, match="there is no loss of all shards"):
        print(dist.Optimizer(DECAY(0.1), shards=2).loss)
    w = sg.get_variable("w", [3])
    with pytest.raises(ValueError, match="there is no batch to cut"):
        dist.Optimizer(DECAY(0.1), shards=2).minimize(sg.reduce_sum(w))
    x, table = sg.placeholder("float32", [None, 3]), sg.placeholder("float32", [3])
    with pytest.raises(ShapeError, match="not clear which of these has a batch as its first axis"):
        dist.Optimizer(DECAY(0.1), shards=2).minimize(sg.reduce_mean(w * x * table))
    step = dist.Optimizer(DECAY(0.1), shards=2, data=x).minimize(sg.reduce_mean(w * x * table))
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sess.run(step, {x: np.ones((4, 3)), table: np.ones(3)})
    with pytest.raises(ValueError, match="the loss does not depend on"):
        dist.Optimizer(DECAY(0.1), shards=2, data=[table]).minimize(sg.reduce_mean(w * x))
    fixed = sg.placeholder("float32", [7, 3])
    with pytest.raises(ShapeError, match="has 7 rows, which cannot be cut into 2 shards of equal size"):
        dist.Optimizer(DECAY(0.1), shards=2).minimize(sg.reduce_mean(w * fixed))
    with pytest.raises(UnimplementedError, match="is what the rows of one process made of"):
        count = sg.get_variable("count", [], trainable=False, initializer=sg.zeros_initializer())
        counted = sg.assign_add(count, sg.reduce_sum(x))
        dist.Optimizer(DECAY(0.1), shards=2).minimize(sg.reduce_mean(w * x) * counted)
    mixed = sg.random_shuffle(x)
    with pytest.raises(UnimplementedError, match="cannot be done for each shard"):
        dist.Optimizer(DECAY(0.1), shards=2).minimize(sg.reduce_mean(w * mixed))


def test_processors_that_differ_are_refused_with_their_names():
    program = """
        from dataclasses import replace
        import staticgraph.runtime.cpu.jit as jit
        found, rank = jit.host(), sg.distribute.rank()
        given = replace(found, cpu="older", features=found.features + ",-newest") if rank else found
        jit.host = lambda: given
        x = sg.placeholder("float32", [None])
        try:
            opt = sg.distribute.Optimizer(sg.train.GradientDescentOptimizer(0.1), shards=2)
            opt.minimize(sg.reduce_mean(sg.get_variable("w", []) * x))
        except Exception as error:
            say("FOUND", type(error).__name__, " ".join(str(error).split()))
    """
    said = launched(2, program)
    assert said.count("FOUND FailedPreconditionError shards: processors differ") == 2, said
    assert said.count("process 1 has older, apart in -newest") == 2, said


def test_more_processes_than_shards():
    program = """
        try:
            sg.distribute.Optimizer(sg.train.AdamOptimizer(0.1), shards=1)
        except ValueError as error:
            say("FOUND", str(error).splitlines()[0])
    """
    assert launched(2, program).count("FOUND there are 2 processes and only 1 shards") == 2
