"""Scripts that were written for several workers of TensorFlow 1, unmodified."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.applications.cli.launch import mpiexec
from staticgraph.compiler.graph.errors import FailedPreconditionError, UnimplementedError
from tests.processes.launching import LIMIT, ROOT, launched

pytestmark = pytest.mark.takes_long

SCRIPTS = Path(__file__).parent / "scripts"


def run(*words: str, status: int = 0) -> str:
    """Return all that the processes print."""
    done = subprocess.run(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert (done.returncode == 0) is (status == 0), done.stdout
    return done.stdout


def launch(*words: str, status: int = 0) -> str:
    return run(sys.executable, "-m", "staticgraph", "launch", "--tensorflow", *words, status=status)


def results(said: str, processes: int) -> list[str]:
    """The results of all processes, whose weights are the same."""
    lines = sorted(re.findall(r"RESULT (\d+) (\w+) (.*)", said))
    assert [int(rank) for rank, _, _ in lines] == list(range(processes)), said
    assert len({digest for _, digest, _ in lines}) == 1, said
    return [text for _, _, text in lines]


@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_synchronous_training_with_a_server(workers: int, tmp_path: Path):
    hosts = ",".join(f"localhost:{2222 + n}" for n in range(workers))
    words = ["--task_index={rank}", f"--worker_hosts={hosts}", f"--train_dir={tmp_path}"]
    said = launch("-n", str(workers), str(SCRIPTS / "sync_replicas.py"), *words)
    assert results(said, workers) == ["step 120 right True"] * workers
    assert (tmp_path / "checkpoint").exists()


def test_a_parameter_server_has_nothing_to_do():
    """It is started as a process of its own, as for TensorFlow, and is not among those that exchange.

    Workers wait for a supervisor that initializes their variables; each does so itself.
    """
    words = [mpiexec()]
    for job, task in (("ps", 0), ("worker", 0), ("worker", 1)):
        line = [sys.executable, "-m", "staticgraph", "run", str(SCRIPTS / "sync_replicas.py")]
        words += [":"] * (len(words) > 1) + ["-n", "1", *line, f"--job_name={job}", f"--task_index={task}"]
        words += ["--worker_hosts=localhost:2222,localhost:2223", "--supervisor=true"]
    said = run(*words)
    assert results(said, 2) == ["step 120 right True"] * 2
    assert "ps goes on" not in said


def test_asynchronous_training_is_refused():
    words = ["--task_index={rank}", "--worker_hosts=localhost:2222,localhost:2223", "--sync=false"]
    said = launch("-n", "2", str(SCRIPTS / "sync_replicas.py"), *words, status=1)
    assert said.count("the results would depend on which process is faster") >= 2
    assert "tf.train.SyncReplicasOptimizer(opt" in said


@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_workers_train_a_model_of_keras(workers: int, tmp_path: Path):
    """The first one tells how far it is, and writes files, as in TensorFlow."""
    script = str(SCRIPTS / "multi_worker_keras.py")
    said = launch("-n", str(workers), "--tf-config", script, str(tmp_path))
    assert results(said, workers) == ["right True"] * workers
    assert said.count("Epoch 1/3") == 1 and said.count("EPOCH") == 3
    assert [file.name for file in tmp_path.iterdir()] == ["of_0.model"]


@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_workers_train_and_evaluate_an_estimator(workers: int, tmp_path: Path):
    said = launch(
        "-n", str(workers), "--tf-config", str(SCRIPTS / "multi_worker_estimator.py"), str(tmp_path)
    )
    others = [
        f"chief False right evaluated elsewhere step 100 part {n} of {workers}" for n in range(1, workers)
    ]
    assert results(said, workers) == [f"chief True right True step 100 part 0 of {workers}", *others]
    assert len([*(tmp_path / "export" / "model").iterdir()]) == 1
    assert sg.train.latest_checkpoint(tmp_path).endswith("model.ckpt-100")


def test_keras_with_horovod(tmp_path: Path):
    workers = 2
    said = launch("-n", str(workers), str(SCRIPTS / "horovod_keras.py"), str(tmp_path))
    rates = "rates 0.0375 0.0500 0.0500 0.0050"  # of the whole for two processes, from a half of it on
    found = results(said, workers)
    assert len(set(found)) == 1  # the loss is that of all
    assert found[0].startswith(rates), said
    assert "Epoch 2: finished gradual learning rate warmup" in said


def test_a_strategy_has_the_gradients_of_all():
    program = """
        dist = sg.distribute
        strategy = dist.experimental.MultiWorkerMirroredStrategy()
        rank = dist.rank()
        with strategy.scope():
            w = sg.get_variable("w", [], initializer=sg.ones_initializer())
            context = lambda: dist.get_replica_context()
            inside = strategy.experimental_run_v2(
                lambda: (context().replica_id_in_sync_group, context().num_replicas_in_sync)
            )
            step = sg.train.GradientDescentOptimizer(1.0).minimize(w * (2.0 + rank))
            total = strategy.reduce(dist.ReduceOp.SUM, sg.constant([1.0, 2.0 + rank]), axis=0)
        batches = sg.data.Dataset.from_tensor_slices([[0, 1, 2, 3]])
        mine = strategy.experimental_distribute_dataset(batches).make_one_shot_iterator().get_next()
        with sg.Session() as sess:
            sess.run(sg.global_variables_initializer())
            sess.run(step)
            say(rank, inside, sess.run([w, total]), sess.run(mine).tolist())
    """
    said = sorted(launched(2, program).splitlines())
    shown = repr([np.float32(1 - 2.5), np.float32(7.0)])
    assert said == [f"0 (0, 2) {shown} [0, 2]", f"1 (1, 2) {shown} [1, 3]"]


def test_a_metric_is_updated_by_each_replica_and_read_of_all():
    """So the first process alone may fetch the update, for a summary. Input that a function makes for this
    process is not divided again.
    """
    program = """
        dist = sg.distribute
        strategy = dist.experimental.MultiWorkerMirroredStrategy()
        rank = dist.rank()
        made = lambda context: sg.data.Dataset.from_tensors([float(context.input_pipeline_id), 4.0])
        with strategy.scope():
            iterator = strategy.make_input_fn_iterator(made)
            value, update = strategy.experimental_run_v2(lambda: sg.metrics.mean(iterator.get_next()))
            w = sg.get_variable("w", [], initializer=sg.ones_initializer())
            step = sg.train.GradientDescentOptimizer(1.0).minimize(w * (2.0 + rank))
        with sg.Session() as sess:
            sess.run([sg.global_variables_initializer(), sg.local_variables_initializer()])
            sess.run(iterator.initialize())
            found = sess.run([step, update] if rank == 0 else step)
            say(rank, found[1] if rank == 0 else None, sess.run([w, value]))
    """
    said = sorted(launched(2, program).splitlines())
    shown = repr([np.float32(1 - 2.5), np.float32(2.0)])  # of one process: the other one has counted nothing
    assert said == [f"0 2.0 {shown}", f"1 None {shown}"]


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ('{"cluster": {"worker": ["a:1", "b:1"]}}', "describes 2 workers, and 1 processes were started"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}', None),
        ("", None),
    ],
)
def test_a_cluster_that_was_not_started(config: str, text: str | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TF_CONFIG", config)
    strategy = sg.distribute.experimental.MultiWorkerMirroredStrategy
    if text is None:
        assert strategy().num_replicas_in_sync == 1
        assert sg.distribute.experimental.ParameterServerStrategy().num_replicas_in_sync == 1
        return
    with pytest.raises(FailedPreconditionError, match=text):
        strategy()


def test_a_cluster_of_other_processes():
    program = """
        import json
        dist = sg.distribute
        cluster = {"worker": ["a:1", "b:1"]}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}})
        def attempt(function, *args):
            try:
                function(*args)
            except Exception as error:
                say(type(error).__name__, str(error).splitlines()[0])
        attempt(dist.experimental.MultiWorkerMirroredStrategy)
        attempt(sg.train.Server, {"worker": ["a:1", "b:1", "c:1"]}, "worker", 0)
        attempt(sg.train.Server, {"worker": ["a:1", "b:1"]}, "worker", 1)
        attempt(sg.train.SyncReplicasOptimizer, sg.train.AdamOptimizer(0.1), 3)
        del os.environ["TF_CONFIG"]
        attempt(dist.experimental.ParameterServerStrategy)
    """
    said = launched(2, program)
    number = "this one being number 0, and it is process 1 of those started"
    assert said.count(number) == 1, said
    assert said.count("the cluster has 3 workers and 0 parameter servers, and 2 processes were started") == 2
    assert said.count("task_index is 1, and this is process 0 of those started") == 1
    assert said.count("a step of 3 gradients with 2 processes is not supported") == 2
    assert said.count("UnimplementedError parameter servers that take gradients at any time") == 2


def test_sync_replicas_by_one_process():
    opt = sg.train.SyncReplicasOptimizer(sg.train.GradientDescentOptimizer(0.1), 1, total_num_replicas=1)
    step = opt.minimize(sg.Variable(1.0) * 2, global_step=sg.train.create_global_step())
    begin = [opt.get_init_tokens_op(), opt.chief_init_op, opt.local_step_init_op]
    assert opt.ready_for_local_init_op is None
    opt.get_chief_queue_runner()
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        sess.run(begin)
        sess.run(step)
    with pytest.raises(UnimplementedError, match="variable_averages is not supported"):
        average = sg.train.ExponentialMovingAverage(0.9)
        sg.train.SyncReplicasOptimizer(sg.train.AdamOptimizer(0.1), 1, variable_averages=average)
