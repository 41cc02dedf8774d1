"""The benchmark of input pipelines takes batches of every pipeline, and tells what loses."""

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from benchmarks.pipelines import group, worker

WORKS = [name for name in group.WORKS if not name.startswith("queue")]


@pytest.mark.takes_long
@pytest.mark.parametrize("name", WORKS)
def test_a_pipeline_gives_other_batches_of_one_size(name, tmp_path):
    with sg.Graph().as_default():
        step = worker.step_of(tf, name, str(tmp_path))
        first, second = (step() for _ in range(2))
        assert list(map(len, worker.summary(first))) == list(map(len, worker.summary(second)))
        constant = name in ("tfrecord", "png", "jpeg")  # the summary of strings is a checksum
        assert constant or worker.summary(first) != worker.summary(second)
        assert worker.cpu_seconds(step, 2) >= 0


@pytest.mark.takes_long
@pytest.mark.parametrize("name", [name for name in group.WORKS if name not in WORKS])
def test_a_queue_gives_batches_of_its_size(name, tmp_path):
    with sg.Graph().as_default() as graph:
        element = group.WORKS[name](tf, str(tmp_path))
        with sg.Session(graph=graph) as session:
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            assert [len(part) for part in session.run(element)] == [32, 32]
            coordinator.request_stop()
        coordinator.join(threads)


def test_strings_are_summed_up_as_a_checksum():
    assert worker.summary({"b": np.array([b"x"], object), "a": [1.0, 2.0]}) == [
        [1.0] * 5, [2.0] * 5, [2363233923.0],
    ]  # fmt: skip


def test_the_table_tells_what_loses():
    facts = {"staticgraph": {"median": 2e-3}, "TensorFlow 1": {"median": 1e-3, "agrees": False}}
    table = group.markdown({"work": {"csv": facts, "png": {"staticgraph": {"median": 1e-3}}}})
    rows = ["| csv | 2 ms | 1 ms (differs) | **2** |", "| png | 1 ms |  |  |"]
    assert table.splitlines()[2:] == rows
