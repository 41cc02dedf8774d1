"""Waiting for checkpoints, with a clock that only sleeping moves."""

import pytest

import staticgraph as sg
from staticgraph.formats.tf.checkpoints import new_checkpoints
from tests.train.stand_ins import Clock


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(new_checkpoints, "time", made)
    return made


@pytest.fixture
def save(tmp_path):
    """Writes a checkpoint of a step."""
    sg.Variable(1.0, name="v")
    saver = sg.train.Saver()
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        yield lambda step: saver.save(sess, str(tmp_path / "model"), step)


def test_each_new_checkpoint_is_given_once(clock, save, tmp_path):
    written = {103.0: 1, 110.0: 2, 111.0: 3}

    def write():
        if clock.now in written:
            save(written[clock.now])

    clock.on_sleep = write
    found = []
    for path in sg.train.checkpoints_iterator(str(tmp_path), timeout=20):
        found.append((path.rpartition("-")[2], clock.now))
    assert found == [("1", 103.0), ("2", 110.0), ("3", 111.0)]
    assert clock.now == 131.0


def test_the_least_interval(clock, save, tmp_path):
    save(0)
    clock.on_sleep = lambda: save(int(clock.now))
    every = sg.train.checkpoints_iterator(str(tmp_path), min_interval_secs=30)
    found = [(next(every).rpartition("-")[2], clock.now) for _ in range(3)]
    assert found == [("0", 100.0), ("130", 130.0), ("160", 160.0)]


def test_the_caller_says_whether_it_ends(clock, tmp_path):
    asked = []

    def ends():
        asked.append(clock.now)
        return len(asked) == 3

    assert list(sg.train.checkpoints_iterator(str(tmp_path), timeout=10, timeout_fn=ends)) == []
    assert asked == [110.0, 120.0, 130.0]
