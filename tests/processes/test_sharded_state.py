"""Parts of an optimizer's state in each process: the numbers of whole ones, checkpoints for any number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from tests.processes.launching import launched

pytestmark = pytest.mark.takes_long

TRAIN = """
    dist = sg.distribute
    n, rank = dist.size(), dist.rank()
    rng = np.random.RandomState(0)
    rows = rng.randn(64, 5).astype(np.float32)
    x, y = sg.placeholder("float32", [None, 5]), sg.placeholder("int32", [None])
    h = sg.layers.dense(x, 7, activation=sg.nn.tanh, kernel_initializer=sg.random_normal_initializer(seed=1))
    table = sg.get_variable("table", [3, 7], initializer=sg.zeros_initializer())
    h += sg.matmul(sg.one_hot(y, 3), table) if {more!r} else sg.nn.embedding_lookup(table, y)
    logits = sg.layers.dense(h, 3, kernel_initializer=sg.random_normal_initializer(seed=2))
    loss = sg.reduce_mean(sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    opt = dist.Optimizer(sg.train.{optimizer}, shard_state={divided}{more})
    step = opt.minimize(loss, global_step=sg.train.get_or_create_global_step())
    saver = dist.Saver()
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        if {old!r}:
            saver.restore(sess, {old!r})
        done = int(sess.run(sg.train.get_global_step()))
        for t in range(done, done + {steps}):
            mine = np.random.RandomState(t).permutation(64)[:24]
            mine = mine[np.isin(np.arange(24) % 8, dist.local_shards(8))]
            sess.run(step, {{x: rows[mine], y: rows[mine, :3].argmax(1)}})
        saver.save(sess, {new!r}, write_meta_graph=False)
        held = sum(v.size for v in sess.run([v for v in sg.global_variables() if "Adam" in v.name]))
    say("HELD", held)
"""


def trained(
    processes: int, folder: Path, old: str = "", steps: int = 10, divided: bool = True,
    optimizer: str = "AdamOptimizer(0.05)", more: str = "",
) -> tuple[dict[str, np.ndarray], str, list[int]]:  # fmt: skip
    """The variables in the checkpoint, its prefix, and the numbers that each process held of averages."""
    new = str(folder / f"{processes}{divided}{steps}{bool(old)}")
    program = TRAIN.format(optimizer=optimizer, divided=divided, old=old, new=new, steps=steps, more=more)
    said = launched(processes, program)
    reader = sg.train.load_checkpoint(new)
    values = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    return values, new, [int(line.split()[1]) for line in said.splitlines() if line.startswith("HELD")]


@pytest.mark.parametrize(
    "optimizer",
    ["AdamOptimizer(0.05)", pytest.param("MomentumOptimizer(0.1, 0.9)", marks=pytest.mark.slow)],
)
def test_the_numbers_of_whole_state(optimizer: str, tmp_path: Path):
    whole, _, held = trained(1, tmp_path, optimizer=optimizer)
    parts, _, held_in_parts = trained(2, tmp_path, optimizer=optimizer)
    assert whole.keys() == parts.keys()
    assert whole["global_step"] == parts["global_step"] == 10
    for name, value in whole.items():
        np.testing.assert_allclose(parts[name], value, rtol=2e-4, atol=1e-6, err_msg=name)
    if held[0]:  # and one number more for what does not divide
        assert all(each <= held[0] // 2 + 2 for each in held_in_parts)


def test_any_number_of_processes_goes_on_from_a_checkpoint(tmp_path: Path):
    """With shards, the bits are those of a run without a break. (Sparse updates are other sums.)"""
    more = ", shards=8"
    unbroken, _, _ = trained(1, tmp_path, steps=6, more=more, divided=False)
    _, first, _ = trained(3, tmp_path, steps=3, more=more)
    values, _, _ = trained(2, tmp_path, steps=3, old=first, more=more)
    assert values.keys() == unbroken.keys()
    for name, value in values.items():
        np.testing.assert_array_equal(value, unbroken[name], err_msg=name)


def test_the_state_of_bfloat16_variables_is_divided():
    said = launched(
        2,
        """
        w = sg.Variable(sg.constant([1.0, 2.0, 3.0], sg.bfloat16))
        optimizer = sg.distribute.Optimizer(sg.train.MomentumOptimizer(0.5, 0.5), shard_state=True)
        step = optimizer.minimize(sg.reduce_sum(w * w))
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            sess.run(step)
            say("FOUND", sess.run(w).tolist())
        """,
    )
    assert said.count("FOUND [0.0, 0.0, 0.0]") == 2
