"""`python -m staticgraph bisect net.sg`: which kernel, pass or rule does not do what the ops mean."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from staticgraph.applications.cli import terminal
from staticgraph.applications.cli.compile import SHAPE, shape
from staticgraph.applications.cli.outcome import DONE, UNLIKE, printable
from staticgraph.applications.cli.parsing import examples, whole_number

if TYPE_CHECKING:
    from staticgraph.applications.cli.parsing import Commands
    from staticgraph.runtime.debug.bisect import Bisection, StepCall
    from staticgraph.runtime.debug.compare import Tolerance
    from staticgraph.runtime.debug.wrong_kernel import How


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "bisect",
        help="find the kernel or the pass that is at fault",
        description="Run each kernel of a graph beside NumPy, both on the same inputs, and name the first "
        "that does not do what its ops mean; then each pass; then leave out one optional pass at a time.\n"
        "FILE is what bench takes, or a file of a run that failed. Random values are of the normal "
        "distribution, whole numbers 0 or 1.\n"
        "The status is 0 where all agree, and 3 where something differs.",
        epilog=examples(
            ("failure.sg", "the feeds and variables of a run that failed"),
            ("net.sg --signature train --feeds digits.npz", "a training step, on real values"),
            ("net.sg --dump fault", "with the code and the inputs of the kernel at fault"),
            ("net.sg --device gpu", "the kernels of a GPU, each beside NumPy"),
        ),
    )
    option = parser.add_argument
    option("file", help="a graph, or a run that failed")
    option("--signature", metavar="NAME", help="which function of the file (default: its first)")
    batch = "the first size of inputs where it is open (default: 4)"
    option("--batch", default=4, type=whole_number, metavar="N", help=batch)
    option("--shape", action="append", default=[], type=shape, metavar="INPUT=N,N", help=SHAPE)
    option("--feeds", metavar="FILE", help="values by input, .npz or .safetensors (default: random)")
    tolerance = "that elements may differ (default: what rounding explains)"
    option("--rtol", type=float, metavar="X", help=f"the part of their size by {tolerance}")
    option("--atol", type=float, metavar="X", help=f"the amount by {tolerance}")
    device = "whose code is looked at: cpu, gpu, gpu:1, or standin, which runs a GPU's code without one"
    option("--device", default="cpu", type=_device, metavar="NAME", help=f"{device} (default: cpu)")
    option("--dump", metavar="FOLDER", help="write there the code and the values of the kernel at fault")
    option("--json", action="store_true", help="as JSON")
    parser.set_defaults(command=bisect)


def bisect(options: argparse.Namespace) -> int:
    """Look for the fault and print what was found; the status to exit with."""
    # The other commands need no compiler.
    from staticgraph.runtime.debug import bisect_text
    from staticgraph.runtime.debug.bisect import bisect as search
    from staticgraph.runtime.debug.compare import Tolerance

    found: list[Bisection] = []
    with terminal.Progress() as tell:
        tell(f"reading {options.file}", at_once=True)
        calls, how = _calls(options, Tolerance(options.rtol, options.atol))
        for number, call in enumerate(calls, 1):
            tell(f"step {number} of {len(calls)}: {call.fetches.text}", at_once=True)
            found.append(search(call, how))
            if not found[-1].agrees:
                break
    kernel = next((each.kernel for each in found if each.kernel is not None), None)
    dumped: Path | None = None
    if options.dump is not None and kernel is not None:
        dumped = bisect_text.dump(kernel, options.dump)
    if options.json:
        terminal.out(json.dumps([bisect_text.as_dict(each) for each in found], indent=1))
    else:
        lines = [line for each in found for line in bisect_text.text(each, dumped).splitlines()]
        terminal.out("\n".join(map(printable, lines)) or "nothing in this run is compiled")
    return DONE if all(each.agrees for each in found) else UNLIKE


def _device(text: str) -> str:
    if re.fullmatch(r"cpu|standin|gpu(:\d+)?", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not cpu, gpu, gpu:1 or standin")
    return text


def _calls(options: argparse.Namespace, tolerance: Tolerance) -> tuple[list[StepCall], How]:
    """The steps of the file's run, and how they are to be compiled."""
    from staticgraph.applications.cli.feeding import feeds
    from staticgraph.applications.cli.opening import opened
    from staticgraph.runtime.aot.steps import Shapes
    from staticgraph.runtime.debug.bisect import backend_of, calls_of, how
    from staticgraph.runtime.debug.crash_file import is_failure
    from staticgraph.runtime.feeds import convert
    from staticgraph.saved.saving import load_failure

    if is_failure(options.file):
        failure = load_failure(options.file)
        run, session = failure.run, failure.session
        fetches, values = [*run.fetches, *run.targets], dict(run.feeds)
        math, passes = failure.switches.get("math", "precise"), failure.switches.get("passes", "")
        precision = failure.switches.get("matmul_precision", "float32")
        cudnn = "cudnn" not in failure.switches  # which has those that are not as by default
        without = frozenset(name for name in passes.split(",") if name)
    else:
        function = opened(options.file, options.signature)
        given = feeds(function, Shapes(dict(options.shape), options.batch), options.feeds)
        session, fetches = function.session, function.fetches
        values = {t: convert(t, given[name]) for name, t in function.inputs.items() if name in given}
        math, without = session.settings.math, session.settings.left_out
        precision, cudnn = session.settings.matmul_precision, session.settings.cudnn
    calls = calls_of(session.graph, fetches, values, session.variables)
    return calls, how(backend_of(options.device, math, precision, cudnn), without, tolerance)
