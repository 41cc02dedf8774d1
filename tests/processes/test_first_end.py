"""Which of a launcher's processes ended first, and how: the launcher ends all others then."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from staticgraph.applications.cli.processes import End, Ranks, how_it_ended, killed
from tests.processes.launching import LIMIT, ROOT

pytestmark = pytest.mark.takes_long
SCRIPTS = Path(__file__).parent / "scripts"


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
        told = re.search("process (1 on .* was killed by signal 9|0 or 1 was the first to end)", done.stderr)
        assert bool(told) is (name == "killed"), done.stderr
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
