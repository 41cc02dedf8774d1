"""Errors of one process are raised in all of them, and no process waits for ever."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from staticgraph.applications.cli.launch import mpiexec
from staticgraph.applications.cli.processes import End, Ranks, how_it_ended, killed
from tests.processes.launching import LIMIT, ROOT, launched

pytestmark = pytest.mark.one_in(4)
SCRIPTS = Path(__file__).parent / "scripts"

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


@pytest.mark.parametrize(
    ("end", "told"), [("os._exit(5)", "has ended with status 5"), ("os.kill(os.getpid(), 11)", "signal 11")]
)
def test_the_launcher_names_the_process_that_ended_first(end: str, told: str, tmp_path: Path):
    """It ends the other three by itself, and its own message may be of one of them."""
    script = tmp_path / "train.py"
    rank = "MPI.COMM_WORLD.Get_rank()"
    text = f"import os, time\nfrom mpi4py import MPI\ntime.sleep(2)\nif {rank} == 2: {end}\ntime.sleep(60)\n"
    script.write_text(text)
    line = [sys.executable, "-m", "staticgraph", "launch", "-n", "4", str(script)]
    done = subprocess.run(
        line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT
    )
    assert done.returncode
    wanted = rf"staticgraph: process (\d or )*2 (or \d )*.*({told}|was the first to end)"
    assert re.search(wanted, done.stdout), done.stdout


def test_who_ended_first():
    ranks = Ranks(0, 3)
    ranks.stop()
    ranks.known = {10: 0, 11: 1, 12: 2}
    ends: list[tuple[int, int | None]]
    for ends, told in (
        ([(10, 0), (11, 9), (12, 9)], "process 1 on "),
        ([(11, 9), (12, 11)], "process 2 on "),  # a launcher sends no signal 11
        ([(11, 5 << 8), (12, 9)], "process 1 has ended with status 5"),
        ([(11, None), (10, 15), (12, 15)], "process 1 was the first to end"),  # Open MPI sends SIGTERM
        ([(11, 1 << 8), (10, 9), (12, 9)], ""),  # an error of Python, which is shown
        ([(11, 9), (10, None)], "process 1 on "),  # the launcher asked for the other one first
        ([], ""),
    ):
        ranks.ends = [End(float(moment), pid, status) for moment, (pid, status) in enumerate(ends)]
        found = how_it_ended(b"", ranks, 9)
        assert found.startswith(told) and bool(told) == bool(found)
    ranks.ends = [End(0.0, 11, 9), End(0.0, 12, None)]  # it was still about to end
    tail = b"PID 12 RUNNING AT here\n= EXIT CODE: 11\n"
    assert how_it_ended(tail, ranks, 11).startswith("process 2 on here was killed by signal 11")
    ranks.ends = [End(0.0, 11, None), End(0.0, 12, None), End(0.0, 10, 9)]  # one of two that were not seen
    tail = (
        b"PID 10 RUNNING AT here\n= EXIT CODE: 9\n"
        b"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)\n"
    )
    assert how_it_ended(tail, ranks, 9).startswith("process 1 or 2 on ")
    tail = b"PID 10 RUNNING AT here\n= EXIT CODE: 9\n"
    for second, told in ((0.0, "process 0 or 2"), (0.1, "process 2")):  # seen in the same look, or later
        ranks.ends = [End(0.0, 12, None), End(0.0, 11, 9), End(second, 10, None)]
        assert how_it_ended(tail, ranks, 9) == f"{told} was the first to end"


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux tells of the end of processes")
def test_ends_are_known_in_their_order():
    """A busy machine shows the ends of many at once; who ended first is known all the same."""
    started = [
        subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={**os.environ, "PMI_RANK": str(rank)})
        for rank in range(12)
    ]
    ranks = Ranks(os.getpid(), len(started))
    while len(ranks.known) < len(started):
        os.sched_yield()
    order = [7, 0, 11, 3, 1, 10, 2, 9, 4, 8, 6, 5]
    for rank in order:
        pipe = started[rank].stdin
        assert pipe is not None
        pipe.close()
        os.waitid(os.P_PID, started[rank].pid, os.WEXITED | os.WNOWAIT)
    while len(ranks.ends) < len(started):
        os.sched_yield()
    ranks.stop()
    assert [ranks.known[end.pid] for end in ranks.ends] == order
    assert all(end.status == 0 for end in ranks.ends)
    for process in started:
        process.wait()


def test_what_a_process_has_started_is_not_taken_for_a_process_of_the_run():
    """It has the same environment and may end long before: "process 0 was the first to end", as was told."""
    inner = "import sys; print('up', flush=True); sys.stdin.read()"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    ranks, started = Ranks(os.getpid(), 3), []
    for rank, code in enumerate((outer, inner)):
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, "PMI_RANK": str(rank)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
        while rank not in ranks.known.values():
            os.sched_yield()
    ranks.stop()
    for process in started:
        process.communicate()
    assert ranks.known == {process.pid: rank for rank, process in enumerate(started)}


def test_the_launcher_names_the_process_that_was_killed_and_training_goes_on(tmp_path: Path):
    """The result is that of a training in peace, since it goes on from the last checkpoint."""
    text = (SCRIPTS / "goes_on.py").read_text()
    killing = "if number == 50 and dist.rank() == 1 and not last: os.kill(os.getpid(), 9)"
    script = tmp_path / "goes_on.py"
    script.write_text(text.replace("            rows = ", f"            {killing}\n            rows = ", 1))
    results = []
    for name, program in (("killed", script), ("peace", SCRIPTS / "goes_on.py")):
        line = [sys.executable, "-m", "staticgraph", "launch", "-n", "2", "--restarts", "1", str(program)]
        done = subprocess.run(
            [*line, str(tmp_path / name)], capture_output=True, text=True, timeout=LIMIT, cwd=ROOT
        )
        results.append(sorted(re.findall("RESULT .*", done.stdout)))
        assert len(results[-1]) == 2, done.stdout + done.stderr
        assert ("process 1 on " in done.stderr) is (name == "killed"), done.stderr
        assert ("was killed by signal 9" in done.stderr) is (name == "killed"), done.stderr
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "tail, told",
    [
        (
            b"=   PID 7 RUNNING AT host\n=   EXIT CODE: 9\n",
            "process 3 on host was killed by signal 9 (Killed)",
        ),
        (
            b"=   PID 8 RUNNING AT b\n=   EXIT CODE: 11\n",
            "the process with PID 8 on b was killed by",
        ),
        (b"=   PID 7 RUNNING AT host\n=   EXIT CODE: 200\n", ""),
        (
            b"prterun noticed that process rank 1 with PID 0 on node n exited on\nsignal 15 (T).",
            "process 1 on n",
        ),
        (b"", ""),
    ],
)
def test_how_launchers_tell_of_a_killed_process(tail: bytes, told: str):
    found, _ = killed(tail, {7: 3})
    assert found.startswith(told) and bool(found) is bool(told)


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
