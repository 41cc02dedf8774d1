"""Errors of one process are raised in all of them, and no process waits for ever."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from staticgraph.applications.cli.launch import mpiexec
from tests.processes.launching import LIMIT, ROOT, launched

pytestmark = pytest.mark.takes_long

STEP = """
    dist = sg.distribute
    dist.init(timeout={timeout})
    n, rank = dist.size(), dist.rank()
    x = sg.placeholder("float32", [2])
    w = sg.get_variable("w", [2], initializer=sg.ones_initializer())
    step = dist.Optimizer(sg.train.GradientDescentOptimizer(0.5)).minimize(sg.reduce_sum(w * x))
    sess = sg.Session()
    sess.run(sg.global_variables_initializer())
    one = np.ones(2, np.float32)
    def attempt(fed, fetches=step):
        try:
            sess.run(fetches, {{x: fed}})
        except Exception as error:
            text = str(error).split("\\n\\n")[0].replace("\\n", " ")
            say("CAUGHT", rank, type(error).__name__, text)
    attempt(one)
"""


def attempting(processes: int, program: str, timeout: int = 20, status: int | None = 0) -> str:
    """Return what processes print that have run the step once, and then `program`."""
    return launched(processes, STEP.format(timeout=timeout) + program, status=status)


def caught(said: str) -> dict[int, str]:
    """The error that each process has caught."""
    lines = [line.split(maxsplit=2) for line in said.splitlines() if line.startswith("CAUGHT")]
    return {int(rank): text for _, rank, text in lines}


def test_an_error_is_raised_in_all_and_all_go_on():
    """Variables are then as before the run, and the next run does what it would have done. The second time,
    the others wait in native code.
    """
    program = """
    for start in (0.5, -1.0):
        attempt(np.zeros(3) if rank == 1 else one)
        assert sess.run(w).tolist() == [start, start], sess.run(w)
        for _ in range(3):
            attempt(one)
    assert sess.run(w).tolist() == [-2.5, -2.5], sess.run(w)
    say("WENT ON")
    """
    said = attempting(3, program)
    told = caught(said)
    assert said.count("WENT ON") == 3, said
    assert told[1].startswith("FeedError"), said
    for rank in (0, 2):
        assert told[rank].startswith("PeerError"), said
        assert "process 1 failed, and with it this run: FeedError" in told[rank], said


def test_errors_of_steps_that_run_natively():
    """An index out of range, and Ctrl-C in a process that has sent all that the other one needs."""
    program = """
    import signal, threading, time
    at = sg.placeholder("int32", [])
    chosen = dist.Optimizer(sg.train.GradientDescentOptimizer(0.5)).minimize(sg.gather(w, at) * 2)
    def attempt(index):
        try:
            sess.run(chosen, {at: index})
        except BaseException as error:
            say("CAUGHT", rank, type(error).__name__, " ".join(str(error).split("\\n\\n")[0].split()))
    for _ in range(4):
        attempt(0)
    attempt(5 if rank == 1 else 0)
    attempt(0)
    if rank == 0:
        threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    else:
        time.sleep(1.5)
    attempt(0)
    attempt(0)
    sess.run(dist.broadcast_variables())
    attempt(0)
    say("WENT ON", sess.run(w).tolist())
    """
    said = attempting(2, program)
    assert said.count("WENT ON [-5.5, 0.5]") == 2, said
    for line in (
        "1 InvalidArgumentError gather: indices = 5 is not in [0, 2)",
        "0 KeyboardInterrupt",
        "1 FailedPreconditionError all_gather: process 0 failed in a run that went well here",
        "0 PeerError process 1 failed, and with it this run: FailedPreconditionError",
    ):  # fmt: skip
        assert said.count(f"CAUGHT {line}") == 1, said


def test_the_same_error_everywhere_is_told_once_by_each():
    program = """
    attempt(np.zeros(3))
    attempt(one)
    assert sess.run(w).tolist() == [0.0, 0.0], sess.run(w)
    say("WENT ON")
    """
    said = attempting(2, program)
    assert said.count("WENT ON") == 2, said
    assert all(text.startswith("FeedError") for text in caught(said).values()), said


def test_an_error_that_ends_a_process():
    program = """
    if rank == 0:
        raise ZeroDivisionError("no data here")
    attempt(one)
    raise SystemExit(3)
    """
    told = caught(attempting(2, program, status=None))
    assert "process 0 failed, and with it this run: ZeroDivisionError: no data here" in told[1]


def test_an_error_that_ends_a_script_of_tensorflow(tmp_path: Path):
    """The command that runs it sees the error, and the interpreter does not."""
    script = tmp_path / "train.py"
    script.write_text(
        "import tensorflow as tf, horovod.tensorflow as hvd\n"
        "hvd.init()\n"
        "if hvd.rank() == 0:\n"
        "    raise ZeroDivisionError('no data here')\n"
        "tf.Session().run(hvd.allreduce(tf.ones([2])))\n"
    )
    line = [mpiexec(), "-n", "2", sys.executable, "-m", "staticgraph", "run", str(script)]
    done = subprocess.run(
        line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT
    )
    assert done.returncode
    assert "process 0 failed, and with it this run: ZeroDivisionError: no data here" in done.stdout


def test_a_process_without_data():
    program = """
    for _ in range(2 if rank == 0 else 1):
        attempt(one)
    """
    told = caught(attempting(2, program))
    assert "process 1 has ended, and this one waits for it in all_reduce" in told[0]


def test_steps_that_differ_are_found_at_the_first_run():
    program = """
    other = dist.all_reduce(sg.zeros([3 + rank]))
    attempt(one, other)
    """
    told = caught(attempting(2, program))
    for rank in (0, 1):
        assert told[rank].startswith("FailedPreconditionError process"), told
        assert "float32[3]" in told[rank] and "float32[4]" in told[rank]


def test_another_step_than_one_that_the_others_know():
    program = """
    other = dist.all_reduce(sg.zeros([3]))
    attempt(one, step if rank == 0 else other)
    """
    told = caught(attempting(2, program))
    assert "process 1 runs another step than process 0, and all must run the same: there all_red" in told[0]
    assert "float32[3]" in told[0] and "float32[2]" in told[0]
    assert "process 0 failed" in told[1]


def test_steps_that_all_know_in_another_order():
    """MPI would take what one sends for a sum for the rows of the other, and give both something."""
    program = """
    rows = dist.all_gather(x)
    def attempt_both(first, second):
        attempt(one, first)
        attempt(one, second)
    for _ in range(3):
        attempt_both(step, rows)
    attempt_both(*((step, rows) if rank == 0 else (rows, step)))
    sess.run(w.assign(one))
    attempt_both(step, rows)
    say("WENT ON", sess.run(w).tolist())
    """
    said = attempting(2, program)
    told = [line for line in said.splitlines() if line.startswith("CAUGHT") and "runs another step" in line]
    assert {line.split()[1] for line in told} == {"0", "1"}, said
    assert all("all_reduce(float32[2])" in line and "all_gather(float32[2])" in line for line in told), said
    assert said.count("WENT ON [0.5, 0.5]") == 2, said


def test_a_call_outside_of_steps_that_one_process_makes():
    """Such as to save, or for the mean of a metric."""
    program = """
    from staticgraph.distribute.host_numbers import means_of_all
    from staticgraph.runtime.processes import peers
    peers._GRACE = 1.0
    attempt(one)
    try:
        attempt(one) if rank else means_of_all({"loss": 1.0})
    except Exception as error:
        say("CAUGHT", rank, type(error).__name__, error)
    attempt(one)
    say("WENT ON")
    """
    said = attempting(2, program)
    told = caught(said)
    assert re.search(
        "waits in (a step|all_reduce outside of steps), and this one in (a step|all_red)", said
    ), said
    assert set(told) == {0, 1} and said.count("WENT ON") == 2, said


def test_one_process_may_fetch_more_than_the_others():
    """The first one saves summaries now and then: another step, with the same collectives."""
    program = """
    norm = sg.reduce_sum(w * w) + sg.Variable(1.0)
    sess.run(sg.global_variables_initializer())
    for n in range(6):
        sess.run([step, norm] if rank == 0 and n % 2 else step, {x: np.float32([1.0, 2.0])})
    say("DONE", sess.run(w).tolist())
    """
    said = attempting(2, program)
    assert said.count("DONE") == 2 and len({line for line in said.splitlines() if "DONE" in line}) == 1, said


def test_a_process_that_hangs_is_waited_for_so_long():
    program = """
    import time
    if rank == 0:
        attempt(one)
    else:
        time.sleep(500)
    """
    told = caught(attempting(2, program, timeout=2, status=None))
    assert "process 1 hangs at <string>:" in told[0]
    assert "and this process has waited 2 seconds for it in all_reduce" in told[0]


def test_a_process_that_does_not_answer_is_waited_for_so_long():
    """And then it is ended, though it is stopped and so cannot end by itself."""
    program = """
    import signal
    if rank == 0:
        attempt(one)
    else:
        os.kill(os.getpid(), signal.SIGSTOP)
    """
    told = caught(attempting(2, program, timeout=2, status=None))
    assert "process 1 does not answer, and this process has waited 2 seconds" in told[0]


def test_a_process_that_computes_is_waited_for():
    program = """
    import time
    if rank == 1:
        end = time.process_time() + 2.5
        while time.process_time() < end:
            np.ones(1000).sum()
    attempt(one)
    say("DONE", sess.run(w).tolist())
    """
    said = attempting(2, program, timeout=1)
    assert said.count("DONE [0.0, 0.0]") == 2 and not caught(said), said


def test_a_monitored_session_ends_with_the_process_that_others_wait_for():
    """It does not begin anew for ever, as it does when a session is lost."""
    program = """
        dist = sg.distribute
        x = sg.placeholder("float32", [2])
        w = sg.get_variable("w", [2], initializer=sg.ones_initializer())
        opt = dist.Optimizer(sg.train.GradientDescentOptimizer(0.5))
        step = opt.minimize(sg.reduce_sum(w * x), sg.train.create_global_step())
        with sg.train.MonitoredTrainingSession() as sess:
            sess.run(step, {x: np.ones(2)})
            sess.run(step, {x: np.ones(2 + dist.rank())})
    """
    said = launched(2, program, status=None)
    assert "process 1 failed, and with it this run: FeedError" in said, said


def test_a_process_that_is_killed_ends_the_run():
    program = """
    import os, signal
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    attempt(one)
    """
    said = attempting(2, program, status=None)
    assert "KILLED" in said.upper(), said


@pytest.mark.parametrize("there", [False, True])
def test_mpi_is_not_installed(there: bool):
    program = """
        import sys
        sys.modules["mpi4py"] = None
        print(sg.distribute.size())
    """
    if there:
        said = launched(1, program, status=1, PMI_SIZE="4")
        assert "4 processes were started together, and MPI cannot be loaded to connect them" in said
        assert "pip install 'staticgraph[mpi]'" in said
    else:
        assert launched(1, program) == "1\n"


def test_started_by_another_launcher_than_that_of_this_mpi():
    said = launched(1, "print(sg.distribute.size())", status=1, PMI_SIZE="4")
    assert "the launcher has started 4 processes, and MPI connects 1" in said
    assert "hint: start them with the mpiexec of this MPI" in said


def test_versions_that_differ():
    program = """
    from staticgraph.runtime.processes import collective_calls
    collective_calls.compiler_version = lambda: f"of process {rank}"
    attempt(one, dist.all_reduce(sg.zeros([3])))
    """
    told = caught(attempting(2, program))
    for rank in (0, 1):
        text = f"process {1 - rank} has another version of staticgraph than process {rank}"
        assert told[rank].startswith(f"FailedPreconditionError {text}"), told


def test_a_checkpoint_that_only_some_processes_see_or_that_cannot_be_written(tmp_path: Path):
    program = f"""
    import time
    saver = dist.Saver()
    time.sleep(0.3 * (rank == 0))
    path = saver.save(sess, {str(tmp_path / "model")!r})
    assert os.path.exists(path + ".index")
    for call, to in (
        (saver.restore, path.replace("model", "other") if rank == 1 else path),
        (saver.save, path + ".index/in_a_file"),
    ):
        try:
            call(sess, to)
        except Exception as error:
            say("CAUGHT", rank, type(error).__name__, str(error).split("\\n\\n")[0])
    attempt(one)
    say("WENT ON")
    """
    said = attempting(2, program)
    for rank in (0, 1):
        assert re.search(
            f"CAUGHT {rank} NotFoundError .*process 1 on .* does not see this checkpoint", said
        ), said
        assert re.search(f"CAUGHT {rank} SaveError .*cannot save to .*in_a_file", said), said
    assert said.count("WENT ON") == 2
