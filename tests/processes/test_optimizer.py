"""Training by several processes: the same variables in all, and those of one process with the whole batch."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from tests.processes.launching import launched

pytestmark = pytest.mark.takes_long

TRAIN = """
    import sys
    dist = sg.distribute
    n, rank = dist.size(), dist.rank()
    rng = np.random.RandomState(0)
    rows = rng.randn(64, 6).astype(np.float32)
    kinds = rows[:, :3].argmax(1)
    x, y = sg.placeholder("float32", [None, 6]), sg.placeholder("int32", [None])
    table = sg.get_variable("table", [3, 4], initializer=sg.random_normal_initializer())
    with sg.variable_scope("net", initializer=sg.random_normal_initializer(stddev=0.3{seed})):
        h = sg.layers.dense(x, 16, activation=sg.nn.tanh)
        logits = sg.layers.dense(h, 3) + sg.layers.dense(sg.nn.embedding_lookup(table, y), 3)
    loss = sg.reduce_mean(sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    opt = dist.Optimizer(sg.train.{optimizer}, bucket_bytes={bucket})
    step = opt.minimize(loss, global_step=sg.train.get_or_create_global_step())
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        for _ in range(20):
            sess.run(step, {{x: rows[rank::n], y: kinds[rank::n]}})
        values = sess.run(sg.trainable_variables())
        say("RESULT", sum(float(np.abs(v).sum(dtype=np.float64)) for v in values))
        say("BITS", b"".join(v.tobytes() for v in values).hex())
"""


def results(said: str, word: str) -> list[str]:
    return [line.split()[1] for line in said.splitlines() if line.startswith(word)]


@pytest.mark.parametrize(
    "optimizer",
    ["AdamOptimizer(0.01)", pytest.param("MomentumOptimizer(0.1, 0.9)", marks=pytest.mark.slow)],
)
def test_two_processes_learn_what_one_learns_of_both_batches(optimizer: str):
    program = TRAIN.format(seed=", seed=3", optimizer=optimizer, bucket=1 << 20).replace(
        "random_normal_initializer())", "random_normal_initializer(seed=4))"
    )
    alone, both = (launched(processes, program) for processes in (1, 2))
    one, two = (list(map(float, results(said, "RESULT"))) for said in (alone, both))
    np.testing.assert_allclose(two, one * 2, rtol=1e-4)
    assert len(set(results(both, "BITS"))) == 1


def test_first_values_are_those_of_the_first_process():
    """Without seeds each process draws others; small buckets send each gradient by itself."""
    said = launched(2, TRAIN.format(seed="", optimizer="GradientDescentOptimizer(0.1)", bucket=1))
    assert len(results(said, "BITS")) == 2
    assert len(set(results(said, "BITS"))) == 1


def test_which_variables_have_the_values_of_the_first_process():
    """A step that trains gives what it changes and what it only reads; a broadcast, that of any process."""
    program = """
        dist = sg.distribute
        rank = dist.rank()
        w, frozen = sg.Variable(3.0 + rank), sg.Variable(10.0 + rank, trainable=False)
        rows = sg.Variable([1.0 + rank], trainable=False, collections=[])  # the data of a process
        step = dist.Optimizer(sg.train.GradientDescentOptimizer(0.1)).minimize(w * frozen * rows[0])
        begin = [sg.global_variables_initializer(), rows.initializer]
        with sg.Session() as sess:
            sess.run(begin)
            sess.run(dist.broadcast_variables(root=1))
            say(*map(float, sess.run([w, frozen])), *sess.run(rows))
        with sg.Session() as sess:
            sess.run(begin)
            sess.run(step)
            say(*(round(float(v), 4) for v in sess.run([w, frozen])), *sess.run(rows))
    """
    said = sorted(launched(2, program).splitlines())
    assert said == ["1.5 10.0 1.0", "1.5 10.0 2.0", "4.0 11.0 1.0", "4.0 11.0 2.0"]


def test_processes_may_look_up_different_numbers_of_rows():
    """The last batch of a part of a dataset is smaller than those of other parts, or texts are longer."""
    program = """
        dist = sg.distribute
        rank = dist.rank()
        ids = sg.placeholder("int32", [None])
        table = sg.Variable(np.zeros([4, 2], np.float32))
        loss = sg.reduce_sum(sg.nn.embedding_lookup(table, ids))
        step = dist.Optimizer(sg.train.GradientDescentOptimizer(1.0), op="sum").minimize(loss)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            for of_all in ([0, 1, 1], [1]), ([2], [2]), ([], [1, 3]), ([], []):
                sess.run(step, {ids: of_all[rank]})
            say(sess.run(table)[:, 1].tolist())
    """
    assert launched(2, program).splitlines() == ["[-1.0, -4.0, -2.0, -1.0]"] * 2


def test_with_one_process_it_is_the_inner_optimizer():
    """No operation is added: so it costs nothing."""
    graphs = []
    for wrapped in (lambda opt: opt, sg.distribute.Optimizer):
        with sg.Graph().as_default() as graph:
            w = sg.get_variable("w", [3])
            wrapped(sg.train.AdamOptimizer(0.1)).minimize(sg.reduce_sum(w * w))
            graphs.append([op.name for op in graph.get_operations()])
    assert graphs[0] == graphs[1]


def test_one_process_needs_no_mpi():
    program = """
        import sys
        sys.modules["mpi4py"] = None
        w = sg.Variable(3.0)
        step = sg.distribute.Optimizer(sg.train.GradientDescentOptimizer(0.1)).minimize(w * w)
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            sess.run(step)
            print(round(float(sess.run(w)), 3), sg.distribute.size())
    """
    assert launched(1, program) == "2.4 1\n"


def test_slots_and_names_are_those_of_the_inner_optimizer():
    w = sg.get_variable("w", [3])
    opt = sg.distribute.Optimizer(sg.train.AdamOptimizer(0.1))
    opt.minimize(sg.reduce_sum(w * w))
    assert opt.get_slot_names() == ["m", "v"]
    assert opt.get_slot(w, "m").name == "w/Adam:0"
    assert opt.get_name() == "Adam"
    assert len(opt.variables()) == 4


def test_bad_arguments():
    with pytest.raises(TypeError, match=r"0\.1 is no optimizer of staticgraph\.train"):
        sg.distribute.Optimizer(0.1)
    with pytest.raises(ValueError, match="bucket_bytes is -5, and must be a number of bytes"):
        sg.distribute.Optimizer(sg.train.AdamOptimizer(0.1), bucket_bytes=-5)
    with pytest.raises(ValueError, match="op is 'max', and must be 'mean' or 'sum'"):
        sg.distribute.Optimizer(sg.train.AdamOptimizer(0.1), op="max")
