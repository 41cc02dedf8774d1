"""`python -m staticgraph run script.py`: a script of TF1, unmodified."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING

from staticgraph.applications.cli.outcome import UsageError
from staticgraph.applications.cli.parsing import examples

if TYPE_CHECKING:
    from staticgraph.applications.cli.parsing import Commands


def add(commands: Commands) -> None:
    """Describe the command to the command line's parser."""
    parser = commands.add_parser(
        "run",
        help="run a script that imports tensorflow",
        description="Run a script of TensorFlow 1, unmodified, with staticgraph in TensorFlow's place.",
        epilog=examples(
            ("train.py --steps 1000", "the script, with an argument of its own"),
            ("--check train.py", "which names it uses that are not supported: without running it"),
        ),
    )
    parser.add_argument("--check", action="store_true", help="only list the names that are not supported")
    parser.add_argument("--json", action="store_true", help="with --check: the list as JSON")
    parser.add_argument("script", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run or check the script; 1 if it failed, or uses what is not supported."""
    # The other commands need neither the table of TF1's names nor the finder.
    from staticgraph.tf1.drop_in.check import check
    from staticgraph.tf1.drop_in.runner import run_script

    if not os.path.isfile(options.script):
        raise UsageError(f"{options.script}: no such file")
    if options.json and not options.check:
        raise UsageError("--json goes with --check")
    if not options.check:
        return run_script(options.script, options.arguments)
    try:
        missing = check(options.script)
    except SyntaxError as error:
        print(f"{error.filename}:{error.lineno}: not Python 3: {error.msg}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps([one.as_data() for one in missing], indent=1))
    else:
        print("\n".join(map(str, missing)) or f"{options.script}: every name of TensorFlow is supported")
    return 1 if missing else 0
