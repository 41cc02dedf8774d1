"""`python -m staticgraph launch -n 4 train.py`: a program in several processes, started by mpiexec."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from staticgraph.applications.cli.outcome import UsageError
from staticgraph.applications.cli.parsing import examples
from staticgraph.applications.cli.processes import INTERRUPTED, run_all

if TYPE_CHECKING:
    from staticgraph.applications.cli.parsing import Commands

_PORT = 2222  # of addresses in TF_CONFIG, at which nobody listens: MPI knows better ones


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "launch",
        help="run a script in several processes",
        description=(
            "Run a script in several processes that train together (staticgraph.distribute). This calls the "
            "mpiexec of the MPI that is installed; to start the script by mpiexec is as good."
        ),
        epilog=examples(
            ("-n 4 train.py --steps 1000", "four processes, with an argument of the script"),
            ("-n 8 --hosts a,b train.py", "on two machines"),
            ("-n 4 --restarts 3 train.py", "again after a failure, at most three times"),
            ("-n 2 --tensorflow train.py", "a script that imports tensorflow and horovod, unmodified"),
            ("-n 2 --tf-config --tensorflow train.py", "a script that reads TF_CONFIG"),
            ("-n 2 --tensorflow train.py --task_index={rank}", "a script that is told its number"),
        ),
    )
    parser.add_argument(
        "-n", "--processes", type=int, default=2, metavar="N", help="how many processes (default 2)"
    )
    parser.add_argument("--hosts", help="machines, with commas between them; by default this one")
    parser.add_argument(
        "--restarts", type=int, default=0, metavar="N", help="start again after a failure, N times at most"
    )
    parser.add_argument(
        "--fewer", action="store_true", help="with --restarts: each time with one process less, down to one"
    )
    parser.add_argument(
        "--tensorflow", action="store_true", help="run the script as `python -m staticgraph run` does"
    )
    parser.add_argument(
        "--tf-config", action="store_true", help="set TF_CONFIG in each process: a cluster of so many workers"
    )
    parser.add_argument("script", help="a Python file")
    parser.add_argument(
        "arguments",
        nargs=argparse.REMAINDER,
        help="the script's own arguments; {rank} stands for the number of a process",
    )
    parser.set_defaults(command=launch)


def launch(options: argparse.Namespace) -> int:
    """Start the processes; the status of the launcher, of the last try if there are several."""
    if options.processes < 1:
        raise UsageError(f"-n {options.processes}: at least one process is needed")
    if options.restarts < 0:
        raise UsageError(f"--restarts {options.restarts}: it is a number of times")
    if not os.path.isfile(options.script):
        raise UsageError(f"{options.script}: no such file")
    count = options.processes
    for left in range(options.restarts, -1, -1):
        line = _line(options, count)
        status = subprocess.call(line) if line[0] == sys.executable else run_all(line, count)
        if status in (0, INTERRUPTED) or not left:
            return status
        count = max(1, count - 1) if options.fewer else count
        print(
            f"staticgraph: the run ended with status {status}; {count} processes start again", file=sys.stderr
        )
    return status


def _line(options: argparse.Namespace, count: int) -> list[str]:
    """The words of the call."""
    hosts = ["-host", options.hosts] if options.hosts else []
    ranks = _programs(options, count)
    if count == 1 and not hosts and not options.tf_config:
        return ranks[0]
    if len({*map(tuple, ranks)}) == 1:  # all are alike
        return [mpiexec(), "-n", str(count), *hosts, *ranks[0]]
    words = [mpiexec()]
    for program in ranks:
        words += [":"] * (len(words) > 1) + ["-n", "1", *hosts, *program]
    return words


def _programs(options: argparse.Namespace, count: int) -> list[list[str]]:
    """The program of each process."""
    script = ["-m", "staticgraph", "run", options.script] if options.tensorflow else [options.script]
    made = []
    for rank in range(count):
        arguments = [word.replace("{rank}", str(rank)) for word in options.arguments]
        program = [sys.executable, *script, *arguments]
        if options.tf_config:
            workers = [f"localhost:{_PORT + number}" for number in range(count)]
            config = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}}
            program = ["env", f"TF_CONFIG={json.dumps(config)}", *program]
        made.append(program)
    return made


def mpiexec() -> str:
    """The path of the launcher: that of this environment of Python before any other."""
    beside = os.path.dirname(sys.executable)
    found = shutil.which("mpiexec", path=os.pathsep.join([beside, os.environ.get("PATH", "")]))
    if found is None:
        raise UsageError("there is no mpiexec: pip install 'staticgraph[mpi]', or an MPI of this machine")
    return found
