"""The command line: `staticgraph COMMAND`, or `python -m staticgraph COMMAND`."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import staticgraph
from staticgraph.applications.cli import (
    bench,
    bisect,
    compile,
    convert,
    doctor,
    inspect,
    launch,
    replay,
    run,
    show,
    train,
    watch,
)
from staticgraph.applications.cli.outcome import STATUSES, outcome
from staticgraph.applications.cli.parsing import Parser, parsed

if TYPE_CHECKING:
    from staticgraph.applications.cli.parsing import Commands

COMMANDS = (run, launch, train, watch, inspect, show, convert, bench, compile, replay, bisect, doctor)

_STATUSES = "\n".join(["exit status:", *(f"  {status:>3}  {what}" for status, what in STATUSES.items())])


def parser(prog: str) -> tuple[Parser, Commands]:
    """The parser of the whole line, and those of the commands."""
    made = Parser(prog=prog, description="Static computation graphs, by commands.", epilog=_STATUSES)
    made.add_argument("--version", action="version", version=f"staticgraph {staticgraph.__version__}")
    commands = made.add_subparsers(metavar="COMMAND", title="commands")
    for command in COMMANDS:
        command.add(commands)
    for listed in commands._get_subactions():
        one = commands.choices[listed.dest]
        examples = [line for line in (one.epilog or "").splitlines() if line.startswith("  %(prog)s")]
        example = examples[0].replace("%(prog)s", one.prog).strip() if examples else f"{one.prog} --help"
        listed.help = f"{listed.help}\n    {example}"
    return made, commands


def main(arguments: list[str] | None = None) -> int:
    """Run the command that the arguments name; the result is the status to exit with."""
    return outcome(partial(_run, sys.argv[1:] if arguments is None else arguments))


def _run(given: list[str]) -> int:
    name = os.path.basename(sys.argv[0])
    made, commands = parser("staticgraph" if name.startswith("staticgraph") else "python -m staticgraph")
    options = parsed(made, commands, given)
    if "command" not in options:
        made.print_help()
        return 0
    return int(options.command(options))


if __name__ == "__main__":
    sys.exit(main())
