"""`python -m staticgraph bench net.sg`: how long a saved graph takes, kernel by kernel."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from staticgraph.applications.cli import terminal
from staticgraph.applications.cli.compile import SHAPE, shape
from staticgraph.applications.cli.outcome import UsageError
from staticgraph.applications.cli.parsing import examples, whole_number

if TYPE_CHECKING:
    from staticgraph.applications.cli.parsing import Commands


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "bench",
        help="time a saved graph, kernel by kernel",
        description="Time a saved graph: its compile, its steps, its kernels, each compared with what a core "
        "of this machine can do at most.\n"
        "FILE is a graph that sg.save wrote, a model of ONNX or Keras (.h5), the folder of a SavedModel, a "
        "frozen graph of TensorFlow's (.pb) or a meta graph (.meta). Random values are of the normal "
        "distribution, whole numbers 0 or 1. Variables change in memory only.",
        epilog=examples(
            ("net.sg --batch 32", "inference of 32 rows"),
            ("net.sg --signature train --feeds digits.npz", "a training step, on real values"),
            ("resnet.onnx --threads 1 --json", "on one core; for a script"),
        ),
    )
    option = parser.add_argument
    option("file", help="what to time")
    option("--signature", metavar="NAME", help="which function of the file (default: its first)")
    number: dict[str, Any] = {"type": whole_number, "metavar": "N"}
    option("--batch", default=1, help="the first size of inputs where it is open (default: 1)", **number)
    option("--shape", action="append", default=[], type=shape, metavar="INPUT=N,N", help=SHAPE)
    option("--feeds", metavar="FILE", help="values by input, .npz or .safetensors (default: random)")
    option("--runs", help="steps that are timed (default: for about a second)", **number)
    option("--threads", help="that work on a step (default: all cores)", **number)
    option("--json", action="store_true", help="as JSON, times in seconds")
    parser.set_defaults(command=bench)


def bench(options: argparse.Namespace) -> int:
    """Time the file and print what was found."""
    # The other commands need no compiler.
    from staticgraph.applications.cli.feeding import feeds
    from staticgraph.applications.cli.measuring import measure
    from staticgraph.applications.cli.opening import opened
    from staticgraph.runtime.aot.steps import Shapes
    from staticgraph.runtime.cpu.threads import get_num_threads, set_num_threads
    from staticgraph.runtime.switches import MOST_THREADS

    if (options.threads or 1) > MOST_THREADS:
        raise UsageError(f"--threads {options.threads}: there may be {MOST_THREADS}")
    before = get_num_threads()
    set_num_threads(options.threads or before)
    try:
        with terminal.Progress() as tell:
            tell(f"reading {options.file}", at_once=True)
            function = opened(options.file, options.signature)
            values = feeds(function, Shapes(dict(options.shape), options.batch), options.feeds)
            found = measure(options.file, function, values, options.runs, tell)
            if not options.json:
                tell("measuring what a core can do at most", at_once=True)
                text = found.text(terminal.width())
            else:
                text = json.dumps(found.as_dict(), indent=1)
    finally:
        set_num_threads(before)
    terminal.out(text)
    return 0
